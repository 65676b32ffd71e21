"""The passes over all edges of one core's Filter-Borůvka, by several workers: selecting, counting, scattering.

Joining is left to one of them, where few workers would wait for each other's cache lines longer than they would save;
the others scatter meanwhile. Each worker has an equal share of the edges that are selected and counted, so that codes
are those of one core, in the order of the ids unless they are few.
In the functions, `width` is the number of workers, `keys` are `LazyKeys` by edge id, and `codes`, uint64 of shape (m,),
those of `mst.kernels.filter_boruvka.sequential.select`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.sequential import scatter as one_core
from mst.kernels.filter_boruvka.sequential.join import join
from mst.kernels.filter_boruvka.sequential.sample import is_selective, level_of
from mst.kernels.filter_boruvka.sequential.select import heavy_from, light_from
from mst.kernels.filter_boruvka.sequential.select import keep_between_trees as select_between_trees
from mst.kernels.parallel.launch import run
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, sleep, store, yield_core
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call

_GRAIN, _DENSE = 1 << 13, 32
_RANGES, _FEWEST, _LARGEST, _MOST_RANGES = 16, 1024, 1 << 14, 255
_BLOCK = 1024
# Places in the state of `scatter_and_join`, 128 bytes apart: how many ranges are taken, and how many are joined; from
# the last one on, whether each is scattered. As many taken as `_FAILED` say that a worker has failed.
_TAKEN, _JOINED, _FIRST = 0, 16, 32
_FAILED = 1 << 32
_SLEEP = 50
_HALF = np.uint64(32)


@njit
def select_all(width, keys, window, codes):
    """Write the codes of all edges; `window` is a `Window`."""
    run(width, _select_all_worker, width, keys, window, codes)


@njit
def _select_all_worker(worker, width, keys, window, codes):
    """One worker of `select_all`."""
    first, last = _share(worker, width, codes.size)
    for i in range(np.uint64(first), np.uint64(last)):
        codes[i] = (level_of(key_at(keys, i), window) << _HALF) | i


@njit(inline="always")
def _share(worker, width, size):
    """Return where the share of a worker in `size` edges begins and ends."""
    return worker * size // width, (worker + 1) * size // width


@njit
def select_light(width, keys, split, window, codes):
    """Write the codes of the light edges of a `Split`; return how many."""
    counts, few = np.zeros(width, np.int64), is_selective(split, codes.size)
    run(width, _select_light_worker, width, keys, split, window, codes, counts, few)
    return counts[0] if few else _close_gaps(codes, codes.size, counts)


@njit
def _select_light_worker(worker, width, keys, split, window, codes, counts, few):
    """One worker of `select_light`."""
    own = np.empty(_GRAIN + 1, np.uint64)
    begin, end = _share(worker, width, codes.size)
    at = begin
    for first in range(begin, end, _GRAIN):
        start, stop = np.uint64(first), np.uint64(min(first + _GRAIN, end))
        count = call(light_from, start, stop, keys, split, window, few, own)
        at = call(_append, own, count, codes, at, counts, few)
    if not few:
        counts[worker] = at - begin


@njit
def _append(own, count, codes, at, counts, few):
    """Write the first `count` of a worker's codes to those of all, from `at` on; return the new end.

    If they are `few`, they are appended to those of all workers, ``counts[0]`` in number, in any order: the begin of
    each share would lie in a page of its own, and clearing one takes longer than selecting.
    """
    if few:
        at = fetch_add(counts, 0, np.int64(count))
    for i in range(np.uint64(count)):
        codes[np.uint64(at) + i] = own[i]
    return at + np.int64(count)


@njit
def _close_gaps(codes, size, counts):
    """Move the codes at the begin of each worker's share in `size`, `counts` of them, together; return how many."""
    to = counts[0]
    for worker in range(1, counts.size):
        first = _share(worker, counts.size, size)[0]
        for i in range(np.uint64(counts[worker])):
            codes[np.uint64(to) + i] = codes[np.uint64(first) + i]
        to += counts[worker]
    return to


@njit
def select_heavy(width, keys, split, ends, trees, window, codes):
    """Write the codes of the heavy edges of a `Split` that may join two of the `Trees`; return how many."""
    counts, few = np.zeros(width, np.int64), codes.size > _DENSE * trees.label.size
    run(width, _select_heavy_worker, width, keys, split, ends, trees, window, codes, counts, few)
    return counts[0] if few else _close_gaps(codes, codes.size, counts)


