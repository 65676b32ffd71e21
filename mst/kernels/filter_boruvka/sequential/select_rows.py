"""Selects edges from compressed sparse rows, as `mst.kernels.filter_boruvka.sequential.select` does from edge lists.

Every edge has two slots and is selected in the row of its smaller end; ids do not ascend along the
slots, and the ends are written together with the codes. Loops run over all slots, and the row advances by adding a
byte: the end of a loop over each short row of a sparse graph would be mispredicted, which takes several times as long.
Here, too, slots are tested 64 at a time before any edge is written.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.sequential.sample import Split, Window, level_of
from mst.kernels.filter_boruvka.sequential.scatter import counts_to_starts
from mst.kernels.primitives.bitmap import count_trailing_zeros
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import LazyKeys, key_at
from mst.kernels.primitives.prefetch import prefetch_to_write

_BLOCK, _VECTOR, _AHEAD = np.uint64(4096), np.uint64(64), np.uint64(32)
_HALF = np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Rows(NamedTuple):
    """Symmetric compressed sparse rows of m edges without loops.

    Attributes
    ----------
    offsets : numpy.ndarray of int64, shape (n + 1,)
        Row `x` has the slots ``offsets[x] … offsets[x + 1] - 1``.
    neighbours : numpy.ndarray of uint32, shape (2 m,)
    keys : LazyKeys
        Of 2 m slots.
    ids : numpy.ndarray of uint32, shape (2 m,)
        Edge ids.
    """

    offsets: np.ndarray
    neighbours: np.ndarray
    keys: LazyKeys
    ids: np.ndarray


class RowStarts(NamedTuple):
    """The first slots of rows, which let a loop over slots track its row.

    Attributes
    ----------
    marks : numpy.ndarray of uint8, shape (2 m + 1,)
        1 at the first slot of each nonempty row.
    rows : numpy.ndarray of uint32, shape (n + 1,)
        Those rows, in order.
    """

    marks: np.ndarray
    rows: np.ndarray


class Wanted(NamedTuple):
    """The edges to select: the light edges of `split`, or the others if `heavy`; `window` sets their levels."""

    split: Split
    heavy: bool
    window: Window


class CodedEdges(NamedTuple):
    """Output: uint64 arrays of shape (m + 1,), since kernels write one more edge than they keep.

    `codes` are those of `mst.kernels.filter_boruvka.sequential.select`, `pairs` the ends, ``u | v << 32``.
    """

    codes: np.ndarray
    pairs: np.ndarray


@njit
def row_starts(offsets, marks, rows):
    """Write the nonempty rows and mark the first slot of each in `marks`, zero at first; return how many rows.

    `offsets` is as in `Rows`, the others as in `RowStarts`.
    """
    count = _ZERO
    for x in range(np.uint64(offsets.size - 1)):
        # An empty row starts where the next row does, or after the last slot.
        marks[offsets[x]] = 1
        rows[count] = x
        count += np.uint64(offsets[x + _ONE] > offsets[x])
    return np.int64(count)


@njit
def select_slots(starts, rows, wanted, selected):
    """Write codes and ends of all edges that a `Wanted` describes to a `CodedEdges`; return how many.

    `starts` is a `RowStarts`, `rows` a `Rows`.
    """
    neighbours, keys, split, heavy = rows.neighbours, rows.keys, wanted.split, wanted.heavy
    at = np.empty(_VECTOR, np.uint32)
    row, count, size = _ZERO - _ONE, _ZERO, np.uint64(keys.words.size)
    for block in range(_ZERO, size, _VECTOR):
        found = _ZERO
        for i in range(block, min(block + _VECTOR, size)):
            row += np.uint64(starts.marks[i])
            x, key = starts.rows[row], key_at(keys, i)
            at[i - block] = x
            in_range = ((key <= split.key) != heavy) | (key == split.key)
            found |= np.uint64(in_range & (x < neighbours[i])) << (i - block)
        count = _write(block, found, at, rows, wanted, selected, count)
    return np.int64(count)


@njit
def count_slots(keys, window, shift, large, starts):
    """Like `scatter.count_codes`, for all edges, by the levels of their slots in `window`, a `Window`.

    `keys` are the `LazyKeys` of all slots; `shift`, `large` and `starts` are as there. Counts are halved, since an
    edge has two slots with the same key.
    """
    for i in range(np.uint64(keys.words.size)):
        starts[(level_of(key_at(keys, i), window) << _HALF) >> shift] += np.uint32(1)
    for b in range(starts.size):
        starts[b] >>= _ONE
    return counts_to_starts(starts, large)


@njit
def scatter_slots(starts, rows, window, shift, buckets, records):
    """Write a record of each edge into its bucket, as `scatter.scatter` does, but without writing codes first.

    `starts` is a `RowStarts`, `rows` a `Rows`, `window` a `Window`. `buckets`, uint32 of shape (buckets,), advance from
    the starts of buckets to their ends; `records` is uint64 of shape (m, 2).
    """
    neighbours, keys, ids = rows.neighbours, rows.keys, rows.ids
    slots, at, place = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    row, size = _ZERO - _ONE, np.uint64(keys.words.size)
    for block in range(_ZERO, size, _BLOCK):
        found = _ZERO
        for i in range(block, min(block + _BLOCK, size)):
            row += np.uint64(starts.marks[i])
            slots[found], at[found] = i, starts.rows[row]
            found += np.uint64(starts.rows[row] < neighbours[i])
        for j in range(found):
            b = (level_of(key_at(keys, slots[j]), window) << _HALF) >> shift
            place[j] = buckets[b]
            buckets[b] = np.uint32(place[j] + np.uint32(1))
        for j in range(found):
            prefetch_to_write(records, place[min(j + _AHEAD, found - _ONE)])
            i = slots[j]
            records[place[j], 0] = np.uint64(at[j]) | (np.uint64(neighbours[i]) << _HALF)
            records[place[j], 1] = np.uint64(ids[i])


@njit
def select_few_slots(rows, wanted, selected):
    """Like `select_slots`, for few light edges: a vector loop skips blocks without any, and needs no `RowStarts`."""
    offsets, neighbours, keys, split = rows.offsets, rows.neighbours, rows.keys, wanted.split
    at = np.empty(_VECTOR, np.uint32)
    x, count, size = _ZERO, _ZERO, np.uint64(keys.words.size)
    for block in range(_ZERO, size, _VECTOR):
        end = min(block + _VECTOR, size)
        least = key_at(keys, block)
        for i in range(block, end):
            least = min(least, key_at(keys, i))
        if least <= split.key:
            found = _ZERO
            for i in range(block, end):
                if key_at(keys, i) <= split.key:
                    while np.uint64(offsets[x + _ONE]) <= i:
                        x += _ONE
                    at[i - block] = x
                    found |= np.uint64(x < np.uint64(neighbours[i])) << (i - block)
            count = _write(block, found, at, rows, wanted, selected, count)
    return np.int64(count)


@njit
def _write(block, found, at, rows, wanted, selected, count):
    """Append the wanted edges in the slots ``block + j`` for the bits `j` set in `found` to the first `count`.

    `block`, `found` and `count`, whose new value is returned, are uint64. The rows of the slots are ``at[j]``, uint32
    (64,). Edges with the split's key are compared by id here.
    """
    neighbours, split = rows.neighbours, wanted.split
    while found:
        j = np.uint64(count_trailing_zeros(found))
        found &= found - _ONE
        i = block + j
        key, e = key_at(rows.keys, i), np.uint64(rows.ids[i])
        selected.codes[count] = (level_of(key, wanted.window) << _HALF) | e
        selected.pairs[count] = np.uint64(at[j]) | (np.uint64(neighbours[i]) << _HALF)
        light = (key < split.key) | ((key == split.key) & (e < np.uint64(split.tie)))
        count += np.uint64(light != wanted.heavy)
    return count


@njit
def select_heavy_rows(rows, wanted, label, giant, selected):
    """Write the codes of heavy edges that join two trees, with these trees as ends, to `selected`; return how many.

    `rows` is a `Rows`, `wanted` a `Wanted`, `selected` a `CodedEdges`. `label`, uint32 of shape (n,), holds the tree of
    each vertex. Only rows outside the tree `giant`, a label, are read.
    """
    offsets, neighbours, keys, ids = rows.offsets, rows.neighbours, rows.keys, rows.ids
    split, codes, pairs = wanted.split, selected.codes, selected.pairs
    count = _ZERO
    for x in range(np.uint64(offsets.size - 1)):
        mine = label[x]
        if mine == giant:
            continue
        for i in range(np.uint64(offsets[x]), np.uint64(offsets[x + _ONE])):
            key, e, y = key_at(keys, i), np.uint64(ids[i]), np.uint64(neighbours[i])
            other = label[y]
            codes[count] = (level_of(key, wanted.window) << _HALF) | e
            pairs[count] = np.uint64(mine) | (np.uint64(other) << _HALF)
            tied = np.uint64(key == split.key) & np.uint64(e >= np.uint64(split.tie))
            joins = np.uint64(other != mine) & (np.uint64(x < y) | np.uint64(other == giant))
            count += (np.uint64(key > split.key) | tied) & joins
    return np.int64(count)
