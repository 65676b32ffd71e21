"""Arguments that several commands take, each declared here alone."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from pathlib import Path


def add_json(parser: ArgumentParser, help: str = "print one JSON object") -> None:
    """Declare ``--json``."""
    parser.add_argument("--json", action="store_true", help=f"{help}; infinity and NaN are strings")


def add_format(parser: ArgumentParser, help: str) -> None:
    """Declare ``--format``."""
    parser.add_argument("--format", metavar="FORMAT", help=help)


def add_threads(parser: ArgumentParser, help: str) -> None:
    """Declare ``--threads``."""
    parser.add_argument("--threads", type=int, metavar="N", help=help)


def add_granted(parser: ArgumentParser) -> None:
    """Declare ``--granted``."""
    parser.add_argument("--granted", type=int, metavar="N", help="cores granted by the scheduler")


def add_catalog(parser: ArgumentParser) -> None:
    """Declare ``--catalog``."""
    parser.add_argument("--catalog", metavar="FILE", help="a catalogue to use instead of the built-in one")


def add_config(parser: ArgumentParser) -> None:
    """Declare ``--configfile``."""
    parser.add_argument("--configfile", type=Path, metavar="FILE", help="instead of config/config.yaml")


def add_profile(parser: ArgumentParser, help: str) -> None:
    """Declare ``--profile``."""
    parser.add_argument("--profile", type=Path, metavar="DIR", help=help)


def add_scopes(parser: ArgumentParser) -> None:
    """Declare the scopes that choose an experiment."""
    parser.add_argument(
        "scopes",
        nargs="*",
        default=["default"],
        metavar="SCOPE",
        help="default, first (its first part), papers/NAME, graphs/NAME or algorithms/NAME (default: default)",
    )


def add_results(parser: ArgumentParser) -> None:
    """Declare ``--results``, which `results_of` reads."""
    parser.add_argument(
        "--results", type=Path, metavar="DIR", help="folder of results (default: as configured)"
    )


def results_of(arguments: Namespace) -> Path:
    """Return the folder of results."""
    if arguments.results is not None:
        return arguments.results
    from mst import config

    return config.load().root


def reads_in_parts(file: str | Path, format: str | None, memory: str | None) -> bool:
    """Return whether a file is read as a stream: all Parquet files are, and others if the memory is limited."""
    if memory is not None or format == "parquet":
        return True
    if format is not None:
        return False
    from mst.formats.source import is_parquet

    return is_parquet(Path(file))


def refuse_without(arguments: Namespace, other: str, *options: str) -> None:
    """Refuse options that have no effect without another one, if that is not given."""
    from mst.errors import ConfigError

    if getattr(arguments, other):
        return
    for option in options:
        value = getattr(arguments, option)
        if value is not None and value is not False:  # 0 is neither
            raise ConfigError(f"--{option} has no effect without --{other}: add that, or leave --{option} out")


def add_options(parser: ArgumentParser) -> None:
    """Declare ``--option``, which `assignments` reads."""
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the algorithm (mst list --markdown); repeatable",
    )


def assignments(given: Iterable[str], flag: str, example: str) -> dict[str, str]:
    """Return texts ``NAME=VALUE`` as a mapping.

    Parameters
    ----------
    given : iterable of str
    flag, example : str
        For messages: the argument that they were given with, and a legal one.

    Raises
    ------
    ConfigError
        A text has another form, or a name is given twice.

    Examples
    --------
    >>> from mst.commands._arguments import assignments
    >>> assignments(["sort=radix"], "--option", "sort=radix")
    {'sort': 'radix'}
    """
    from mst.errors import ConfigError

    values: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not (name and equals):
            raise ConfigError(f"{flag} {item!r} is not NAME=VALUE, for instance {example}")
        if name in values:
            raise ConfigError(f"{flag} {name} is given twice: {values[name]!r} and {value!r}")
        values[name] = value
    return values
