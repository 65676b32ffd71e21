"""Deliberately broken twins of every atomic block, under schedules that are certain to break them.

A twin splits the block's single atomic step into two, and both threads *meet* at a barrier between the steps: on any
machine, the first steps of both come before the second step of either. The block itself runs right after the same
barrier and must give the correct result.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

from mst.kernels.filter_boruvka.parallel.join import new_state, open_first_phase, take_chunk
from mst.kernels.parallel.runtime import new_tallies, next_chunk, reset_queue
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store, write_min, yield_core
from mst.kernels.primitives.jit import njit
from mst.kernels.threads import edge_boruvka
from mst.kernels.union_find.concurrent import find, rank_find, ranked_forest, unite

_LEFT, _RIGHT = np.uint64(48), np.uint64((1 << 48) - 1)


@njit
def meet(gate):
    """Wait until both threads are here; a gate serves as a barrier once."""
    fetch_add(gate, 0, 1)
    while load(gate, 0) < 2:
        yield_core()


@njit
def wait_for(gate, count):
    """Wait until `count` threads have passed."""
    while load(gate, 0) < count:
        yield_core()


# Each pair takes the same arguments: the shared array `cell` (int64 or uint64), the worker (0 or 1), and two gates
# (int64 arrays of one element). It returns 1 if the worker's operation succeeded as far as the worker can see.


@njit(nogil=True)
def add(cell, worker, gate, later):
    meet(gate)
    fetch_add(cell, 0, 1)
    return 1


@njit(nogil=True)
def add_twin(cell, worker, gate, later):
    seen = load(cell, 0)
    meet(gate)
    store(cell, 0, seen + 1)
    return 1


@njit(nogil=True)
def minimum(cell, worker, gate, later):
    """Worker 1 writes the smaller value, and writes first."""
    meet(gate)
    if worker == 0:
        wait_for(later, 1)
    write_min(cell, 0, 5 - worker)
    fetch_add(later, 0, 1)
    return 1


@njit(nogil=True)
def minimum_twin(cell, worker, gate, later):
    smaller = 5 - worker < load(cell, 0)
    meet(gate)
    if worker == 0:
        wait_for(later, 1)
    if smaller:
        store(cell, 0, 5 - worker)
    fetch_add(later, 0, 1)
    return 1


@njit(nogil=True)
def swap(cell, worker, gate, later):
    meet(gate)
    return np.int64(compare_and_swap(cell, 0, 9, worker) == 9)


@njit(nogil=True)
def swap_twin(cell, worker, gate, later):
    equal = load(cell, 0) == 9
    meet(gate)
    if equal:
        store(cell, 0, worker)
    return np.int64(equal)


@njit(nogil=True)
def joining(cell, worker, gate, later):
    """Both link vertex 2: worker 0 to vertex 0, worker 1 to vertex 1."""
    meet(gate)
    return np.int64(unite(cell, 2, worker))


@njit(nogil=True)
def joining_twin(cell, worker, gate, later):
    x, y = find(cell, 2), find(cell, worker)
    meet(gate)
    if x != y:
        store(cell, max(x, y), min(x, y))
    return np.int64(x != y)


@njit
def rank_unite(cell, x, y):
    edge_boruvka.unite(edge_boruvka.State(cell, True, cell, cell), x, y)


@njit(nogil=True)
def rank_joining(cell, worker, gate, later):
    """Vertices 0 and 1 have rank 1: vertex 2 goes below either."""
    meet(gate)
    rank_unite(cell, 2, worker)
    return 1


@njit(nogil=True)
def rank_joining_twin(cell, worker, gate, later):
    x, y = np.uint64(rank_find(cell, 2)), np.uint64(rank_find(cell, worker))
    rank = load(cell, x) >> _LEFT
    meet(gate)
    store(cell, x, (rank << _LEFT) | y)
    return 1


@njit(nogil=True)
def raising(cell, worker, gate, later):
    """Worker 0 unites the roots 3 and 2, of rank 0; meanwhile worker 1 links 2 below 0, which has a higher rank."""
    if worker == 0:
        meet(gate)
        wait_for(later, 1)
        rank_unite(cell, 3, 2)
        return 1
    meet(gate)
    rank_unite(cell, 2, 0)
    fetch_add(later, 0, 1)
    return 1


@njit(nogil=True)
def raising_twin(cell, worker, gate, later):
    """Rank and parent are not checked together: a root that was linked meanwhile is written back as a root."""
    if worker == 0:
        low, high = load(cell, 3), load(cell, 2)
        meet(gate)
        wait_for(later, 1)
        store(cell, 3, (low & ~_RIGHT) | np.uint64(2))
        store(cell, 2, high + (np.uint64(1) << _LEFT))
        return 1
    meet(gate)
    rank_unite(cell, 2, 0)
    fetch_add(later, 0, 1)
    return 1


@njit(nogil=True)
def ticket(cell, worker, gate, later):
    """Take one of two chunks, both in the first worker's share; count how often each was taken."""
    tallies = cell[8:]
    meet(gate)
    first, last = next_chunk(tallies, 0, 1, 1, 2)
    fetch_add(cell, first, 1)
    return last - first


@njit(nogil=True)
def ticket_twin(cell, worker, gate, later):
    seen = load(cell, 7)
    meet(gate)
    store(cell, 7, seen + 1)
    fetch_add(cell, seen, 1)
    return 1


