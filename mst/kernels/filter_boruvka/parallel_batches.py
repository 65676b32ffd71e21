"""Edges of a part of the order into batches of ascending weight; within a batch nothing is sorted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.filter_boruvka.batch_edges import put
from mst.kernels.filter_boruvka.parallel_select import (
    BLOCK,
    Kept,
    edge_at,
    pick,
    pick_outside,
    row_near,
    row_of,
)
from mst.kernels.parallel.keys import key_of
from mst.kernels.parallel.runtime import LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch

SELECTED = LIVE
_AHEAD = 32
_CELLS = 1 << 13


class Part(NamedTuple):
    """The edges above (`low`, `low_id`), at most (`high`, `high_id`)."""

    low: np.unsignedinteger
    low_id: int
    high: np.unsignedinteger
    high_id: int


class Closed(NamedTuple):
    """What lies within a tree and need not be joined: edges with both ends inside a bitmap, or None.

    Where `exact`, of the others those too whose ends have the same root; all vertices point at their `roots` then.
    """

    inside: np.ndarray | None
    roots: np.ndarray
    exact: bool


class Bounds(NamedTuple):
    """Bounds between batches, ascending by (key, id), and the table that `batch_of` looks keys up in.

    ``cells[i]`` is the batch of all keys of cell `i`, ``(key - base) >> shift``: a bound within moves to the end
    of its cell. Where several lie within one, it is negative, and only there the bounds are searched.
    """

    keys: np.ndarray
    ids: np.ndarray
    base: np.unsignedinteger
    shift: np.unsignedinteger
    cells: np.ndarray


def bounds_of(keys, ids) -> Bounds:
    """Return bounds with their table; without any, there is one batch."""
    key = keys.dtype.type
    if len(keys) == 0:
        return Bounds(keys, ids, key(0), key(0), np.zeros(1, np.int16))
    shift, cells = _cells_of(keys)
    return Bounds(keys, ids, keys[0], key(shift), cells)


@njit
def _cells_of(bound_keys):
    """Return the ``(shift, cells)`` of `Bounds`; there is one key at least."""
    base, shift = bound_keys[0], np.uint64(0)
    span = np.uint64(bound_keys[-1] - base)
    while span >> shift >= _CELLS:
        shift += np.uint64(1)
    cells = np.empty(np.int64(span >> shift) + 2, np.int16)
    bound = 0
    for cell in range(cells.size - 1):
        before = bound
        while bound < bound_keys.size and np.int64(np.uint64(bound_keys[bound] - base) >> shift) == cell:
            bound += 1
        cells[cell] = before if bound < before + 2 else -1
    # The last one is for all keys above.
    cells[-1] = bound_keys.size
    return shift, cells


@njit
def batch_of(key, e, bounds):
    """Return the batch of an edge: how many of the bounds are before it, more or less."""
    base, cells = bounds.base, bounds.cells
    batch = cells[min(np.uint64((max(key, base) - base) >> bounds.shift), np.uint64(cells.size - 1))]
    if batch >= 0:
        return np.int64(batch)
    low, high = 0, bounds.keys.size
    while low < high:
        middle = (low + high) // 2
        if bounds.keys[middle] < key or (bounds.keys[middle] == key and bounds.ids[middle] < e):
            low = middle + 1
        else:
            high = middle
    return low


@njit
def between_trees(source, roots, picked, size):
    """Keep of the first `size` places in `picked` those whose ends have two roots; return how many."""
    kept = np.uint64(0)
    if size == 0:
        return np.int64(0)
    row = row_near(source, picked[0])
    for i in range(np.uint64(size)):
        place = picked[i]
        row = row_of(source, place, row)
        a, b, _ = edge_at(source, place, row)
        picked[kept] = place
        kept += np.uint64(roots[a] != roots[b])
    return np.int64(kept)


@njit
def sort_out_range(first, last, source, kind, part, rare, closed, bounds, places, batch, counts, picked):
    """Find the edges of one chunk that belong to a part, and their batches; those that are `Closed` are left out.

    Writes their places and batches, counts them by batch, and returns how many they are.
    """
    low, low_id, high, high_id = part
    counts[:] = 0
    at = np.uint64(0)
    for block in range(first, last, BLOCK):
        size = pick(source, kind, block, min(block + BLOCK, last), low, high, rare, closed.inside, picked)
        if closed.exact:
            size = between_trees(source, closed.roots, picked, size)
        for i in range(np.uint64(size)):
            place = picked[i]
            key, e = key_of(source[0][place], kind), edge_at(source, place, 0)[2]
            b = batch_of(key, e, bounds)
            places[at], batch[at] = place, b
            here = ((key != low) | (e > low_id)) & ((key != high) | (e <= high_id))
            counts[b] += here
            at += np.uint64(here)
    return np.int64(at)


@njit(parallel=True)
def select(
    width, grain, source, kind, part, rare, closed, bounds, places, batch, begins, ends, counts, counters
):
    """`sort_out_range` over all chunks.

    Row `c` of `counts` says how many edges of chunk `c` are in which batch; they lie at ``begins[c] … ends[c] - 1``.
    """
    reset_queue(counters, width)
    counters[SELECTED] = 0
    for worker in prange(width):
        # By way of the worker's own, so that of `places` no more is ever touched than there are edges selected.
        own_places, own_batch = np.empty(grain, places.dtype), np.empty(grain, batch.dtype)
        picked = np.empty(BLOCK + 1, np.uint64)
        first, last = next_chunk(counters, worker, width, grain, source[0].size)
        while first < last:
            chunk = first // grain
            count = sort_out_range(
                first,
                last,
                source,
                kind,
                part,
                rare,
                closed,
                bounds,
                own_places,
                own_batch,
                counts[chunk],
                picked,
            )
            begin = fetch_add(counters, SELECTED, count)
            begins[chunk], ends[chunk] = begin, begin + count
            places[begin : begin + count] = own_places[:count]
            batch[begin : begin + count] = own_batch[:count]
            first, last = next_chunk(counters, worker, width, grain, source[0].size)


@njit
def number_range(first, last, source, kind, bounds, batch, counts):
    """Write the batches of all edges of one chunk, and count them by batch."""
    counts[:] = 0
    words = source[0]
    for place in range(np.uint64(first), np.uint64(last)):
        e = edge_at(source, place, 0)[2]
        b = batch_of(key_of(words[place], kind), e, bounds)
        batch[place] = b
        counts[b] += 1


@njit(parallel=True)
def select_all(width, grain, source, kind, bounds, batch, begins, ends, counts, counters):
    """As `select` where every edge belongs to the part, and has one place: places are not written."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, source[0].size)
        while first < last:
            chunk = first // grain
            begins[chunk], ends[chunk] = first, last
            number_range(first, last, source, kind, bounds, batch, counts[chunk])
            first, last = next_chunk(counters, worker, width, grain, source[0].size)


