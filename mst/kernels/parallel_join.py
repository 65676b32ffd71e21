"""Batches of ascending weight, each joined to the trees by all threads at once, and settled afterwards.

A batch is joined in two phases with a barrier between them. First every end is replaced by the root of its tree,
as the trees stood before the batch. Then the edges between different trees link them, in any order, by
compare-and-swap. If no edge of a batch finds its ends linked already, the batch closes no cycle: all its edges
belong to the forest, whatever their order (Kruskal 1956). An edge that does is *surplus*. Whichever edges link,
the trees are the same sets of vertices, so that the next batch need not wait for a decision which edge of a cycle
is the heaviest: batches are *settled* in the end, independently of each other, mostly without sorting anything.

Only what can lie on a cycle with a surplus edge has to be settled: whatever the batch's edges connect to its
ends, among the roots of that batch. One root may be left out of that search, since a cycle through it also
connects its other vertices without it: the giant tree's, to which half of a batch may lead.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.atomics import compare_and_swap, fetch_add, load, prefetch, store, yield_core
from mst.kernels.batch_edges import drop, dropped, ends_at, id_at, in_order, move
from mst.kernels.concurrent_union_find import find
from mst.kernels.concurrent_union_find import unite as join_trees
from mst.kernels.jit import njit
from mst.kernels.parallel_runtime import FOREST, claim, dawdle, deal
from mst.kernels.parallel_select import bit
from mst.kernels.union_find import find as find_alone

CHUNK = 4096
_BLOCK = 256
_AHEAD = 16
_SIEVE = 1 << 15
_SIFTED = np.uint64(_SIEVE - 1)
_ONE = np.uint64(1)
_NOBODY = ~np.uint64(0)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


# -- trees ------------------------------------------------------------------------------------------------------


def new_trees(n: int, vertex_type, width: int, counters: np.ndarray) -> np.ndarray:
    """Return the parents of `n` trees of one vertex each, as words of the unsigned type of `vertex_type`."""
    parent = np.empty(n, np.dtype(f"u{np.dtype(vertex_type).itemsize}"))
    _plant(width, 1 << 13, parent, counters)
    return parent


@njit(parallel=True)
def _plant(width, grain, parent, counters):
    deal(counters, width)
    for worker in prange(width):
        first, last = claim(counters, worker, width, grain, parent.size)
        while first < last:
            plant(parent, first, last)
            first, last = claim(counters, worker, width, grain, parent.size)


@njit
def plant(parent, first, last):
    """Make vertices ``first … last - 1`` trees of their own."""
    for x in range(first, last):
        parent[x] = x


@njit(parallel=True)
def point_at_roots(width, grain, parent, counters):
    """Make every vertex point at the root of its tree."""
    deal(counters, width)
    for worker in prange(width):
        first, last = claim(counters, worker, width, grain, parent.size)
        while first < last:
            flatten(parent, first, last)
            first, last = claim(counters, worker, width, grain, parent.size)


@njit
def flatten(parent, first, last):
    """Make vertices ``first … last - 1`` point at the roots of their trees."""
    for x in range(first, last):
        r = load(parent, load(parent, load(parent, x)))
        if load(parent, r) != r:
            r = find(parent, r)
        store(parent, x, r)


@njit(parallel=True)
def mark_inside(width, grain, parent, giant, inside, counters):
    """Set bit `x` of `inside` where vertex `x` points at the root `giant`; `grain` counts words."""
    deal(counters, width)
    for worker in prange(width):
        first, last = claim(counters, worker, width, grain, inside.size)
        while first < last:
            mark(parent, giant, first, last, inside)
            first, last = claim(counters, worker, width, grain, inside.size)


@njit
def mark(parent, giant, first, last, inside):
    """Write words ``first … last - 1`` of the bitmap of the vertices that point at the root `giant`."""
    for word in range(first, last):
        bits = np.uint64(0)
        for j in range(min(64, parent.size - 64 * word)):
            bits |= np.uint64(parent[64 * word + j] == giant) << np.uint64(j)
        inside[word] = bits


# -- one chunk of a phase ---------------------------------------------------------------------------------------


@njit
def look_up(edges, first, last, parent):
    """Move the edges between two trees to the front, ends replaced by roots; return where they end.

    Paths are four steps long at most, nearly always: four loads without a branch, for both ends of many edges
    at a time, few enough that what was loaded is still at hand when the roots are checked.
    """
    roots_a, roots_b = np.empty(_BLOCK, parent.dtype), np.empty(_BLOCK, parent.dtype)
    end = np.uint64(first)
    for block in range(first, last, _BLOCK):
        # Unsigned: a signed index might count from the end of an array, and checking that would cost as much again.
        size, base = np.uint64(min(_BLOCK, last - block)), np.uint64(block)
        for i in range(size):
            u, v = ends_at(edges, base + i)
            x = load(parent, load(parent, load(parent, load(parent, u))))
            y = load(parent, load(parent, load(parent, load(parent, v))))
            # Mostly they point there already; but a branch to find out would be guessed wrong, and cost more.
            store(parent, u, x)
            store(parent, v, y)
            roots_a[i], roots_b[i] = x, y
        for i in range(size):
            x, y = roots_a[i], roots_b[i]
            if (load(parent, x) != x) | (load(parent, y) != y):
                x, y = find(parent, x), find(parent, y)
            move(edges, base + i, end, x, y)
            end += np.uint64(x != y)
    return np.int64(end)


@njit
def unite(edges, first, last, parent):
    """Link trees by edges in any order; drop the surplus ones, and return how many those are.

    A phase of its own: a look-up at the same time might write a root's own number over the link that it just
    got. A root is only ever hung under a smaller number, hence links make no cycle, whoever links at the same
    time; and what it is hung under need not be a root any more.
    """
    surplus = 0
    for i in range(first, last):
        x, y = ends_at(edges, min(i + _AHEAD, last - 1))
        prefetch(parent, max(x, y))
        x, y = ends_at(edges, i)
        x, y = max(x, y), min(x, y)
        if compare_and_swap(parent, x, x, y) != x and not join_trees(parent, x, y):
            drop(edges, i, True)
            surplus += 1
    return surplus


# -- all phases, in one parallel region -------------------------------------------------------------------------

# Phases are short, and starting a parallel region for each would cost as much. So all run within one region. A
# phase is over when all its chunks are done, whoever did them: nothing waits for a thread that the system has not
# started yet. Each worker has a ticket, ``phase << 32 | 2³¹ - chunks left``, from which one addition takes a chunk
# together with the phase that it belongs to; helpers take from it too. The last worker to finish a phase opens
# the next one. Phase ``2 b`` looks up the ends of batch `b`, phase ``2 b + 1`` unites it.

_DONE, _TICKETS = 0, 16
_NONE_LEFT = np.int64(1) << np.int64(31)
_TICKET_BITS = (np.int64(1) << np.int64(32)) - np.int64(1)


def new_state(width: int) -> np.ndarray:
    """Return what the workers of `join` share beside the data."""
    return np.zeros(_TICKETS + 16 * width, np.int64)


def chunked(starts: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return how long a chunk of each batch is, and how many chunks come before each batch, and in all."""
    sizes = np.diff(starts)
    lengths = np.clip(-(-sizes // (8 * width)), 64, CHUNK)
    return lengths, np.append(0, np.cumsum(-(-sizes // lengths)))


@njit
def open_phase(state, width, chunks, phase):
    """Offer the chunks of a phase; past the last batch there is none."""
    batch = phase >> 1
    count = chunks[batch + 1] - chunks[batch] if batch + 1 < chunks.size else np.int64(0)
    store(state, _DONE, count)
    for worker in range(width):
        share = (worker + 1) * count // width - worker * count // width
        store(state, _TICKETS + 16 * worker, (phase << 32) + _NONE_LEFT - share)


@njit
def take_chunk(state, worker, width, chunks):
    """Return ``(phase, chunk)``, the worker's own chunks first; -1, -1 when none is on offer."""
    for step in range(width):
        owner = (worker + step) % width
        place = _TICKETS + 16 * owner
        if load(state, place) & _TICKET_BITS < _NONE_LEFT:
            ticket = fetch_add(state, place, 1)
            left = _NONE_LEFT - (ticket & _TICKET_BITS)
            if left > 0:
                phase = ticket >> 32
                first, last = chunks[phase >> 1], chunks[(phase >> 1) + 1]
                return phase, first + (owner + 1) * (last - first) // width - left
    return np.int64(-1), np.int64(-1)


@njit
def work(worker, width, state, starts, lengths, chunks, loose, edges, kept, surplus, parent, forest, counters):
    """Do chunks until no phase is left; then settle batches until none is."""
    end = np.int64(2 * loose.size)
    done = waited = 0
    while True:
        phase, chunk = take_chunk(state, worker, width, chunks)
        if chunk >= 0:
            dawdle(counters, chunk)
            batch = phase >> 1
            first = starts[batch] + (chunk - chunks[batch]) * lengths[batch]
            if phase & 1:
                closing = unite(edges, first, kept[chunk], parent)
                if closing:
                    fetch_add(surplus, batch, closing)
            else:
                last = min(first + lengths[batch], starts[batch + 1])
                kept[chunk] = look_up(edges, first, last, parent)
            done += 1
            waited = 0
        elif done:
            ticket = load(state, _TICKETS + 16 * worker)
            finished = fetch_add(state, _DONE, -done) == done
            done = 0
            if finished:
                open_phase(state, width, chunks, (ticket >> 32) + 1)
        else:
            ticket = load(state, _TICKETS + 16 * worker)
            if ticket >> 32 == end:
                break
            waited += 1
            if waited > 64:
                yield_core()
            for _ in range(64):
                if load(state, _TICKETS + 16 * worker) != ticket:
                    break
    first, last = claim(counters, worker, width, 1, loose.size)
    while first < last:
        for batch in range(first, last):
            if surplus[batch] and not loose[batch]:
                settle(edges, batch, starts, lengths, chunks, kept, surplus[batch])
            emit(edges, batch, starts, lengths, chunks, kept, surplus[batch], forest, counters)
        first, last = claim(counters, worker, width, 1, loose.size)


@njit(parallel=True)
def join(width, state, starts, lengths, chunks, loose, edges, kept, surplus, parent, forest, counters):
    """Join the edges of all batches to the forest.

    Parameters
    ----------
    state : numpy.ndarray
        From `new_state`.
    starts : numpy.ndarray of int64, shape (batches + 1,)
        Where each batch begins in `edges`, and the end.
    lengths, chunks : numpy.ndarray of int64
        From `chunked`.
    loose : numpy.ndarray of bool, shape (batches,)
        Batches whose edges may be taken in any order.
    edges : tuple of numpy.ndarray
        By batch (`mst.kernels.batch_edges`); overwritten.
    kept : numpy.ndarray of int64, shape (chunks[-1],)
        Written: where the edges of each chunk end that joined two trees.
    surplus : numpy.ndarray of int64, shape (batches,)
        Zeros; written: how many edges of a batch closed a cycle within it.
    parent : numpy.ndarray
        The trees, from `new_trees`.
    forest : numpy.ndarray
        Edge ids are appended.
    """
    deal(counters, width)
    open_phase(state, width, chunks, 0)
    for worker in prange(width):
        work(
            worker, width, state, starts, lengths, chunks, loose, edges, kept, surplus, parent, forest, counters
        )


# -- settling a batch -------------------------------------------------------------------------------------------


@njit
def emit(edges, batch, starts, lengths, chunks, kept, surplus, forest, counters):
    """Append the ids of the edges of a batch that are in the forest."""
    for chunk in range(chunks[batch], chunks[batch + 1]):
        first, last = starts[batch] + (chunk - chunks[batch]) * lengths[batch], kept[chunk]
        out = 0
        if surplus:
            for i in range(first, last):
                out += dropped(edges, i)
        place = fetch_add(counters, FOREST, last - first - out)
        if out:
            for i in range(first, last):
                if not dropped(edges, i):
                    forest[place] = id_at(edges, i)
                    place += 1
        else:
            for i in range(first, last):
                forest[place + i - first] = id_at(edges, i)


@njit
def settle(edges, batch, starts, lengths, chunks, kept, surplus):
    """Drop those edges of a batch that are the heaviest of a cycle, in place of those that came last."""
    parts = np.empty((chunks[batch + 1] - chunks[batch], 2), np.int64)
    for part in range(len(parts)):
        parts[part, 0] = starts[batch] + part * lengths[batch]
        parts[part, 1] = kept[chunks[batch] + part]
    table, places = in_question(edges, parts, surplus)
    # Places of the table stand for the vertices.
    above = np.arange(table.size).astype(np.uint64)
    for i in in_order(edges, places):
        a, b = ends_at(edges, i)
        x, y = find_alone(above, enter(table, a)), find_alone(above, enter(table, b))
        above[x] = y
        drop(edges, i, x == y)


@njit
def in_question(edges, parts, surplus):
    """Return a table with room for the ends of all edges that may lie on a cycle, and the places of these edges."""
    size = 64
    while size < 16 * surplus:
        size *= 2
    count = np.sum(parts[:, 1] - parts[:, 0])
    places = np.empty(count + 1, np.int64)
    if size < count:
        table, sieve = np.full(size, _NOBODY), np.zeros(_SIEVE >> 6, np.uint64)
        hub = commonest_end(edges, parts)
        used = 0
        for part in range(len(parts)):
            for i in range(parts[part, 0], parts[part, 1]):
                if dropped(edges, i):
                    a, b = ends_at(edges, i)
                    used += add(table, sieve, a, hub) + add(table, sieve, b, hub)
        before = 0
        while used != before and 4 * used < size:
            before = used
            sifted = np.uint64(0)
            for part in range(len(parts)):
                for i in range(parts[part, 0], parts[part, 1]):
                    a, b = ends_at(edges, i)
                    places[sifted] = i
                    sifted += bit(sieve, a & _SIFTED) | bit(sieve, b & _SIFTED)
            found = 0
            for j in range(sifted):
                i = places[j]
                a, b = ends_at(edges, i)
                if (has(table, a) | has(table, b)) and 4 * used < size:
                    used += add(table, sieve, a, hub) + add(table, sieve, b, hub)
                    places[found] = i
                    found += 1
        if used == before:
            return table, places[:found]
    size = 64
    while size < 4 * count:
        size *= 2
    at = 0
    for part in range(len(parts)):
        for i in range(parts[part, 0], parts[part, 1]):
            places[at] = i
            at += 1
    return np.full(size, _NOBODY), places[:count]


@njit
def commonest_end(edges, parts):
    """Return the vertex that most of a sample of edges lead to."""
    each = (64 + len(parts) - 1) // len(parts)
    sample = np.empty(2 * each * len(parts), np.uint64)
    for part in range(len(parts)):
        first, last = parts[part, 0], parts[part, 1]
        for j in range(each):
            at = 2 * (part * each + j)
            if first < last:
                sample[at], sample[at + 1] = ends_at(edges, first + j * (last - first) // each)
            else:
                sample[at], sample[at + 1] = _NOBODY, _NOBODY
    sample.sort()
    best, longest, run = sample[0], 1, 1
    for j in range(1, sample.size):
        run = run + 1 if sample[j] == sample[j - 1] else 1
        if run > longest and sample[j] != _NOBODY:
            best, longest = sample[j], run
    return best


@njit(inline="always")
def _slot(table, x):
    """Return the place of `x` in a table that is not full, or the free one where it would go."""
    mask = np.uint64(table.size - 1)
    at = (np.uint64(x) * _GOLDEN) >> np.uint64(32) & mask
    while table[at] != x and table[at] != _NOBODY:
        at = (at + _ONE) & mask
    return at


@njit(inline="always")
def has(table, x):
    """Return whether `x` is in the table."""
    return table[_slot(table, x)] == x


@njit(inline="always")
def enter(table, x):
    """Return the place of `x` in the table, where it is from now on."""
    at = _slot(table, x)
    table[at] = x
    return at


@njit(inline="always")
def add(table, sieve, x, hub):
    """Enter `x` unless it is `hub`; return whether it is new."""
    if x == hub:
        return False
    at = _slot(table, x)
    new = table[at] != x
    table[at] = x
    sifted = np.uint64(x) & _SIFTED
    sieve[sifted >> np.uint64(6)] |= _ONE << (sifted & np.uint64(63))
    return new
