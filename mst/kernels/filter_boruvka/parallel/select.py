"""Selects the edges in a range of (key, id), and assigns them to batches of ascending weight, unsorted within a batch.

This is the second step of a round; `mst.kernels.filter_boruvka.parallel.scatter` follows. Threads and ranks both call
the functions over one chunk; the functions with a `schedule` run them over all chunks in threads. A branch for each
edge would be mispredicted. So if many edges are read, they are tested 64 at a time, into the bits of a word, before
any place is written (docs/design-notes/one-core.md); if few are, every place is written, and the index advances only
past those to keep.

In the functions, `storage` is any of `mst.kernels.filter_boruvka.parallel.storage`, `wanted` a `Wanted`, `bounds` a
`Bounds`; places ``first … last - 1`` are read. `picked`, uint64, lists places; kernels may write one more than they
keep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba  # noqa: F401
import numpy as np
from numba.extending import overload

from mst.kernels.filter_boruvka.parallel.storage import (
    CopiedEdges,
    Storage,
    advance_row,
    edge_at,
    find_row,
    has_rows,
    vertex_type,
)
from mst.kernels.parallel.keys import key_of
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.bitmap import get_bit, move_ones, write_positions_of_ones
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call

SELECTED = LIVE
"""The place in the tallies where selected or copied edges are counted."""

BLOCK = 1024
"""Edges that are picked at a time before their batches are looked up: so few that their places stay in the L1 cache."""

_VECTOR, _PIECE = np.uint64(64), np.uint64(16)
_CELLS = 1 << 13
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Wanted(NamedTuple):
    """The edges to select: above (`low`, `low_id`), at most (`high`, `high_id`), and not known to be within a tree.

    Attributes
    ----------
    low, high : unsigned integer of the keys' width
    low_id, high_id : int
    selective : bool
        Whether most blocks have no edge in the range.
    in_giant : numpy.ndarray of uint64, shape (⌈n / 64⌉,) or (0,)
        Bitmap of the giant tree's vertices: edges with both ends there are omitted. Empty if there is no giant.
    roots : numpy.ndarray of an unsigned integer, shape (n,)
        Parents; if roots are compared, every vertex points at its root.
    compare_roots : bool
        Whether edges whose ends have the same root are also omitted.
    """

    low: np.unsignedinteger
    low_id: int
    high: np.unsignedinteger
    high_id: int
    selective: bool
    in_giant: np.ndarray
    roots: np.ndarray
    compare_roots: bool


class Bounds(NamedTuple):
    """Bounds between batches, ascending by (key, id), and the table in which `batches_of` looks up keys.

    The range of keys is divided into cells: of one width below `pivot` and of another from there on, since most keys
    may lie in a small part of their range. ``cells[i]`` is the batch of all keys of cell `i`: a bound within a cell is
    moved to the end of the cell. If a cell contains several bounds, ``cells[i]`` is -1 minus the batch last found
    there: if many edges have one key, the next edge mostly belongs to that batch too. Otherwise, the bounds are
    searched.

    Attributes
    ----------
    keys : numpy.ndarray of uint32 or uint64, shape (batches - 1,)
    ids : numpy.ndarray of int64, shape (batches - 1,)
    base, pivot : unsigned integer of the keys' width
        The first bound's key, and the first key of the cells of the second width.
    shifts : tuple of two uint64
        Logarithms of the widths of cells below and from `pivot`.
    below : uint64
        The number of cells below `pivot`.
    cells : numpy.ndarray of int16, shape (cells,)
    """

    keys: np.ndarray
    ids: np.ndarray
    base: np.unsignedinteger
    pivot: np.unsignedinteger
    shifts: tuple[np.uint64, np.uint64]
    below: np.uint64
    cells: np.ndarray


class SelectedPlaces(NamedTuple):
    """The output of `select`, which `mst.kernels.filter_boruvka.parallel.scatter` reads.

    Attributes
    ----------
    places : numpy.ndarray of uint32 or int64, shape (places of the storage,), or None
        Places of selected edges; None if all are selected.
    batch : numpy.ndarray of uint8, of the same length
        The batch of each.
    begins, ends : numpy.ndarray of int64, shape (chunks,)
        The edges of chunk `c` are at ``begins[c] … ends[c] - 1`` in both arrays.
    counts : numpy.ndarray of int64, shape (chunks, batches)
        Edges of each chunk in each batch; `scatter.first_places` turns them into places of records.
    """

    places: np.ndarray | None
    batch: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    counts: np.ndarray


class SelectedChunk(NamedTuple):
    """The output of `select_chunk`: `places` and `batch` as in `SelectedPlaces`, but at least as long as the chunk.

    `counts`, int64 of shape (batches,), are the edges of the chunk in each batch.
    """

    places: np.ndarray
    batch: np.ndarray
    counts: np.ndarray


# -- batches ----------------------------------------------------------------------------------------------------


def bounds_of(keys: np.ndarray, ids: np.ndarray) -> Bounds:
    """Return `Bounds` from keys and ids, shapes (batches - 1,); if empty, there is one batch."""
    key = keys.dtype.type
    if len(keys) == 0:
        return Bounds(keys, ids, key(0), key(0), (_ZERO, _ZERO), _ZERO, np.zeros(1, np.int16))
    pivot, low, high, below, cells = _cells_of(keys)
    return Bounds(keys, ids, keys[0], key(pivot), (np.uint64(low), np.uint64(high)), np.uint64(below), cells)


@njit
def _cells_of(bound_keys):
    """Return the pivot, both shifts, the number of cells below the pivot, and the cells of `Bounds` for `bound_keys`.

    `bound_keys` are one or more keys, ascending. Of four pivots, the one for which the fewest bounds share a cell is
    chosen; the first leaves no cells below.
    """
    size, none = bound_keys.size, np.empty(0, np.int16)
    best, fewest = 0, size + 1
    for at in (0, size // 2, size - 1 - size // 8, size // 8):
        crowded = call(_fill_cells, bound_keys, at, none) if fewest else fewest
        if crowded < fewest:
            best, fewest = at, crowded
    low, high, below, count = _layout(bound_keys, best)
    cells = np.empty(count, np.int16)
    call(_fill_cells, bound_keys, best, cells)
    return bound_keys[best], low, high, below, cells


@njit
def _layout(bound_keys, at):
    """Return the shifts below and from the pivot ``bound_keys[at]``, and the numbers of cells below it and in all.

    All are uint64 but the last, an int64.
    """
    base, pivot, last = np.uint64(bound_keys[0]), np.uint64(bound_keys[at]), np.uint64(bound_keys[-1])
    most = _CELLS if pivot == base else _CELLS // 2
    low, high, below = _ZERO, _ZERO, _ZERO
    while (last - pivot) >> high >= most:
        high += _ONE
    if pivot > base:
        while (pivot - base) >> low >= most:
            low += _ONE
        below = ((pivot - base - _ONE) >> low) + _ONE
    # The last cell is for all keys above.
    return low, high, below, np.int64(below + ((last - pivot) >> high)) + 2


@njit
def _fill_cells(bound_keys, at, cells):
    """Write `Bounds.cells` for the pivot ``bound_keys[at]``; return how many bounds share a cell with another key.

    `cells` is int16 of shape (cells,), or (0,) if only the number is wanted.
    """
    low, high, below, _ = _layout(bound_keys, at)
    base, pivot = bound_keys[0], bound_keys[at]
    bound, cell, crowded = 0, 0, 0
    while bound < bound_keys.size:
        key, first = bound_keys[bound], bound
        to = int(cell_of(key, base, pivot, low, high, below))
        while bound < bound_keys.size and cell_of(bound_keys[bound], base, pivot, low, high, below) == to:
            bound += 1
        if bound > first + 1 and bound_keys[bound - 1] > key:
            crowded += bound - first
        if cells.size:
            for free in range(cell, to):
                cells[free] = first
            cells[to] = first if bound == first + 1 else -1 - first
        cell = to + 1
    for free in range(cell, cells.size):
        cells[free] = bound_keys.size
    return crowded


@njit(inline="always")
def cell_of(key, base, pivot, low, high, below):
    """Return the cell, uint64, of a key that is at least `base`; `low` and `high` are the shifts of a `Bounds`."""
    if key < pivot:
        return np.uint64(key - base) >> low
    return below + (np.uint64(key - pivot) >> high)


@njit
def batches_of(storage, places, bounds, batch, at):
    """Write the batches of the edges at `places`, uint64 (k,), to `batch`, uint8, from `at` on.

    The batch of an edge is the number of bounds before its (key, id), rounded as in `Bounds`, whose `cells` change.
    """
    words, kind = storage.words, storage.kind
    # Unpacked, and in one function: passing arrays to another takes longer than looking up a batch.
    keys, ids, base, pivot, (low, high), below, cells = bounds
    last, count = np.uint64(cells.size - 1), keys.size
    for i in range(np.uint64(places.size)):
        place = places[i]
        key, e = key_of(words[place], kind), edge_at(storage, place, 0)[2]
        cell = min(cell_of(max(key, base), base, pivot, low, high, below), last)
        b = np.int64(cells[cell])
        if b < 0:
            b = -1 - b
            after = b == 0 or keys[b - 1] < key or (keys[b - 1] == key and ids[b - 1] < e)
            if not after or (b < count and (keys[b] < key or (keys[b] == key and ids[b] < e))):
                b = call(_bounds_before, keys, ids, key, e)
                cells[cell] = -1 - b
        batch[at + i] = b


@njit
def _bounds_before(keys, ids, key, e):
    """Return how many bounds, `keys` and `ids` of a `Bounds`, are before (`key`, `e`)."""
    low, high = 0, keys.size
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key or (keys[middle] == key and ids[middle] < e):
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _own_cells(bounds):
    """Return the bounds with a copy of the cells for one worker, since `batches_of` changes them."""
    keys, ids, base, pivot, shifts, below, cells = bounds
    return Bounds(keys, ids, base, pivot, shifts, below, cells.copy())


# -- picking places ---------------------------------------------------------------------------------------------


def _compiled_only() -> Any:
    raise NotImplementedError("for compiled code only")


def pick(storage, first, last, wanted, picked):
    """Write the places whose keys lie in ``wanted.low`` … ``wanted.high`` to `picked`; return how many.

    Edges with both ends in the giant tree are omitted; ids and roots are not compared yet. Of the two slots of an edge
    in `Rows`, only one is picked.
    """
    return _compiled_only()


def pick_outside(storage, first, last, in_giant, picked):
    """Write the places of edges with an end outside the giant tree to `picked`; return how many.

    `in_giant` is the field of `Wanted`. For `Rows`, it may be empty: then each edge is picked once.
    """
    return _compiled_only()


@overload(pick)
def _pick(storage, first, last, wanted, picked):
    by_rows = has_rows(storage)

    def pick(storage, first, last, wanted, picked):
        if wanted.in_giant.size == 0 and (wanted.selective or not by_rows):
            size = _pick_between(storage, first, last, wanted, picked)
            return _keep_at_smaller_end(storage, picked, size) if by_rows else size
        # Ends are tested before keys: most heavy edges are within the giant tree, so few keys have to be read.
        size = np.uint64(pick_outside(storage, first, last, wanted.in_giant, picked))
        return _keep_between(storage, wanted, picked, size)

    return pick


@overload(pick_outside)
def _pick_outside(storage, first, last, in_giant, picked):
    if has_rows(storage):
        return lambda storage, first, last, in_giant, picked: _pick_outside_of_rows(
            storage, first, last, in_giant, picked
        )

    def pick_outside(storage, first, last, in_giant, picked):
        u, v = storage.u, storage.v
        size, stop = _ZERO, np.uint64(last)
        for block in range(np.uint64(first), stop, _VECTOR):
            outside = _ZERO
            for e in range(block, min(block + _VECTOR, stop)):
                outside |= ((get_bit(in_giant, u[e]) & get_bit(in_giant, v[e])) ^ _ONE) << (e - block)
            size = write_positions_of_ones(outside, block, picked, size)
        return np.int64(size)

    return pick_outside


@njit
def _pick_between(storage, first, last, wanted, picked):
    """Write the places whose keys lie in ``wanted.low`` … ``wanted.high`` to `picked`; return how many."""
    words, kind, low = storage.words, storage.kind, wanted.low
    span = words.dtype.type(wanted.high - low)
    size, stop = np.uint64(0), np.uint64(last)
    if span == ~words.dtype.type(0):
        for i in range(np.uint64(last - first)):
            picked[i] = np.uint64(first) + i
        return np.int64(last - first)
    keys = _Keys(words, kind, low, span)
    if not wanted.selective:
        for block in range(np.uint64(first), stop, _VECTOR):
            inside = _in_range(keys, block, min(_VECTOR, stop - block))
            size = write_positions_of_ones(inside, block, picked, size)
        return np.int64(size)
    start = np.uint64(first)
    while start + _VECTOR <= stop:
        if _least(keys, start, _VECTOR) <= span:
            for piece in range(start, start + _VECTOR, _PIECE):
                if _least(keys, piece, _PIECE) <= span:
                    size = _pick_each(keys, piece, piece + _PIECE, picked, size)
        start += _VECTOR
    return np.int64(_pick_each(keys, start, stop, picked, size))


class _Keys(NamedTuple):
    """Words, their kind, and the wanted range of keys, ``low … low + span``."""

    words: np.ndarray
    kind: int
    low: np.unsignedinteger
    span: np.unsignedinteger


@njit(inline="always")
def _least(keys, first, count):
    """Return the least ``key - low``, modulo the keys' width, of `count` keys from `first` on; `keys` is a `_Keys`.

    If it is above `span`, no key is wanted. Counting the wanted keys would be slower, since it widens every word.
    """
    words, kind, low = keys.words, keys.kind, keys.low
    unsigned = words.dtype.type
    least = ~unsigned(0)
    for e in range(first, first + count):
        least = min(least, unsigned(key_of(words[e], kind) - low))
    return least


@njit(inline="always")
def _in_range(keys, first, count):
    """Return a uint64 whose bit `j` says whether key ``first + j`` of a `_Keys` is in its range; `count` ≤ 64."""
    words, kind, low, span = keys
    unsigned = words.dtype.type
    inside = _ZERO
    for j in range(count):
        inside |= np.uint64(unsigned(key_of(words[first + j], kind) - low) <= span) << j
    return inside


@njit
def _pick_each(keys, first, last, picked, size):
    """Append the places with keys in the range of a `_Keys` to the first `size` of `picked`; return the new size."""
    words, kind, low, span = keys
    unsigned = words.dtype.type
    for e in range(first, last):
        picked[size] = e
        size += np.uint64(unsigned(key_of(words[e], kind) - low) <= span)
    return size


@njit
def _keep_between(storage, wanted, picked, size):
    """Of the first `size` of `picked`, keep those with keys in ``wanted.low`` … ``wanted.high``; return how many."""
    words, kind, low = storage.words, storage.kind, wanted.low
    unsigned = words.dtype.type
    span = unsigned(wanted.high - low)
    kept = np.uint64(0)
    for i in range(size):
        e = picked[i]
        picked[kept] = e
        kept += np.uint64(unsigned(key_of(words[np.uint64(e)], kind) - low) <= span)
    return np.int64(kept)


@njit
def _keep_at_smaller_end(storage, picked, size):
    """Of the first `size` slots in `picked`, keep those in the row of their edge's smaller end; return how many."""
    if size == 0:
        return size
    neighbours = storage.neighbours
    kept, row = np.uint64(0), find_row(storage, picked[0])
    for i in range(np.uint64(size)):
        place = picked[i]
        row = advance_row(storage, place, row)
        picked[kept] = place
        kept += np.uint64(row < neighbours[place])
    return np.int64(kept)