def new_kept(source, size: int, ids: int, empty=np.empty) -> Kept:
    """Return room for `size` edges of a source with so many edge ids; `empty` makes arrays of a shape and dtype."""
    words, ends = source[0].dtype, source[1].dtype
    id_type = np.uint32 if ids <= 2**32 else np.int64
    return Kept(*(empty(size, dtype) for dtype in (words, ends, ends, id_type)))


@njit
def keep_range(first, last, source, kind, low, low_id, inside, kept, counters, picked):
    """Copy the edges of one chunk above (`low`, `low_id`) that do not lie inside a bitmap."""
    size = pick_outside(source, first, last, inside, picked)
    count = np.uint64(0)
    for i in range(size):
        place = picked[i]
        picked[count] = place
        key = key_of(source[0][place], kind)
        count += np.uint64((key > low) | ((key == low) & (edge_at(source, place, 0)[2] > low_id)))
    if count == 0:
        return
    at = fetch_add(counters, SELECTED, np.int64(count))
    row = row_near(source, picked[0])
    for i in range(count):
        place = picked[i]
        row = row_of(source, place, row)
        a, b, e = edge_at(source, place, row)
        j = at + np.int64(i)
        kept.words[j], kept.u[j], kept.v[j], kept.ids[j] = source[0][place], a, b, e


@njit(parallel=True)
def keep_open(width, grain, source, kind, low, low_id, inside, kept, counters):
    """`keep_range` over all chunks; ``counters[SELECTED]`` says how many were copied."""
    reset_queue(counters, width)
    counters[SELECTED] = 0
    for worker in prange(width):
        picked = np.empty(grain + 1, np.uint64)
        first, last = next_chunk(counters, worker, width, grain, source[0].size)
        while first < last:
            keep_range(first, last, source, kind, low, low_id, inside, kept, counters, picked)
            first, last = next_chunk(counters, worker, width, grain, source[0].size)


@njit
def prefix(counts):
    """Turn counts into places, by batch and then chunk; return where each batch begins, and the end."""
    chunks, batches = counts.shape
    bounds, place = np.zeros(batches + 1, np.int64), np.zeros(batches, np.int64)
    # Row by row: other cores have just written them.
    for chunk in range(chunks):
        for batch in range(batches):
            bounds[batch + 1] += counts[chunk, batch]
    for batch in range(batches):
        bounds[batch + 1] += bounds[batch]
        place[batch] = bounds[batch]
    for chunk in range(chunks):
        for batch in range(batches):
            counts[chunk, batch], place[batch] = place[batch], place[batch] + counts[chunk, batch]
    return bounds


@njit
def place_at(places, i):
    """Return the `i`-th place; without places, every place was selected."""
    if places is None:
        return np.uint64(i)
    return np.uint64(places[i])


@njit
def scatter_range(first, last, source, kind, places, batch, next_places, edges, to):
    """Write the selected edges of one chunk to the next places of their batches."""
    if first == last:
        return
    row = row_near(source, place_at(places, first))
    for block in range(first, last, BLOCK):
        size = min(BLOCK, last - block)
        # Places first: a store whose address waits for a load would hold up the loads behind it.
        for i in range(size):
            b = batch[block + i]
            to[i] = next_places[b]
            next_places[b] += 1
        for i in range(size):
            far = to[min(i + _AHEAD, size - 1)]
            prefetch(edges[0], far)
            prefetch(edges[-1], far)
            place = place_at(places, block + i)
            row = row_of(source, place, row)
            a, b, e = edge_at(source, place, row)
            put(edges, to[i], a, b, key_of(source[0][place], kind), e)


@njit(parallel=True)
def scatter(width, grain, source, kind, places, batch, begins, ends, next_places, edges, counters):
    """`scatter_range` over all chunks."""
    reset_queue(counters, width)
    for worker in prange(width):
        to = np.empty(BLOCK, np.int64)
        first, last = next_chunk(counters, worker, width, grain, source[0].size)
        while first < last:
            chunk = first // grain
            scatter_range(
                begins[chunk], ends[chunk], source, kind, places, batch, next_places[chunk], edges, to
            )
            first, last = next_chunk(counters, worker, width, grain, source[0].size)
