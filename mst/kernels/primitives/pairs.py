"""Edges as packed pairs: two 32-bit ends in one uint64, ``u << 32 | v``, so that one array is sorted and moved.

``pairs`` is uint64 of shape (m,). ``permutation`` is a `mst.kernels.primitives.hashing.Permutation`, of the vertices or
of the places in ``pairs``, and maps `i` to its *image*. Loops over all pairs run on numba's threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.hashing import permuted
from mst.kernels.primitives.jit import njit

_S32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)
DROPPED = np.uint64(2**64 - 1)
"""A loop at a vertex that no graph here has; it marks pairs to drop."""


@njit
def packed(a, b):
    """Return the pair ``{a, b}`` of two integers as a uint64, the smaller end in the high half."""
    a, b = np.uint64(a), np.uint64(b)
    return a << _S32 | b if a < b else b << _S32 | a


@njit(parallel=True)
def pack_ends(u, v, shift):
    """Return ``smaller << shift | larger`` of the ends of every edge: uint64, shape (m,).

    `u` and `v`, int of shape (m,), are below ``2**shift``.
    """
    out = np.empty(u.size, np.uint64)
    for i in prange(u.size):
        a, b = np.uint64(u[i]), np.uint64(v[i])
        out[i] = min(a, b) << np.uint64(shift) | max(a, b)
    return out


@njit(parallel=True)
def unpack(u, v, pairs):
    """Write the high and the low end of every pair to `u` and `v`, int of shape (m,)."""
    for i in prange(pairs.size):
        u[i], v[i] = pairs[i] >> _S32, pairs[i] & _LOW32


@njit(parallel=True)
def unpack_permuted(u, v, pairs, permutation):
    """Like `unpack`, but ``u[i]`` and ``v[i]`` are the ends of the pair at the image of place `i`."""
    for i in prange(pairs.size):
        pair = pairs[permuted(permutation, i)]
        u[i], v[i] = pair >> _S32, pair & _LOW32


@njit(parallel=True)
def relabel(pairs, permutation):
    """Replace the ends of every pair by their images under a permutation of the vertices, in place, smaller first."""
    for i in prange(pairs.size):
        a, b = pairs[i] >> _S32, pairs[i] & _LOW32
        pairs[i] = packed(permuted(permutation, a), permuted(permutation, b))


@njit
def compact(pairs):
    """Move the pairs that are not `DROPPED` to the front, in their order; return how many are kept."""
    kept = 0
    for i in range(pairs.size):
        if pairs[i] != DROPPED:
            pairs[kept] = pairs[i]
            kept += 1
    return kept


@njit(parallel=True)
def gather(pairs, permutation, count):
    """Return the pairs at the images of ``0 … count - 1``: uint64, shape (count,)."""
    out = np.empty(count, np.uint64)
    for i in prange(count):
        out[i] = pairs[permuted(permutation, i)]
    return out


@njit(parallel=True)
def erase_random(pairs, permutation, count):
    """Overwrite the pairs at the images of ``0 … count - 1`` with `DROPPED`."""
    for i in prange(count):
        pairs[permuted(permutation, i)] = DROPPED


@njit
def unique(pairs):
    """Of sorted pairs, move one of each run of equal ones to the front, without `DROPPED`; return how many are kept."""
    kept = 0
    previous = DROPPED
    for pair in pairs:
        if pair != previous and pair != DROPPED:
            pairs[kept] = pair
            kept += 1
            previous = pair
    return kept
