"""(Weighted) edge arrays of PBBS: a word, then a row per edge, ids from 0.

https://www.cs.cmu.edu/~pbbs/benchmarks/graphIO.html. There is no vertex count: as in PBBS, the vertices end
with the largest id, so that isolated vertices above it are not told.
"""

from __future__ import annotations

from typing import IO

from mst.formats.base import Format, Notes, RawGraph
from mst.formats.source import Source
from mst.formats.table import Layout, read_table, write_rows
from mst.formats.text import Text
from mst.graph import Graph

_LAYOUTS = {
    b"EdgeArray": Layout("uv", "`<u> <v>`"),
    b"WeightedEdgeArray": Layout("uvw", "`<u> <v> <weight>`"),
}


def sniff(source: Source) -> bool:
    return source.head[:64].split(None, 1)[:1] in ([word] for word in _LAYOUTS)


def read(source: Source) -> RawGraph:
    """Read an edge array."""
    text = Text(source)
    line = text.line()
    layout = _LAYOUTS.get(line.strip()) if line else None
    if layout is None:
        raise text.error_behind(f"expected {' or '.join(word.decode() for word in _LAYOUTS)}", line)
    table = read_table(text, layout)
    n = table.id_range()[1] + 1
    return RawGraph(
        n, table.u.array(), table.v.array(), table.weights(), None, "pbbs", Notes(table.rows, direction="edges")
    )


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write an edge array; isolated vertices above the largest id in use are lost."""
    sink.write(b"WeightedEdgeArray\n")
    write_rows(sink, graph, base=0)


FORMAT = Format("pbbs", "PBBS edge array", (), sniff, read, write)
