"""Deterministic reservations: a sequential loop over edges, run in parallel with the same result.

Blelloch, Fineman, Gibbons and Shun, "Internally Deterministic Parallel Algorithms Can Be Fast" (PPoPP 2012). Every
round takes the next iterates of the loop. Each reserves the two components that its edge joins, by an atomic minimum of
the edge's index; the iterates that hold at least one of their two reservations commit, and the others try again in the
next round. `mst.algorithms.threads.reservation_kruskal` calls `unite_in_order`.

In the kernels, ``iterates`` is a `Round`, of which the first ``size`` are processed, ``loop`` a `Loop`, and
``schedule`` a `Schedule`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.parallel.compact import starts
from mst.kernels.parallel.runtime import Schedule, next_chunk, reset_queue
from mst.kernels.primitives.atomics import load, store, write_min
from mst.kernels.primitives.bitmap import count_ones
from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.concurrent import find


class Loop(NamedTuple):
    """The edges of the loop, in order, and the components.

    Attributes
    ----------
    a, b : numpy.ndarray of int32 or int64, shape (m,)
        Ends of the edges; they are replaced by their roots when the edge is tried.
    parent : numpy.ndarray of int32 or int64, shape (n,)
        A union-find for `mst.kernels.union_find.concurrent.find`; `commit` links roots in either direction.
    reservations : numpy.ndarray of int32 or int64, shape (n,)
        At each root the smallest index of an edge that reserved it in this round, else the dtype's largest value.
    chosen : numpy.ndarray of uint8, shape (m,)
        1 for edges of the forest.
    """

    a: np.ndarray
    b: np.ndarray
    parent: np.ndarray
    reservations: np.ndarray
    chosen: np.ndarray


class Round(NamedTuple):
    """The iterates of a round: first the edges that are tried again, then new ones.

    Attributes
    ----------
    retried : numpy.ndarray of int32 or int64, shape (iterates of the largest round,)
        Its first `retries` elements are the indices of the edges tried again.
    retries, done : int
        Iterate `i` is edge ``retried[i]`` below `retries`, and edge ``done + i`` from there on.
    waiting : numpy.ndarray of uint8, shape (iterates of the largest round,)
        1 for iterates that have yet to commit; written by `reserve` and `commit`.
    """

    retried: np.ndarray
    retries: int
    done: int
    waiting: np.ndarray


@njit(inline="always")
def edge_of(iterates, i):
    """Return the index of the edge of iterate `i` of a `Round`."""
    return iterates.retried[i] if i < iterates.retries else iterates.done + i


@njit(parallel=True)
def clear_inner(schedule, mask, u, v, parent, counts):
    """Clear the bits of the edges whose ends are in one tree.

    Parameters
    ----------
    schedule : Schedule
        A chunk is a range of words of `mask`.
    mask : array of uint64, shape (ceil(m / 64),)
        Bitmap of edges; written.
    u, v : array of int32 or int64, shape (m,)
    parent : array of int32 or int64, shape (n,)
        The union-find; its paths are split.
    counts : array of int64, shape (chunks,)
        Overwritten: how many bits of each chunk stay set.
    """
    width, grain, tallies = schedule
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, mask.size)
        while first < last:
            total = 0
            for word in range(first, last):
                bits = mask[word]
                for j in range(min(64, u.size - 64 * word)):
                    bit = np.uint64(1) << np.uint64(j)
                    if bits & bit and find(parent, u[64 * word + j]) == find(parent, v[64 * word + j]):
                        bits ^= bit
                mask[word] = bits
                total += count_ones(bits)
            counts[first // grain] = total
            first, last = next_chunk(tallies, worker, width, grain, mask.size)


@njit(parallel=True)
def gather_ends(schedule, ids, u, v, a, b):
    """Copy the ends of the edges `ids`, int (k,), from `u` and `v`, int32 or int64 (m,), to `a` and `b`, (k,)."""
    width, grain, tallies = schedule
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, ids.size)
        while first < last:
            for i in range(first, last):
                a[i], b[i] = u[ids[i]], v[ids[i]]
            first, last = next_chunk(tallies, worker, width, grain, ids.size)


@njit(parallel=True)
def reserve(schedule, size, iterates, loop):
    """Replace the ends of the edges of the first `size` iterates by their roots, and reserve both if they differ.

    ``iterates.waiting`` is written: 1 if they differ, else 0.
    """
    width, grain, tallies = schedule
    a, b, parent, reservations, _ = loop
    waiting = iterates.waiting
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, size)
        while first < last:
            for i in range(first, last):
                e = edge_of(iterates, i)
                x, y = find(parent, a[e]), find(parent, b[e])
                a[e], b[e] = x, y
                waiting[i] = x != y
                if x != y:
                    write_min(reservations, x, e)
                    write_min(reservations, y, e)
            first, last = next_chunk(tallies, worker, width, grain, size)


@njit(parallel=True)
def commit(schedule, size, iterates, loop, counts):
    """For each iterate that holds a reservation, link that component to the other one, and mark the edge as chosen.

    An iterate that holds both components links its end `b` to its end `a`, and clears the reservation of `a`. No
    component is linked twice, since only one iterate holds it. Links form no cycle, since the edges' indices would have
    to decrease all the way round. `counts`, int64 (chunks,), is overwritten with the number of iterates of each chunk
    that must try again.
    """
    width, grain, tallies = schedule
    a, b, parent, reservations, chosen = loop
    waiting = iterates.waiting
    reset_queue(tallies, width)
    unreserved = np.iinfo(reservations.dtype).max
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, size)
        while first < last:
            again = 0
            for i in range(first, last):
                if waiting[i]:
                    e = edge_of(iterates, i)
                    x, y = a[e], b[e]
                    if load(reservations, y) == e:
                        if load(reservations, x) == e:
                            store(reservations, x, unreserved)
                        store(parent, y, x)
                    elif load(reservations, x) == e:
                        store(parent, x, y)
                    else:
                        again += 1
                        continue
                    chosen[e] = 1
                    waiting[i] = 0
            counts[first // grain] = again
            first, last = next_chunk(tallies, worker, width, grain, size)


@njit(parallel=True)
def keep_waiting(schedule, size, iterates, starts, kept):
    """Write the indices of the edges that must be tried again to `kept`, in order of their iterates.

    The edges of chunk `c` begin at ``starts[c]``, int64 of shape (chunks,): the exclusive prefix sum of the counts of
    `commit`, with the same grain. `kept` has the dtype of ``iterates.retried``, and shares no memory with it.
    """
    width, grain, tallies = schedule
    waiting = iterates.waiting
    reset_queue(tallies, width)
    for worker in prange(width):
        first, last = next_chunk(tallies, worker, width, grain, size)
        while first < last:
            at = starts[first // grain]
            for i in range(first, last):
                if waiting[i]:
                    kept[at] = edge_of(iterates, i)
                    at += 1
            first, last = next_chunk(tallies, worker, width, grain, size)


def unite_in_order(loop: Loop, schedule: Schedule, granularity: int) -> int:
    """Run Kruskal's loop over edges in order, by rounds of deterministic reservations; return the number of rounds.

    Parameters
    ----------
    loop : Loop
        Without reservations or chosen edges; all five arrays are written. No root is reserved afterwards.
    schedule : Schedule
    granularity : int
        A round tries at most ``m // granularity + 1`` edges.
    """
    m = len(loop.a)
    largest = m // granularity + 1
    current = max(largest // 4, 1)
    waiting = np.empty(largest, np.uint8)
    retried, kept = (np.empty(largest, loop.reservations.dtype) for _ in range(2))
    done = retries = rounds = 0
    while done < m:
        size = min(current, m - done)
        counts = np.empty(-(-size // schedule.grain), np.int64)
        iterates = Round(retried, retries, done, waiting)
        reserve(schedule, size, iterates, loop)
        commit(schedule, size, iterates, loop, counts)
        again = int(counts.sum())
        if again:
            keep_waiting(schedule, size, iterates, starts(counts), kept)
            retried, kept = kept, retried
        done, retries = done + size - again, again
        if again > 0.2 * size:
            current = max(current // 2, largest // 64 + 1, again)
        elif again < 0.1 * size:
            current = min(current * 2, largest)
        rounds += 1
    return rounds
