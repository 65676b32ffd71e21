"""The Kruskal reconstruction tree: which two trees each forest edge joined.

Edges are linked in ascending order, the root of the smaller tree below that of the larger one (union by size). Each
vertex is linked at most once, by the edge of a known *rank*, its place in that order, and ranks ascend on every path to
a root: the edge that joined two vertices is that of the highest rank on their paths to the lowest common ancestor.
Union by size keeps every path below log₂ n steps. (The structure is folklore; King, *A simpler minimum spanning tree
verification algorithm*, 1997, builds the same tree from Borůvka's rounds.) Roots are found in a second array, whose
paths are compressed.

Callers allocate the arrays that are accessed at random: the operating system gives numpy's allocations huge pages, and
those that numba makes itself none, which costs a third of the speed. Their integers are unsigned: a signed index might
count from the end, and checking that takes time.
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


def root_path_dtype(ends: np.dtype, weights: np.dtype) -> np.dtype:
    """Return the record of `find_root_paths`: ``root`` and ``weight``."""
    return np.dtype([("root", ends), ("weight", weights)], align=True)


def id_dtype(m: int) -> type:
    """Return the smallest unsigned integer that holds the ids below `m`, and `m`."""
    return np.uint32 if m < 2**32 - 1 else np.uint64


@njit
def gather_edges(u, v, weights, ids, edges):
    """Write a record of each edge of `ids`, in that order.

    Parameters
    ----------
    u, v : numpy.ndarray of uint32 or uint64, shape (m,)
        Ends of all edges.
    weights : numpy.ndarray of any weight dtype, shape (k,)
        Weights of the edges of `ids`.
    ids : numpy.ndarray of int, shape (k,)
    edges : numpy.ndarray of `edge_dtype`, shape (k,)
        Overwritten.
    """
    for i in range(np.uint64(ids.size)):
        e = np.uint64(ids[i])
        edges[i].u = u[e]
        edges[i].v = v[e]
        edges[i].weight = weights[i]
        edges[i].id = e


@njit
def put_in_order(edges, words, places, ranked):
    """Write the edges in the order of the sorted records of their places.

    Parameters
    ----------
    edges : numpy.ndarray of `edge_dtype`, shape (k,)
    words, places : numpy.ndarray
        `mst.kernels.primitives.radix.Records`, sorted.
    ranked : numpy.ndarray of `edge_dtype`, shape (k,)
        Overwritten.

    Returns
    -------
    int
        How many edges are as heavy as the one before; -1 if the order is not that by (weight, id): the proof does not
        rely on the sort.
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
def link_trees(ranked, parent, links):
    """Join the ends of forest edges, lightest first.

    Parameters
    ----------
    ranked : numpy.ndarray of `edge_dtype`, shape (k,)
        Lightest first. The ends are overwritten: by the root that the edge linked, and its parent.
    parent : numpy.ndarray of uint32 or uint64, shape (n,)
        A union-find of single vertices; overwritten.
    links : numpy.ndarray of the same dtype, shape (n, 2)
        Overwritten: ``(parent, rank)`` for a vertex linked by the edge of that rank, ``(x, n - 1 + size)`` for a
        root. The second entries thus ascend on every path to a root, and only those of roots are n or more.

    Returns
    -------
    int
        Rank of the first edge that closes a cycle, or -1; no edge after it was linked.
    """
    n, size = np.uint64(parent.size), np.uint64(ranked.size)
    for x in range(n):
        links[x, 0] = x
        links[x, 1] = n
    for rank in range(size):
        ahead = min(rank + _AHEAD, size - _ONE)
        prefetch_to_write(parent, ranked[ahead].u)
        prefetch_to_write(parent, ranked[ahead].v)
        ahead = min(rank + _ROOTS_AHEAD, size - _ONE)
        prefetch_to_write(links, parent[ranked[ahead].u])
        prefetch_to_write(links, parent[ranked[ahead].v])
        a = find(parent, fourth_ancestor(parent, ranked[rank].u))
        b = find(parent, fourth_ancestor(parent, ranked[rank].v))
        if a == b:
            return np.int64(rank)
        if links[a, 1] > links[b, 1]:
            a, b = b, a
        links[b, 1] += links[a, 1] - (n - _ONE)
        links[a, 0] = parent[a] = b
        links[a, 1] = rank
        ranked[rank].u = a
        ranked[rank].v = b
    return -1


