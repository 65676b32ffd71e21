"""Binary triples of Bhargava and Zaia's programs: ``n``, ``m``, and ``u, v, weight`` of each edge, with ids from 0.

All numbers are little-endian int32; https://github.com/jzaia18/15618-Final. The programs' text files are headed
edge lists (`mst.formats.headed`).
"""

from __future__ import annotations

from typing import IO

import numpy as np

from mst.errors import FormatError, InputError
from mst.formats.arcs import check_ends, integer_weights
from mst.formats.base import FileSummary, Format, RawGraph
from mst.formats.source import Source, is_text
from mst.graph import Graph

_INT32 = np.dtype("<i4")
_ROWS_PER_BLOCK = 1 << 20


def sniff(source: Source) -> bool:
    """Return whether the counts agree with the size of the file, and valid edges follow."""
    if is_text(source) or len(source.head) < 8:
        return False
    n, m = (int(x) for x in np.frombuffer(source.head[:8], _INT32))
    if n < 0 or m < 0 or (source.size is not None and source.size != 8 + 12 * m):
        return False
    ends = np.frombuffer(source.head[8 : 8 + (len(source.head) - 8) // 12 * 12], _INT32).reshape(-1, 3)[:, :2]
    return bool(((ends >= 0) & (ends < n)).all())


def read(source: Source) -> RawGraph:
    """Read a graph."""
    n, m = (int(x) for x in source.array(_INT32, 2, "counts"))
    if n < 0 or m < 0:
        raise FormatError(source.path, f"expected counts of at least 0, found {n} vertices and {m} edges")
    rows = source.array(_INT32, 3 * m, "numbers (three per edge)").reshape(m, 3)
    source.expect_end()
    u, v, w = (np.ascontiguousarray(rows[:, i]) for i in range(3))
    check_ends(source.path, n, u, v)
    return RawGraph(n, u, v, w, None, "bhargava-zaia", FileSummary(m, n, m, "edges"))


def write(sink: IO[bytes], graph: Graph) -> None:
    """Write a graph.

    Raises
    ------
    InputError
        A weight is not an integer that fits int32, or a count does not fit.
    """
    weights = integer_weights(graph, np.int32, "Bhargava and Zaia's")
    if graph.n >= 2**31 or graph.m >= 2**31:
        raise InputError(
            f"Bhargava and Zaia's files hold int32 counts: n = {graph.n:,} and m = {graph.m:,} are too many"
        )
    sink.write(np.array([graph.n, graph.m], _INT32).tobytes())
    for start in range(0, graph.m, _ROWS_PER_BLOCK):
        part = slice(start, start + _ROWS_PER_BLOCK)
        sink.write(np.stack([graph.u[part], graph.v[part], weights[part]], axis=1).astype(_INT32).tobytes())


FORMAT = Format("bhargava-zaia", "Bhargava–Zaia binary triples", (), sniff, read, write)
