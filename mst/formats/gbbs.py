"""(Weighted) adjacency graphs of PBBS, Ligra and GBBS: a word, ``n``, ``arcs``, offsets, neighbours, weights.

One number after the other, in text. https://www.cs.cmu.edu/~pbbs/benchmarks/graphIO.html.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from mst.formats.arcs import check_offsets, raw_graph
from mst.formats.base import Format, RawGraph
from mst.formats.numbers import Numbers
from mst.formats.source import Source
from mst.formats.table import write_columns
from mst.formats.text import Text
from mst.graph import Graph

_WORDS = {b"AdjacencyGraph": False, b"WeightedAdjacencyGraph": True}


def sniff(source: Source) -> bool:
    return source.head[:64].split(None, 1)[:1] in ([word] for word in _WORDS)


def read(source: Source) -> RawGraph:
    """Read a graph; each edge once where every arc has its twin."""
    from mst.kernels.io.adjacency import row_of_each_slot

    text = Text(source)
    line = text.line()
    if line is None or line.strip() not in _WORDS:
        raise text.error_behind(f"expected {' or '.join(word.decode() for word in _WORDS)}", line)
    numbers = Numbers(text, "counts, offsets and neighbours, then weights")
    n, arcs = (int(x) for x in numbers.take(2, "counts", whole=True))
    if n < 0 or arcs < 0:
        raise text.error_behind(f"expected counts of at least 0, found {n} vertices and {arcs} arcs")
    offsets = numbers.take(n, "offsets", whole=True).astype(np.int64)
    check_offsets(source.path, np.append(offsets, arcs), arcs)
    v = numbers.take(arcs, "neighbours", whole=True)
    w = numbers.take(arcs, "weights") if _WORDS[line.strip()] else None
    if not numbers.ended():
        raise text.error("expected the end of the file after the last number", text=text.line_at(text.start))
    u = row_of_each_slot(offsets, arcs, np.int32(0) if n < 2**31 else np.int64(0))
    return raw_graph(source.path, "gbbs", n, u, v, w, arcs)


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write both arcs of each edge, with weights."""
    from mst.kernels.io.adjacency import symmetric_rows

    offsets, neighbours, w = symmetric_rows(graph.n, graph.u, graph.v, graph.w)
    sink.write(f"WeightedAdjacencyGraph\n{graph.n}\n{len(neighbours)}\n".encode())
    for column in (offsets[:-1], neighbours, w):
        write_columns(sink, column)


FORMAT = Format("gbbs", "PBBS, Ligra and GBBS adjacency graph", (".adj",), sniff, read, write)
