"""Borůvka's steps over an edge list, by compare-and-swap on the cheapest edge of each component (Bhargava and Zaia).

`mst.algorithms.threads.parlay_boruvka` calls these kernels. They share these arguments:

- ``schedule``: a `mst.kernels.parallel.runtime.Schedule`;
- ``edges``: `mst.kernels.primitives.packed_edges.PackedEdges`, shape (m,), in the order of their ids, so that the first
  of edges with equal words is the cheapest;
- ``cheapest``: int32 or int64, shape (n,): for each root the position of its lightest edge in the list, or -1;
- ``parent``: int32 or int64, shape (n,): a union-find whose roots are their own parents and whose links lead to
  smaller vertices;
- ``variant``: `PLAIN`, `GRANDPARENT` or `SPLITTING`: a find compresses no paths, halves them, or splits them.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.runtime import FOREST, next_chunk, reset_queue
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store
from mst.kernels.primitives.bitmap import count_ones, write_positions_of_ones
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import edge_id
from mst.kernels.union_find.concurrent import find, root

PLAIN, GRANDPARENT, SPLITTING = range(3)


@njit
def find_halving(parent, x):
    """Return the root of `x`, and link every other vertex of the path to its grandparent (path halving).

    Other threads may link roots at the same time. The grandparent is stored only where it differs from the parent: a
    vertex that was a root when it was read may have been linked since, and storing the old value would undo that link.
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
def find_root(parent, x, variant):
    """Return the root of `x` by the find of `variant`; other threads may link roots at the same time."""
    if variant == PLAIN:
        return root(parent, x)
    if variant == GRANDPARENT:
        return find_halving(parent, x)
    return find(parent, x)


@njit(inline="always")
def lower_cheapest(cheapest, x, words, i, compare):
    """Set ``cheapest[x]``, `x` a root, to edge `i` if that is lighter than the edge there.

    Many threads may do so at once. `words`, uint64 (m,), are the words of the edges. If `compare`, a bool,
    ``cheapest[x]`` is read once more before each compare-and-swap, which is skipped if it would fail.
    """
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
def find_cheapest(schedule, size, edges, cheapest, compare):
    """Lower `cheapest` at both ends of each of the first `size` edges, except self-loops; all ends are roots.

    `compare` is as for `lower_cheapest`.
    """
    width, grain, tallies = schedule
    a, b, words, _ = edges
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, size)
        while first < last:
            for i in range(first, last):
                if a[i] != b[i]:
                    lower_cheapest(cheapest, a[i], words, i, compare)
                    lower_cheapest(cheapest, b[i], words, i, compare)
            first, last = next_chunk(tallies, worker, width, grain, size)


@njit
def link(parent, x, y, variant):
    """Link the larger of the roots of `x` and `y` to the smaller, if they differ; many threads may do so at once."""
    while True:
        x, y = find_root(parent, x, variant), find_root(parent, y, variant)
        if x == y:
            return
        x, y = max(x, y), min(x, y)
        if compare_and_swap(parent, x, x, y) == x:
            return


@njit(parallel=True)
def unite_cheapest(schedule, edges, cheapest, parent, variant, forest):
    """Unite components along their cheapest edges, and append the ids of those edges to `forest`, int64 (n - 1,).

    An edge that is the cheapest of both ends is appended once, for its end `a`. ``tallies[FOREST]`` is the size of the
    forest, whose order depends on the schedule. A chunk is a range of vertices. The ends of the edges must be the same
    as in `find_cheapest`.
    """
    width, grain, tallies = schedule
    a, b, words, ids = edges
    reset_queue(tallies, width)
    for worker in prange(width):
        won = np.empty(grain, np.int64)
        first, last = next_chunk(tallies, worker, width, grain, cheapest.size)
        while first < last:
            count = 0
            for x in range(first, last):
                i = cheapest[x]
                if i >= 0 and (a[i] == x or cheapest[a[i]] != i):
                    link(parent, a[i], b[i], variant)
                    won[count] = edge_id(words, ids, i)
                    count += 1
            if count:
                place = fetch_add(tallies, FOREST, count)
                forest[place : place + count] = won[:count]
            first, last = next_chunk(tallies, worker, width, grain, cheapest.size)


@njit(parallel=True)
def relabel(schedule, size, edges, new_ends, union_find, mask, counts):
    """Replace ends by their roots, and mark the edges whose ends still differ.

    Parameters
    ----------
    schedule : Schedule
        Its grain is a multiple of 64.
    size : int
    edges : PackedEdges, shape (size,) or longer
    new_ends : tuple of two arrays like ``edges.a``
        Written; may be the ends of `edges` themselves.
    union_find : tuple
        ``(parent, variant)``.
    mask : array of uint64, shape (ceil(size / 64),)
        Bitmap of the edges that join two components; overwritten.
    counts : array of int64, shape (chunks,)
        How many edges of each chunk join two components; overwritten.
    """
    width, grain, tallies = schedule
    a, b, _, _ = edges
    new_a, new_b = new_ends
    parent, variant = union_find
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, size)
        while first < last:
            total = 0
            for base in range(first, last, 64):
                bits = np.uint64(0)
                for i in range(base, min(base + 64, last)):
                    x, y = find_root(parent, a[i], variant), find_root(parent, b[i], variant)
                    new_a[i], new_b[i] = x, y
                    bits |= np.uint64(x != y) << np.uint64(i - base)
                mask[base >> 6] = bits
                total += count_ones(bits)
            counts[first // grain] = total
            first, last = next_chunk(tallies, worker, width, grain, size)


@njit(parallel=True)
def compact(schedule, size, mask, starts, edges, out):
    """Copy the edges that are marked in `mask` to `out`, in their order.

    Parameters
    ----------
    schedule : Schedule
        Must have the same grain as for `relabel`.
    size : int
    mask : array of uint64, shape (ceil(size / 64),)
    starts : array of int64, shape (chunks,)
        The place at which the output of each chunk begins: the exclusive prefix sum of the counts of `relabel`.
    edges, out : PackedEdges
        `out` is overwritten, and shares no memory with `edges`.
    """
    width, grain, tallies = schedule
    a, b, words, ids = edges
    out_a, out_b, out_words, out_ids = out
    reset_queue(tallies, width)
    for worker in prange(width):
        positions = np.empty(64, np.int64)
        first, last = next_chunk(tallies, worker, width, grain, size)
        while first < last:
            place = starts[first // grain]
            for base in range(first, last, 64):
                for j in range(write_positions_of_ones(mask[base >> 6], base, positions, 0)):
                    i = positions[j]
                    out_a[place], out_b[place], out_words[place] = a[i], b[i], words[i]
                    if ids.size:
                        out_ids[place] = ids[i]
                    place += 1
            first, last = next_chunk(tallies, worker, width, grain, size)
