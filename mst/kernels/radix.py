"""Least-significant-digit radix sort of (key, id) by key; stable, so equal keys keep the order of ids."""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit

_BITS = 11
_BUCKETS = 1 << _BITS


def argsort(keys):
    """Return the stable order of unsigned 32- or 64-bit `keys`, as int32 (int64 from 2³¹ on)."""
    ids = np.arange(len(keys), dtype=np.int32 if len(keys) < 2**31 else np.int64)
    keys = keys.copy()
    sort_range(keys, ids, 0, len(keys), np.empty_like(keys), np.empty_like(ids))
    return ids


@njit
def sort_range(keys, ids, start, stop, spare_keys, spare_ids):
    """Sort the records of ``start … stop - 1`` by key, stably, in place.

    One pass counts every digit; digits that all keys share cost nothing more. The spare arrays are at least as
    long as the range.
    """
    m = stop - start
    if m <= 32:
        insertion_sort(keys, ids, start, stop)
        return
    digits = (keys.itemsize * 8 + _BITS - 1) // _BITS
    counts = np.zeros((digits, _BUCKETS), np.int64)
    mask = np.uint64(_BUCKETS - 1)
    for i in range(start, stop):
        key = np.uint64(keys[i])
        for d in range(digits):
            counts[d, (key >> np.uint64(d * _BITS)) & mask] += 1
    here = True
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
        if here:
            _scatter(keys[start:stop], ids[start:stop], spare_keys, spare_ids, counts[d], shift, mask)
        else:
            _scatter(spare_keys[:m], spare_ids, keys[start:stop], ids[start:stop], counts[d], shift, mask)
        here = not here
    if not here:
        keys[start:stop] = spare_keys[:m]
        ids[start:stop] = spare_ids[:m]


@njit
def _scatter(keys, ids, target_keys, target_ids, cursor, shift, mask):
    for i in range(keys.size):
        key = keys[i]
        b = (np.uint64(key) >> shift) & mask
        at = cursor[b]
        cursor[b] = at + 1
        target_keys[at], target_ids[at] = key, ids[i]


@njit
def insertion_sort(keys, ids, start, stop):
    """Sort a handful of records by key, stably, in place."""
    for i in range(start + 1, stop):
        key, e = keys[i], ids[i]
        j = i
        while j > start and keys[j - 1] > key:
            keys[j], ids[j] = keys[j - 1], ids[j - 1]
            j -= 1
        keys[j], ids[j] = key, e
