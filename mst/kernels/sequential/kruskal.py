"""Kruskal's loop over sorted records, and the filter of Filter-Kruskal."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.primitives.radix import id_at
from mst.kernels.union_find.sequential import find

_ENDS_AHEAD, _PARENTS_AHEAD = np.uint64(24), np.uint64(12)
_ONE = np.uint64(1)


@njit
def take(parent, u, v, words, ids, start, stop, forest, size):
    """Take the edges of the records ``start … stop - 1`` in order; keep each that joins two trees.

    Returns the new size of the forest. Cache lines are asked for ahead of their use: sorted by weight, edges
    and vertices come at random.
    """
    start, stop, size = np.uint64(start), np.uint64(stop), np.uint64(size)
    for i in range(start, stop):
        e = id_at(words, ids, min(i + _ENDS_AHEAD, stop - _ONE))
        prefetch(u, e)
        prefetch(v, e)
        e = id_at(words, ids, min(i + _PARENTS_AHEAD, stop - _ONE))
        prefetch_to_write(parent, u[e])
        prefetch_to_write(parent, v[e])
        e = id_at(words, ids, i)
        x, y = find(parent, u[e]), find(parent, v[e])
        if x != y:
            parent[max(x, y)] = min(x, y)
            forest[size] = e
            size += _ONE
    return np.int64(size)


@njit
def drop_inner(parent, u, v, words, ids, start, stop):
    """Keep the records whose ends lie in different trees; returns the new end of the range."""
    kept, stop = np.uint64(start), np.uint64(stop)
    for i in range(kept, stop):
        e = id_at(words, ids, min(i + _PARENTS_AHEAD, stop - _ONE))
        prefetch_to_write(parent, u[e])
        prefetch_to_write(parent, v[e])
        e = id_at(words, ids, i)
        words[kept] = words[i]
        if ids.size > 0:
            ids[kept] = e
        kept += np.uint64(find(parent, u[e]) != find(parent, v[e]))
    return np.int64(kept)
