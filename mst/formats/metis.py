"""METIS and Chaco graphs (``.graph``): line i lists the neighbours of vertex i, from 1.

The first line is ``n m [fmt [ncon]]``; the digits of `fmt` say whether rows hold vertex sizes, `ncon` vertex weights,
and edge weights (METIS 5.1 manual, section 4.1.1). Comments begin with ``%``. Every edge must be listed at both ends
with the same weight. Weights may be fractions, although the manual defines only integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import numpy as np

from mst.errors import FormatError, InputError
from mst.formats import plain
from mst.formats.arcs import are_symmetric, asymmetry_checksum, integer_weights
from mst.formats.base import FileSummary, Format, RawGraph
from mst.formats.numbers import NumberReader, integers_else_floats
from mst.formats.source import Source, first_lines
from mst.formats.table import ColumnBuilder
from mst.formats.text import Text, decoded, is_count
from mst.graph import Graph
from mst.units import counted

_ENTRIES_PER_BLOCK = 1 << 18


class Header(NamedTuple):
    """The first line: the counts, how many numbers precede the neighbours in a row, and whether edges have weights."""

    n: int
    m: int
    skip: int
    weighted: bool

    def allows(self, rows: int) -> bool:
        """Return whether this many rows of three numbers each can be adjacency lists below this header."""
        return rows <= self.n and (3 - self.skip) // (1 + self.weighted) * rows <= 2 * self.m

    def are_vertices(self, *columns: np.ndarray) -> bool:
        """Return whether all numbers of some columns are vertices."""
        return all(((b >= 1) & (b <= self.n) & (b == np.floor(b))).all() for b in columns)


def sniff(source: Source) -> bool:
    """Return whether this is a header followed by lines that can be its adjacency lists."""
    lines = first_lines(source, b"%")
    if lines is None:
        return False
    while lines and not lines[0].strip():
        lines.pop(0)
    header = _parse_header(lines[0].split()) if lines else None
    if header is None:
        return False
    rows = [line.split() for line in lines[1:]]
    named = source.name.lower().endswith(FORMAT.suffixes)
    if named and source.head_complete and len({len(row) for row in rows if row}) > 1:
        # The file may be truncated or edited; reading it says where. Rows of equal length suggest an edge list instead.
        return not any(rows[header.n :])
    if source.head_complete and len(rows) < header.n:
        return False
    return not any(rows[header.n :]) and _are_adjacency_lists(rows[: header.n], header, source, named)


def _are_adjacency_lists(rows: list[list[bytes]], header: Header, source: Source, named: bool) -> bool:
    """Return whether the rows hold valid neighbours, and each edge between two of these rows is in both."""
    neighbours = []
    for row in rows:
        words = row[header.skip :: 1 + header.weighted]
        if not all(is_count(word) and 1 <= int(word) <= header.n for word in words):
            return False
        neighbours.append(list(map(int, words)))
    arcs = sum(map(len, neighbours))
    if arcs > 2 * header.m or (source.head_complete and arcs < header.m):
        return False
    neighbour_sets = [set(row) for row in neighbours]
    pairs = [(a, b) for a, row in enumerate(neighbours, 1) for b in row if b <= len(rows)]
    if any(a not in neighbour_sets[b - 1] for a, b in pairs):
        return False
    # Rows of two or three words each may also be an edge list, unless many pairs are symmetric or the name says so.
    like_edges = {len(row) for row in rows} in ({2}, {3})
    return not like_edges or len(pairs) > len(rows) // 2 or named


def could_be_adjacency_lists(*columns: list[np.ndarray]) -> bool:
    """Return whether rows of three numbers can be a header and adjacency lists, of which the last may be missing.

    Parameters
    ----------
    *columns : list of numpy.ndarray
        The blocks of each column.
    """
    header = header_of_lists([column[0][0] for column in columns]) if columns[0] else None
    rows = sum(map(len, columns[0])) - 1
    if header is None or not header.allows(rows):
        return False
    entries = [np.concatenate(column)[1:] for column in columns[header.skip :]]
    neighbours = entries[:: 1 + header.weighted]
    if not header.are_vertices(*neighbours):
        return False
    ends = np.concatenate(neighbours).astype(np.int64)
    known = ends <= rows  # edges both of whose rows are in the file
    weights = np.concatenate(entries[1::2])[known] if header.weighted else None
    starts = np.tile(np.arange(1, rows + 1), len(neighbours))
    return are_symmetric(starts[known], ends[known], weights)


def header_of_lists(first: Sequence[Any]) -> Header | None:
    """Return three numbers as the header of adjacency lists of three numbers each; None if they cannot be one."""
    is_whole = all(0 <= x <= 10**18 and x == int(x) for x in first)
    header = _parse_header([b"%d" % x for x in first]) if is_whole else None
    if header is None or header.m > header.n * (header.n - 1) // 2:
        return None
    size = len(first) - header.skip
    return header if size > 0 and size % (1 + header.weighted) == 0 else None


def _parse_header(words: list[bytes]) -> Header | None:
    if not 2 <= len(words) <= 4 or not all(map(is_count, words)):
        return None
    digits = words[2].decode().rjust(3, "0") if len(words) > 2 else "000"
    if len(digits) > 3 or set(digits) - {"0", "1"}:
        return None
    constraints = int(words[3]) if len(words) > 3 else int(digits[1])
    skip = int(digits[0]) + (constraints if digits[1] == "1" else 0)
    return Header(int(words[0]), int(words[1]), skip, digits[2] == "1")


def read(source: Source) -> RawGraph:
    """Read a graph, which has each edge once, in the order of the rows of smaller ends."""
    return integers_else_floats(source, _read)


def _read(source: Source, integers: bool) -> RawGraph:
    text = Text(source)
    header = _header(text)
    u, v, w = ColumnBuilder(), ColumnBuilder(), ColumnBuilder()
    arcs = loops = mirrored = 0
    checksum = 0
    rows = _ArcBlocks(text, header, integers)
    for a, b, weights in rows:
        if not (rows.whole and are_symmetric(a, b, weights)):
            checksum += asymmetry_checksum(a, b, weights)
        kept = a <= b
        arcs += len(a)
        mirrored += int(np.count_nonzero(~kept))
        if arcs > 2 * header.m:
            raise _arc_count_error(source, header, f"more than {2 * header.m:,}")
        loops += int(np.count_nonzero(a == b))
        u.add(a[kept])
        v.add(b[kept])
        if weights is not None:
            w.add(weights[kept])
    if rows.count < header.n:
        raise FormatError(
            source.path, f"declares {header.n:,} vertices but has {rows.count:,} rows: the file is truncated"
        )
    if checksum % 2**64 or 2 * mirrored != arcs - loops:
        raise _asymmetry_error(source, header, integers)
    if 2 * header.m not in (arcs, arcs + loops):
        raise _arc_count_error(source, header, f"{arcs:,}")
    summary = FileSummary(arcs, header.n, header.m, "both", mirrored)
    weights = w.array() if header.weighted else None
    return RawGraph(header.n, u.array(), v.array(), weights, None, "metis", summary, base=1)


def _header(text: Text) -> Header:
    line = text.data_line(b"%")
    header = None if line is None else _parse_header(line.split())
    if header is None:
        raise text.error_at_last_line("expected `<vertices> <edges> [<format> [<constraints>]]`", line)
    return header


def _arc_count_error(source: Source, header: Header, found: str) -> FormatError:
    return FormatError(
        source.path,
        f"declares {counted(header.m, 'edge')} but lists {found} neighbours: expected twice as many as edges",
    )


class _ArcBlocks:
    """The arcs of a file in blocks ``(u, v, w)``, with vertices from 0.

    The arrays are views that the next block overwrites.

    Attributes
    ----------
    count : int
        Number of complete rows so far.
    whole : bool
        Whether the block is the whole file.
    """

    def __init__(self, text: Text, header: Header, integers: bool):
        weight = " <weight>" if header.weighted else ""
        self.numbers = NumberReader(
            text, f"neighbours `<vertex>{weight}` from 1 to {header.n}", comment="%", integers=integers
        )
        self.header, self.count, self.whole = header, 0, False

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        if (block := self._plain_block()) is not None:
            self.count, self.whole = self.header.n, True
            yield block
            return
        from mst.kernels.io import adjacency as kernel

        header = self.header
        u, v = (np.empty(self.numbers.text.block // 2 + 1, np.int64) for _ in range(2))
        w = np.empty(len(u) if header.weighted else 0, np.int64 if self.numbers.integers else np.float64)
        row_format, out = kernel.RowFormat(header.n, header.skip, header.weighted), kernel.ArcArrays(u, v, w)
        position = 0
        for values, line_ends in self.numbers.blocks():
            stop = kernel.NeighbourStop(
                *kernel.read_neighbours(values, line_ends, self.count, position, row_format, out)
            )
            self.count, position = stop.row, stop.position
            if stop.error:
                if stop.error == kernel.NOT_A_VERTEX:
                    problem = f"{values[stop.at]:g} is not a vertex"
                elif stop.error == kernel.TOO_MANY_ROWS:
                    problem = f"the first line declares only {header.n} rows"
                else:
                    problem = "the last neighbour has no weight"
                raise self.numbers.error_at(max(stop.at, 0), problem)
            yield u[: stop.arcs], v[: stop.arcs], w[: stop.arcs] if header.weighted else None
            # If the block ends between a neighbour and its weight, their arc is the first of the next block.
            u[0], v[0] = u[stop.arcs], v[stop.arcs]

    def _plain_block(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None] | None:
        """Return and consume the rows of a small file of whole numbers; return None for any other file."""
        text, header = self.numbers.text, self.header
        if (window := text.small_rest()) is None:
            return None
        found = plain.neighbours(window, header.n, header.skip, header.weighted)
        if found is not None:
            text.consume(window)
        return found


def _asymmetry_error(source: Source, header: Header, integers: bool) -> FormatError:
    """Read the file again, and return an error that names an arc without its reverse."""
    with source.reopened() as reopened:
        text = Text(reopened)
        _header(text)
        parts = [
            (a.copy(), b.copy(), np.zeros(len(a), np.int64) if w is None else w.copy())
            for a, b, w in _ArcBlocks(text, header, integers)
        ]
    a, b, w = (np.concatenate(columns) for columns in zip(*parts))
    sides = []
    for low, high, side in ((a, b, a < b), (b, a, b < a)):
        permutation = np.lexsort((w[side], high[side], low[side]))
        sides.append(np.rec.fromarrays([low[side], high[side], w[side]])[permutation])
    forward, backward = sides
    common = min(len(forward), len(backward))
    differ = forward[:common] != backward[:common]
    at = int(np.argmax(differ)) if differ.any() else common
    arc, from_larger = min(
        (side[at].tolist(), larger) for side, larger in ((forward, False), (backward, True)) if at < len(side)
    )
    row, neighbour = (x + 1 for x in (arc[1::-1] if from_larger else arc[:2]))
    weight = f" with weight {arc[2]}" if header.weighted else ""
    number, line = _line_of_row(source, row)
    return FormatError(
        source.path,
        f"expected each edge at both ends; row {row} lists {neighbour}{weight}, "
        f"but row {neighbour} does not list {row}{weight}",
        line=number,
        text=decoded(line),
    )


def _line_of_row(source: Source, row: int) -> tuple[int, bytes]:
    """Return the line number and the text of a row, counted from 1."""
    with source.reopened() as reopened:
        text = Text(reopened)
        _header(text)
        line = b""
        while row and (following := text.line()) is not None:
            line = following
            row -= not line.lstrip().startswith(b"%")
        return text.lines, line


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write neighbours with edge weights (format ``001``), which must be integers.

    Raises
    ------
    InputError
        The graph has self-loops, or a weight is not an integer that fits int64.
    """
    from mst.kernels.io.adjacency import symmetric_rows
    from mst.kernels.io.digits import MAX_BYTES, write_adjacency_lines

    if (graph.u == graph.v).any():
        raise InputError("METIS graphs have no self-loops: simplify the graph first (mst.simplify.simplify)")
    weights = integer_weights(graph, np.int64, "METIS")
    offsets, neighbours, w = symmetric_rows(graph.n, graph.u, graph.v, weights)
    sink.write(f"{graph.n} {graph.m} 001\n".encode())
    start = 0
    while start < graph.n:
        # Rows are written in blocks of a limited number of entries, but at least one row.
        stop = int(np.searchsorted(offsets, offsets[start] + _ENTRIES_PER_BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), start + _ENTRIES_PER_BLOCK, graph.n)
        part = offsets[start : stop + 1]
        buffer = np.empty((2 * MAX_BYTES + 2) * int(part[-1] - part[0]) + len(part), np.uint8)
        sink.write(buffer[: write_adjacency_lines(part, neighbours, w, buffer)].tobytes())
        start = stop


FORMAT = Format("metis", "METIS and Chaco adjacency lists", (".graph", ".metis", ".chaco"), sniff, read, write)
