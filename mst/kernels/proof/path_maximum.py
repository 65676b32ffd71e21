"""Compares every edge of a graph with the heaviest edge on the forest path between its ends."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.jit import njit
from mst.kernels.proof.reconstruction import climb

_BLOCK = np.uint64(1024)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@njit
def first_offender(u, v, w, ids, ranked, hooks, summits, above, strict):
    """Return the first edge that contradicts a minimum spanning forest.

    Weights are compared as they are, so that this check shares nothing with the key transforms.

    Parameters
    ----------
    u, v, w : numpy.ndarray, shape (m,)
        The graph; ends are unsigned.
    ids : numpy.ndarray of int64, shape (k,)
        The forest's edges, ascending.
    ranked, hooks : numpy.ndarray
        From `reconstruction.join`.
    summits, above : numpy.ndarray
        From `reconstruction.find_summits`.
    strict : bool
        Equal weights compare by edge id; otherwise they pass.

    Returns
    -------
    edge, rank : int
        The offender and the rank of the heaviest edge on its path, n or more if there is no path; ``(-1, -1)``
        if no edge offends.
    """
    return _scan(0, u.size, u, v, w, ids, ranked, hooks, summits, above, strict)


@njit(parallel=True)
def first_offender_parallel(u, v, w, ids, ranked, hooks, summits, above, strict, blocks):
    """As `first_offender`, with `blocks` equal parts of the edges shared among numba's threads."""
    m = u.size
    edges = np.empty(blocks, np.int64)
    ranks = np.empty(blocks, np.int64)
    for block in prange(blocks):
        low, high = m * block // blocks, m * (block + 1) // blocks
        edges[block], ranks[block] = _scan(low, high, u, v, w, ids, ranked, hooks, summits, above, strict)
    for block in range(blocks):
        if edges[block] >= 0:
            return edges[block], ranks[block]
    return np.int64(-1), np.int64(-1)


@njit
def _scan(low, high, u, v, w, ids, ranked, hooks, summits, above, strict):
    following = np.searchsorted(ids, low)
    # Loops without branches that depend on the data, each over what the one before has left of a block.
    inside = np.empty(_BLOCK, np.uint8)
    room = _BLOCK + _ONE
    edges, climbing, ranks = np.empty(room, np.uint64), np.empty(room, np.uint32), np.empty(room, np.uint64)
    a, b = np.empty(room, u.dtype), np.empty(room, u.dtype)
    for start in range(np.uint64(low), np.uint64(high), _BLOCK):
        stop = min(start + _BLOCK, np.uint64(high))
        inside[:] = 0
        while following < ids.size and np.uint64(ids[following]) < stop:
            inside[np.uint64(ids[following]) - start] = 1
            following += 1
        count = _ZERO
        for j in range(stop - start):
            edges[count] = start + j
            count += _ONE - np.uint64(inside[j])
        count = _not_above_summits(u, v, w, summits, edges, count, a, b)
        if above.size > 0:
            count = _not_above_ties(w, summits, above, edges, count, a, b)
        climb(hooks, a, b, count, climbing, ranks)
        offender = _first(w, ranked, edges, ranks, count, strict)
        if offender < count:
            return np.int64(edges[offender]), np.int64(ranks[offender])
    return np.int64(-1), np.int64(-1)


@njit
def _not_above_summits(u, v, w, summits, edges, count, a, b):
    """Keep the edges, and note their ends, that are not heavier than the summits of both: the others need no climb.

    The way to the root holds the path. Self-loops go, too.
    """
    kept = _ZERO
    for j in range(count):
        e = edges[j]
        x, y, weight = u[e], v[e], w[e]
        x_root, y_root = summits[x].root, summits[y].root
        passes = (weight > summits[x].weight) & (weight > summits[y].weight) & (x_root == y_root)
        edges[kept], a[kept], b[kept] = e, x, y
        kept += np.uint64(not (passes | (x == y)))
    return kept


@njit
def _not_above_ties(w, summits, above, edges, count, a, b):
    """As `_not_above_summits`, and as heavy as a summit is above it by a larger id."""
    kept = _ZERO
    for j in range(count):
        e, x, y = edges[j], a[j], b[j]
        weight, x_weight, y_weight = w[e], summits[x].weight, summits[y].weight
        above_x = (weight > x_weight) | ((weight == x_weight) & (e >= np.uint64(above[x])))
        above_y = (weight > y_weight) | ((weight == y_weight) & (e >= np.uint64(above[y])))
        edges[kept], a[kept], b[kept] = e, x, y
        kept += np.uint64(not (above_x & above_y & (summits[x].root == summits[y].root)))
    return kept


@njit
def _first(w, ranked, edges, ranks, count, strict):
    """Return where the first edge is that is below the edge of its rank, or has none; else `count`."""
    for j in range(count):
        e, rank = edges[j], ranks[j]
        if rank >= np.uint64(ranked.size):
            return j
        heaviest = ranked[rank].weight
        tie = strict & (w[e] == heaviest) & (e < np.uint64(ranked[rank].id))
        if (w[e] < heaviest) | tie:
            return j
    return count


@njit
def first_split(u, v, summits):
    """Return the first edge whose ends lie in different trees, or -1."""
    for e in range(np.uint64(u.size)):
        if summits[u[e]].root != summits[v[e]].root:
            return np.int64(e)
    return np.int64(-1)
