"""Joins batches of ascending weight to the trees, each by all workers at once; cycle edges are dropped afterwards.

This is the last step of a round, after `mst.kernels.filter_boruvka.parallel.scatter`. A batch is joined in two phases
with a barrier between them. In the first, every end is replaced by the root of its tree before the batch. In the
second, the edges whose roots differ link these by compare-and-swap, in any order. An edge that finds its roots already
connected is a *closing* edge. If there is none, the batch closes no cycle, and all these edges belong to the forest
(Kruskal 1956). Any order of links gives trees with the same vertices, so the next batch need not wait until the
heaviest edge of each cycle is found: one worker drops the cycle edges of a batch
(`mst.kernels.filter_boruvka.parallel.drop_cycle_edges`) while the others join the next batches.

If weights follow rows, most edges of a batch may lead from a few vertices to the giant tree. All workers would try to
link the same few roots at once, and nearly every edge would be dropped afterwards. In such batches, of a chunk's edges
between the same two roots only the lightest is kept.

In the functions, `records` has any type of `mst.kernels.filter_boruvka.parallel.records`; `parent` and `contended` are
fields of `Forest`; `batches` is a `Batches`, `joined` a `Joined`, `shared` a `Shared`; `state` and `tallies` are fields
of `Shared`; `width` is the number of workers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.parallel.drop_cycle_edges import (
    CLOSING,
    FIRST,
    LAST,
    drop_cycle_edges,
    edges_between,
    new_scratch,
    table_size,
)
from mst.kernels.filter_boruvka.parallel.records import ends_at, id_at, is_dropped, is_lighter, move, swap
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import FOREST, inject_delay
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store, store_where, yield_core
from mst.kernels.primitives.hashing import multiplicative_hash
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.union_find.concurrent import find, in_order_of_priority, unite_by_priority

LONGEST_CHUNK = 4096

_BLOCK = 256
_AHEAD, _FAR = 16, np.uint64(32)
_MANY = 4
"""A batch has many parallel or closing edges if they are more than one in `_MANY` of its edges."""


class Batches(NamedTuple):
    """The division of records into batches and chunks.

    Attributes
    ----------
    starts : numpy.ndarray of int64, shape (batches + 1,)
        The place at which each batch begins in the records, and the end; no batch is empty.
    lengths : numpy.ndarray of int64, shape (batches,)
        Records per chunk of each batch.
    chunks : numpy.ndarray of int64, shape (batches + 1,)
        Chunks before each batch, and in total.
    any_order : numpy.ndarray of bool, shape (batches,)
        Batches whose closing edges are simply dropped, since all edges have the same key and the caller accepts any of
        them.
    """

    starts: np.ndarray
    lengths: np.ndarray
    chunks: np.ndarray
    any_order: np.ndarray


class Joined(NamedTuple):
    """The output of joining, from which cycle edges are dropped.

    Attributes
    ----------
    chunks : numpy.ndarray of int64, shape (chunks, 3)
        For each chunk, where its edges between two trees begin, where its closing edges begin, and the end: the columns
        `drop_cycle_edges.FIRST`, `CLOSING` and `LAST`.
    closing : numpy.ndarray of int64, shape (batches,)
        The number of closing edges of each batch; zeros at first.
    parallel : numpy.ndarray of int64, shape (batches,)
        The number of edges of each batch dropped before linking, in favour of a lighter one between the same roots;
        zeros at first.
    """

    chunks: np.ndarray
    closing: np.ndarray
    parallel: np.ndarray


class Forest(NamedTuple):
    """The trees and their edges.

    Attributes
    ----------
    parent : numpy.ndarray of uint32 or uint64, shape (n,)
        From `mst.kernels.filter_boruvka.parallel.trees.new_parents`: a union-find whose roots are linked by priority.
    edges : numpy.ndarray of int32 or int64, shape (n - 1,)
        Edge ids from the front; ``tallies[FOREST]`` is their number.
    contended : bool
        Whether there are so few parents that workers often need the same cache line at once.
    """

    parent: np.ndarray
    edges: np.ndarray
    contended: bool


class Shared(NamedTuple):
    """The tallies that the workers of `join` share.

    Attributes
    ----------
    state : numpy.ndarray of int64, shape (32 + 16 * width,)
        From `new_state`.
    tallies : numpy.ndarray of int64, shape (80 + 16 * width,)
        From `mst.kernels.parallel.runtime.new_tallies`.
    """

    state: np.ndarray
    tallies: np.ndarray


def batches_of(starts: np.ndarray, any_order: np.ndarray, width: int) -> Batches:
    """Return the nonempty batches, cut into chunks for `width` workers; the arguments are as in `Batches`."""
    return Batches(*_filled_batches(starts, any_order, width))


@njit
def _filled_batches(starts, any_order, width):
    """Return the fields of `Batches` for `batches_of`, as a tuple."""
    count = 0
    for batch in range(any_order.size):
        count += starts[batch] < starts[batch + 1]
    kept, lengths = np.empty(count + 1, np.int64), np.empty(count, np.int64)
    chunks, kept_order = np.zeros(count + 1, np.int64), np.empty(count, np.bool_)
    at = 0
    kept[0] = starts[0]
    for batch in range(any_order.size):
        size = starts[batch + 1] - starts[batch]
        if size > 0:
            length = min(max(-(-size // (8 * width)), 64), LONGEST_CHUNK)
            lengths[at], kept_order[at] = length, any_order[batch]
            kept[at + 1], chunks[at + 1] = starts[batch + 1], chunks[at] - (-size // length)
            at += 1
    return kept, lengths, chunks, kept_order


# -- one chunk of a phase ---------------------------------------------------------------------------------------


@njit
def find_roots(records, first, last, parent, contended):
    """Move the records ``first … last - 1`` that join two trees to the front, with roots as ends; return their end.

    The root of lower priority (see `in_order_of_priority`) becomes the first end, which `link` puts below the other.
    Records are processed in blocks: large enough for look-ups to overlap, and small enough for loaded lines to be in
    the cache when the roots are checked.
    """
    roots_a, roots_b = np.empty(_BLOCK, parent.dtype), np.empty(_BLOCK, parent.dtype)
    end = np.uint64(first)
    for block in range(first, last, _BLOCK):
        # Unsigned: a signed index might count from the end of an array, and checking for that would double the cost.
        size, base = np.uint64(min(_BLOCK, last - block)), np.uint64(block)
        if contended:
            fourth_ancestors_contended(records, base, size, np.uint64(last - 1), parent, roots_a, roots_b)
        else:
            fourth_ancestors(records, base, size, np.uint64(last - 1), parent, roots_a, roots_b)
        for i in range(size):
            x, y = roots_a[i], roots_b[i]
            if (load(parent, x) != x) | (load(parent, y) != y):
                x, y = find(parent, x), find(parent, y)
            low, high = in_order_of_priority(x, y)
            move(records, base + i, end, low, high)
            end += np.uint64(x != y)
    return np.int64(end)


@njit
def fourth_ancestors(records, base, size, final, parent, roots_a, roots_b):
    """Write the fourth ancestors of both ends of `size` edges from `base` on, and make them the parents of the ends.

    A fourth ancestor is nearly always the root, and takes four loads without a branch. The parents of later ends, up to
    those of edge `final`, are prefetched for writing, since other cores have usually written to their lines. `base`,
    `size` and `final` are uint64; `roots_a` and `roots_b`, of the dtype of `parent` and shape (size,) or more, are
    written.
    """
    for i in range(size):
        u, v = ends_at(records, min(base + i + _FAR, final))
        prefetch_to_write(parent, u)
        prefetch_to_write(parent, v)
        u, v = ends_at(records, base + i)
        x = load(parent, load(parent, load(parent, load(parent, u))))
        y = load(parent, load(parent, load(parent, load(parent, v))))
        # Usually x and y already are the parents, but a branch to avoid the stores would be mispredicted and cost more.
        store(parent, u, x)
        store(parent, v, y)
        roots_a[i], roots_b[i] = x, y


@njit
def fourth_ancestors_contended(records, base, size, final, parent, roots_a, roots_b):
    """Like `fourth_ancestors`, but store only new values, so that all cores keep their copies of unchanged lines.

    That costs more if there is no contention: a store whose address depends on a load delays the loads after it.
    """
    for i in range(size):
        u, v = ends_at(records, min(base + i + _FAR, final))
        prefetch(parent, u)
        prefetch(parent, v)
        u, v = ends_at(records, base + i)
        above_u, above_v = load(parent, u), load(parent, v)
        x = load(parent, load(parent, load(parent, above_u)))
        y = load(parent, load(parent, load(parent, above_v)))
        roots_a[i], roots_b[i] = x, y
        store_where(above_u != x, parent, u, roots_a, i, x)
        store_where(above_v != y, parent, v, roots_b, i, y)


@njit
def drop_parallel(records, first, last):
    """Move the lightest of the records ``first … last - 1`` between each two roots to the front; return their end.

    Where pairs of roots have the same hash, a few heavier edges may be kept too.
    """
    # By hash, the place of a pair of roots, counted from 1; the latest pair replaces others of the same hash.
    places, end = np.zeros(table_size(2 * (last - first)), np.uint16), np.uint64(first)
    base = end - np.uint64(1)
    for i in range(np.uint64(first), np.uint64(last)):
        a, b = ends_at(records, i)
        at = multiplicative_hash(multiplicative_hash(a) + np.uint64(b)) >> np.uint64(40) & np.uint64(
            places.size - 1
        )
        to = base + np.uint64(places[at])
        if places[at] and same_ends(records, to, a, b):
            if is_lighter(records, i, to):
                move(records, i, to, a, b)
        else:
            move(records, i, end, a, b)
            end += np.uint64(1)
            places[at] = end - base - np.uint64(1)
    return np.int64(end)


@njit(inline="always")
def same_ends(records, i, a, b):
    """Return whether `a` and `b`, unsigned, are the first and the second end of edge `i`."""
    x, y = ends_at(records, i)
    return (x == a) & (y == b)


@njit
def link(records, first, last, parent, alone):
    """Link trees by the edges ``first … last - 1`` in any order; move closing edges to the end, return their start.

    The ends of the edges are roots from `find_roots`. `alone` says whether no other worker links at the same time. No
    `find_roots` may run at the same time: its stores could overwrite a new link with the root itself. Roots are only
    linked below those of higher priority, so links by any number of workers form no cycle, even if the new parent is no
    longer a root.
    """
    i, end = first, last
    while i < end:
        prefetch_to_write(parent, ends_at(records, min(i + _AHEAD, last - 1))[0])
        x, y = ends_at(records, i)
        if link_root(parent, x, y, alone) or unite_by_priority(parent, x, y):
            i += 1
        else:
            end -= 1
            swap(records, i, end)
    return end


@njit
def link_few(records, first, last, parent, alone):
    """Do what `link` does, faster if most edges close cycles.

    No cache line is requested for writing before its vertex is known to be a root: all workers may read the line of the
    giant tree's root.
    """
    i, end = first, last
    while i < end:
        x, y = ends_at(records, i)
        if (load(parent, x) == x and link_root(parent, x, y, alone)) or unite_by_priority(parent, x, y):
            i += 1
        else:
            end -= 1
            swap(records, i, end)
    return end


@njit(inline="always")
def link_root(parent, x, y, alone):
    """Link `x` below `y`, both unsigned, if `x` is a root; return whether it was linked. `alone` is as for `link`."""
    if alone:
        # A compare-and-swap costs as much as the rest of a link.
        root = load(parent, x) == x
        if root:
            store(parent, x, y)
        return root
    return compare_and_swap(parent, x, x, y) == x


# -- all phases, in one parallel region -------------------------------------------------------------------------

# Phases are so short that starting a parallel region would cost as much as a phase. So all run within one region. A
# phase ends when all its chunks are done, whichever workers did them: no worker waits for a thread that the system has
# not started yet. Phase ``2 b`` finds the roots of batch `b`, phase ``2 b + 1`` links them. Each worker has a share of
# the chunks and a ticket for its share, ``phase << 32 | 2³¹ - chunks left``: one addition to the ticket takes a chunk
# and shows to which phase it belongs. A worker whose share is empty steals from the others. The last worker to finish a
# phase opens the next one with two stores; the tickets still show the earlier phase, and the first worker that takes
# from a share updates its ticket. The worker that finished phase ``2 b + 1`` drops the batch's cycle edges after
# opening the next phase, so no worker waits for a batch whose cycle edges take long to drop.
#
# Below, `chunks` is the field of `Batches`; phases, chunks and workers are numbers, int64.

_LEFT, _PHASE, _TICKETS = 0, 16, 32
_NONE_LEFT = np.int64(1) << np.int64(31)
_TICKET_BITS = (np.int64(1) << np.int64(32)) - np.int64(1)


def new_state(width: int) -> np.ndarray:
    """Return zeros, int64 (32 + 16 * width,), for the phase, its unfinished chunks, and the workers' tickets."""
    return np.zeros(_TICKETS + 16 * width, np.int64)


