"""The Kruskal reconstruction tree: the two trees that each forest edge joined, as parent and child.

Edges are taken in ascending order; each links the root of the smaller tree below the root of the larger one (union by
size). Each vertex is linked at most once, by an edge whose *rank* is its place in that order, from 0. Ranks ascend on
every path to a root, so the edge that joined two vertices has the highest rank on their paths to their lowest common
ancestor. Union by size keeps every path below log₂ n steps. (The structure is folklore; King, *A simpler minimum
spanning tree verification algorithm*, 1997, builds the same tree from Borůvka's rounds.) Roots are found in a second
array, whose paths are compressed.

Callers allocate the randomly accessed arrays: the operating system gives numpy's allocations huge pages, but not
numba's own, which costs a third of the speed. Integers are unsigned: a signed index might count from the end, and
checking for that takes time. Functions that release the GIL may be called by several threads at once, for disjoint
parts of the arrays that they write.
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
    """Return the dtype of a forest edge's record: ``u`` and ``v`` of dtype `ends`, ``weight``, and ``id`` below `m`."""
    return np.dtype([("u", ends), ("v", ends), ("weight", weights), ("id", id_dtype(m))], align=True)


def root_path_dtype(ends: np.dtype, weights: np.dtype) -> np.dtype:
    """Return the dtype of the records of `find_root_paths`: ``root``, of dtype `ends`, and ``weight``."""
    return np.dtype([("root", ends), ("weight", weights)], align=True)


def id_dtype(m: int) -> type:
    """Return uint32 if it can hold all ids up to `m`, else uint64."""
    return np.uint32 if m < 2**32 - 1 else np.uint64


@njit(nogil=True)
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


@njit(nogil=True)
def put_in_order(edges, words, places, ranked):
    """Write the edges to `ranked` in the order of sorted records, whose ids are places in `edges`.

    Parameters
    ----------
    edges : numpy.ndarray of `edge_dtype`, shape (k,)
    words, places : numpy.ndarray
        The sorted records (`mst.kernels.primitives.radix.Records`): words and ids.
    ranked : numpy.ndarray of `edge_dtype`, shape (k,)
        Overwritten.

    Returns
    -------
    int
        The number of edges as heavy as the previous one; -1 if `ranked` does not ascend by (weight, id): the proof
        does not rely on the sort.
    """
    size = np.uint64(ranked.size)
    for rank in range(size):
        prefetch(edges, id_at(words, places, min(rank + _AHEAD, size - _ONE)))
        i = id_at(words, places, rank)
        ranked[rank].u = edges[i].u
        ranked[rank].v = edges[i].v
        ranked[rank].weight = edges[i].weight
        ranked[rank].id = edges[i].id
    return ties_among(ranked)


@njit(nogil=True)
def ties_among(ranked):
    """Return the result of `put_in_order` for the records that it has written."""
    ties, ascending = 0, True
    for rank in range(_ONE, np.uint64(ranked.size)):
        before, weight = ranked[rank - _ONE].weight, ranked[rank].weight
        ties += before == weight
        ascending &= (before < weight) | ((before == weight) & (ranked[rank - _ONE].id < ranked[rank].id))
    return ties if ascending else -1


@njit
def link_trees(ranked, parent, links, clusters):
    """Build the reconstruction tree: join the ends of forest edges, lightest first.

    Parameters
    ----------
    ranked : numpy.ndarray of `edge_dtype`, shape (k,)
        Lightest first. ``u`` is overwritten with the root that the edge linked, ``v`` with its parent in `links`.
    parent : numpy.ndarray of uint32 or uint64, shape (n,)
        ``0 … n - 1``; overwritten. The union-find with compressed paths.
    links : numpy.ndarray of the same dtype, shape (n, 2)
        Overwritten: ``(parent, rank)`` for a vertex linked by the edge of that rank, ``(cluster, n - 1 + size)`` for
        the root of a tree of ``size`` vertices. The second entries thus ascend on every path to a root, and only those
        of roots are n or more. A single vertex is the cluster with its number, and the edge of rank `i` makes
        cluster ``n + i``.
    clusters : numpy.ndarray of the same dtype, shape (k, 3) or (0, 3)
        Overwritten, unless it is empty: the clusters of the parent and of the root that the edge linked, and how many
        vertices both have.

    Returns
    -------
    int
        Rank of the first edge that closes a cycle, or -1; no edge after it was linked.
    """
    n, size, keeping = np.uint64(parent.size), np.uint64(ranked.size), clusters.size > 0
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
        total = links[a, 1] + links[b, 1] - (n - _ONE)
        if keeping:
            clusters[rank, 0] = links[b, 0]
            clusters[rank, 1] = links[a, 0]
            clusters[rank, 2] = total - (n - _ONE)
        links[b, 0] = n + rank
        links[b, 1] = total
        links[a, 0] = parent[a] = b
        links[a, 1] = rank
        ranked[rank].u = a
        ranked[rank].v = b
    return -1


@njit
def find_joining_ranks(links, a, b, count, pairs, ranks):
    """Find the rank of the edge that joined each of `count` pairs of distinct vertices.

    All pairs take their first step, then all their second, and so on: no step waits for another pair's, and no
    branch depends on one.

    Parameters
    ----------
    links : numpy.ndarray of uint32 or uint64, shape (n, 2)
        From `link_trees`.
    a, b : numpy.ndarray of the same dtype, shape (count,) or more
        The pairs; overwritten.
    pairs : numpy.ndarray of uint32, shape (count,) or more
        Scratch space.
    ranks : numpy.ndarray of uint64, shape (count,) or more
        Overwritten: the rank of each pair, n or more if no edge joined them.
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
    """Find each vertex's root in the reconstruction tree, and the weight of the heaviest (last) edge on its path.

    Parents are linked after their children, so one sweep from the last edge to the first finds all.

    Parameters
    ----------
    ranked : numpy.ndarray of `edge_dtype`, shape (k,)
        From `link_trees`.
    root_paths : numpy.ndarray of `root_path_dtype`, shape (n,)
        Overwritten. A root has no such edge, and gets the weight of the lightest edge of all, or an uninitialised
        weight if there are no edges.
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
    """Write 1 + the id of the heaviest edge on each vertex's path to its root to `tie_bounds`; 0 for a root.

    An edge of the same weight is above that edge in the order if its id is at least the bound. `ranked` is from
    `link_trees`; `tie_bounds`, of the dtype `id_dtype` and shape (n,), is overwritten.
    """
    size = np.uint64(ranked.size)
    tie_bounds[:] = 0
    for i in range(size):
        rank = size - _ONE - i
        x, parent = ranked[rank].u, ranked[rank].v
        after, after_parent = np.uint64(ranked[rank].id) + _ONE, np.uint64(tie_bounds[parent])
        tie_bounds[x] = after if after_parent == _ZERO else after_parent
