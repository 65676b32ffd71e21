"""Scatters edges into buckets of ascending level, about a hundred edges per bucket.

This step comes between `mst.kernels.filter_boruvka.sequential.select` and `join`. A *record* is two uint64: the ends
(`u` in the lower half, `v` in the upper), and the code from `select`. Vertices and edges must number less than 2³¹.

In the kernels, `keys` are `LazyKeys` by edge id, `records` are uint64 of shape (k, 2), `ends` is a `select.Ends`; the
bucket of a code is ``code >> shift``, `shift` a uint64.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.sequential.select import ends_at
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.primitives.radix import sort_words

_BLOCK = 1024
_AHEAD, _FAR_AHEAD = 32, 64
_FAR = np.uint64(1 << 23)
_HALF = np.uint64(32)
_ZERO, _LOW = np.uint64(0), np.uint64(0xFFFFFFFF)


@njit
def count_codes(codes, count, shift, large, starts):
    """Count the first `count` codes by bucket, and write the start of each bucket to `starts`.

    `codes` is uint64 of shape (count,) or more; `starts`, uint32 of shape (buckets,), is zero at first. Returns the
    number of codes in buckets of more than `large`.
    """
    add_to_buckets(codes, 0, count, shift, starts)
    return counts_to_starts(starts, large)


@njit
def add_to_buckets(codes, first, last, shift, counts):
    """Add 1 to the count of the bucket of each of the codes ``first … last - 1``.

    `codes` is uint64 of shape (k,), `counts` uint32 of shape (buckets,).
    """
    one, fours = np.uint32(1), last - (last - first) % 4
    for j in range(first, fours, 4):
        # A store whose address depends on a load delays the loads after it, so four buckets are looked up first.
        a, b, c, d = codes[j] >> shift, codes[j + 1] >> shift, codes[j + 2] >> shift, codes[j + 3] >> shift
        counts[a] += one
        counts[b] += one
        counts[c] += one
        counts[d] += one
    for j in range(fours, last):
        counts[codes[j] >> shift] += one


@njit
def counts_to_starts(counts, large):
    """Replace `counts`, uint32 (buckets,), by the starts of buckets; return the sum of the counts above `large`."""
    start, in_large = np.uint32(0), np.int64(0)
    for b in range(counts.size):
        here = counts[b]
        in_large += np.int64(here) if here > large else 0
        counts[b] = start
        start = np.uint32(start + here)
    return in_large


@njit
def scatter(ends, codes, count, shift, buckets, records):
    """Write a record of each of the first `count` codes into its bucket, in the order of the codes.

    `codes` is uint64 of shape (count,) or more; `buckets`, uint32 of shape (buckets,), advance from the starts of
    buckets to their ends.
    """
    place = np.empty(_BLOCK, np.uint32)
    for block in range(0, count, _BLOCK):
        size = min(_BLOCK, count - block)
        # Places are found first: a store whose address depends on a load would delay the loads after it.
        for j in range(size):
            b = codes[block + j] >> shift
            place[j] = buckets[b]
            buckets[b] = np.uint32(place[j] + np.uint32(1))
        some = codes[block : min(block + size + _FAR_AHEAD, count)]
        if _are_far_apart(ends, some, size):
            call(_write_far_apart, ends, some, place[:size], records)
            continue
        for j in range(size):
            prefetch_to_write(records, place[min(j + _AHEAD, size - 1)])
            records[place[j], 0] = ends_at(ends, codes, block + j)
            records[place[j], 1] = codes[block + j]


@njit(inline="always")
def _are_far_apart(ends, codes, size):
    """Return whether the first `size` codes are so far apart that prefetching their ends pays off."""
    apart = (codes[size - 1] & _LOW) - (codes[0] & _LOW)
    return apart * np.uint64(ends.u.size) > _FAR * np.uint64(size)


@njit
def _write_far_apart(ends, codes, place, records):
    """Write the record of each of the first codes to its place; `place` is uint32 of shape (records,)."""
    u, v = ends.u, ends.v
    for j in range(place.size):
        e = codes[min(j + _FAR_AHEAD, codes.size - 1)] & _LOW
        prefetch(u, e)
        prefetch(v, e)
        prefetch_to_write(records, place[min(j + _AHEAD, place.size - 1)])
        e = codes[j] & _LOW
        records[place[j], 0] = np.uint64(u[e]) | (np.uint64(v[e]) << _HALF)
        records[place[j], 1] = codes[j]


@njit
def refine_buckets(codes, count, shift, starts, wanted):
    """Replace the levels in codes by bucket numbers so that no bucket holds many more than `wanted` codes.

    `starts`, from `count_codes`, and `shift` describe buckets of equal width; large ones are split into pieces of equal
    width as far as levels allow. `codes`, uint64 of shape (count,) or more, is overwritten. Returns the number of
    buckets after the split.
    """
    buckets = _ZERO
    first = np.empty(starts.size, np.uint64)
    finer = np.empty(starts.size, np.uint64)
    for b in range(starts.size):
        stop = np.int64(starts[b + 1]) if b + 1 < starts.size else count
        times = (stop - np.int64(starts[b])) // wanted
        cut = _ZERO
        while times > 0 and _HALF + cut < shift:
            times >>= 1
            cut += np.uint64(1)
        first[b], finer[b] = buckets, shift - cut
        buckets += np.uint64(1) << cut
    for j in range(count):
        code = codes[j]
        b = code >> shift
        piece = (code ^ (b << shift)) >> finer[b]
        codes[j] = ((first[b] + piece) << _HALF) | (code & _LOW)
    return np.int64(buckets)


@njit
def note_keys(codes, shift, keys, first, seen):
    """Find out which buckets have codes of a single key; return whether the codes ascend by edge id.

    `codes` is uint64 of shape (k,); `first`, of the dtype of the keys, and `seen`, uint8, are of shape (buckets,). The
    first key of a bucket is written to `first`; `seen`, zero before, becomes 1 if all keys in the bucket are equal, and
    2 if they are not.
    """
    before, ascends = _ZERO, True
    for code in codes:
        e, b = code & _LOW, code >> shift
        key = key_at(keys, e)
        if seen[b] == 0:
            first[b], seen[b] = key, 1
        elif key != first[b]:
            seen[b] = 2
        ascends &= before <= e
        before = e
    return ascends


@njit
def of_one_key(first, seen):
    """Return which buckets hold a single key, bool of shape (buckets,).

    `first` and `seen`, of shape (parts, buckets), are from `note_keys`, one row for each part of the codes.
    """
    single = np.ones(seen.shape[1], np.bool_)
    for b in range(single.size):
        key = first[0, b]
        for part in range(seen.shape[0]):
            if seen[part, b]:
                key = first[part, b]
        for part in range(seen.shape[0]):
            single[b] &= seen[part, b] == 0 or (seen[part, b] == 1 and first[part, b] == key)
    return single


@njit
def settled_buckets(codes, count, shift, keys, buckets):
    """Return which buckets will be in order by (key, id) after scattering: those of a single key, if ids ascend.

    `codes`, uint64, has at least `count` codes, and `buckets` is the number of buckets; the result is bool, of shape
    (buckets,). After scattering, the keys of a bucket would have to be fetched from all over memory.
    """
    first, seen = np.empty((1, buckets), keys.words.dtype), np.zeros((1, buckets), np.uint8)
    ascends = note_keys(codes[:count], shift, keys, first[0], seen[0])
    return of_one_key(first, seen) if ascends else np.zeros(buckets, np.bool_)


@njit
def sort_large_buckets(records, buckets, largest, settled, keys):
    """Sort the records by (key, id) in each bucket of more than `largest` that is not `settled`, bool (buckets,).

    `records` and `buckets`, the ends of buckets, are as written by `scatter`.
    """
    start = np.int64(0)
    for bucket in range(buckets.size):
        stop = np.int64(buckets[bucket])
        if stop - start > largest and not settled[bucket]:
            sort_bucket(records, start, stop, keys)
        start = stop


@njit
def sort_bucket(records, start, stop, keys):
    """Sort the records ``start … stop - 1`` by (key, id)."""
    if not _ascends(records, start, stop, keys):
        _sort(records, start, stop, keys)


@njit
def _ascends(records, start, stop, keys):
    """Return whether the records ``start … stop - 1`` ascend by (key, id)."""
    before = _ZERO
    last = key_at(keys, records[start, 1] & _LOW)
    ordered = True
    for i in range(start, stop):
        e = records[i, 1] & _LOW
        key = key_at(keys, e)
        ordered &= (last < key) | ((last == key) & (before <= e))
        before, last = e, key
    return ordered


@njit
def _sort(records, start, stop, keys):
    """Sort the records ``start … stop - 1`` by (key, id)."""
    size = stop - start
    words, places = np.empty(size, np.uint64), np.empty(size, np.uint32)
    spare_words, spare_places = np.empty(size, np.uint64), np.empty(size, np.uint32)
    ascends = True
    for i in range(size):
        words[i], places[i] = records[start + i, 1] & _LOW, i
        ascends &= i == 0 or words[i - 1] <= words[i]
    # Sorted by id, unless scattering has kept that order, and then stably by key.
    if not ascends and sort_words(words, places, np.int64(0), size, spare_words, spare_places):
        words, spare_words, places, spare_places = spare_words, words, spare_places, places
    for i in range(size):
        words[i] = key_at(keys, records[start + places[i], 1] & _LOW)
    if sort_words(words, places, np.int64(0), size, spare_words, spare_places):
        places = spare_places
    before = np.empty((size, 2), np.uint64)
    for i in range(size):
        before[i, 0], before[i, 1] = records[start + i, 0], records[start + i, 1]
    for i in range(size):
        records[start + i, 0], records[start + i, 1] = before[places[i], 0], before[places[i], 1]
