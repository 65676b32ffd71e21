"""Borůvka's rounds when every rank has the whole graph and its own union-find (Shou and He, Listing 8).

A rank finds minima over its own share of the edges only. Arguments of the kernels:

- ``edges``: a `mst.kernels.mpi.spread_boruvka.Edges`, whose ends are vertices;
- ``parent``: the union-find, uint32 of shape (n,);
- ``index``: the number of each root among the `k` sets, uint32 of shape (n,);
- ``lightest``: a `mst.kernels.mpi.spread_boruvka.Lightest` with an element for each set.
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
    """Lower ``words[x]``, uint64 of shape (k,), to the smallest word of the edges that leave set `x`."""
    for i in range(edges.words.size):
        a, b = find(parent, edges.ends[i] & _LOW), find(parent, edges.ends[i] >> _HALF)
        if a != b:
            for x in (index[a], index[b]):
                words[x] = min(words[x], edges.words[i])


@njit
def lower_ids(edges, parent, index, lightest):
    """Lower ``lightest.ids[x]`` to the smallest id of the edges that leave set `x` with word ``lightest.words[x]``."""
    for i in range(edges.words.size):
        a, b = find(parent, edges.ends[i] & _LOW), find(parent, edges.ends[i] >> _HALF)
        if a != b:
            for x in (index[a], index[b]):
                if edges.words[i] == lightest.words[x]:
                    lightest.ids[x] = min(lightest.ids[x], edges.ids[i])


@njit
def join(lightest, u, v, parent, taken):
    """Unite the sets at the ends of each lightest edge; return the number of edges that united two sets.

    `u` and `v`, int32 of shape (m,), are the ends of all edges. The front of `taken`, int64 of shape (k,), is
    overwritten with the ids of the edges that united two sets.
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
    """Write the number of each root to `index`, counted from 0; return the number of sets."""
    k = 0
    for x in range(parent.size):
        if parent[x] == x:
            index[x] = k
            k += 1
    return k
