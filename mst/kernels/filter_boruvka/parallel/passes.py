"""The passes over all edges of one core's Filter-Borůvka, by several workers: selecting, counting, scattering, joining.

`mst.algorithms.threads._passes` calls these. If a few workers joined the same trees, waiting for each other's cache
lines would cost more than they save. So edges are joined in *stages*, each of which is a range of vertices and has one
worker, the uppermost range first (`mst.kernels.filter_boruvka.parallel.pass_on`). Only records move between cores, in
order, and parents do not.

In the functions, `width` is the number of workers, `keys` are `LazyKeys` by edge id, and `codes`, uint64 of shape (m,),
are those of `mst.kernels.filter_boruvka.sequential.select`, in order of id unless they are few. The types of `split`,
`window`, `ends` and `trees` are `Split`, `Window`, `Ends` and `Trees` of the modules for one core. `counts`, where not
described, is int64 of shape (width,): the number of codes that each worker has written.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.parallel.pass_on import pass_on
from mst.kernels.filter_boruvka.sequential import scatter as one_core
from mst.kernels.filter_boruvka.sequential.join import batch_ends, join_batches
from mst.kernels.filter_boruvka.sequential.sample import is_selective, level_of, stratified
from mst.kernels.filter_boruvka.sequential.select import Ends, heavy_from, light_from
from mst.kernels.filter_boruvka.sequential.select import keep_between_trees as select_between_trees
from mst.kernels.parallel.launch import run
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store, yield_core
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call

_GRAIN, _DENSE = 1 << 13, 32
_RANGES, _SMALLEST, _LARGEST = 64, 1 << 10, 1 << 13
# The share of edges with both ends below the vertices of a stage.
_BELOW = 0.6
# Places in the state of `join`, 128 bytes apart: whether a worker has failed; for each stage, twice the number of
# ranges it has joined, plus one while it joins another; and then its edges and its batches that closed a cycle.
_FAILED, _STAGES, _SIZE, _CONFLICTS = 0, 16, 16, 17
_PATIENCE = 4096
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


@njit
def select_all(width, keys, window, codes):
    """Write the codes of all edges."""
    run(width, _select_all_worker, width, keys, window, codes)


@njit
def _select_all_worker(worker, width, keys, window, codes):
    """One worker of `select_all`."""
    first, last = _share(worker, width, codes.size)
    for i in range(np.uint64(first), np.uint64(last)):
        codes[i] = (level_of(key_at(keys, i), window) << _HALF) | i


@njit(inline="always")
def _share(worker, width, size):
    """Return the start and the end of the share of `worker`, of `width`, of `size` edges."""
    return worker * size // width, (worker + 1) * size // width


@njit
def select_light(width, keys, split, window, codes):
    """Write the codes of the light edges; return how many."""
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
    """Append the first `count`, a uint64, of a worker's codes `own` to `codes`, from `at`, an int64, on.

    Returns the new end. If the codes are `few`, `at` is ignored, and they follow the ``counts[0]`` codes of all
    workers, in any order. Otherwise, each share would begin in a separate page, and clearing a page takes longer than
    selecting.
    """
    if few:
        at = fetch_add(counts, 0, np.int64(count))
    for i in range(np.uint64(count)):
        codes[np.uint64(at) + i] = own[i]
    return at + np.int64(count)


@njit
def _close_gaps(codes, size, counts):
    """Move the first ``counts[worker]`` codes of each worker's share of `size` together; return how many there are."""
    to, width = counts[0], counts.size
    for worker in range(1, width):
        first = _share(worker, width, size)[0]
        # Workers share the move if no code overwrites one not yet moved.
        movers = width if to + counts[worker] <= first else 1
        run(movers, _move_worker, movers, codes, to, first, counts[worker])
        to += counts[worker]
    return to


@njit
def _move_worker(worker, width, codes, to, first, count):
    """One worker that moves `count` codes from `first` to `to`."""
    begin, end = _share(worker, width, count)
    for i in range(np.uint64(begin), np.uint64(end)):
        codes[np.uint64(to) + i] = codes[np.uint64(first) + i]