@njit
def _pick_outside_of_rows(storage, first, last, in_giant, picked):
    """Write the slots of edges of `Rows` with an end outside the giant tree to `picked`, one per edge; return how many.

    `in_giant` is the field of `Wanted`; if it is empty, all edges are picked.
    """
    neighbours, offsets = storage.neighbours, storage.offsets
    size = np.uint64(0)
    x = find_row(storage, first)
    start = first
    while start < last:
        end = min(np.int64(offsets[x + 1]), last)
        if in_giant.size == 0:
            for i in range(np.uint64(start), np.uint64(end)):
                picked[size] = i
                size += np.uint64(x < neighbours[i])
        elif not get_bit(in_giant, x):
            # Edges that leave the giant tree are found from outside: its own rows are not read.
            for i in range(np.uint64(start), np.uint64(end)):
                picked[size] = i
                size += np.uint64(x < neighbours[i]) | get_bit(in_giant, neighbours[i])
        start = end
        x += 1
    return np.int64(size)


@njit
def _keep_wanted(storage, wanted, picked, size):
    """Of the first `size` of `picked`, whose keys are in range, keep those whose (key, id) is; return how many."""
    words, kind = storage.words, storage.kind
    low, low_id, high, high_id = wanted.low, wanted.low_id, wanted.high, wanted.high_id
    kept, stop = _ZERO, np.uint64(size)
    # Edges up to the first with a bound's key stay in place: if few edges share a key, nearly all do.
    while kept < stop:
        key = key_of(words[picked[kept]], kind)
        if (key == low) | (key == high):
            break
        kept += _ONE
    for i in range(kept, stop):
        place = picked[i]
        key, e = key_of(words[place], kind), edge_at(storage, place, 0)[2]
        picked[kept] = place
        kept += np.uint64(((key != low) | (e > low_id)) & ((key != high) | (e <= high_id)))
    return np.int64(kept)


