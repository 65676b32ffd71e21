"""Drops the heaviest edge of each cycle closed by a batch; one worker processes one batch.

`mst.kernels.filter_boruvka.parallel.join` calls this once the edges of a batch have linked their trees, in any order;
the edges that found their trees already linked are *closing* edges. The *candidates* are the edges that may lie on a
cycle with a closing edge: those connected to its ends by edges of the batch, whose ends are roots from before the
batch. A search *expands* from the closing edges to find them. It need not continue from one of the roots, the *hub*,
since the other vertices of a cycle through the hub are connected without it. The hub is the giant tree's root, to which
half of a batch may lead. If the search finds too many edges, as in the batches in which the giant tree forms, it is
given up, and *leaves*, edges that are the only one at a root, are *pruned* until a pass removes few. Usually few
candidates are left; they are sorted and joined again, in order.

In the functions, `records`, `chunks`, `closing` and `scratch` are as for `drop_cycle_edges`; `table`, uint64 of a
power-of-two size, is a hash table of roots; `x` and `hub` are roots, unsigned; `places`, int64, and `degrees`, uint8,
are fields of `Scratch`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.parallel.records import ends_at, in_order, is_dropped, set_dropped
from mst.kernels.primitives.hashing import multiplicative_hash
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call
from mst.kernels.union_find.sequential import find

FIRST, CLOSING, LAST = 0, 1, 2
"""Columns of `chunks`: where a chunk's edges between two trees begin, where its closing edges begin, and the end."""

_SLOTS_PER_CLOSING, _SAMPLE, _SMALLEST, _MOST_ROUNDS = 16, 32, 512, 8
_FILTER, _KINDS = 1 << 14, 1 << 12
_FILTER_MASK = np.uint64(_FILTER - 1)
_COUNTS, _FULL = 8, np.uint8(255)
_ONE, _FOUR, _HALF = np.uint64(1), np.uint64(4), np.uint64(32)
_FREE = ~np.uint64(0)


class Scratch(NamedTuple):
    """Scratch space for batches of up to `k` edges, used for one batch at a time.

    It is reused, since the system would otherwise clear new pages for each batch while all workers wait.

    Attributes
    ----------
    degrees : numpy.ndarray of uint8, shape (a power of two ≥ 8 k,)
        The number of edges at each root, by hash.
    table : numpy.ndarray of uint64, shape (a power of two ≥ 4 k,)
        A hash table of roots.
    parent : numpy.ndarray of uint32, shape of `table`
        A union-find over the places of `table`.
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
    """Return scratch space for batches of up to `edges` edges."""
    degrees, size = np.empty(table_size(_COUNTS * edges), np.uint8), table_size(4 * edges)
    places, spare_places = np.empty(edges, np.int64), np.empty(edges, np.int64)
    words, spare_words = np.empty(edges, np.uint64), np.empty(edges, np.uint64)
    table, parent = np.empty(size, np.uint64), np.empty(size, np.uint32)
    return Scratch(degrees, table, parent, places, spare_places, words, spare_words)


@njit
def table_size(entries):
    """Return a power of two that is at least `entries`."""
    size = _SMALLEST
    while size < entries:
        size *= 2
    return size


@njit
def drop_cycle_edges(records, chunks, closing, scratch):
    """Mark exactly those edges of a batch as dropped that are the heaviest of a cycle.

    Parameters
    ----------
    records : PackedRecords, Records or WideRecords
        Their ends are roots from before the batch; only the marks of dropped edges change.
    chunks : numpy.ndarray of int64, shape (chunks of the batch, 3)
        Columns `FIRST`, `CLOSING`, `LAST`.
    closing : int
        The number of closing edges of the batch.
    scratch : Scratch
    """
    table, found = call(candidates, records, chunks, closing, scratch)
    words = scratch.words[:found]
    order = in_order(
        records, scratch.places[:found], scratch.spare_places[:found], words, scratch.spare_words[:found]
    )
    # A root is represented by its place in the table. All look-ups come first, so that they overlap.
    for j in range(found):
        a, b = ends_at(records, order[j])
        words[j] = np.uint64(insert(table, a)) | np.uint64(insert(table, b)) << _HALF
    parent = scratch.parent[: table.size]
    for at in range(parent.size):
        parent[at] = at
    for j in range(found):
        x, y = find(parent, np.uint32(words[j])), find(parent, np.uint32(words[j] >> _HALF))
        parent[x] = y
        set_dropped(records, order[j], x == y)


@njit
def candidates(records, chunks, closing, scratch):
    """Write the places of the edges that may lie on a cycle to ``scratch.places``.

    Return a table with space for the ends of these edges, and how many they are.
    """
    count = edges_between(chunks, FIRST, LAST)
    size = table_size(_SLOTS_PER_CLOSING * closing)
    if size < count:
        table = empty_table(scratch, size)
        found = call(expand, records, chunks, table, scratch.places)
        if found:
            return table, found
    degrees = scratch.degrees[: table_size(_COUNTS * count)]
    found = call(prune_leaves, records, chunks, degrees, scratch.places)
    return empty_table(scratch, table_size(4 * found)), found


@njit
def edges_between(chunks, begin, end):
    """Return how many edges lie between two columns of `chunks`, `begin` and `end`, in all chunks together."""
    count = np.int64(0)
    for chunk in range(len(chunks)):
        count += chunks[chunk, end] - chunks[chunk, begin]
    return count


@njit
def empty_table(scratch, size):
    """Return the first `size` slots of the scratch space's table, emptied."""
    table = scratch.table[:size]
    table[:] = _FREE
    return table


