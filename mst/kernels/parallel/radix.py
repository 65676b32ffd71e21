"""Parallel stable least-significant-digit radix sort of (key, id) by key.

Each pass counts digits per chunk and takes the prefix sum of the counts over (digit, chunk); then every chunk writes
its own keys, so the order is the same at every width and schedule. In the kernels, `schedule` is a `Schedule` that cuts
the keys into chunks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import Schedule, new_tallies, next_chunk, reset_queue, touched_empty
from mst.kernels.primitives.jit import njit

_BITS = 11
BUCKETS = 1 << _BITS
_MASK = np.uint64(BUCKETS - 1)


class Pairs(NamedTuple):
    """Keys and their ids.

    Attributes
    ----------
    keys : numpy.ndarray of uint32 or uint64, shape (m,)
    ids : numpy.ndarray of int32 or int64, shape (m,), or None
        None stands for ``0 … m - 1``.
    """

    keys: np.ndarray
    ids: np.ndarray | None


def argsort(keys: np.ndarray, width: int, delay_seed: int = 0) -> np.ndarray:
    """Return the places of `keys` in stable ascending order of the keys.

    The places are int32, or int64 from 2³¹ keys on.

    Parameters
    ----------
    keys : numpy.ndarray of uint32 or uint64, shape (m,)
    width : int
        Threads; the caller has entered `mst.kernels.parallel.runtime.workers`.
    delay_seed : int
        As for `mst.kernels.parallel.runtime.new_tallies`.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.parallel.radix import argsort
    >>> from mst.kernels.parallel.runtime import workers
    >>> with workers(1):
    ...     argsort(np.array([7, 5, 7, 0], np.uint32), 1).tolist()
    [3, 1, 0, 2]
    """
    m = keys.size
    # One thread sums the counts of all chunks: use four chunks per thread only if that is cheap.
    chunks = max(min(max(m // (64 * BUCKETS), width), 4 * width, m // BUCKETS), 1)
    grain = max(-(-m // chunks), 1)
    chunks = -(-m // grain)
    schedule = Schedule(width, grain, new_tallies(width, delay_seed))
    counts = np.empty((chunks, BUCKETS), np.int64)
    id_dtype = np.int32 if m < 2**31 else np.int64
    source, spare = Pairs(keys, None), None
    for shift in range(0, 8 * keys.itemsize, _BITS):
        count_digits(schedule, source.keys, np.uint64(shift), counts)
        if not prefix_digits(counts, m):
            continue
        dtypes = keys.dtype, id_dtype
        target = spare or Pairs(*(touched_empty(m, dtype, width, schedule.tallies) for dtype in dtypes))
        scatter(schedule, source, np.uint64(shift), counts, target)
        source, spare = target, None if source.ids is None else source
    return np.arange(m, dtype=id_dtype) if source.ids is None else source.ids


@njit
def count_digits(schedule, keys, shift, counts):
    """Set ``counts[c, d]``, int64 of shape (chunks, digits), to how often digit `d` occurs in chunk `c` of `keys`.

    `keys` is uint32 or uint64 of shape (m,). The digit of a key is its 11 bits from bit `shift`, a uint64, on; all
    are below `digits`.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, count_digits_worker, schedule, keys, shift, counts)


@njit
def count_digits_worker(worker, schedule, keys, shift, counts):
    """One worker of `count_digits`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, keys.size)
    while first < last:
        mine = counts[first // grain]
        mine[:] = 0
        fours = last - (last - first) % 4
        for i in range(first, fours, 4):
            # A store whose address depends on a load delays the loads after it, so four digits come first.
            a, b = _digit(keys, i, shift), _digit(keys, i + 1, shift)
            c, d = _digit(keys, i + 2, shift), _digit(keys, i + 3, shift)
            mine[a] += 1
            mine[b] += 1
            mine[c] += 1
            mine[d] += 1
        for i in range(fours, last):
            mine[_digit(keys, i, shift)] += 1
        first, last = next_chunk(tallies, worker, width, grain, keys.size)


@njit(inline="always")
def _digit(keys, i, shift):
    """Return the digit of key `i`, as a uint64; `keys` and `shift` are as for `count_digits`."""
    return (np.uint64(keys[i]) >> shift) & _MASK


@njit
def prefix_digits(counts, m):
    """Replace counts by the places where the keys of each chunk and digit begin, in order of (digit, chunk).

    `counts` is from `count_digits`. Returns False if all `m` keys share one digit, so that no pass is needed;
    `counts` is then invalid.
    """
    place = 0
    for d in range(counts.shape[1]):
        begin = place
        for c in range(counts.shape[0]):
            counts[c, d], place = place, place + counts[c, d]
        if place - begin == m:
            return False
    return True


@njit
def scatter(schedule, source, shift, places, target):
    """Write every key and its id to the next place of its digit.

    Parameters
    ----------
    schedule : Schedule
        With the grain of `count_digits`.
    source : Pairs
    shift : numpy.uint64
    places : numpy.ndarray of int64, shape (chunks, 2048)
        From `prefix_digits`; overwritten.
    target : Pairs
        Of the same length, with ids; overwritten. Its arrays share no memory with those of `source`.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, scatter_worker, schedule, source, shift, places, target)


@njit
def _id_at(ids, i):
    """Return id `i` of the ids of a `Pairs`, or `i` itself if they are None."""
    if ids is None:
        return i
    return ids[i]


@njit
def scatter_worker(worker, schedule, source, shift, places, target):
    """One worker of `scatter`."""
    width, grain, tallies = schedule
    keys, ids = source
    out_keys, out_ids = target
    first, last = next_chunk(tallies, worker, width, grain, keys.size)
    while first < last:
        mine = places[first // grain]
        for i in range(first, last):
            key = keys[i]
            d = (np.uint64(key) >> shift) & _MASK
            at = mine[d]
            mine[d] = at + 1
            out_keys[at] = key
            out_ids[at] = _id_at(ids, i)
        first, last = next_chunk(tallies, worker, width, grain, keys.size)
