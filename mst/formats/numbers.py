"""Streams of numbers whose lines may be of any length: adjacency lists, matrices, arrays in text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mst.errors import FormatError
from mst.formats.table import Chunks
from mst.formats.text import BLOCK, Text


class FractionFound(Exception):
    """A fraction stands where only whole numbers were met so far; the reader may start again with floats."""


class Numbers:
    """The numbers of a text from its window on.

    Parameters
    ----------
    text : Text
    expected : str
        What the numbers should be, for messages.
    comment : str
        The character that comment lines begin with, if any.
    delimiter : str
        The character between numbers, or empty for blanks. Between delimiters, nothing and a lone ``-`` are a
        missing number: the smallest int64, or NaN among floats.
    integers : bool
        Whether numbers are returned as int64 or as float64.
    """

    def __init__(
        self, text: Text, expected: str, *, comment: str = "", delimiter: str = "", integers: bool = True
    ):
        self.text, self.expected, self.integers = text, expected, integers
        self._comment, self._delimiter = ord(comment or "\0"), ord(delimiter or "\0")
        self._separator = delimiter
        self._place = self._begin = 0
        self._ends, self._feeds = np.empty((0, 2), np.int64), 0
        text.cuts = b"\n \t\r" + delimiter.encode()

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield ``(numbers, ends)``: numbers of some bytes, and the ends of the lines among them.

        Yields
        ------
        numbers : numpy.ndarray of int64 or float64, shape (k,)
            Overwritten by the next step.
        ends : numpy.ndarray of int64, shape (lines, 2)
            For each line that ended and was no comment: how many of the numbers, and how many of the file's
            lines since the last step, lie before its end.

        Raises
        ------
        FractionFound
            After the numbers before it were yielded, where `integers` is true.
        """
        out, ends, hard = self._scratch(BLOCK // 2 + 1)
        while self.text.fill():
            status, count, lines, feeds = self._step(out, ends, hard)
            self._ends, self._feeds = ends[:lines], feeds
            yield out[:count], self._ends
            self.text.lines += feeds
            if status:
                raise FractionFound

    def take(self, count: int, what: str, *, whole: bool = False) -> np.ndarray:
        """Return the next `count` numbers in the narrowest of int32, int64 and float64 that holds them all.

        Fractions are refused where the numbers must be `whole`.
        """
        column, left = Chunks(), count
        integers = self.integers
        out, ends, hard = self._scratch(min(BLOCK // 2 + 1, count))
        while left and self.text.fill():
            status, found, _, feeds = self._step(out[:left], ends, hard)
            column.add(out[:found])
            self.text.lines += feeds
            left -= found
            if status and whole:
                at = self.text.start
                complaint = f"{self.text.word_at(at, self._separator)!r} is no whole number"
                raise self._error(complaint, 0, self.text.line_at(at))
            if status:
                self.integers = False
                out = out.astype(np.float64)
        self.integers = integers
        if left:
            raise FormatError(
                self.text.source.path, f"expected {count:,} {what}, found {count - left:,}: the file is cut"
            )
        return column.array()

    def ended(self) -> bool:
        """True when no number is left."""
        out, ends, hard = self._scratch(0)
        while self.text.fill():
            if self._step(out, ends, hard, probe=True)[1]:
                return False
        return True

    def line_of(self, k: int) -> int:
        """Return the line, from 1, of number `k` of the block that `blocks` yielded last."""
        after = np.searchsorted(self._ends[:, 0], k, side="right")
        return self.text.lines + 1 + int(self._ends[after, 1] - 1 if after < len(self._ends) else self._feeds)

    def error_at(self, k: int, complaint: str) -> FormatError:
        """Return an error at number `k` of the block that `blocks` yielded last."""
        ahead, at = self.line_of(k) - self.text.lines - 1, self._begin
        for _ in range(ahead):
            at = self.text.buffer.index(b"\n", at) + 1
        return self._error(complaint, ahead, self.text.line_at(at))

    def _error(self, complaint: str, ahead: int, text: bytes | None = None) -> FormatError:
        return self.text.error(f"expected {self.expected}; {complaint}", ahead=ahead, text=text)

    def _scratch(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        out = np.empty(count, np.int64 if self.integers else np.float64)
        return out, np.empty((BLOCK + 1, 2), np.int64), np.empty((count, 3), np.int64)

    def _step(self, out, ends, hard, probe: bool = False) -> tuple[bool, int, int, int]:
        """Parse the window into `out`; whether a fraction stopped it, and the counts."""
        from mst.kernels.io import parse

        text = self.text
        self._begin = text.start
        status, at, self._place, count, lines, feeds, hards = parse.numbers(
            text.data, text.start, text.stop, self._comment, self._delimiter, self._place, self.integers, out,
            ends, hard,
        )  # fmt: skip
        for index, start, end in hard[:hards].tolist():
            out[index] = value = float(text.buffer[start:end])
            if np.isinf(value):
                before = text.buffer.count(b"\n", text.start, start)
                raise self._error("a number lies beyond the range of float64", before, text.line_at(start))
        if status == parse.FULL and probe:
            return False, 1, lines, feeds
        text.start = at
        if status in (parse.END, parse.FULL, parse.FLOAT):
            return status == parse.FLOAT, count, lines, feeds
        word = text.word_at(at, self._separator)
        complaint = {
            parse.WORD: f"{word!r} is no number",
            parse.LONG: f"{word!r} lacks a delimiter before it",
            parse.TOO_LARGE: f"{word} does not fit int64: write it with a decimal point",
            parse.NAN: "NaN has no place in an order: drop or replace that edge",
        }[status]
        raise self._error(complaint, feeds, text.line_at(at))
