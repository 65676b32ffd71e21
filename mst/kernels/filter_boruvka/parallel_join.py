"""Batches of ascending weight, each joined to the trees by all threads at once, and settled afterwards.

A batch is joined in two phases with a barrier between them. First every end is replaced by the root of its tree,
as the trees stood before the batch. Then the edges between different trees link them, in any order, by
compare-and-swap. If no edge of a batch finds its ends linked already, the batch closes no cycle: all its edges
belong to the forest, whatever their order (Kruskal 1956). An edge that does is *surplus*. Whichever edges link,
the trees are the same sets of vertices, so that the next batch need not wait for a decision which edge of a cycle
is the heaviest: one thread settles a batch (`mst.kernels.filter_boruvka.drop_cycle_edges`) while the others
join the next ones.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.filter_boruvka.batch_edges import dropped, ends_at, id_at, move, swap
from mst.kernels.filter_boruvka.drop_cycle_edges import FIRST, LAST, LINKED, new_desk, settle
from mst.kernels.parallel.runtime import FOREST, inject_delay, next_chunk, reset_queue
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store, store_where, yield_core
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.union_find.concurrent import find
from mst.kernels.union_find.concurrent import unite as join_trees

CHUNK = 4096

_BLOCK = 256
_AHEAD, _FAR = 16, np.uint64(32)


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
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, parent.size)
        while first < last:
            plant(parent, first, last)
            first, last = next_chunk(counters, worker, width, grain, parent.size)


@njit
def plant(parent, first, last):
    """Make vertices ``first … last - 1`` trees of their own."""
    for x in range(first, last):
        parent[x] = x


@njit(parallel=True)
def point_at_roots(width, grain, parent, counters):
    """Make every vertex point at the root of its tree."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, parent.size)
        while first < last:
            flatten(parent, first, last)
            first, last = next_chunk(counters, worker, width, grain, parent.size)


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
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, grain, inside.size)
        while first < last:
            mark(parent, giant, first, last, inside)
            first, last = next_chunk(counters, worker, width, grain, inside.size)


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
def look_up(edges, first, last, parent, crowded):
    """Move the edges between two trees to the front, ends replaced by roots; return where they end.

    Many edges at a time, few enough that what was loaded is still at hand when the roots are checked. With `crowded`,
    all threads ask for the same few lines.
    """
    roots_a, roots_b = np.empty(_BLOCK, parent.dtype), np.empty(_BLOCK, parent.dtype)
    end = np.uint64(first)
    for block in range(first, last, _BLOCK):
        # Unsigned: a signed index might count from the end of an array, and checking that would cost as much again.
        size, base = np.uint64(min(_BLOCK, last - block)), np.uint64(block)
        if crowded:
            climb_among_many(edges, base, size, np.uint64(last - 1), parent, roots_a, roots_b)
        else:
            climb(edges, base, size, np.uint64(last - 1), parent, roots_a, roots_b)
        for i in range(size):
            x, y = roots_a[i], roots_b[i]
            if (load(parent, x) != x) | (load(parent, y) != y):
                x, y = find(parent, x), find(parent, y)
            move(edges, base + i, end, x, y)
            end += np.uint64(x != y)
    return np.int64(end)


@njit
def climb(edges, base, size, final, parent, roots_a, roots_b):
    """Write what both ends of `size` edges from `base` on lie under, four steps up, and let the ends point there.

    Paths are no longer, nearly always: four loads without a branch. Where the paths begin is asked for ahead, up to the
    edge `final`, and to write: another core has mostly written there since.
    """
    for i in range(size):
        u, v = ends_at(edges, min(base + i + _FAR, final))
        prefetch_to_write(parent, u)
        prefetch_to_write(parent, v)
        u, v = ends_at(edges, base + i)
        x = load(parent, load(parent, load(parent, load(parent, u))))
        y = load(parent, load(parent, load(parent, load(parent, v))))
        # Mostly they point there already; but a branch to find out would be guessed wrong, and cost more.
        store(parent, u, x)
        store(parent, v, y)
        roots_a[i], roots_b[i] = x, y


