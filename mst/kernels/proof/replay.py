"""Kruskal's scan as a proof: in order, every forest edge joins two trees, and no other edge does.

That is the cycle property, checked by order instead of on paths: when the scan reaches an edge outside the forest,
the lighter forest edges before it have joined its ends.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.bitmap import get_bit
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.primitives.radix import id_at
from mst.kernels.union_find.sequential import find

_EDGES_AHEAD, _PARENTS_AHEAD = np.uint64(24), np.uint64(12)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@njit
def is_ascending(weights):
    """Return whether `weights`, of any weight dtype and shape (k,), never descend."""
    for i in range(np.uint64(1), np.uint64(weights.size)):
        if weights[i] < weights[i - _ONE]:
            return False
    return True


@njit
def move_light(w, split, ids, count, light):
    """Move the ids of the edges below a split, by (weight, id), to `light`; return how many were moved.

    Parameters
    ----------
    w : numpy.ndarray of any weight dtype, shape (m,)
    split : Split
        An edge is below it if its weight is below ``key``, or equal and its id below ``tie``; ``key`` is a weight here.
    ids : numpy.ndarray of uint32 or uint64, shape (count,) or more
        Edges; overwritten by those that stay, in their order.
    count : int
    light : numpy.ndarray of the same dtype, shape (count,) or more
        Overwritten.
    """
    moved = kept = _ZERO
    for j in range(np.uint64(count)):
        e = np.uint64(ids[j])
        light[moved] = ids[kept] = e
        is_below = (w[e] < split.key) | ((w[e] == split.key) & (e < np.uint64(split.tie)))
        moved += np.uint64(is_below)
        kept += np.uint64(not is_below)
    return np.int64(moved)


@njit
def drop_cycle_edges(u, v, label, outside, ids, count):
    """Drop edges whose ends are in one tree, by labels or by a bitmap; return how many are kept.

    Parameters
    ----------
    u, v : numpy.ndarray of uint32 or uint64, shape (m,)
    label : numpy.ndarray of the same dtype, shape (n,)
        The root of each vertex; read only if `outside` is empty.
    outside : numpy.ndarray of uint32, shape (⌈n / 32⌉,) or (0,)
        Bitmap of the vertices outside the giant tree: edges without an end there are dropped. If it is empty, edges
        whose ends have the same label are.
    ids : numpy.ndarray of uint32 or uint64, shape (count,) or more
        Edges; overwritten by those that are kept, in their order.
    count : int
    """
    kept = _ZERO
    if outside.size > 0:
        for j in range(np.uint64(count)):
            e = np.uint64(ids[j])
            ids[kept] = e
            kept += get_bit(outside, u[e]) | get_bit(outside, v[e])
    else:
        for j in range(np.uint64(count)):
            e = np.uint64(ids[j])
            ids[kept] = e
            kept += np.uint64(label[u[e]] != label[v[e]])
    return np.int64(kept)


@njit
def replay(edges, words, places, inside, parent):
    """Join trees by edges in order, and compare the edges that join two trees with a forest.

    Parameters
    ----------
    edges : numpy.ndarray of `mst.kernels.proof.reconstruction.edge_dtype`, shape (k,)
    words, places : numpy.ndarray
        Sorted `mst.kernels.primitives.radix.Records` of their places; empty if the edges are already in order.
    inside : numpy.ndarray of uint32, shape (⌈m / 32⌉,)
        Bitmap (`mst.kernels.primitives.bitmap`) of the edges of the forest.
    parent : numpy.ndarray of uint32 or uint64, shape (n,)
        The union-find (`mst.kernels.union_find.sequential`); overwritten.

    Returns
    -------
    joined : int
        How many edges joined two trees; -1 if one is not in the forest.
    ascending : bool
        Whether the order was that by (weight, id): the proof does not rely on the sort.
    """
    size, joined, ascending = np.uint64(edges.size), 0, True
    if size == _ZERO:
        return joined, ascending
    sorting, last = words.size > 0, size - _ONE
    i = id_at(words, places, _ZERO) if sorting else _ZERO
    weight_before, before = edges[i].weight, _ZERO
    for rank in range(size):
        i, soon = rank, min(rank + _PARENTS_AHEAD, last)
        if sorting:
            prefetch(edges, id_at(words, places, min(rank + _EDGES_AHEAD, last)))
            i, soon = id_at(words, places, i), id_at(words, places, soon)
        prefetch_to_write(parent, edges[soon].u)
        prefetch_to_write(parent, edges[soon].v)
        e, weight = np.uint64(edges[i].id), edges[i].weight
        ascending &= (weight_before < weight) | ((weight_before == weight) & ((before < e) | (rank == _ZERO)))
        weight_before, before = weight, e
        x, y = find(parent, edges[i].u), find(parent, edges[i].v)
        if x != y:
            if get_bit(inside, e) == _ZERO:
                return -1, ascending
            parent[max(x, y)] = min(x, y)
            joined += 1
    return joined, ascending
