"""Sequences of numbers in text with lines of any length: adjacency lists, matrices and arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from mst.errors import FormatError
from mst.formats.source import Source
from mst.formats.table import ROUNDED, ColumnBuilder
from mst.formats.text import Text

_Result = TypeVar("_Result")


class FractionFound(Exception):
    """A reader of integers found a fraction; the file can be read again as floats."""


def integers_else_floats(source: Source, read: Callable[[Source, bool], _Result]) -> _Result:
    """Return ``read(source, True)``; after `FractionFound`, reopen the file and return ``read(source, False)``."""
    try:
        return read(source, True)
    except FractionFound:
        with source.reopened() as reopened:
            return read(reopened, False)


class _Parsed(NamedTuple):
    """Counts of numbers and lines in a parsed window, and whether a fraction among integers ended it."""

    fraction: bool
    numbers: int
    lines: int
    line_feeds: int


class NumberReader:
    """Reads the numbers in a text, from the start of its window.

    Parameters
    ----------
    text : Text
    expected : str
        A description of the expected numbers, for error messages.
    comment : str
        The character at the start of comment lines, if any.
    delimiter : str
        The character between numbers; empty for blanks. Between delimiters, an empty field or a lone ``-`` is a
        missing number, which is returned as the smallest int64, or as NaN among floats.
    integers : bool
        Return numbers as int64 rather than float64.
    """

    def __init__(
        self, text: Text, expected: str, *, comment: str = "", delimiter: str = "", integers: bool = True
    ):
        self.text, self.expected, self.integers = text, expected, integers
        self._comment, self._delimiter = ord(comment or "\0"), ord(delimiter or "\0")
        self._delimiter_text = delimiter
        self._state = self._block_start = 0
        self._line_ends, self._line_feeds = np.empty((0, 2), np.int64), 0
        text.cuts = b"\n \t\r" + delimiter.encode()

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``(numbers, line_ends)`` for consecutive blocks of the text.

        Yields
        ------
        numbers : numpy.ndarray of int64 or float64, shape (k,)
            A view that the next block overwrites.
        line_ends : numpy.ndarray of int64, shape (lines, 2)
            For each line that ends in this block and is not a comment: how many of the block's numbers, and of its
            line feeds, there are up to and including its end.

        Raises
        ------
        FractionFound
            There is a fraction although `integers` is true; the numbers before it have been yielded.
        """
        out, line_ends, deferred = self._allocate(self.text.block // 2 + 1)
        while self.text.fill():
            parsed = self._parse(out, line_ends, deferred)
            self._line_ends, self._line_feeds = line_ends[: parsed.lines], parsed.line_feeds
            yield out[: parsed.numbers], self._line_ends
            self.text.lines += parsed.line_feeds
            if parsed.fraction:
                raise FractionFound

    def read(self, count: int, items: str, *, whole: bool = False) -> np.ndarray:
        """Return the next `count` numbers.

        Parameters
        ----------
        count : int
        items : str
            A noun for the numbers, for error messages.
        whole : bool
            Raise an error for a fraction.

        Returns
        -------
        numpy.ndarray of int32, int64 or float64, shape (count,)
            The narrowest dtype that holds all numbers.

        Raises
        ------
        FormatError
            The file ends too early, or holds something other than a number.
        """
        column, left = ColumnBuilder(), count
        integers = self.integers
        out, line_ends, deferred = self._allocate(min(self.text.block // 2 + 1, count))
        while left and self.text.fill():
            parsed = self._parse(out[:left], line_ends, deferred)
            column.add(out[: parsed.numbers])
            self.text.lines += parsed.line_feeds
            left -= parsed.numbers
            if parsed.fraction and whole:
                at = self.text.start
                problem = f"{self.text.word_at(at, self._delimiter_text)!r} is not a whole number"
                raise self._error(problem, 0, self.text.line_at(at))
            if parsed.fraction:
                column.require_exact(self.text.source.path)
                self.integers = False
                out = np.empty(len(out), np.float64)
        self.integers = integers
        if left:
            raise FormatError(
                self.text.source.path,
                f"expected {count:,} {items}, found {count - left:,}: the file is truncated",
            )
        return column.array()

    def at_end(self) -> bool:
        """Return whether no number is left."""
        out, line_ends, deferred = self._allocate(0)
        while self.text.fill():
            if self._parse(out, line_ends, deferred, count_only=True).numbers:
                return False
        return True

    def line_of(self, index: int) -> int:
        """Return the line, counted from 1, of a number in the block that `blocks` yielded last."""
        line = np.searchsorted(self._line_ends[:, 0], index, side="right")
        line_feeds = self._line_ends[line, 1] - 1 if line < len(self._line_ends) else self._line_feeds
        return self.text.lines + 1 + int(line_feeds)

    def error_at(self, index: int, problem: str) -> FormatError:
        """Return an error about a number in the block that `blocks` yielded last."""
        lines_ahead, at = self.line_of(index) - self.text.lines - 1, self._block_start
        for _ in range(lines_ahead):
            at = self.text.buffer.index(b"\n", at) + 1
        return self._error(problem, lines_ahead, self.text.line_at(at))

    def _error(self, problem: str, lines_ahead: int, text: bytes) -> FormatError:
        return self.text.error_at_next_line(
            f"expected {self.expected}; {problem}", lines_ahead=lines_ahead, text=text
        )

    def _allocate(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        out = np.empty(count, np.int64 if self.integers else np.float64)
        return out, np.empty((self.text.block + 1, 2), np.int64), np.empty((count, 3), np.int64)

    def _parse(
        self, out: np.ndarray, line_ends: np.ndarray, deferred: np.ndarray, count_only: bool = False
    ) -> _Parsed:
        """Parse the window into `out`."""
        from mst.kernels.io import parse

        text = self.text
        self._block_start = text.start
        syntax = parse.NumberSyntax(self._comment, self._delimiter, self.integers)
        arrays = parse.NumberArrays(out, line_ends, deferred)
        stop = parse.NumberStop(
            *parse.parse_numbers(text.data, text.start, text.stop, self._state, syntax, arrays)
        )
        self._state = stop.state
        for index, start, end in deferred[: stop.deferred].tolist():
            out[index] = value = float(text.buffer[start:end])
            if np.isinf(value):
                before = text.buffer.count(b"\n", text.start, start)
                raise self._error("a number is outside the range of float64", before, text.line_at(start))
        if stop.status == parse.FULL and count_only:
            return _Parsed(False, 1, stop.lines, stop.line_feeds)
        text.start = stop.at
        if stop.status in (parse.END, parse.FULL, parse.FLOAT):
            return _Parsed(stop.status == parse.FLOAT, stop.numbers, stop.lines, stop.line_feeds)
        word = text.word_at(stop.at, self._delimiter_text)
        problem = {
            parse.WORD: f"{word!r} is not a number",
            parse.LONG: f"there is no delimiter before {word!r}",
            parse.TOO_LARGE: f"{word} does not fit int64: write it with a decimal point",
            parse.INEXACT: f"{word} {ROUNDED}",
            parse.NAN: "NaN cannot be ordered: drop this edge or replace its weight",
        }[stop.status]
        raise self._error(problem, stop.line_feeds, text.line_at(stop.at))
