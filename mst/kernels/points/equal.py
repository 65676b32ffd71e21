"""Finds points at the same coordinates."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.hashing import hash1
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.radix import argsort

_BITS_EACH = 16
"""Bits of a bitmap for each point: few points then share one by chance."""


def representatives(coordinates: np.ndarray) -> np.ndarray:
    """Return the first point at the coordinates of each point: int64, shape (n,).

    Parameters
    ----------
    coordinates : numpy.ndarray of float64, shape (n, dimensions)
        Without NaN and negative zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.points.equal import representatives
    >>> representatives(np.array([[1.0], [2.0], [1.0]])).tolist()
    [0, 1, 0]
    """
    hashes = np.empty(len(coordinates), np.uint64)
    _hash_rows(coordinates.view(np.uint64), hashes)
    first = np.arange(len(coordinates))
    points = _suspects(hashes, max(len(coordinates) * _BITS_EACH, 64).bit_length())
    if len(points):
        order = points[argsort(hashes[points])]
        _group(coordinates, hashes, order, first)
    return first


@njit
def _suspects(hashes, log_bits):
    """Return the points, ascending, that share the first `log_bits` bits of their hash with another one."""
    shift, words = np.uint64(64 - log_bits), 1 << (log_bits - 6)
    seen, shared = np.zeros(words, np.uint64), np.zeros(words, np.uint64)
    for h in hashes:
        place = h >> shift
        word, bit = place >> np.uint64(6), np.uint64(1) << (place & np.uint64(63))
        shared[word] |= seen[word] & bit
        seen[word] |= bit
    points, size = np.empty(hashes.size, np.int64), 0
    for i in range(hashes.size):
        place = hashes[i] >> shift
        points[size] = i
        size += (shared[place >> np.uint64(6)] >> (place & np.uint64(63))) & np.uint64(1) != np.uint64(0)
    return points[:size].copy()


@njit
def _hash_rows(bits, hashes):
    """Write a hash of each row of `bits`, uint64 (n, k), to `hashes`, uint64 (n,)."""
    for i in range(bits.shape[0]):
        x = np.uint64(0)
        for k in range(bits.shape[1]):
            x = hash1(x, bits[i, k])
        hashes[i] = x


@njit
def _group(coordinates, hashes, order, first):
    """Write the first equal point of each point to `first`; `order`, of int64, has them by (hash, point)."""
    start = 0
    for i in range(order.size):
        if hashes[order[i]] != hashes[order[start]]:
            start = i
        for j in range(start, i):
            candidate = order[j]
            if first[candidate] == candidate and _equal(coordinates, candidate, order[i]):
                first[order[i]] = candidate
                break


@njit
def _equal(coordinates, a, b):
    """Return whether two rows are equal."""
    for k in range(coordinates.shape[1]):
        if coordinates[a, k] != coordinates[b, k]:
            return False
    return True
