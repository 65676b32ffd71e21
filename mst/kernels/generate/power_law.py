"""Edges of cliques of vertices that are chosen by a power law."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.hashing import hash1, hash2, wide_product
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.pairs import DROPPED, packed

_ONE = np.uint64(1)


@njit
def _vertex(bits, end, shift, skew):
    """Return ``floor(end · (bits / 2⁶⁴) ** skew) - shift``, with new bits while it is negative; all are uint64."""
    while True:
        power = bits
        for _ in range(_ONE, skew):
            power, _low = wide_product(power, bits)
        place, _low = wide_product(power, end)
        if place >= shift:
            return place - shift
        bits = hash1(bits, _ONE)


@njit(parallel=True)
def fill_power_law(pairs, first, n, skew, shift, size, key):
    """Write consecutive edges of an endless random sequence of cliques; loops are DROPPED.

    Parameters
    ----------
    pairs : array of uint64, shape (m,)
        Output: packed pairs.
    first : int
        Index in the sequence of the first edge to write.
    n : int
        The vertices are ``0 … n - 1``.
    skew, shift : int
        Vertex x is chosen with the probability of ``floor((n + shift) · U ** skew) = x + shift``, U uniform.
    size : int
        Vertices of each clique.
    key : uint64
        Key of the random stream.
    """
    end, offset, skew = np.uint64(n + shift), np.uint64(shift), np.uint64(skew)
    per_clique = size * (size - 1) // 2
    for i in prange(pairs.size):
        clique, rest = divmod(first + np.int64(i), per_clique)
        a = 0
        while rest >= size - 1 - a:
            rest -= size - 1 - a
            a += 1
        x = _vertex(hash2(key, np.uint64(clique), np.uint64(a)), end, offset, skew)
        y = _vertex(hash2(key, np.uint64(clique), np.uint64(a + 1 + rest)), end, offset, skew)
        pairs[i] = DROPPED if x == y else packed(x, y)
