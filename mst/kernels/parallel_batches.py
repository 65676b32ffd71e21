"""Edges of a part of the order into batches of ascending weight; within a batch nothing is sorted."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.atomics import prefetch
from mst.kernels.batch_edges import put
from mst.kernels.jit import njit
from mst.kernels.parallel_keys import key_of
from mst.kernels.parallel_runtime import claim, deal
from mst.kernels.parallel_select import BLOCK, edge_at, pick, row_near, row_of

_AHEAD = 32


@njit
def batch_of(key, e, base, shift, cells, bound_keys, bound_ids):
    """Return the batch of an edge: how many of the bounds, ascending by (key, id), are before it, more or less.

    ``cells[i]`` is the batch of all keys of cell `i`, ``(key - base) >> shift``: a bound within moves to the end
    of its cell. Where several lie within one, it is negative, and only there the bounds are searched.
    """
    batch = cells[min(np.uint64((max(key, base) - base) >> shift), np.uint64(cells.size - 1))]
    if batch >= 0:
        return np.int64(batch)
    low, high = 0, bound_keys.size
    while low < high:
        middle = (low + high) // 2
        if bound_keys[middle] < key or (bound_keys[middle] == key and bound_ids[middle] < e):
            low = middle + 1
        else:
            high = middle
    return low


@njit
def sort_out_range(
    first, last, source, kind, low, low_id, high, high_id, rare, inside,
    base, shift, cells, bound_keys, bound_ids, places, batch, counts, picked,
):  # fmt: skip
    """Find the edges of one chunk above (`low`, `low_id`), at most (`high`, `high_id`), and their batches.

    Writes their places and batches from ``places[first]`` and ``batch[first]`` on and counts them by batch;
    returns where they end.
    """
    counts[:] = 0
    at = np.uint64(first)
    for block in range(first, last, BLOCK):
        size = pick(source, kind, block, min(block + BLOCK, last), low, high, rare, inside, picked)
        for i in range(np.uint64(size)):
            place = picked[i]
            key, e = key_of(source[0][place], kind), edge_at(source, place, 0)[2]
            b = batch_of(key, e, base, shift, cells, bound_keys, bound_ids)
            places[at], batch[at] = place, b
            here = ((key != low) | (e > low_id)) & ((key != high) | (e <= high_id))
            counts[b] += here
            at += np.uint64(here)
    return np.int64(at)


@njit(parallel=True)
def select(
    width, grain, source, kind, low, low_id, high, high_id, rare, inside,
    base, shift, cells, bound_keys, bound_ids, places, batch, ends, counts, counters,
):  # fmt: skip
    """`sort_out_range` over all chunks.

    Row `c` of `counts` says how many edges of chunk `c` are in which batch, ``ends[c]`` where they end.
    """
    deal(counters, width)
    for worker in prange(width):
        picked = np.empty(BLOCK + 1, np.uint64)
        first, last = claim(counters, worker, width, grain, source[0].size)
        while first < last:
            ends[first // grain] = sort_out_range(
                first, last, source, kind, low, low_id, high, high_id, rare, inside,
                base, shift, cells, bound_keys, bound_ids, places, batch, counts[first // grain], picked,
            )  # fmt: skip
            first, last = claim(counters, worker, width, grain, source[0].size)


@njit
def prefix(counts):
    """Turn counts into places, by batch and then chunk; return where each batch begins, and the end."""
    bounds = np.empty(counts.shape[1] + 1, np.int64)
    place = 0
    for batch in range(counts.shape[1]):
        bounds[batch] = place
        for chunk in range(counts.shape[0]):
            counts[chunk, batch], place = place, place + counts[chunk, batch]
    bounds[counts.shape[1]] = place
    return bounds


@njit
def scatter_range(first, last, source, kind, places, batch, next_places, edges, to):
    """Write the selected edges of one chunk to the next places of their batches."""
    if first == last:
        return
    row = row_near(source, places[first])
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
            place = np.uint64(places[block + i])
            row = row_of(source, place, row)
            a, b, e = edge_at(source, place, row)
            put(edges, to[i], a, b, key_of(source[0][place], kind), e)


@njit(parallel=True)
def scatter(width, grain, source, kind, places, batch, ends, next_places, edges, counters):
    """`scatter_range` over all chunks."""
    deal(counters, width)
    for worker in prange(width):
        to = np.empty(BLOCK, np.int64)
        first, last = claim(counters, worker, width, grain, source[0].size)
        while first < last:
            chunk = first // grain
            scatter_range(first, ends[chunk], source, kind, places, batch, next_places[chunk], edges, to)
            first, last = claim(counters, worker, width, grain, source[0].size)
