"""Files that travel with the package: the catalogue, experiments, claims, the page's template."""

from __future__ import annotations

from pathlib import Path

from mst.errors import ConfigError

_PACKAGE = Path(__file__).resolve().parent


def path(relative: str) -> Path:
    """Return the path of a packaged file or folder, in a checkout and in an installed wheel alike.

    Parameters
    ----------
    relative : str
        A path as in the repository, such as ``config/graphs.yaml``.

    Raises
    ------
    ConfigError
        It is missing.

    Examples
    --------
    >>> from mst import resources
    >>> resources.path("config/graphs.yaml").name
    'graphs.yaml'
    """
    checkout = _PACKAGE.parent
    # A checkout has no _data, and its files are read where they are edited.
    place = (checkout if (checkout / "pyproject.toml").is_file() else _PACKAGE / "_data") / relative
    if not place.exists():
        raise ConfigError(f"{place} is missing: reinstall mst")
    return place
