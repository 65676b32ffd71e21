"""Borůvka's steps by vertex over rows that are rebuilt every round (Sousa, Mariano and Proença, PDP 2015).

Arrays that the kernels share:

- ``rows``: `mst.kernels.primitives.packed_edges.PackedRows` of the round's graph: both slots of every edge between two
  supervertices, parallel edges included;
- ``colors``: int32 or int64, shape (n,): of each vertex the vertex whose color it has; a vertex of its own color is the
  root of a tree;
- ``names``: like `colors`: of each root its vertex number in the next round's graph.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import FOREST, LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add, load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import edge_id, lighter


@njit(parallel=True)
def choose_lightest(schedule, rows, lightest, colors):
    """Write the lightest slot of every row, int64 (n,), and its other end as the color; empty rows keep theirs."""
    width, grain, counters = schedule
    offsets, neighbours, words, ids = rows
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, colors.size)
        while first < last:
            for x in range(first, last):
                best = offsets[x]
                for i in range(offsets[x] + 1, offsets[x + 1]):
                    if lighter(words, ids, i, best):
                        best = i
                empty = offsets[x] == offsets[x + 1]
                lightest[x] = best
                colors[x] = x if empty else neighbours[best]
            first, last = next_chunk(counters, worker, width, grain, colors.size)


@njit(parallel=True)
def remove_mirrors(schedule, rows, lightest, colors, forest):
    """Append the ids of the lightest edges to `forest`, int64 (vertices of the input - 1,).

    Of two rows that chose the same edge the smaller keeps its own color and appends nothing. `lightest` is that of
    `choose_lightest`.
    """
    width, grain, counters = schedule
    offsets, neighbours, words, ids = rows
    reset_queue(counters, width)
    for worker in prange(width):
        won = np.empty(grain, np.int64)
        first, last = next_chunk(counters, worker, width, grain, colors.size)
        while first < last:
            count = 0
            for x in range(first, last):
                if offsets[x] == offsets[x + 1]:
                    continue
                other = neighbours[lightest[x]]
                # The choices are read from `lightest`, which no worker writes: colors change meanwhile.
                if x < other and neighbours[lightest[other]] == x:
                    colors[x] = x
                else:
                    won[count] = edge_id(words, ids, lightest[x])
                    count += 1
            if count:
                place = fetch_add(counters, FOREST, count)
                forest[place : place + count] = won[:count]
            first, last = next_chunk(counters, worker, width, grain, colors.size)


@njit(parallel=True)
def propagate_colors(schedule, colors):
    """Give every vertex the color of its color; return how many colors changed."""
    width, grain, counters = schedule
    reset_queue(counters, width)
    counters[LIVE] = 0
    for worker in prange(width):
        changed = 0
        first, last = next_chunk(counters, worker, width, grain, colors.size)
        while first < last:
            for x in range(first, last):
                color = load(colors, x)
                further = load(colors, color)
                if further != color:
                    store(colors, x, further)
                    changed += 1
            first, last = next_chunk(counters, worker, width, grain, colors.size)
        fetch_add(counters, LIVE, changed)
    return counters[LIVE]


@njit(parallel=True)
def count_colors(schedule, colors, counts):
    """Write how many vertices of each chunk have their own color; `counts` is int64, shape (chunks,)."""
    width, grain, counters = schedule
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, colors.size)
        while first < last:
            total = 0
            for x in range(first, last):
                total += colors[x] == x
            counts[first // grain] = total
            first, last = next_chunk(counters, worker, width, grain, colors.size)


@njit(parallel=True)
def number_colors(schedule, colors, starts, names):
    """Number the vertices that have their own color 0, 1, 2 … in order.

    ``starts[c]``, int64, is the first number of chunk `c`; `names` of other vertices is not written.
    """
    width, grain, counters = schedule
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, colors.size)
        while first < last:
            name = starts[first // grain]
            for x in range(first, last):
                if colors[x] == x:
                    names[x] = name
                    name += 1
            first, last = next_chunk(counters, worker, width, grain, colors.size)


@njit(parallel=True)
def count_slots(schedule, rows, colors, names, kept, degrees):
    """Count the slots of each row that lead to another color, and add them to the degree of its supervertex.

    `kept` is written, int64 (n,); `degrees` is added to, int64 (supervertices,).
    """
    width, grain, counters = schedule
    offsets, neighbours, _, _ = rows
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, colors.size)
        while first < last:
            for x in range(first, last):
                total = 0
                for i in range(offsets[x], offsets[x + 1]):
                    total += colors[neighbours[i]] != colors[x]
                kept[x] = total
                if total:
                    fetch_add(degrees, names[colors[x]], total)
            first, last = next_chunk(counters, worker, width, grain, colors.size)


@njit
def prefix(degrees, offsets):
    """Write the exclusive prefix sum of `degrees`, int64 (k,), to `offsets`, int64 (k + 1,), and to `degrees` itself.

    `degrees` then holds for each row the slot that is filled next.
    """
    place = 0
    for x in range(degrees.size):
        offsets[x], degrees[x], place = place, place, place + degrees[x]
    offsets[degrees.size] = place


@njit(parallel=True)
def insert_slots(schedule, rows, colors, names, kept, cursors, out):
    """Copy the slots that lead to another color to the row of their supervertex.

    Parameters
    ----------
    schedule : Schedule
    rows : PackedRows
    colors, names : array of int32 or int64, shape (n,)
    kept : array of int64, shape (n,)
        From `count_slots`.
    cursors : array of int64, shape (supervertices,)
        From `prefix`; each moves to the end of its row.
    out : tuple
        Neighbours, words and ids of the new rows; written.
    """
    width, grain, counters = schedule
    offsets, neighbours, words, ids = rows
    out_neighbours, out_words, out_ids = out
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, colors.size)
        while first < last:
            for x in range(first, last):
                if kept[x] == 0:
                    continue
                place = fetch_add(cursors, names[colors[x]], kept[x])
                for i in range(offsets[x], offsets[x + 1]):
                    color = colors[neighbours[i]]
                    if color != colors[x]:
                        out_neighbours[place], out_words[place] = names[color], words[i]
                        if ids.size:
                            out_ids[place] = ids[i]
                        place += 1
            first, last = next_chunk(counters, worker, width, grain, colors.size)
