"""Statistics of sampled edges that share a vertex: the skew of degrees, and whether such edges have similar weights."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.hashing import half_mix, multiplicative_hash
from mst.kernels.primitives.jit import njit


@njit
def hashed_rows(m, rows):
    """Fill `rows`, int64 of shape (k,), with pseudo-random numbers below `m`, perhaps with repetitions."""
    for i in range(len(rows)):
        rows[i] = np.int64((half_mix(multiplicative_hash(i + 1)) >> np.uint64(11)) * (2.0**-53 * m))


@njit
def shared_ends(rows, u, v, places, differ, reach):
    """Count the pairs of edges that share an end, and compare the ranks of such edges.

    Parameters
    ----------
    rows : numpy.ndarray of int64, shape (k,)
        Ids of the sampled edges, ascending. Unless stated otherwise, only the first of equal rows is counted.
    u, v : numpy.ndarray of int32 or int64, shape (k,)
        Their ends.
    places : numpy.ndarray of int64, shape (k,)
        The sampled edges by weight. An edge's rank is its place here; equal weights share a rank.
    differ : numpy.ndarray of bool, shape (k - 1,)
        Whether the weight of an edge in this order differs from the next one's.
    reach : int
        Ranks that differ by no more than this are near.

    Returns
    -------
    edges : int
        Distinct edges, including self-loops, which the next three counts omit.
    pairs : int
        Pairs of edges with a common end.
    compared : int
        Pairs whose ranks were compared: each edge with the first at the same vertex. (The rank of the previous
        edge may be near only because weights ascend with the rows.)
    near : int
        Compared pairs of near ranks.
    anywhere : int
        Pairs of near ranks among k others: each sampled edge, including repetitions and self-loops, with the edge half
        a sample further on.
    """
    k = len(rows)
    rank = np.empty(k, np.int64)
    for i in range(k):
        rank[places[i]] = i if i == 0 or differ[i - 1] else rank[places[i - 1]]
    bits = 2
    while (1 << bits) < 4 * k:
        bits += 1
    mask, shift = np.uint64((1 << bits) - 1), np.uint64(64 - bits)
    vertex = np.full(1 << bits, -1, np.int64)
    first, count = np.empty(1 << bits, np.int32), np.zeros(1 << bits, np.int32)
    edges = pairs = compared = near = anywhere = 0
    for i in range(k):
        anywhere += abs(rank[i] - rank[(i + k // 2) % k]) <= reach
        if i > 0 and rows[i] == rows[i - 1]:
            continue
        edges += 1
        if u[i] == v[i]:
            continue
        for x in (np.int64(u[i]), np.int64(v[i])):
            place = multiplicative_hash(x) >> shift
            while vertex[place] != -1 and vertex[place] != x:
                place = (place + np.uint64(1)) & mask
            if vertex[place] == x:
                pairs += count[place]
                compared += 1
                near += abs(rank[i] - rank[first[place]]) <= reach
            else:
                vertex[place], first[place] = x, i
            count[place] += 1
    return edges, pairs, compared, near, anywhere
