"""Compares every edge of a graph with the heaviest edge on the forest path between its ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.primitives.jit import njit
from mst.kernels.proof.reconstruction import find_joining_ranks

ALLOWED, BY_ID, REFUSED = 0, 1, 2
"""The verdict on an edge outside the forest that is as heavy as the heaviest edge on its path."""

_BLOCK = np.uint64(1024)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
# Blocks of edges differ in cost, so each thread gets several.
_BLOCKS_PER_THREAD = 16


class EdgeList(NamedTuple):
    """All edges of a graph. Weights are compared as they are, so that the proof shares nothing with the key transforms.

    Attributes
    ----------
    u, v : numpy.ndarray of uint32 or uint64, shape (m,)
    w : numpy.ndarray of any weight dtype, shape (m,)
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray


class PathMaxima(NamedTuple):
    """A spanning forest with a structure that quickly finds the heaviest edge between any two vertices.

    Attributes
    ----------
    ids : numpy.ndarray of int64, shape (k,)
        The forest's edges, ascending.
    ranked : numpy.ndarray of `mst.kernels.proof.reconstruction.edge_dtype`, shape (k,)
        The same edges, lightest first, as `mst.kernels.proof.reconstruction.link_trees` leaves them: ``u`` and ``v``
        are a linked root and its parent. Only ``weight`` and ``id`` are read here.
    links : numpy.ndarray of uint32 or uint64, shape (n, 2)
        The reconstruction tree, also from `link_trees`.
    root_paths : numpy.ndarray of `mst.kernels.proof.reconstruction.root_path_dtype`, shape (n,)
        From `mst.kernels.proof.reconstruction.find_root_paths`.
    tie_bounds : numpy.ndarray of uint32 or uint64, shape (n,) or (0,)
        From `mst.kernels.proof.reconstruction.find_tie_bounds` if the forest has few distinct weights; else empty,
        and not read.
    """

    ids: np.ndarray
    ranked: np.ndarray
    links: np.ndarray
    root_paths: np.ndarray
    tie_bounds: np.ndarray


@njit
def first_violation(edges, forest, ties):
    """Return the first edge that proves a spanning forest not minimum: one below the heaviest edge on its path.

    Parameters
    ----------
    edges : EdgeList
    forest : PathMaxima
    ties : int
        Whether an edge as heavy as the heaviest is ``ALLOWED``, is compared with it ``BY_ID``, or ``REFUSED``.

    Returns
    -------
    edge, rank : int
        The edge, smallest id first, and the place in ``forest.ranked`` of the heaviest edge on its path, which is n or
        more if there is no path; ``(-1, -1)`` if no edge violates the forest.
    """
    return _scan(0, edges.u.size, edges, forest, ties)


def first_violation_by(width: int, edges: EdgeList, forest: PathMaxima, ties: int) -> tuple[int, int]:
    """Return the result of `first_violation`, by `width` threads.

    If there are several, the caller has entered `mst.kernels.parallel.runtime.workers`.
    """
    if width == 1:
        edge, rank = first_violation(edges, forest, ties)
    else:
        edge, rank = first_violation_parallel(edges, forest, ties, _BLOCKS_PER_THREAD * width)
    return int(edge), int(rank)


@njit(parallel=True)
def first_violation_parallel(edges, forest, ties, blocks):
    """Return the result of `first_violation`, by numba's threads, which share `blocks` equal parts of the edges."""
    m = edges.u.size
    found = np.empty(blocks, np.int64)
    ranks = np.empty(blocks, np.int64)
    for block in prange(blocks):
        low, high = m * block // blocks, m * (block + 1) // blocks
        found[block], ranks[block] = _scan(low, high, edges, forest, ties)
    for block in range(blocks):
        if found[block] >= 0:
            return found[block], ranks[block]
    return np.int64(-1), np.int64(-1)