@njit
def _select_heavy_worker(worker, width, keys, split, ends, trees, window, codes, counts, few):
    """One worker of `select_heavy`."""
    own = np.empty(_GRAIN + 1, np.uint64)
    begin, end = _share(worker, width, codes.size)
    at = begin
    for first in range(begin, end, _GRAIN):
        start, stop = np.uint64(first), np.uint64(min(first + _GRAIN, end))
        count = call(heavy_from, start, stop, keys, split, ends, trees, window, own)
        at = call(_append, own, count, codes, at, counts, few)
    if not few:
        counts[worker] = at - begin


@njit
def keep_between_trees(width, ends, codes, size, label):
    """As of one core, by `width` workers, for `ends` that are found by edge id."""
    counts = np.empty(width, np.int64)
    run(width, _keep_between_trees_worker, width, ends, codes, size, label, counts)
    return _close_gaps(codes, size, counts)


@njit
def _keep_between_trees_worker(worker, width, ends, codes, size, label, counts):
    """One worker of `keep_between_trees`."""
    first, last = _share(worker, width, size)
    counts[worker] = call(select_between_trees, ends, codes[first:last], last - first, label)


@njit
def count_codes(width, codes, count, shift, large, counts, starts):
    """As of one core, by `width` workers; `counts`, uint32 (width, buckets), gets those of each worker's share."""
    run(width, _count_worker, width, codes, count, shift, counts)
    for worker in range(width):
        for bucket in range(starts.size):
            starts[bucket] += counts[worker, bucket]
    return one_core.counts_to_starts(starts, large)


@njit
def _count_worker(worker, width, codes, count, shift, counts):
    """One worker of `count_codes`."""
    own = counts[worker]
    own[:] = 0
    first, last = _share(worker, width, count)
    for j in range(first, last):
        own[codes[j] >> shift] += np.uint32(1)


class Ranges(NamedTuple):
    """Buckets in *ranges*, each of which is scattered and joined at a time.

    Attributes
    ----------
    of_bucket : numpy.ndarray of uint8, shape (buckets,)
    buckets : numpy.ndarray of int64, shape (ranges + 1,)
        The first bucket of each range, and the end.
    starts : numpy.ndarray of int64, shape (ranges + 1,)
        The number of codes before each range, and of all.
    places : numpy.ndarray of int64, shape (width, ranges)
        Where each worker writes the codes of its share.
    """

    of_bucket: np.ndarray
    buckets: np.ndarray
    starts: np.ndarray
    places: np.ndarray


def cut_into_ranges(count: int, counts: np.ndarray, starts: np.ndarray) -> Ranges:
    """Return the `Ranges` of `count` codes; `starts`, like `counts` from `count_codes`, become those within a range."""
    return Ranges(*_filled_ranges(count, counts, starts))


