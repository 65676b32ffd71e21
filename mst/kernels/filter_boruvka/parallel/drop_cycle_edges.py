"""Which edges of a joined batch belong to the forest, where some closed a cycle: one worker sees to a batch.

The edges of a batch linked their trees in any order, and some, the *closing* edges, found theirs linked already
(`mst.kernels.filter_boruvka.parallel.join`). Only edges that can lie on a cycle with one of these need a decision: all
that the batch's edges connect to their ends, among the roots of that batch. The search *expands* from the closing
edges. One root may be left out of it, since a cycle through it also connects its other vertices without it: the giant
tree's, to which half of a batch may lead. Where the search finds much, as in the batches in which the giant tree grows
together, *leaves* are *pruned* instead, the edges that alone lead to some root, until few more come off. Mostly little
is left; it is sorted and joined once more, in order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.parallel.records import ends_at, in_order, is_dropped, set_dropped
from mst.kernels.primitives.hashing import multiplicative_hash
from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.sequential import find

FIRST, CLOSING, LAST = 0, 1, 2
"""Columns of `chunks`: where a chunk's edges between two trees begin, where its closing edges begin, and the end."""

_SLOTS_PER_CLOSING, _SAMPLE, _SMALLEST, _MOST_ROUNDS = 16, 32, 512, 8
_FILTER = 1 << 14
_FILTER_MASK = np.uint64(_FILTER - 1)
_COUNTS, _FULL = 8, np.uint8(255)
_ONE, _FOUR, _HALF = np.uint64(1), np.uint64(4), np.uint64(32)
_FREE = ~np.uint64(0)


class Scratch(NamedTuple):
    """Space to see to batches of up to `k` edges, one after the other.

    New pages for each batch would be cleared while all workers wait for it.

    Attributes
    ----------
    degrees : numpy.ndarray of uint8, shape (a power of two from 8 k on,)
        Hashed counts of edges at each root.
    table : numpy.ndarray of uint64, shape (a power of two from 4 k on,)
        A hash table of roots.
    parent : numpy.ndarray of uint32, the table's shape
        A union-find over the places of the table.
    places, spare_places : numpy.ndarray of int64, shape (k,)
    words, spare_words : numpy.ndarray of uint64, shape (k,)
    """

    degrees: np.ndarray
    table: np.ndarray
    parent: np.ndarray
    places: np.ndarray
    spare_places: np.ndarray
    words: np.ndarray
    spare_words: np.ndarray


@njit
def new_scratch(edges):
    """Return space for batches of up to so many edges."""
    degrees, size = np.empty(table_size(_COUNTS * edges), np.uint8), table_size(4 * edges)
    places, spare_places = np.empty(edges, np.int64), np.empty(edges, np.int64)
    words, spare_words = np.empty(edges, np.uint64), np.empty(edges, np.uint64)
    table, parent = np.empty(size, np.uint64), np.empty(size, np.uint32)
    return Scratch(degrees, table, parent, places, spare_places, words, spare_words)


@njit
def table_size(entries):
    """Return a power of two with space for so many entries."""
    size = _SMALLEST
    while size < entries:
        size *= 2
    return size


@njit
def drop_cycle_edges(records, chunks, closing, scratch):
    """Drop those edges of a batch that are the heaviest of a cycle, in place of those that came last.

    Parameters
    ----------
    records : PackedRecords, Records or WideRecords
        Ends are roots from before the batch.
    chunks : numpy.ndarray of int64, shape (chunks of the batch, 3)
        Columns `FIRST`, `CLOSING`, `LAST`.
    closing : int
        Closing edges of the batch.
    scratch : Scratch
    """
    table, found = candidates(records, chunks, closing, scratch)
    words = scratch.words[:found]
    order = in_order(
        records, scratch.places[:found], scratch.spare_places[:found], words, scratch.spare_words[:found]
    )
    # Places of the table stand for the roots. All of an edge's ends first: searches do not wait for each other.
    for j in range(found):
        a, b = ends_at(records, order[j])
        words[j] = np.uint64(enter(table, a)) | np.uint64(enter(table, b)) << _HALF
    parent = scratch.parent[: table.size]
    for at in range(parent.size):
        parent[at] = at
    for j in range(found):
        x, y = find(parent, np.uint32(words[j])), find(parent, np.uint32(words[j] >> _HALF))
        parent[x] = y
        set_dropped(records, order[j], x == y)


@njit
def candidates(records, chunks, closing, scratch):
    """Return a table with space for the ends of all edges that may lie on a cycle, and how many these edges are.

    Their places are the first of the scratch's.
    """
    count = np.sum(chunks[:, LAST] - chunks[:, FIRST])
    size = table_size(_SLOTS_PER_CLOSING * closing)
    if size < count:
        table = cleared(scratch, size)
        found = expand(records, chunks, table, scratch.places)
        if found:
            return table, found
    found = prune_leaves(records, chunks, scratch.degrees[: table_size(_COUNTS * count)], scratch.places)
    return cleared(scratch, table_size(4 * found)), found


@njit
def cleared(scratch, size):
    """Return an empty table of this size."""
    table = scratch.table[:size]
    table[:] = _FREE
    return table


