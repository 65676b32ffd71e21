"""Adjacency graphs of PBBS, Ligra and GBBS in text, with or without weights.

A file holds a word that names the format, then the vertex count, the arc count, row offsets, neighbours, and weights if
there are any. https://www.cs.cmu.edu/~pbbs/benchmarks/graphIO.html.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from mst.formats.arcs import Arcs, check_offsets, graph_from_arcs
from mst.formats.base import Format, RawGraph
from mst.formats.numbers import NumberReader
from mst.formats.source import Source
from mst.formats.table import write_columns
from mst.formats.text import Text
from mst.graph import Graph

_WEIGHTED_BY_WORD = {b"AdjacencyGraph": False, b"WeightedAdjacencyGraph": True}


def sniff(source: Source) -> bool:
    """Return whether the first word names an adjacency graph."""
    return source.head[:64].split(None, 1)[:1] in ([word] for word in _WEIGHTED_BY_WORD)


def read(source: Source) -> RawGraph:
    """Read a graph; each edge occurs once if every arc has its reverse."""
    from mst.kernels.io.adjacency import row_of_each_slot

    text = Text(source)
    line = text.line()
    if line is None or line.strip() not in _WEIGHTED_BY_WORD:
        raise text.error_at_last_line(
            f"expected {' or '.join(word.decode() for word in _WEIGHTED_BY_WORD)}", line
        )
    numbers = NumberReader(text, "counts, offsets and neighbours, then weights")
    n, arcs = (int(x) for x in numbers.read(2, "counts", whole=True))
    if n < 0 or arcs < 0:
        raise text.error_at_last_line(f"expected counts of at least 0, found {n} vertices and {arcs} arcs")
    offsets = numbers.read(n, "offsets", whole=True).astype(np.int64)
    check_offsets(source.path, np.append(offsets, arcs), arcs)
    v = numbers.read(arcs, "neighbours", whole=True)
    w = numbers.read(arcs, "weights") if _WEIGHTED_BY_WORD[line.strip()] else None
    if not numbers.at_end():
        raise text.error_at_next_line(
            "expected the end of the file after the last number", text=text.line_at(text.start)
        )
    u = row_of_each_slot(offsets, arcs, np.int32(0) if n < 2**31 else np.int64(0))
    graph = graph_from_arcs(source.path, "gbbs", n, Arcs(u, v, w), arcs)
    if text.unended and graph.summary.direction == "arcs":
        raise text.error_at_last_line(
            "expected the reverse of each arc, or a line feed after the last number, which may be truncated"
        )
    return graph


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write both arcs of each edge, with their weights."""
    from mst.kernels.io.adjacency import symmetric_rows

    offsets, neighbours, w = symmetric_rows(graph.n, graph.u, graph.v, graph.w)
    sink.write(f"WeightedAdjacencyGraph\n{graph.n}\n{len(neighbours)}\n".encode())
    for column in (offsets[:-1], neighbours, w):
        write_columns(sink, column)


FORMAT = Format("gbbs", "PBBS, Ligra and GBBS adjacency graph", (".adj",), sniff, read, write)
