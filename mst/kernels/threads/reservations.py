"""Deterministic reservations: a sequential loop over edges, run in parallel with the same result.

Blelloch, Fineman, Gibbons and Shun, "Internally Deterministic Parallel Algorithms Can Be Fast" (PPoPP 2012):
every round takes the next iterates, each reserves the two components that it would join by writing its index
there if it is the smallest, and those that hold a reservation commit; the others try again.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.parallel.compact import count_ones, starts
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.atomics import load, lower, store
from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.concurrent import find


@njit(parallel=True)
def mark_apart(width, grain, mask, u, v, parent, counts, counters):
    """Clear the bits of edges whose ends are in one tree; ``counts[c]`` is how many chunk `c` keeps."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, mask.size)
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
            first, last = next_chunk(counters, worker, width, grain, mask.size)


@njit(parallel=True)
def take(width, grain, ids, u, v, a, b, counters):
    """Copy the ends of the edges `ids` to `a` and `b`."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, ids.size)
        while first < last:
            for i in range(first, last):
                a[i], b[i] = u[ids[i]], v[ids[i]]
            first, last = next_chunk(counters, worker, width, grain, ids.size)


@njit(parallel=True)
def reserve(width, grain, size, held, n_held, done, a, b, parent, reservations, waiting, counters):
    """Find both components of `size` iterates and reserve them; ``waiting[i]`` says whether they differ.

    Iterate `i` is ``held[i]``, and from `n_held` on ``done + i``.
    """
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            for i in range(first, last):
                e = held[i] if i < n_held else done + i
                x, y = find(parent, a[e]), find(parent, b[e])
                a[e], b[e] = x, y
                waiting[i] = x != y
                if x != y:
                    lower(reservations, x, e)
                    lower(reservations, y, e)
            first, last = next_chunk(counters, worker, width, grain, size)


@njit(parallel=True)
def commit(
    width, grain, size, held, n_held, done, a, b, parent, reservations, waiting, chosen, counts, counters
):
    """Link, by each iterate that holds a reservation, the component held under the other; mark it chosen.

    Every component is linked by its own reservation, which is the smallest index there: a cycle of links would
    need indices that fall all the way round. ``counts[c]`` is how many of chunk `c` must try again.
    """
    reset_queue(counters, width)
    nobody = np.iinfo(reservations.dtype).max
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            again = 0
            for i in range(first, last):
                if waiting[i]:
                    e = held[i] if i < n_held else done + i
                    x, y = a[e], b[e]
                    if load(reservations, y) == e:
                        if load(reservations, x) == e:
                            store(reservations, x, nobody)
                        store(parent, y, x)
                    elif load(reservations, x) == e:
                        store(parent, x, y)
                    else:
                        again += 1
                        continue
                    chosen[e] = 1
                    waiting[i] = 0
            counts[first // grain] = again
            first, last = next_chunk(counters, worker, width, grain, size)


@njit(parallel=True)
def keep(width, grain, size, held, n_held, done, waiting, places, kept, counters):
    """Write the iterates that must try again to `kept`, in order."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, size)
        while first < last:
            at = places[first // grain]
            for i in range(first, last):
                if waiting[i]:
                    kept[at] = held[i] if i < n_held else done + i
                    at += 1
            first, last = next_chunk(counters, worker, width, grain, size)


def unite_in_order(a, b, parent, reservations, width, grain, granularity, counters):
    """Kruskal's loop over edges in order, by rounds of deterministic reservations.

    Parameters
    ----------
    a, b : numpy.ndarray, shape (m,)
        Ends of the edges in order; overwritten by components.
    parent : numpy.ndarray, shape (n,)
        The union-find, `mst.kernels.union_find.concurrent`.
    reservations : numpy.ndarray of int, shape (n,)
        All at the dtype's largest value; so they are left for every root.
    granularity : int
        At most one `granularity`-th of all edges are tried in a round.

    Returns
    -------
    chosen : numpy.ndarray of uint8, shape (m,)
    rounds : int
    """
    m = len(a)
    largest = m // granularity + 1
    current = max(largest // 4, 1)
    waiting = np.empty(largest, np.uint8)
    held, kept = np.empty(largest, reservations.dtype), np.empty(largest, reservations.dtype)
    chosen = np.zeros(m, np.uint8)
    done = n_held = rounds = 0
    while done < m:
        size = min(current, m - done)
        counts = np.empty(-(-size // grain), np.int64)
        reserve(width, grain, size, held, n_held, done, a, b, parent, reservations, waiting, counters)
        commit(
            width,
            grain,
            size,
            held,
            n_held,
            done,
            a,
            b,
            parent,
            reservations,
            waiting,
            chosen,
            counts,
            counters,
        )
        again = int(counts.sum())
        if again:
            keep(width, grain, size, held, n_held, done, waiting, starts(counts), kept, counters)
            held, kept = kept, held
        done, n_held = done + size - again, again
        if again > 0.2 * size:
            current = max(current // 2, largest // 64 + 1, again)
        elif again < 0.1 * size:
            current = min(current * 2, largest)
        rounds += 1
    return chosen, rounds
