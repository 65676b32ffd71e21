"""The parallel loops of Borůvka's algorithm over an edge list, each as a kernel (Shou and He, Listing 7).

`mst.algorithms.threads.edge_boruvka` calls these kernels. They share these arguments:

- ``schedule``: a `mst.kernels.parallel.runtime.Schedule`, whose grain is the option `chunk`;
- ``edges``: `mst.kernels.primitives.packed_edges.PackedEdges`, of which the first `size` are processed; except for
  `relabel` and the filters, they have no self-loops, and `a` and `b` were roots when the round began;
- ``state``: a `State`;
- ``in_forest``: uint8, shape (m,): 1 at the ids of chosen edges; two workers may both write it.

*By ticket* means that each element gets its place in the output from an atomic addition, so the output's
order depends on the schedule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import FOREST, LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add, load, store, write_min
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import NONE, edge_id
from mst.kernels.union_find.concurrent import rank_find, rank_link, rank_root

NO_ID = np.int64(np.iinfo(np.int64).max)


class State(NamedTuple):
    """The union-find and the minimum of each of its trees.

    Attributes
    ----------
    sets : numpy.ndarray of uint64, shape (n,)
        The wait-free union-find of Anderson and Woll, `mst.kernels.union_find.concurrent.ranked_forest`.
    compress : bool
        Whether look-ups compress paths, by splitting.
    least : numpy.ndarray of uint64, shape (n,)
        The least word at each root, or `NONE`.
    least_id : numpy.ndarray of int64, shape (n,) or (0,)
        The least id of the edges with that word, or `NO_ID`, for `break_ties`; empty if words hold the ids.
    """

    sets: np.ndarray
    compress: bool
    least: np.ndarray
    least_id: np.ndarray


@njit
def find_set(state, x):
    """Return the root of vertex `x`, an int64; other threads may unite trees at the same time."""
    return rank_find(state.sets, x) if state.compress else rank_root(state.sets, x)


@njit
def unite(state, x, y):
    """Unite the trees of vertices `x` and `y`, if they differ; other threads may do so at the same time."""
    while True:
        x, y = find_set(state, x), find_set(state, y)
        if x == y or rank_link(state.sets, x, y):
            return


@njit(inline="always")
def is_least(state, x, word, e):
    """Return whether edge `e` (int64), whose word is `word` (uint64), is the minimum of root `x`."""
    return load(state.least, x) == word and (state.least_id.size == 0 or load(state.least_id, x) == e)


@njit(inline="always")
def reset(state, x):
    """Clear the minimum of root `x`."""
    store(state.least, x, NONE)
    if state.least_id.size:
        store(state.least_id, x, NO_ID)


@njit(parallel=True)
def find_minima(schedule, size, edges, state):
    """Lower ``state.least`` at both ends of every edge to its word, by an atomic minimum."""
    width, chunk, tallies = schedule
    a, b, words, _ = edges
    least = state.least
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                write_min(least, a[i], words[i])
                write_min(least, b[i], words[i])
            first, last = next_chunk(tallies, worker, width, chunk, size)


@njit(parallel=True)
def break_ties(schedule, size, edges, state):
    """After `find_minima`, lower ``state.least_id`` to the id of each edge at the ends where its word is the least."""
    width, chunk, tallies = schedule
    a, b, words, ids = edges
    least, least_id = state.least, state.least_id
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                if load(least, a[i]) == words[i]:
                    write_min(least_id, a[i], ids[i])
                if load(least, b[i]) == words[i]:
                    write_min(least_id, b[i], ids[i])
            first, last = next_chunk(tallies, worker, width, chunk, size)


@njit(parallel=True)
def unite_minima(schedule, size, edges, both, state, in_forest):
    """Unite the ends of every edge that is the minimum of at least one end, and mark the edge in `in_forest`.

    If `both`, a bool, do so only for edges that are the minimum of both ends.
    """
    width, chunk, tallies = schedule
    a, b, words, ids = edges
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                e = edge_id(words, ids, i)
                of_a = is_least(state, a[i], words[i], e)
                of_b = is_least(state, b[i], words[i], e)
                if (of_a and of_b) if both else (of_a or of_b):
                    unite(state, a[i], b[i])
                    in_forest[e] = 1
            first, last = next_chunk(tallies, worker, width, chunk, size)


@njit(parallel=True)
def relabel(schedule, size, edges, new_ends, state):
    """Replace the ends of every edge by their roots, and clear the minima of both if the roots differ.

    `new_ends` are two arrays like ``edges.a``, written; they may be the ends of `edges` themselves.
    """
    width, chunk, tallies = schedule
    a, b, _, _ = edges
    new_a, new_b = new_ends
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                x, y = find_set(state, a[i]), find_set(state, b[i])
                new_a[i], new_b[i] = x, y
                if x != y:
                    reset(state, x)
                    reset(state, y)
            first, last = next_chunk(tallies, worker, width, chunk, size)


@njit
def copy_edge(edges, i, ends, out, place):
    """Copy edge `i` of `edges` to place `place` of `out`, with the pair `ends` for its ends; both are `PackedEdges`."""
    out.a[place], out.b[place] = ends
    out.words[place] = edges.words[i]
    if edges.ids.size:
        out.ids[place] = edges.ids[i]


@njit(parallel=True)
def filter_by_ticket(schedule, size, edges, out):
    """Copy all edges except self-loops to `out`, by ticket; return how many.

    `out` are `PackedEdges` that share no memory with `edges`.
    """
    width, chunk, tallies = schedule
    a, b, _, _ = edges
    reset_queue(tallies, width)
    tallies[LIVE] = 0
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                if a[i] != b[i]:
                    place = fetch_add(tallies, LIVE, 1)
                    copy_edge(edges, i, (a[i], b[i]), out, place)
            first, last = next_chunk(tallies, worker, width, chunk, size)
    return tallies[LIVE]


@njit
def filter_serially(size, edges, out):
    """Copy all edges except self-loops to `out`, in order, by one thread; return how many."""
    a, b, _, _ = edges
    place = 0
    for i in range(size):
        if a[i] != b[i]:
            copy_edge(edges, i, (a[i], b[i]), out, place)
            place += 1
    return place


@njit(parallel=True)
def relabel_filter_and_find_minima(schedule, size, edges, out, state):
    """Relabel, filter by ticket and find minima in one loop (Optimisation 2); return how many edges are left.

    `out` are `PackedEdges` that share no memory with `edges`; the minima of the roots are clear before.
    """
    width, chunk, tallies = schedule
    a, b, words, _ = edges
    least = state.least
    reset_queue(tallies, width)
    tallies[LIVE] = 0
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                x, y = find_set(state, a[i]), find_set(state, b[i])
                if x != y:
                    place = fetch_add(tallies, LIVE, 1)
                    copy_edge(edges, i, (x, y), out, place)
                    write_min(least, x, words[i])
                    write_min(least, y, words[i])
            first, last = next_chunk(tallies, worker, width, chunk, size)
    return tallies[LIVE]


@njit(parallel=True)
def reset_minima(schedule, size, edges, state):
    """Clear the minima of both ends of every edge."""
    width, chunk, tallies = schedule
    a, b, _, _ = edges
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                reset(state, a[i])
                reset(state, b[i])
            first, last = next_chunk(tallies, worker, width, chunk, size)


@njit(parallel=True)
def gather_by_ticket(schedule, in_forest, forest):
    """Write the ids marked in `in_forest` to `forest`, int64 (n - 1,), by ticket; return how many."""
    width, chunk, tallies = schedule
    reset_queue(tallies, width)
    tallies[FOREST] = 0
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, chunk, in_forest.size)
        while first < last:
            for e in range(first, last):
                if in_forest[e]:
                    forest[fetch_add(tallies, FOREST, 1)] = e
            first, last = next_chunk(tallies, worker, width, chunk, in_forest.size)
    return tallies[FOREST]


@njit
def gather_serially(in_forest, forest):
    """Write the ids marked in `in_forest` to `forest`, int64 (n - 1,), ascending, by one thread; return how many."""
    place = 0
    for e in range(in_forest.size):
        if in_forest[e]:
            forest[place] = e
            place += 1
    return place
