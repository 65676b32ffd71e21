"""Text files in blocks of whole lines: constant memory, exact line numbers, one error for each mistake."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import IO

import numpy as np

from mst.errors import FormatError
from mst.formats.source import Source
from mst.graph import Graph

BLOCK = 1 << 20
"""Bytes per block, and the longest line of a format of short lines."""

_ROWS = 1 << 18
_LONGEST = np.iinfo(np.int64).max


class Text:
    """The lines of a source: a window of whole lines over a fixed buffer.

    Attributes
    ----------
    buffer : bytearray
    data : numpy.ndarray of uint8
        The same memory.
    start, stop : int
        The window: whole lines that are read and not yet consumed. ``buffer[stop - 1]`` is a line feed.
    lines : int
        Lines consumed.
    """

    def __init__(self, source: Source):
        self.source = source
        self.buffer = bytearray(BLOCK + 1)
        self.data = np.frombuffer(self.buffer, np.uint8)
        self.start = self.stop = self.lines = 0
        self._filled = 0
        self._ended = False
        if source.head.startswith(b"\xef\xbb\xbf"):
            source.read(3)

    def fill(self) -> bool:
        """Make the window hold at least one line; False at the end of the file."""
        if self.start < self.stop:
            return True
        rest = self._filled - self.stop
        self.buffer[:rest] = self.buffer[self.stop : self._filled]
        self._filled, self.start, self.stop = rest, 0, 0
        while self.stop == 0:
            if self._ended:
                return False
            part = self.source.read(BLOCK - self._filled)
            self.buffer[self._filled : self._filled + len(part)] = part
            searched, self._filled = self._filled, self._filled + len(part)
            self.stop = self.buffer.rfind(b"\n", searched, self._filled) + 1
            if self._filled < BLOCK:
                self._ended = True
                if self._filled and self.buffer[self._filled - 1] != 10:
                    self.buffer[self._filled] = 10
                    self._filled += 1
                self.stop = self._filled
                return self._filled > 0
            if self.stop == 0:
                raise self.error(f"expected lines shorter than {BLOCK:,} bytes", text=bytes(self.buffer[:200]))
        return True

    def peek(self) -> bytes | None:
        """Return the next line without its end, or None at the end of the file."""
        if not self.fill():
            return None
        return bytes(self.buffer[self.start : self.buffer.index(b"\n", self.start)]).rstrip(b"\r")

    def line(self) -> bytes | None:
        """Return and consume the next line."""
        if not self.fill():
            return None
        end = self.buffer.index(b"\n", self.start)
        text = bytes(self.buffer[self.start : end]).rstrip(b"\r")
        self.start = end + 1
        self.lines += 1
        return text

    def error(self, expected: str, *, text: bytes | None = None, ahead: int = 0) -> FormatError:
        """Return the error at the line that follows `ahead` more lines."""
        return FormatError(self.source.path, expected, line=self.lines + ahead + 1, text=_readable(text))

    def error_behind(self, expected: str, text: bytes | None = None) -> FormatError:
        """Return the error at the line that was consumed last."""
        return FormatError(self.source.path, expected, line=self.lines, text=_readable(text))


def _readable(text: bytes | None) -> str | bytes | None:
    try:
        return None if text is None else text.decode()
    except UnicodeDecodeError:
        return text


@dataclass(frozen=True)
class Layout:
    """Lines of fixed columns.

    Attributes
    ----------
    columns : str
        A letter for each: ``u``, ``v``, ``w``, or ``-`` for what is passed over.
    expected : str
        How a row should look, for messages.
    tag : str
        The letter that every row begins with, if any.
    comments, stops : bytes
        First bytes of lines that are passed over, and of lines that end the table.
    delimiter : str
        The character between columns, or empty for blanks.
    more : bool
        Whether rows may go on after the last column.
    low, high : int
        Legal vertex ids.
    """

    columns: str
    expected: str
    tag: str = ""
    comments: bytes = b""
    stops: bytes = b""
    delimiter: str = ""
    more: bool = False
    low: int = 0
    high: int = _LONGEST

    def but(self, **changes) -> Layout:
        """Return a copy with changes."""
        return replace(self, **changes)


class Chunks:
    """A column that grows by blocks, each in the narrowest dtype that holds it."""

    def __init__(self):
        self.parts: list[np.ndarray] = []
        self.low, self.high = 0, -1

    def add(self, values: np.ndarray) -> None:
        if values.size == 0:
            return
        low, high = values.min(), values.max()
        if not self.parts:
            self.low, self.high = low, high
        self.low, self.high = min(self.low, low), max(self.high, high)
        if values.dtype.kind == "f":
            self.parts.append(values.copy())
        else:
            self.parts.append(values.astype(np.int32 if low >= -(2**31) and high < 2**31 else np.int64))

    def array(self) -> np.ndarray:
        """Return the column in one piece and let go of the parts."""
        parts, self.parts = self.parts, []
        if not parts:
            return np.empty(0, np.int32)
        dtype = np.result_type(*{part.dtype for part in parts})
        if any(part.dtype.kind == "f" for part in parts):
            dtype = np.dtype(np.float64)
        out = np.empty(sum(map(len, parts)), dtype)
        at = 0
        parts.reverse()
        while parts:
            part = parts.pop()
            out[at : at + len(part)] = part
            at += len(part)
        return out


@dataclass
class Table:
    """Rows read so far; `u` and `v` hold the file's own ids."""

    u: Chunks = field(default_factory=Chunks)
    v: Chunks = field(default_factory=Chunks)
    w: Chunks | None = None
    rows: int = 0


