"""Borůvka's steps by vertex over a CSR that is rebuilt every round (Sousa, Mariano and Proença, PDP 2015).

The graph of a round is ``offsets, neighbours, words, ids``: both slots of every edge between two supervertices,
parallel edges included; `words` and `ids` as in `mst.kernels.primitives.packed_edges`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import FOREST, LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add, load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import edge_id, lighter


@njit(parallel=True)
def choose_lightest(width, grain, offsets, neighbours, words, ids, lightest, colors, counters):
    """Set the lightest slot of every row, and its other end as the row's color; an empty row has its own."""
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
def remove_mirrors(width, grain, offsets, neighbours, words, ids, lightest, colors, forest, counters):
    """Append the lightest edges; of two rows that chose one edge the smaller keeps its own color and adds none."""
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
                # Their choices are read where nobody writes: colors change under way.
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
def propagate_colors(width, grain, colors, counters):
    """Take over the color of one's color; return how many changed."""
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
def count_colors(width, grain, colors, counts, counters):
    """Set ``counts[c]`` to how many vertices of chunk `c` have their own color."""
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
def number_colors(width, grain, colors, starts, names, counters):
    """Name the vertices that have their own color 0, 1, 2 … in order."""
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
def count_slots(width, grain, offsets, neighbours, colors, names, kept, degrees, counters):
    """Count the slots of each row that lead to another color, and add them to its supervertex's degree."""
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
    """Turn degrees into offsets, and `degrees` itself into where each row is filled next."""
    place = 0
    for x in range(degrees.size):
        offsets[x], degrees[x], place = place, place, place + degrees[x]
    offsets[degrees.size] = place


@njit(parallel=True)
def insert_slots(
    width, grain, offsets, neighbours, words, ids, colors, names, kept, cursors, out_neighbours, out_words, out_ids,
    counters,
):  # fmt: skip
    """Copy the slots that lead to another color into a part of their supervertex's row."""
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
