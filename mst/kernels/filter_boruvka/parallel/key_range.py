"""Marks the edges of an edge list that lie in a range of (key, id), in a bitmap by edge id."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.keys import key_of
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.bitmap import count_ones
from mst.kernels.primitives.jit import njit

_GATHER_BITS = np.uint64(0x0102040810204080)


class KeyRange(NamedTuple):
    """The edges above (`low`, `low_id`) and at most (`high`, `high_id`) by (key, id).

    `low` and `high` are unsigned integers of the keys' width. The bounds' ids are int: a negative id is before all
    edges of that key, one above all ids is after them.
    """

    low: np.unsignedinteger
    low_id: int
    high: np.unsignedinteger
    high_id: int


@njit
def mask_of_keys(words, kind, base, size, lowest, highest, flags):
    """Return a uint64 whose bit `j` < `size` says whether the key of edge ``base + j`` is in `lowest` … `highest`.

    `words` and `kind` are as for `mark_chunk`; `lowest` and `highest` have the dtype of `words`. `flags`, uint8 (64,),
    is scratch: comparisons that write bytes are vectorised, and gathering these into bits is cheap.
    """
    if highest < lowest:
        return np.uint64(0)
    unsigned = words.dtype.type
    span = unsigned(highest - lowest)
    for j in range(size):
        flags[j] = unsigned(key_of(words[base + j], kind) - lowest) <= span
    flags[size:] = 0
    eights = flags.view(np.uint64)
    bits = np.uint64(0)
    for i in range(8):
        bits |= ((eights[i] * _GATHER_BITS) >> np.uint64(56)) << np.uint64(8 * i)
    return bits


@njit
def mask_of_ids(last_id, base):
    """Return a uint64 whose bit `j` says whether ``base + j <= last_id``."""
    if last_id < base:
        return np.uint64(0)
    return ~np.uint64(0) >> np.uint64(max(63 - (last_id - base), 0))


@njit
def mark_chunk(first, last, words, kind, key_range, mask, flags):
    """Set the bits of those edges ``first … last - 1`` that are in a range, clear the others; return how many are set.

    Parameters
    ----------
    first, last : int
        Edge ids; `first` is a multiple of 64.
    words : numpy.ndarray of uint32 or uint64, shape (m,)
    kind : int
        The kind of the words (`mst.kernels.parallel.keys`).
    key_range : KeyRange
    mask : numpy.ndarray of uint64, shape (⌈m / 64⌉,)
        Its words for these edges are overwritten.
    flags : numpy.ndarray of uint8, shape (64,)
        Scratch space.
    """
    low, low_id, high, high_id = key_range
    one = words.dtype.type(1)
    total = 0
    for base in range(first, last, 64):
        size = min(64, last - base)
        end = base + size - 1
        low_tied, high_tied = low_id < end, high_id >= base
        lowest = low if low_tied else words.dtype.type(low + one)
        highest = high if high_tied else words.dtype.type(high - one)
        bits = np.uint64(0)
        if (low_tied or lowest) and (high_tied or high):  # neither bound wrapped around
            bits = mask_of_keys(words, kind, base, size, lowest, highest, flags)
        if low_tied and low_id >= base:
            bits &= ~(mask_of_keys(words, kind, base, size, low, low, flags) & mask_of_ids(low_id, base))
        if high_tied and high_id < end:
            bits &= ~(mask_of_keys(words, kind, base, size, high, high, flags) & ~mask_of_ids(high_id, base))
        mask[base >> 6] = bits
        total += count_ones(bits)
    return total


@njit
def mark(schedule, words, kind, key_range, mask, counts):
    """Set the bits of all edges in a range in `mask`, and clear the others, by all workers.

    `words`, `kind`, `key_range` and `mask` are as for `mark_chunk`. `schedule` is a
    `mst.kernels.parallel.runtime.Schedule` whose grain is a multiple of 64; `counts`, int64 of shape (chunks,), is
    overwritten with the number of marked edges per chunk.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _mark_worker, schedule, words, kind, key_range, mask, counts)


@njit
def _mark_worker(worker, schedule, words, kind, key_range, mask, counts):
    """One worker of `mark`."""
    width, grain, tallies = schedule
    flags = np.empty(64, np.uint8)
    first, last = next_chunk(tallies, worker, width, grain, words.size)
    while first < last:
        counts[first // grain] = mark_chunk(first, last, words, kind, key_range, mask, flags)
        first, last = next_chunk(tallies, worker, width, grain, words.size)