@njit
def expand(records, chunks, table, places):
    """Collect all edges that are connected to the closing ones; return how many, 0 if the table has no space.

    Their places are written, their roots entered into the table, and all but the closing edges dropped for now.
    """
    seen, hub = np.zeros(_FILTER, np.bool_), commonest_end(records, chunks)
    found = used = 0
    for chunk in range(len(chunks)):
        for i in range(chunks[chunk, CLOSING], chunks[chunk, LAST]):
            a, b = ends_at(records, i)
            used += add(table, seen, a, hub) + add(table, seen, b, hub)
            places[found] = i
            found += 1
    # From chunk to chunk, round and round, until a whole round has found nothing new.
    chunk = without_new = rounds = 0
    while without_new < len(chunks):
        without_new += 1
        for i in near_ones(records, chunks[chunk, FIRST], chunks[chunk, CLOSING], seen):
            a, b = ends_at(records, i)
            if (has(table, a) | has(table, b)) and not is_dropped(records, i):
                set_dropped(records, i, True)
                places[found] = i
                found += 1
                new = add(table, seen, a, hub) + add(table, seen, b, hub)
                if new:
                    without_new, used = 0, used + new
                    if 4 * used > table.size:
                        return 0
        chunk += 1
        if chunk == len(chunks):
            chunk, rounds = 0, rounds + 1
            if rounds == _MOST_ROUNDS:
                return 0
    return found


@njit
def prune_leaves(records, chunks, degrees, places):
    """Write the places of all edges but those that are soon found to lie on no cycle; return how many. None is dropped.

    `degrees`, the number of edges at each root, may be shared by several roots: then some leaves are not found.
    """
    degrees[:] = 0
    found = np.uint64(0)
    for chunk in range(len(chunks)):
        for i in range(chunks[chunk, FIRST], chunks[chunk, LAST]):
            # A search that gave up has dropped some.
            set_dropped(records, i, False)
            a, b = ends_at(records, i)
            for at in (_hashed(a, degrees), _hashed(b, degrees)):
                degrees[at] += np.uint8(degrees[at] < _FULL)
            places[found] = i
            found += _ONE
    before = found + found
    while found + found // _FOUR < before:
        before, found = found, np.uint64(0)
        for j in range(before):
            i = places[j]
            places[found] = i
            found += np.uint64(not prune_if_leaf(records, i, degrees))
    return np.int64(found)


@njit(inline="always")
def prune_if_leaf(records, i, degrees):
    """Return whether edge `i` alone leads to one of its ends; it is not counted any more then."""
    a, b = ends_at(records, i)
    at_a, at_b = _hashed(a, degrees), _hashed(b, degrees)
    degree_a, degree_b = degrees[at_a], degrees[at_b]
    leaf = (degree_a == 1) | (degree_b == 1)
    # Written in any case, since a branch would be guessed wrong; a full count stays full.
    degrees[at_a] = degree_a - np.uint8(leaf & (degree_a < _FULL))
    degrees[at_b] = degree_b - np.uint8(leaf & (degree_b < _FULL))
    return leaf


@njit
def near_ones(records, first, last, seen):
    """Return the places of the edges of ``first … last - 1`` that may have been seen at one end or both."""
    places, count = np.empty(last - first, np.int64), np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        a, b = ends_at(records, i)
        # Without a branch, which would take as long again.
        places[count] = i
        count += np.uint64(seen[a & _FILTER_MASK] | seen[b & _FILTER_MASK])
    return places[:count]


@njit
def commonest_end(records, chunks):
    """Return the root that most of a sample of linking edges lead to."""
    each = (_SAMPLE + len(chunks) - 1) // len(chunks)
    sample = np.empty(2 * each * len(chunks), np.uint64)
    for chunk in range(len(chunks)):
        first, last = chunks[chunk, FIRST], chunks[chunk, CLOSING]
        for j in range(each):
            at = 2 * (chunk * each + j)
            if first < last:
                sample[at], sample[at + 1] = ends_at(records, first + j * (last - first) // each)
            else:
                sample[at], sample[at + 1] = _FREE, _FREE
    sample.sort()
    best, longest, run = sample[0], 1, 1
    for j in range(1, sample.size):
        run = run + 1 if sample[j] == sample[j - 1] else 1
        if run > longest and sample[j] != _FREE:
            best, longest = sample[j], run
    return best


@njit(inline="always")
def _hashed(x, table):
    """Return a place for `x` in a table whose size is a power of two."""
    return multiplicative_hash(x) >> _HALF & np.uint64(table.size - 1)


@njit(inline="always")
def _slot(table, x):
    """Return the place of `x` in a table that is not full, or the free one where it would go."""
    at = _hashed(x, table)
    while table[at] != x and table[at] != _FREE:
        at = (at + _ONE) & np.uint64(table.size - 1)
    return at


@njit(inline="always")
def has(table, x):
    """Return whether `x` is in the table."""
    return table[_slot(table, x)] == x


@njit(inline="always")
def enter(table, x):
    """Return the place of `x` in the table, where it is from now on."""
    at = _slot(table, x)
    table[at] = x
    return at


@njit(inline="always")
def add(table, seen, x, hub):
    """Enter `x` unless it is `hub`, and mark its lower bits as seen; return whether it is new."""
    if x == hub:
        return False
    at = _slot(table, x)
    new = table[at] != x
    table[at] = x
    seen[np.uint64(x) & _FILTER_MASK] = True
    return new
