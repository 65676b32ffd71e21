"""Edges in batches of ascending weight, each joined to the forest by all threads at once.

A batch is solved by rounds of Borůvka over *its* edges and the trees that there are: every tree's lightest edge
is in the forest (Borůvka 1926). The rounds are deterministic reservations (Blelloch, Fineman, Gibbons and Shun,
PPoPP 2012): edges look up the trees of their ends and reserve both, the lightest wins; after a barrier, edges
that hold a reservation hang that tree under the other one, and those that lost try again along with the next
batch. All lighter edges have been decided by then or try again too, so whoever is lightest at a tree in a round
is lightest of all edges that leave it. Three things make that cheap:

- batches are small against the number of trees, so nearly all edges between trees win at once;
- within a batch nothing is sorted: reservations compare, and hardly ever have to;
- the giant tree, once there is one, is the *hub*: it is never reserved, since nobody needs to hang it
  anywhere. What joins it is decided at the small end alone.

Edges are tuples of arrays, one layout per width of their parts:

====================== ==================================================================================
``(ends, tags)``       ends ``u | v << 32``; tags ``key << 32 | id``: 32-bit keys, 16 bytes an edge
``(ends, keys, ids)``  64-bit keys, 20 bytes
``(u, v, keys, ids)``  64 bits each, from 2³¹ vertices or 2³² edges on
====================== ==================================================================================
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numba.extending import overload

from mst.kernels.atomics import compare_and_swap, fetch_add, load, prefetch, store, yield_core
from mst.kernels.jit import njit
from mst.kernels.parallel_keys import key_of
from mst.kernels.parallel_runtime import FOREST, claim, deal
from mst.kernels.parallel_select import BLOCK, edge_at, pick, row_near, row_of

CHUNK = 4096
_AHEAD = 16
_HALF, _ONE = np.uint64(32), np.uint64(1)


def new_edges(size: int, vertex_type, key_type, ids: int) -> tuple[np.ndarray, ...]:
    """Return room for `size` edges, in the layout that fits vertices, keys and `ids` edge ids."""
    if np.dtype(vertex_type).itemsize == 8 or ids > 2**32:
        return tuple(np.empty(size, np.uint64) for _ in range(4))
    ends = np.empty(size, np.uint64)
    if np.dtype(key_type).itemsize == 8:
        return ends, np.empty(size, np.uint64), np.empty(size, np.uint32)
    return ends, np.empty(size, np.uint64)


# -- the layouts ------------------------------------------------------------------------------------------------


def _compiled_only(*arguments):
    raise NotImplementedError("for compiled code only")


def ends_at(edges, i):
    """Return both ends of edge `i`."""
    return _compiled_only()


def id_at(edges, i):
    """Return the edge id of edge `i`."""
    return _compiled_only()


def put(edges, i, a, b, key, e):
    """Write edge `i`."""
    return _compiled_only()


def move(source, i, target, j, a, b):
    """Write edge `j` of `target`: edge `i` of `source` with the ends `a` and `b`."""
    return _compiled_only()


def lighter(edges, i, j):
    """Return whether edge `i` comes before edge `j` in the order by (key, id)."""
    return _compiled_only()


@overload(ends_at, inline="always")
def _ends_at(edges, i):
    if len(edges) == 4:
        return lambda edges, i: (edges[0][i], edges[1][i])

    def ends_at(edges, i):
        pair = edges[0][i]
        return np.uint32(pair), np.uint32(pair >> _HALF)

    return ends_at


@overload(id_at, inline="always")
def _id_at(edges, i):
    if len(edges) == 2:
        return lambda edges, i: np.int64(np.uint32(edges[1][i]))
    if len(edges) == 3:
        return lambda edges, i: np.int64(edges[2][i])
    return lambda edges, i: np.int64(edges[3][i])


@overload(put, inline="always")
def _put(edges, i, a, b, key, e):
    if len(edges) == 4:

        def put(edges, i, a, b, key, e):
            edges[0][i], edges[1][i], edges[2][i], edges[3][i] = a, b, key, e

    elif len(edges) == 3:

        def put(edges, i, a, b, key, e):
            edges[0][i] = np.uint64(np.uint32(a)) | (np.uint64(b) << _HALF)
            edges[1][i], edges[2][i] = key, e

    else:

        def put(edges, i, a, b, key, e):
            edges[0][i] = np.uint64(np.uint32(a)) | (np.uint64(b) << _HALF)
            edges[1][i] = (np.uint64(key) << _HALF) | np.uint64(e)

    return put


@overload(move, inline="always")
def _move(source, i, target, j, a, b):
    if len(source) == 4:

        def move(source, i, target, j, a, b):
            target[0][j], target[1][j] = a, b
            target[2][j], target[3][j] = source[2][i], source[3][i]

    elif len(source) == 3:

        def move(source, i, target, j, a, b):
            target[0][j] = np.uint64(a) | (np.uint64(b) << _HALF)
            target[1][j], target[2][j] = source[1][i], source[2][i]

    else:

        def move(source, i, target, j, a, b):
            target[0][j] = np.uint64(a) | (np.uint64(b) << _HALF)
            target[1][j] = source[1][i]

    return move


@overload(lighter, inline="always")
def _lighter(edges, i, j):
    if len(edges) == 2:
        return lambda edges, i, j: edges[1][i] < edges[1][j]
    k, e = len(edges) - 2, len(edges) - 1

    def lighter(edges, i, j):
        first, second = edges[k][i], edges[k][j]
        return first < second or (first == second and edges[e][i] < edges[e][j])

    return lighter


# -- into batches -----------------------------------------------------------------------------------------------


@njit
def batch_of(key, e, base, shift, cells, bound_keys, bound_ids):
    """Return the batch of an edge: how many of the bounds, ascending by (key, id), are before it, more or less.

    ``cells[i]`` is the batch of all keys of cell `i`, ``(key - base) >> shift``: a bound within moves to the end
    of its cell. Where several lie within one, it is negative, and only there the bounds are searched.
    """
    batch = cells[min(np.uint64((max(key, base) - base) >> shift), np.uint64(cells.size - 1))]
    if batch >= 0:
        return np.int64(batch)
    low, high = 0, bound_keys.size
    while low < high:
        middle = (low + high) // 2
        if bound_keys[middle] < key or (bound_keys[middle] == key and bound_ids[middle] < e):
            low = middle + 1
        else:
            high = middle
    return low


@njit
def sort_out_range(
    first, last, source, kind, low, low_id, high, high_id, rare, inside,
    base, shift, cells, bound_keys, bound_ids, places, batch, counts, picked,
):  # fmt: skip
    """Find the edges of one chunk above (`low`, `low_id`), at most (`high`, `high_id`), and their batches.

    Writes their places and batches from ``places[first]`` and ``batch[first]`` on and counts them by batch;
    returns where they end.
    """
    counts[:] = 0
    at = np.uint64(first)
    for block in range(first, last, BLOCK):
        size = pick(source, kind, block, min(block + BLOCK, last), low, high, rare, inside, picked)
        for i in range(np.uint64(size)):
            place = picked[i]
            key, e = key_of(source[0][place], kind), edge_at(source, place, 0)[2]
            b = batch_of(key, e, base, shift, cells, bound_keys, bound_ids)
            places[at], batch[at] = place, b
            here = ((key != low) | (e > low_id)) & ((key != high) | (e <= high_id))
            counts[b] += here
            at += np.uint64(here)
    return np.int64(at)


@njit(parallel=True)
def select(
    width, grain, source, kind, low, low_id, high, high_id, rare, inside,
    base, shift, cells, bound_keys, bound_ids, places, batch, ends, counts, counters,
):  # fmt: skip
    """`sort_out_range` over all chunks.

    Row `c` of `counts` says how many edges of chunk `c` are in which batch, ``ends[c]`` where they end.
    """
    deal(counters, width)
    for worker in prange(width):
        picked = np.empty(BLOCK + 1, np.uint64)
        first, last = claim(counters, worker, width, grain, source[0].size)
        while first < last:
            ends[first // grain] = sort_out_range(
                first, last, source, kind, low, low_id, high, high_id, rare, inside,
                base, shift, cells, bound_keys, bound_ids, places, batch, counts[first // grain], picked,
            )  # fmt: skip
            first, last = claim(counters, worker, width, grain, source[0].size)


@njit
def prefix(counts):
    """Turn counts into places, by batch and then chunk; return where each batch begins, and the end."""
    bounds = np.empty(counts.shape[1] + 1, np.int64)
    place = 0
    for batch in range(counts.shape[1]):
        bounds[batch] = place
        for chunk in range(counts.shape[0]):
            counts[chunk, batch], place = place, place + counts[chunk, batch]
    bounds[counts.shape[1]] = place
    return bounds


@njit
def scatter_range(first, last, source, kind, places, batch, next_places, edges, to):
    """Write the selected edges of one chunk to the next places of their batches."""
    if first == last:
        return
    row = row_near(source, places[first])
    for block in range(first, last, BLOCK):
        size = min(BLOCK, last - block)
        # Places first: a store whose address waits for a load would hold up the loads behind it.
        for i in range(size):
            b = batch[block + i]
            to[i] = next_places[b]
            next_places[b] += 1
        for i in range(size):
            far = to[min(i + 2 * _AHEAD, size - 1)]
            prefetch(edges[0], far)
            prefetch(edges[1], far)
            place = np.uint64(places[block + i])
            row = row_of(source, place, row)
            a, b, e = edge_at(source, place, row)
            put(edges, to[i], a, b, key_of(source[0][place], kind), e)


@njit(parallel=True)
def scatter(width, grain, source, kind, places, batch, ends, next_places, edges, counters):
    """`scatter_range` over all chunks."""
    deal(counters, width)
    for worker in prange(width):
        to = np.empty(BLOCK, np.int64)
        first, last = claim(counters, worker, width, grain, source[0].size)
        while first < last:
            chunk = first // grain
            scatter_range(first, ends[chunk], source, kind, places, batch, next_places[chunk], edges, to)
            first, last = claim(counters, worker, width, grain, source[0].size)


# -- trees ------------------------------------------------------------------------------------------------------

# A node is two words side by side: the parent, which is the vertex itself for a root, and for a root the place of
# the edge that has reserved it. Whoever looks a root up to reserve it has its cache line already.


def new_nodes(n: int, vertex_type, width: int, counters: np.ndarray) -> np.ndarray:
    """Return `n` trees of one vertex each, as words of the unsigned type of `vertex_type`."""
    nodes = np.empty(2 * n, np.dtype(f"u{np.dtype(vertex_type).itemsize}"))
    _plant(width, 1 << 12, nodes, counters)
    return nodes


@njit(parallel=True)
def _plant(width, grain, nodes, counters):
    deal(counters, width)
    for worker in prange(width):
        first, last = claim(counters, worker, width, grain, nodes.size // 2)
        while first < last:
            for x in range(first, last):
                nodes[2 * x], nodes[2 * x + 1] = x, nodes.dtype.type(~np.uint64(0))
            first, last = claim(counters, worker, width, grain, nodes.size // 2)


@njit(inline="always")
def parent_place(x):
    """Return where a node keeps its parent."""
    return np.uint64(x) << _ONE


@njit(inline="always")
def holder_place(x):
    """Return where a root keeps who has reserved it; all bits set means nobody."""
    return (np.uint64(x) << _ONE) | _ONE


@njit(inline="always")
def parent(nodes, x):
    """Return the parent of `x`."""
    return load(nodes, parent_place(x))


@njit
def root(nodes, x):
    """Return the root of `x`, and change nothing."""
    p = parent(nodes, x)
    while p != x:
        x = p
        p = parent(nodes, x)
    return x


@njit(parallel=True)
def point_at_roots(width, grain, nodes, counters):
    """Make every vertex point at the root of its tree."""
    deal(counters, width)
    for worker in prange(width):
        first, last = claim(counters, worker, width, grain, nodes.size // 2)
        while first < last:
            for x in range(first, last):
                r = parent(nodes, parent(nodes, parent(nodes, x)))
                if parent(nodes, r) != r:
                    r = root(nodes, r)
                store(nodes, parent_place(x), r)
            first, last = claim(counters, worker, width, grain, nodes.size // 2)


@njit(parallel=True)
def mark_inside(width, grain, nodes, giant, inside, counters):
    """Set bit `x` of `inside` where vertex `x` points at the root `giant`; `grain` counts words."""
    n = nodes.size // 2
    deal(counters, width)
    for worker in prange(width):
        first, last = claim(counters, worker, width, grain, inside.size)
        while first < last:
            for word in range(first, last):
                bits = np.uint64(0)
                for j in range(min(64, n - 64 * word)):
                    bits |= np.uint64(nodes[2 * (64 * word + j)] == giant) << np.uint64(j)
                inside[word] = bits
            first, last = claim(counters, worker, width, grain, inside.size)


# -- one chunk of a round ---------------------------------------------------------------------------------------


@njit
def look_up(edges, first, last, nodes, hub, active, at, roots_a, roots_b):
    """Copy the edges between two trees to `active` from `at` on, ends replaced by roots; return the next place.

    Paths are four steps long at most, nearly always: four loads without a branch, for both ends of many edges
    at a time. The hub comes second.
    """
    # Unsigned: a signed index might count from the end of an array, and checking that would cost as much again.
    size, base = np.uint64(last - first), np.uint64(first)
    for i in range(size):
        u, v = ends_at(edges, base + i)
        x = parent(nodes, parent(nodes, parent(nodes, parent(nodes, u))))
        y = parent(nodes, parent(nodes, parent(nodes, parent(nodes, v))))
        # Mostly they point there already; but a branch to find out would be guessed wrong, and cost more.
        store(nodes, parent_place(u), x)
        store(nodes, parent_place(v), y)
        roots_a[i], roots_b[i] = x, y
    end = np.uint64(at)
    for i in range(size):
        x, y = roots_a[i], roots_b[i]
        if (parent(nodes, x) != x) | (parent(nodes, y) != y):
            x, y = root(nodes, x), root(nodes, y)
        if x == hub:
            x, y = y, x
        move(edges, base + i, active, end, x, y)
        end += np.uint64(x != y)
    return np.int64(end)


@njit(inline="always")
def reserve(nodes, x, active, place):
    """Reserve tree `x` for the edge at `place`, unless a lighter one has it."""
    nobody = nodes.dtype.type(~np.uint64(0))
    mine = nodes.dtype.type(place)
    seen = load(nodes, holder_place(x))
    while seen == nobody or lighter(active, mine, seen):
        found = compare_and_swap(nodes, holder_place(x), seen, mine)
        if found == seen:
            return
        seen = found


@njit
def reserve_all(first, last, active, nodes, hub):
    """Reserve both trees of each edge, the hub excepted."""
    for place in range(first, last):
        x, y = ends_at(active, place)
        reserve(nodes, x, active, place)
        if y != hub:
            reserve(nodes, y, active, place)


@njit
def commit_all(first, last, nodes, active, won):
    """Hang, by each edge that holds a reservation, the tree held under the other one.

    Along such links edges get lighter, so they make no cycle. An edge that holds both trees frees the one of
    the smaller root, under which the other is hung: chance keeps paths short. The winners' ids go to `won`, the
    losers move to the front; returns how many of each.
    """
    nobody = nodes.dtype.type(~np.uint64(0))
    winners = 0
    losers = first
    for place in range(first, last):
        x, y = ends_at(active, min(place + _AHEAD, last - 1))
        prefetch(nodes, parent_place(x))
        prefetch(nodes, parent_place(y))
        x, y = ends_at(active, place)
        mine = nodes.dtype.type(place)
        holds_y = load(nodes, holder_place(y)) == mine
        if load(nodes, holder_place(x)) == mine:
            if holds_y:
                x, y = max(x, y), min(x, y)
                store(nodes, holder_place(y), nobody)
            store(nodes, parent_place(x), y)
        elif holds_y:
            store(nodes, parent_place(y), x)
        else:
            move(active, place, active, losers, x, y)
            losers += 1
            continue
        won[winners] = id_at(active, place)
        winners += 1
    return winners, losers - first


@njit
def unite_all(first, last, active, nodes, hub, won):
    """Hang trees together by edges in any order, none ever above the hub; returns how many ids went to `won`.

    A phase of its own: a look-up at the same time might write a root's own number over the link that it just got.
    """
    winners = 0
    for place in range(first, last):
        x, y = ends_at(active, place)
        while x != y:
            if x == hub or (y != hub and x < y):
                x, y = y, x
            if compare_and_swap(nodes, parent_place(x), x, y) == x:
                won[winners] = id_at(active, place)
                winners += 1
                break
            x, y = root(nodes, x), root(nodes, y)
    return winners


@njit
def find_hub(nodes, seed):
    """Return a root that several of a sample of vertices share, or -1."""
    roots = np.empty(32, np.int64)
    for i in range(roots.size):
        x = np.uint64(i + 1 + roots.size * seed) * np.uint64(0x9E3779B97F4A7C15)
        x ^= x >> np.uint64(31)
        roots[i] = root(nodes, nodes.dtype.type(x % np.uint64(nodes.size // 2)))
        shared = 0
        for j in range(i):
            shared += roots[j] == roots[i]
        if shared >= 3:
            return roots[i]
    return np.int64(-1)


# -- all rounds, in one parallel region -------------------------------------------------------------------------

# Rounds are short, and starting a parallel region for each part of one would cost as much as the part. So all run
# within one region, a *phase* after the other. A phase is over when all its chunks are done, whoever did them:
# nothing waits for a thread that the system has not started yet. Each worker has a ticket,
# ``phase << 32 | 2³¹ - chunks left``, from which one addition takes a chunk together with the phase that it
# belongs to; helpers take from it too. The last worker to finish a phase opens the next one. What a phase is
# about lies in one of two places in turn, so that it stays put as long as any chunk of it is being done.

_DONE, _RETRIES, _ROUNDS, _RETRIED, _PHASES, _TICKETS = 0, 16, 32, 33, 48, 80
_KIND, _ROUND, _START, _FRESH, _OLD, _LENGTH, _CHUNKS, _BATCH, _HUB = range(9)
_RESERVE, _COMMIT, _LOOK_UP, _UNITE, _END = range(5)
_NONE_LEFT = np.int64(1) << np.int64(31)
_TICKET_BITS = (np.int64(1) << np.int64(32)) - np.int64(1)


def new_state(width: int) -> np.ndarray:
    """Return what the workers of `join` share beside the data."""
    return np.zeros(_TICKETS + 16 * width, np.int64)


def rounds_of(state: np.ndarray) -> tuple[int, int]:
    """Return how many rounds `join` took, and how many edges were tried again."""
    return int(state[_ROUNDS]), int(state[_RETRIED])


@njit
def about(state, phase):
    """Return the place that says what a phase is about."""
    at = _PHASES + 16 * (phase & 1)
    return state[at : at + 9]


@njit
def open_phase(state, width, phase):
    """Offer the chunks of a phase; all else about it has been written."""
    this = about(state, phase)
    total = this[_FRESH] + this[_OLD]
    length = min(max((total + 2 * width - 1) // (2 * width), 64), CHUNK)
    chunks = (total + length - 1) // length
    this[_LENGTH], this[_CHUNKS] = length, chunks
    store(state, _DONE, chunks)
    for worker in range(width):
        share = (worker + 1) * chunks // width - worker * chunks // width
        store(state, _TICKETS + 16 * worker, (phase << 32) + _NONE_LEFT - share)


@njit
def open_round(state, width, phase, bounds, loose, rounds, batch, retries, hub):
    """Open the first phase of a round: the next batch that is not empty, and what has to be tried again.

    Retries go alone when they are very many, so that there is always room, and before a loose batch.
    """
    last = loose.size
    while batch < last and bounds[batch + 1] == bounds[batch]:
        batch += 1
    this = about(state, phase)
    this[_KIND], this[_ROUND], this[_FRESH], this[_OLD], this[_HUB] = _RESERVE, rounds, 0, retries, hub
    if batch < last and retries <= bounds[last + 1] and not (loose[batch] and retries):
        this[_START], this[_FRESH] = bounds[batch], bounds[batch + 1] - bounds[batch]
        if loose[batch]:
            this[_KIND] = _LOOK_UP
        batch += 1
    elif retries == 0:
        this[_KIND] = _END
    this[_BATCH] = batch
    open_phase(state, width, phase)


@njit
def close_phase(state, width, phase, bounds, loose, nodes):
    """Go on after a phase; by one worker alone."""
    this = about(state, phase)
    if this[_KIND] == _RESERVE or this[_KIND] == _LOOK_UP:
        about(state, phase + 1)[:] = this
        about(state, phase + 1)[_KIND] = _COMMIT if this[_KIND] == _RESERVE else _UNITE
        open_phase(state, width, phase + 1)
        return
    retries = state[_RETRIES]
    state[_RETRIES] = 0
    state[_ROUNDS] += 1
    state[_RETRIED] += retries
    hub = this[_HUB]
    if hub < 0:
        hub = find_hub(nodes, this[_ROUND])
    open_round(state, width, phase + 1, bounds, loose, this[_ROUND] + 1, this[_BATCH], retries, hub)


@njit
def take_chunk(state, worker, width):
    """Return ``(phase, chunk)``, the worker's own chunks first; -1, -1 when none is on offer."""
    for step in range(width):
        owner = (worker + step) % width
        place = _TICKETS + 16 * owner
        if load(state, place) & _TICKET_BITS < _NONE_LEFT:
            ticket = fetch_add(state, place, 1)
            left = _NONE_LEFT - (ticket & _TICKET_BITS)
            if left > 0:
                phase = ticket >> 32
                return phase, (owner + 1) * about(state, phase)[_CHUNKS] // width - left
    return np.int64(-1), np.int64(-1)


