"""Parallel compaction: count what is kept per chunk, prefix the counts, write each chunk at its place.

The result keeps the order of the input at every width and schedule. What is kept is a bit mask, 64 elements a
word, so that the second pass tests nothing again.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.bitmap import count_ones, write_positions_of_ones
from mst.kernels.primitives.jit import njit


def starts(counts: np.ndarray) -> np.ndarray:
    """Return the exclusive prefix sum of chunk counts: where each chunk's output begins."""
    first = np.zeros(len(counts), np.int64)
    np.cumsum(counts[:-1], out=first[1:])
    return first


def compact(mask: np.ndarray, width: int, grain: int, counters: np.ndarray, dtype=np.int64) -> np.ndarray:
    """Return the ascending positions of the set bits of `mask`.

    Parameters
    ----------
    mask : numpy.ndarray of uint64
        Bit `i` of word `j` stands for element ``64 * j + i``.
    grain : int
        Words of one chunk.
    """
    counts = np.empty(-(-len(mask) // grain), np.int64)
    count_bits(width, grain, mask, counts, counters)
    first = starts(counts)
    out = np.empty(int(counts.sum()), dtype)
    write_positions(width, grain, mask, first, out, counters)
    return out


@njit(parallel=True)
def count_bits(width, grain, mask, counts, counters):
    """Set ``counts[c]`` to the number of set bits in chunk `c` of `mask`."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, mask.size)
        while first < last:
            total = 0
            for j in range(first, last):
                total += count_ones(mask[j])
            counts[first // grain] = total
            first, last = next_chunk(counters, worker, width, grain, mask.size)


@njit(parallel=True)
def write_positions(width, grain, mask, starts, out, counters):
    """Write the positions of chunk `c`'s set bits from ``out[starts[c]]`` on."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, mask.size)
        while first < last:
            at = starts[first // grain]
            for j in range(first, last):
                at = write_positions_of_ones(mask[j], 64 * j, out, at)
            first, last = next_chunk(counters, worker, width, grain, mask.size)
