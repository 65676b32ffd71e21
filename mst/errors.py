"""The errors that `mst` raises on purpose; their messages name the offender, the limit and the remedy."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_P = ParamSpec("_P")
_T = TypeVar("_T")


class MSTError(Exception):
    """Base class of the errors of this package, which the command line prints without a traceback."""


class InputError(MSTError):
    """A graph, array or argument that cannot be used as given."""


class FormatError(InputError):
    """A file that breaks the rules of its format.

    Parameters
    ----------
    path : str or path-like
        The offending file.
    expected : str
        What the format requires there, or what is wrong.
    line : int, optional
        Line number, counted from 1.
    text : str or bytes, optional
        The offending line; long or binary text is shortened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        expected: str,
        *,
        line: int | None = None,
        text: str | bytes | None = None,
    ) -> None:
        self.path, self.expected, self.line = str(path), expected, line
        name = printable(self.path)
        where = name if line is None else f"{name}, line {line}"
        seen = "" if text is None else f": {shorten(text)}"
        super().__init__(f"{where}{seen}: {expected}")


class ConfigError(MSTError, ValueError):
    """An illegal value in a configuration, a catalogue, a call or on the command line.

    It is a `ValueError`, so that strict models report the place of a value that their validators refuse.
    """


class UnsupportedError(MSTError):
    """An algorithm does not support this graph, these options or this hardware."""


class UnavailableError(MSTError):
    """A graph is available neither from a mirror nor from its official address."""


class DependencyError(MSTError):
    """A package or program that an algorithm needs is not installed."""


class OutOfMemoryError(MSTError):
    """More memory is needed than is free; the message names both amounts if they are known."""


@contextmanager
def reading(path: str | os.PathLike[str], raised: type[MSTError] = InputError) -> Iterator[None]:
    """Turn each `OSError` into an error of class `raised` that says which file cannot be read, and why."""
    try:
        yield
    except OSError as error:
        raise raised(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn each `OSError` into an `InputError` that says which file or folder cannot be written, and why."""
    try:
        yield
    except OSError as error:
        remedy = "; create the folder first" if isinstance(error, FileNotFoundError) else ""
        raise InputError(f"{path} cannot be written: {error.strerror or error}{remedy}") from error


def names_missing(package: str, remark: str = "") -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Make a function raise a `DependencyError` if it imports a package that is not installed."""

    def naming(function: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(function)
        def call(*arguments: _P.args, **options: _P.kwargs) -> _T:
            try:
                return function(*arguments, **options)
            except ModuleNotFoundError as error:
                if (error.name or "").split(".")[0] != package:
                    raise
                raise DependencyError(
                    f"this needs {package}, which is not installed: pip install {package}{remark}"
                ) from error
            except ValueError as error:
                if package != "numba" or not str(error).startswith("No threading layer could be loaded"):
                    raise
                raise DependencyError(
                    "numba cannot load a library for threads, such as GNU's OpenMP (libgomp.so.1, Debian's package "
                    "libgomp1): install that, or use threads=1 (--threads 1)"
                ) from error

        return call

    return naming


names_missing_numba = names_missing(
    "numba",
    ", with a version of Python that it supports; without numba, only forests of graphs in memory can be computed",
)


def printable(text: str, keep: str = "") -> str:
    """Return `text` with escapes for control characters, and for characters that change the direction of text.

    Names of files and of members of archives come from others, and a terminal obeys the codes in them.

    Examples
    --------
    >>> from mst.errors import printable
    >>> printable("road\\x1b[2J.gr")
    'road\\\\x1b[2J.gr'
    """
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)


def shorten(text: str | bytes, limit: int = 80) -> str:
    """Return `text` quoted for a message: one line, printable, at most about `limit` characters."""
    quoted = repr(text[: limit + 1] if isinstance(text, str) else bytes(text[: limit + 1]))
    return quoted if len(text) <= limit else quoted[:limit] + "…"


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a hint such as `` (did you mean 'kruskal'?)`` for an unknown `word`, or an empty string.

    Names that begin with the word are preferred, since names are often given without their ending. Others must have a
    similarity of at least `cutoff`, from 0 to 1 (`difflib`).
    """
    by_lower = {name.lower(): name for name in known}
    begun = sorted((name for name in by_lower if word and name.startswith(word.lower())), key=len)
    close = begun or difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=cutoff)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""
