"""Kruskal's algorithm (1956): the papers' baseline, and every proof's reference."""

from __future__ import annotations

import numpy as np

from mst import order
from mst.kernels.jit import njit
from mst.kernels.radix import argsort
from mst.kernels.union_find import find

ALGORITHM = dict(
    id="kruskal",
    paradigm="sequential",
    title="Kruskal",
    input="edges",
    options=dict(
        sort=dict(
            default="radix",
            choices=("radix", "comparison"),
            help="how edges are sorted: by digits of the key, or by comparisons",
        ),
    ),
    requires=("numba",),
)


def prepare(graph, *, width, sort):
    return graph, sort


def solve(problem):
    graph, sort = problem
    keys = order.keys(graph.w)
    ranked = argsort(keys) if sort == "radix" else comparison_argsort(keys)
    return scan(graph.n, graph.u, graph.v, ranked)


def collect(problem, result):
    return result


def comparison_argsort(keys):
    """Return the order by (key, id) through numpy's comparison sorts.

    (key, id) of 32 bits each are sorted as one 64-bit number: distinct, so the fastest sort will do.
    """
    if keys.itemsize == 8 or len(keys) >= 2**32:
        return np.argsort(keys, kind="stable")
    records = keys.astype(np.uint64) << np.uint64(32)
    records |= np.arange(len(keys), dtype=np.uint32)
    records.sort()
    return records.astype(np.uint32)


@njit
def scan(n, u, v, ranked):
    """Take the edges in the order `ranked`; keep each that joins two trees."""
    parent = np.arange(n, dtype=u.dtype)
    forest = np.empty(max(n - 1, 0), ranked.dtype)
    size = 0
    for e in ranked:
        a, b = find(parent, u[e]), find(parent, v[e])
        if a != b:
            parent[max(a, b)] = min(a, b)
            forest[size] = e
            size += 1
            if size == n - 1:
                break
    return forest[:size]
