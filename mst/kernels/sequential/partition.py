"""Stable partition of records by a pivot, and the choice of the pivot, for qKruskal and Filter-Kruskal."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.hashing import below, hash1
from mst.kernels.primitives.jit import njit

_ZERO, _ONE = np.uint64(0), np.uint64(1)


@njit
def partition(records, start, stop, pivot, spare):
    """Move the records ``start … stop - 1`` with word ≤ `pivot` to the front; return the place of the first other one.

    Both parts keep their order. `records` and `spare` are `mst.kernels.primitives.radix.Records`, `pivot` is a uint64;
    `spare` must be at least as long as the range, and is overwritten.
    """
    words, ids = records
    spare_words, spare_ids = spare
    light, heavy = np.uint64(start), _ZERO
    for i in range(np.uint64(start), np.uint64(stop)):
        # Both targets are written, and only one index advances, since a branch would be mispredicted.
        word = words[i]
        words[light] = spare_words[heavy] = word
        if ids.size > 0:
            ids[light] = spare_ids[heavy] = ids[i]
        is_light = np.uint64(word <= pivot)
        light += is_light
        heavy += _ONE - is_light
    for j in range(heavy):
        words[light + j] = spare_words[j]
        if ids.size > 0:
            ids[light + j] = spare_ids[j]
    return np.int64(light)


@njit
def sampled_quantile(words, start, stop, wanted, sample):
    """Return a word, uint64, such that about `wanted` of ``words[start:stop]`` are not above it.

    `words` are uint64, of shape (m,). From each of `sample` equal parts of the range, one word is drawn at a
    pseudo-random place that depends on the range alone, so that neither sorted nor periodic input biases the choice.
    """
    m = stop - start
    count = min(sample, m)
    probes = np.empty(count, np.uint64)
    for s in range(count):
        low, high = start + m * s // count, start + m * (s + 1) // count
        probes[s] = words[low + np.int64(below(hash1(_ZERO, np.uint64(s)), np.uint64(high - low)))]
    probes.sort()
    return probes[min(count - 1, wanted * count // m)]