@njit
def select_heavy(width, keys, split, ends, trees, window, codes):
    """Write the codes of the heavy edges that may join two of the trees; return how many."""
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
    """Of the first `size` codes, keep those of edges whose ends differ in `label`, uint32 (n,); return how many.

    `ends` must be by edge id; `codes` are overwritten.
    """
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
    """Count the first `count` codes by bucket; return the number of codes in buckets of more than `large`.

    The bucket of a code is ``code >> shift``. `starts`, uint32 (buckets,), is overwritten with the start of each
    bucket, and `counts`, uint32 (width, buckets), with the start of each worker's part of each bucket.
    """
    run(width, _count_worker, width, codes, count, shift, counts)
    start, in_large = np.uint32(0), np.int64(0)
    for bucket in range(starts.size):
        starts[bucket] = start
        for worker in range(width):
            here = counts[worker, bucket]
            counts[worker, bucket] = start
            start = np.uint32(start + here)
        here = start - starts[bucket]
        in_large += np.int64(here) if here > large else 0
    return in_large


@njit
def _count_worker(worker, width, codes, count, shift, counts):
    """One worker of `count_codes`."""
    own = counts[worker]
    own[:] = 0
    first, last = _share(worker, width, count)
    one_core.add_to_buckets(codes, first, last, shift, own)


@njit
def settled_buckets(width, codes, count, shift, keys, buckets):
    """Return which of `buckets` will be in order after scattering, bool (buckets,), as on one core."""
    first, seen = np.empty((width, buckets), keys.words.dtype), np.zeros((width, buckets), np.uint8)
    ascend = np.zeros(width, np.bool_)
    run(width, _settled_worker, width, codes, count, shift, keys, first, seen, ascend)
    for worker in range(1, width):
        at = _share(worker, width, count)[0]
        ascend[worker] &= at == 0 or (codes[at - 1] & _LOW) < (codes[at] & _LOW)
    return one_core.of_one_key(first, seen) if ascend.all() else np.zeros(buckets, np.bool_)


@njit
def _settled_worker(worker, width, codes, count, shift, keys, first, seen, ascend):
    """One worker of `settled_buckets`."""
    begin, end = _share(worker, width, count)
    ascend[worker] = call(one_core.note_keys, codes[begin:end], shift, keys, first[worker], seen[worker])


@njit
def scatter(width, ends, codes, count, shift, counts, records):
    """Write a record of each of the first `count` codes into its bucket, in the order of the codes.

    `counts` is from `count_codes`; its last row becomes the ends of the buckets.
    """
    run(width, _scatter_worker, width, ends, codes, count, shift, counts, records)


@njit
def _scatter_worker(worker, width, ends, codes, count, shift, counts, records):
    """One worker of `scatter`."""
    first, last = _share(worker, width, count)
    call(one_core.scatter, ends, codes[first:last], last - first, shift, counts[worker], records)


def lowest_vertices(width: int, ends: Ends, codes: np.ndarray) -> np.ndarray:
    """Return the first vertex of each stage, ascending from 0: uint32 (width,).

    Each stage but the one of vertex 0 gets about 0.4 of the edges left by the stages above it, estimated from a sample.
    """
    drawn = (codes[stratified(len(codes), 1024)] & _LOW).astype(np.int64)
    upper = np.sort(np.maximum(ends.u[drawn], ends.v[drawn]))
    lowest = upper[(len(upper) * _BELOW ** np.arange(width, 0, -1)).astype(np.int64)]
    lowest[0] = 0
    return lowest


@njit
def join(width, records, cut, lowest, taken, keys, forest, size):
    """Join the records to a forest of `size` edges; return its size, the batches, and those that closed a cycle.

    Parameters
    ----------
    width : int
    records : numpy.ndarray of uint64, shape (k, 2)
        From `scatter`; overwritten.
    cut : mst.kernels.filter_boruvka.sequential.join.Buckets
        Its starts have become the ends of the buckets.
    lowest : numpy.ndarray of uint32, shape (width,)
        From `lowest_vertices`.
    taken : numpy.ndarray of uint32, shape (n,)
        Scratch space.
    keys, forest, size
        As for `mst.kernels.filter_boruvka.sequential.join.join`.
    """
    if cut.uneven:
        run(width, _put_in_order_worker, records, cut, keys, np.zeros(1, np.int64))
    ends, in_order = batch_ends(cut.starts, cut.smallest, cut.largest)
    if 2 * in_order.sum() > ends.size:
        # Stages change the order of the edges they pass on, and would join most of these batches twice.
        size, conflicts = call(join_batches, records, ends, in_order, cut.smallest, keys, forest, size)
        return size, ends.size, conflicts
    ranges = _cut_into_ranges(ends)
    state = np.zeros(_STAGES + 32 * width, np.int64)
    state[_STAGES + _SIZE] = size
    run(width, _join_worker, width, records, ends, ranges, cut.smallest, lowest, taken, keys, forest, state)
    size, conflicts = state[_STAGES + _SIZE], np.int64(0)
    for stage in range(width):
        place = _STAGES + 32 * stage
        conflicts += state[place + _CONFLICTS]
        if stage > 0:
            first, own = np.int64(lowest[stage]), state[place + _SIZE]
            for i in range(own):  # no slice: numba would compile its shape error (compile-time.md)
                forest.edges[size + i] = taken[first + i]
            size += own
    return size, ends.size, conflicts


