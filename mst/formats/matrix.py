"""Adjacency matrices in text (CSV): the number in row i and column j is the weight of edge i–j.

Numbers are separated by commas, semicolons, bars or blanks; there are no labels. Zero and infinity mean that there is
no edge, as in SciPy's `csgraph_from_dense`; so do ``-`` and an empty field. A symmetric matrix is read as a graph that
has each edge once; otherwise, every entry is an edge.
"""

from __future__ import annotations

import re

import numpy as np

from mst.errors import FormatError
from mst.formats.arcs import merge_reverse_arcs
from mst.formats.base import Format, RawGraph, ambiguous
from mst.formats.numbers import NumberReader, integers_else_floats
from mst.formats.source import Source, first_lines
from mst.formats.table import ColumnBuilder
from mst.formats.text import Text, delimiter_in, is_count

_ENTRY = re.compile(rb"(?i)[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:inf|infinity|nan)|-?")
_MISSING = np.iinfo(np.int64).min
_MAX_ROW_LENGTH = 1 << 18


def sniff(source: Source) -> bool:
    """Return whether this is rows of equal length, and at most as many rows as columns.

    To be distinguished from edge lists, small matrices must be symmetric with an empty diagonal.
    """
    lines = [line.strip() for line in first_lines(source) or [] if line.strip()]
    if not lines:
        return _begins_with_long_row(source)
    delimiter = delimiter_in(lines[0])
    rows = [[word.strip() for word in line.split(delimiter.encode() or None)] for line in lines]
    width = len(rows[0])
    if (
        len(rows) > width
        or (source.head_complete and len(rows) < width)
        or {len(row) for row in rows} != {width}
    ):
        return False
    if not all(_ENTRY.fullmatch(word) for row in rows for word in row):
        return False
    if width > (4 if delimiter else 8):
        return True
    if width < 2 or not _hollow_and_symmetric(rows):
        return False
    if width < 4 and all(is_count(word) for row in rows for word in row[:2]):
        raise ambiguous(source, "matrix", "edges")
    return True


def _hollow_and_symmetric(rows: list[list[bytes]]) -> bool:
    hollow = all(row[i] in (b"", b"-", b"0", b"0.0") for i, row in enumerate(rows))
    return hollow and all(rows[i][j] == rows[j][i] for i in range(len(rows)) for j in range(i))


def _begins_with_long_row(source: Source) -> bool:
    """Return whether the first row is longer than the head and holds numbers."""
    if source.head_complete or b"\n" in source.head:
        return False
    words = source.head.split(delimiter_in(source.head).encode() or None)[:-1]
    return len(words) > 8 and all(_ENTRY.fullmatch(word.strip()) for word in words)


def read(source: Source) -> RawGraph:
    """Read a matrix."""
    return integers_else_floats(source, _read)


def _read(source: Source, integers: bool) -> RawGraph:
    text = Text(source)
    delimiter = delimiter_in(source.head.lstrip().split(b"\n", 1)[0])
    numbers = NumberReader(text, "as many rows of numbers as columns", delimiter=delimiter, integers=integers)
    positions, w = ColumnBuilder(), ColumnBuilder()
    width, seen, rows = 0, 0, 0
    for values, line_ends in numbers.blocks():
        lengths = np.diff(line_ends[:, 0], prepend=0)
        if len(lengths):
            lengths[0] += seen - rows * width
        full = lengths > 0
        if full.any():
            width = width or int(lengths[full][0])
            if (lengths[full] != width).any():
                wrong = int(np.flatnonzero(full & (lengths != width))[0])
                raise numbers.error_at(
                    max(int(line_ends[wrong, 0]) - 1, 0),
                    f"this row has {lengths[wrong]} numbers, but the first has {width}",
                )
            rows += int(np.count_nonzero(full))
        if seen + len(values) - rows * width > _MAX_ROW_LENGTH:
            raise numbers.error_at(
                max(len(values) - 1, 0), f"this row has more than {_MAX_ROW_LENGTH:,} numbers"
            )
        present = (values != 0) & ((values != _MISSING) if integers else np.isfinite(values))
        positions.add(np.flatnonzero(present) + seen)
        w.add(values[present])
        seen += len(values)
    n = width
    if rows != n:
        raise FormatError(source.path, f"expected a square matrix, found {rows:,} rows of {n:,} numbers")
    u, v = (part.astype(np.int32) for part in np.divmod(positions.array(), max(n, 1)))
    return merge_reverse_arcs(u, v, w.array()).graph("matrix", n, len(u))


FORMAT = Format("matrix", "Adjacency matrix in text (CSV)", (), sniff, read)
