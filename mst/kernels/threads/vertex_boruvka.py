"""The loops of Borůvka's algorithm over adjacency rows, as Shou and He propose for future work (§4.3, §4.4).

`mst.algorithms.threads.edge_boruvka` calls these kernels with ``minimum="vertex"``. A worker scans whole rows, so that
one atomic minimum per row is enough, and drops inner edges, whose ends are in one component, from rows in place,
without atomic additions. Only the worker that took a row's chunk writes to the row.
``state`` and ``in_forest`` are those of `mst.kernels.threads.edge_boruvka`, ``rows`` is a `Rows`, and ``schedule`` a
`mst.kernels.parallel.runtime.Schedule` that cuts the vertices into chunks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add, load, write_min
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import edge_id, lighter
from mst.kernels.threads.edge_boruvka import find_set, is_least, reset, unite


class Slots(NamedTuple):
    """The other ends, words and ids of the slots of all rows.

    Attributes
    ----------
    others : numpy.ndarray of int32 or int64, shape (slots,)
    words : numpy.ndarray of uint64, shape (slots,)
    ids : numpy.ndarray of int64, shape (slots,) or (0,)
        Empty if the words hold the ids.
    """

    others: np.ndarray
    words: np.ndarray
    ids: np.ndarray


class Rows(NamedTuple):
    """The rows, which shrink, and the root and the lightest slot that the last scan found for each row not empty.

    Attributes
    ----------
    begins, ends : numpy.ndarray of int64, shape (n,)
        Row `x` has the slots ``begins[x] … ends[x] - 1``.
    root : numpy.ndarray of int32 or int64, shape (n,)
        The root of the row's vertex when it was scanned.
    lightest : numpy.ndarray of int64, shape (n,)
        The lightest slot of the row.
    """

    begins: np.ndarray
    ends: np.ndarray
    root: np.ndarray
    lightest: np.ndarray


@njit(parallel=True)
def scan_rows(schedule, rows, slots, kept, state):
    """Drop the inner edges of every row, find the row's lightest slot, and lower the minimum of its root by that slot.

    Parameters
    ----------
    schedule : Schedule
    rows : Rows
        ``ends`` move down; roots and lightest slots are written.
    slots, kept : Slots
        `slots` are read. The slots of row `x` that leave its component are written to `kept`, from ``begins[x]`` on and
        in the same order, with the other end replaced by its root. Both may be the same arrays.
    state : State

    Returns
    -------
    int
        The number of slots that are left in all rows.
    """
    width, chunk, tallies = schedule
    begins, ends, roots, lightest = rows
    others, words, ids = slots
    kept_others, kept_words, kept_ids = kept
    reset_queue(tallies, width)
    tallies[LIVE] = 0
    for worker in prange(width):
        total = 0
        first, last = next_chunk(tallies, worker, width, chunk, begins.size)
        while first < last:
            for x in range(first, last):
                if begins[x] == ends[x]:
                    continue
                mine = find_set(state, x)
                place = best = begins[x]
                for i in range(begins[x], ends[x]):
                    other = find_set(state, others[i])
                    if other != mine:
                        kept_others[place], kept_words[place] = other, words[i]
                        if ids.size:
                            kept_ids[place] = ids[i]
                        if lighter(kept_words, kept_ids, place, best):
                            best = place
                        place += 1
                total += place - begins[x]
                ends[x], roots[x], lightest[x] = place, mine, best
                if place > begins[x]:
                    write_min(state.least, mine, kept_words[best])
            first, last = next_chunk(tallies, worker, width, chunk, begins.size)
        fetch_add(tallies, LIVE, total)
    return tallies[LIVE]


@njit(parallel=True)
def break_row_ties(schedule, rows, slots, state):
    """For each row whose lightest word is the least of its root, lower ``state.least_id`` there to that slot's id.

    `slots` are those that `scan_rows` kept. This is only needed if words do not hold the ids.
    """
    width, chunk, tallies = schedule
    begins, ends, roots, lightest = rows
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, begins.size)
        while first < last:
            for x in range(first, last):
                if begins[x] < ends[x] and load(state.least, roots[x]) == slots.words[lightest[x]]:
                    write_min(state.least_id, roots[x], slots.ids[lightest[x]])
            first, last = next_chunk(tallies, worker, width, chunk, begins.size)


@njit(parallel=True)
def unite_rows(schedule, rows, slots, both, state, in_forest):
    """Unite the ends of each row's lightest edge if it is the minimum of the row's root, and mark it in `in_forest`.

    If `both`, a bool, the edge must also be the minimum of the root at its other end. `slots` are those that
    `scan_rows` kept.
    """
    width, chunk, tallies = schedule
    begins, ends, roots, lightest = rows
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, begins.size)
        while first < last:
            for x in range(first, last):
                if begins[x] < ends[x]:
                    i = lightest[x]
                    word, e = slots.words[i], edge_id(slots.words, slots.ids, i)
                    if is_least(state, roots[x], word, e) and (
                        not both or is_least(state, slots.others[i], word, e)
                    ):
                        unite(state, roots[x], slots.others[i])
                        in_forest[e] = 1
            first, last = next_chunk(tallies, worker, width, chunk, begins.size)


@njit(parallel=True)
def reset_rows(schedule, rows, state):
    """Clear the minima of the roots of all rows that are not empty."""
    width, chunk, tallies = schedule
    begins, ends, roots, _ = rows
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, begins.size)
        while first < last:
            for x in range(first, last):
                if begins[x] < ends[x]:
                    reset(state, roots[x])
            first, last = next_chunk(tallies, worker, width, chunk, begins.size)
