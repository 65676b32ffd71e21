"""Kruskal over rows already sorted by weight: one worker joins edges while the others drop those that close cycles.

`mst.algorithms._filter_boruvka.in_order` calls this. The rows are cut into *ranges*, and each worker takes the next
range in the order of weight. Of the edges of the range, the worker keeps those between different trees, with their
roots; of edges between the same two roots, it keeps the lightest. The trees are those of the earlier ranges joined so
far, so an edge that is dropped closes a cycle with lighter edges. The edges kept are joined in order, range by range.
Any worker may join, one at a time: a worker that finds that the next range has been filtered and that no other worker
is joining.

In the functions, `keys` are `LazyKeys`, `u` and `v` uint32 of shape (m,), `parent` is a union-find, uint32 of shape
(n,), and `ranges` a `Ranges`. `step` is 1 if rows ascend and -1 if they descend; descending rows are taken backwards,
but runs of equal keys forwards. A spanning tree has `missing` edges, an int. Only the worker that is joining links
roots and writes to `forest` and ``tallies[FOREST]``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.sequential.in_order import count_less
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import FOREST, LIVE, inject_delay, next_chunk, reset_queue
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store, yield_core
from mst.kernels.primitives.hashing import multiplicative_hash
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.union_find.concurrent import find

_AHEAD, _ZERO, _ONE = 24, np.uint64(0), np.uint64(1)
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_PAIRS = 1024
_NEXT, _JOINED, _HELD = 0, 16, 32
"""Places in `Ranges.state`, 128 bytes apart."""


class Ranges(NamedTuple):
    """Ranges of rows, and the edges kept in those ranges that have been filtered but not yet joined.

    Attributes
    ----------
    starts, sizes : numpy.ndarray of int64, shape (ranges,)
        The first row of each range, in the order of weight, and how many it has.
    counts : numpy.ndarray of int64, shape (ranges,)
        The number of edges kept; -1 until the range has been filtered.
    rows : numpy.ndarray of uint32, shape (slots, grain)
        The rows that were kept, those of range i in slot ``i % slots``.
    roots : numpy.ndarray of uint64, shape (slots, grain)
        The two roots of each of these rows, 32 bits each.
    state : numpy.ndarray of int64, shape (48,)
        The number of ranges taken, the number joined, and whether a worker is joining, at `_NEXT`, `_JOINED`, `_HELD`.
    """

    starts: np.ndarray
    sizes: np.ndarray
    counts: np.ndarray
    rows: np.ndarray
    roots: np.ndarray
    state: np.ndarray


@njit
def are_in_order(schedule, keys, step):
    """Return whether no key is less than the previous one if `step` is 1, or greater if it is -1.

    `schedule` is a `mst.kernels.parallel.runtime.Schedule`.
    """
    schedule.tallies[LIVE] = 0
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _check_worker, schedule, keys, step)
    return schedule.tallies[LIVE] == 0


@njit
def _check_worker(worker, schedule, keys, step):
    """One worker of `are_in_order`."""
    width, grain, tallies = schedule
    a = _ONE if step < 0 else _ZERO
    first, last = next_chunk(tallies, worker, width, grain, keys.words.size)
    while first < last and load(tallies, LIVE) == 0:
        if call(count_less, keys, np.uint64(max(first, 1)), np.uint64(last), a, _ONE - a):
            fetch_add(tallies, LIVE, 1)
        first, last = next_chunk(tallies, worker, width, grain, keys.words.size)


def new_ranges(starts: np.ndarray, sizes: np.ndarray, grain: int, slots: int) -> Ranges:
    """Return ranges of at most `grain` rows, of which up to `slots` are filtered before the first of them is joined."""
    kept = slots, grain
    counts = np.full(len(starts), -1, np.int64)
    return Ranges(
        starts, sizes, counts, np.empty(kept, np.uint32), np.empty(kept, np.uint64), np.zeros(48, np.int64)
    )


@njit
def cut_into_ranges(keys, step, grain):
    """Return `Ranges.starts` and `Ranges.sizes` for rows in the order of `step`: at most `grain` in each range.

    If keys descend, a range ends between two different keys, unless it is part of a run of equal keys.
    """
    m = keys.words.size
    starts, sizes, count = np.empty(4 * (m // grain) + 4, np.int64), np.empty(4 * (m // grain) + 4, np.int64), 0
    if step > 0:
        for start in range(0, m, grain):
            starts[count], sizes[count] = start, min(grain, m - start)
            count += 1
        return starts[:count], sizes[:count]
    stop = np.int64(m)
    while stop > 0:
        start = max(stop - grain, 0)
        key = key_at(keys, start)
        if start > 0 and key_at(keys, start - 1) == key:
            end = call(_first_from, keys, step, key, True, start, stop)
            # Either the run ends within these rows, or it is longer than they are.
            start = end if end < stop else call(_first_from, keys, step, key, False, np.int64(0), start)
        for first in range(start, stop, grain):
            starts[count], sizes[count] = first, min(grain, stop - first)
            count += 1
        stop = start
    return starts[:count], sizes[:count]


@njit
def _first_from(keys, step, key, beyond, first, last):
    """Return the first of the rows ``first … last - 1`` whose key is not before `key`, by `step`; `last` if none is.

    If `beyond`, rows with `key` itself are skipped.
    """
    while first < last:
        middle = (first + last) // 2
        at = key_at(keys, middle)
        if (at < key if step > 0 else at > key) or (beyond and at == key):
            first = middle + 1
        else:
            last = middle
    return first


@njit
def rows_between(keys, step, low, low_id, high, high_id):
    """Return the first row, and the end, of rows sorted in the order of `step` that lie within these bounds.

    The rows are above (`low`, `low_id`) and at most (`high`, `high_id`); if keys descend, further rows with the keys
    `low` and `high` are included. Ids are rows.
    """
    m = np.int64(keys.words.size)
    if step < 0:
        return _first_from(keys, step, high, False, 0, m), _first_from(keys, step, low, True, 0, m)
    first = max(
        _first_from(keys, step, low, False, 0, m), min(low_id + 1, _first_from(keys, step, low, True, 0, m))
    )
    stop = max(
        _first_from(keys, step, high, False, 0, m), min(high_id + 1, _first_from(keys, step, high, True, 0, m))
    )
    return first, max(first, stop)


@njit
def join_in_order(width, ranges, keys, u, v, step, parent, forest, missing, tallies):
    """Add each edge that joins two trees, in the order of (key, row), until `missing` are found.

    Parameters
    ----------
    width : int
        Workers.
    ranges : Ranges
        From `new_ranges`.
    keys, u, v
        Keys and ends of all edges.
    step : int
    parent
        Every vertex is a separate tree before.
    forest : numpy.ndarray of int32, shape (n - 1,)
        Edge ids, written from the front; ``tallies[FOREST]`` is their number.
    missing : int
        Number of edges in a spanning tree.
    tallies : numpy.ndarray of int64
        From `mst.kernels.parallel.runtime.new_tallies`.
    """
    run(width, _worker, ranges, keys, u, v, step, parent, forest, missing, tallies)


@njit
def _worker(worker, ranges, keys, u, v, step, parent, forest, missing, tallies):
    """One worker of `join_in_order`."""
    starts, sizes, counts, rows, roots, state = ranges
    size, slots = counts.size, len(rows)
    pairs = np.zeros(_PAIRS, np.uint64)
    i = fetch_add(state, _NEXT, 1)
    while i < size:
        while i - load(state, _JOINED) >= slots:
            if not call(_join_filtered, ranges, step, parent, forest, missing, tallies):
                yield_core()
        if load(state, _JOINED) == size:
            return
        inject_delay(tallies, i)
        first, count = np.uint64(starts[i]), np.uint64(sizes[i])
        own_rows, own_roots = rows[i % slots], roots[i % slots]
        kept = call(_filter, first, count, keys, u, v, step, parent, pairs, own_rows, own_roots)
        store(counts, i, kept)
        call(_join_filtered, ranges, step, parent, forest, missing, tallies)
        i = fetch_add(state, _NEXT, 1)


@njit
def _filter(first, size, keys, u, v, step, parent, pairs, rows, roots):
    """Keep those of `size` rows from `first` on that may join two trees, with their roots; return how many.

    `first` and `size` are uint64; the rows kept and their roots are written to `rows` and `roots`, the slot of a range.
    `pairs`, uint64 (1024,), holds the latest pairs of roots by hash.
    """
    # Unpacked once, and all in one function: passing arrays to a function takes longer than processing an edge.
    words = keys.words
    # Words of equal keys are equal, unless they are zeros of different sign; comparing keys would take a tenth longer.
    minus_zero = keys.top if keys.rest != 0 else keys.rest
    kept, ahead = _ZERO, np.uint64(step * _AHEAD)
    # The rows from `start` to `stop` are taken forwards: all of them, or a run of equal keys.
    e = start = stop = first + size
    for _ in range(size):
        if e == stop:
            stop, start = start, first
            if step < 0:
                start = stop - _ONE
                while start > first and (
                    (words[start - _ONE] == words[start]) | ((words[start - _ONE] | words[start]) == minus_zero)
                ):
                    start -= _ONE
            e = start
        far = e + ahead
        far = far if far - first < size else e
        prefetch(parent, u[far])
        prefetch(parent, v[far])
        x, y = find(parent, u[e]), find(parent, v[e])
        if x != y:
            pair = (np.uint64(max(x, y)) << _HALF) | np.uint64(min(x, y))
            place = multiplicative_hash(pair) >> np.uint64(40) & np.uint64(_PAIRS - 1)
            rows[kept], roots[kept] = e, pair
            kept += np.uint64(pairs[place] != pair)
            pairs[place] = pair
        e += _ONE
    return np.int64(kept)


@njit
def _join_filtered(ranges, step, parent, forest, missing, tallies):
    """Join the next ranges that have been filtered, unless another worker is joining; return whether any was joined."""
    _, _, counts, rows, roots, state = ranges
    size, slots, any_joined = counts.size, len(rows), False
    i = load(state, _JOINED)
    while i < size and load(counts, i) >= 0 and compare_and_swap(state, _HELD, 0, 1) == 0:
        i, found = load(state, _JOINED), tallies[FOREST]
        while i < size and load(counts, i) >= 0:
            found = call(
                _join, rows[i % slots], roots[i % slots], counts[i], step, parent, forest, found, missing
            )
            i, any_joined = i + 1, True
            if found == missing:
                i = size
                store(state, _NEXT, size)
            store(state, _JOINED, i)
        tallies[FOREST] = found
        # Not a plain store: counts must be read after this, so that no range filtered in the meantime is left behind.
        compare_and_swap(state, _HELD, 1, 0)
        i = load(state, _JOINED)
    return any_joined


@njit
def _join(rows, roots, count, step, parent, forest, found, missing):
    """Add the first `count` edges of a slot that join two trees to a forest of `found` edges; return its new size.

    `rows` and `roots` are the slot; `step`, `parent`, `forest` and `missing` are as for `join_in_order`.
    """
    for i in range(np.uint64(count)):
        far = roots[min(i + np.uint64(_AHEAD), np.uint64(count) - _ONE)]
        # The other end is often the root of the largest tree, which all workers read.
        prefetch_to_write(parent, far >> _HALF if step > 0 else far & _LOW)
        prefetch(parent, far & _LOW if step > 0 else far >> _HALF)
        pair = roots[i]
        x, y = find(parent, np.uint32(pair >> _HALF)), find(parent, np.uint32(pair & _LOW))
        if x != y:
            if step > 0:
                store(parent, max(x, y), min(x, y))
            else:
                # Ends of later rows mostly have larger ids: linked from that side, the growing tree keeps its root.
                store(parent, min(x, y), max(x, y))
            forest[found] = np.int32(rows[i])
            found += 1
            if found == missing:
                break
    return found