@njit
def expand(records, chunks, table, places):
    """Write the places of all edges connected to closing edges; return how many, 0 if the search is given up.

    The search is given up if the table gets too full or after too many rounds. The ends of the edges found are inserted
    into the table, and all but the closing edges are marked as dropped, so that none is found twice.
    """
    seen, hub = np.zeros(_FILTER, np.bool_), most_common_end(records, chunks)
    found = used = 0
    for chunk in range(len(chunks)):
        for i in range(chunks[chunk, CLOSING], chunks[chunk, LAST]):
            a, b = ends_at(records, i)
            used += add(table, seen, a, hub) + add(table, seen, b, hub)
            places[found] = i
            found += 1
    # Chunks are searched in rounds, until a whole round finds nothing new.
    chunk = without_new = rounds = 0
    while without_new < len(chunks):
        without_new += 1
        for i in possibly_reached(records, chunks[chunk, FIRST], chunks[chunk, CLOSING], seen):
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
    """Write the places of all edges but the pruned leaves to `places`; return how many. All marks are cleared.

    `degrees`, uint8 of a power-of-two size, is overwritten with the number of edges by the hash of a root. A leaf whose
    root shares its hash with another is not found, which costs time but is harmless.
    """
    degrees[:] = 0
    found = np.uint64(0)
    for chunk in range(len(chunks)):
        for i in range(chunks[chunk, FIRST], chunks[chunk, LAST]):
            # A search that was given up has marked some edges as dropped.
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
    """Return whether edge `i` is the only one at one of its ends; if so, remove it from `degrees`."""
    a, b = ends_at(records, i)
    at_a, at_b = _hashed(a, degrees), _hashed(b, degrees)
    degree_a, degree_b = degrees[at_a], degrees[at_b]
    leaf = (degree_a == 1) | (degree_b == 1)
    # Always written, since a branch would be mispredicted; a full count stays full.
    degrees[at_a] = degree_a - np.uint8(leaf & (degree_a < _FULL))
    degrees[at_b] = degree_b - np.uint8(leaf & (degree_b < _FULL))
    return leaf


@njit
def possibly_reached(records, first, last, seen):
    """Return the places, int64, of those edges ``first … last - 1`` that may have an end in the table.

    `seen`, bool of shape (16384,), is True at the lower bits of the roots in the table.
    """
    places, count = np.empty(last - first, np.int64), np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        a, b = ends_at(records, i)
        # A branch would double the time.
        places[count] = i
        count += np.uint64(seen[a & _FILTER_MASK] | seen[b & _FILTER_MASK])
    return places[:count]


@njit
def most_common_end(records, chunks):
    """Return the end, uint64, that is nearly always the most common in a sample of the edges that linked trees.

    Ends are counted by their hash; the sample must have fewer than 65,536.
    """
    each = (_SAMPLE + len(chunks) - 1) // len(chunks)
    counts, most, best = np.zeros(_KINDS, np.uint16), np.uint16(0), _FREE
    for chunk in range(len(chunks)):
        first, last = chunks[chunk, FIRST], chunks[chunk, CLOSING]
        for j in range(each if first < last else 0):
            a, b = ends_at(records, first + j * (last - first) // each)
            for end in (np.uint64(a), np.uint64(b)):
                at = _hashed(end, counts)
                counts[at] += np.uint16(1)
                if counts[at] > most:
                    most, best = counts[at], end
    return best


@njit(inline="always")
def _hashed(x, table):
    """Return a place, uint64, for `x` in a table whose size is a power of two."""
    return multiplicative_hash(x) >> _HALF & np.uint64(table.size - 1)


@njit(inline="always")
def _slot(table, x):
    """Return the place of `x` in a table, or the free place for it; the table must not be full."""
    at = _hashed(x, table)
    while table[at] != x and table[at] != _FREE:
        at = (at + _ONE) & np.uint64(table.size - 1)
    return at


@njit(inline="always")
def has(table, x):
    """Return whether `x` is in the table."""
    return table[_slot(table, x)] == x


@njit(inline="always")
def insert(table, x):
    """Insert `x` into the table unless it is there; return its place."""
    at = _slot(table, x)
    table[at] = x
    return at


@njit(inline="always")
def add(table, seen, x, hub):
    """Insert `x` into the table unless it is `hub`, and mark its lower bits in `seen`; return whether it is new.

    `seen` is as for `possibly_reached`.
    """
    if x == hub:
        return False
    at = _slot(table, x)
    new = table[at] != x
    table[at] = x
    seen[np.uint64(x) & _FILTER_MASK] = True
    return new
