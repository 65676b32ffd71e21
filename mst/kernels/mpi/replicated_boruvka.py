"""Borůvka's rounds if every rank has the whole graph and its own union-find (Shou and He, Listing 8).

A rank reads only its own edges. ``edges`` are `mst.kernels.mpi.spread_boruvka.Edges` between vertices, ``parent``
is the union-find, uint32 of shape (n,), and ``index``, uint32 of shape (n,), has the place of each root among the `k`
sets. ``lightest`` is a `mst.kernels.mpi.spread_boruvka.Lightest` of these.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.mpi.spread_boruvka import NOTHING
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.radix import id_at
from mst.kernels.union_find.sequential import find, unite

_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


@njit
def lower_words(edges, parent, index, words):
    """Lower the smallest word, uint64 of shape (k,), of both sets of every edge that joins two sets."""
    for i in range(edges.words.size):
        a, b = find(parent, edges.ends[i] & _LOW), find(parent, edges.ends[i] >> _HALF)
        if a != b:
            for x in (index[a], index[b]):
                words[x] = min(words[x], edges.words[i])


@njit
def lower_ids(edges, parent, index, lightest):
    """Lower the ids of `lightest` by the edges with the smallest word of one of their sets."""
    for i in range(edges.words.size):
        a, b = find(parent, edges.ends[i] & _LOW), find(parent, edges.ends[i] >> _HALF)
        if a != b:
            for x in (index[a], index[b]):
                if edges.words[i] == lightest.words[x]:
                    lightest.ids[x] = min(lightest.ids[x], edges.ids[i])


@njit
def join(lightest, u, v, parent, taken):
    """Join the sets of the lightest edges; write the ids of edges that joined two to `taken`; return how many.

    `u` and `v`, int32 of shape (m,), are the ends of all edges, `taken` is int64 of shape (k,).
    """
    words, ids = lightest
    count = 0
    for i in range(words.size):
        if (ids[i] if ids.size > 0 else words[i]) == NOTHING:
            continue
        e = np.int64(id_at(words, ids, i))
        if unite(parent, np.uint64(u[e]), np.uint64(v[e])):
            taken[count] = e
            count += 1
    return count


@njit
def number_sets(parent, index):
    """Write the place of each root to `index`; return the number of sets."""
    k = 0
    for x in range(parent.size):
        if parent[x] == x:
            index[x] = k
            k += 1
    return k