@njit
def do_chunk(this, state, chunk, edges, again, later, active, kept, nodes, forest, counters, scratch):
    """Do one chunk of a phase."""
    roots_a, roots_b, won = scratch
    old, hub = this[_OLD], nodes.dtype.type(this[_HUB])
    first = chunk * this[_LENGTH]
    last = min(first + this[_LENGTH], this[_FRESH] + old)
    source, target = (again, later) if this[_ROUND] & 1 else (later, again)
    winners = losers = 0
    if this[_KIND] == _COMMIT:
        winners, losers = commit_all(first, kept[chunk], nodes, active, won)
    elif this[_KIND] == _UNITE:
        winners = unite_all(first, kept[chunk], active, nodes, hub, won)
    else:
        end = first
        if first < old:
            end = look_up(source, first, min(last, old), nodes, hub, active, end, roots_a, roots_b)
        if last > old:
            offset = this[_START] - old
            end = look_up(
                edges, max(first, old) + offset, last + offset, nodes, hub, active, end, roots_a, roots_b
            )
        kept[chunk] = end
        if this[_KIND] == _RESERVE:
            reserve_all(first, end, active, nodes, hub)
    if winners:
        place = fetch_add(counters, FOREST, winners)
        for i in range(winners):
            forest[place + i] = won[i]
    if losers:
        place = fetch_add(state, _RETRIES, losers)
        for i in range(losers):
            a, b = ends_at(active, first + i)
            move(active, first + i, target, place + i, a, b)


