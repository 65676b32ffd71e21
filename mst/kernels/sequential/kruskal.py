"""Kruskal's scan over sorted records, and the filter of Filter-Kruskal, for the algorithms that sort records by key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.primitives.radix import id_at
from mst.kernels.union_find.sequential import find, unite

_ENDS_AHEAD, _PARENTS_AHEAD = np.uint64(24), np.uint64(12)
_ONE = np.uint64(1)


class Growth(NamedTuple):
    """A forest that grows edge by edge.

    Attributes
    ----------
    parent : numpy.ndarray of uint32 or uint64, shape (n,)
        Union-find of the vertices.
    u, v : numpy.ndarray of the same dtype, shape (m,)
        Ends of the graph's edges.
    forest : numpy.ndarray of int32 or int64, shape (n - 1,) or (m,), whichever is less
        Ids of the forest's edges so far, from the front.
    """

    parent: np.ndarray
    u: np.ndarray
    v: np.ndarray
    forest: np.ndarray


def empty_growth(n: int, u: np.ndarray, v: np.ndarray) -> Growth:
    """Return a forest of `n` vertices without edges; `u` and `v`, int32 or int64 (m,), are the ends of all edges."""
    unsigned = np.dtype(f"u{u.itemsize}")
    forest = np.empty(max(min(n - 1, u.size), 0), np.int32 if u.size < 2**31 else np.int64)
    return Growth(np.arange(n, dtype=unsigned), u.view(unsigned), v.view(unsigned), forest)


@njit
def add_in_order(growth, records, start, stop, size):
    """Add each edge of the records ``start … stop - 1`` that joins two trees, in the order of the records.

    Cache lines are prefetched, since edges in the order of weight access ends and parents at random.

    Parameters
    ----------
    growth : Growth
    records : mst.kernels.primitives.radix.Records
    start, stop : int
        The range of records.
    size : int
        The number of edges in the forest so far.

    Returns
    -------
    int
        The new size of the forest.
    """
    parent, u, v, forest = growth
    words, ids = records
    start, stop, size = np.uint64(start), np.uint64(stop), np.uint64(size)
    for i in range(start, stop):
        e = id_at(words, ids, min(i + _ENDS_AHEAD, stop - _ONE))
        prefetch(u, e)
        prefetch(v, e)
        e = id_at(words, ids, min(i + _PARENTS_AHEAD, stop - _ONE))
        prefetch_to_write(parent, u[e])
        prefetch_to_write(parent, v[e])
        e = id_at(words, ids, i)
        if unite(parent, u[e], v[e]):
            forest[size] = e
            size += _ONE
    return np.int64(size)


@njit
def drop_cycle_edges(growth, records, start, stop):
    """Move those of the records ``start … stop - 1`` that join two trees to the front; return the place after them.

    `growth` is a `Growth`. The records that join two trees keep their order; the others are lost.
    """
    parent, u, v, _ = growth
    words, ids = records
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
