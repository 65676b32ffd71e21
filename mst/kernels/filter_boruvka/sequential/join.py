"""Kruskal in batches: edges are joined about a hundred at a time, without a full sort.

This is the last step of a round, after `mst.kernels.filter_boruvka.sequential.scatter`, each of whose buckets is about
one batch. The roots of all ends of a batch are looked up first, so that no look-up waits for another; then all edges
between different trees are joined. If none closes a cycle, Kruskal would have taken all of them in any order, and no
sort is needed. If one does, the batch's joins are undone and repeated in the order of (key, id). With n^(1/3) edges per
batch, this rarely happens until few trees are left.

In the kernels, `keys` are `LazyKeys` by edge id, `forest` is a `Forest`, and `parent` a field of `Forest`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch_to_write
from mst.kernels.union_find.sequential import find, fourth_ancestor

_AHEAD = np.uint64(32)
_HALF = np.uint64(32)
_ZERO, _ONE, _LOW = np.uint64(0), np.uint64(1), np.uint64(0xFFFFFFFF)
_FEW = 64
_BYTE, _255, _16_BITS = np.uint64(8), np.uint64(255), np.uint64(0xFFFF)


class Forest(NamedTuple):
    """The trees and their edges.

    Attributes
    ----------
    parent : numpy.ndarray of uint32, shape (n,)
        A union-find whose parents have the smaller index.
    edges : numpy.ndarray of uint32, shape (n,)
        Edge ids of the forest, from the front; kernels may write past the last.
    """

    parent: np.ndarray
    edges: np.ndarray


class Buckets(NamedTuple):
    """How edges are divided by level into buckets, and buckets into batches.

    Attributes
    ----------
    shift : uint64
        The bucket of a code is ``code >> shift``.
    starts : numpy.ndarray of uint32, shape (buckets,)
        The start of each bucket; scattering advances it to the end.
    smallest, largest : int
        Limits on the records per batch; buckets above `largest` are sorted and split.
    uneven : bool
        Whether there may be buckets above `largest`.
    settled : numpy.ndarray of bool, shape (buckets,)
        Buckets that need not be sorted, since their edges will ascend by (key, id).
    """

    shift: np.uint64
    starts: np.ndarray
    smallest: int
    largest: int
    uneven: bool
    settled: np.ndarray


class _Batch(NamedTuple):
    """Roots of both ends, and ids, of the edges of one batch that lie between two trees: uint32 of one length."""

    a: np.ndarray
    b: np.ndarray
    ids: np.ndarray


@njit
def join(records, buckets, smallest, largest, keys, forest, size):
    """Join the edges of all buckets to the forest, in order, in batches of at least `smallest` records.

    Parameters
    ----------
    records : numpy.ndarray of uint64, shape (k, 2)
        From `scatter`, by bucket.
    buckets : numpy.ndarray of uint32, shape (buckets,)
        The end of each bucket.
    smallest, largest : int
        Buckets above `largest` records are cut into batches; `scatter.sort_large_buckets` must have sorted them.
    keys : LazyKeys
    forest : Forest
        Edges are appended to it.
    size : int
        The number of edges in the forest so far.

    Returns
    -------
    size, batches, conflicts : int
        The numbers of edges in the forest now, of batches, and of batches that closed a cycle.
    """
    ends, in_order = batch_ends(buckets, smallest, largest)
    size, conflicts = join_batches(records, ends, in_order, smallest, keys, forest, size)
    return size, ends.size, conflicts


@njit
def batch_ends(buckets, smallest, largest):
    """Return the end of each batch, int64 (batches,), and whether it was cut from a sorted bucket, bool (batches,).

    `buckets`, `smallest` and `largest` are as for `join`.
    """
    ends = np.empty(np.int64(buckets[-1]) // smallest + 2 * buckets.size + 1, np.int64)
    in_order = np.zeros(ends.size, np.bool_)
    batches = start = before = np.int64(0)
    for bucket in range(buckets.size):
        stop = np.int64(buckets[bucket])
        if stop - before > largest:
            # Only large buckets are sorted, so records that are left before one must not get into its batches.
            for cut in range(before, stop, smallest):
                ends[batches], in_order[batches] = cut, cut > before
                batches += cut > start
            start, in_order[batches] = before, True
        if stop - start >= smallest or bucket == buckets.size - 1:
            ends[batches] = start = stop
            batches += 1
        before = stop
    return ends[:batches], in_order[:batches]


@njit
def join_batches(records, ends, in_order, smallest, keys, forest, size):
    """Join the edges of all batches to a forest of `size` edges; `ends` and `in_order` are from `batch_ends`.

    A batch of fewer than `smallest` records is joined together with the next one. Returns the number of edges in the
    forest now, and the number of batches that closed a cycle and were not in order.
    """
    start = longest = np.int64(0)
    for stop in ends:
        longest, start = max(longest, stop - start), stop
    space = smallest + longest
    batch = _Batch(np.empty(space, np.uint32), np.empty(space, np.uint32), np.empty(space, np.uint32))
    # Unpacked once: each access to an array in a tuple changes its reference count.
    parent, taken, (a, b, ids) = forest.parent, forest.edges, batch
    # Unsigned: a signed index might count from the end of an array. Two words are a record.
    words, first, conflicts = records.reshape(-1), _ZERO, np.int64(0)
    last = np.uint64(words.size - 2)
    for end in range(ends.size):
        count = np.uint64(ends[end]) - (first >> _ONE)
        if count < np.uint64(smallest) and end < ends.size - 1:
            continue
        ordered = in_order[end] and first >> _ONE == np.uint64(ends[end - 1] if end else 0)
        for i in range(count):
            # Prefetched, since four dependent loads per end fill the processor's buffers with few records.
            far = words[min(first + ((i + _AHEAD) << _ONE), last)]
            prefetch_to_write(parent, far & _LOW)
            prefetch_to_write(parent, far >> _HALF)
            pair = words[first + (i << _ONE)]
            a[i] = fourth_ancestor(parent, pair & _LOW)
            b[i] = fourth_ancestor(parent, pair >> _HALF)
        kept = _ZERO
        for i in range(count):
            x, y = a[i], b[i]
            if (parent[x] != x) | (parent[y] != y):
                x, y = find(parent, x), find(parent, y)
            a[kept], b[kept], ids[kept] = x, y, np.uint32(words[first + (i << _ONE) | _ONE])
            kept += np.uint64(x != y)
        first += count << _ONE
        if ordered:
            for i in range(kept):
                x, y = find(parent, a[i]), find(parent, b[i])
                if x != y:
                    parent[max(x, y)] = min(x, y)
                    taken[np.uint64(size)] = ids[i]
                    size += 1
            continue
        joined = _ZERO
        while joined < kept:
            x, y = find(parent, a[joined]), find(parent, b[joined])
            if x == y:
                break
            parent[max(x, y)] = min(x, y)
            taken[np.uint64(size) + joined] = ids[joined]
            joined += _ONE
        if joined == kept:
            size += np.int64(kept)
        else:
            _undo(parent, a, b, joined)
            size = call(_join_in_order, keys, forest, size, batch, np.int64(kept))
            conflicts += 1
    return size, conflicts


@njit
def _undo(parent, a, b, joined):
    """Make the ends of the first `joined` edges, `a` and `b` of a `_Batch`, roots again, as before the batch.

    No other parents have changed since: a look-up from one end only passes such ends.
    """
    for i in range(joined):
        parent[a[i]] = a[i]
        parent[b[i]] = b[i]


@njit
def _join_in_order(keys, forest, size, batch, count):
    """Join the first `count` edges of a batch in the order of (key, id); return the size of the forest."""
    parent = forest.parent
    order = np.empty(count, np.uint32)
    call(sort_by_key, keys, batch.ids, order)
    for i in order:
        x, y = find(parent, batch.a[i]), find(parent, batch.b[i])
        if x != y:
            parent[max(x, y)] = min(x, y)
            forest.edges[size] = batch.ids[i]
            size += 1
    return size


@njit
def sort_by_key(keys, ids, order):
    """Sort the first edges of `ids` by (key, id): write their places in `ids` to `order`, in that order.

    `order` is uint32 of shape (count,), `ids` uint32 of shape (count,) or more. Few edges are sorted by insertion;
    more are nearly sorted before.
    """
    size = order.size
    words = np.empty(size, np.uint64)
    if size > _FEW:
        call(_nearly_sort_by_key, keys, ids, order, words)
    else:
        for i in range(size):
            order[i], words[i] = i, key_at(keys, ids[i])
    for i in range(1, size):
        word, place, j = words[i], order[i], i
        while j > 0 and (words[j - 1] > word or (words[j - 1] == word and ids[order[j - 1]] > ids[place])):
            words[j], order[j] = words[j - 1], order[j - 1]
            j -= 1
        words[j], order[j] = word, place


@njit
def _nearly_sort_by_key(keys, ids, order, words):
    """Write the places of the first edges of `ids` to `order`, nearly by (key, id), and their keys to `words`, uint64.

    The keys of a batch mostly differ in few bits. Two passes of radix sort order the edges by the upper 16 of these
    bits; unless ids mostly ascend, two passes by id come before. Edges that descend are reversed instead.
    """
    size = order.size
    starts, spare, places = np.empty(256, np.uint32), np.empty(size, np.uint64), np.empty(size, np.uint32)
    descents = 0
    for i in range(size):
        order[i], words[i] = i, ids[i]
        descents += words[i] < words[max(i - 1, 0)]
    if 8 * descents > size:
        _sort_by_upper_bits(words, order, starts, spare, places)
    # All keys are loaded first: they are far apart in memory, and their loads overlap.
    for i in range(size):
        words[i] = key_at(keys, ids[order[i]])
    falls = 0
    for i in range(1, size):
        equal = words[i] == words[i - 1]
        falls += (words[i] < words[i - 1]) | (equal & (ids[order[i]] < ids[order[i - 1]]))
    if falls == 0:
        return
    if falls == size - 1:
        # By a loop, since numba would compile the error for slices of different shapes (compile-time.md).
        for i in range(size // 2):
            order[i], order[size - 1 - i] = order[size - 1 - i], order[i]
            words[i], words[size - 1 - i] = words[size - 1 - i], words[i]
        return
    _sort_by_upper_bits(words, order, starts, spare, places)


@njit
def _sort_by_upper_bits(words, places, starts, spare, spare_places):
    """Stably sort words, and their places with them, by the upper 16 bits of ``word - low``, `low` the least word.

    `words` and `spare` are uint64, both places uint32, all of one shape; `starts`, uint32 (256,), is scratch.
    """
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
    """Write words and places to the other arrays, stably sorted by 8 bits of ``word - low`` from bit `shift` on.

    The arrays are as for `_sort_by_upper_bits`; `low` and `shift` are uint64.
    """
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