@njit
def work(worker, width, state, bounds, loose, edges, again, later, active, kept, nodes, forest, counters):
    """Do chunks until no phase is left."""
    scratch = np.empty(CHUNK, nodes.dtype), np.empty(CHUNK, nodes.dtype), np.empty(CHUNK, forest.dtype)
    done = waited = 0
    phase = np.int64(-1)
    while True:
        taken, chunk = take_chunk(state, worker, width)
        if chunk >= 0:
            phase = taken
            do_chunk(
                about(state, phase), state, chunk, edges, again, later, active, kept, nodes, forest, counters,
                scratch,
            )  # fmt: skip
            done += 1
            waited = 0
        elif done:
            finished = fetch_add(state, _DONE, -done) == done
            done = 0
            if finished:
                close_phase(state, width, phase, bounds, loose, nodes)
        else:
            ticket = load(state, _TICKETS + 16 * worker)
            if ticket & _TICKET_BITS >= _NONE_LEFT and about(state, ticket >> 32)[_KIND] == _END:
                return
            waited += 1
            if waited > 64:
                yield_core()
            for _ in range(64):
                if load(state, _TICKETS + 16 * worker) != ticket:
                    break


@njit(parallel=True)
def join(width, state, bounds, loose, hub, edges, again, later, active, kept, nodes, forest, counters):
    """Join the edges of all batches to the forest.

    Parameters
    ----------
    state : numpy.ndarray
        From `new_state`.
    bounds : numpy.ndarray of int64, shape (batches + 2,)
        Where each batch begins in `edges`, the end, and the most edges that may be tried again beside a batch.
    loose : numpy.ndarray of bool, shape (batches,)
        Batches whose edges are taken in any order.
    hub : int
        The root of the giant tree if it is known, else -1.
    edges : tuple of numpy.ndarray
        By batch.
    again, later, active : tuple of numpy.ndarray
        Room for the edges of a round each: the longest batch plus ``bounds[-1]`` and `CHUNK`.
    kept : numpy.ndarray of int64
        Room for as many chunks as a round can have: one per 64 edges, and one.
    nodes : numpy.ndarray
        The trees, from `new_nodes`; all roots are free, before and after.
    forest : numpy.ndarray
        Edge ids are appended.
    """
    open_round(state, width, 0, bounds, loose, 0, 0, 0, hub)
    for worker in prange(width):
        work(worker, width, state, bounds, loose, edges, again, later, active, kept, nodes, forest, counters)
