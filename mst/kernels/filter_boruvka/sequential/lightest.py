"""The lightest edge that leaves each tree: a round of Borůvka's algorithm, and the test whether to begin with one.

The drivers join these edges in place of the lightest edges of the graph if weights follow vertices. If the weight of an
edge depends on one of its ends, such as the greater of two heights or core distances, light edges join only light
vertices, most batches close cycles, and filters drop little. But the lightest edge at most vertices leads to a lighter
vertex, so that a single round leaves few trees. In dense graphs, the same holds for other weights whose light edges
join few vertices, such as sums of heights; this becomes apparent once these edges have been joined.

In the kernels, `keys` are `LazyKeys` of m edges, and `u` and `v`, uint32 of shape (m,), are their ends.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.graph.sampled_edges import hashed_rows
from mst.kernels.primitives.hashing import multiplicative_hash
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.union_find.sequential import find

NONE = np.uint32(2**32 - 1)
"""Marks a vertex without a lightest edge."""

_FEWEST_EQUAL, _LEAST_SHARE = 4, 1 / 8
_MOST_ANYWHERE, _SHARE_ANYWHERE = 3, 1 / 1024
_DENSE = 12  # edges per vertex
_ONE, _AHEAD, _NEARER = np.uint64(1), np.uint64(32), np.uint64(16)


@njit
def follow_vertices(keys, u, v, vertices):
    """Return whether edges that share a vertex often have the same weight, while others rarely do.

    If the weight of an edge is the greater of two random numbers at its ends, a third of the pairs of edges that share
    a vertex have the same weight. A sample of 6 √n edges has some 60 such pairs, and more if degrees vary. `vertices`,
    an int, is n.

    Weights may also follow the lesser end, or the first one; in dense graphs, a filter is faster for these. A larger
    sample of a dense graph has vertices with three edges: the weight that two of them share must mostly be the least.
    """
    is_dense = u.size > _DENSE * vertices
    size = (9 if is_dense else 6) * np.int64(np.sqrt(vertices))
    rows = np.empty(size, np.int64)
    hashed_rows(u.size, rows)
    for e in rows:
        prefetch(keys.words, e)
        prefetch(u, e)
        prefetch(v, e)
    bits = 4
    while (1 << bits) < 4 * size:
        bits += 1
    mask, shift = np.uint64((1 << bits) - 1), np.uint64(64 - bits)
    # A hash table of vertices: the first sampled edge at each; in dense graphs also the edges of the least and of the
    # greatest key there, and whether another edge has the same key.
    first = np.full(1 << bits, -1, np.int64)
    vertex = np.empty(1 << bits, np.uint32)
    compared = (1 << bits) * is_dense
    least, greatest = np.empty(compared, np.int64), np.empty(compared, np.int64)
    least_repeats, greatest_repeats = np.zeros(compared, np.bool_), np.zeros(compared, np.bool_)
    pairs = equal = anywhere = 0
    last = np.int64(0)
    for e in rows:
        key = key_at(keys, e)
        if key == key_at(keys, last):
            anywhere += leads_elsewhere(u, v, last, u[e]) & leads_elsewhere(u, v, last, v[e])
        last = e
        for x, y in ((u[e], v[e]), (v[e], u[e])):
            place = multiplicative_hash(x) >> shift
            while first[place] >= 0 and vertex[place] != x:
                place = (place + np.uint64(1)) & mask
            other = first[place]
            if other < 0:
                first[place], vertex[place] = e, x
                if is_dense:
                    least[place] = greatest[place] = e
                continue
            if leads_elsewhere(u, v, other, y):
                pairs += 1
                equal += key_at(keys, other) == key
            if is_dense:
                low, high = least[place], greatest[place]
                if key <= key_at(keys, low) and leads_elsewhere(u, v, low, y):
                    least[place], least_repeats[place] = e, key == key_at(keys, low)
                if key >= key_at(keys, high) and leads_elsewhere(u, v, high, y):
                    greatest[place], greatest_repeats[place] = e, key == key_at(keys, high)
    if equal < max(_FEWEST_EQUAL, _LEAST_SHARE * pairs) or anywhere > _MOST_ANYWHERE + _SHARE_ANYWHERE * size:
        return False
    by_heavier = by_lesser = 0
    for place in range(compared):
        if first[place] >= 0 and key_at(keys, least[place]) < key_at(keys, greatest[place]):
            by_heavier += least_repeats[place]
            by_lesser += greatest_repeats[place]
    return by_heavier >= 2 * by_lesser


@njit
def leads_elsewhere(u, v, e, y):
    """Return whether edge `e` does not have the end `y`, so that it is not parallel to another edge with that end."""
    return (u[e] != y) & (v[e] != y)


@njit
def lightest_edges(start, stop, keys, u, v, label, least, lightest):
    """For each tree, find the least key of the edges ``start … stop - 1`` that leave it, and the first edge with it.

    `start` and `stop` are uint64. `label`, uint32 of shape (n,), is the root of each vertex's tree; if it is empty,
    every vertex is a tree. The key is written to `least`, of the dtype of the keys, and the edge to `lightest`, uint32,
    both of shape (n,), at the tree's root; the caller fills them with the largest key and `NONE`.
    """
    for e in range(start, stop):
        far = min(e + _AHEAD, stop - _ONE)
        key, x, y = key_at(keys, e), u[e], v[e]
        if label.size > 0:
            prefetch(label, u[far])
            prefetch(label, v[far])
            x, y = label[x], label[y]
            if x == y:
                continue
        else:
            prefetch_to_write(least, u[far])
            prefetch_to_write(least, v[far])
        if key < least[x]:
            least[x], lightest[x] = key, np.uint32(e)
        if key < least[y]:
            least[y], lightest[y] = key, np.uint32(e)


@njit
def link_lightest(u, v, lightest, parent, edges):
    """Link the ends of each tree's lightest edge and write these edges to `edges`; return how many.

    `lightest` is from `lightest_edges`; two trees may share an edge, which is written once. `parent` and `edges` are
    fields of a `mst.kernels.filter_boruvka.sequential.join.Forest`, and are overwritten.
    """
    size, last = np.uint64(0), np.uint64(lightest.size - 1)
    for i in range(np.uint64(lightest.size)):
        far = lightest[min(i + _AHEAD, last)]
        prefetch(u, far)
        prefetch(v, far)
        near = lightest[min(i + _NEARER, last)]
        if near != NONE:
            prefetch_to_write(parent, u[near])
            prefetch_to_write(parent, v[near])
        e = lightest[i]
        if e == NONE:
            continue
        x, y = find(parent, u[e]), find(parent, v[e])
        if x != y:
            parent[max(x, y)] = min(x, y)
            edges[size] = e
            size += np.uint64(1)
    return np.int64(size)
