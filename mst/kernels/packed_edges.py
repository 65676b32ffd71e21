"""Edges as 64-bit words that compare by the order: one type for every weight dtype.

A word is ``key << 32 | edge id`` where keys have 32 bits and ids fit as many: then words are distinct. Else it is
the key alone, ids lie in an array beside, and equal words are told apart by their ids.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.jit import njit
from mst.kernels.parallel_keys import key_of, words_of
from mst.kernels.parallel_runtime import claim, deal, grain_for, new_counters

NONE = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""Above every packed word; a key of 64 bits may be as large, and is then the only one there is to find."""

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(0xFFFF_FFFF)


def pack(weights: np.ndarray, ids: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(words, ids)`` of edges, or of the slots of a CSR.

    Parameters
    ----------
    weights : numpy.ndarray, shape (k,)
        int32, int64, float32 or float64 without NaN.
    ids : numpy.ndarray of int, shape (k,)
        Edge ids.
    width : int
        Threads to use; the caller has set them (`mst.kernels.parallel_runtime.workers`).

    Returns
    -------
    words : numpy.ndarray of uint64, shape (k,)
    ids : numpy.ndarray of int64, shape (k,) or (0,)
        Empty when the words hold the ids.
    """
    keys, kind = words_of(weights, width)
    packed = keys.dtype == np.uint32 and (len(ids) == 0 or int(ids.max()) < 2**32)
    words = np.empty(len(ids), np.uint64)
    grain = grain_for(len(ids), width, smallest=1 << 12, largest=1 << 16)
    _pack(width, grain, keys, kind, ids, packed, words, new_counters(width))
    return words, np.empty(0, np.int64) if packed else ids.astype(np.int64)


@njit(parallel=True)
def _pack(width, grain, keys, kind, ids, packed, words, counters):
    deal(counters, width)
    for worker in prange(width):
        first, last = claim(counters, worker, width, grain, keys.size)
        while first < last:
            for i in range(first, last):
                word = np.uint64(key_of(keys[i], kind))
                words[i] = (word << _HALF) | np.uint64(ids[i]) if packed else word
            first, last = claim(counters, worker, width, grain, keys.size)


@njit(inline="always")
def edge_id(words, ids, i):
    """Return the edge id of word `i`."""
    return ids[i] if ids.size else np.int64(words[i] & _LOW_HALF)


@njit(inline="always")
def lighter(words, ids, i, j):
    """Return whether word `i` comes before word `j` in the order."""
    if words[i] != words[j]:
        return words[i] < words[j]
    return ids.size > 0 and ids[i] < ids[j]
