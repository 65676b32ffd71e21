"""Which edges of a joined batch belong to the forest, where some closed a cycle: one thread settles a batch.

The edges of a batch linked their trees in any order, and some, the *surplus* edges, found theirs linked already
(`mst.kernels.filter_boruvka.parallel_join`). Only what can lie on a cycle with one of these has to be settled:
whatever the batch's
edges connect to their ends, among the roots of that batch. One root may be left out of that search, since a cycle
through it also connects its other vertices without it: the giant tree's, to which half of a batch may lead. Where the
search finds much, as in the batches in which the giant tree grows together, edges are taken off instead that alone lead
to some root, as leaves are, until few more come off. What is left is sorted and joined once more, in order; mostly that
is little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.batch_edges import drop, dropped, ends_at, in_order
from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.sequential import find

FIRST, LINKED, LAST = 0, 1, 2
"""Columns of `parts`: of each chunk, where it begins, where its surplus edges begin, and where these end."""

_ROOM, _SAMPLE, _SMALLEST, _TURNS = 16, 32, 512, 8
_SIEVE = 1 << 14
_SIFTED = np.uint64(_SIEVE - 1)
_COUNTS, _MANY = 8, np.uint8(255)
_ONE, _FOUR, _HALF = np.uint64(1), np.uint64(4), np.uint64(32)
_NOBODY = ~np.uint64(0)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Desk(NamedTuple):
    """Scratch to settle batches one after the other: new pages for each would be cleared while everybody waits for it.

    `counts`, `table` and `above` have so many places and more for each of the edges that `places` and the others have
    space for: `_COUNTS`, four and four.
    """

    counts: np.ndarray
    table: np.ndarray
    above: np.ndarray
    places: np.ndarray
    spare: np.ndarray
    words: np.ndarray
    spare_words: np.ndarray


@njit
def new_desk(edges):
    """Return space to settle batches of up to so many edges."""
    counts, size = np.empty(table_size(_COUNTS * edges), np.uint8), table_size(4 * edges)
    places, spare = np.empty(edges, np.int64), np.empty(edges, np.int64)
    words, spare_words = np.empty(edges, np.uint64), np.empty(edges, np.uint64)
    return Desk(counts, np.empty(size, np.uint64), np.empty(size, np.uint32), places, spare, words, spare_words)


@njit
def table_size(entries):
    """Return a power of two with space for so many entries."""
    size = _SMALLEST
    while size < entries:
        size *= 2
    return size


@njit
def settle(edges, parts, surplus, desk):
    """Drop those edges of a batch that are the heaviest of a cycle, in place of those that came last."""
    table, found = in_question(edges, parts, surplus, desk)
    words = desk.words[:found]
    order = in_order(edges, desk.places[:found], desk.spare[:found], words, desk.spare_words[:found])
    # Places of the table stand for the vertices. All of an edge's ends first: searches do not wait for each other.
    for j in range(found):
        a, b = ends_at(edges, order[j])
        words[j] = np.uint64(enter(table, a)) | np.uint64(enter(table, b)) << _HALF
    above = desk.above[: table.size]
    for at in range(above.size):
        above[at] = at
    for j in range(found):
        x, y = find(above, np.uint32(words[j])), find(above, np.uint32(words[j] >> _HALF))
        above[x] = y
        drop(edges, order[j], x == y)


@njit
def in_question(edges, parts, surplus, desk):
    """Return a table with space for the ends of all edges that may lie on a cycle, and how many these edges are.

    Their places are the first of the desk's.
    """
    count = np.sum(parts[:, LAST] - parts[:, FIRST])
    size = table_size(_ROOM * surplus)
    if size < count:
        table = cleared(desk, size)
        found = flood(edges, parts, table, desk.places)
        if found:
            return table, found
    found = peel(edges, parts, desk.counts[: table_size(_COUNTS * count)], desk.places)
    return cleared(desk, table_size(4 * found)), found


@njit
def cleared(desk, size):
    """Return an empty table of this size."""
    table = desk.table[:size]
    table[:] = _NOBODY
    return table


@njit
def flood(edges, parts, table, places):
    """Enter whatever edges connect to the surplus ones; return how many these are, 0 if the table has no space."""
    sieve, hub = np.zeros(_SIEVE, np.bool_), commonest_end(edges, parts)
    found = used = 0
    for part in range(len(parts)):
        for i in range(parts[part, LINKED], parts[part, LAST]):
            a, b = ends_at(edges, i)
            used += add(table, sieve, a, hub) + add(table, sieve, b, hub)
            places[found] = i
            found += 1
    # From part to part, round and round, until a whole round has found nothing new.
    part = quiet = turns = 0
    while quiet < len(parts):
        quiet += 1
        for i in near_ones(edges, parts[part, FIRST], parts[part, LINKED], sieve):
            a, b = ends_at(edges, i)
            if (has(table, a) | has(table, b)) and not dropped(edges, i):
                drop(edges, i, True)
                places[found] = i
                found += 1
                new = add(table, sieve, a, hub) + add(table, sieve, b, hub)
                if new:
                    quiet, used = 0, used + new
                    if 4 * used > table.size:
                        return 0
        part += 1
        if part == len(parts):
            part, turns = 0, turns + 1
            if turns == _TURNS:
                return 0
    return found


@njit
def peel(edges, parts, counts, places):
    """Write the places of all edges but those that are soon found to lie on no cycle; return how many. None is dropped.

    `counts` of edges at each vertex may be shared by several vertices: then some edges are not found.
    """
    counts[:] = 0
    found = np.uint64(0)
    for part in range(len(parts)):
        for i in range(parts[part, FIRST], parts[part, LAST]):
            # A search that gave up has dropped some.
            drop(edges, i, False)
            a, b = ends_at(edges, i)
            for at in (_hashed(a, counts), _hashed(b, counts)):
                counts[at] += np.uint8(counts[at] < _MANY)
            places[found] = i
            found += _ONE
    before = found + found
    while found + found // _FOUR < before:
        before, found = found, np.uint64(0)
        for j in range(before):
            i = places[j]
            places[found] = i
            found += np.uint64(not taken_off(edges, i, counts))
    return np.int64(found)


@njit(inline="always")
def taken_off(edges, i, counts):
    """Return whether edge `i` alone leads to one of its ends; it is not counted any more then."""
    a, b = ends_at(edges, i)
    at_a, at_b = _hashed(a, counts), _hashed(b, counts)
    count_a, count_b = counts[at_a], counts[at_b]
    leaf = (count_a == 1) | (count_b == 1)
    # Written in any case, since a branch would be guessed wrong; a full count stays full.
    counts[at_a] = count_a - np.uint8(leaf & (count_a < _MANY))
    counts[at_b] = count_b - np.uint8(leaf & (count_b < _MANY))
    return leaf


@njit
def near_ones(edges, first, last, sieve):
    """Return the places of the edges of ``first … last - 1`` that the sieve lets through at one end or both."""
    places, count = np.empty(last - first, np.int64), np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        a, b = ends_at(edges, i)
        # Without a branch, which would take as long again.
        places[count] = i
        count += np.uint64(sieve[a & _SIFTED] | sieve[b & _SIFTED])
    return places[:count]


@njit
def commonest_end(edges, parts):
    """Return the vertex that most of a sample of linking edges lead to."""
    each = (_SAMPLE + len(parts) - 1) // len(parts)
    sample = np.empty(2 * each * len(parts), np.uint64)
    for part in range(len(parts)):
        first, last = parts[part, FIRST], parts[part, LINKED]
        for j in range(each):
            at = 2 * (part * each + j)
            if first < last:
                sample[at], sample[at + 1] = ends_at(edges, first + j * (last - first) // each)
            else:
                sample[at], sample[at + 1] = _NOBODY, _NOBODY
    sample.sort()
    best, longest, run = sample[0], 1, 1
    for j in range(1, sample.size):
        run = run + 1 if sample[j] == sample[j - 1] else 1
        if run > longest and sample[j] != _NOBODY:
            best, longest = sample[j], run
    return best


@njit(inline="always")
def _hashed(x, table):
    """Return a place for `x` in a table whose size is a power of two."""
    return (np.uint64(x) * _GOLDEN) >> _HALF & np.uint64(table.size - 1)


@njit(inline="always")
def _slot(table, x):
    """Return the place of `x` in a table that is not full, or the free one where it would go."""
    at = _hashed(x, table)
    while table[at] != x and table[at] != _NOBODY:
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
def add(table, sieve, x, hub):
    """Enter `x` unless it is `hub`; return whether it is new."""
    if x == hub:
        return False
    at = _slot(table, x)
    new = table[at] != x
    table[at] = x
    sieve[np.uint64(x) & _SIFTED] = True
    return new
