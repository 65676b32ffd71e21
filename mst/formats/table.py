"""Tables of edges in text: the layout of a row, reading rows into columns, and writing columns as rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from mst.arrays import to_arrow
from mst.errors import FormatError
from mst.formats import plain
from mst.formats.ids import Ids, ids_of
from mst.formats.text import Text, byte_table
from mst.graph import Graph
from mst.units import counted

_ROWS_PER_BLOCK = 1 << 18
_MAX_INT64 = np.iinfo(np.int64).max

ROUNDED = (
    "is an integer that would be rounded to float64, which the fractions in this file need: "
    "scale the weights to integers, or write this one with a decimal point"
)


@dataclass(frozen=True)
class Layout:
    """The columns of a table's rows.

    Attributes
    ----------
    columns : str
        A letter for each column: ``u``, ``v``, ``w``, or ``-`` for a column to skip.
    expected : str
        A description of a valid row, for error messages.
    tag : str
        The letter at the start of every row, if any.
    comments : bytes
        Characters at the start of lines to skip.
    footer : bytes
        The line that ends the table, in upper case, if any.
    delimiter : str
        The character between columns; empty for blanks.
    extra_columns : bool
        Whether more columns may follow the last one.
    low, high : int
        The smallest and the largest valid vertex id.
    """

    columns: str
    expected: str
    tag: str = ""
    comments: bytes = b""
    footer: bytes = b""
    delimiter: str = ""
    extra_columns: bool = False
    low: int = 0
    high: int = _MAX_INT64


class ColumnBuilder:
    """A column that grows by blocks, each kept in the narrowest dtype that holds it.

    Attributes
    ----------
    parts : list of numpy.ndarray
        Blocks of int32, int64 or float64.
    low, high : number
        Smallest and largest value so far; 0 and -1 for an empty column.
    """

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []
        self.low: Any = 0
        self.high: Any = -1

    def add(self, values: np.ndarray) -> None:
        """Append a copy of `values`."""
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

    def require_exact(self, path: Path) -> None:
        """Raise a `FormatError` about the first integer of the column that float64 would round, if there is one."""
        if max(-float(self.low), float(self.high)) < 2.0**53:
            return
        row = 0
        for part in self.parts:
            if part.dtype == np.int64:
                floats = part.astype(np.float64)
                top = floats >= 2.0**63  # converting these back is undefined
                rounded = top | (np.where(top, 0.0, floats).astype(np.int64) != part)
                if rounded.any():
                    at = int(np.argmax(rounded))
                    raise FormatError(path, f"number {row + at + 1:,}, {part[at]}, {ROUNDED}")
            row += len(part)

    def floats(self, path: Path) -> np.ndarray:
        """Return the column as float64 and release the blocks; errors as for `require_exact`."""
        self.require_exact(path)
        return self.array().astype(np.float64, copy=False)

    def array(self) -> np.ndarray:
        """Return the column as one array and release the blocks one by one."""
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
    """The rows of a table; `u` and `v` hold the ids in the file."""

    u: ColumnBuilder = field(default_factory=ColumnBuilder)
    v: ColumnBuilder = field(default_factory=ColumnBuilder)
    w: ColumnBuilder | None = None
    rows: int = 0

    def ends(self, *, base: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return and release the columns `u` and `v`, less `base`, the file's first id."""
        u, v = self.u.array(), self.v.array()
        if base:
            u -= base
            v -= base
        return u, v

    def weights(self) -> np.ndarray | None:
        """Return and release the weights, or return None if the table has none."""
        return self.w.array() if self.w is not None else None

    def first_row(self) -> tuple[int, int]:
        """Return both ids of the first row, or ``(-1, -1)`` for an empty table."""
        return (int(self.u.parts[0][0]), int(self.v.parts[0][0])) if self.rows else (-1, -1)

    def id_range(self, *, skip_first: bool = False) -> tuple[int, int]:
        """Return the smallest and the largest id, without the first row if `skip_first`; ``(0, -1)`` if none."""
        if self.rows <= skip_first:
            return 0, -1
        if not skip_first:
            return int(min(self.u.low, self.v.low)), int(max(self.u.high, self.v.high))
        rest = [part[1:] if i == 0 else part for x in (self.u, self.v) for i, part in enumerate(x.parts)]
        rest = [part for part in rest if part.size]
        return int(min(part.min() for part in rest)), int(max(part.max() for part in rest))


