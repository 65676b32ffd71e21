"""Which edges belong to a part of the order, of an edge list or of symmetric compressed sparse rows.

A *source* is a tuple of arrays; an edge has a *place* in it:

======================================= =====================================================================
``(words, u, v)``                       an edge list: places are edge ids
``(words, neighbours, ids, offsets)``   rows: places are slots, and an edge is taken at one of its two
`Kept`                                  some edges of another source, in no particular order
======================================= =====================================================================

`words` are the weights' bits (`mst.kernels.parallel.keys`). What data decides at random is written always and
kept by advancing an index: there is no branch then to mispredict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from mst.kernels.parallel.keys import key_of
from mst.kernels.primitives.jit import njit

BLOCK = 1024
_VECTOR, _PART = np.uint64(64), np.uint64(16)
_ONE, _SIX, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


class Kept(NamedTuple):
    """Edges that were copied out of another source."""

    words: np.ndarray
    u: np.ndarray
    v: np.ndarray
    ids: np.ndarray


def has_rows(source) -> bool:
    """Return whether a source, or numba's type of one, is made of rows."""
    return len(source) == 4 and getattr(source, "instance_class", type(source)) is not Kept


def _compiled_only(*arguments):
    raise NotImplementedError("for compiled code only")


def row_near(source, place):
    """Return the row of a place, by bisection."""
    return _compiled_only()


def row_of(source, place, row):
    """Return the row of a place that is not before `row`; an edge list has only row 0."""
    return _compiled_only()


def edge_at(source, place, row):
    """Return both ends and the id of the edge at a place of a row."""
    return _compiled_only()


def pick(source, kind, first, last, low, high, rare, inside, picked):
    """Write the places of ``first … last - 1`` whose keys lie in `low` … `high` to `picked`; return how many.

    With a bitmap `inside`, edges whose ends both lie inside are left out. `rare` says that most stretches have
    none; `picked` has room for them and one more.
    """
    return _compiled_only()


def pick_outside(source, first, last, inside, picked):
    """Write the places of ``first … last - 1`` whose ends do not both lie inside a bitmap to `picked`; return how many.

    Of rows `inside` may be None, which leaves none out. `picked` has room for one more.
    """
    return _compiled_only()


@overload(row_near, inline="always")
def _row_near(source, place):
    if not has_rows(source):
        return lambda source, place: np.int64(0)
    return lambda source, place: np.int64(np.searchsorted(source[3], place, side="right") - 1)


@overload(row_of, inline="always")
def _row_of(source, place, row):
    if not has_rows(source):
        return lambda source, place, row: row

    def row_of(source, place, row):
        while source[3][row + 1] <= place:
            row += 1
        return row

    return row_of


@overload(edge_at, inline="always")
def _edge_at(source, place, row):
    if len(source) == 3:
        return lambda source, place, row: (source[1][place], source[2][place], np.int64(place))
    if not has_rows(source):
        return lambda source, place, row: (source.u[place], source.v[place], np.int64(source.ids[place]))
    return lambda source, place, row: (row, source[1][place], np.int64(source[2][place]))


@overload(pick)
def _pick(source, kind, first, last, low, high, rare, inside, picked):
    if isinstance(inside, types.NoneType) and not has_rows(source):
        return lambda source, kind, first, last, low, high, rare, inside, picked: _pick_between(
            source[0], kind, first, last, low, high, rare, picked
        )

    def pick(source, kind, first, last, low, high, rare, inside, picked):
        if inside is None and rare:
            size = _pick_between(source[0], kind, first, last, low, high, rare, picked)
            return _keep_at_smaller_end(source, picked, size)
        # Ends first and keys of the few that are left: most edges of a heavy part lie inside.
        size = np.uint64(pick_outside(source, first, last, inside, picked))
        return _keep_between(source[0], kind, low, high, picked, size)

    return pick


@overload(pick_outside)
def _pick_outside(source, first, last, inside, picked):
    if has_rows(source):
        return lambda source, first, last, inside, picked: _pick_outside_of_rows(
            *source, first, last, inside, picked
        )

    def pick_outside(source, first, last, inside, picked):
        u, v = source[1], source[2]
        size = np.uint64(0)
        for e in range(np.uint64(first), np.uint64(last)):
            picked[size] = e
            size += (bit(inside, u[e]) & bit(inside, v[e])) ^ _ONE
        return np.int64(size)

    return pick_outside


@njit(inline="always")
def bit(bits, x):
    """Return bit `x` of a bitmap of 64-bit words."""
    return (bits[np.uint64(x) >> _SIX] >> (np.uint64(x) & _63)) & _ONE


@njit
def _pick_between(words, kind, first, last, low, high, rare, picked):
    span = words.dtype.type(high - low)
    size, stop = np.uint64(0), np.uint64(last)
    if span == ~words.dtype.type(0):
        for i in range(np.uint64(last - first)):
            picked[i] = np.uint64(first) + i
        return np.int64(last - first)
    if not rare:
        return np.int64(_pick_each(words, kind, np.uint64(first), stop, low, span, picked, size))
    start = np.uint64(first)
    while start + _VECTOR <= stop:
        if _least(words, kind, start, _VECTOR, low) <= span:
            for part in range(start, start + _VECTOR, _PART):
                if _least(words, kind, part, _PART, low) <= span:
                    size = _pick_each(words, kind, part, part + _PART, low, span, picked, size)
        start += _VECTOR
    return np.int64(_pick_each(words, kind, start, stop, low, span, picked, size))


@njit(inline="always")
def _least(words, kind, first, count, low):
    """Return how far the least of `count` keys is above `low`; counting hits would widen every word."""
    unsigned = words.dtype.type
    least = ~unsigned(0)
    for e in range(first, first + count):
        least = min(least, unsigned(key_of(words[e], kind) - low))
    return least


@njit
def _pick_each(words, kind, first, last, low, span, picked, size):
    unsigned = words.dtype.type
    for e in range(first, last):
        picked[size] = e
        size += np.uint64(unsigned(key_of(words[e], kind) - low) <= span)
    return size


@njit
def _keep_between(words, kind, low, high, picked, size):
    unsigned = words.dtype.type
    span = unsigned(high - low)
    kept = np.uint64(0)
    for i in range(size):
        e = picked[i]
        picked[kept] = e
        kept += np.uint64(unsigned(key_of(words[np.uint64(e)], kind) - low) <= span)
    return np.int64(kept)


@njit
def _keep_at_smaller_end(source, picked, size):
    if size == 0:
        return size
    kept, row = np.uint64(0), row_near(source, picked[0])
    for i in range(np.uint64(size)):
        place = picked[i]
        row = row_of(source, place, row)
        picked[kept] = place
        kept += np.uint64(row < source[1][place])
    return np.int64(kept)


@njit
def _pick_outside_of_rows(words, neighbours, ids, offsets, first, last, inside, picked):
    size = np.uint64(0)
    x = row_near((words, neighbours, ids, offsets), first)
    start = first
    while start < last:
        end = min(np.int64(offsets[x + 1]), last)
        if inside is None:
            for i in range(np.uint64(start), np.uint64(end)):
                picked[size] = i
                size += np.uint64(x < neighbours[i])
        elif not bit(inside, x):
            # From inside an edge would not be seen: nothing there is read.
            for i in range(np.uint64(start), np.uint64(end)):
                picked[size] = i
                size += np.uint64(x < neighbours[i]) | bit(inside, neighbours[i])
        start = end
        x += 1
    return np.int64(size)
