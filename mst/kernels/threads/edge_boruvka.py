"""The parallel loops of Borůvka's algorithm over an edge list, each as a kernel (Shou and He, Listing 7).

Edges are ``a, b, words, ids`` (see `mst.kernels.primitives.packed_edges`), without self-loops; `a` and `b` are
roots of the
union-find `sets`, the wait-free one of Anderson and Woll. Loops deal out `chunk` edges at a time. A minimum is a
pair of arrays: `least` holds a word for each root, and `least_id` the id of the edge that it is of, which matters
only where words alone do not tell edges apart. Chosen edges are marked by id in `in_forest`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import FOREST, LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add, load, lower, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import NONE, edge_id
from mst.kernels.union_find.concurrent import rank_find, rank_link, rank_root

NO_ID = np.int64(np.iinfo(np.int64).max)


@njit
def find_set(sets, x, compress):
    """Return the root of `x`, with or without path compression."""
    return rank_find(sets, x) if compress else rank_root(sets, x)


@njit
def join(sets, x, y, compress):
    """Join the trees of `x` and `y`."""
    while True:
        x, y = find_set(sets, x, compress), find_set(sets, y, compress)
        if x == y or rank_link(sets, x, y):
            return


@njit(inline="always")
def is_least(least, least_id, x, word, e, packed):
    """Return whether edge `e` is the minimum of root `x`."""
    return load(least, x) == word and (packed or load(least_id, x) == e)


@njit(inline="always")
def reset(least, least_id, x, packed):
    """Forget the minimum of root `x`."""
    store(least, x, NONE)
    if not packed:
        store(least_id, x, NO_ID)


@njit(parallel=True)
def find_minima(width, chunk, size, a, b, words, least, counters):
    """Lower the minimum of both ends of every edge."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                lower(least, a[i], words[i])
                lower(least, b[i], words[i])
            first, last = next_chunk(counters, worker, width, chunk, size)


@njit(parallel=True)
def break_ties(width, chunk, size, a, b, words, ids, least, least_id, counters):
    """Of the edges whose word is the minimum of an end, keep the smallest id."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                if load(least, a[i]) == words[i]:
                    lower(least_id, a[i], ids[i])
                if load(least, b[i]) == words[i]:
                    lower(least_id, b[i], ids[i])
            first, last = next_chunk(counters, worker, width, chunk, size)


@njit(parallel=True)
def unite_minima(
    width, chunk, size, a, b, words, ids, least, least_id, both, compress, sets, in_forest, counters
):
    """Join the ends of every edge that is the minimum of one of them, or of both, and mark it."""
    reset_queue(counters, width)
    packed = ids.size == 0
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                e = edge_id(words, ids, i)
                of_a = is_least(least, least_id, a[i], words[i], e, packed)
                of_b = is_least(least, least_id, b[i], words[i], e, packed)
                if (of_a and of_b) if both else (of_a or of_b):
                    join(sets, a[i], b[i], compress)
                    in_forest[e] = 1
            first, last = next_chunk(counters, worker, width, chunk, size)


@njit(parallel=True)
def map_ends(width, chunk, size, a, b, new_a, new_b, compress, sets, least, least_id, packed, counters):
    """Replace ends by their roots; where those differ, reset their minima."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                x, y = find_set(sets, a[i], compress), find_set(sets, b[i], compress)
                new_a[i], new_b[i] = x, y
                if x != y:
                    reset(least, least_id, x, packed)
                    reset(least, least_id, y, packed)
            first, last = next_chunk(counters, worker, width, chunk, size)


@njit(inline="always")
def put(i, x, y, words, ids, place, out_a, out_b, out_words, out_ids):
    """Write edge `i`, with the ends `x` and `y`, to `place` of the output."""
    out_a[place], out_b[place], out_words[place] = x, y, words[i]
    if ids.size:
        out_ids[place] = ids[i]


@njit(parallel=True)
def filter_by_ticket(width, chunk, size, a, b, words, ids, out_a, out_b, out_words, out_ids, counters):
    """Copy the edges that are no self-loops; each takes its place by an atomic addition. Return how many."""
    reset_queue(counters, width)
    counters[LIVE] = 0
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                if a[i] != b[i]:
                    place = fetch_add(counters, LIVE, 1)
                    put(i, a[i], b[i], words, ids, place, out_a, out_b, out_words, out_ids)
            first, last = next_chunk(counters, worker, width, chunk, size)
    return counters[LIVE]


@njit
def filter_serially(size, a, b, words, ids, out_a, out_b, out_words, out_ids):
    """Copy the edges that are no self-loops, on one thread. Return how many."""
    place = 0
    for i in range(size):
        if a[i] != b[i]:
            put(i, a[i], b[i], words, ids, place, out_a, out_b, out_words, out_ids)
            place += 1
    return place


@njit(parallel=True)
def fused(
    width, chunk, size, a, b, words, ids, out_a, out_b, out_words, out_ids, compress, sets, least, counters
):
    """Optimisation 2: map ends to roots, filter by ticket and find minima in one loop. Return how many stay."""
    reset_queue(counters, width)
    counters[LIVE] = 0
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                x, y = find_set(sets, a[i], compress), find_set(sets, b[i], compress)
                if x != y:
                    place = fetch_add(counters, LIVE, 1)
                    put(i, x, y, words, ids, place, out_a, out_b, out_words, out_ids)
                    lower(least, x, words[i])
                    lower(least, y, words[i])
            first, last = next_chunk(counters, worker, width, chunk, size)
    return counters[LIVE]


@njit(parallel=True)
def reset_minima(width, chunk, size, a, b, least, least_id, packed, counters):
    """Forget the minima of all ends."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, size)
        while first < last:
            for i in range(first, last):
                reset(least, least_id, a[i], packed)
                reset(least, least_id, b[i], packed)
            first, last = next_chunk(counters, worker, width, chunk, size)


@njit(parallel=True)
def gather_by_ticket(width, chunk, in_forest, forest, counters):
    """Write the marked ids to `forest`; each takes its place by an atomic addition. Return how many."""
    reset_queue(counters, width)
    counters[FOREST] = 0
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, in_forest.size)
        while first < last:
            for e in range(first, last):
                if in_forest[e]:
                    forest[fetch_add(counters, FOREST, 1)] = e
            first, last = next_chunk(counters, worker, width, chunk, in_forest.size)
    return counters[FOREST]


@njit
def gather_serially(in_forest, forest):
    """Write the marked ids to `forest`, on one thread. Return how many."""
    place = 0
    for e in range(in_forest.size):
        if in_forest[e]:
            forest[place] = e
            place += 1
    return place
