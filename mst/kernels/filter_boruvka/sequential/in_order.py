"""Kruskal over rows already sorted by weight, ascending or descending: no sorting or selecting is needed.

Equal weights count as sorted, as do weights that follow places, such as those along a path or a grid.
There, each batch of `mst.kernels.filter_boruvka.sequential.join` would close cycles and have to be joined again.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.prefetch import prefetch_to_write
from mst.kernels.union_find.sequential import find

_AHEAD, _BLOCK, _ONE = 24, np.uint64(4096), np.uint64(1)


@njit
def direction(keys):
    """Return 1 if no key of `LazyKeys` is less than the previous one, -1 if every key is, and 0 otherwise.

    It stops at the first block in neither order, so the test costs nothing elsewhere.
    """
    rows = np.uint64(keys.words.size)
    ascends = descends = True
    start = _ONE
    while start < rows and (ascends | descends):
        stop = min(start + _BLOCK, rows)
        falls = np.uint32(0)
        for i in range(start, stop):  # branch-free, with unsigned indices, so it is vectorised
            falls += np.uint32(key_at(keys, i) < key_at(keys, i - _ONE))
        ascends &= falls == 0
        descends &= falls == stop - start
        start = stop
    return 1 if ascends else -1 if descends else 0


@njit
def join_in_order(ends, step, forest, missing):
    """Add each edge that joins two trees, from the first on (`step` 1) or the last back (-1); return how many.

    Parameters
    ----------
    ends : mst.kernels.filter_boruvka.sequential.select.Ends
        Of all edges.
    step : int
        A `direction` other than 0.
    forest : mst.kernels.filter_boruvka.sequential.join.Forest
        Every vertex is its own tree; if `step` is -1, parents get the larger index here.
    missing : int
        Edges of a spanning tree.
    """
    parent, u, v = forest.parent, ends.u, ends.v
    rows = u.size
    size = 0
    e = 0 if step > 0 else rows - 1
    for _ in range(rows):
        far = min(max(e + step * _AHEAD, 0), rows - 1)
        prefetch_to_write(parent, u[far])
        prefetch_to_write(parent, v[far])
        x, y = find(parent, u[e]), find(parent, v[e])
        if x != y:
            # Ends of later rows mostly have larger ids: linked from that side, the growing tree keeps its root.
            low, high = min(x, y), max(x, y)
            if step > 0:
                parent[high] = low
            else:
                parent[low] = high
            forest.edges[size] = np.uint32(e)
            size += 1
            if size == missing:
                break
        e += step
    return size
