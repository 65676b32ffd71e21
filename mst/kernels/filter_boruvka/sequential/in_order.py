"""Kruskal over rows already sorted by weight, ascending or descending: no sorting or selecting is needed.

`mst.algorithms.sequential.filter_boruvka` tries this first. Rows of equal weights count as sorted. Descending rows are
taken backwards, but runs of equal weights forwards, so that edges are joined in the order of (weight, row). If the ids
of sorted rows are local, as along a path or a grid, each batch of `mst.kernels.filter_boruvka.sequential.join` would
close cycles and have to be joined again.

In the kernels, `keys` are `LazyKeys` by row; `u` and `v` are fields of `Ends`, `parent` and `taken` the arrays of a
`Forest`; `size` and `missing`, the numbers of edges in the forest and in a spanning tree, are int; rows are uint64.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch_to_write
from mst.kernels.union_find.sequential import find

_AHEAD, _BLOCK, _LONG = np.uint64(24), np.uint64(4096), np.uint64(64)
# Unsigned: a signed index might count from the end of an array.
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@njit
def direction(keys):
    """Return 1 if no key is less than the one before it, -1 if all are, -2 if none is greater, else 0.

    The test stops at the first block that is not in order, so that it costs nothing if rows are not sorted.
    """
    rows = np.uint64(keys.words.size)
    descends = rows > 0 and key_at(keys, rows - _ONE) < key_at(keys, _ZERO)
    step, start = -1 if descends else 1, _ONE
    while start < rows:
        stop = min(start + _BLOCK, rows)
        if step == -1 and call(count_less, keys, start, stop, _ZERO, _ONE) < stop - start:
            step = -2
        if step == -2 and call(count_less, keys, start, stop, _ONE, _ZERO) > 0:
            return 0
        if step == 1 and call(count_less, keys, start, stop, _ZERO, _ONE) > 0:
            return 0
        start = stop
    return step


@njit
def count_less(keys, start, stop, a, b):
    """Return for how many rows ``i``, ``start … stop - 1``, key ``i - a`` is less than key ``i - b``; all uint64."""
    count = np.uint32(0)
    for i in range(start, stop):  # branch-free, with unsigned indices, so it is vectorised
        count += np.uint32(key_at(keys, i - a) < key_at(keys, i - b))
    return count


@njit
def join_in_order(keys, ends, step, forest, missing):
    """Add each edge that joins two trees, in the order of (key, row); return how many.

    Parameters
    ----------
    keys : mst.kernels.primitives.keys.LazyKeys
    ends : mst.kernels.filter_boruvka.sequential.select.Ends
        Of all edges.
    step : int
        The `direction` of the keys, other than 0.
    forest : mst.kernels.filter_boruvka.sequential.join.Forest
        Every vertex is a separate tree before. If `step` is negative, the larger root mostly becomes the parent.
    missing : int
        The number of edges of a spanning tree: the scan stops when as many are found.
    """
    parent, u, v, taken = forest.parent, ends.u, ends.v, forest.edges
    if step > 0:
        return call(_join_run, u, v, _ZERO, np.uint64(u.size), parent, taken, np.int64(0), missing)
    if step == -1:
        return call(_join_backwards, u, v, parent, taken, missing)
    return call(_join_runs, keys, u, v, parent, taken, missing)


# Each order has a separate loop: in one loop for all orders, an edge takes up to 1.5 times as long. With an inlined
# function that finds both roots, it takes about 1.05 times as long.


@njit
def _join_run(u, v, start, stop, parent, taken, size, missing):
    """Add the edges of rows ``start … stop - 1`` that join two trees, in order of row; return the new `size`."""
    e = start
    while e < stop:
        far = min(e + _AHEAD, stop - _ONE)
        prefetch_to_write(parent, u[far])
        prefetch_to_write(parent, v[far])
        x, y = find(parent, u[e]), find(parent, v[e])
        if x != y:
            parent[max(x, y)] = min(x, y)
            taken[size] = np.uint32(e)
            size += 1
            if size == missing:
                break
        e += _ONE
    return size


@njit
def _join_backwards(u, v, parent, taken, missing):
    """Add each edge that joins two trees, from the last row to the first; return how many."""
    e, size = np.uint64(u.size), np.int64(0)
    while e > 0:
        e -= _ONE
        far = e - _AHEAD if e > _AHEAD else _ZERO
        prefetch_to_write(parent, u[far])
        prefetch_to_write(parent, v[far])
        x, y = find(parent, u[e]), find(parent, v[e])
        if x != y:
            # Ends of later rows mostly have larger ids: linked from that side, the growing tree keeps its root.
            parent[min(x, y)] = max(x, y)
            taken[size] = np.uint32(e)
            size += 1
            if size == missing:
                break
    return size


@njit
def _join_runs(keys, u, v, parent, taken, missing):
    """Add each edge that joins two trees, from the last run of equal keys to the first; return how many."""
    words = keys.words
    # Words of equal keys are equal, unless they are zeros of different sign.
    minus_zero = keys.top if keys.rest != 0 else keys.rest
    stop, size = np.uint64(u.size), np.int64(0)
    while stop > 0:
        start = stop - _ONE
        while start > 0 and (
            (words[start - _ONE] == words[start]) | ((words[start - _ONE] | words[start]) == minus_zero)
        ):
            start -= _ONE
        if stop - start > _LONG:
            size = call(_join_run, u, v, start, stop, parent, taken, size, missing)
            if size == missing:
                return size
            stop = start  # so that the loop below has no row
        e = start
        while e < stop:
            far = e - _AHEAD if e > _AHEAD else _ZERO
            prefetch_to_write(parent, u[far])
            prefetch_to_write(parent, v[far])
            x, y = find(parent, u[e]), find(parent, v[e])
            if x != y:
                parent[min(x, y)] = max(x, y)
                taken[size] = np.uint32(e)
                size += 1
                if size == missing:
                    return size
            e += _ONE
        stop = start
    return size
