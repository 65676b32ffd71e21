"""Random graphs by preferential attachment."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.hashing import below, hash1
from mst.kernels.primitives.jit import njit

_ONE = np.uint64(1)
_S32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)


@njit
def fill_preferential(pairs, n, k, key):
    """Write a star around vertex `k`, then `k` edges for each vertex from ``k + 1`` to ``n - 1``.

    A random end of an earlier edge is a random vertex with a probability in proportion to its degree. If the new
    vertex has an edge to it already, another end is drawn.

    Parameters
    ----------
    pairs : array of uint64, shape ((n - k) k,)
        Output: packed pairs.
    n, k : int
    key : uint64
        Key of the random stream.
    """
    for x in range(k):
        pairs[x] = np.uint64(x) << _S32 | np.uint64(k)
    chosen_by = np.full(n, -1, np.int32)
    counter = 0
    for newcomer in range(k + 1, n):
        first = (newcomer - k) * k
        row = first
        while row < first + k:
            end = below(hash1(key, counter), np.uint64(2 * first))
            counter += 1
            earlier = pairs[end >> _ONE]
            chosen = earlier >> _S32 if end & _ONE else earlier & _LOW32
            if chosen_by[chosen] != newcomer:
                chosen_by[chosen] = newcomer
                pairs[row] = chosen << _S32 | np.uint64(newcomer)
                row += 1
