"""Batches of ascending weight, each joined to the trees by all threads at once, and settled afterwards.

A batch is joined in two phases with a barrier between them. First every end is replaced by the root of its tree,
as the trees stood before the batch. Then the edges between different trees link them, in any order, by
compare-and-swap. If no edge of a batch finds its ends linked already, the batch closes no cycle: all its edges
belong to the forest, whatever their order (Kruskal 1956). An edge that does is *surplus*. Whichever edges link,
the trees are the same sets of vertices, so that the next batch need not wait for a decision which edge of a cycle
is the heaviest: one thread *settles* a batch, mostly without sorting anything, while the others join the next ones.

Only what can lie on a cycle with a surplus edge has to be settled: whatever the batch's edges connect to its
ends, among the roots of that batch. One root may be left out of that search, since a cycle through it also
connects its other vertices without it: the giant tree's, to which half of a batch may lead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.atomics import compare_and_swap, fetch_add, load, store, yield_core
from mst.kernels.batch_edges import drop, dropped, ends_at, id_at, in_order, move, swap
from mst.kernels.concurrent_union_find import find
from mst.kernels.concurrent_union_find import unite as join_trees
from mst.kernels.jit import njit
from mst.kernels.parallel_runtime import FOREST, claim, dawdle, deal
from mst.kernels.prefetch import prefetch_to_write
from mst.kernels.union_find import find as find_alone

CHUNK = 4096
FIRST, LINKED, LAST = 0, 1, 2
"""Columns of `parts`: of each chunk, where it begins, where its surplus edges begin, and where these end."""

_BLOCK = 256
_AHEAD, _FAR = 16, np.uint64(32)
_ROOM, _SAMPLE, _SMALLEST, _TURNS = 16, 32, 512, 8
_SIEVE = 1 << 14
_SIFTED = np.uint64(_SIEVE - 1)
_ONE, _HALF = np.uint64(1), np.uint64(32)
_NOBODY = ~np.uint64(0)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


# -- trees ------------------------------------------------------------------------------------------------------


def new_trees(n: int, vertex_type, width: int, counters: np.ndarray, empty=np.empty) -> np.ndarray:
    """Return the parents of `n` trees of one vertex each, as words of the unsigned type of `vertex_type`.

    `empty` makes an array of a shape and dtype.
    """
    parent = empty(n, np.dtype(f"u{np.dtype(vertex_type).itemsize}"))
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
    at a time, few enough that what was loaded is still at hand when the roots are checked. Where the paths begin
    is asked for ahead, and to write: another core has mostly written there since.
    """
    roots_a, roots_b = np.empty(_BLOCK, parent.dtype), np.empty(_BLOCK, parent.dtype)
    end = np.uint64(first)
    for block in range(first, last, _BLOCK):
        # Unsigned: a signed index might count from the end of an array, and checking that would cost as much again.
        size, base = np.uint64(min(_BLOCK, last - block)), np.uint64(block)
        for i in range(size):
            u, v = ends_at(edges, min(base + i + _FAR, np.uint64(last - 1)))
            prefetch_to_write(parent, u)
            prefetch_to_write(parent, v)
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
def unite(edges, first, last, parent, alone):
    """Link trees by edges in any order; move the surplus ones to the end, and return where those begin.

    With `alone`, no other thread does at the same time. A phase of its own: a look-up at the same time might write
    a root's own number over the link that it just got. A root is only ever hung under a smaller number, hence
    links make no cycle, whoever links at the same time; and what it is hung under need not be a root any more.
    """
    i, end = first, last
    while i < end:
        x, y = ends_at(edges, min(i + _AHEAD, last - 1))
        prefetch_to_write(parent, max(x, y))
        x, y = ends_at(edges, i)
        x, y = max(x, y), min(x, y)
        if hang(parent, x, y, alone) or join_trees(parent, x, y):
            i += 1
        else:
            end -= 1
            swap(edges, i, end)
    return end


@njit(inline="always")
def hang(parent, x, y, alone):
    """Hang `x` under `y` if it is a root; return whether it was."""
    if alone:
        # A locked instruction costs as much as the rest of a link.
        root = load(parent, x) == x
        if root:
            store(parent, x, y)
        return root
    return compare_and_swap(parent, x, x, y) == x


# -- all phases, in one parallel region -------------------------------------------------------------------------

