"""Adjacency matrices in text (CSV): the number in row i and column j is the weight of edge i–j.

Between commas, semicolons, bars or blanks; ``0``, ``inf``, ``-`` and nothing stand for no edge, as in SciPy's
`csgraph_from_dense`. A symmetric matrix gives each edge once, any other one each entry; there are no labels.
"""

from __future__ import annotations

import re

import numpy as np

from mst.errors import FormatError
from mst.formats.arcs import paired
from mst.formats.base import Format, Notes, RawGraph
from mst.formats.numbers import FractionFound, Numbers
from mst.formats.source import Source, head_lines
from mst.formats.table import Chunks
from mst.formats.text import Text

_ENTRY = re.compile(rb"(?i)[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|[+-]?(?:inf|infinity|nan)|-?")
_MISSING = np.iinfo(np.int64).min
_WIDEST = 1 << 18


def sniff(source: Source) -> bool:
    """True for rows of one width, no more than columns; narrow ones must look like distances besides."""
    lines = [line.strip() for line in head_lines(source) or [] if line.strip()]
    if not lines:
        return _long_row(source)
    delimiter = _delimiter(lines[0])
    rows = [[word.strip() for word in line.split(delimiter.encode() or None)] for line in lines]
    width = len(rows[0])
    if len(rows) > width or (source.whole and len(rows) < width) or {len(row) for row in rows} != {width}:
        return False
    if not all(_ENTRY.fullmatch(word) for row in rows for word in row):
        return False
    return width > (4 if delimiter else 8) or (width > 1 and _hollow_and_symmetric(rows))


def _hollow_and_symmetric(rows: list[list[bytes]]) -> bool:
    hollow = all(row[i] in (b"", b"-", b"0", b"0.0") for i, row in enumerate(rows))
    return hollow and all(rows[i][j] == rows[j][i] for i in range(len(rows)) for j in range(i))


def _long_row(source: Source) -> bool:
    """True when the first row is longer than the head."""
    if source.whole or b"\n" in source.head:
        return False
    words = source.head.split(_delimiter(source.head).encode() or None)[:-1]
    return len(words) > 8 and all(_ENTRY.fullmatch(word.strip()) for word in words)


def _delimiter(line: bytes) -> str:
    return next((d for d in ",;|" if d.encode() in line), "")


def read(source: Source) -> RawGraph:
    """Read a matrix."""
    try:
        return _read(source, integers=True)
    except FractionFound:
        with Source(source.path) as again:
            return _read(again, integers=False)


def _read(source: Source, *, integers: bool) -> RawGraph:
    text = Text(source)
    delimiter = _delimiter(source.head.lstrip().split(b"\n", 1)[0])
    numbers = Numbers(text, "rows of numbers, as many as columns", delimiter=delimiter, integers=integers)
    places, w = Chunks(), Chunks()
    width, seen, rows = None, 0, 0
    for values, ends in numbers.blocks():
        lengths = np.diff(ends[:, 0], prepend=0)
        if len(lengths):
            lengths[0] += seen - rows * (width or 0)
        full = lengths > 0
        if full.any():
            width = width or int(lengths[full][0])
            if (lengths[full] != width).any():
                wrong = int(np.flatnonzero(full & (lengths != width))[0])
                raise numbers.error_at(
                    max(int(ends[wrong, 0]) - 1, 0), f"this row has {lengths[wrong]}, the first {width}"
                )
            rows += int(np.count_nonzero(full))
        if seen + len(values) - rows * (width or 0) > _WIDEST:
            raise numbers.error_at(max(len(values) - 1, 0), f"this row goes on after {_WIDEST:,} numbers")
        present = (values != 0) & ((values != _MISSING) if integers else np.isfinite(values))
        places.add(np.flatnonzero(present) + seen)
        w.add(values[present])
        seen += len(values)
    n = width or 0
    if rows != n:
        raise FormatError(source.path, f"expected a square matrix, found {rows:,} rows of {n:,} numbers")
    u, v = (part.astype(np.int32) for part in np.divmod(places.array(), max(n, 1)))
    edges = paired(u, v, w.array())
    both = edges.mirrored is not None
    notes = Notes(len(u), n, None, "both" if both else "arcs", edges.mirrored or 0)
    return RawGraph(n, edges.u, edges.v, edges.w, None, "matrix", notes)


FORMAT = Format("matrix", "Adjacency matrix in text (CSV)", (), sniff, read)
