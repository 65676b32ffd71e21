"""Edges as packed pairs: two ends of 32 bits in one uint64, ``u << 32 | v``; one array sorts and moves."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.hashing import permuted
from mst.kernels.primitives.jit import njit

_S32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)
NOTHING = np.uint64(2**64 - 1)  # a loop at a vertex that no graph here has: marks what is to be dropped


@njit
def packed(a, b):
    """The pair ``{a, b}``, smaller end first."""
    a, b = np.uint64(a), np.uint64(b)
    return a << _S32 | b if a < b else b << _S32 | a


@njit(parallel=True)
def pack_ends(u, v, shift):
    """Pack the ends of every edge, the smaller one first and above the lowest `shift` bits."""
    out = np.empty(u.size, np.uint64)
    for i in prange(u.size):
        a, b = np.uint64(u[i]), np.uint64(v[i])
        out[i] = min(a, b) << np.uint64(shift) | max(a, b)
    return out


@njit(parallel=True)
def unpack(u, v, pairs):
    """Write both ends of every pair, in the pairs' order."""
    for i in prange(pairs.size):
        u[i], v[i] = pairs[i] >> _S32, pairs[i] & _LOW32


@njit(parallel=True)
def unpack_permuted(u, v, pairs, permutation):
    """Write both ends of every pair; row `i` gets the pair at the image of `i`."""
    for i in prange(pairs.size):
        pair = pairs[permuted(permutation, i)]
        u[i], v[i] = pair >> _S32, pair & _LOW32


@njit(parallel=True)
def relabel(pairs, permutation):
    """Rename every end to its image, in place; the smaller end comes first again."""
    for i in prange(pairs.size):
        a, b = pairs[i] >> _S32, pairs[i] & _LOW32
        pairs[i] = packed(permuted(permutation, a), permuted(permutation, b))


@njit
def compact(pairs):
    """Move what is not NOTHING to the front, in its order; return how much it is."""
    kept = 0
    for i in range(pairs.size):
        if pairs[i] != NOTHING:
            pairs[kept] = pairs[i]
            kept += 1
    return kept


@njit(parallel=True)
def gather(pairs, permutation, count):
    """Return the pairs at the images of ``0 … count - 1``."""
    out = np.empty(count, np.uint64)
    for i in prange(count):
        out[i] = pairs[permuted(permutation, i)]
    return out


@njit(parallel=True)
def erase_random(pairs, permutation, count):
    """Overwrite the pairs at the images of ``0 … count - 1`` by NOTHING."""
    for i in prange(count):
        pairs[permuted(permutation, i)] = NOTHING


@njit
def unique(pairs):
    """Move one of each to the front of sorted pairs, NOTHING left out; return how many they are."""
    kept = 0
    previous = NOTHING
    for pair in pairs:
        if pair != previous and pair != NOTHING:
            pairs[kept] = pair
            kept += 1
            previous = pair
    return kept
