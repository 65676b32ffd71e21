"""Least-significant-digit radix sort of (key, id) by key; stable, so equal keys keep the order of ids."""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit

_BITS = 11
_BUCKETS = 1 << _BITS


@njit
def argsort(keys):
    """Return the stable order of unsigned 32- or 64-bit `keys`, as int32 (int64 from 2³¹ on).

    One pass counts every digit; digits that all keys share cost nothing more.
    """
    m = keys.size
    width = keys.itemsize * 8
    digits = (width + _BITS - 1) // _BITS
    counts = np.zeros((digits, _BUCKETS), np.int64)
    mask = _BUCKETS - 1
    for i in range(m):
        key = np.uint64(keys[i])
        for d in range(digits):
            counts[d, (key >> np.uint64(d * _BITS)) & np.uint64(mask)] += 1
    order, other = np.empty(m, np.int32), np.empty(m, np.int32)
    for i in range(m):
        order[i] = i
    source, target = keys.copy(), np.empty_like(keys)
    for d in range(digits):
        largest = 0
        running = 0
        for b in range(_BUCKETS):
            c = counts[d, b]
            largest = max(largest, c)
            counts[d, b] = running
            running += c
        if largest == m:
            continue
        shift = np.uint64(d * _BITS)
        for i in range(m):
            key = source[i]
            b = (np.uint64(key) >> shift) & np.uint64(mask)
            at = counts[d, b]
            counts[d, b] = at + 1
            target[at] = key
            other[at] = order[i]
        source, target = target, source
        order, other = other, order
    return order