@njit
def _scan(low, high, edges, forest, ties):
    """Return the result of `first_violation`, with its arguments, for edges ``low … high - 1`` only: two int64."""
    u, _, w = edges
    forest_ids, ranked, links, root_paths, tie_bounds = forest
    following = np.searchsorted(forest_ids, low)
    # Each loop runs over the edges of a block kept by the previous loop, without data-dependent branches.
    in_forest = np.empty(_BLOCK, np.uint8)
    size = _BLOCK + _ONE
    ids, pairs, ranks = np.empty(size, np.uint64), np.empty(size, np.uint32), np.empty(size, np.uint64)
    a, b = np.empty(size, u.dtype), np.empty(size, u.dtype)
    for start in range(np.uint64(low), np.uint64(high), _BLOCK):
        stop = min(start + _BLOCK, np.uint64(high))
        in_forest[:] = 0
        while following < forest_ids.size and np.uint64(forest_ids[following]) < stop:
            in_forest[np.uint64(forest_ids[following]) - start] = 1
            following += 1
        count = _ZERO
        for j in range(stop - start):
            ids[count] = start + j
            count += _ONE - np.uint64(in_forest[j])
        count = keep_undecided(edges, root_paths, ids, count, a, b)
        if tie_bounds.size > 0:
            count = _keep_undecided_ties(w, root_paths, tie_bounds, ids, count, a, b)
        find_joining_ranks(links, a, b, count, pairs, ranks)
        violation = _first_below_path(w, ranked, ids, ranks, count, ties)
        if violation < count:
            return np.int64(ids[violation]), np.int64(ranks[violation])
    return np.int64(-1), np.int64(-1)


@njit
def keep_undecided(edges, root_paths, ids, count, a, b):
    """Drop the edges that are certainly not violations; return how many are kept.

    The path between two vertices of one tree is part of their paths to the root: an edge heavier than the maxima of
    both is dropped. So are self-loops. Edges between two trees are kept.

    Parameters
    ----------
    edges : EdgeList
    root_paths : numpy.ndarray, shape (n,)
        As in `PathMaxima`.
    ids : numpy.ndarray of uint64, shape (count,) or more
        The edges; overwritten with those kept, in order.
    count : numpy.uint64
    a, b : numpy.ndarray of the dtype of the ends, shape (count,) or more
        Overwritten with the ends of the edges kept.
    """
    u, v, w = edges
    kept = _ZERO
    for j in range(count):
        e = ids[j]
        x, y, weight = u[e], v[e], w[e]
        x_root, y_root = root_paths[x].root, root_paths[y].root
        passes = (weight > root_paths[x].weight) & (weight > root_paths[y].weight) & (x_root == y_root)
        ids[kept], a[kept], b[kept] = e, x, y
        kept += np.uint64(not (passes | (x == y)))
    return kept


@njit
def _keep_undecided_ties(w, root_paths, tie_bounds, ids, count, a, b):
    """Like `keep_undecided`, but an edge as heavy as a path's maximum also counts as heavier if its id is larger.

    `a` and `b`, from `keep_undecided`, are read, and overwritten; `tie_bounds` is as in `PathMaxima`.
    """
    kept = _ZERO
    for j in range(count):
        e, x, y = ids[j], a[j], b[j]
        weight, x_weight, y_weight = w[e], root_paths[x].weight, root_paths[y].weight
        above_x = (weight > x_weight) | ((weight == x_weight) & (e >= np.uint64(tie_bounds[x])))
        above_y = (weight > y_weight) | ((weight == y_weight) & (e >= np.uint64(tie_bounds[y])))
        ids[kept], a[kept], b[kept] = e, x, y
        kept += np.uint64(not (above_x & above_y & (root_paths[x].root == root_paths[y].root)))
    return kept


@njit
def _first_below_path(w, ranked, ids, ranks, count, ties):
    """Return the place in `ids` of the first violation, else `count`.

    Edge ``ids[j]`` violates the forest if it is below ``ranked[ranks[j]]``, or if there is no such rank. `ids` and
    `ranks` are uint64, of shape (count,) or more; `ties` is as for `first_violation`, `w` is as in `EdgeList`, `ranked`
    as in `PathMaxima`.
    """
    for j in range(count):
        e, rank = ids[j], ranks[j]
        if rank >= np.uint64(ranked.size):
            return j
        heaviest = ranked[rank].weight
        tie = (w[e] == heaviest) & ((ties == REFUSED) | ((ties == BY_ID) & (e < np.uint64(ranked[rank].id))))
        if (w[e] < heaviest) | tie:
            return j
    return count


@njit
def first_between_trees(u, v, root_paths):
    """Return the first edge with ends in different trees, or -1; the arrays are as in `EdgeList`, `PathMaxima`."""
    for e in range(np.uint64(u.size)):
        if root_paths[u[e]].root != root_paths[v[e]].root:
            return np.int64(e)
    return np.int64(-1)