@njit
def open_first_phase(state, width, chunks):
    """Reset all tickets, and open the first phase."""
    for worker in range(width):
        store(state, _TICKETS + 16 * worker, _NONE_LEFT - (np.int64(1) << np.int64(32)))
    open_phase(state, chunks, np.int64(0))


@njit
def open_phase(state, chunks, phase):
    """Open a phase so that workers can take its chunks; the phase after the last batch has none."""
    batch = phase >> 1
    store(state, _LEFT, chunks[batch + 1] - chunks[batch] if batch + 1 < chunks.size else np.int64(0))
    store(state, _PHASE, phase)


@njit
def take_chunk(state, owner, width, chunks, phase):
    """Take a chunk from the share of worker `owner`; return its ``(phase, chunk)``, with chunk -1 if none is left.

    If `phase` is over, the phase returned may be a later one.
    """
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
    """Return the first chunk of a worker's share in a phase, and the chunk after its last."""
    first, size = chunks[phase >> 1], chunks[(phase >> 1) + 1] - chunks[phase >> 1]
    return first + owner * size // width, first + (owner + 1) * size // width


@njit
def report_done(state, chunks, phase, done):
    """Report `done` chunks of a phase; if they were the last, open the next phase. Return whether they were."""
    last = done > 0 and fetch_add(state, _LEFT, -done) == done
    if last:
        open_phase(state, chunks, phase + 1)
    return last