@njit
def _keep_between_trees(storage, roots, picked, size):
    """Of the first `size` places in `picked`, keep those whose ends have different `roots`, (n,); return how many."""
    if size == 0:
        return np.int64(0)
    kept, stop, row = _ZERO, np.uint64(size), find_row(storage, picked[0])
    for block in range(_ZERO, stop, _VECTOR):
        apart = _ZERO
        for i in range(block, min(block + _VECTOR, stop)):
            row = advance_row(storage, picked[i], row)
            a, b, _ = edge_at(storage, picked[i], row)
            apart |= np.uint64(roots[a] != roots[b]) << (i - block)
        kept = move_ones(apart, block, picked, kept)
    return np.int64(kept)


# -- selecting --------------------------------------------------------------------------------------------------


@njit
def select_chunk(first, last, storage, wanted, bounds, chunk, picked):
    """Write the places and batches of the wanted edges of one chunk, and count them by batch; return how many.

    `chunk` is a `SelectedChunk`; `picked`, of shape (BLOCK + 1,), is scratch.
    """
    chunk.counts[:] = 0
    at = np.uint64(0)
    for block in range(first, last, BLOCK):
        size = pick(storage, block, min(block + BLOCK, last), wanted, picked)
        size = _keep_wanted(storage, wanted, picked, size)
        if wanted.compare_roots:
            size = _keep_between_trees(storage, wanted.roots, picked, size)
        at = _append_picked(storage, picked[:size], bounds, chunk, at)
    return np.int64(at)