@njit
def climb_among_many(edges, base, size, final, parent, roots_a, roots_b):
    """As `climb`; but lines stay with all cores as long as nobody writes what they hold already.

    A store whose address waits for a load holds up the loads behind it: where lines are many, that costs more.
    """
    for i in range(size):
        u, v = ends_at(edges, min(base + i + _FAR, final))
        prefetch(parent, u)
        prefetch(parent, v)
        u, v = ends_at(edges, base + i)
        above_u, above_v = load(parent, u), load(parent, v)
        x = load(parent, load(parent, load(parent, above_u)))
        y = load(parent, load(parent, load(parent, above_v)))
        roots_a[i], roots_b[i] = x, y
        store_where(above_u != x, parent, u, roots_a, i, x)
        store_where(above_v != y, parent, v, roots_b, i, y)


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
# started yet. Phase ``2 b`` looks up the ends of batch `b`, phase ``2 b + 1`` unites it. Each worker has a share of the
# chunks and a ticket for it, ``phase << 32 | 2³¹ - chunks left``, from which one addition takes a chunk together with
# the phase that it belongs to; who is done with the own share helps with the others'. The last worker to finish a phase
# opens the next one, in two stores: a ticket of a phase that is over is brought up to date by the first who takes from
# that share. Who finished phase ``2 b + 1`` settles the batch, with the next phase open already: nobody waits for a
# batch that takes long to settle.

_DONE, _PHASE, _TICKETS = 0, 16, 32
_NONE_LEFT = np.int64(1) << np.int64(31)
_TICKET_BITS = (np.int64(1) << np.int64(32)) - np.int64(1)


def new_state(width: int) -> np.ndarray:
    """Return room for what the workers of `join` share beside the data."""
    return np.zeros(_TICKETS + 16 * width, np.int64)


@njit
def without_empty(starts, loose):
    """Return where the batches begin that hold any edge, and the end, and which of these are loose."""
    kept_starts, kept = np.empty_like(starts), np.empty_like(loose)
    count = 0
    for batch in range(loose.size):
        kept_starts[count], kept[count] = starts[batch], loose[batch]
        count += starts[batch] < starts[batch + 1]
    kept_starts[count] = starts[-1]
    return kept_starts[: count + 1], kept[:count]


