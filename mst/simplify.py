"""Simple graphs: no self-loops, no parallel edges, one fixed order of rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from mst.arrays import first_of_runs
from mst.graph import Graph, frozen

_SPARSE = 8
"""With at least as many vertices per edge, the vertices in use are ranked first."""

FEW = 1 << 16
"""Edges that are merged sooner without loading numba."""


@dataclass(frozen=True)
class MergeCounts:
    """Numbers of rows that `simplify` dropped: ``m`` before minus their sum is ``m`` after.

    Attributes
    ----------
    loops : int
        Self-loops.
    reciprocal : int
        Pairs with arcs both ways: one row each.
    parallel : int
        Further rows of a pair.
    """

    loops: int
    reciprocal: int
    parallel: int


def simplify(graph: Graph, *, threads: int = 1) -> tuple[Graph, MergeCounts]:
    """Return the simple graph and the counts of the rows that were merged.

    Arcs a→b and b→a are one edge, the lightest of parallel edges stays, self-loops go. The vertices stay.

    Parameters
    ----------
    graph : Graph
    threads : int
        At most the number of usable cores.

    Returns
    -------
    Graph
        Edges with ``u < v``, sorted by (u, v): the same graph for every order of the input's rows. ``-0.0`` becomes
        ``0.0``, which it equals.
    MergeCounts

    Notes
    -----
    Linear time, O(n + m); besides input and result, 12 bytes per edge (16 for 64-bit weights), unless most edges have
    the same smaller end. A graph that is simple and sorted already shares its arrays with the result.

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
    if graph.m <= FEW and "numba" not in sys.modules:
        u, v, w, *counts = _merge_few(graph)
    elif graph.n > _SPARSE * graph.m + 1024:
        u, v, w, *counts = _merge_used(graph, threads)
    else:
        from mst.kernels.graph.simplify import merge_edges

        u, v, w, *counts = merge_edges(graph.n, graph.u, graph.v, graph.w, threads)
    return Graph(graph.n, u, v, w, name=graph.name, trusted=True), MergeCounts(*counts)


def _merge_few(graph: Graph) -> tuple:
    """Return the result of `merge_edges` without compiled code."""
    low, high = np.minimum(graph.u, graph.v), np.maximum(graph.u, graph.v)
    order = np.lexsort((graph.w, high, low))
    order = order[low[order] != high[order]]
    low, high, forward = low[order], high[order], (graph.u < graph.v)[order]
    first = first_of_runs(low) | first_of_runs(high)
    pairs = np.cumsum(first) - 1
    arcs = np.bincount(pairs), np.bincount(pairs, forward)
    reciprocal = int(np.count_nonzero((arcs[1] > 0) & (arcs[1] < arcs[0])))
    kept = int(np.count_nonzero(first))
    weights = graph.w[order[first]] + graph.w.dtype.type(0)
    return low[first], high[first], weights, graph.m - len(order), reciprocal, len(order) - kept - reciprocal


def _merge_used(graph: Graph, threads: int) -> tuple:
    """Return the result of `merge_edges` over the vertices in use alone: most of a huge, sparse graph are isolated."""
    from mst.kernels.graph.relabel import compact_ids
    from mst.kernels.graph.simplify import merge_edges

    used, u, v = compact_ids(graph.u, graph.v)
    a, b, *rest = merge_edges(len(used), frozen(u), frozen(v), graph.w, threads)
    ids = used.astype(graph.u.dtype)
    return (ids[a], ids[b], *rest)