@njit
def _append_picked(storage, picked, bounds, chunk, at):
    """Append the picked edges to `chunk`, a `SelectedChunk`, from `at`, a uint64, on; return the new end."""
    places, batch, counts = chunk
    call(batches_of, storage, picked, bounds, batch, at)
    for i in range(np.uint64(picked.size)):
        places[at] = picked[i]
        counts[batch[at]] += 1
        at += _ONE
    return at


@njit
def select(schedule, storage, wanted, bounds, selected):
    """Write the places and batches of all wanted edges to a `SelectedPlaces`; ``tallies[SELECTED]`` is their number.

    `schedule` is a `mst.kernels.parallel.runtime.Schedule`.
    """
    reset_queue(schedule.tallies, schedule.width)
    schedule.tallies[SELECTED] = 0
    run(schedule.width, _select_worker, schedule, storage, wanted, bounds, selected)


@njit
def _select_worker(worker, schedule, storage, wanted, bounds, selected):
    """One worker of `select`."""
    width, grain, tallies = schedule
    places, batch, begins, ends, counts = selected
    bounds = _own_cells(bounds)
    # Each worker selects into arrays of the size of a chunk, so that only the used part of `places` is touched.
    own_places, own_batch = np.empty(grain, places.dtype), np.empty(grain, batch.dtype)
    picked = np.empty(BLOCK + 1, np.uint64)
    first, last = next_chunk(tallies, worker, width, grain, storage.words.size)
    while first < last:
        chunk = first // grain
        own = SelectedChunk(own_places, own_batch, counts[chunk])
        count = call(select_chunk, first, last, storage, wanted, bounds, own, picked)
        begin = fetch_add(tallies, SELECTED, count)
        begins[chunk], ends[chunk] = begin, begin + count
        for i in range(count):  # no slice: numba would compile its shape error (compile-time.md)
            places[begin + i] = own_places[i]
        for i in range(count):
            batch[begin + i] = own_batch[i]
        first, last = next_chunk(tallies, worker, width, grain, storage.words.size)


