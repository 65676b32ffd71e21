"""Compares every edge of a graph with the heaviest edge on the forest path between its ends."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.jit import njit
from mst.kernels.reconstruction import joined_by


@njit
def first_offender(u, v, w, hooks, forest, summits, strict):
    """Return the first edge that contradicts a minimum spanning forest.

    Weights are compared as they are, so that this check shares nothing with the key transforms.

    Parameters
    ----------
    u, v, w : numpy.ndarray, shape (m,)
        The graph.
    hooks : numpy.ndarray, shape (n, 2)
        From `reconstruction.join`.
    forest : tuple of numpy.ndarray
        ``(ids, ranked, weights)``: the forest's edge ids ascending; the same by rank; the weights by rank.
    summits : tuple of numpy.ndarray
        ``(root, weight, edge)`` of each vertex: its root, and the heaviest edge on its way there; empty arrays
        when they are not worth their making.
    strict : bool
        Equal weights compare by edge id; otherwise they pass.

    Returns
    -------
    edge, rank : int
        The offender and the rank of the heaviest edge on its path, n if there is no path; ``(-1, -1)`` if no
        edge offends.
    """
    return _scan(0, u.size, u, v, w, hooks, forest, summits, strict)


@njit(parallel=True)
def first_offender_parallel(u, v, w, hooks, forest, summits, strict, blocks):
    """As `first_offender`, with `blocks` equal parts of the edges shared among numba's threads."""
    edges = np.empty(blocks, np.int64)
    ranks = np.empty(blocks, np.int64)
    m = u.size
    for block in prange(blocks):
        low, high = m * block // blocks, m * (block + 1) // blocks
        edges[block], ranks[block] = _scan(low, high, u, v, w, hooks, forest, summits, strict)
    for block in range(blocks):
        if edges[block] >= 0:
            return edges[block], ranks[block]
    return np.int64(-1), np.int64(-1)


@njit
def _scan(low, high, u, v, w, hooks, forest, summits, strict):
    ids, ranked, ranked_weights = forest
    root, summit_weight, summit_edge = summits
    n = hooks.shape[0]
    climb_always = root.size == 0
    following = np.searchsorted(ids, low)
    for e in range(low, high):
        if following < ids.size and ids[following] == e:
            following += 1
            continue
        a, b = u[e], v[e]
        # The way to the root holds the path: an edge above the summits of both its ends needs no climb.
        if (
            not climb_always
            and root[a] == root[b]
            and _above(w[e], e, summit_weight[a], summit_edge[a])
            and _above(w[e], e, summit_weight[b], summit_edge[b])
        ):
            continue
        rank = joined_by(hooks, a, b)
        if rank < 0:
            continue
        if rank == n:
            return np.int64(e), np.int64(n)
        heaviest = ranked_weights[rank]
        if w[e] < heaviest or (strict and w[e] == heaviest and e < ranked[rank]):
            return np.int64(e), np.int64(rank)
    return np.int64(-1), np.int64(-1)


@njit(inline="always")
def _above(weight, edge, summit_weight, summit_edge):
    return weight > summit_weight or (weight == summit_weight and edge > summit_edge)


@njit
def summit_edges(root, summit, ranked, ranked_weights):
    """Return what `first_offender` takes as ``summits``.

    A root has no summit. It gets the lightest edge of the forest with an id below all others, which sends at
    worst an edge lighter than the whole forest on a needless climb.
    """
    weight = np.empty(summit.size, ranked_weights.dtype)
    edge = np.empty(summit.size, ranked.dtype)
    for x in range(summit.size):
        rank = max(summit[x], 0)
        weight[x] = ranked_weights[rank]
        edge[x] = ranked[rank] if summit[x] >= 0 else -1
    return root, weight, edge


@njit
def first_split(u, v, root):
    """Return the first edge whose ends lie in different trees, or -1."""
    for e in range(u.size):
        if root[u[e]] != root[v[e]]:
            return e
    return -1


@njit
def ascends(ranked, ranked_weights):
    """True when the forest's edges ascend by (weight, edge id)."""
    for rank in range(1, ranked.size):
        if not _above(ranked_weights[rank], ranked[rank], ranked_weights[rank - 1], ranked[rank - 1]):
            return False
    return True