# Phases are short, and starting a parallel region for each would cost as much. So all run within one region. A
# phase is over when all its chunks are done, whoever did them: nothing waits for a thread that the system has not
# started yet. Each worker has a ticket, ``phase << 32 | 2³¹ - chunks left``, from which one addition takes a chunk
# together with the phase that it belongs to; helpers take from it too. The last worker to finish a phase opens
# the next one. Phase ``2 b`` looks up the ends of batch `b`, phase ``2 b + 1`` unites it. Who finished that settles
# the batch, with the next phase open already: nobody waits for a batch that takes long to settle.

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
def work(worker, width, state, starts, lengths, chunks, loose, edges, parts, surplus, parent, forest, counters):
    """Do chunks until no phase is left; settle the batches that were finished here."""
    end = np.int64(2 * loose.size)
    done = waited = 0
    desk = new_desk(0)
    while True:
        phase, chunk = take_chunk(state, worker, width, chunks)
        if chunk >= 0:
            dawdle(counters, chunk)
            batch = phase >> 1
            first = starts[batch] + (chunk - chunks[batch]) * lengths[batch]
            if phase & 1:
                parts[chunk, LINKED] = unite(edges, first, parts[chunk, LAST], parent, width == 1)
                closing = parts[chunk, LAST] - parts[chunk, LINKED]
                if closing:
                    fetch_add(surplus, batch, closing)
            else:
                last = min(first + lengths[batch], starts[batch + 1])
                parts[chunk, FIRST], parts[chunk, LAST] = first, look_up(edges, first, last, parent)
            done += 1
            waited = 0
        elif done:
            ticket = load(state, _TICKETS + 16 * worker)
            finished = fetch_add(state, _DONE, -done) == done
            done = 0
            if finished:
                phase = ticket >> 32
                open_phase(state, width, chunks, phase + 1)
                if phase & 1:
                    batch = phase >> 1
                    dawdle(counters, batch)
                    joined = parts[chunks[batch] : chunks[batch + 1]]
                    if surplus[batch] and not loose[batch]:
                        if desk.places.size < starts[batch + 1] - starts[batch]:
                            desk = new_desk(longest(starts))
                        settle(edges, joined, surplus[batch], desk)
                        emit_settled(edges, joined, forest, counters)
                    else:
                        emit_linked(edges, joined, forest, counters)
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


