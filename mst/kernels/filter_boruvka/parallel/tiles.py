"""Drops edges that close a cycle with lighter edges nearby in the list, as most do if nearby rows have nearby ends.

`mst.algorithms._filter_boruvka.tiles` calls this before the first round if weights follow rows. A *tile* is a range of
rows. An edge that is not in the forest of its tile is not in the forest of the graph. Each worker finds the forest of
one tile at a time, within the core's cache. It keeps only the edges of the forest and those with an end outside the
tile's *window*: the range of its first ends, and as many vertices before and after it.

In the functions, `u` and `v`, uint32 (m,), are the ends, `keys` are `LazyKeys`, `tile` is a `_Tile`, and `mask`, uint64
of shape (⌈m / 64⌉,), is a bitmap of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.bitmap import count_ones, count_trailing_zeros
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.radix import Records, id_at, sort_words
from mst.kernels.union_find.sequential import find

_SAMPLE = 64
_MOST_ENDS = np.iinfo(np.uint16).max // 3
_ZERO, _ONE, _HALF, _WORD = np.uint64(0), np.uint64(1), np.uint64(32), np.uint64(64)


class _Tile(NamedTuple):
    """A worker's scratch space for one tile.

    Attributes
    ----------
    a, b : numpy.ndarray of uint16, shape (rows,)
        The ends of each row, counted from the window's first vertex; the window's size if an end is outside.
    keys : numpy.ndarray of uint32 or uint64, shape (rows,)
    parent : numpy.ndarray of uint16, shape (3 * rows + 1,)
        The trees of the window.
    records, spare : Records
        Keys and rows, and space in which to sort them.
    """

    a: np.ndarray
    b: np.ndarray
    keys: np.ndarray
    parent: np.ndarray
    records: Records
    spare: Records


@njit
def filter_tiles(schedule, u, v, keys, step, mask):
    """In every `step`-th tile, set the bits of edges that may be in the forest in `mask`, and clear the other bits.

    `schedule` is a `mst.kernels.parallel.runtime.Schedule` whose grain, a multiple of 64, is a tile; `step` is an int.
    ``tallies[LIVE]`` counts the bits set.
    """
    schedule.tallies[LIVE] = 0
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _filter_worker, schedule, u, v, keys, step, mask)


@njit
def _filter_worker(worker, schedule, u, v, keys, step, mask):
    """One worker of `filter_tiles`."""
    width, grain, tallies = schedule
    m = u.size
    size = min(grain, m)
    ids = 0 if keys.words.itemsize == 4 else size
    tile = _Tile(
        np.empty(size, np.uint16),
        np.empty(size, np.uint16),
        np.empty(size, keys.words.dtype),
        np.empty(3 * size + 1, np.uint16),
        Records(np.empty(size, np.uint64), np.empty(ids, np.uint32)),
        Records(np.empty(size, np.uint64), np.empty(ids, np.uint32)),
    )
    tiles = (m + grain * step - 1) // (grain * step)
    i, last = next_chunk(tallies, worker, width, 1, tiles)
    while i < last:
        first, stop, left = i * step * grain, min((i * step + 1) * grain, m), np.int64(0)
        call(_filter_tile, first, stop, u, v, keys, tile, mask)
        for word in range(first >> 6, (stop + 63) >> 6):
            left += count_ones(mask[word])
        fetch_add(tallies, LIVE, left)
        i, last = next_chunk(tallies, worker, width, 1, tiles)


@njit
def _filter_tile(first, stop, u, v, keys, tile, mask):
    """Do what `filter_tiles` does with the rows ``first … stop - 1``."""
    # Unpacked once: taking an array from a tuple counts its references.
    rows, key, parent, (words, ids) = np.uint64(stop - first), tile.keys, tile.parent, tile.records
    low, high = np.int64(u[first]), np.int64(u[stop - 1])
    low, high = min(low, high), max(low, high)
    span = high - low + 1
    if span > min(stop - first, _MOST_ENDS):
        # The window would be too large: first ends neither ascend nor descend, or there are too few rows. Keep all.
        for word in range(first >> 6, (stop + 63) >> 6):
            mask[word] = ~_ZERO >> np.uint64(max(0, 64 * (word + 1) - stop))
        return
    size = min(low, span) + 2 * span
    call(_read, first, stop, u, v, keys, np.uint32(high + span + 1 - size), np.uint32(size), tile, mask)
    for x in range(size + 1):
        parent[x] = x
    limit = call(_limit, key[:rows], size // 2)
    count = _ZERO
    for block in range(_ZERO, rows, _WORD):
        light = _ZERO
        for i in range(block, min(block + _WORD, rows)):
            light |= np.uint64(key[i] <= limit) << (i - block)
        count = _write_ones(words, ids, count, key, block, light)
    call(_join, first, tile, np.int64(count), mask)
    for x in range(size):
        parent[x] = parent[parent[x]]
    count = call(_collect_apart, rows, tile, limit)
    call(_join, first, tile, np.int64(count), mask)


@njit
def _collect_apart(rows, tile, limit):
    """Write records of a tile's `rows` with keys above `limit` and ends that differ in `parent`; return how many."""
    a, b, keys, parent, (words, ids) = tile.a, tile.b, tile.keys, tile.parent, tile.records
    count = _ZERO
    for block in range(_ZERO, rows, _WORD):
        apart = _ZERO
        for i in range(block, min(block + _WORD, rows)):
            apart |= np.uint64((keys[i] > limit) & (parent[a[i]] != parent[b[i]])) << (i - block)
        count = _write_ones(words, ids, count, keys, block, apart)
    return count