@njit(nogil=True)
def append(cell, worker, gate, later):
    """Append a value; the count of values is at place 0."""
    meet(gate)
    cell[1 + fetch_add(cell, 0, 1)] = 7 + worker
    return 1


@njit(nogil=True)
def append_twin(cell, worker, gate, later):
    place = load(cell, 0)
    meet(gate)
    cell[1 + place] = 7 + worker
    fetch_add(cell, 0, 1)
    return 1


@njit(nogil=True)
def opening(cell, worker, gate, later):
    """Take one of two chunks of a share that the previous phase closed; count how often each was taken."""
    meet(gate)
    _, chunk = take_chunk(cell[8:], 0, 1, np.array([0, 2]), np.int64(0))
    fetch_add(cell, chunk, 1)
    return 1


@njit(nogil=True)
def opening_twin(cell, worker, gate, later):
    # The only worker's ticket is the last line of the state.
    state, place = cell[8:], cell.size - 8 - 16
    old = load(state, place)
    meet(gate)
    if old < 0:
        store(state, place, old + (np.int64(1) << np.int64(32)) - 1)
        fetch_add(cell, 0, 1)
    return 1


def run(step, cell):
    """Return the sum of the values that two threads returned which executed a step concurrently."""
    gate, later = np.zeros(1, np.int64), np.zeros(1, np.int64)
    with ThreadPoolExecutor(2) as threads:
        return sum(threads.map(lambda worker: step(cell, worker, gate, later), range(2)))


def ranks(*of):
    words = ranked_forest(len(of))
    return words | (np.array(of, np.uint64) << _LEFT)


def is_added(cell, won):
    return cell[0] == 2


def is_lowest(cell, won):
    return cell[0] == 4


def one_has_won(cell, won):
    return won == 1


def is_one_tree(cell, won):
    return won == 2 and {find(cell, x) for x in range(3)} == {0}


def is_one_ranked_tree(cell, won):
    return len({rank_find(cell, x) for x in range(3)}) == 1


def is_joined_below(cell, won):
    return {rank_find(cell, x) for x in (0, 2, 3)} == {0}


def each_chunk_once(cell, won):
    return cell[:2].tolist() == [1, 1]


def both_are_there(cell, won):
    return sorted(cell[:3].tolist()) == [2, 7, 8]


def tickets():
    cell = np.concatenate([np.zeros(8, np.int64), new_tallies(1)])
    reset_queue(cell[8:], 1)
    return cell


def closed_share():
    cell = np.concatenate([np.zeros(8, np.int64), new_state(1)])
    open_first_phase(cell[8:], 1, np.array([0, 2]))
    return cell


BLOCKS = {
    "fetch_add": (add, add_twin, lambda: np.zeros(1, np.int64), is_added),
    "write_min": (minimum, minimum_twin, lambda: np.full(1, 9), is_lowest),
    "compare_and_swap": (swap, swap_twin, lambda: np.full(1, 9), one_has_won),
    "unite": (joining, joining_twin, lambda: np.arange(3), is_one_tree),
    "rank_link": (rank_joining, rank_joining_twin, lambda: ranks(1, 1, 0), is_one_ranked_tree),
    "rank and parent in one word": (raising, raising_twin, lambda: ranks(5, 1, 0, 0), is_joined_below),
    "next_chunk": (ticket, ticket_twin, tickets, each_chunk_once),
    "take_chunk": (opening, opening_twin, closed_share, each_chunk_once),
    "append": (append, append_twin, lambda: np.zeros(3, np.int64), both_are_there),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_survives_the_schedule_that_breaks_its_twin(name):
    block, twin, fresh, right = BLOCKS[name]
    for _ in range(20):
        cell = fresh()
        assert right(cell, run(block, cell)), f"{name}: {cell}"
        cell = fresh()
        assert not right(cell, run(twin, cell)), f"{name}'s twin was not caught: {cell}"


def compiled(function, *arguments):
    """Return the LLVM code of a function that is compiled here."""
    dispatcher = numba.njit(function)
    dispatcher(*arguments)
    return next(iter(dispatcher.inspect_llvm().values()))


def test_loads_acquire_and_stores_release():
    """The twins are plain accesses, which the compiler may move, merge, or keep in a register."""

    def peek(cell):
        return load(cell, 0)

    def peek_twin(cell):
        return cell[0]

    def poke(cell):
        store(cell, 0, 1)

    def poke_twin(cell):
        cell[0] = 1

    def is_acquire(code):
        return "load atomic i64" in code and "acquire" in code

    def is_release(code):
        return "store atomic i64" in code and "release" in code

    cell = np.zeros(1, np.int64)
    assert is_acquire(compiled(peek, cell))
    assert not is_acquire(compiled(peek_twin, cell))
    assert is_release(compiled(poke, cell))
    assert not is_release(compiled(poke_twin, cell))


def test_a_wait_sees_a_store_and_its_twin_never_would():
    """The compiler hoists a plain read out of its loop, before the other thread has written."""

    def wait(cell):
        for _ in range(1 << 20):
            if load(cell, 0):
                return True
        return False

    def wait_twin(cell):
        for _ in range(1 << 20):
            if cell[0]:
                return True
        return False

    loops = [compiled(function, np.zeros(1, np.int64)).count("br label") for function in (wait, wait_twin)]
    assert loops[0] > loops[1], "the plain read was not hoisted out of its loop"