@njit
def wait_for_end(state, phase):
    """Wait until a phase is over."""
    waited = 0
    while load(state, _PHASE) == phase:
        waited += 1
        if waited > 4096 and waited & 63 == 0:
            yield_core()


@njit
def work(worker, width, shared, batches, records, joined, forest):
    """Run one worker of `join`; if it fails, the others do not wait for it."""
    failed = False
    try:
        call(_take_part, worker, width, shared, batches, records, joined, forest)
    except Exception:
        failed = True
    if failed:
        # This is the phase after the last. No other worker opens a phase, since this worker's chunk is never done.
        store(shared.state, _PHASE, np.int64(2 * batches.any_order.size))
        raise MemoryError


@njit
def _take_part(worker, width, shared, batches, records, joined, forest):
    """Process chunks of all phases, and the cycle edges of the batches that this worker finishes."""
    # Unpacked once: each access to an array in a tuple changes a reference count in memory that all workers share.
    (state, tallies), parent, contended = shared, forest.parent, forest.contended
    starts, lengths, chunks_before, any_order = batches
    chunks, closing, parallel = joined
    end = np.int64(2 * any_order.size)
    scratch = new_scratch(np.int64(0))
    phase = load(state, _PHASE)
    while phase < end:
        for step in range(width):
            owner, done = (worker + step) % width, np.int64(0)
            phase, chunk = take_chunk(state, owner, width, chunks_before, phase)
            while chunk >= 0:
                inject_delay(tallies, chunk)
                batch = phase >> 1
                many = has_many_parallel(batch, starts, closing, parallel)
                first = starts[batch] + (chunk - chunks_before[batch]) * lengths[batch]
                if phase & 1:
                    last = chunks[chunk, LAST]
                    if many:
                        chunks[chunk, CLOSING] = call(link_few, records, first, last, parent, width == 1)
                    else:
                        chunks[chunk, CLOSING] = link(records, first, last, parent, width == 1)
                    count = last - chunks[chunk, CLOSING]
                    if count:
                        fetch_add(closing, batch, count)
                else:
                    last = min(first + lengths[batch], starts[batch + 1])
                    chunks[chunk, FIRST] = first
                    last = call(find_roots, records, first, last, parent, contended)
                    if many:
                        kept = call(drop_parallel, records, first, last)
                        fetch_add(parallel, batch, last - kept)
                        last = kept
                    chunks[chunk, LAST] = last
                done += 1
                phase, chunk = take_chunk(state, owner, width, chunks_before, phase)
            # Reported before the search of the other shares, since another worker may be waiting for it.
            if report_done(state, chunks_before, phase, done):
                if phase & 1:
                    inject_delay(tallies, phase)
                    batch = phase >> 1
                    scratch = call(append_batch, batch, batches, records, joined, forest, tallies, scratch)
                break
        wait_for_end(state, phase)
        phase = load(state, _PHASE)