@njit
def _read(first, stop, u, v, keys, start, size, tile, mask):
    """Write ends and keys of the rows ``first … stop - 1`` to a tile, and mark the rows with an end outside the window.

    The window has `size` vertices from `start` on, both uint32. The bits of the other rows are cleared.
    """
    a, b, key = tile.a, tile.b, tile.keys
    for i in range(np.uint64(stop - first)):
        e = np.uint64(first) + i
        x, y = np.uint32(u[e] - start), np.uint32(v[e] - start)
        outside = max(x, y) >= size
        a[i] = np.uint16(size if outside else x)
        b[i] = np.uint16(size if outside else y)
        key[i] = key_at(keys, e)
    for block in range(0, stop - first, 64):
        bits = _ZERO
        for i in range(np.uint64(block), np.uint64(min(block + 64, stop - first))):
            bits |= np.uint64(a[i] == size) << (i & np.uint64(63))
        mask[(first + block) >> 6] = bits


@njit(inline="always")
def _write_ones(words, ids, count, keys, first, ones):
    """Append records of the rows ``first + j``, for each bit `j` of `ones`, to the first `count`; return the new count.

    `words` and `ids` are the fields of the records, `keys` the keys of the tile's rows; the others are uint64.
    """
    while ones:
        row = first + np.uint64(count_trailing_zeros(ones))
        ones &= ones - _ONE
        if ids.size > 0:
            words[count], ids[count] = np.uint64(keys[row]), np.uint32(row)
        else:
            words[count] = (np.uint64(keys[row]) << _HALF) | row
        count += _ONE
    return count


@njit
def _limit(keys, wanted):
    """Return the key that about `wanted` of a tile's `keys` do not exceed; the largest if these are most keys."""
    drawn = np.empty(_SAMPLE, keys.dtype)
    for i in range(_SAMPLE):
        # Places are irregular, so as not to be in step with any period of the rows.
        key, j = keys[((2 * i + 1) * keys.size // (2 * _SAMPLE) + 7 * i % 13) % keys.size], i
        while j > 0 and drawn[j - 1] > key:
            drawn[j] = drawn[j - 1]
            j -= 1
        drawn[j] = key
    place = wanted * _SAMPLE // keys.size
    return drawn[place] if 2 * place < _SAMPLE else keys.max()


@njit
def _join(first, tile, count, mask):
    """Join the first `count` records in the order of (key, row), and mark the rows that join two trees in `mask`."""
    a, b, parent, given, spare = tile.a, tile.b, tile.parent, tile.records, tile.spare
    in_spare = call(sort_words, given.words, given.ids, np.int64(0), count, spare.words, spare.ids)
    words, ids = spare if in_spare else given
    for i in range(np.uint64(count)):
        row = id_at(words, ids, i)
        x, y = find(parent, a[row]), find(parent, b[row])
        if x != y:
            parent[max(x, y)] = min(x, y)
            e = np.uint64(first) + row
            mask[e >> np.uint64(6)] |= _ONE << (e & np.uint64(63))
