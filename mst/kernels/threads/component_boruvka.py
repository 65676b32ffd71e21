"""Borůvka's two phases over components, without contraction (Lonestar): find lightest edges, then merge.

Arrays that the kernels share:

- ``rows``: `mst.kernels.primitives.packed_edges.PackedRows`, each row sorted by the order;
- ``cursors``: int64, shape (n,): of each vertex the first slot that may leave its component;
- ``parent``: int32 or int64, shape (n,): `mst.kernels.union_find.concurrent`, linked by index;
- ``lightest``: int64, shape (n,): at each root the lightest slot of its component, or -1;
- worklists: int32 or int64, shape (n,): vertices, of which the first so many count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import FINISHED, FOREST, LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import edge_id, lighter
from mst.kernels.union_find.concurrent import find, unite

PENDING = FINISHED
"""Index of the counter that holds the length of the list of pending vertices."""


class State(NamedTuple):
    """Cursors, union-find and lightest slots, as the module describes them."""

    cursors: np.ndarray
    parent: np.ndarray
    lightest: np.ndarray


@njit(inline="always")
def lower_lightest(lightest, component, words, ids, slot):
    """Make `slot` the lightest of `component` if it is lighter than the present one."""
    seen = load(lightest, component)
    while seen < 0 or lighter(words, ids, slot, seen):
        found = compare_and_swap(lightest, component, seen, slot)
        if found == seen:
            return
        seen = found


@njit
def append(items, count, target, counters, place):
    """Append the first `count` of `items` to a shared worklist, whose length is ``counters[place]``."""
    if count:
        at = fetch_add(counters, place, count)
        target[at : at + count] = items[:count]


@njit(parallel=True)
def find_lightest(schedule, worklist, rows, limit, state, following, pending):
    """Move every cursor to the next slot that leaves its component, and lower the lightest slot of that component.

    Vertices whose slot has a word up to `limit` are appended to `following`, those of a heavier one to `pending`, and
    vertices at the end of their row to neither. The lengths are ``counters[LIVE]``, which starts at 0, and
    ``counters[PENDING]``.

    Parameters
    ----------
    schedule : Schedule
    worklist : array of int32 or int64, shape (size,)
    rows : PackedRows
    limit : uint64
    state : State
    following, pending : array like `worklist`, shape (n,)
        Appended to.
    """
    width, grain, counters = schedule
    offsets, neighbours, words, ids = rows
    cursors, parent, lightest = state
    size = worklist.size
    reset_queue(counters, width)
    counters[LIVE] = 0
    for worker in prange(width):
        near, far = np.empty(grain, worklist.dtype), np.empty(grain, worklist.dtype)
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            found = late = 0
            for place in range(first, last):
                x = worklist[place]
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
                    lower_lightest(lightest, mine, words, ids, i)
                    near[found] = x
                    found += 1
            append(near, found, following, counters, LIVE)
            append(far, late, pending, counters, PENDING)
            first, last = next_chunk(counters, worker, width, grain, size)


@njit(parallel=True)
def merge(schedule, worklist, rows, state, forest):
    """Unite components along the slots that are their lightest, and reset the lightest slot of both.

    A component that another one was linked to before its own slot was looked at may lose its turn; the slot is found
    again in the next round.

    Parameters
    ----------
    schedule : Schedule
    worklist : array of int32 or int64, shape (size,)
    rows : PackedRows
    state : State
    forest : array of int64, shape (n - 1,)
        Edge ids are appended; ``counters[FOREST]`` is how many there are.
    """
    width, grain, counters = schedule
    _, neighbours, words, ids = rows
    cursors, parent, lightest = state
    size = worklist.size
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            for place in range(first, last):
                x = worklist[place]
                i = cursors[x]
                if load(lightest, find(parent, x)) == i and unite(parent, x, neighbours[i]):
                    store(lightest, find(parent, x), -1)
                    forest[fetch_add(counters, FOREST, 1)] = edge_id(words, ids, i)
            first, last = next_chunk(counters, worker, width, grain, size)
