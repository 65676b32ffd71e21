"""Selects edges from compressed sparse rows, as `mst.kernels.filter_boruvka.sequential.select` does from edge lists.

Every edge has two slots and is selected in the row of its smaller end. Ids do not ascend along the slots, so the ends
are written together with the codes. Loops run over all slots, and advance the row by adding a byte per slot: a loop for
each row would take several times as long, since the ends of short rows in a sparse graph would be mispredicted. Slots
are tested 64 at a time before any edge is written.
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
        The keys of the 2 m slots.
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
        The nonempty rows, ascending.
    """

    marks: np.ndarray
    rows: np.ndarray


class Wanted(NamedTuple):
    """The edges to select: the light edges of `split`, or the heavy ones if `heavy`; `window` sets their levels."""

    split: Split
    heavy: bool
    window: Window


class CodedEdges(NamedTuple):
    """The edges selected, with `codes` as in `mst.kernels.filter_boruvka.sequential.select` and ends ``u | v << 32``.

    Both are uint64 of shape (m + 1,), since kernels write one more edge than they keep.
    """

    codes: np.ndarray
    pairs: np.ndarray


@njit
def row_starts(offsets, marks, rows):
    """Write the nonempty rows to `rows` and set `marks` at the first slot of each; return how many there are.

    `offsets` is the field of `Rows`, `marks` and `rows` are those of `RowStarts`; `marks` must be zero at first.
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
    """Write codes and ends of all wanted edges to `selected`; return how many.

    `starts` is a `RowStarts`, `rows` a `Rows`, `wanted` a `Wanted`, `selected` a `CodedEdges`.
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
    """Count all edges by bucket, and write the start of each bucket to `starts`, uint32 (buckets,), zero at first.

    Returns the number of edges in buckets of more than `large`. `keys` are the `LazyKeys` of all slots, whose levels in
    the `Window` determine the buckets by `shift`, as in `scatter`. Counts are halved, since an edge has two slots with
    the same key.
    """
    for i in range(np.uint64(keys.words.size)):
        starts[(level_of(key_at(keys, i), window) << _HALF) >> shift] += np.uint32(1)
    for b in range(starts.size):
        starts[b] >>= _ONE
    return counts_to_starts(starts, large)


@njit
def scatter_slots(starts, rows, window, shift, buckets, records):
    """Write a record of each edge into its bucket, directly from the rows: no code is written before.

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
    """Write codes and ends of few light edges to `selected`; return how many.

    A vector loop skips blocks without light edges, and the row is found for these edges only, without `RowStarts`.
    """
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
    """Append the wanted edges among the slots ``block + j``, for each bit `j` set in `found`, to the first `count`.

    Returns the new `count`; it, `block` and `found` are uint64. ``at[j]``, uint32 (64,), is the row of slot
    ``block + j``. Edges with the split's key are compared by id here.
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
    """Write the codes of heavy edges between two trees to `selected`, with the trees' labels as ends; return how many.

    `rows` is a `Rows`, `wanted` a `Wanted`, `selected` a `CodedEdges`. `label`, uint32 of shape (n,), holds the tree of
    each vertex. The rows of vertices with the label `giant` are not read.
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
