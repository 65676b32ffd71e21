"""Borůvka's steps by vertex over rows that are rebuilt every round (Sousa, Mariano and Proença, PDP 2015).

`mst.algorithms.threads.contract_boruvka` calls these kernels. They share these arguments:

- ``schedule``: a `mst.kernels.parallel.runtime.Schedule`, which cuts the vertices into chunks;
- ``rows``: `mst.kernels.primitives.packed_edges.PackedRows` of the round's graph: both slots of every edge between two
  supervertices, including parallel edges;
- ``colours``: int32 or int64, shape (n,): each vertex's parent in a forest of the round's n vertices, and in the end
  its root. A vertex ``x`` with ``colours[x] == x`` is a root, and becomes a supervertex, a vertex of the next round;
- ``new_labels``: like `colours`: each root's vertex in the next round's graph, from 0.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import FOREST, LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add, load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import edge_id, lighter


@njit(parallel=True)
def choose_lightest(schedule, rows, lightest, colours):
    """Write the lightest slot of every row to `lightest`, int64 (n,), and the neighbour there to `colours`.

    A vertex with an empty row becomes a root, and its entry of `lightest` is not a slot of its row.
    """
    width, grain, tallies = schedule
    offsets, neighbours, words, ids = rows
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, colours.size)
        while first < last:
            for x in range(first, last):
                best = offsets[x]
                for i in range(offsets[x] + 1, offsets[x + 1]):
                    if lighter(words, ids, i, best):
                        best = i
                empty = offsets[x] == offsets[x + 1]
                lightest[x] = best
                colours[x] = x if empty else neighbours[best]
            first, last = next_chunk(tallies, worker, width, grain, colours.size)


@njit(parallel=True)
def remove_mirrors(schedule, rows, lightest, colours, forest):
    """Append the ids of the rows' lightest edges to `forest`, int64 (vertices of the input - 1,).

    Of two vertices that chose the same edge, the smaller one becomes a root, and does not append the edge. `lightest`
    is from `choose_lightest`. ``tallies[FOREST]`` is the length of the forest, whose order depends on the schedule.
    """
    width, grain, tallies = schedule
    offsets, neighbours, words, ids = rows
    reset_queue(tallies, width)
    for worker in prange(width):
        won = np.empty(grain, np.int64)
        first, last = next_chunk(tallies, worker, width, grain, colours.size)
        while first < last:
            count = 0
            for x in range(first, last):
                if offsets[x] == offsets[x + 1]:
                    continue
                other = neighbours[lightest[x]]
                # The choices are read from `lightest`, which no worker writes, since colours change at the same time.
                if x < other and neighbours[lightest[other]] == x:
                    colours[x] = x
                else:
                    won[count] = edge_id(words, ids, lightest[x])
                    count += 1
            if count:
                place = fetch_add(tallies, FOREST, count)
                forest[place : place + count] = won[:count]
            first, last = next_chunk(tallies, worker, width, grain, colours.size)


@njit(parallel=True)
def propagate_colours(schedule, colours):
    """Give every vertex the colour of its colour (one step of pointer jumping); return how many colours changed.

    Many threads may do so in place: a colour is an ancestor both before and after another worker replaces it. Once
    nothing changes, every vertex has its root as colour.
    """
    width, grain, tallies = schedule
    reset_queue(tallies, width)
    tallies[LIVE] = 0
    for worker in prange(width):
        changed = 0
        first, last = next_chunk(tallies, worker, width, grain, colours.size)
        while first < last:
            for x in range(first, last):
                colour = load(colours, x)
                further = load(colours, colour)
                if further != colour:
                    store(colours, x, further)
                    changed += 1
            first, last = next_chunk(tallies, worker, width, grain, colours.size)
        fetch_add(tallies, LIVE, changed)
    return tallies[LIVE]


@njit(parallel=True)
def count_roots(schedule, colours, counts):
    """Write the number of roots, ``colours[x] == x``, in each chunk of vertices to `counts`, int64 (chunks,)."""
    width, grain, tallies = schedule
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, colours.size)
        while first < last:
            total = 0
            for x in range(first, last):
                total += colours[x] == x
            counts[first // grain] = total
            first, last = next_chunk(tallies, worker, width, grain, colours.size)


@njit(parallel=True)
def number_roots(schedule, colours, starts, new_labels):
    """Write the numbers 0, 1, 2 … of the roots, in ascending order, to `new_labels`; other entries are not written.

    ``starts[c]``, int64 of shape (chunks,), is the first number of chunk `c`: the exclusive prefix sum of the counts of
    `count_roots`, with the same grain.
    """
    width, grain, tallies = schedule
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, colours.size)
        while first < last:
            label = starts[first // grain]
            for x in range(first, last):
                if colours[x] == x:
                    new_labels[x] = label
                    label += 1
            first, last = next_chunk(tallies, worker, width, grain, colours.size)


@njit(parallel=True)
def count_slots(schedule, rows, colours, new_labels, kept, degrees):
    """Write how many slots of each row lead to another supervertex to `kept`, int64 (n,).

    The counts are also added to the degree of the row's supervertex in `degrees`, int64 (supervertices,), which the
    caller has set to 0. ``colours`` are roots.
    """
    width, grain, tallies = schedule
    offsets, neighbours, _, _ = rows
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, colours.size)
        while first < last:
            for x in range(first, last):
                total = 0
                for i in range(offsets[x], offsets[x + 1]):
                    total += colours[neighbours[i]] != colours[x]
                kept[x] = total
                if total:
                    fetch_add(degrees, new_labels[colours[x]], total)
            first, last = next_chunk(tallies, worker, width, grain, colours.size)


@njit
def prefix(degrees, offsets):
    """Write the exclusive prefix sum of `degrees`, int64 (k,), to `offsets`, int64 (k + 1,), and to `degrees` itself.

    The last offset is the sum of all. `degrees` then holds the first slot of each row, where `insert_slots` begins.
    """
    place = 0
    for x in range(degrees.size):
        offsets[x], degrees[x], place = place, place, place + degrees[x]
    offsets[degrees.size] = place


@njit(parallel=True)
def insert_slots(schedule, rows, colours, new_labels, kept, cursors, out):
    """Copy slots that lead to another supervertex to their supervertex's row, in an order that depends on the schedule.

    Parameters
    ----------
    schedule : Schedule
    rows : PackedRows
    colours, new_labels : array of int32 or int64, shape (n,)
    kept : array of int64, shape (n,)
        From `count_slots`.
    cursors : array of int64, shape (supervertices,)
        From `prefix`; each moves to the end of its row.
    out : tuple of three arrays
        ``(neighbours, words, ids)`` of the new rows, with the dtypes of `rows`; written.
    """
    width, grain, tallies = schedule
    offsets, neighbours, words, ids = rows
    out_neighbours, out_words, out_ids = out
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, colours.size)
        while first < last:
            for x in range(first, last):
                if kept[x] == 0:
                    continue
                place = fetch_add(cursors, new_labels[colours[x]], kept[x])
                for i in range(offsets[x], offsets[x + 1]):
                    colour = colours[neighbours[i]]
                    if colour != colours[x]:
                        out_neighbours[place], out_words[place] = new_labels[colour], words[i]
                        if ids.size:
                            out_ids[place] = ids[i]
                        place += 1
            first, last = next_chunk(tallies, worker, width, grain, colours.size)
