"""Compares every edge of a graph with the heaviest edge on the forest path between its ends."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.jit import njit
from mst.kernels.reconstruction import joined_by


@njit
def first_offender(u, v, w, hooks, summits, forest, strict):
    """Return the first edge that contradicts a minimum spanning forest.

    Weights are compared as they are, so that this check shares nothing with the key transforms.

    Parameters
    ----------
    u, v, w : numpy.ndarray, shape (m,)
        The graph.
    hooks : numpy.ndarray, shape (n, 2)
        From `reconstruction.join`.
    summits : numpy.ndarray, shape (n,)
        From `reconstruction.find_summits`.
    forest : tuple of numpy.ndarray, each of shape (k,)
        ``(ids, by_rank, ranked_weights)``: edge ids ascending, their positions lightest first, and the weights
        of these.
    strict : bool
        Equal weights compare by edge id; otherwise they pass.

    Returns
    -------
    edge, rank : int
        The offender and the rank of the heaviest edge on its path, n if there is no path; ``(-1, -1)`` if no
        edge offends.
    """
    return _scan(0, u.size, u, v, w, hooks, summits, forest, strict)


@njit(parallel=True)
def first_offender_parallel(u, v, w, hooks, summits, forest, strict, blocks):
    """As `first_offender`, with `blocks` equal parts of the edges shared among numba's threads."""
    m = u.size
    edges = np.empty(blocks, np.int64)
    ranks = np.empty(blocks, np.int64)
    for block in prange(blocks):
        low, high = m * block // blocks, m * (block + 1) // blocks
        edges[block], ranks[block] = _scan(low, high, u, v, w, hooks, summits, forest, strict)
    for block in range(blocks):
        if edges[block] >= 0:
            return edges[block], ranks[block]
    return np.int64(-1), np.int64(-1)


@njit
def _scan(low, high, u, v, w, hooks, summits, forest, strict):
    n = hooks.shape[0]
    ids, by_rank, ranked_weights = forest
    following = np.searchsorted(ids, low)
    for e in range(low, high):
        if following < ids.size and ids[following] == e:
            following += 1
            continue
        a, b = u[e], v[e]
        if a == b:
            continue
        # The way to the root holds the path, so an edge above the summits of both its ends needs no climb.
        top_a, top_b = summits[a], summits[b]
        if (
            top_a.root == top_b.root
            and (w[e] > top_a.weight or (w[e] == top_a.weight and e > top_a.edge))
            and (w[e] > top_b.weight or (w[e] == top_b.weight and e > top_b.edge))
        ):
            continue
        rank = joined_by(hooks, a, b)
        if rank == n:
            return np.int64(e), np.int64(n)
        heaviest = ranked_weights[rank]
        if w[e] < heaviest or (strict and w[e] == heaviest and e < ids[by_rank[rank]]):
            return np.int64(e), np.int64(rank)
    return np.int64(-1), np.int64(-1)


@njit
def first_split(u, v, summits):
    """Return the first edge whose ends lie in different trees, or -1."""
    for e in range(u.size):
        if summits[u[e]].root != summits[v[e]].root:
            return e
    return -1


@njit
def ascends(by_rank, ranked_weights):
    """True when the forest's edges ascend by weight, and equal ones by position."""
    for rank in range(1, by_rank.size):
        before, weight = ranked_weights[rank - 1], ranked_weights[rank]
        if weight < before or (weight == before and by_rank[rank] < by_rank[rank - 1]):
            return False
    return True
