"""The Kruskal reconstruction tree of a forest whose edges are ranked, lightest first, and queries of it.

`links`, uint32 or uint64 of shape (n, 2), is from `mst.kernels.proof.reconstruction.link_trees`: ``(parent, rank)`` for
a vertex linked by the edge of that rank, ``(cluster, n - 1 + size)`` for the root of a tree of ``size`` vertices. Ranks
ascend on every path to a root, and union by size keeps every path below log₂ n steps.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.union_find.sequential import find

_AHEAD = np.uint64(16)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@njit
def find_roots(merges, limit, roots):
    """Find the root of each vertex in the clusters made by edges of ranks below `limit`.

    Parents are linked after their children, so one sweep from the last edge to the first finds all roots, and no step
    waits for another.

    Parameters
    ----------
    merges : numpy.ndarray of `mst.kernels.proof.reconstruction.edge_dtype`, shape (k,)
        From `mst.kernels.proof.reconstruction.link_trees`.
    limit : int
    roots : numpy.ndarray of uint32 or uint64, shape (n,)
        Overwritten.
    """
    limit = np.uint64(limit)
    for x in range(np.uint64(roots.size)):
        roots[x] = x
    for i in range(limit):
        rank = limit - _ONE - i
        ahead = rank - min(rank, _AHEAD)
        prefetch_to_write(roots, merges[ahead].u)
        prefetch(roots, merges[ahead].v)
        roots[merges[rank].u] = roots[merges[rank].v]


@njit
def number_clusters(roots, numbers, labels):
    """Number clusters from 0 by their smallest vertices.

    Parameters
    ----------
    roots : numpy.ndarray of uint32 or uint64, shape (n,)
        From `find_roots`.
    numbers : numpy.ndarray of the same dtype, shape (n,)
        Scratch space.
    labels : numpy.ndarray of int64, shape (n,)
        Overwritten: the number of each vertex's cluster.
    """
    count, n = _ZERO, np.uint64(roots.size)
    numbers[:] = n
    for x in range(n):
        number = np.uint64(numbers[roots[x]])
        if number == n:
            number = count
            numbers[roots[x]] = number
            count += _ONE
        labels[x] = number


@njit
def links_above(links, vertices, seen, ranks, children):
    """Collect the links on the paths from some vertices to their roots, each once; return how many there are.

    `vertices` is int64 of shape (k,) and `seen` bool of shape (n,), False before; `ranks` and `children`, int64 of
    shape (n,), are overwritten by the rank of each link and the vertex that it links.
    """
    count, n = 0, np.uint64(links.shape[0])
    for vertex in vertices:
        x = np.uint64(vertex)
        while not seen[x] and np.uint64(links[x, 1]) < n:
            seen[x] = True
            ranks[count], children[count] = links[x, 1], x
            count += 1
            x = np.uint64(links[x, 0])
    return count


@njit
def joining(u, v, parent, joins):
    """Mark each edge that joins two trees when edges are taken in order.

    `u` and `v` are int64 of shape (k,). `parent`, int64 of shape (n,), ``0 … n - 1`` before, and `joins`, bool of shape
    (k,), are overwritten.
    """
    for e in range(u.size):
        a, b = find(parent, u[e]), find(parent, v[e])
        joins[e] = a != b
        parent[max(a, b)] = min(a, b)
