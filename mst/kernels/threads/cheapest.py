"""Borůvka's steps over an edge list with the cheapest edge of each component by compare-and-swap (Bhargava, Zaia).

`cheapest` holds a place in the edge list for each root, -1 for none. `words` and `ids` are those of
`mst.kernels.primitives.packed_edges`; the edges stay in the order of their ids, so that of equal ones the
first wins. The
union-find is `parent`, whose roots are their own parents and whose links go to smaller vertices.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.compact import count_ones, positions_of_ones
from mst.kernels.parallel.runtime import FOREST, next_chunk, reset_queue
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import edge_id
from mst.kernels.union_find.concurrent import find, root

PLAIN, GRANDPARENT, SPLITTING = range(3)


@njit
def halve(parent, x):
    """Return the root of `x`; links every other vertex of the path to its grandparent.

    Only where the grandparent is another one: a vertex that was a root when it was read may be hung under
    another since, and writing the old value back would undo that.
    """
    p = load(parent, x)
    while p != x:
        grandparent = load(parent, p)
        if grandparent == p:
            return p
        store(parent, x, grandparent)
        x = grandparent
        p = load(parent, x)
    return x


@njit
def find_root(parent, x, how):
    """Return the root of `x` by one of the three ways."""
    if how == PLAIN:
        return root(parent, x)
    if how == GRANDPARENT:
        return halve(parent, x)
    return find(parent, x)


@njit(inline="always")
def offer(cheapest, x, words, i, compare):
    """Make edge `i` the cheapest of `x` unless that is before it; `compare` looks again before it swaps."""
    mine = cheapest.dtype.type(i)
    seen = load(cheapest, x)
    while seen < 0 or words[i] < words[seen] or (words[i] == words[seen] and mine < seen):
        if compare:
            again = load(cheapest, x)
            if again != seen:
                seen = again
                continue
        found = compare_and_swap(cheapest, x, seen, mine)
        if found == seen:
            return
        seen = found


@njit(parallel=True)
def find_cheapest(width, grain, size, a, b, words, cheapest, compare, counters):
    """Offer every edge that is no self-loop to both its ends."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            for i in range(first, last):
                if a[i] != b[i]:
                    offer(cheapest, a[i], words, i, compare)
                    offer(cheapest, b[i], words, i, compare)
            first, last = next_chunk(counters, worker, width, grain, size)


@njit
def link(parent, x, y, how):
    """Join the trees of `x` and `y`, the larger root under the smaller one."""
    while True:
        x, y = find_root(parent, x, how), find_root(parent, y, how)
        if x == y:
            return
        x, y = max(x, y), min(x, y)
        if compare_and_swap(parent, x, x, y) == x:
            return


@njit(parallel=True)
def unite_cheapest(width, grain, a, b, words, ids, cheapest, parent, how, forest, counters):
    """Join the components along their cheapest edges, and append those to the forest.

    An edge that is the cheapest of both ends counts once, for its first end.
    """
    reset_queue(counters, width)
    for worker in prange(width):
        won = np.empty(grain, np.int64)
        first, last = next_chunk(counters, worker, width, grain, cheapest.size)
        while first < last:
            count = 0
            for x in range(first, last):
                i = cheapest[x]
                if i >= 0 and (a[i] == x or cheapest[a[i]] != i):
                    link(parent, a[i], b[i], how)
                    won[count] = edge_id(words, ids, i)
                    count += 1
            if count:
                place = fetch_add(counters, FOREST, count)
                forest[place : place + count] = won[:count]
            first, last = next_chunk(counters, worker, width, grain, cheapest.size)


@njit(parallel=True)
def contract(width, grain, size, a, b, new_a, new_b, parent, how, mask, counts, counters):
    """Replace ends by their components; a bit of `mask` says that an edge still joins two of them.

    ``counts[c]`` is how many of chunk `c` do; `grain` is a multiple of 64.
    """
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            total = 0
            for base in range(first, last, 64):
                bits = np.uint64(0)
                for i in range(base, min(base + 64, last)):
                    x, y = find_root(parent, a[i], how), find_root(parent, b[i], how)
                    new_a[i], new_b[i] = x, y
                    bits |= np.uint64(x != y) << np.uint64(i - base)
                mask[base >> 6] = bits
                total += count_ones(bits)
            counts[first // grain] = total
            first, last = next_chunk(counters, worker, width, grain, size)


@njit(parallel=True)
def keep(width, grain, size, mask, starts, a, b, words, ids, out_a, out_b, out_words, out_ids, counters):
    """Copy the edges of `mask` in their order."""
    reset_queue(counters, width)
    for worker in prange(width):
        positions = np.empty(64, np.int64)
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            place = starts[first // grain]
            for base in range(first, last, 64):
                for j in range(positions_of_ones(mask[base >> 6], base, positions, 0)):
                    i = positions[j]
                    out_a[place], out_b[place], out_words[place] = a[i], b[i], words[i]
                    if ids.size:
                        out_ids[place] = ids[i]
                    place += 1
            first, last = next_chunk(counters, worker, width, grain, size)
