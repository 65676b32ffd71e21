"""Files that travel with the package: the catalogue, experiments, claims, the page's template."""

from __future__ import annotations

from pathlib import Path

from mst.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent


def path(relative: str) -> Path:
    """Return where a packaged file or folder lies, in a checkout and in an installed wheel alike.

    Parameters
    ----------
    relative : str
        A path as in the repository, such as ``config/graphs.yaml``.

    Raises
    ------
    ConfigError
        Neither place has it.

    Examples
    --------
    >>> from mst import resources
    >>> resources.path("config/graphs.yaml").name
    'graphs.yaml'
    """
    # A checkout first: its package folder has no _data, and edits must show at once.
    places = [_PACKAGE.parent / relative, _PACKAGE / "_data" / relative]
    if not (_PACKAGE.parent / "pyproject.toml").is_file():
        places.reverse()
    for place in places:
        if place.exists():
            return place
    raise ConfigError(f"{relative} is neither at {places[0]} nor at {places[1]}: reinstall mst")
