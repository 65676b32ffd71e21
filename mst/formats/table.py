"""Rows of fixed columns: what a line looks like, the columns that come of many, and how to write them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import IO

import numpy as np

from mst.errors import FormatError
from mst.formats.text import BLOCK, Text
from mst.graph import Graph

_ROWS = 1 << 18
_LONGEST = np.iinfo(np.int64).max


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
    comments : bytes
        First bytes of lines that are passed over.
    footer : bytes
        The line that ends the table, in upper case, if any.
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
    footer: bytes = b""
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

    def weights(self) -> np.ndarray | None:
        """Return the weights in one piece, or None where there is no such column."""
        return self.w.array() if self.w is not None else None

    def first(self) -> tuple[int, int]:
        """Return the ends of the first row, or ``(-1, -1)``."""
        return (int(self.u.parts[0][0]), int(self.v.parts[0][0])) if self.rows else (-1, -1)

    def id_range(self, *, after_first: bool = False) -> tuple[int, int]:
        """Return the smallest and the largest id, or ``(0, -1)``; those of the first row may be left out."""
        if self.rows <= after_first:
            return 0, -1
        if not after_first:
            return int(min(self.u.low, self.v.low)), int(max(self.u.high, self.v.high))
        rest = [part[1:] if i == 0 else part for x in (self.u, self.v) for i, part in enumerate(x.parts)]
        rest = [part for part in rest if part.size]
        return int(min(part.min() for part in rest)), int(max(part.max() for part in rest))


class _Scratch:
    """Columns for the rows of one block; weights start as integers."""

    def __init__(self, columns: str):
        rows = BLOCK // (2 * len(columns.replace("-", ""))) + 1
        self.u, self.v = np.empty(rows, np.int64), np.empty(rows, np.int64)
        self.w = np.empty(rows if "w" in columns else 0, np.int64)
        self.hard = np.empty((len(self.w), 3), np.int64)


def read_table(text: Text, layout: Layout, *, limit: int | None = None) -> Table:
    """Read rows until the end of the file or the layout's footer, which is consumed.

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
    from mst.kernels.io import parse

    comments = np.zeros(256, bool)
    comments[list(layout.comments)] = True
    columns = np.array(["-uvw".index(c) for c in layout.columns], np.uint8)
    tag, delimiter = ord(layout.tag or "\0"), ord(layout.delimiter or "\0")
    line = parse.Line(comments, tag, columns, layout.more, delimiter, layout.low, layout.high)
    scratch = _Scratch(layout.columns)
    table = Table(w=Chunks() if "w" in layout.columns else None)
    while text.fill():
        integers = scratch.w.dtype == np.int64
        to = parse.Columns(scratch.u, scratch.v, scratch.w, integers, scratch.hard)
        status, at, begin, rows, lines, hards = parse.rows(text.data, text.start, text.stop, line, to)
        for row, start, end in scratch.hard[:hards].tolist():
            scratch.w[row] = value = float(text.buffer[start:end])
            if np.isinf(value):
                before = text.buffer.count(b"\n", text.start, start)
                raise text.error(
                    "expected a weight within the range of float64", text=text.line_at(start), ahead=before
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
        if status == parse.FLOAT:
            scratch.w = scratch.w.astype(np.float64)
        elif status != parse.END and layout.footer and text.line_at(at).strip().upper() == layout.footer:
            text.line()
            break
        elif status != parse.END:
            raise text.error(
                _mistake(parse, status, layout, text.word_at(at, layout.delimiter)), text=text.line_at(begin)
            )
    return table


def wrong_count(text: Text, declared: int, found: int | str) -> FormatError:
    """Return the error for a file whose rows are not as many as it says."""
    seen = found if isinstance(found, str) else f"{found:,}"
    return FormatError(
        text.source.path, f"declares {declared:,} edge rows and has {seen}: the file is cut or mixed up"
    )


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


def write_columns(sink: IO[bytes], *columns: np.ndarray) -> None:
    """Write numbers, a line for each position of the columns, blanks between them, in blocks.

    Floats are written with as few digits as bring the same float64 back, and never look like integers.
    """
    import pyarrow
    from pyarrow import csv

    plain = csv.WriteOptions(include_header=False, delimiter=" ", quoting_style="none")
    names = [str(i) for i in range(len(columns))]
    for start in range(0, len(columns[0]), _ROWS):
        part = [_writable(column[start : start + _ROWS]) for column in columns]
        csv.write_csv(pyarrow.table(part, names=names), sink, plain)


def _writable(column: np.ndarray):
    import pyarrow
    import pyarrow.compute as pc

    if column.dtype.kind != "f":
        return pyarrow.array(column)
    texts = pc.cast(pyarrow.array(column.astype(np.float64)), pyarrow.string())
    fraction = pc.match_substring_regex(texts, "[.en]")
    return pc.if_else(fraction, texts, pc.binary_join_element_wise(texts, ".0", ""))


def write_rows(sink: IO[bytes], graph: Graph, *, base: int, tag: str = "") -> None:
    """Write a row ``u v weight`` per edge, ids from `base`, after `tag` where there is one."""
    for start in range(0, graph.m, _ROWS):
        part = slice(start, start + _ROWS)
        u, v, w = graph.u[part], graph.v[part], graph.w[part]
        tags = [np.full(len(u), tag)] if tag else []
        write_columns(sink, *tags, u + base, v + base, w)
