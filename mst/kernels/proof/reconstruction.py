"""The Kruskal reconstruction tree: which two trees each forest edge joined.

Edges arrive in ascending order, and the smaller tree is hooked under the larger one's root. Each vertex is hooked
at most once, by the edge of a known *rank*, its place in that order, and ranks ascend on every way to a root: two
vertices were joined by the last edge that a climb in the order of ranks passes. Union by size keeps every climb
below log₂ n steps. (The structure is folklore; King, *A simpler minimum spanning tree verification algorithm*,
1997, builds the same tree from Borůvka's rounds.) Roots are looked up in a second array, whose paths are
compressed.

Callers bring the arrays that are accessed at random: the operating system gives numpy's allocations huge pages,
and those that numba makes itself none, which costs a third of the speed. Their integers are unsigned: a signed
index might count from the end, and asking so takes time.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.primitives.radix import id_at
from mst.kernels.union_find.sequential import find, fourth_ancestor

_AHEAD, _ROOTS_AHEAD = np.uint64(16), np.uint64(6)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


def edge_dtype(ends: np.dtype, m: int, weights: np.dtype) -> np.dtype:
    """Return the record of a forest edge: both ends, ``weight``, and ``id`` below `m`."""
    return np.dtype([("u", ends), ("v", ends), ("weight", weights), ("id", id_dtype(m))], align=True)


def summit_dtype(ends: np.dtype, weights: np.dtype) -> np.dtype:
    """Return the record of `find_summits`: ``root`` and ``weight``."""
    return np.dtype([("root", ends), ("weight", weights)], align=True)


def id_dtype(m: int) -> type:
    """Return the smallest unsigned integer for ids and the id after the last."""
    return np.uint32 if m < 2**32 - 1 else np.uint64


@njit
def gather(u, v, weights, ids, edges):
    """Write a record of each edge of `ids`, whose `weights` are given already, in that order."""
    for i in range(np.uint64(ids.size)):
        e = np.uint64(ids[i])
        edges[i].u = u[e]
        edges[i].v = v[e]
        edges[i].weight = weights[i]
        edges[i].id = e


@njit
def put_in_order(edges, words, places, ranked):
    """Write the edges in the order of the sorted records of their places; count those as heavy as the one before.

    Returns -1 if that is not the ascending order by (weight, id): nothing here relies on how it was found.
    """
    size = np.uint64(words.size)
    for rank in range(size):
        prefetch(edges, id_at(words, places, min(rank + _AHEAD, size - _ONE)))
        i = id_at(words, places, rank)
        ranked[rank].u = edges[i].u
        ranked[rank].v = edges[i].v
        ranked[rank].weight = edges[i].weight
        ranked[rank].id = edges[i].id
    ties, ascending = 0, True
    for rank in range(_ONE, size):
        before, weight = ranked[rank - _ONE].weight, ranked[rank].weight
        ties += before == weight
        ascending &= (before < weight) | ((before == weight) & (ranked[rank - _ONE].id < ranked[rank].id))
    return ties if ascending else -1


@njit
def join(ranked, parent, hooks):
    """Join the ends of forest edges, lightest first.

    Parameters
    ----------
    ranked : numpy.ndarray of `edge_dtype`, shape (k,)
        Lightest first. The ends are overwritten: by the vertex that the edge hooked, and its parent.
    parent : numpy.ndarray, shape (n,)
        A union-find in which nothing is joined yet; overwritten.
    hooks : numpy.ndarray, shape (n, 2)
        Overwritten: ``(parent, rank)`` for a vertex hooked by the edge of that rank, ``(x, n - 1 + size)`` for a
        root. The second entries thus ascend on every climb, and are below n but at a root.

    Returns
    -------
    int
        Rank of the first edge whose ends were already joined, or -1; what follows it was not joined.
    """
    n, size = np.uint64(parent.size), np.uint64(ranked.size)
    for x in range(n):
        hooks[x, 0] = x
        hooks[x, 1] = n
    for rank in range(size):
        ahead = min(rank + _AHEAD, size - _ONE)
        prefetch_to_write(parent, ranked[ahead].u)
        prefetch_to_write(parent, ranked[ahead].v)
        ahead = min(rank + _ROOTS_AHEAD, size - _ONE)
        prefetch_to_write(hooks, parent[ranked[ahead].u])
        prefetch_to_write(hooks, parent[ranked[ahead].v])
        a = find(parent, fourth_ancestor(parent, ranked[rank].u))
        b = find(parent, fourth_ancestor(parent, ranked[rank].v))
        if a == b:
            return np.int64(rank)
        if hooks[a, 1] > hooks[b, 1]:
            a, b = b, a
        hooks[b, 1] += hooks[a, 1] - (n - _ONE)
        hooks[a, 0] = parent[a] = b
        hooks[a, 1] = rank
        ranked[rank].u = a
        ranked[rank].v = b
    return -1


@njit
def climb(hooks, a, b, count, climbing, ranks):
    """Find the rank of the edge that joined each of `count` pairs of vertices, the two of a pair not the same.

    All pairs make one step after the other: no step waits for another pair's, and no branch depends on one.

    Parameters
    ----------
    hooks : numpy.ndarray, shape (n, 2)
        From `join`.
    a, b : numpy.ndarray, shape (count + 1,) or more
        The pairs; overwritten.
    climbing : numpy.ndarray of int, shape (count + 1,) or more
        Scratch.
    ranks : numpy.ndarray of uint64, shape (count,) or more
        Overwritten: the rank of each pair, n or more where nothing joined the two.
    """
    n, still = np.uint64(hooks.shape[0]), np.uint64(count)
    for j in range(still):
        climbing[j] = j
    while still > _ZERO:
        kept = _ZERO
        for j in range(still):
            x, y, pair = a[j], b[j], climbing[j]
            x_rank, y_rank = np.uint64(hooks[x, 1]), np.uint64(hooks[y, 1])
            lower, higher = (x, y) if x_rank < y_rank else (y, x)
            above, rank = hooks[lower, 0], min(x_rank, y_rank)
            ranks[pair] = rank
            a[kept], b[kept], climbing[kept] = above, higher, pair
            kept += np.uint64((above != higher) & (rank < n))
        still = kept


@njit
def find_summits(ranked, summits):
    """Find each vertex's root, and the weight of the last and so heaviest edge on its way there.

    Parents are hooked after their children, so one sweep from the last edge to the first finds all.

    Parameters
    ----------
    ranked : numpy.ndarray
        From `join`.
    summits : numpy.ndarray of `summit_dtype`, shape (n,)
        Overwritten: the root, and the weight of that edge. A root has no such edge: the lightest weight of all.
    """
    size = np.uint64(ranked.size)
    for x in range(np.uint64(summits.size)):
        summits[x].root = x
        if size > _ZERO:
            summits[x].weight = ranked[_ZERO].weight
    for i in range(size):
        rank = size - _ONE - i
        ahead = rank - min(rank, _AHEAD)
        prefetch_to_write(summits, ranked[ahead].u)
        prefetch(summits, ranked[ahead].v)
        x, parent = ranked[rank].u, ranked[rank].v
        root, weight = summits[parent].root, summits[parent].weight
        summits[x].root = root
        summits[x].weight = ranked[rank].weight if root == parent else weight


@njit
def find_ids_above(ranked, above):
    """Write the id after that of the edge of each summit, 0 for a root, into `above`, of shape (n,)."""
    size = np.uint64(ranked.size)
    above[:] = 0
    for i in range(size):
        rank = size - _ONE - i
        x, parent = ranked[rank].u, ranked[rank].v
        mine, parents = np.uint64(ranked[rank].id) + _ONE, np.uint64(above[parent])
        above[x] = mine if parents == _ZERO else parents