@njit
def assign_batches(first, last, storage, bounds, batch, counts):
    """Write the batches of all edges of one chunk to `batch`, uint8 by place, and count them in `counts`.

    `counts`, int64 of shape (batches,), is overwritten.
    """
    counts[:] = 0
    places = np.empty(BLOCK, np.uint64)
    for block in range(first, last, BLOCK):
        size = min(BLOCK, last - block)
        for i in range(np.uint64(size)):
            places[i] = np.uint64(block) + i
        call(batches_of, storage, places[:size], bounds, batch, np.uint64(block))
    for place in range(np.uint64(first), np.uint64(last)):
        counts[batch[place]] += 1


@njit
def select_all(schedule, storage, bounds, selected):
    """Write the batches of all edges of an edge list or `CopiedEdges` to a `SelectedPlaces`, not their places."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _select_all_worker, schedule, storage, bounds, selected)


@njit
def _select_all_worker(worker, schedule, storage, bounds, selected):
    """One worker of `select_all`."""
    width, grain, tallies = schedule
    _, batch, begins, ends, counts = selected
    bounds = _own_cells(bounds)
    first, last = next_chunk(tallies, worker, width, grain, storage.words.size)
    while first < last:
        chunk = first // grain
        begins[chunk], ends[chunk] = first, last
        call(assign_batches, first, last, storage, bounds, batch, counts[chunk])
        first, last = next_chunk(tallies, worker, width, grain, storage.words.size)


# -- copying ----------------------------------------------------------------------------------------------------


def new_copy(storage: Storage, size: int, ids: int, empty: Callable[..., np.ndarray] = np.empty) -> CopiedEdges:
    """Return space for `size` copied edges of a storage; `ids` is above its edge ids minus its first id.

    `empty` allocates arrays, given a shape and dtype.
    """
    ends = vertex_type(storage)
    row_type = np.uint32 if ids <= 2**32 else np.int64
    columns = (empty(size, dtype) for dtype in (storage.words.dtype, ends, ends, row_type))
    words, u, v, rows = columns
    return CopiedEdges(words, storage.kind, u, v, rows, getattr(storage, "start", 0))


@njit
def copy_rows(schedule, storage, rows, copy):
    """Copy the edges at `rows`, uint32 (k,), of an edge list or `CopiedEdges` to `copy`, a `CopiedEdges`, in order."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _copy_worker, schedule, storage, rows, copy)


