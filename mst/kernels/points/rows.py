"""Sorts edges as rows of two words, ends and weight, so that each edge is read from one place in memory.

In the functions, `schedule` is a `mst.kernels.parallel.runtime.Schedule` that cuts the rows into chunks.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add, write_min
from mst.kernels.primitives.jit import njit

_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)
_RUN = 64
"""The most edges with the same key that are sorted in place."""


@njit
def write_rows(schedule, edges, names, others, weights, rows, extremes):
    """Write the ends of edges and the bits of their weights to rows.

    Parameters
    ----------
    schedule : Schedule
    edges : mst.kernels.points.state.Edges
        Places, and squared weights.
    names : numpy.ndarray of int32, shape (places,)
        The point at each place.
    others : numpy.ndarray of int32, shape (2, k)
        The ends of more edges.
    weights : numpy.ndarray of float64, shape (k,)
        Their squared weights; empty if all are zero.
    rows : numpy.ndarray of uint64, shape (rows, 2)
        Overwritten: the smaller end above the larger one, 32 bits each, and the bits of the weight, not squared.
    extremes : numpy.ndarray of uint64, shape (2,)
        All bits set; overwritten by the bits of the smallest weight and the inverted bits of the largest.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _write_worker, schedule, edges, names, others, weights, rows, extremes)


@njit
def _write_worker(worker, schedule, edges, names, others, weights, rows, extremes):
    """One worker of `write_rows`."""
    width, grain, tallies = schedule
    a_places, b_places, edge_weights = edges
    bits = rows.view(np.float64)
    count = edge_weights.size
    first, last = next_chunk(tallies, worker, width, grain, rows.shape[0])
    while first < last:
        low, high = ~np.uint64(0), np.uint64(0)
        for e in range(first, last):
            if e < count:
                a, b, weight = names[a_places[e]], names[b_places[e]], edge_weights[e]
            else:
                a, b = others[0, e - count], others[1, e - count]
                weight = weights[e - count] if weights.size > 0 else 0.0
            rows[e, 0] = np.uint64(min(a, b)) << _HALF | np.uint64(max(a, b))
            bits[e, 1] = np.sqrt(weight)
            low, high = min(low, rows[e, 1]), max(high, rows[e, 1])
        write_min(extremes, 0, low)
        write_min(extremes, 1, ~high)
        first, last = next_chunk(tallies, worker, width, grain, rows.shape[0])


@njit
def keys_of_rows(schedule, rows, order, column, base, shift, keys):
    """Write the sort keys of rows to `keys`, uint32 or uint64 (rows,).

    Parameters
    ----------
    schedule : Schedule
    rows : numpy.ndarray of uint64, shape (rows, 2)
    order : numpy.ndarray of int32, shape (rows,) or (0,)
        The order in which the rows are read; if it is empty, they are read in sequence.
    column : int
    base, shift : numpy.uint64
        In column 1, weights, `base` is subtracted and the last `shift` bits are dropped. In column 0, ends, the smaller
        one moves down by `shift` bits, which the larger one leaves free.
    keys : numpy.ndarray
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _keys_worker, schedule, rows, order, column, base, shift, keys)


@njit
def _keys_worker(worker, schedule, rows, order, column, base, shift, keys):
    """One worker of `keys_of_rows`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, keys.size)
    while first < last:
        for i in range(first, last):
            word = rows[order[i] if order.size > 0 else i, column]
            if column == 0:
                word = (word & ~_LOW) >> shift | word & _LOW
            else:
                word = (word - base) >> shift
            keys[i] = word
        first, last = next_chunk(tallies, worker, width, grain, keys.size)


@njit
def look_up(schedule, items, places):
    """Replace each of `places`, int32 (k,), by the item of `items`, int32 (n,), at that place."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _look_up_worker, schedule, items, places)


@njit
def _look_up_worker(worker, schedule, items, places):
    """One worker of `look_up`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, places.size)
    while first < last:
        for i in range(first, last):
            places[i] = items[places[i]]
        first, last = next_chunk(tallies, worker, width, grain, places.size)


@njit
def read_rows(schedule, rows, order, base, shift, by_ends, u, v, w):
    """Write rows to `u` and `v`, int32 (rows,), and `w`, float64 (rows,), in the order of (weight, u, v).

    Parameters
    ----------
    schedule : Schedule
    rows : numpy.ndarray of uint64, shape (rows, 2)
    order : numpy.ndarray of int32, shape (rows,)
        The rows in the order of the keys of their weights.
    base, shift : numpy.uint64
        Those that `keys_of_rows` used for these keys.
    by_ends : bool
        Whether rows with the same key are in the order of their ends; if not, they are sorted here.

    Returns
    -------
    bool
        Whether the order is right. It is not if too many rows have the same key or, with `by_ends`, if the weights of
        rows with the same key do not ascend.
    """
    width, _, tallies = schedule
    reset_queue(tallies, width)
    run(width, _read_worker, schedule, rows, order, u, v, w)
    tallies[LIVE] = 0
    reset_queue(tallies, width)
    run(width, _ties_worker, schedule, base, shift, by_ends, u, v, w)
    return tallies[LIVE] == 0


@njit
def _read_worker(worker, schedule, rows, order, u, v, w):
    """One worker of the first step of `read_rows`."""
    width, grain, tallies = schedule
    bits = rows.view(np.float64)
    first, last = next_chunk(tallies, worker, width, grain, order.size)
    while first < last:
        for i in range(first, last):
            e = order[i]
            u[i], v[i], w[i] = rows[e, 0] >> _HALF, np.uint32(rows[e, 0]), bits[e, 1]
        first, last = next_chunk(tallies, worker, width, grain, order.size)


@njit
def _ties_worker(worker, schedule, base, shift, by_ends, u, v, w):
    """One worker of the second step of `read_rows`, which sorts the runs of equal keys that begin in its chunk."""
    width, grain, tallies = schedule
    weights = w.view(np.uint64)
    first, last = next_chunk(tallies, worker, width, grain, w.size)
    while first < last:
        missed = 0
        if by_ends:
            for i in range(max(first, 1), last):
                missed |= (weights[i] - base) >> shift == (weights[i - 1] - base) >> shift and w[i] < w[i - 1]
        else:
            i = first
            while 0 < i < last and (weights[i] - base) >> shift == (weights[i - 1] - base) >> shift:
                i += 1
            while i < last:
                start, key = i, (weights[i] - base) >> shift
                i += 1
                while i < w.size and (weights[i] - base) >> shift == key:
                    if i - start == _RUN:
                        missed, i = 1, last
                        break
                    a, b, weight, j = u[i], v[i], w[i], i
                    while j > start and (
                        weight < w[j - 1]
                        or (weight == w[j - 1] and (a < u[j - 1] or (a == u[j - 1] and b < v[j - 1])))
                    ):
                        u[j], v[j], w[j] = u[j - 1], v[j - 1], w[j - 1]
                        j -= 1
                    u[j], v[j], w[j] = a, b, weight
                    i += 1
        if missed:
            fetch_add(tallies, LIVE, 1)
        first, last = next_chunk(tallies, worker, width, grain, w.size)
