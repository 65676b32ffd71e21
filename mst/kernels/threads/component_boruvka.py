"""Borůvka's two phases over components, without contraction (Lonestar): find lightest edges, then merge.

`mst.algorithms.threads.component_boruvka` calls these kernels. They share these arrays:

- ``rows``: `mst.kernels.primitives.packed_edges.PackedRows`, each row sorted by the order;
- ``cursors``: int64, shape (n,): each vertex's first slot that may leave its component;
- ``parent``: int32 or int64, shape (n,): a union-find of `mst.kernels.union_find.concurrent`, linked by index;
- ``lightest``: int64, shape (n,): at each root the lightest slot of its component, or -1;
- worklists: int32 or int64: vertices, each at most once.
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
"""Place in the tallies: the length of the list of pending vertices."""


class State(NamedTuple):
    """Cursors, union-find and lightest slots, as the module describes them."""

    cursors: np.ndarray
    parent: np.ndarray
    lightest: np.ndarray


@njit(inline="always")
def lower_lightest(lightest, component, words, ids, slot):
    """Set ``lightest[component]`` to `slot`, an int64, if `slot` is lighter than the slot there.

    Many threads may do so at once. `component` is a root, `words` and `ids` are fields of the `PackedRows`.
    """
    seen = load(lightest, component)
    while seen < 0 or lighter(words, ids, slot, seen):
        found = compare_and_swap(lightest, component, seen, slot)
        if found == seen:
            return
        seen = found


@njit
def append(items, count, target, tallies, place):
    """Append the first `count` of `items`, vertices, to the worklist `target`, whose length is ``tallies[place]``.

    Many threads may append at once: an atomic addition reserves the places, so the order depends on the schedule.
    """
    if count:
        at = fetch_add(tallies, place, count)
        target[at : at + count] = items[:count]


@njit(parallel=True)
def find_lightest(schedule, worklist, rows, limit, state, following, pending):
    """Move every cursor to the next slot that leaves its component, and lower the lightest slot of that component.

    If a cursor reaches a slot whose word is above `limit`, it stops there, its vertex is appended to `pending`, and the
    component does not take that slot. Vertices whose cursor is at a slot up to `limit` are appended to `following`, and
    vertices at the end of their row to neither. ``tallies[LIVE]``, set to 0 first, is the length of `following`;
    ``tallies[PENDING]``, which is not reset, is the length of `pending`.

    Parameters
    ----------
    schedule : Schedule
    worklist : array of int32 or int64, shape (size,)
        Vertices whose cursors are moved.
    rows : PackedRows
    limit : uint64
    state : State
        Cursors and lightest slots are written; the union-find's paths are split.
    following, pending : array of the dtype of `worklist`, shape (n,)
        Appended to; neither shares memory with `worklist`.
    """
    width, grain, tallies = schedule
    offsets, neighbours, words, ids = rows
    cursors, parent, lightest = state
    size = worklist.size
    reset_queue(tallies, width)
    tallies[LIVE] = 0
    for worker in prange(width):
        near, far = np.empty(grain, worklist.dtype), np.empty(grain, worklist.dtype)
        first, last = next_chunk(tallies, worker, width, grain, size)
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
            append(near, found, following, tallies, LIVE)
            append(far, late, pending, tallies, PENDING)
            first, last = next_chunk(tallies, worker, width, grain, size)


@njit(parallel=True)
def merge(schedule, worklist, rows, state, forest):
    """Unite every component with the component to which its lightest slot leads, unless both have been united before.

    The root of each union has no lightest slot afterwards; vertices that are no longer roots keep a lightest slot that
    is never read. If another component is linked to a root before the lightest slot of that root has been visited, the
    slot may be skipped in this round; the next round finds it again.

    Parameters
    ----------
    schedule : Schedule
    worklist : array of int32 or int64, shape (size,)
        The vertices that `find_lightest` appended to `following`.
    rows : PackedRows
    state : State
        Union-find and lightest slots are written.
    forest : array of int64, shape (n - 1,)
        Edge ids are appended; ``tallies[FOREST]`` is their number.
    """
    width, grain, tallies = schedule
    _, neighbours, words, ids = rows
    cursors, parent, lightest = state
    size = worklist.size
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, size)
        while first < last:
            for place in range(first, last):
                x = worklist[place]
                i = cursors[x]
                if load(lightest, find(parent, x)) == i and unite(parent, x, neighbours[i]):
                    store(lightest, find(parent, x), -1)
                    forest[fetch_add(tallies, FOREST, 1)] = edge_id(words, ids, i)
            first, last = next_chunk(tallies, worker, width, grain, size)
