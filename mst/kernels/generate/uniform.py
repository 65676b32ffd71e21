"""Pairs of vertices by number, and a random sample of them without replacement."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.hashing import below, hash1, permuted
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.pairs import packed

_ONE = np.uint64(1)


@njit
def pair_of(number, n):
    """The unordered pair of number ``0 … n(n-1)/2 - 1``, packed.

    Pairs are numbered by their distance around a ring, then by their first vertex: one division finds them,
    where numbering them row by row takes a square root.
    """
    distance = number // n + _ONE
    a = number % n
    b = a + distance
    return packed(a, b - n if b >= n else b)


@njit(parallel=True)
def fill_sample(pairs, n, permutation, first):
    """Write the pairs at positions ``first …`` of a random order of all pairs of `n` vertices."""
    n, first = np.uint64(n), np.uint64(first)
    for i in prange(pairs.size):
        pairs[i] = pair_of(permuted(permutation, first + np.uint64(i)), n)


@njit(parallel=True)
def fill_arcs(pairs, n, first, key):
    """Write arcs number ``first …``: number `i` leads from vertex ``i % n`` to a random other one."""
    others = np.uint64(n - 1)
    for i in prange(pairs.size):
        arc = first + i
        x = np.uint64(arc % n)
        y = below(hash1(key, arc), others)
        pairs[i] = packed(x, y + np.uint64(y >= x))
