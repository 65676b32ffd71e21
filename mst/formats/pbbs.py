"""Edge arrays of PBBS, weighted or not: a word that names the format, then a row per edge, with ids from 0.

A file has no vertex count: as in PBBS, the largest id is the last vertex, so isolated vertices beyond it are lost.
https://www.cs.cmu.edu/~pbbs/benchmarks/graphIO.html.
"""

from __future__ import annotations

from typing import IO

from mst.formats.base import FileSummary, Format, RawGraph
from mst.formats.source import Source
from mst.formats.table import Layout, read_table, write_rows
from mst.formats.text import Text
from mst.graph import Graph

_LAYOUTS = {b"EdgeArray": Layout("uv", "`<u> <v>`"), b"WeightedEdgeArray": Layout("uvw", "`<u> <v> <weight>`")}


def sniff(source: Source) -> bool:
    """Return whether the first word names an edge array."""
    return source.head[:64].split(None, 1)[:1] in ([word] for word in _LAYOUTS)


def read(source: Source) -> RawGraph:
    """Read an edge array."""
    text = Text(source)
    line = text.line()
    layout = _LAYOUTS.get(line.strip()) if line else None
    if layout is None:
        raise text.error_at_last_line(f"expected {' or '.join(word.decode() for word in _LAYOUTS)}", line)
    table = read_table(text, layout)
    n = table.id_range()[1] + 1
    u, v = table.ends()
    return RawGraph(n, u, v, table.weights(), None, "pbbs", FileSummary(table.rows, direction="edges"))


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write a weighted edge array; isolated vertices beyond the largest id in use are lost."""
    sink.write(b"WeightedEdgeArray\n")
    write_rows(sink, graph, base=0)


FORMAT = Format("pbbs", "PBBS edge array", (), sniff, read, write, keeps_last=False)
