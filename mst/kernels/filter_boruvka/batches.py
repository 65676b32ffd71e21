"""Kruskal in batches: light edges joined some hundreds at a time, without sorting them all.

Edges are scattered into buckets of ascending keys, a hundred or so to a bucket. A bucket is one batch: first the
root of every end is looked up, as the trees stood before the batch, so that no look-up waits for another; then
all edges between different trees are joined. If that closes no cycle, Kruskal would have taken each of them
whatever their order, and nothing has to be sorted. If it does, the batch's joins are undone and repeated in
the order by (key, id). With n^(1/3) edges to a batch that hardly ever happens before the trees are few.

A *record* is two uint64: the ends (`u` below, `v` above), and the tag of `mst.kernels.filter_boruvka.filter`.
2³¹ vertices and
edges and more do not fit.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.filter import ends_at
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.prefetch import prefetch_to_write
from mst.kernels.primitives.radix import sort_words
from mst.kernels.union_find.sequential import fourth_ancestor

_BLOCK = 1024
_AHEAD = 32
_HALF = np.uint64(32)
_ZERO, _ONE, _LOW = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFF)
_BYTE, _255, _16_BITS = np.uint64(8), np.uint64(255), np.uint64(0xFFFF)


@njit
def count_tags(tags, count, shift, crowd, bounds):
    """Count the tags of each bucket, ``tag >> shift``, and make `bounds` the start of each.

    Returns how many tags are in buckets of more than `crowd`.
    """
    for j in range(count):
        bounds[tags[j] >> shift] += np.uint32(1)
    return starts_of(bounds, crowd)


@njit
def starts_of(counts, crowd):
    """Replace counts by where each bucket starts; return how many records are in buckets of more than `crowd`."""
    start, crowded = np.uint32(0), 0
    for b in range(counts.size):
        here = counts[b]
        crowded += np.int64(here) if here > crowd else 0
        counts[b] = start
        start = np.uint32(start + here)
    return crowded


@njit
def scatter(ends, tags, count, shift, bounds, records):
    """Write a record of each tag into its bucket, stably; `bounds` advances from the starts to the ends."""
    place = np.empty(_BLOCK, np.uint32)
    for block in range(0, count, _BLOCK):
        size = min(_BLOCK, count - block)
        # Places first: a store whose address waits for a load would hold up the loads behind it.
        for j in range(size):
            b = tags[block + j] >> shift
            place[j] = bounds[b]
            bounds[b] = np.uint32(place[j] + np.uint32(1))
        for j in range(size):
            prefetch_to_write(records, place[min(j + _AHEAD, size - 1)])
            records[place[j], 0] = ends_at(ends, tags, block + j)
            records[place[j], 1] = tags[block + j]


@njit
def join(records, bounds, smallest, largest, keys, parent, forest, size):
    """Take the buckets in order, in batches of at least `smallest` records; return the new size of the forest.

    Buckets above `largest` records are cut into batches; `put_in_order` must have sorted them.
    """
    room = smallest + largest
    a, b, e = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(room, np.uint32)
    conflicts = start = np.int64(0)
    for bucket in range(bounds.size):
        stop = np.int64(bounds[bucket])
        if stop - start < smallest and bucket < bounds.size - 1:
            continue
        if stop - start <= largest:
            size, conflict = _batch(records, start, stop, keys, parent, forest, size, a, b, e)
            conflicts += conflict
        else:
            for cut in range(start, stop, smallest):
                end = min(cut + smallest, stop)
                size, conflict = _batch(records, cut, end, keys, parent, forest, size, a, b, e)
                conflicts += conflict
        start = stop
    return size, conflicts


@njit
def _batch(records, start, stop, keys, parent, forest, size, a, b, e):
    last = records.shape[0] - 1
    for i in range(start, stop):
        # Four loads that wait for each other fill the processor's buffers with too few records.
        far = records[min(i + _AHEAD, last), 0]
        prefetch_to_write(parent, far & _LOW)
        prefetch_to_write(parent, far >> _HALF)
        a[i - start] = fourth_ancestor(parent, records[i, 0] & _LOW)
        b[i - start] = fourth_ancestor(parent, records[i, 0] >> _HALF)
    kept = np.int64(0)
    for i in range(stop - start):
        x, y = a[i], b[i]
        if (parent[x] != x) | (parent[y] != y):
            while parent[x] != x:
                parent[x] = parent[parent[x]]
                x = parent[x]
            while parent[y] != y:
                parent[y] = parent[parent[y]]
                y = parent[y]
        a[kept], b[kept], e[kept] = x, y, np.uint32(records[start + i, 1] & _LOW)
        kept += x != y
    for i in range(kept):
        x, y = _root(parent, a[i]), _root(parent, b[i])
        if x == y:
            _undo(parent, a, b, i)
            return _one_by_one(keys, parent, forest, size, a, b, e, kept), 1
        parent[max(x, y)] = min(x, y)
        forest[size + i] = e[i]
    return size + kept, 0


@njit(inline="always")
def _root(parent, x):
    """Return the root of `x` and change nothing, since joins may yet be undone."""
    while parent[x] != x:
        x = parent[x]
    return x


@njit
def _undo(parent, a, b, joined):
    """Make the ends of the first `joined` edges, roots all of them before the batch, roots again."""
    for i in range(joined):
        parent[a[i]] = a[i]
        parent[b[i]] = b[i]


@njit
def _one_by_one(keys, parent, forest, size, a, b, e, count):
    order = np.empty(count, np.uint32)
    rank(keys, e, order)
    for i in order:
        x, y = _root(parent, a[i]), _root(parent, b[i])
        if x != y:
            parent[max(x, y)] = min(x, y)
            forest[size] = e[i]
            size += 1
    return size


@njit
def rank(keys, ids, order):
    """Write the order of the first `ids` by (key, id), as many as there are places in `order`.

    What the keys of a batch differ in is mostly little: two passes of a radix sort by the upper 16 bits of it, before
    them two by the ids unless these mostly ascend already, and by insertion what is left out of order.
    """
    size = order.size
    words, starts = np.empty(size, np.uint64), np.empty(256, np.uint32)
    spare, places = np.empty(size, np.uint64), np.empty(size, np.uint32)
    descents = 0
    for i in range(size):
        order[i], words[i] = i, ids[i]
        descents += words[i] < words[max(i - 1, 0)]
    if 8 * descents > size:
        _sort_by_upper_bits(words, order, starts, spare, places)
    # All keys first: they lie far apart, and so many loads overlap.
    for i in range(size):
        words[i] = key_at(keys, ids[order[i]])
    _sort_by_upper_bits(words, order, starts, spare, places)
    for i in range(1, size):
        word, place, j = words[i], order[i], i
        while j > 0 and (words[j - 1] > word or (words[j - 1] == word and ids[order[j - 1]] > ids[place])):
            words[j], order[j] = words[j - 1], order[j - 1]
            j -= 1
        words[j], order[j] = word, place


@njit
def _sort_by_upper_bits(words, places, starts, spare, spare_places):
    """Sort the words, and the places with them, stably by the upper 16 bits of what the words differ in."""
    low, high = ~_ZERO, _ZERO
    for i in range(words.size):
        low, high = min(low, words[i]), max(high, words[i])
    if low < high:
        shift = _ZERO
        while (high - low) >> shift > _16_BITS:
            shift += _ONE
        _sort_by_byte(words, places, low, shift, starts, spare, spare_places)
        _sort_by_byte(spare, spare_places, low, shift + _BYTE, starts, words, places)


@njit
def _sort_by_byte(words, places, low, shift, starts, to_words, to_places):
    """Write words and places to the other arrays, in the order of eight bits of ``word - low``."""
    for value in range(256):
        starts[value] = np.uint32(0)
    for i in range(words.size):
        starts[((words[i] - low) >> shift) & _255] += np.uint32(1)
    start = np.uint32(0)
    for value in range(256):
        count = starts[value]
        starts[value] = start
        start = np.uint32(start + count)
    for i in range(words.size):
        value = ((words[i] - low) >> shift) & _255
        at = starts[value]
        to_words[at], to_places[at] = words[i], places[i]
        starts[value] = np.uint32(at + np.uint32(1))


@njit
def put_in_order(records, bounds, largest, keys):
    """Sort the records by (key, id) in each bucket of more than `largest`."""
    start = np.int64(0)
    for bucket in range(bounds.size):
        stop = np.int64(bounds[bucket])
        if stop - start > largest and not _in_order(records, start, stop, keys):
            _sort(records, start, stop, keys)
        start = stop


@njit
def _in_order(records, start, stop, keys):
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
    size = stop - start
    words, ids = np.empty(size, np.uint64), np.empty(size, np.uint32)
    spare_words, spare_ids = np.empty(size, np.uint64), np.empty(size, np.uint32)
    for i in range(size):
        words[i], ids[i] = records[start + i, 1] & _LOW, i
    # By id, then by key, which leaves those of one key as they are.
    if sort_words(words, ids, np.int64(0), size, spare_words, spare_ids):
        words, spare_words, ids, spare_ids = spare_words, words, spare_ids, ids
    for i in range(size):
        words[i] = key_at(keys, records[start + ids[i], 1] & _LOW)
    if sort_words(words, ids, np.int64(0), size, spare_words, spare_ids):
        ids = spare_ids
    before = np.empty((size, 2), np.uint64)
    for i in range(size):
        before[i, 0], before[i, 1] = records[start + i, 0], records[start + i, 1]
    for i in range(size):
        records[start + i, 0], records[start + i, 1] = before[ids[i], 0], before[ids[i], 1]


@njit
def refine(tags, count, shift, starts, wanted):
    """Replace ranks by bucket numbers such that no bucket holds many more than `wanted`, where ranks allow it.

    `starts` are those of equally wide buckets (`count_tags`); a crowded one is cut into equal parts. Returns
    how many buckets there are then.
    """
    buckets = np.uint64(0)
    first = np.empty(starts.size, np.uint64)
    finer = np.empty(starts.size, np.uint64)
    for b in range(starts.size):
        stop = np.int64(starts[b + 1]) if b + 1 < starts.size else count
        crowd = (stop - np.int64(starts[b])) // wanted
        cut = np.uint64(0)
        while crowd > 0 and _HALF + cut < shift:
            crowd >>= 1
            cut += np.uint64(1)
        first[b], finer[b] = buckets, shift - cut
        buckets += np.uint64(1) << cut
    for j in range(count):
        tag = tags[j]
        b = tag >> shift
        inside = (tag ^ (b << shift)) >> finer[b]
        tags[j] = ((first[b] + inside) << _HALF) | (tag & _LOW)
    return np.int64(buckets)
