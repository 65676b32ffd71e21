"""Stable partitions of (key, id) records, and the thresholds that they split at.

Records are two arrays side by side. All kernels keep the relative order of records, so ids that start out
ascending stay ascending within equal keys, and no comparison ever has to look at an id.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit


@njit
def split(keys, ids, start, stop, pivot, spare_keys, spare_ids):
    """Move the records of ``start … stop - 1`` with key ≤ `pivot` to the front; return where the others begin.

    Stable. The two spare arrays hold the heavier records meanwhile; they are at least as long as the range.
    """
    light, heavy = start, 0
    for i in range(start, stop):
        key, e = keys[i], ids[i]
        # Both targets are written and one index advances: no branch to mispredict.
        keys[light], ids[light] = key, e
        spare_keys[heavy], spare_ids[heavy] = key, e
        below = key <= pivot
        light += below
        heavy += not below
    for j in range(heavy):
        keys[light + j], ids[light + j] = spare_keys[j], spare_ids[j]
    return light


@njit
def sampled_quantile(keys, start, stop, numerator, denominator, sample):
    """Return a key such that about ``numerator / denominator`` of the range is not above it.

    `sample` evenly spaced strides are probed at a pseudo-random place each, so that neither sorted nor periodic
    input biases the choice; the result depends on nothing but the input.
    """
    count = min(sample, stop - start)
    probes = np.empty(count, keys.dtype)
    state = np.uint64(0x9E3779B97F4A7C15)
    for s in range(count):
        low = start + (stop - start) * s // count
        high = start + (stop - start) * (s + 1) // count
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        probes[s] = keys[low + np.int64((state >> np.uint64(33)) % np.uint64(high - low))]
    probes.sort()
    return probes[min(count - 1, count * numerator // denominator)]