@njit
def _put_in_order_worker(worker, records, cut, keys, sorted_before):
    """One worker that sorts large buckets; `sorted_before`, int64 (1,), counts the buckets that workers have started.

    `records`, `cut` and `keys` are as for `join`.
    """
    start = large = np.int64(0)
    for bucket in range(cut.starts.size):
        stop = np.int64(cut.starts[bucket])
        if stop - start > cut.largest and not cut.settled[bucket]:
            if compare_and_swap(sorted_before, 0, large, large + 1) == large:
                call(one_core.sort_bucket, records, start, stop, keys)
            large += 1
        start = stop


@njit
def _cut_into_ranges(ends):
    """Divide batches into ranges; return the first batch and the first record of each range, int64 (ranges + 1, 2).

    The last row holds the numbers of batches and records. `ends`, int64 (batches,), are the ends of batches, and become
    relative to the start of their range.
    """
    count = ends[-1]
    grain = min(max(count // _RANGES, _SMALLEST), _LARGEST)
    ranges, found = 0, np.zeros((count // grain + 2, 2), np.int64)
    for batch in range(ends.size):
        end = ends[batch]
        ends[batch] = end - found[ranges, 1]
        if ends[batch] >= grain or batch == ends.size - 1:
            ranges += 1
            found[ranges, 0], found[ranges, 1] = batch + 1, end
    return found[: ranges + 1]


@njit
def _join_worker(worker, width, records, ends, ranges, smallest, lowest, taken, keys, forest, state):
    """One worker of `join`; if it fails, the others do not wait for it."""
    failed = False
    try:
        call(_take_part, worker, width, records, ends, ranges, smallest, lowest, taken, keys, forest, state)
    except Exception:
        failed = True
    if failed:
        store(state, _FAILED, 1)
        raise MemoryError


@njit
def _take_part(worker, width, records, ends, ranges, smallest, lowest, taken, keys, forest, state):
    """Join one range after another of a stage until the last stage is over or a worker has failed.

    `ends` and `ranges` are from `_cut_into_ranges`, `smallest` is the field of `Buckets`, `state` is int64 of shape
    (16 + 32 * width,), and the other arguments are as for `join`.
    """
    waited, end = 0, 2 * (ranges.shape[0] - 1)
    while load(state, _STAGES) < end and load(state, _FAILED) == 0:
        # Any worker takes over a stage whose own worker has not started yet.
        stage = worker if waited < _PATIENCE else (worker + waited) % width
        if call(_join_next, stage, width, records, ends, ranges, smallest, lowest, taken, keys, forest, state):
            waited = 0
        else:
            waited += 1
            if waited > _PATIENCE and waited & 63 == 0:
                yield_core()


@njit
def _join_next(stage, width, records, ends, ranges, smallest, lowest, taken, keys, forest, state):
    """Join the next range of `stage` if it is ready and no other worker is joining it; return whether it was joined.

    The arguments from `width` on are as for `_take_part`.
    """
    place = _STAGES + 32 * stage
    progress = load(state, place)
    i = progress >> 1
    if progress & 1 or i == ranges.shape[0] - 1:
        return False
    # Whether the stage above has finished with the range.
    ready = stage == width - 1 or load(state, place + 32) >> 1 > i
    if not ready or compare_and_swap(state, place, progress, progress + 1) != progress:
        return False
    own, start = ends[ranges[i, 0] : ranges[i + 1, 0]], ranges[i, 1]
    some, size = records[start : start + own[-1]], state[place + _SIZE]
    if stage == 0:
        # Records that stages above have passed on are not known to be in order.
        in_order = np.zeros(own.size, np.bool_)
        size, closed = call(join_batches, some, own, in_order, smallest, keys, forest, size)
    else:
        mine = taken[lowest[stage] :]
        size, closed = call(pass_on, some, own, lowest[stage], keys, forest.parent, mine, size)
    state[place + _SIZE] = size
    state[place + _CONFLICTS] += closed
    store(state, place, progress + 2)
    return True
