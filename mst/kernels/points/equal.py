"""Finds points with the same coordinates, of which only the first enters the k-d tree."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.radix import BUCKETS, Pairs, count_digits_worker, prefix_digits, scatter_worker
from mst.kernels.parallel.runtime import LIVE, Schedule, next_chunk, reset_queue, touched_empty
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.hashing import hash1
from mst.kernels.primitives.jit import njit

_GRAIN = 1 << 12
_BITS = np.uint64(64 - (BUCKETS - 1).bit_length())
"""Bits of a hash below those that number its bucket."""


def equal_points(given: np.ndarray, schedule: Schedule) -> tuple[np.ndarray, np.ndarray, int]:
    """Return a copy of the points, the first point with the coordinates of each, and how many are not the first.

    Parameters
    ----------
    given : numpy.ndarray of float64, shape (n, dimensions)
        Without NaN; read-only.
    schedule : mst.kernels.parallel.runtime.Schedule

    Returns
    -------
    coordinates : numpy.ndarray of float64, shape (n, dimensions)
        Negative zeros become positive ones.
    first : numpy.ndarray of int32, shape (n,)
        The first point with the coordinates of each; for that point itself, minus the number of such points.
    others : int
        Number of points that are not the first.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.parallel.runtime import Schedule, new_tallies
    >>> from mst.kernels.points.equal import equal_points
    >>> given = np.array([[1.0], [2.0], [1.0]])
    >>> given.setflags(write=False)
    >>> _, first, others = equal_points(given, Schedule(1, 1, new_tallies(1)))
    >>> first.tolist(), others
    ([-2, -1, 0], 1)
    """
    n = len(given)
    width, _, tallies = schedule
    pieces = max(min(width, n // _GRAIN), 1)
    schedule = schedule._replace(grain=-(-n // pieces))
    first, hashes = touched_empty(n, np.int32, width, tallies), touched_empty(n, np.uint64, width, tallies)
    coordinates = touched_empty(given.shape, np.float64, width, tallies)
    hashed = Pairs(touched_empty(n, np.uint64, width, tallies), touched_empty(n, np.int32, width, tallies))
    counts, starts = np.empty((pieces, BUCKETS), np.int64), np.empty(BUCKETS + 1, np.int64)
    others = _find(schedule, given, coordinates, Pairs(hashes, None), first, counts, starts, hashed)
    return coordinates, first, others


@njit
def _find(schedule, given, coordinates, hashes, first, counts, starts, hashed):
    """Write the arrays that `equal_points` returns; return how many points are not the first at their coordinates.

    `given` is as for `equal_points`. `hashes`, `Pairs` without ids, is overwritten by the hashes of the points, and
    `hashed`, `Pairs`, by the same hashes sorted by their first bits. `counts`, int64 (pieces, BUCKETS), and `starts`,
    int64 (BUCKETS + 1,), are scratch space; a piece is a chunk of `schedule`.
    """
    width, _, tallies = schedule
    n = first.size
    reset_queue(tallies, width)
    run(width, _hash_worker, schedule, given, coordinates, hashes.keys, first)
    reset_queue(tallies, width)
    run(width, count_digits_worker, schedule, hashes.keys, _BITS, counts)
    # One worker compares the points of a bucket, which are few enough for their table to stay in cache.
    several = prefix_digits(counts, n)
    for b in range(BUCKETS):
        starts[b] = counts[0, b] if several else min(b, 1) * n
    starts[BUCKETS] = n
    if several:
        reset_queue(tallies, width)
        run(width, scatter_worker, schedule, hashes, _BITS, counts, hashed)
    else:
        for i in range(n):
            hashed.keys[i], hashed.ids[i] = hashes.keys[i], i
    tallies[LIVE] = 0
    reset_queue(tallies, width)
    run(width, _compare_worker, Schedule(width, 8, tallies), coordinates, hashed, starts, first)
    return tallies[LIVE]


@njit
def _hash_worker(worker, schedule, given, coordinates, hashes, first):
    """One worker of the first step of `_find`."""
    width, grain, tallies = schedule
    start, stop = next_chunk(tallies, worker, width, grain, hashes.size)
    while start < stop:
        for i in range(start, stop):
            x = np.uint64(0)
            for k in range(coordinates.shape[1]):
                # Zeros lose their sign: equal points then have equal bits.
                coordinates[i, k] = given[i, k] + 0.0
                x = hash1(x, np.float64(coordinates[i, k]).view(np.uint64))
            hashes[i], first[i] = x, -1
        start, stop = next_chunk(tallies, worker, width, grain, hashes.size)


@njit
def _compare_worker(worker, schedule, coordinates, hashed, starts, first):
    """One worker of the last step of `_find`: it writes `first`, which is -1 before.

    `hashed`, `Pairs` of hashes and points, has bucket `b` from ``starts[b]`` on, in ascending order of points.
    """
    width, grain, tallies = schedule
    hashes, points = hashed
    others = 0
    b, last = next_chunk(tallies, worker, width, grain, starts.size - 1)
    while b < last:
        size = 2
        for bucket in range(b, last):
            while size < 2 * (starts[bucket + 1] - starts[bucket]):
                size *= 2
        table = np.empty(size, np.int64)
        for bucket in range(b, last):
            table[:] = -1
            for i in range(starts[bucket], starts[bucket + 1]):
                at = np.int64(hashes[i] & np.uint64(size - 1))
                while table[at] >= 0:
                    known = table[at]
                    if hashes[known] == hashes[i] and _equal(coordinates, points[known], points[i]):
                        first[points[i]] = points[known]
                        first[points[known]] -= 1
                        others += 1
                        break
                    at = (at + 1) & (size - 1)
                else:
                    table[at] = i
        b, last = next_chunk(tallies, worker, width, grain, starts.size - 1)
    fetch_add(tallies, LIVE, others)


@njit
def _equal(coordinates, a, b):
    """Return whether rows `a` and `b` of the coordinates are equal."""
    for k in range(coordinates.shape[1]):
        if coordinates[a, k] != coordinates[b, k]:
            return False
    return True


def without_equal(
    coordinates: np.ndarray, first: np.ndarray, others: int, schedule: Schedule
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the points that are the first with their coordinates, and the others.

    Parameters
    ----------
    coordinates : numpy.ndarray of float64, shape (n, dimensions)
    first : numpy.ndarray of int32, shape (n,)
    others : int
        Both from `equal_points`.
    schedule : mst.kernels.parallel.runtime.Schedule

    Returns
    -------
    coordinates : numpy.ndarray of float64, shape (n - others, dimensions)
    ids : numpy.ndarray of int32, shape (n - others,)
        The first points, ascending.
    counts : numpy.ndarray of int32, shape (n - others,)
        How many points have the coordinates of each.
    pairs : numpy.ndarray of int32, shape (2, others)
        For each of the others, the first point with its coordinates, and the point itself.
    """
    n, (width, _, tallies) = len(first), schedule
    schedule = schedule._replace(grain=_GRAIN)
    kept = touched_empty((n - others, coordinates.shape[1]), np.float64, width, tallies)
    ids, counts = (touched_empty(n - others, np.int32, width, tallies) for _ in range(2))
    pairs = np.empty((2, others), np.int32)
    starts = np.zeros(-(-n // _GRAIN) + 1, np.int64)
    _count_firsts(schedule, first, starts)
    np.cumsum(starts, out=starts)
    _write_firsts(schedule, coordinates, first, starts, kept, ids, counts, pairs)
    return kept, ids, counts, pairs


@njit
def _count_firsts(schedule, first, starts):
    """Write how many points of each chunk are the first with their coordinates to ``starts[1:]``, int64 (chunks,).

    `first` is from `equal_points`.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _count_worker, schedule, first, starts)


@njit
def _count_worker(worker, schedule, first, starts):
    """One worker of `_count_firsts`."""
    width, grain, tallies = schedule
    start, stop = next_chunk(tallies, worker, width, grain, first.size)
    while start < stop:
        size = 0
        for i in range(start, stop):
            size += first[i] < 0
        starts[start // grain + 1] = size
        start, stop = next_chunk(tallies, worker, width, grain, first.size)


@njit
def _write_firsts(schedule, coordinates, first, starts, kept, ids, counts, pairs):
    """Write the arrays that `without_equal` returns; `kept` holds the coordinates.

    `starts`, int64 (chunks + 1,), has the number of first points before each chunk; `coordinates` and `first` are as
    for `without_equal`.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _write_worker, schedule, coordinates, first, starts, kept, ids, counts, pairs)


@njit
def _write_worker(worker, schedule, coordinates, first, starts, kept, ids, counts, pairs):
    """One worker of `_write_firsts`."""
    width, grain, tallies = schedule
    start, stop = next_chunk(tallies, worker, width, grain, first.size)
    while start < stop:
        place = starts[start // grain]
        other = start - place
        for i in range(start, stop):
            if first[i] < 0:
                ids[place], counts[place] = i, -first[i]
                for k in range(coordinates.shape[1]):
                    kept[place, k] = coordinates[i, k]
                place += 1
            else:
                pairs[0, other], pairs[1, other] = first[i], i
                other += 1
        start, stop = next_chunk(tallies, worker, width, grain, first.size)
