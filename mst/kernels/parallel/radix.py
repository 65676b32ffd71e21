"""Parallel stable least-significant-digit radix sort of (key, id) by key.

Each pass counts digits per chunk, prefixes the counts over (digit, chunk), and lets every chunk write its own
share: the same order at every width and schedule.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import new_counters, next_chunk, reset_queue
from mst.kernels.primitives.jit import njit

_BITS = 11
_BUCKETS = 1 << _BITS
_MASK = np.uint64(_BUCKETS - 1)


def argsort(keys: np.ndarray, width: int, delay_seed: int = 0) -> np.ndarray:
    """Return the stable order of unsigned 32- or 64-bit `keys`, as int32 (int64 from 2³¹ on).

    The caller has set the width (`mst.kernels.parallel.runtime.workers`). `keys` is not changed.
    """
    m = keys.size
    chunks = max(min(4 * width, m // _BUCKETS), 1)
    grain = max(-(-m // chunks), 1)
    chunks = -(-m // grain)
    counters = new_counters(width, delay_seed)
    counts = np.empty((chunks, _BUCKETS), np.int64)
    id_dtype = np.int32 if m < 2**31 else np.int64
    source, order = keys, None
    for shift in range(0, 8 * keys.itemsize, _BITS):
        count_digits(width, grain, source, np.uint64(shift), counts, counters)
        if not prefix_digits(counts, m):
            continue
        target, moved = np.empty(m, keys.dtype), np.empty(m, id_dtype)
        scatter(width, grain, source, order, np.uint64(shift), counts, target, moved, counters)
        source, order = target, moved
    return np.arange(m, dtype=id_dtype) if order is None else order


@njit(parallel=True)
def count_digits(width, grain, keys, shift, counts, counters):
    """Set ``counts[c, d]`` to how often the digit `d` at `shift` occurs in chunk `c`."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, keys.size)
        while first < last:
            mine = counts[first // grain]
            mine[:] = 0
            for i in range(first, last):
                mine[(np.uint64(keys[i]) >> shift) & _MASK] += 1
            first, last = next_chunk(counters, worker, width, grain, keys.size)


@njit
def prefix_digits(counts, m):
    """Turn counts into places, by digit and then chunk; return False if all keys share one digit."""
    place = 0
    for d in range(counts.shape[1]):
        begin = place
        for c in range(counts.shape[0]):
            counts[c, d], place = place, place + counts[c, d]
        if place - begin == m:
            return False
    return True


@njit(parallel=True)
def scatter(width, grain, keys, ids, shift, places, out_keys, out_ids, counters):
    """Move every key and its id to the place of its digit; without `ids`, positions are the ids."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, keys.size)
        while first < last:
            mine = places[first // grain]
            for i in range(first, last):
                key = keys[i]
                d = (np.uint64(key) >> shift) & _MASK
                at = mine[d]
                mine[d] = at + 1
                out_keys[at] = key
                if ids is None:
                    out_ids[at] = i
                else:
                    out_ids[at] = ids[i]
            first, last = next_chunk(counters, worker, width, grain, keys.size)
