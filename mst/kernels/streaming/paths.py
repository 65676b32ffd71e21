"""Compares a stream's edges with the heaviest edge on the forest path between their ends."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.proof.path_maximum import keep_undecided
from mst.kernels.proof.reconstruction import find_joining_ranks

_BLOCK = np.uint64(1024)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@njit(nogil=True)
def first_below_path(edges, ids, ranked, links, root_paths):
    """Return the first edge that comes before the heaviest edge on its path in the order, and the rank of that edge.

    A forest edge is itself the heaviest edge on its path, so it is never returned.

    Parameters
    ----------
    edges : mst.kernels.proof.path_maximum.EdgeList
        Some edges of the stream.
    ids : numpy.ndarray of int64, shape (k,)
        Their ids.
    ranked, links, root_paths : numpy.ndarray
        As in `mst.kernels.proof.path_maximum.PathMaxima`, with the edge ids of the stream.

    Returns
    -------
    edge, rank : int
        The place of the edge in `edges`, and the rank of the heaviest edge on its path, which is n or more if there is
        no path; ``(-1, -1)`` if no edge is below its path.
    """
    u, _, w = edges
    size = _BLOCK + _ONE
    places, pairs, ranks = np.empty(size, np.uint64), np.empty(size, np.uint32), np.empty(size, np.uint64)
    a, b = np.empty(size, u.dtype), np.empty(size, u.dtype)
    for first in range(_ZERO, np.uint64(u.size), _BLOCK):
        count = min(_BLOCK, np.uint64(u.size) - first)
        for j in range(count):
            places[j] = first + j
        count = keep_undecided(edges, root_paths, places, count, a, b)
        find_joining_ranks(links, a, b, count, pairs, ranks)
        for j in range(count):
            e, rank = places[j], ranks[j]
            if rank >= np.uint64(ranked.size):
                return np.int64(e), np.int64(rank)
            heaviest, above = ranked[rank].weight, np.uint64(ranked[rank].id)
            if (w[e] < heaviest) | ((w[e] == heaviest) & (np.uint64(ids[e]) < above)):
                return np.int64(e), np.int64(rank)
    return np.int64(-1), np.int64(-1)
