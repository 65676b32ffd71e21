"""Kruskal that sorts only as far as it must: the common ground of qKruskal and Filter-Kruskal."""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit
from mst.kernels.partition import sampled_quantile, split
from mst.kernels.radix import sort_range
from mst.kernels.union_find import find


def records(keys):
    """Return (keys, ids) in the order of ids, as arrays that the kernels may overwrite."""
    return keys.copy(), np.arange(len(keys), dtype=np.int32 if len(keys) < 2**31 else np.int64)


@njit
def lazy_kruskal(n, u, v, keys, ids, cutoff, sample, filtering):
    """Quicksort the records from the left, feeding Kruskal; stop once the tree is complete.

    With `filtering`, a heavier part is first rid of edges whose ends already lie in one tree.
    """
    parent = np.arange(n, dtype=u.dtype)
    forest = np.empty(max(min(n - 1, keys.size), 0), ids.dtype)
    spare_keys, spare_ids = np.empty_like(keys), np.empty_like(ids)
    # Ranges still to do, the lightest on top; each level of the recursion leaves at most one behind.
    pending = [(0, keys.size, False)]
    size = 0
    while len(pending) > 0 and size < n - 1:
        start, stop, heavy = pending.pop()
        if heavy and filtering:
            stop = drop_inner(parent, u, v, keys, ids, start, stop)
        if stop - start <= cutoff:
            sort_range(keys, ids, start, stop, spare_keys, spare_ids)
            size = take(parent, u, v, ids, start, stop, forest, size)
            continue
        pivot = sampled_quantile(keys, start, stop, 1, 2, sample)
        middle = split(keys, ids, start, stop, pivot, spare_keys, spare_ids)
        if middle == stop:
            # The pivot is the heaviest key: what is below it comes first, its equals are in order already.
            middle = start
            if pivot > 0:
                middle = split(keys, ids, start, stop, pivot - keys.dtype.type(1), spare_keys, spare_ids)
            if middle == start:
                size = take(parent, u, v, ids, start, stop, forest, size)
                continue
        pending.append((middle, stop, True))
        pending.append((start, middle, False))
    return forest[:size]


@njit
def prefix_kruskal(n, u, v, keys, ids, prefix, sample):
    """Kruskal over about the `prefix` lightest edges, then over those of the rest that join two trees."""
    parent = np.arange(n, dtype=u.dtype)
    forest = np.empty(max(min(n - 1, keys.size), 0), ids.dtype)
    spare_keys, spare_ids = np.empty_like(keys), np.empty_like(ids)
    m = keys.size
    middle = m
    if prefix < m:
        pivot = sampled_quantile(keys, 0, m, prefix, m, sample)
        middle = split(keys, ids, 0, m, pivot, spare_keys, spare_ids)
    sort_range(keys, ids, 0, middle, spare_keys, spare_ids)
    size = take(parent, u, v, ids, 0, middle, forest, 0)
    stop = drop_inner(parent, u, v, keys, ids, middle, m)
    sort_range(keys, ids, middle, stop, spare_keys, spare_ids)
    size = take(parent, u, v, ids, middle, stop, forest, size)
    return forest[:size]


@njit
def take(parent, u, v, ids, start, stop, forest, size):
    """Kruskal's loop over sorted ids; returns the new size of the forest."""
    for i in range(start, stop):
        e = ids[i]
        a, b = find(parent, u[e]), find(parent, v[e])
        if a != b:
            parent[max(a, b)] = min(a, b)
            forest[size] = e
            size += 1
    return size


@njit
def drop_inner(parent, u, v, keys, ids, start, stop):
    """Keep the records whose ends lie in different trees; returns the new end of the range."""
    kept = start
    for i in range(start, stop):
        e = ids[i]
        keys[kept], ids[kept] = keys[i], e
        kept += find(parent, u[e]) != find(parent, v[e])
    return kept
