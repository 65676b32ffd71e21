"""ECL graphs (``.egr``): compressed sparse rows in little-endian int32.

``n``, ``arcs``, ``n + 1`` row offsets, ``arcs`` neighbours and, optionally, ``arcs`` weights. The inputs of the
ECL-MST paper (Fallin et al., 2023) are such files; https://cs.txstate.edu/~burtscher/research/ECLgraph/.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from mst.errors import FormatError, InputError
from mst.formats.arcs import Arcs, check_offsets, graph_from_arcs, integer_weights
from mst.formats.base import Format, RawGraph
from mst.formats.source import Source, is_text
from mst.graph import Graph

_INT32 = np.dtype("<i4")


def sniff(source: Source) -> bool:
    """Return whether the counts agree with the size of the file, and offsets ascending from 0 follow."""
    head = np.frombuffer(source.head[: len(source.head) // 4 * 4], _INT32)
    if is_text(source) or len(head) < 3:
        return False
    n, arcs = int(head[0]), int(head[1])
    offsets = head[2 : n + 3]
    if n < 0 or arcs < 0 or offsets[0] != 0 or offsets[-1] > arcs or (offsets[1:] < offsets[:-1]).any():
        return False
    if len(offsets) == n + 1 and offsets[-1] != arcs:
        return False
    sizes = [4 * (n + 3 + arcs), 4 * (n + 3 + 2 * arcs)]
    return source.size in sizes if source.size is not None else True


def read(source: Source) -> RawGraph:
    """Read a graph; each edge occurs once if every arc has its reverse."""
    from mst.kernels.io.adjacency import row_of_each_slot

    n, arcs = (int(x) for x in source.array(_INT32, 2, "counts"))
    if n < 0 or arcs < 0:
        raise FormatError(source.path, f"expected counts of at least 0, found {n} vertices and {arcs} arcs")
    offsets = source.array(_INT32, n + 1, "row offsets")
    check_offsets(source.path, offsets, arcs)
    v = source.array(_INT32, arcs, "neighbours")
    w = None if source.at_end() else source.array(_INT32, arcs, "weights")
    source.expect_end()
    u = row_of_each_slot(offsets[:n], arcs, np.int32(0))
    return graph_from_arcs(source.path, "ecl", n, Arcs(u, v, w), arcs)


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write both arcs of each edge.

    Raises
    ------
    InputError
        A weight is not an integer that fits int32, or there are 2³¹ arcs or more.
    """
    from mst.kernels.io.adjacency import symmetric_rows

    weights = integer_weights(graph, np.int32, "ECL")
    if graph.n >= 2**31 or 2 * graph.m >= 2**31:
        raise InputError(f"ECL files hold int32 counts: n = {graph.n:,} and {2 * graph.m:,} arcs are too many")
    offsets, neighbours, w = symmetric_rows(graph.n, graph.u, graph.v, weights)
    for part in (np.array([graph.n, len(neighbours)]), offsets, neighbours, w):
        sink.write(part.astype(_INT32).tobytes())


FORMAT = Format("ecl", "ECL compressed sparse rows", (".egr",), sniff, read, write)