@njit
def chunked(starts, width):
    """Return how long a chunk of each batch is, and how many chunks come before each batch, and in all."""
    lengths, chunks = np.empty(starts.size - 1, np.int64), np.zeros(starts.size, np.int64)
    for batch in range(lengths.size):
        size = starts[batch + 1] - starts[batch]
        lengths[batch] = min(max(-(-size // (8 * width)), 64), CHUNK)
        chunks[batch + 1] = chunks[batch] - (-size // lengths[batch])
    return lengths, chunks


@njit
def begin(state, width, chunks):
    """Offer the chunks of the first phase, and forget whatever was done before."""
    for worker in range(width):
        store(state, _TICKETS + 16 * worker, _NONE_LEFT - (np.int64(1) << np.int64(32)))
    open_phase(state, chunks, np.int64(0))


@njit
def open_phase(state, chunks, phase):
    """Offer the chunks of a phase; past the last batch there is none."""
    batch = phase >> 1
    store(state, _DONE, chunks[batch + 1] - chunks[batch] if batch + 1 < chunks.size else np.int64(0))
    store(state, _PHASE, phase)


@njit
def take_chunk(state, owner, width, chunks, phase):
    """Return ``(phase, chunk)`` of an owner's share: a later phase if that one is over; -1 when none is left."""
    place = _TICKETS + 16 * owner
    ticket = load(state, place)
    if ticket >> 32 < phase:
        first, last = share_of(chunks, owner, width, phase)
        if first < last:
            taken = (phase << 32) + _NONE_LEFT - (last - first) + 1
            seen = compare_and_swap(state, place, ticket, taken)
            if seen == ticket:
                return phase, first
            ticket = seen
    if ticket & _TICKET_BITS < _NONE_LEFT:
        ticket = fetch_add(state, place, 1)
        left = _NONE_LEFT - (ticket & _TICKET_BITS)
        if left > 0:
            phase = ticket >> 32
            return phase, share_of(chunks, owner, width, phase)[1] - left
    return phase, np.int64(-1)


@njit
def share_of(chunks, owner, width, phase):
    """Return the first chunk of a worker's share in a phase, and where the share ends."""
    first, size = chunks[phase >> 1], chunks[(phase >> 1) + 1] - chunks[phase >> 1]
    return first + owner * size // width, first + (owner + 1) * size // width


@njit
def finish(state, chunks, phase, done):
    """Report chunks of a phase as done; return whether they were the last, and the next phase is open."""
    last = done > 0 and fetch_add(state, _DONE, -done) == done
    if last:
        open_phase(state, chunks, phase + 1)
    return last


@njit
def wait(state, phase):
    """Return when a phase is over."""
    waited = 0
    while load(state, _PHASE) == phase:
        waited += 1
        if waited > 4096 and waited & 63 == 0:
            yield_core()


@njit
def work(
    worker,
    width,
    state,
    starts,
    lengths,
    chunks,
    loose,
    edges,
    parts,
    surplus,
    parent,
    crowded,
    forest,
    counters,
):
    """Do chunks until no phase is left; settle the batches that were finished here."""
    end = np.int64(2 * loose.size)
    desk = new_desk(0)
    phase = load(state, _PHASE)
    while phase < end:
        for step in range(width):
            owner, done = (worker + step) % width, np.int64(0)
            phase, chunk = take_chunk(state, owner, width, chunks, phase)
            while chunk >= 0:
                inject_delay(counters, chunk)
                do_chunk(
                    chunk, phase, starts, lengths, chunks, edges, parts, surplus, parent, crowded, width == 1
                )
                done += 1
                phase, chunk = take_chunk(state, owner, width, chunks, phase)
            # At once: the others' shares are looked through while somebody may wait for this report.
            if finish(state, chunks, phase, done):
                if phase & 1:
                    inject_delay(counters, phase)
                    batch = phase >> 1
                    desk = emit(batch, starts, chunks, loose, edges, parts, surplus, forest, counters, desk)
                break
        wait(state, phase)
        phase = load(state, _PHASE)


@njit
def do_chunk(chunk, phase, starts, lengths, chunks, edges, parts, surplus, parent, crowded, alone):
    """Look up or unite the edges of one chunk."""
    batch = phase >> 1
    first = starts[batch] + (chunk - chunks[batch]) * lengths[batch]
    if phase & 1:
        parts[chunk, LINKED] = unite(edges, first, parts[chunk, LAST], parent, alone)
        closing = parts[chunk, LAST] - parts[chunk, LINKED]
        if closing:
            fetch_add(surplus, batch, closing)
    else:
        last = min(first + lengths[batch], starts[batch + 1])
        parts[chunk, FIRST], parts[chunk, LAST] = first, look_up(edges, first, last, parent, crowded)


@njit(parallel=True)
def join(
    width, state, starts, lengths, chunks, loose, edges, parts, surplus, parent, crowded, forest, counters
):
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
        By batch (`mst.kernels.filter_boruvka.batch_edges`); overwritten.
    parts : numpy.ndarray of int64, shape (chunks[-1], 3)
        Written: where each chunk begins, its surplus edges begin, and they end.
    surplus : numpy.ndarray of int64, shape (batches,)
        Zeros; written: how many edges of a batch closed a cycle within it.
    parent : numpy.ndarray
        The trees, from `new_trees`.
    crowded : bool
        Whether the trees are so few words that workers want the same cache lines at the same time.
    forest : numpy.ndarray
        Edge ids are appended.
    """
    begin(state, width, chunks)
    for worker in prange(width):
        work(
            worker, width, state, starts, lengths, chunks, loose, edges, parts, surplus, parent, crowded, forest,
            counters,
        )  # fmt: skip


# -- the forest -------------------------------------------------------------------------------------------------


@njit
def emit(batch, starts, chunks, loose, edges, parts, surplus, forest, counters, desk):
    """Append the ids of a batch's edges that belong to the forest; return the desk, a larger one if need be."""
    joined = parts[chunks[batch] : chunks[batch + 1]]
    if surplus[batch] and not loose[batch]:
        if desk.places.size < starts[batch + 1] - starts[batch]:
            desk = new_desk(np.max(np.diff(starts)))
        settle(edges, joined, surplus[batch], desk)
        emit_settled(edges, joined, forest, counters)
    else:
        emit_linked(edges, joined, forest, counters)
    return desk


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
