"""Random pairs of vertices: samples without replacement, and arcs of k-out graphs."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.hashing import below, hash1, permuted
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.pairs import packed

_ONE = np.uint64(1)


@njit
def pair_of(number, n):
    """Return the packed pair of a number in ``0 … n(n-1)/2 - 1``; all arguments and the result are uint64.

    Pairs are numbered by their distance on a ring, then by their first vertex, so that one division finds them.
    Numbering them row by row would require a square root.
    """
    distance = number // n + _ONE
    a = number % n
    b = a + distance
    return packed(a, b - n if b >= n else b)


@njit(parallel=True)
def fill_sample(pairs, n, permutation, first):
    """Write consecutive pairs of a random order of all pairs of `n` vertices.

    Parameters
    ----------
    pairs : array of uint64, shape (m,)
        Output: packed pairs.
    n : int
    permutation : Permutation
        The random order, of size n (n - 1) / 2.
    first : int
        Index in this order of the first pair to write.
    """
    n, first = np.uint64(n), np.uint64(first)
    for i in prange(pairs.size):
        pairs[i] = pair_of(permuted(permutation, first + np.uint64(i)), n)


@njit(parallel=True)
def fill_arcs(pairs, n, first, key):
    """Write consecutive arcs of an endless random sequence; arc `i` leads from vertex ``i % n`` to another one.

    Parameters
    ----------
    pairs : array of uint64, shape (m,)
        Output: packed pairs.
    n : int
    first : int
        Index in the sequence of the first arc to write.
    key : uint64
        Key of the random stream.
    """
    others = np.uint64(n - 1)
    for i in prange(pairs.size):
        arc = first + i
        x = np.uint64(arc % n)
        y = below(hash1(key, arc), others)
        pairs[i] = packed(x, y + np.uint64(y >= x))
