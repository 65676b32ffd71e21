"""Merges parallel edges, for `mst.simplify` and for peers that accept only simple graphs.

`merge_edges` distributes edges over buckets by their smaller end; a bucket fits into a core's cache. It then sorts each
bucket by both ends and merges each run of equal pairs. Threads share every step. In the kernels, `schedule` is a
`Schedule`, and `buckets` a `_Buckets`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import (
    Schedule,
    grain_for,
    new_tallies,
    next_chunk,
    reset_queue,
    touched_empty,
    workers,
)
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.radix import id_at, sort_words

_BUCKET_BITS = 11
_BUCKET = 1 << 13  # edges per bucket: few enough for the second-level cache, many enough to be worth a sort
_SPLIT = 1 << 17  # a bucket of more edges is split once more
_CHUNK = 1 << 16
_BLOCK = 512
_ZERO, _ONE, _HALF = np.uint64(0), np.uint64(1), np.uint64(32)


class Merged(NamedTuple):
    """A simple graph and the numbers of rows dropped.

    Attributes
    ----------
    u, v : numpy.ndarray of int32 or int64, shape (k,)
        ``u < v``, ascending by (u, v), no pair twice.
    w : numpy.ndarray of any weight dtype, shape (k,)
        ``-0.0`` becomes ``0.0``.
    loops : int
        Self-loops dropped.
    reciprocal : int
        Pairs with arcs in both directions: one row of each was dropped as the reverse of another.
    parallel : int
        All other rows dropped.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    loops: int
    reciprocal: int
    parallel: int


class _Buckets(NamedTuple):
    """Edges in buckets by their smaller end.

    Attributes
    ----------
    shift : int
        The bucket of an edge is its smaller end without its lowest `shift` bits.
    bits : int
        Number of bits of an end.
    starts : numpy.ndarray of int64, shape (buckets + 1,)
        The place of each bucket's first edge, and the end of the last bucket.
    words : numpy.ndarray of uint64, shape (m,)
        From the highest bit to the lowest: the lowest `shift` bits of the smaller end, the larger end, and whether
        the smaller end came second.
    weights : numpy.ndarray of any weight dtype, shape (m,)
    counts : numpy.ndarray of int64, shape (buckets, 3)
        For each bucket: edges kept, pairs with arcs in both directions, other rows dropped.
    """

    shift: int
    bits: int
    starts: np.ndarray
    words: np.ndarray
    weights: np.ndarray
    counts: np.ndarray


def merge_edges(n: int, u: np.ndarray, v: np.ndarray, w: np.ndarray, width: int = 1) -> Merged:
    """Sort edges by (smaller end, larger end), drop self-loops, keep the smallest weight of each pair.

    Parameters
    ----------
    n : int
        Number of vertices, at most 2³⁷.
    u, v : numpy.ndarray of int32 or int64, shape (m,), read-only
    w : numpy.ndarray of any weight dtype, shape (m,), read-only
    width : int
        Threads.

    Notes
    -----
    Besides input and result, this needs a word and a weight per edge, and the same again for the largest bucket of each
    thread. Arrays that are sorted and simple already are returned as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.graph import frozen
    >>> from mst.kernels.graph.simplify import merge_edges
    >>> u, v, w = map(frozen, np.array([[2, 0, 1], [1, 1, 2], [7, 5, 6]], np.int32))
    >>> u, v, w, *dropped = merge_edges(3, u, v, w)
    >>> u.tolist(), v.tolist(), w.tolist(), dropped
    ([0, 1], [1, 2], [5, 6], [0, 1, 0])
    """
    if _is_simple(u, v, w):
        return Merged(u, v, w, 0, 0, 0)
    with workers(width):
        buckets, loops = _in_buckets(n, u, v, w, width)
        schedule = Schedule(width, 1, new_tallies(width))
        _merge_buckets(schedule, buckets)
        ends = np.cumsum(buckets.counts[:, 0])
        places = np.concatenate([[0], ends])
        kept_u, kept_v, kept_w = (
            touched_empty(int(ends[-1]), a.dtype, width, schedule.tallies) for a in (u, v, w)
        )
        _unpack_buckets(schedule, buckets, places, kept_u, kept_v, kept_w)
    _, reciprocal, parallel = buckets.counts.sum(0).tolist()
    return Merged(kept_u, kept_v, kept_w, loops, reciprocal, parallel)


