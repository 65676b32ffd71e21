"""Borůvka over the light edges first; of the heavy ones only those that still join two components."""

from __future__ import annotations

import numpy as np

from mst import order
from mst.kernels.jit import njit
from mst.kernels.partition import sampled_quantile

ALGORITHM = dict(
    id="filter-boruvka",
    paradigm="sequential",
    paper="ours",
    title="Filter-Borůvka",
    input="edges",
    options=dict(
        filter=dict(default=True, help="solve the lightest edges first and filter the others by that forest"),
    ),
    requires=("numba",),
)


def prepare(graph, *, width, filter):
    return graph, filter


def solve(problem):
    graph, filtering = problem
    id_dtype = np.int32 if graph.m < 2**31 else np.int64
    return filtered(graph.n, graph.u, graph.v, order.keys(graph.w), filtering, id_dtype(-1))


def collect(problem, result):
    return result


@njit
def filtered(n, u, v, keys, filtering, none):
    m = keys.size
    label = np.arange(n, dtype=u.dtype)
    forest = np.empty(max(min(n - 1, m), 0), np.dtype(type(none)))
    threshold = keys.dtype.type(np.iinfo(keys.dtype).max)
    if filtering and 2 * n < m:
        threshold = sampled_quantile(keys, 0, m, n, m, 2048)
    size = 0
    for heavy in range(2):
        count = 0
        for e in range(m):
            count += (keys[e] > threshold) == heavy and label[u[e]] != label[v[e]]
        a, b = np.empty(count, u.dtype), np.empty(count, u.dtype)
        key, ids = np.empty(count, keys.dtype), np.empty(count, forest.dtype)
        count = 0
        for e in range(m):
            if (keys[e] > threshold) == heavy and label[u[e]] != label[v[e]]:
                a[count], b[count], key[count], ids[count] = label[u[e]], label[v[e]], keys[e], e
                count += 1
        size = contract(label, a, b, key, ids, count, forest, size, none)
    return forest[:size]


@njit
def contract(label, a, b, keys, ids, count, forest, size, none):
    """Run Borůvka rounds over records until none joins two components; `label` follows."""
    n = label.size
    root = np.arange(n).astype(label.dtype)
    minimum = np.full(n, none)
    while count > 0:
        for i in range(count):
            for x in (a[i], b[i]):
                best = minimum[x]
                if best == none or keys[i] < keys[best]:
                    minimum[x] = i
        for x in range(n):
            i = minimum[x]
            if i != none:
                y = a[i] ^ b[i] ^ x
                if minimum[y] != i or x < y:
                    root[x] = y
                    forest[size] = ids[i]
                    size += 1
        for x in range(n):
            minimum[x] = none
            while root[x] != root[root[x]]:
                root[x] = root[root[x]]
        kept = 0
        for i in range(count):
            x, y = root[a[i]], root[b[i]]
            if x != y:
                a[kept], b[kept], keys[kept], ids[kept] = x, y, keys[i], ids[i]
                kept += 1
        count = kept
    for x in range(n):
        label[x] = root[label[x]]
    return size
