"""The lightest edge that leaves each tree, found and linked by all workers: a round of Borůvka's algorithm.

`mst.kernels.filter_boruvka.sequential.lightest` explains when such a round pays off. `edges` are `Edges` of
`mst.kernels.filter_boruvka.parallel.blocks.division`, and compare by (key, place). `label`, uint32 of shape (n,), is
the root of each vertex's tree, or empty if every vertex is a tree. `least` has the dtype of the keys and `lightest` is
uint32, both of shape (n,). `schedule` is a `mst.kernels.parallel.runtime.Schedule` of edges for `lightest_edges`, of
vertices otherwise.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.sequential.lightest import NONE
from mst.kernels.filter_boruvka.sequential.lightest import lightest_edges as lightest_of_some
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import FOREST, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add, write_min
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch
from mst.kernels.union_find.concurrent import unite

_ONE, _AHEAD = np.uint64(1), np.uint64(32)


@njit
def reset(schedule, least, lightest):
    """Make `least` the largest key and `lightest` `NONE` at all vertices."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _reset_worker, schedule, least, lightest)


@njit
def _reset_worker(worker, schedule, least, lightest):
    """One worker of `reset`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, least.size)
    while first < last:
        least[first:last] = ~least.dtype.type(0)
        lightest[first:last] = NONE
        first, last = next_chunk(tallies, worker, width, grain, least.size)


@njit
def lightest_edges(schedule, edges, label, least, lightest):
    """For each tree, find the least key of the edges that leave it, and the first edge with this key.

    They are written to `least` and `lightest`, which must have been `reset`. Loops are ignored.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _least_keys_worker, schedule, edges, label, least)
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _lightest_edges_worker, schedule, edges, label, least, lightest)


@njit
def _least_keys_worker(worker, schedule, edges, label, least):
    """One worker of the first pass of `lightest_edges`, which finds the least keys."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, edges.u.size)
    while first < last:
        call(_lower_keys, np.uint64(first), np.uint64(last), edges, label, least)
        first, last = next_chunk(tallies, worker, width, grain, edges.u.size)


@njit
def _lower_keys(first, last, edges, label, least):
    """Lower the least key of each tree by the edges ``first … last - 1``, uint64, that leave it."""
    u, v, keys = edges
    for e in range(first, last):
        far = min(e + _AHEAD, last - _ONE)
        (x, y), key = _trees_at(u, v, e, far, label, least), key_at(keys, e)
        if x != y:
            write_min(least, x, key)
            write_min(least, y, key)


@njit(inline="always")
def _trees_at(u, v, e, far, label, least):
    """Return the trees of both ends of edge `e`, and prefetch the trees of edge `far`."""
    if label.size > 0:
        prefetch(label, u[far])
        prefetch(label, v[far])
        return label[u[e]], label[v[e]]
    prefetch(least, u[far])
    prefetch(least, v[far])
    return u[e], v[e]


@njit
def _lightest_edges_worker(worker, schedule, edges, label, least, lightest):
    """One worker of the second pass of `lightest_edges`, which finds the first edge with the least key."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, edges.u.size)
    while first < last:
        call(_lower_edges, np.uint64(first), np.uint64(last), edges, label, least, lightest)
        first, last = next_chunk(tallies, worker, width, grain, edges.u.size)


@njit
def _lower_edges(first, last, edges, label, least, lightest):
    """Lower `lightest` at each tree by the edges ``first … last - 1``, uint64, that have the tree's least key."""
    u, v, keys = edges
    for e in range(first, last):
        far = min(e + _AHEAD, last - _ONE)
        (x, y), key = _trees_at(u, v, e, far, label, least), key_at(keys, e)
        if x != y:
            if key == least[x]:
                write_min(lightest, x, np.uint32(e))
            if key == least[y]:
                write_min(lightest, y, np.uint32(e))


@njit
def lightest_by_worker(width, edges, label, least, lightest):
    """Do what `lightest_edges` does, without atomics, with a row of `least` and `lightest` for each of `width` workers.

    Both have shape (width, n) and need not be `reset`; afterwards, their first rows hold the result.
    """
    run(width, _own_lightest_worker, width, edges, label, least, lightest)
    run(width, _merge_worker, width, least, lightest)


@njit
def _own_lightest_worker(worker, width, edges, label, least, lightest):
    """One worker of `lightest_by_worker`, which fills its row from its share of the edges."""
    (u, v, keys), own_least, own_lightest = edges, least[worker], lightest[worker]
    for x in range(own_least.size):
        own_least[x], own_lightest[x] = ~least.dtype.type(0), NONE
    # Shares are in order of id, so that of equal keys the one of the earliest row has the smallest id.
    start, stop = np.uint64(worker * u.size // width), np.uint64((worker + 1) * u.size // width)
    call(lightest_of_some, start, stop, keys, u, v, label, own_least, own_lightest)


@njit
def _merge_worker(worker, width, least, lightest):
    """One worker of `lightest_by_worker`, which merges the rows for its share of the vertices."""
    n = least.shape[1]
    for other in range(1, width):
        for x in range(worker * n // width, (worker + 1) * n // width):
            # If keys are equal, the edge of the earlier row stays, since its id is smaller.
            if least[other, x] < least[0, x]:
                least[0, x], lightest[0, x] = least[other, x], lightest[other, x]


@njit
def link_lightest(schedule, edges, lightest, parent, forest):
    """Link the ends of each tree's lightest edge, and append these edges to `forest`; they close no cycle.

    `parent` is uint32 of shape (n,), and `forest` int32 or int64 of shape (n - 1,); ``schedule.tallies[FOREST]`` is
    the number of edges in it.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _link_lightest_worker, schedule, edges, lightest, parent, forest)


@njit
def _link_lightest_worker(worker, schedule, edges, lightest, parent, forest):
    """One worker of `link_lightest`."""
    width, grain, tallies = schedule
    found = np.empty(grain, np.uint32)
    first, last = next_chunk(tallies, worker, width, grain, lightest.size)
    while first < last:
        size = call(_link, np.uint64(first), np.uint64(last), edges, lightest, parent, found)
        place = fetch_add(tallies, FOREST, size)
        for j in range(size):
            forest[place + j] = found[j]
        first, last = next_chunk(tallies, worker, width, grain, lightest.size)


@njit
def _link(first, last, edges, lightest, parent, found):
    """Link the lightest edges at ``first … last - 1``, uint64, and write them to `found`, uint32; return how many."""
    u, v, _ = edges
    size = 0
    for x in range(first, last):
        far = lightest[min(x + _AHEAD, last - _ONE)]
        if far != NONE:
            prefetch(u, far)
            prefetch(v, far)
        e = lightest[x]
        # Two trees may share an edge, which only one worker links.
        if e != NONE and unite(parent, u[e], v[e]):
            found[size] = e
            size += 1
    return size
