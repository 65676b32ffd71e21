"""Edges of cliques over consecutive vertices."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.pairs import packed

_S32 = np.uint64(32)


@njit(parallel=True)
def fill_cliques(pairs, cliques, size):
    """Write the edges of disjoint cliques over consecutive vertices, in sorted order.

    Parameters
    ----------
    pairs : array of uint64, shape (cliques · size (size - 1) / 2,)
        Output: packed pairs.
    cliques, size : int
        Number of cliques, and of vertices in each.
    """
    per_clique = size * (size - 1) // 2
    for x in prange(cliques * size):
        clique, a = x // size, x % size
        i = clique * per_clique + a * size - a * (a + 1) // 2
        for y in range(x + 1, (clique + 1) * size):
            pairs[i] = np.uint64(x) << _S32 | np.uint64(y)
            i += 1


@njit
def connect_cliques_in_ring(pairs, cliques, size):
    """Connect cliques in a ring: replace the first edge of each by one to the last vertex of the clique before.

    Parameters
    ----------
    pairs : array of uint64, as for `fill_cliques`
        Packed pairs as written by `fill_cliques`; modified in place.
    cliques, size : int
    """
    n = cliques * size
    for clique in range(cliques):
        first = clique * size
        pairs[clique * (size * (size - 1) // 2)] = packed(first, (first + n - 1) % n)
