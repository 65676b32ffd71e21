"""`mst.kernels.filter_boruvka.filter` for compressed sparse rows: which slots to look at.

Every edge has two slots and is selected at the one in the row of its smaller end; ids do not ascend along the
slots, and the ends are written beside the tags. Loops run over all slots, and the row advances by adding a
byte: a loop over each of a sparse graph's short rows would mispredict its end and take several times as long.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.batches import starts_of
from mst.kernels.filter_boruvka.filter import rank_of
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.prefetch import prefetch_to_write

_BLOCK, _VECTOR, _AHEAD = np.uint64(4096), np.uint64(64), np.uint64(32)
_HALF = np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@njit
def row_starts(offsets, starts, rows):
    """Write the rows that have slots, mark the first slot of each in `starts`; return how many rows."""
    count = _ZERO
    for x in range(np.uint64(offsets.size - 1)):
        # An empty row starts where the next row does, or behind the last slot.
        starts[offsets[x]] = 1
        rows[count] = x
        count += np.uint64(offsets[x + _ONE] > offsets[x])
    return np.int64(count)


@njit
def select_slots(starts, rows, neighbours, keys, edge_ids, split, heavy, window, tags, pairs):
    """Write tags and ends of all edges below `split`, or with `heavy` of the others; return how many."""
    slots, at = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    row, count, size = _ZERO - _ONE, _ZERO, np.uint64(keys.words.size)
    for block in range(_ZERO, size, _BLOCK):
        found = _ZERO
        for i in range(block, min(block + _BLOCK, size)):
            row += np.uint64(starts[i])
            slots[found], at[found] = i, rows[row]
            key = key_at(keys, i)
            wanted = ((key <= split.key) != heavy) | (key == split.key)
            found += np.uint64(wanted & (rows[row] < neighbours[i]))
        count = _write(slots, at, found, neighbours, keys, edge_ids, split, heavy, window, tags, pairs, count)
    return np.int64(count)


@njit
def count_slots(keys, window, shift, crowd, bounds):
    """As `batches.count_tags`, of all edges at once, each of which has two slots of the same key."""
    for i in range(np.uint64(keys.words.size)):
        bounds[(rank_of(key_at(keys, i), window) << _HALF) >> shift] += np.uint32(1)
    for b in range(bounds.size):
        bounds[b] >>= _ONE
    return starts_of(bounds, crowd)


@njit
def scatter_slots(starts, rows, neighbours, keys, edge_ids, window, shift, bounds, records):
    """Write a record of each edge into its bucket, as `batches.scatter` does, without any tags on the way."""
    slots, at, place = np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32), np.empty(_BLOCK, np.uint32)
    row, size = _ZERO - _ONE, np.uint64(keys.words.size)
    for block in range(_ZERO, size, _BLOCK):
        found = _ZERO
        for i in range(block, min(block + _BLOCK, size)):
            row += np.uint64(starts[i])
            slots[found], at[found] = i, rows[row]
            found += np.uint64(rows[row] < neighbours[i])
        for j in range(found):
            b = (rank_of(key_at(keys, slots[j]), window) << _HALF) >> shift
            place[j] = bounds[b]
            bounds[b] = np.uint32(place[j] + np.uint32(1))
        for j in range(found):
            prefetch_to_write(records, place[min(j + _AHEAD, found - _ONE)])
            i = slots[j]
            records[place[j], 0] = np.uint64(at[j]) | (np.uint64(neighbours[i]) << _HALF)
            records[place[j], 1] = np.uint64(edge_ids[i])


@njit
def select_rare_slots(offsets, neighbours, keys, edge_ids, split, window, tags, pairs):
    """As `select_slots`, where few edges are light and wanted: a vector loop passes over the rest."""
    slots, at = np.empty(_VECTOR, np.uint32), np.empty(_VECTOR, np.uint32)
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
                    slots[found], at[found] = i, x
                    found += np.uint64(x < np.uint64(neighbours[i]))
            count = _write(
                slots, at, found, neighbours, keys, edge_ids, split, False, window, tags, pairs, count
            )
    return np.int64(count)


@njit
def _write(slots, at, found, neighbours, keys, edge_ids, split, heavy, window, tags, pairs, count):
    for j in range(found):
        i = slots[j]
        key, e = key_at(keys, i), np.uint64(edge_ids[i])
        tags[count] = (rank_of(key, window) << _HALF) | e
        pairs[count] = np.uint64(at[j]) | (np.uint64(neighbours[i]) << _HALF)
        light = (key < split.key) | ((key == split.key) & (e < np.uint64(split.tie)))
        count += np.uint64(light != heavy)
    return count


@njit
def select_heavy_rows(offsets, neighbours, keys, edge_ids, split, label, giant, window, tags, pairs):
    """Write tags of the edges not below `split` between two trees, and the trees; return how many.

    `label` holds the tree of each vertex. Only rows outside the tree `giant` are read.
    """
    count = _ZERO
    for x in range(np.uint64(offsets.size - 1)):
        mine = label[x]
        if mine == giant:
            continue
        for i in range(np.uint64(offsets[x]), np.uint64(offsets[x + _ONE])):
            key, e, y = key_at(keys, i), np.uint64(edge_ids[i]), np.uint64(neighbours[i])
            other = label[y]
            tags[count] = (rank_of(key, window) << _HALF) | e
            pairs[count] = np.uint64(mine) | (np.uint64(other) << _HALF)
            tied = np.uint64(key == split.key) & np.uint64(e >= np.uint64(split.tie))
            joins = np.uint64(other != mine) & (np.uint64(x < y) | np.uint64(other == giant))
            count += (np.uint64(key > split.key) | tied) & joins
    return np.int64(count)
