"""METIS and Chaco graphs (``.graph``): line i lists the neighbours of vertex i, from 1.

METIS 5.1 manual, section 4.1.1. The first line is ``n m [fmt [ncon]]``; the digits of `fmt` say whether rows
hold vertex sizes, `ncon` vertex weights, and edge weights. Comments begin with ``%``. Every edge is listed at
both its ends, with one weight; that is checked. Fractions, which the manual does not know, are read.
"""

from __future__ import annotations

from typing import IO, NamedTuple

import numpy as np

from mst.errors import FormatError, InputError
from mst.formats.arcs import balanced, integer_weights
from mst.formats.base import Format, Notes, RawGraph
from mst.formats.numbers import FractionFound, Numbers
from mst.formats.source import Source, head_lines
from mst.formats.table import Chunks
from mst.formats.text import BLOCK, Text, readable
from mst.graph import Graph

_ENTRIES = 1 << 18


class _Header(NamedTuple):
    n: int
    m: int
    skip: int
    weighted: bool


def sniff(source: Source) -> bool:
    """True for a header that the following lines fit as adjacency rows, paired where both rows are in sight."""
    lines = head_lines(source, b"%")
    if lines is None:
        return False
    while lines and not lines[0].strip():
        lines.pop(0)
    header = _parsed_header(lines[0].split()) if lines else None
    if header is None:
        return False
    rows = [line.split() for line in lines[1:]]
    if source.whole and len(rows) < header.n:
        return False
    return not any(rows[header.n :]) and _fits(header, rows[: header.n], source)


def _fits(header: _Header, rows: list[list[bytes]], source: Source) -> bool:
    neighbours = []
    for row in rows:
        listed = row[header.skip :: 1 + header.weighted]
        if not all(word.isdigit() and len(word) < 19 and 1 <= int(word) <= header.n for word in listed):
            return False
        neighbours.append(list(map(int, listed)))
    arcs = sum(map(len, neighbours))
    if arcs > 2 * header.m or (source.whole and arcs < header.m):
        return False
    known = [set(listed) for listed in neighbours]
    pairs = [(a, b) for a, listed in enumerate(neighbours, 1) for b in listed if b <= len(rows)]
    if any(a not in known[b - 1] for a, b in pairs):
        return False
    # Rows that all have two or three words could be edges: then pairs, or else the name, must speak for METIS.
    alike = {len(row) for row in rows} in ({2}, {3})
    return not alike or len(pairs) > len(rows) // 2 or source.name.lower().endswith(FORMAT.suffixes)


def _parsed_header(words: list[bytes]) -> _Header | None:
    if not 2 <= len(words) <= 4 or not all(word.isdigit() and len(word) < 19 for word in words):
        return None
    digits = words[2].decode().rjust(3, "0") if len(words) > 2 else "000"
    if len(digits) > 3 or set(digits) - {"0", "1"}:
        return None
    constraints = int(words[3]) if len(words) > 3 else int(digits[1])
    skip = int(digits[0]) + (constraints if digits[1] == "1" else 0)
    return _Header(int(words[0]), int(words[1]), skip, digits[2] == "1")


def read(source: Source) -> RawGraph:
    """Read a graph, each edge once, at the smaller end's row."""
    try:
        return _read(source, integers=True)
    except FractionFound:
        with Source(source.path) as again:
            return _read(again, integers=False)


def _read(source: Source, *, integers: bool) -> RawGraph:
    text = Text(source)
    header = _header(text)
    u, v, w = Chunks(), Chunks(), Chunks()
    arcs = loops = mirrored = 0
    balance = 0
    rows = _Rows(text, header, integers)
    for a, b, weights in rows:
        balance += balanced(a, b, weights)
        kept = a <= b
        arcs += len(a)
        mirrored += int(np.count_nonzero(~kept))
        if arcs > 2 * header.m:
            raise _wrong_count(source, header, f"more than {2 * header.m:,}")
        loops += int(np.count_nonzero(a == b))
        u.add(a[kept])
        v.add(b[kept])
        if weights is not None:
            w.add(weights[kept])
    if rows.count < header.n:
        raise FormatError(
            source.path, f"declares {header.n:,} vertices and has {rows.count:,} rows: the file is cut"
        )
    if balance % 2**64 or 2 * mirrored != arcs - loops:
        raise _unpaired(source, header)
    if 2 * header.m not in (arcs, arcs + loops):
        raise _wrong_count(source, header, f"{arcs:,}")
    notes = Notes(arcs, header.n, header.m, "both", mirrored)
    return RawGraph(
        header.n, u.array(), v.array(), w.array() if header.weighted else None, None, "metis", notes
    )


def _header(text: Text) -> _Header:
    line = text.line()
    while line is not None and (not line.strip() or line.lstrip().startswith(b"%")):
        line = text.line()
    header = None if line is None else _parsed_header(line.split())
    if header is None:
        raise text.error_behind("expected `<vertices> <edges> [<format> [<constraints>]]`", line)
    return header