class _Scratch:
    """Columns for the rows of one block; weights start as integers."""

    def __init__(self, columns: str):
        rows = BLOCK // (2 * len(columns.replace("-", ""))) + 1
        self.u, self.v = np.empty(rows, np.int64), np.empty(rows, np.int64)
        self.w = np.empty(rows if "w" in columns else 0, np.int64)
        self.hard = np.empty((len(self.w), 3), np.int64)


def read_table(text: Text, layout: Layout, *, limit: int | None = None) -> Table:
    """Read rows until the end of the file or a line of `layout.stops`.

    Parameters
    ----------
    text : Text
    layout : Layout
    limit : int, optional
        The number of rows that the file declares: one more is an error, found within a block.

    Raises
    ------
    FormatError
        With the number and text of the first line that does not fit.
    """
    from mst.kernels import parse

    kinds = np.zeros(256, np.uint8)
    kinds[list(layout.comments)] = parse.COMMENT
    kinds[list(layout.stops)] = parse.STOPPER
    columns = np.array(["-uvw".index(c) for c in layout.columns], np.uint8)
    tag, delimiter = ord(layout.tag or "\0"), ord(layout.delimiter or "\0")
    scratch = _Scratch(layout.columns)
    table = Table(w=Chunks() if "w" in layout.columns else None)
    while text.fill():
        integers = scratch.w.dtype == np.int64
        status, at, begin, rows, lines, hards = parse.rows(
            text.data, text.start, text.stop, kinds, tag, columns, layout.more, delimiter, layout.low,
            layout.high, scratch.u, scratch.v, scratch.w, integers, scratch.hard,
        )  # fmt: skip
        for row, start, end in scratch.hard[:hards].tolist():
            scratch.w[row] = value = float(text.buffer[start:end])
            if np.isinf(value):
                before = text.buffer.count(b"\n", text.start, start)
                raise text.error(
                    "expected a weight within the range of float64", text=_line(text, start), ahead=before
                )
        table.u.add(scratch.u[:rows])
        if "v" in layout.columns:
            table.v.add(scratch.v[:rows])
        if table.w is not None:
            table.w.add(scratch.w[:rows])
        table.rows += rows
        if limit is not None and table.rows > limit:
            raise wrong_count(text, limit, f"more than {limit:,}")
        text.start, text.lines = begin, text.lines + lines
        if status == parse.STOP:
            break
        if status == parse.FLOAT:
            scratch.w = scratch.w.astype(np.float64)
        elif status != parse.END:
            raise text.error(_mistake(parse, status, layout, _token(text, at)), text=_line(text, begin))
    return table


def wrong_count(text: Text, declared: int, found: int | str) -> FormatError:
    """Return the error for a file whose rows are not as many as it says."""
    seen = found if isinstance(found, str) else f"{found:,}"
    return FormatError(
        text.source.path, f"declares {declared:,} edge rows and has {seen}: the file is cut or mixed up"
    )


def _line(text: Text, at: int) -> bytes:
    begin = text.buffer.rfind(b"\n", 0, at) + 1
    return bytes(text.buffer[begin : min(text.buffer.index(b"\n", at), begin + 200)]).rstrip(b"\r")


def _token(text: Text, at: int) -> str:
    word = bytes(text.buffer[at : min(text.buffer.index(b"\n", at), at + 40)]).split(None, 1)
    return word[0].decode(errors="replace") if word else ""


def _mistake(parse, status: int, layout: Layout, token: str) -> str:
    """What was expected, for each reason to stop."""
    wanted = f"expected {layout.expected}"
    return {
        parse.WORD: wanted,
        parse.SHORT: f"{wanted}; columns are missing",
        parse.LONG: f"{wanted}; {token!r} is too much",
        parse.ID_WORD: f"{wanted}; {token!r} is no vertex id (a whole number)",
        parse.WEIGHT_WORD: f"{wanted}; {token!r} is no number",
        parse.ID_RANGE: f"{wanted}; vertex {token} lies outside {layout.low} … {layout.high}",
        parse.TOO_LARGE: f"{wanted}; weight {token} does not fit int64: write it with a decimal point",
        parse.NAN: f"{wanted}; NaN has no place in an order: drop or replace that edge",
    }[status]


def write_rows(sink: IO[bytes], graph: Graph, *, base: int, tag: str = "", weights: bool = True) -> None:
    """Write a row per edge, blanks between the columns, in blocks.

    Fractions are written with as few digits as bring the same float back.
    """
    import pyarrow
    from pyarrow import csv

    plain = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    for start in range(0, graph.m, _ROWS):
        part = slice(start, start + _ROWS)
        columns = [graph.u[part] + base, graph.v[part] + base]
        if weights:
            columns.append(graph.w[part])
        if tag:
            columns.insert(0, np.full(len(columns[0]), tag))
        names = [str(i) for i in range(len(columns))]
        csv.write_csv(pyarrow.table(columns, names=names), sink, plain)
