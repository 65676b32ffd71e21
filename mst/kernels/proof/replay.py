"""Edges once more in their order: each joins two trees if it is in a forest, and else lies in one already.

That is the cycle property, read off the order instead of the paths: when an edge outside the forest has its turn,
the forest's edges before it, all of them lighter, join its ends.
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
def ascends(weights):
    """Return whether no weight is below the one before."""
    for i in range(np.uint64(1), np.uint64(weights.size)):
        if weights[i] < weights[i - _ONE]:
            return False
    return True


@njit
def below(w, split, ids, count, light):
    """Move the ids of the edges below `split` to `light` and close the gaps; return how many moved."""
    moved = kept = _ZERO
    for j in range(np.uint64(count)):
        e = np.uint64(ids[j])
        light[moved] = ids[kept] = e
        is_below = (w[e] < split.key) | ((w[e] == split.key) & (e < np.uint64(split.tie)))
        moved += np.uint64(is_below)
        kept += np.uint64(not is_below)
    return np.int64(moved)


@njit
def still_open(u, v, label, outside, ids, count):
    """Keep the ids of the edges that may join two trees; return how many.

    `outside` is the bitmap of the vertices outside one tree, and an edge with an end there is kept; where it is empty,
    an edge whose ends differ in `label` is.
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
    """Let edges join trees in their order.

    Parameters
    ----------
    edges : numpy.ndarray of `mst.kernels.proof.reconstruction.edge_dtype`, shape (k,)
    words, places : numpy.ndarray
        Sorted records of their places (`mst.kernels.primitives.radix`); empty where the edges are in order themselves.
    inside : numpy.ndarray of uint32
        Bitmap (`mst.kernels.primitives.bitmap`) of the edges of the forest.
    parent : numpy.ndarray, shape (n,)
        A union-find whose parents have the smaller index.

    Returns
    -------
    joined : int
        How many joined two trees; -1 if one of them is not of the forest.
    ascending : bool
        Whether the order was that by (weight, id): nothing here relies on how it was found.
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