def _wrong_count(source: Source, header: _Header, found: str) -> FormatError:
    return FormatError(
        source.path, f"declares {header.m:,} edges and lists {found} neighbours, not twice as many"
    )


class _Rows:
    """Iterates over blocks of arcs ``(u, v, w)``, from 0; `count` rows were complete so far."""

    def __init__(self, text: Text, header: _Header, integers: bool):
        weight = " <weight>" if header.weighted else ""
        self.numbers = Numbers(
            text, f"neighbours `<vertex>{weight}` from 1 to {header.n}", comment="%", integers=integers
        )
        self.header, self.count = header, 0

    def __iter__(self):
        from mst.kernels.io import adjacency as kernel

        header = self.header
        u, v = np.empty(BLOCK // 2 + 1, np.int64), np.empty(BLOCK // 2 + 1, np.int64)
        w = np.empty(len(u) if header.weighted else 0, np.int64 if self.numbers.integers else np.float64)
        position = 0
        for values, ends in self.numbers.blocks():
            mistake, at, self.count, position, arcs = kernel.read_neighbours(
                values, ends, self.count, position, header.skip, header.weighted, header.n, u, v, w
            )
            if mistake:
                complaint = {
                    kernel.NO_VERTEX: f"{values[at]:g} is none",
                    kernel.TOO_MANY_ROWS: f"there are rows beyond the {header.n} that the first line declares",
                    kernel.NO_WEIGHT: "the last neighbour has no weight",
                }[mistake]
                raise self.numbers.error_at(max(at, 0), complaint)
            # A weight may still be to come when a row is cut: then the arc waits in its place.
            yield u[:arcs], v[:arcs], w[:arcs] if header.weighted else None
            u[0], v[0] = u[arcs], v[arcs]


def _unpaired(source: Source, header: _Header) -> FormatError:
    """Read again to name an arc without its twin."""
    with Source(source.path) as again:
        text = Text(again)
        _header(text)
        parts = [
            (a.copy(), b.copy(), None if w is None else w.copy()) for a, b, w in _Rows(text, header, False)
        ]
    a, b = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    w = np.concatenate([part[2] for part in parts]) if header.weighted else np.zeros(len(a))
    sides = []
    for low, high, side in ((a, b, a < b), (b, a, b < a)):
        order = np.lexsort((w[side], high[side], low[side]))
        sides.append(np.stack([low[side], high[side], w[side]], axis=1)[order])
    forward, backward = sides
    both = min(len(forward), len(backward))
    differ = (forward[:both] != backward[:both]).any(axis=1)
    at = int(np.argmax(differ)) if differ.any() else both
    lone, flipped = min(
        (tuple(side[at]), flip) for side, flip in ((forward, False), (backward, True)) if at < len(side)
    )
    here, there = (int(x) + 1 for x in (lone[1::-1] if flipped else lone[:2]))
    weight = f" with weight {lone[2]:g}" if header.weighted else ""
    number, line = _line_of_row(source, here)
    return FormatError(
        source.path,
        f"expected each edge from both ends; {here} lists {there}{weight}, which does not list {here} so",
        line=number,
        text=readable(line),
    )


def _line_of_row(source: Source, row: int) -> tuple[int, bytes]:
    with Source(source.path) as again:
        text = Text(again)
        _header(text)
        line = b""
        while row and (following := text.line()) is not None:
            line = following
            row -= not line.lstrip().startswith(b"%")
        return text.lines, line


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write neighbours with edge weights (format ``001``), which METIS wants to be whole numbers.

    Raises
    ------
    InputError
        The graph has self-loops, or weights that are no whole numbers of int64.
    """
    from mst.kernels.io.adjacency import symmetric_rows
    from mst.kernels.io.digits import WIDEST, adjacency_lines

    if (graph.u == graph.v).any():
        raise InputError("METIS graphs have no self-loops: simplify the graph first (mst.simplify.simplify)")
    weights = integer_weights(graph, np.int64, "METIS")
    offsets, neighbours, w = symmetric_rows(graph.n, graph.u, graph.v, weights)
    sink.write(f"{graph.n} {graph.m} 001\n".encode())
    start = 0
    while start < graph.n:
        # As many rows as have some entries, or one row of any length.
        stop = int(np.searchsorted(offsets, offsets[start] + _ENTRIES, side="right")) - 1
        stop = min(max(stop, start + 1), start + _ENTRIES, graph.n)
        part = offsets[start : stop + 1]
        buffer = np.empty((2 * WIDEST + 2) * int(part[-1] - part[0]) + len(part), np.uint8)
        sink.write(buffer[: adjacency_lines(part, neighbours, w, buffer)].tobytes())
        start = stop


FORMAT = Format("metis", "METIS and Chaco adjacency lists", (".graph", ".metis", ".chaco"), sniff, read, write)
