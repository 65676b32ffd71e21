"""Simple graphs: no self-loops, no parallel edges, one fixed order of rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from mst.arrays import first_of_runs
from mst.graph import Graph, frozen

_SPARSE = 8
"""With more vertices per edge than this, the vertices in use are renumbered first."""

_FEW, _FEW_FOR_LOADED = 1 << 16, 1 << 10
"""The most edges that NumPy merges faster than compiled code: if that is yet to be loaded, and if it is loaded."""


@dataclass(frozen=True)
class MergeCounts:
    """Numbers of rows that `simplify` dropped; their sum is the number of edges before minus that after.

    Attributes
    ----------
    loops : int
        Self-loops.
    reciprocal : int
        One row of each pair of vertices that arcs join in both directions.
    parallel : int
        All further rows of a pair of vertices.
    """

    loops: int
    reciprocal: int
    parallel: int


def simplify(graph: Graph, *, threads: int = 1) -> tuple[Graph, MergeCounts]:
    """Return the simple graph and the counts of dropped rows.

    Arcs a→b and b→a count as the same edge; the lightest of parallel edges is kept; self-loops are dropped. All
    vertices are kept.

    Parameters
    ----------
    graph : Graph
    threads : int
        At most the number of usable cores.

    Returns
    -------
    Graph
        Edges have ``u < v`` and are sorted by (u, v), whatever the order of the input's rows. A weight of ``-0.0``
        becomes ``0.0``.
    MergeCounts

    Notes
    -----
    O(n + m) time. Besides input and result, memory is 12 bytes per edge (16 for 64-bit weights), unless most edges have
    the same smaller end. If a graph of many edges is already simple and sorted, the result shares its arrays.

    Examples
    --------
    >>> from mst import Graph
    >>> from mst.simplify import simplify
    >>> graph, merged = simplify(Graph(3, [1, 0, 2, 2, 1], [0, 1, 2, 1, 2], [5, 4, 9, 7, 8]))
    >>> graph.u.tolist(), graph.v.tolist(), graph.w.tolist()
    ([0, 1], [1, 2], [4, 7])
    >>> merged
    MergeCounts(loops=1, reciprocal=2, parallel=0)
    """
    if are_few(graph.m, _FEW_FOR_LOADED):
        u, v, w, *counts = _merge_few(graph)
    elif graph.n > _SPARSE * graph.m + 1024:
        u, v, w, *counts = _merge_used(graph, threads)
    else:
        from mst.kernels.graph.simplify import merge_edges

        u, v, w, *counts = merge_edges(graph.n, graph.u, graph.v, graph.w, threads)
    return Graph(graph.n, u, v, w, name=graph.name, trusted=True), MergeCounts(*counts)


def are_few(edges: int, for_loaded: int) -> bool:
    """Return whether NumPy merges edges faster than compiled code: up to `for_loaded` edges once numba is loaded."""
    return edges <= (for_loaded if "numba" in sys.modules else _FEW)


def _merge_few(graph: Graph) -> tuple:
    """Return the result of `merge_edges`, computed by NumPy."""
    rows = (graph.u != graph.v).nonzero()[0]
    u, v = graph.u[rows], graph.v[rows]
    low, high = np.minimum(u, v), np.maximum(u, v)
    order = np.lexsort((high, low))
    low, high, forward = low[order], high[order], (u < v)[order]
    first = (first_of_runs(low) | first_of_runs(high)).nonzero()[0]
    weights = np.minimum.reduceat(graph.w[rows[order]], first) + graph.w.dtype.type(0)
    both_ways = np.minimum.reduceat(forward, first) < np.maximum.reduceat(forward, first)
    reciprocal = int(np.count_nonzero(both_ways))
    parallel = len(rows) - len(first) - reciprocal
    return low[first], high[first], weights, graph.m - len(rows), reciprocal, parallel


def _merge_used(graph: Graph, threads: int) -> tuple:
    """Return the result of `merge_edges`, computed over the vertices in use, for graphs of mostly isolated vertices."""
    from mst.kernels.graph.relabel import compact_ids
    from mst.kernels.graph.simplify import merge_edges

    used, u, v = compact_ids(graph.u, graph.v)
    a, b, *rest = merge_edges(len(used), frozen(u), frozen(v), graph.w, threads)
    ids = used.astype(graph.u.dtype)
    return (ids[a], ids[b], *rest)
