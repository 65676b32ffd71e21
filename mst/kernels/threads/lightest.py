"""Borůvka's two phases over components, without contraction (Lonestar): find lightest edges, then merge.

Rows are sorted by the order, and every vertex keeps a cursor to its first slot that may leave its component. The
lightest slot of a component, -1 for none, is kept at its root. A worklist is an array of vertices.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import FINISHED, FOREST, LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import edge_id, lighter
from mst.kernels.union_find.concurrent import find, unite

PENDING = FINISHED
"""Where counters keep how long the list of pending vertices is."""


@njit(inline="always")
def offer(lightest, component, words, ids, slot):
    """Make `slot` the lightest of a component unless that is before it."""
    seen = load(lightest, component)
    while seen < 0 or lighter(words, ids, slot, seen):
        found = compare_and_swap(lightest, component, seen, slot)
        if found == seen:
            return
        seen = found


@njit
def append(items, count, target, counters, place):
    """Add the first `count` items to a shared list."""
    if count:
        at = fetch_add(counters, place, count)
        target[at : at + count] = items[:count]


@njit(parallel=True)
def find_lightest(
    width, grain, size, current, offsets, neighbours, words, ids, cursors, limit, parent, lightest, following,
    pending, counters,
):  # fmt: skip
    """Move every cursor to the next slot that leaves its component, and offer that to the component.

    Vertices of slots up to the word `limit` go to `following`, of heavier ones to `pending`; a vertex whose row has
    come to its end goes nowhere.
    """
    reset_queue(counters, width)
    counters[LIVE] = 0
    for worker in prange(width):
        near, far = np.empty(grain, current.dtype), np.empty(grain, current.dtype)
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            found = late = 0
            for place in range(first, last):
                x = current[place]
                mine = find(parent, x)
                i = cursors[x]
                while i < offsets[x + 1] and words[i] <= limit and find(parent, neighbours[i]) == mine:
                    i += 1
                cursors[x] = i
                if i == offsets[x + 1]:
                    continue
                if words[i] > limit:
                    far[late] = x
                    late += 1
                else:
                    offer(lightest, mine, words, ids, i)
                    near[found] = x
                    found += 1
            append(near, found, following, counters, LIVE)
            append(far, late, pending, counters, PENDING)
            first, last = next_chunk(counters, worker, width, grain, size)


@njit(parallel=True)
def merge(width, grain, size, current, neighbours, words, ids, cursors, parent, lightest, forest, counters):
    """Join components along the slots that are their lightest, and forget what was the lightest of either.

    A component that another one was hung under while its own slot had not been looked at yet may lose its turn;
    the slot is found again in the next round.
    """
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            for place in range(first, last):
                x = current[place]
                i = cursors[x]
                if load(lightest, find(parent, x)) == i and unite(parent, x, neighbours[i]):
                    store(lightest, find(parent, x), -1)
                    forest[fetch_add(counters, FOREST, 1)] = edge_id(words, ids, i)
            first, last = next_chunk(counters, worker, width, grain, size)