@njit
def _filled_ranges(count, counts, starts):
    """Return the fields of the result of `cut_into_ranges`."""
    width, size = counts.shape
    grain = min(max(count // _RANGES, _FEWEST), max(_LARGEST, count // (_MOST_RANGES - 1)))
    of_bucket, buckets = np.empty(size, np.uint8), np.zeros(_MOST_RANGES + 1, np.int64)
    begins, places = np.zeros(_MOST_RANGES + 1, np.int64), np.zeros((width, _MOST_RANGES), np.int64)
    ranges = 0
    for bucket in range(size):
        if np.int64(starts[bucket]) - begins[ranges] >= grain:
            ranges += 1
            buckets[ranges], begins[ranges] = bucket, starts[bucket]
        of_bucket[bucket] = np.uint8(ranges)
        starts[bucket] -= np.uint32(begins[ranges])
        for worker in range(width):
            places[worker, ranges] += counts[worker, bucket]
    ranges += 1
    buckets[ranges], begins[ranges] = size, count
    for i in range(ranges):
        at = begins[i]
        for worker in range(width):
            here = places[worker, i]
            places[worker, i] = at
            at += here
    return of_bucket, buckets[: ranges + 1], begins[: ranges + 1], places


@njit
def part(width, codes, shift, ranges, parted):
    """Write the codes to `parted`, by range and otherwise in the same order; places of `ranges` advance."""
    run(width, _part_worker, width, codes, shift, ranges, parted)


@njit
def _part_worker(worker, width, codes, shift, ranges, parted):
    """One worker of `part`."""
    of_bucket, next_place = ranges.of_bucket, ranges.places[worker]
    place = np.empty(_BLOCK, np.int64)
    first, last = _share(worker, width, codes.size)
    for block in range(first, last, _BLOCK):
        size = min(_BLOCK, last - block)
        # Places first: a store whose address waits for a load would delay the loads behind it.
        for j in range(size):
            i = of_bucket[codes[block + j] >> shift]
            place[j] = next_place[i]
            next_place[i] += 1
        for j in range(size):
            parted[place[j]] = codes[block + j]


@njit
def scatter_and_join(width, ends, codes, ranges, cut, records, keys, forest, size):
    """Join the edges of all codes to a forest of `size` edges; return its size, and batches that closed a cycle.

    The first worker joins range by range, while the others scatter the next ones. If it has to wait, it scatters
    one, too.

    Parameters
    ----------
    width : int
    ends : Ends
    codes : numpy.ndarray of uint64, shape (k,)
        By range.
    ranges : Ranges
    cut : Buckets
    records : numpy.ndarray of uint64, shape (slots, records of the largest range, 2)
        Scratch space; two slots or more.
    keys, forest, size
        As for `mst.kernels.filter_boruvka.sequential.join.join`.
    """
    state, result = np.zeros(16 * (ranges.starts.size + 1), np.int64), np.empty(2, np.int64)
    run(width, _scatter_and_join_worker, ends, codes, ranges, cut, records, keys, forest, size, state, result)
    return result[0], result[1]


@njit
def _scatter_and_join_worker(worker, ends, codes, ranges, cut, records, keys, forest, size, state, result):
    """One worker of `scatter_and_join`; if it fails, the others do not wait for it."""
    failed = False
    try:
        call(_take_part, worker, ends, codes, ranges, cut, records, keys, forest, size, state, result)
    except Exception:
        failed = True
    if failed:
        store(state, _TAKEN, _FAILED)
        raise MemoryError


@njit
def _take_part(worker, ends, codes, ranges, cut, records, keys, forest, size, state, result):
    """Scatter, or join as the first worker, until all ranges are done or a worker has failed."""
    count, slots, conflicts = ranges.starts.size - 1, records.shape[0], np.int64(0)
    if worker > 0:
        i = fetch_add(state, _TAKEN, 1)
        while i < count:
            while i >= load(state, _JOINED) + slots:
                if load(state, _TAKEN) >= _FAILED:
                    return
                # What waits to be joined lasts longer.
                sleep(_SLEEP)
            call(_scatter_range, i, ends, codes, ranges, cut, records, keys, state)
            i = fetch_add(state, _TAKEN, 1)
        return
    for i in range(count):
        waited = 0
        while load(state, _FIRST + 16 * i) == 0:
            other = load(state, _TAKEN)
            if other >= _FAILED:
                return
            if other < min(i + slots, count):
                if compare_and_swap(state, _TAKEN, other, other + 1) == other:
                    call(_scatter_range, other, ends, codes, ranges, cut, records, keys, state)
            else:
                waited += 1
                if waited > 4096 and waited & 63 == 0:
                    yield_core()
        some = records[i % slots, : ranges.starts[i + 1] - ranges.starts[i]]
        ends_of_buckets = cut.starts[ranges.buckets[i] : ranges.buckets[i + 1]]
        size, closed = call(join, some, ends_of_buckets, cut.smallest, cut.largest, keys, forest, size)
        conflicts += closed
        store(state, _JOINED, i + 1)
    result[0], result[1] = size, conflicts


@njit
def _scatter_range(i, ends, codes, ranges, cut, records, keys, state):
    """Scatter range `i` to its slot of the records, and say so."""
    first, last = ranges.starts[i], ranges.starts[i + 1]
    buckets = cut.starts[ranges.buckets[i] : ranges.buckets[i + 1]]
    some = records[i % records.shape[0], : last - first]
    call(one_core.scatter, ends, codes[first:last], last - first, cut.shift, cut.starts, some)
    if cut.uneven:
        call(one_core.sort_large_buckets, some, buckets, cut.largest, keys)
    store(state, _FIRST + 16 * i, 1)