@njit
def find_joining_ranks(links, a, b, count, pairs, ranks):
    """Find the rank of the edge that joined each of `count` pairs of distinct vertices.

    All pairs take their first step, then all their second, and so on: no step waits for that of another pair, and no
    branch depends on one.

    Parameters
    ----------
    links : numpy.ndarray of uint32 or uint64, shape (n, 2)
        From `link_trees`.
    a, b : numpy.ndarray of the same dtype, shape (count + 1,) or more
        The pairs; overwritten.
    pairs : numpy.ndarray of uint32, shape (count + 1,) or more
        Scratch space.
    ranks : numpy.ndarray of uint64, shape (count,) or more
        Overwritten: the rank of each pair, n or more where no edge joined the two.
    """
    n, unfinished = np.uint64(links.shape[0]), np.uint64(count)
    for j in range(unfinished):
        pairs[j] = j
    while unfinished > _ZERO:
        kept = _ZERO
        for j in range(unfinished):
            x, y, pair = a[j], b[j], pairs[j]
            x_rank, y_rank = np.uint64(links[x, 1]), np.uint64(links[y, 1])
            lower, higher = (x, y) if x_rank < y_rank else (y, x)
            parent, rank = links[lower, 0], min(x_rank, y_rank)
            ranks[pair] = rank
            a[kept], b[kept], pairs[kept] = parent, higher, pair
            kept += np.uint64((parent != higher) & (rank < n))
        unfinished = kept


@njit
def find_root_paths(ranked, root_paths):
    """Find each vertex's root, and the weight of the last and so heaviest edge on the path to it.

    Parents are linked after their children, so one sweep from the last edge to the first finds all.

    Parameters
    ----------
    ranked : numpy.ndarray of `edge_dtype`, shape (k,)
        From `link_trees`.
    root_paths : numpy.ndarray of `root_path_dtype`, shape (n,)
        Overwritten: the root, and the weight of that edge. A root has no such edge: the lightest weight of all.
    """
    size = np.uint64(ranked.size)
    for x in range(np.uint64(root_paths.size)):
        root_paths[x].root = x
        if size > _ZERO:
            root_paths[x].weight = ranked[_ZERO].weight
    for i in range(size):
        rank = size - _ONE - i
        ahead = rank - min(rank, _AHEAD)
        prefetch_to_write(root_paths, ranked[ahead].u)
        prefetch(root_paths, ranked[ahead].v)
        x, parent = ranked[rank].u, ranked[rank].v
        root, weight = root_paths[parent].root, root_paths[parent].weight
        root_paths[x].root = root
        root_paths[x].weight = ranked[rank].weight if root == parent else weight


@njit
def find_tie_bounds(ranked, tie_bounds):
    """Find the id after that of the heaviest edge on each vertex's path to its root; 0 for a root.

    Edges of that weight are above the path from this id on. `ranked` is from `link_trees`; `tie_bounds`, of the dtype
    `id_dtype` and shape (n,), is overwritten.
    """
    size = np.uint64(ranked.size)
    tie_bounds[:] = 0
    for i in range(size):
        rank = size - _ONE - i
        x, parent = ranked[rank].u, ranked[rank].v
        after, after_parent = np.uint64(ranked[rank].id) + _ONE, np.uint64(tie_bounds[parent])
        tie_bounds[x] = after if after_parent == _ZERO else after_parent