@njit
def _copy_worker(worker, schedule, storage, rows, copy):
    """One worker of `copy_rows`."""
    width, grain, tallies = schedule
    from_words, (words, _, u, v, ids, _) = storage.words, copy
    first, last = next_chunk(tallies, worker, width, grain, rows.size)
    while first < last:
        for i in range(first, last):
            e = rows[i]
            words[i] = from_words[e]
            u[i], v[i], ids[i] = edge_at(storage, e, 0)
        first, last = next_chunk(tallies, worker, width, grain, rows.size)


@njit
def copy_chunk(first, last, storage, wanted, copy, tallies, picked):
    """Append the edges of one chunk that have an end outside the giant tree to `copy`, a `CopiedEdges`.

    Only edges above the bound (`low`, `low_id`) of `wanted` are copied. ``tallies[SELECTED]``, int64, counts the edges
    in the copy. `picked` has space for the chunk and one more.
    """
    low, low_id = wanted.low, wanted.low_id
    size = pick_outside(storage, first, last, wanted.in_giant, picked)
    count = np.uint64(0)
    for i in range(size):
        place = picked[i]
        picked[count] = place
        key = key_of(storage.words[place], storage.kind)
        count += np.uint64((key > low) | ((key == low) & (edge_at(storage, place, 0)[2] > low_id)))
    if count == 0:
        return
    at = fetch_add(tallies, SELECTED, np.int64(count))
    row = find_row(storage, picked[0])
    for i in range(count):
        place = picked[i]
        row = advance_row(storage, place, row)
        a, b, e = edge_at(storage, place, row)
        j = at + np.int64(i)
        copy.words[j], copy.u[j], copy.v[j], copy.rows[j] = storage.words[place], a, b, e - copy.start


@njit
def copy_outside_serially(storage, wanted, copy, tallies):
    """Run `copy_chunk` over all chunks by one worker, in order; the copy may be the storage itself."""
    picked = np.empty(BLOCK + 1, np.uint64)
    for first in range(0, storage.words.size, BLOCK):
        copy_chunk(first, min(first + BLOCK, storage.words.size), storage, wanted, copy, tallies, picked)


@njit
def copy_outside(schedule, storage, wanted, copy):
    """Run `copy_chunk` over all chunks by the workers of a `Schedule`."""
    reset_queue(schedule.tallies, schedule.width)
    schedule.tallies[SELECTED] = 0
    run(schedule.width, _copy_outside_worker, schedule, storage, wanted, copy)


@njit
def _copy_outside_worker(worker, schedule, storage, wanted, copy):
    """One worker of `copy_outside`."""
    width, grain, tallies = schedule
    picked = np.empty(grain + 1, np.uint64)
    first, last = next_chunk(tallies, worker, width, grain, storage.words.size)
    while first < last:
        call(copy_chunk, first, last, storage, wanted, copy, tallies, picked)
        first, last = next_chunk(tallies, worker, width, grain, storage.words.size)