def _in_buckets(n: int, u: np.ndarray, v: np.ndarray, w: np.ndarray, width: int) -> tuple[_Buckets, int]:
    """Return the edges in buckets, and the number of self-loops, which are in none."""
    bits = max(n - 1, 1).bit_length()
    shift = max(bits - _BUCKET_BITS, bits - (len(u) // _BUCKET).bit_length(), 0)
    number = (max(n - 1, 0) >> shift) + 1
    grain = grain_for(len(u), width, smallest=_CHUNK, largest=max(_CHUNK, len(u) // width))
    schedule = Schedule(width, grain, new_tallies(width))
    # Self-loops are in a separate last bucket.
    counts = np.zeros((-(-len(u) // grain), number + 1), np.int64)
    _count(schedule, u, v, shift, counts)
    ends = np.cumsum(counts.T).reshape(number + 1, -1).T
    places = np.ascontiguousarray(ends - counts)
    words = touched_empty(len(u), np.uint64, width, schedule.tallies)
    weights = touched_empty(len(u), w.dtype, width, schedule.tallies)
    starts = places[0].copy()
    _scatter(schedule, (u, v, w), (shift, bits), places, words, weights)
    buckets = _Buckets(shift, bits, starts, words, weights, np.zeros((number, 3), np.int64))
    return buckets, len(u) - int(starts[-1])


@njit
def _is_simple(u, v, w):
    """Return whether `merge_edges` would return its arguments `u`, `v` and `w` as they are."""
    a, b = -1, -1
    for e in range(u.size):
        if not (u[e] < v[e] and (a < u[e] or (a == u[e] and b < v[e]))):
            return False
        if w[e] == 0 and np.signbit(w[e]):
            return False
        a, b = u[e], v[e]
    return True


@njit(inline="always")
def _bucket(a, b, shift, loops):
    """Return the bucket of an edge between `a` and `b`: `loops` for a self-loop, else the smaller end ``>> shift``."""
    return loops if a == b else min(a, b) >> shift


@njit
def _count(schedule, u, v, shift, counts):
    """Add the number of edges of chunk `c` in bucket `k` to ``counts[c, k]``: int64 of shape (chunks, buckets + 1).

    `u` and `v` are the ends of all edges, and `shift` is that of `_Buckets`.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _count_worker, schedule, u, v, shift, counts)


@njit
def _count_worker(worker, schedule, u, v, shift, counts):
    """One worker of `_count`."""
    width, grain, tallies = schedule
    loops = counts.shape[1] - 1
    first, last = next_chunk(tallies, worker, width, grain, u.size)
    while first < last:
        mine = counts[first // grain]
        twos = last - (last - first) % 2
        for e in range(first, twos, 2):
            # A store whose address depends on a load delays the loads after it, so two buckets come first.
            k, l = _bucket(u[e], v[e], shift, loops), _bucket(u[e + 1], v[e + 1], shift, loops)
            mine[k] += 1
            mine[l] += 1
        for e in range(twos, last):
            mine[_bucket(u[e], v[e], shift, loops)] += 1
        first, last = next_chunk(tallies, worker, width, grain, u.size)


@njit
def _scatter(schedule, edges, numbers, places, words, weights):
    """Write the edges, ``u, v, w`` of shape (m,), to their buckets in `words` and `weights`, as in `_Buckets`.

    `numbers` are the fields `shift` and `bits` of `_Buckets`. ``places[c, k]``, int64 of shape (chunks, buckets + 1),
    is the place of the first edge of chunk `c` in bucket `k`; it is overwritten.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _scatter_worker, schedule, edges, numbers, places, words, weights)


@njit
def _scatter_worker(worker, schedule, edges, numbers, places, words, weights):
    """One worker of `_scatter`."""
    width, grain, tallies = schedule
    u, v, w = edges
    shift, bits = numbers
    mask, bits = np.uint64((1 << shift) - 1), np.uint64(bits)
    loops = places.shape[1] - 1
    targets = np.empty(_BLOCK, np.int64)
    first, last = next_chunk(tallies, worker, width, grain, u.size)
    while first < last:
        mine = places[first // grain]
        for start in range(first, last, _BLOCK):
            stop = min(start + _BLOCK, last)
            # Places first: a store whose address depends on a load would delay the loads after it.
            for e in range(start, stop):
                k = _bucket(u[e], v[e], shift, loops)
                targets[e - start] = mine[k]
                mine[k] += 1
            for e in range(start, stop):
                a, b = u[e], v[e]
                low, high = np.uint64(min(a, b)) & mask, np.uint64(max(a, b))
                at = targets[e - start]
                words[at] = ((low << bits | high) << _ONE) | np.uint64(a > b)
                weights[at] = w[e]
        first, last = next_chunk(tallies, worker, width, grain, u.size)


@njit
def _merge_buckets(schedule, buckets):
    """Merge parallel edges to the front of each bucket, whose words lose their lowest bit, and write its counts."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _merge_worker, schedule, buckets)


@njit
def _merge_worker(worker, schedule, buckets):
    """One worker of `_merge_buckets`."""
    width, _, tallies = schedule
    starts, all_words, all_weights, counts = buckets[2:]
    begins = np.empty((1 << _BUCKET_BITS) + 1, np.int64)
    bucket, last = next_chunk(tallies, worker, width, 1, counts.shape[0])
    while bucket < last:
        words = all_words[starts[bucket] : starts[bucket + 1]]
        weights = all_weights[starts[bucket] : starts[bucket + 1]]
        scratch = _scratch(words.size, weights.dtype)
        ranges, begins[0], begins[1] = 1, 0, words.size
        if words.size > _SPLIT:
            ranges = begins.size - 1
            _split(words, weights, scratch, begins)
        for k in range(ranges):
            _merge_range(words, weights, begins[k], begins[k + 1], scratch, counts[bucket])
        bucket, last = next_chunk(tallies, worker, width, 1, counts.shape[0])


@njit
def _scratch(size, dtype):
    """Return scratch space of shape (size,): words (uint64), weights of `dtype`, ids and spare ids (both uint32)."""
    return (
        np.empty(size, np.uint64),
        np.empty(size, dtype),
        np.empty(size, np.uint32),
        np.empty(size, np.uint32),
    )


@njit
def _split(words, weights, scratch, begins):
    """Sort a bucket, `words` and `weights` of shape (m,), by the highest bits in which its pairs differ.

    `scratch` is from `_scratch`. `begins`, int64 (2049,), is overwritten by the place of the first edge for each value
    of these bits.
    """
    differing = _ZERO
    for i in range(words.size):
        differing |= words[i] ^ words[0]
    shift = _ONE  # the lowest bit belongs to no pair
    while differing >> shift >= np.uint64(begins.size - 1):
        shift += _ONE
    mask = np.uint64(begins.size - 2)
    begins[:] = 0
    for i in range(words.size):
        begins[(words[i] >> shift & mask) + _ONE] += 1
    for k in range(begins.size - 1):
        begins[k + 1] += begins[k]
    split_words, split_weights, _, _ = scratch
    for i in range(words.size):
        k = words[i] >> shift & mask
        split_words[begins[k]], split_weights[begins[k]] = words[i], weights[i]
        begins[k] += 1
    for k in range(begins.size - 1, 0, -1):
        begins[k] = begins[k - 1]
    begins[0] = 0
    # Assignments of whole slices would take three seconds to compile.
    for i in range(words.size):
        words[i], weights[i] = split_words[i], split_weights[i]


@njit
def _merge_range(words, weights, start, stop, scratch, counts):
    """Merge the edges ``start … stop - 1`` of a bucket, append them to its merged edges, and add to its counts.

    `words` and `weights`, of shape (m,), are those of the bucket, `scratch` is from `_scratch`, and `counts`, int64
    (3,), is the bucket's row of the counts in `_Buckets`.
    """
    spare, lightest, ids, spare_ids = scratch
    mine, here = words[start:stop], weights[start:stop]
    highest = _ZERO
    for i in range(mine.size):
        highest |= mine[i]
    # Keys of at most 32 bits are sorted together with their places, which fit below them in the same words.
    packed = highest >> _HALF == 0
    for i in range(np.uint64(mine.size)):
        if packed:
            mine[i] = mine[i] << _HALF | i
        else:
            ids[i] = i
    if packed:
        ids, spare_ids = ids[:0], spare_ids[:0]
    ordered, places = mine, ids
    if call(sort_words, mine, ids, np.int64(0), mine.size, spare, spare_ids):
        ordered, places = spare, spare_ids
    kept, reciprocal, parallel = _merge_runs(ordered, places, here, mine, lightest)
    to = counts[0]
    for i in range(kept):
        words[to + i], weights[to + i] = mine[i], lightest[i]
    counts[0] += kept
    counts[1] += reciprocal
    counts[2] += parallel


@njit
def _merge_runs(words, ids, weights, pairs, lightest):
    """Write the pair of each run of equal pairs to the front of `pairs`, and its smallest weight to `lightest`.

    `words` and `ids` are sorted records of places in `weights`, (m,), with the keys of `_Buckets`. `pairs`, uint64
    (m,), may be `words`; `lightest` has the dtype of `weights` and at least m places. Returns the numbers of runs, of
    runs with both directions, and of the other edges dropped.
    """
    kept = reciprocal = parallel = 0
    below = _HALF if ids.size == 0 else _ZERO
    i, m = _ZERO, np.uint64(weights.size)
    while i < m:
        key = words[i] >> below
        pair, first = key >> _ONE, key & _ONE
        smallest = weights[id_at(words, ids, i)]
        count = 0
        while i < m and words[i] >> below >> _ONE == pair:
            smallest = min(smallest, weights[id_at(words, ids, i)])
            key = words[i] >> below
            count += 1
            i += _ONE
        # The lowest bit of a key is the direction, and keys ascend: both occur if the first and the last differ.
        both = key & _ONE != first
        reciprocal += both
        parallel += count - 1 - both
        pairs[kept] = pair
        lightest[kept] = smallest + weights.dtype.type(0)
        kept += 1
    return kept, reciprocal, parallel


@njit
def _unpack_buckets(schedule, buckets, places, u, v, w):
    """Write the merged edges of each bucket to `u`, `v` and `w`, the columns of `Merged`, from ``places[bucket]`` on.

    `places` is int64 of shape (buckets + 1,).
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _unpack_worker, schedule, buckets, places, u, v, w)


@njit
def _unpack_worker(worker, schedule, buckets, places, u, v, w):
    """One worker of `_unpack_buckets`."""
    width, _, tallies = schedule
    shift, bits, starts, words, weights, counts = buckets
    bits, mask = np.uint64(bits), np.uint64((1 << bits) - 1)
    bucket, last = next_chunk(tallies, worker, width, 1, counts.shape[0])
    while bucket < last:
        first_vertex = np.uint64(bucket << shift)
        to, start = places[bucket], starts[bucket]
        for i in range(counts[bucket, 0]):
            pair = words[start + i]
            u[to + i], v[to + i] = first_vertex | pair >> bits, pair & mask
            w[to + i] = weights[start + i]
        bucket, last = next_chunk(tallies, worker, width, 1, counts.shape[0])


@njit
def lightest_of_parallel_edges(u, v, w, pairs, by_pair):
    """Return the id of the lightest edge of each pair of distinct ends, in order of pairs.

    Parameters
    ----------
    u, v : numpy.ndarray of int32 or int64, shape (m,)
    w : numpy.ndarray of any weight dtype, shape (m,)
    pairs : numpy.ndarray of uint64, shape (m,)
        Equal for parallel edges only.
    by_pair : numpy.ndarray of int, shape (m,)
        A stable order of `pairs`: of equally light parallel edges the smallest id is first and is kept.

    Returns
    -------
    numpy.ndarray of int64, shape (k,)
    """
    ids = np.empty(by_pair.size, np.int64)
    count = 0
    for e in by_pair:
        if u[e] == v[e]:
            continue
        if count == 0 or pairs[ids[count - 1]] != pairs[e]:
            ids[count] = e
            count += 1
        elif w[e] < w[ids[count - 1]]:
            ids[count - 1] = e
    return ids[:count]
