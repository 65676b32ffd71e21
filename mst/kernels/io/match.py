"""Finds the edges of a short list in a long one, by a hash table of the short list."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.hashing import GOLDEN, mix
from mst.kernels.primitives.jit import njit

_SECOND, _THIRD = np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)

_BLOCK = 1024


@njit
def _hash(a, b, bits):
    """Return a uint64 other than 0 that depends on both ends, in any order, and on the bits of the weight."""
    a, b = np.uint64(min(a, b)), np.uint64(max(a, b))
    return mix(a * GOLDEN + b * _SECOND + np.uint64(bits) * _THIRD) | np.uint64(1)


@njit
def _are_equal(u, v, bits, i, a, b, w):
    """Return whether row `i` has the ends `a` and `b`, in any order, and the bits `w`; arrays as for `find_edges`."""
    return bits[i] == w and ((u[i] == a and v[i] == b) or (u[i] == b and v[i] == a))


@njit
def find_edges(u, v, bits, wanted_u, wanted_v, wanted_bits):
    """Find the first occurrence of each wanted edge.

    Parameters
    ----------
    u, v : arrays of int32 or int64, shape (m,)
        Ends of the edges to search.
    bits : array of uint32 or uint64, shape (m,)
        Their weights: equal weights are equal bits.
    wanted_u, wanted_v : arrays of int32 or int64, shape (k,)
        Ends of the wanted edges; those with a negative `wanted_u` are not searched for.
    wanted_bits : array of the dtype of `bits`, shape (k,)
        Their weights.

    Returns
    -------
    ids : array of int64, shape (k,)
        The first row with the same ends and weight; -1 if there is none.
    same : array of int64, shape (k,)
        The first wanted edge that equals this one: its own index, unless it is a repetition.
    """
    k = wanted_u.size
    size, shift = 16, np.uint64(64 - 6)
    while size < 2 * k:
        size *= 2
        shift -= np.uint64(1)
    mask, low = np.uint64(size - 1), np.uint64(63)
    # Most edges of a graph are not wanted: a bitmap that fits in cache, four bits per place, excludes most of them.
    bitmap = np.zeros(size // 16, np.uint64)
    table = np.zeros((size, 2), np.uint64)  # a hash and a row in one cache line
    ids, same = np.full(k, -1, np.int64), np.arange(k)
    for i in range(k):
        a, b, w = wanted_u[i], wanted_v[i], wanted_bits[i]
        if a < 0:
            continue
        key = _hash(a, b, w)
        at = (key >> np.uint64(1)) & mask
        while table[at, 0]:
            if table[at, 0] == key and _are_equal(
                wanted_u, wanted_v, wanted_bits, np.int64(table[at, 1]), a, b, w
            ):
                same[i] = np.int64(table[at, 1])
                break
            at = (at + np.uint64(1)) & mask
        if not table[at, 0]:
            table[at, 0], table[at, 1] = key, i
            bit = key >> shift
            bitmap[bit >> np.uint64(6)] |= np.uint64(1) << (bit & low)
    # In blocks without branches, so that the processor waits for many places of the bitmap at once.
    keys, edges = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.int64)
    for start in range(0, u.size, _BLOCK):
        count = np.int64(0)
        for e in range(start, min(start + _BLOCK, u.size)):
            key = _hash(u[e], v[e], bits[e])
            bit = key >> shift
            keys[count], edges[count] = key, e
            count += np.int64(bitmap[bit >> np.uint64(6)] >> (bit & low) & np.uint64(1))
        for c in range(count):
            key, e = keys[c], edges[c]
            at = (key >> np.uint64(1)) & mask
            while table[at, 0]:
                if table[at, 0] == key:
                    row = np.int64(table[at, 1])
                    if _are_equal(wanted_u, wanted_v, wanted_bits, row, u[e], v[e], bits[e]):
                        if ids[row] < 0:
                            ids[row] = e
                        break
                at = (at + np.uint64(1)) & mask
    for i in range(k):
        ids[i] = ids[same[i]]
    return ids, same