@njit(parallel=True)
def join(width, state, starts, lengths, chunks, loose, edges, parts, surplus, parent, forest, counters):
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
    parts : numpy.ndarray of int64, shape (chunks[-1], 3)
        Written: where each chunk begins, its surplus edges begin, and they end.
    surplus : numpy.ndarray of int64, shape (batches,)
        Zeros; written: how many edges of a batch closed a cycle within it.
    parent : numpy.ndarray
        The trees, from `new_trees`.
    forest : numpy.ndarray
        Edge ids are appended.
    """
    open_phase(state, width, chunks, 0)
    for worker in prange(width):
        work(
            worker, width, state, starts, lengths, chunks, loose, edges, parts, surplus, parent, forest, counters,
        )  # fmt: skip


# -- settling a batch -------------------------------------------------------------------------------------------


@njit
def emit_linked(edges, parts, forest, counters):
    """Append the ids of the edges of a batch that linked two trees."""
    place = fetch_add(counters, FOREST, np.sum(parts[:, LINKED] - parts[:, FIRST]))
    for part in range(len(parts)):
        for i in range(parts[part, FIRST], parts[part, LINKED]):
            forest[place] = id_at(edges, i)
            place += 1


@njit
def emit_settled(edges, parts, forest, counters):
    """Append the ids of the edges of a batch that were not dropped, which are as many as linked two trees."""
    place = fetch_add(counters, FOREST, np.sum(parts[:, LINKED] - parts[:, FIRST]))
    for part in range(len(parts)):
        for i in range(parts[part, FIRST], parts[part, LAST]):
            if not dropped(edges, i):
                forest[place] = id_at(edges, i)
                place += 1


class Desk(NamedTuple):
    """Room to settle batches one after the other: new pages for each would be cleared while everybody waits for it.

    `table` and `above` have four places and more for each of the edges that `places` and the others have room for.
    """

    table: np.ndarray
    above: np.ndarray
    places: np.ndarray
    spare: np.ndarray
    words: np.ndarray
    spare_words: np.ndarray


@njit
def new_desk(edges):
    """Return room to settle batches of up to so many edges."""
    size = room_for(4 * edges)
    places, spare = np.empty(edges, np.int64), np.empty(edges, np.int64)
    words, spare_words = np.empty(edges, np.uint64), np.empty(edges, np.uint64)
    return Desk(np.empty(size, np.uint64), np.empty(size, np.uint32), places, spare, words, spare_words)


@njit
def room_for(entries):
    """Return the size of a table for so many entries: a power of two."""
    size = _SMALLEST
    while size < entries:
        size *= 2
    return size


@njit
def longest(starts):
    """Return how many edges the largest batch has."""
    most = 0
    for batch in range(starts.size - 1):
        most = max(most, starts[batch + 1] - starts[batch])
    return most


@njit
def settle(edges, parts, surplus, desk):
    """Drop those edges of a batch that are the heaviest of a cycle, in place of those that came last."""
    table, found = in_question(edges, parts, surplus, desk)
    words = desk.words[:found]
    order = in_order(edges, desk.places[:found], desk.spare[:found], words, desk.spare_words[:found])
    # Places of the table stand for the vertices. All of an edge's ends first: searches do not wait for each other.
    for j in range(found):
        a, b = ends_at(edges, order[j])
        words[j] = np.uint64(enter(table, a)) | np.uint64(enter(table, b)) << _HALF
    above = desk.above[: table.size]
    for at in range(above.size):
        above[at] = at
    for j in range(found):
        x, y = find_alone(above, np.uint32(words[j])), find_alone(above, np.uint32(words[j] >> _HALF))
        above[x] = y
        drop(edges, order[j], x == y)


@njit
def in_question(edges, parts, surplus, desk):
    """Return a table with room for the ends of all edges that may lie on a cycle, and how many these edges are.

    Their places are the first of the desk's.
    """
    count = np.sum(parts[:, LAST] - parts[:, FIRST])
    size = room_for(_ROOM * surplus)
    if size < count:
        table = cleared(desk, size)
        found = flood(edges, parts, table, desk.places)
        if found:
            return table, found
    found = 0
    for part in range(len(parts)):
        for i in range(parts[part, FIRST], parts[part, LAST]):
            desk.places[found] = i
            found += 1
    return cleared(desk, room_for(4 * count)), found


@njit
def cleared(desk, size):
    """Return an empty table of this size."""
    table = desk.table[:size]
    table[:] = _NOBODY
    return table


@njit
def flood(edges, parts, table, places):
    """Enter whatever edges connect to the surplus ones; return how many these are, 0 if the table has no room."""
    sieve, hub = np.zeros(_SIEVE, np.bool_), commonest_end(edges, parts)
    found = used = 0
    for part in range(len(parts)):
        for i in range(parts[part, LINKED], parts[part, LAST]):
            a, b = ends_at(edges, i)
            used += add(table, sieve, a, hub) + add(table, sieve, b, hub)
            places[found] = i
            found += 1
    # From part to part, round and round, until a whole round has found nothing new.
    part = quiet = turns = 0
    while quiet < len(parts):
        quiet += 1
        for i in near_ones(edges, parts[part, FIRST], parts[part, LINKED], sieve):
            a, b = ends_at(edges, i)
            if (has(table, a) | has(table, b)) and not dropped(edges, i):
                drop(edges, i, True)
                places[found] = i
                found += 1
                new = add(table, sieve, a, hub) + add(table, sieve, b, hub)
                if new:
                    quiet, used = 0, used + new
                    if 4 * used > table.size:
                        return 0
        part += 1
        if part == len(parts):
            part, turns = 0, turns + 1
            if turns == _TURNS:
                return 0
    return found


@njit
def near_ones(edges, first, last, sieve):
    """Return the places of the edges of ``first … last - 1`` that the sieve lets through at one end or both."""
    places, count = np.empty(last - first, np.int64), np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        a, b = ends_at(edges, i)
        # Without a branch, which would take as long again.
        places[count] = i
        count += np.uint64(sieve[a & _SIFTED] | sieve[b & _SIFTED])
    return places[:count]


@njit
def commonest_end(edges, parts):
    """Return the vertex that most of a sample of linking edges lead to."""
    each = (_SAMPLE + len(parts) - 1) // len(parts)
    sample = np.empty(2 * each * len(parts), np.uint64)
    for part in range(len(parts)):
        first, last = parts[part, FIRST], parts[part, LINKED]
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
    sieve[np.uint64(x) & _SIFTED] = True
    return new