class _Scratch:
    """Arrays for the rows of one block; weights are integers until the first fraction."""

    def __init__(self, columns: str, block: int):
        rows = block // (2 * len(columns.replace("-", ""))) + 1
        self.u, self.v = np.empty(rows, np.int64), np.empty(rows, np.int64)
        self.w = np.empty(rows if "w" in columns else 0, np.int64)
        self.deferred = np.empty((len(self.w), 3), np.int64)


class Block(NamedTuple):
    """Consecutive rows of a table; the arrays are overwritten by the next block.

    Attributes
    ----------
    u, v : numpy.ndarray of int64, shape (k,)
        The ids in the file.
    w : numpy.ndarray of int64, or float64 from the first fraction on, shape (k,)
        Weights; of shape (0,) if the table has none.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray


def read_blocks(text: Text, layout: Layout) -> Iterator[Block]:
    """Yield rows until the end of the file or the layout's footer, which is consumed.

    Raises
    ------
    FormatError
        A line does not match the layout; the message names the first such line and its text.
    """
    if (block := _plain_block(text, layout)) is not None:
        yield block
        return
    from mst.kernels.io import parse

    comments = byte_table(layout.comments)
    columns = np.array(["-uvw".index(c) for c in layout.columns], np.uint8)
    tag, delimiter = ord(layout.tag or "\0"), ord(layout.delimiter or "\0")
    syntax = parse.RowSyntax(comments, tag, columns, layout.extra_columns, delimiter, layout.low, layout.high)
    scratch = _Scratch(layout.columns, text.block)
    while text.fill():
        integers = scratch.w.dtype == np.int64
        arrays = parse.RowArrays(scratch.u, scratch.v, scratch.w, integers, scratch.deferred)
        stop = parse.RowStop(*parse.parse_rows(text.data, text.start, text.stop, syntax, arrays))
        for row, start, end in scratch.deferred[: stop.deferred].tolist():
            scratch.w[row] = value = float(text.buffer[start:end])
            if np.isinf(value):
                raise text.error_at_next_line(
                    "expected a weight in the range of float64",
                    text=text.line_at(start),
                    lines_ahead=text.buffer.count(b"\n", text.start, start),
                )
        yield Block(scratch.u[: stop.rows], scratch.v[: stop.rows], scratch.w[: stop.rows])
        text.start, text.lines = stop.line_start, text.lines + stop.lines
        if stop.status == parse.FLOAT:
            scratch.w = np.empty(len(scratch.w), np.float64)
        elif stop.status != parse.END:
            if layout.footer and text.line_at(stop.at).strip().upper() == layout.footer:
                text.line()
                break
            problem = _problem(stop.status, layout, text.word_at(stop.at, layout.delimiter))
            raise text.error_at_next_line(problem, text=text.line_at(stop.line_start))


def _plain_block(text: Text, layout: Layout) -> Block | None:
    """Return and consume the rest of a small file of plain rows; return None for any other file."""
    if layout.footer or layout.extra_columns or (window := text.small_rest()) is None:
        return None
    found = plain.columns(window, layout.columns, layout.tag, layout.delimiter, layout.low, layout.high)
    if found is None:
        return None
    text.consume(window)
    none = np.empty(0, np.int64)
    return Block(found["u"], found.get("v", none), found.get("w", none))


def read_table(text: Text, layout: Layout, *, limit: int | None = None) -> Table:
    """Read the rows that `read_blocks` yields.

    Parameters
    ----------
    text : Text
    layout : Layout
    limit : int, optional
        The most rows allowed; a longer table is refused before it takes much memory.

    Raises
    ------
    FormatError
        As for `read_blocks`; or there are fractions among the weights, and an integer that float64 would round.
    """
    table = Table(w=ColumnBuilder() if "w" in layout.columns else None)
    integers = True
    for block in checked_blocks(text, layout, limit):
        if table.w is not None:
            if integers and block.w.dtype == np.float64:
                table.w.require_exact(text.source.path)
                integers = False
            table.w.add(block.w)
        table.u.add(block.u)
        if "v" in layout.columns:
            table.v.add(block.v)
        table.rows += len(block.u)
    return table


def checked_blocks(text: Text, layout: Layout, limit: int | None) -> Iterator[Block]:
    """Yield the blocks of `read_blocks`; raise a `FormatError` for more rows than `limit`, if given."""
    rows = 0
    for block in read_blocks(text, layout):
        rows += len(block.u)
        if limit is not None and rows > limit:
            raise row_count_error(text, limit, rows)
        yield block


def read_declared_rows(text: Text, layout: Layout, declared: int | None) -> Table:
    """Read a table as `read_table` does; raise a `FormatError` for another number of rows than `declared`, if given."""
    table = read_table(text, layout, limit=declared)
    if declared is not None and table.rows != declared:
        raise row_count_error(text, declared, table.rows)
    return table


def stream_rows(
    text: Text, layout: Layout, declared: int | None, *, base: int
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """Yield the columns of a table block by block, with ids less `base`; errors as for `read_declared_rows`."""
    rows = 0
    for u, v, w in checked_blocks(text, layout, declared):
        rows += len(u)
        if base:
            u -= base
            v -= base
        yield u, v, w if "w" in layout.columns else None
    if declared is not None and rows != declared:
        raise row_count_error(text, declared, rows)


def row_count_error(text: Text, declared: int, rows: int) -> FormatError:
    """Return the error for a file with another number of rows than it declares; so far, `rows` were read."""
    found = (
        f"more than {declared:,}: correct the declared count"
        if rows > declared
        else f"{rows:,}: the file is truncated, or the declared count is wrong"
    )
    return FormatError(text.source.path, f"declares {counted(declared, 'edge row')} but has {found}")


def _problem(status: int, layout: Layout, word: str) -> str:
    """Return the error message for the word at which a kernel stopped with a status."""
    from mst.kernels.io import parse

    expected = f"expected {layout.expected}"
    highest = layout.high if layout.high < _MAX_INT64 else "2⁶³ - 1"
    point = ": write a decimal point, and no commas" if "," in word else ""
    remedy = ": read names with pandas, and solve its table" if layout.delimiter else ""
    return {
        parse.WORD: expected,
        parse.SHORT: f"{expected}; the row has too few columns",
        parse.LONG: f"{expected}; the row has too many columns",
        parse.ID_WORD: f"{expected}; {word!r} is not a vertex id (a whole number){remedy}",
        parse.WEIGHT_WORD: f"{expected}; {word!r} is not a number{point}",
        parse.ID_RANGE: f"{expected}; vertex {word} lies outside {layout.low} … {highest}",
        parse.TOO_LARGE: f"{expected}; weight {word} does not fit int64: write it with a decimal point",
        parse.INEXACT: f"{expected}; {word} {ROUNDED}",
        parse.NAN: f"{expected}; NaN cannot be ordered: drop this edge or replace its weight",
    }[status]


def write_columns(sink: IO[bytes], *columns: np.ndarray, delimiter: str = " ") -> None:
    """Write a line for each row of the columns, with the delimiter between values.

    Floats are written with the fewest digits that are read back as the same float64, and with a decimal point.

    Parameters
    ----------
    sink : binary stream
    *columns : numpy.ndarray, shape (rows,)
        Integers, floats, or bytes of ASCII; not text, since NumPy ignores an interruption while it converts text.
    delimiter : str
    """
    import pyarrow
    from pyarrow import csv

    plain = csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    names = [str(i) for i in range(len(columns))]
    for start in range(0, len(columns[0]), _ROWS_PER_BLOCK):
        part = [_as_text(column[start : start + _ROWS_PER_BLOCK]) for column in columns]
        csv.write_csv(pyarrow.Table.from_arrays(part, names), sink, plain)


def _as_text(column: np.ndarray) -> Any:
    """Return an Arrow array that is written as the right text; floats are formatted already."""
    import pyarrow
    import pyarrow.compute as pc

    if column.dtype.kind == "S":
        offsets = column.itemsize * np.arange(len(column) + 1, dtype=np.int32)
        buffers = [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(column)]
        return pyarrow.Array.from_buffers(pyarrow.string(), len(column), buffers)
    if column.dtype.kind != "f":
        return to_arrow(np.ascontiguousarray(column))
    texts = pc.cast(to_arrow(column.astype(np.float64)), pyarrow.string())
    return pc.replace_substring_regex(texts, r"^(-?\d+)$", r"\1.0")


def write_rows(
    sink: IO[bytes], graph: Graph, *, base: int = 0, ids: Ids | None = None, tag: str = "", delimiter: str = " "
) -> None:
    """Write a row ``[tag] u v weight`` per edge; vertices have `ids`, or count from `base`."""
    for start in range(0, graph.m, _ROWS_PER_BLOCK):
        part = slice(start, start + _ROWS_PER_BLOCK)
        u, v, w = graph.u[part], graph.v[part], graph.w[part]
        tags = [np.full(len(u), tag.encode())] if tag else []
        u, v = (u + base, v + base) if ids is None else (ids_of(u, ids), ids_of(v, ids))
        write_columns(sink, *tags, u, v, w, delimiter=delimiter)