@njit
def has_many_parallel(batch, starts, closing, parallel):
    """Return whether to search a batch for parallel edges, judging by the batch before it.

    A batch is searched if many parallel edges were found in the batch before it or, for one batch in 16, if many of the
    edges there closed cycles. `starts` is the field of `Batches`, `closing` and `parallel` are those of `Joined`.
    """
    before = batch - 1
    if before < 0:
        return True
    size = starts[batch] - starts[before]
    return _MANY * parallel[before] > size or (batch & 15 == 0 and _MANY * closing[before] > size)


@njit
def join(width, shared, batches, records, joined, forest):
    """Join the edges of all batches to the forest.

    Parameters
    ----------
    width : int
        Workers.
    shared : Shared
    batches : Batches
    records : PackedRecords, Records or WideRecords
        Arranged by batch; overwritten.
    joined : Joined
        Overwritten; its counts must be zero.
    forest : Forest
        Edge ids are appended.
    """
    open_first_phase(shared.state, width, batches.chunks)
    run(width, work, width, shared, batches, records, joined, forest)


# -- the forest -------------------------------------------------------------------------------------------------


@njit
def append_batch(batch, batches, records, joined, forest, tallies, scratch):
    """Drop the cycle edges of a batch, append the ids of the others to the forest; return the scratch space.

    `scratch` is a `drop_cycle_edges.Scratch`; if it is too small for the batch, a larger one is returned.
    """
    chunks = joined.chunks[batches.chunks[batch] : batches.chunks[batch + 1]]
    if joined.closing[batch] and not batches.any_order[batch]:
        if scratch.places.size < batches.starts[batch + 1] - batches.starts[batch]:
            scratch = new_scratch(largest_batch(batches.starts))
        call(drop_cycle_edges, records, chunks, joined.closing[batch], scratch)
        append_remaining(records, chunks, forest.edges, tallies)
    else:
        append_linking(records, chunks, forest.edges, tallies)
    return scratch


@njit
def largest_batch(starts):
    """Return the size of the largest batch; `starts` is the field of `Batches`."""
    most = np.int64(0)
    for batch in range(starts.size - 1):
        most = max(most, starts[batch + 1] - starts[batch])
    return most


@njit
def append_linking(records, chunks, edges, tallies):
    """Append the ids of the edges of a batch that linked two trees to `edges`, the field of `Forest`.

    `chunks` are the rows of ``Joined.chunks`` that belong to the batch.
    """
    place = fetch_add(tallies, FOREST, edges_between(chunks, FIRST, CLOSING))
    for chunk in range(len(chunks)):
        for i in range(chunks[chunk, FIRST], chunks[chunk, CLOSING]):
            edges[place] = id_at(records, i)
            place += 1


@njit
def append_remaining(records, chunks, edges, tallies):
    """Append the ids of the edges that are not dropped, which number as many as linked two trees, to `edges`."""
    place = fetch_add(tallies, FOREST, edges_between(chunks, FIRST, CLOSING))
    for chunk in range(len(chunks)):
        for i in range(chunks[chunk, FIRST], chunks[chunk, LAST]):
            if not is_dropped(records, i):
                edges[place] = id_at(records, i)
                place += 1
