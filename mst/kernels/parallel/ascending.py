"""Sorts distinct edge ids in parallel: ids are spread over ranges that fit in cache, then sorted by bitmaps.

In the kernels, `ids` and `spread` are uint32 or uint64, and `out` is int64, all of shape (k,). The range of an id is
``id >> shift``; `shift` is a uint64. `schedule` is a `Schedule`, which cuts the ids into chunks.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.radix import count_digits
from mst.kernels.parallel.runtime import Schedule, new_tallies, next_chunk, reset_queue, touched_empty
from mst.kernels.primitives.ascending import write_ascending
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call

_FEW, _LARGE = 7, 17
"""Binary logarithms: how many ranges are written fastest, and how many ids have a bitmap that fits the L1 cache."""


def ascending(ids: np.ndarray, m: int, width: int, delay_seed: int = 0) -> tuple[np.ndarray, int]:
    """Return distinct ids in ascending order, and how many of them differ.

    Parameters
    ----------
    ids : numpy.ndarray of uint32 or uint64, shape (k,)
        Below `m`.
    m : int
    width : int
        Threads; the caller has entered `mst.kernels.parallel.runtime.workers`.
    delay_seed : int
        As for `mst.kernels.parallel.runtime.new_tallies`.

    Returns
    -------
    ids : numpy.ndarray of int64, shape (k,)
        Valid only if all differ.
    different : int

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.parallel.ascending import ascending
    >>> from mst.kernels.parallel.runtime import workers
    >>> with workers(1):
    ...     ascending(np.array([70, 3, 64], np.uint32), 100, 1)
    (array([ 3, 64, 70]), 3)
    """
    tallies = new_tallies(width, delay_seed)
    # A range has a power of two of ids, at least the 64 of a word of a bitmap.
    bits = (max(m, 1) - 1).bit_length()
    shift = max(6, min(bits - _FEW, _LARGE), bits - 11)
    ranges = ((max(m, 1) - 1) >> shift) + 1
    grain = max(1, -(-len(ids) // (4 * width)))
    counts = np.empty((-(-len(ids) // grain), ranges), np.int64)
    schedule = Schedule(width, grain, tallies)
    count_digits(schedule, ids, np.uint64(shift), counts)
    # Places in the order of (range, chunk).
    by_range = counts.T.reshape(-1)
    places = np.ascontiguousarray((np.cumsum(by_range) - by_range).reshape(ranges, -1).T)
    bounds = np.append(places[0], len(ids)) if len(ids) else np.zeros(ranges + 1, np.int64)
    spread = touched_empty(len(ids), ids.dtype, width, tallies)
    _spread(schedule, ids, np.uint64(shift), places, spread)
    out, different = touched_empty(len(ids), np.int64, width, tallies), np.empty(ranges, np.int64)
    _write(
        Schedule(width, max(1, ranges // (16 * width)), tallies),
        spread,
        np.uint64(shift),
        bounds,
        out,
        different,
    )
    return out, int(different.sum())


@njit
def _spread(schedule, ids, shift, places, spread):
    """Write each id to the next place of its range in `spread`; `places`, int64 (chunks, ranges), is overwritten."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _spread_worker, schedule, ids, shift, places, spread)


@njit
def _spread_worker(worker, schedule, ids, shift, places, spread):
    """One worker of `_spread`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, ids.size)
    while first < last:
        mine = places[first // grain]
        fours = last - (last - first) % 4
        for i in range(first, fours, 4):
            # A store whose address depends on a load delays the loads after it, so four ranges and places come first.
            a, b = np.uint64(ids[i]) >> shift, np.uint64(ids[i + 1]) >> shift
            c, d = np.uint64(ids[i + 2]) >> shift, np.uint64(ids[i + 3]) >> shift
            to_a = mine[a]
            mine[a] += 1
            to_b = mine[b]
            mine[b] += 1
            to_c = mine[c]
            mine[c] += 1
            to_d = mine[d]
            mine[d] += 1
            spread[to_a], spread[to_b], spread[to_c], spread[to_d] = ids[i], ids[i + 1], ids[i + 2], ids[i + 3]
        for i in range(fours, last):
            r = np.uint64(ids[i]) >> shift
            spread[mine[r]] = ids[i]
            mine[r] += 1
        first, last = next_chunk(tallies, worker, width, grain, ids.size)


@njit
def _write(schedule, spread, shift, bounds, out, different):
    """Write the ids of each range to `out`, ascending, and the number of different ids to `different`.

    `spread` is from `_spread`; `bounds`, int64 (ranges + 1,), holds the first place of each range and the end of the
    last; `different` is int64 of shape (ranges,). A chunk is `grain` ranges.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _write_worker, schedule, spread, shift, bounds, out, different)


@njit
def _write_worker(worker, schedule, spread, shift, bounds, out, different):
    """One worker of `_write`."""
    width, grain, tallies = schedule
    words = np.zeros(np.int64(1) << (np.int64(shift) - 6), np.uint64)
    first, last = next_chunk(tallies, worker, width, grain, different.size)
    while first < last:
        for r in range(first, last):
            start, stop = bounds[r], bounds[r + 1]
            different[r] = 0
            if start < stop:
                base = np.uint64(r) << shift
                different[r] = call(write_ascending, spread[start:stop], words, base, out[start:stop])
        first, last = next_chunk(tallies, worker, width, grain, different.size)
