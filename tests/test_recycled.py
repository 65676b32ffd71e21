"""Large arrays in memory that earlier ones have left."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import mst
from mst import solver
from mst.bench.measure import sampler
from mst.bench.measure.messages import RunSpec
from mst.bench.planning.experiment import Measure
from mst.generators import generate
from mst.graph import Graph
from mst.kernels.primitives import recycled
from mst.kernels.primitives.recycled import empty, keeping, recycling, release

SIZE = 1 << 23


def address(array):
    return array.ctypes.data


def test_memory_is_taken_again_once_no_view_is_left():
    with recycling():
        first = empty(SIZE, np.uint64)
        view = first.view(np.uint32).reshape(-1, 2)[5:, 0]
        place = address(first)
        del first
        view[:] = 7
        other = empty(SIZE, np.uint64)
        other[:] = 1
        assert (view == 7).all() and address(other) != place
        del view
        again = empty((SIZE // 2, 4), np.uint32)
        assert address(again) == place and again.shape == (SIZE // 2, 4) and again.dtype == np.uint32


@pytest.mark.parametrize(
    "size, same", [(SIZE * 9 // 8, True), (SIZE * 2, False), (SIZE // 2, True), (SIZE // 2 - 1, False)]
)
def test_memory_serves_arrays_of_about_its_size(size, same):
    with recycling():
        place = address(empty(SIZE, np.uint64))
        assert (address(empty(size, np.uint64)) == place) == same


def test_memory_that_became_too_small_goes_back_to_the_system():
    with recycling():
        for size in (SIZE, 2 * SIZE, 4 * SIZE):
            empty(size, np.uint64)
        assert [len(memory) // (8 * SIZE) for memory in recycled._current.memory._left] == [5]


def test_a_repeated_sequence_of_sizes_takes_no_new_memory():
    def repeat():
        first, second = empty(4 * SIZE, np.uint64), empty(SIZE, np.uint64)
        place = address(second)
        del second
        return {address(first), place, address(empty(SIZE // 2, np.uint64))}

    with recycling():
        assert repeat() == repeat()


def test_other_threads_and_later_arrays_take_no_part():
    with recycling():
        place = address(empty(SIZE, np.uint64))
        found = []
        other = threading.Thread(target=lambda: found.append(empty(SIZE, np.uint64)))
        other.start()
        other.join()
        assert found[0].base is None
        with recycling():
            assert address(empty(SIZE, np.uint64)) == place
    assert empty(SIZE, np.uint64).base is None


@pytest.fixture
def nothing_kept():
    release()
    yield
    release()


def kept_sizes():
    return sorted(len(memory) // (8 * SIZE) for kept in recycled._kept for memory in kept._left)


def call(*sizes):
    """Return the addresses of arrays in use at once within a call."""
    with keeping():
        return [address(array) for array in [empty(size, np.uint64) for size in sizes]]


@pytest.mark.usefixtures("nothing_kept")
def test_memory_is_kept_for_the_next_call():
    assert set(call(SIZE, 2 * SIZE)) == set(call(SIZE, 2 * SIZE))
    assert kept_sizes() == [1, 2]
    release()
    assert kept_sizes() == []


@pytest.mark.usefixtures("nothing_kept")
def test_memory_that_a_call_does_not_use_goes_back_to_the_system():
    call(SIZE, 2 * SIZE)
    call(SIZE)
    assert kept_sizes() == [1]


@pytest.mark.usefixtures("nothing_kept")
def test_kept_memory_is_limited(monkeypatch):
    monkeypatch.setattr(recycled, "MOST_KEPT", 32 * SIZE)
    call(SIZE, 4 * SIZE, SIZE)
    assert kept_sizes() == [1, 1]
    with keeping():
        late = [empty(SIZE, np.uint64), empty(SIZE, np.uint64), empty(2 * SIZE, np.uint64)]
    assert kept_sizes() == []
    del late
    assert kept_sizes() == []


@pytest.mark.usefixtures("nothing_kept")
def test_arrays_that_outlive_a_call_keep_their_content():
    with keeping():
        array = empty(SIZE, np.uint64)
        array[:] = 7
    with keeping():
        other = empty(SIZE, np.uint64)
        other[:] = 1
    assert (array == 7).all()


@pytest.mark.usefixtures("nothing_kept")
def test_calls_at_the_same_time_share_no_memory():
    barrier, places = threading.Barrier(2), []

    def work():
        with keeping():
            array = empty(SIZE, np.uint64)
            barrier.wait()
            places.append(address(array))
            del array
            barrier.wait()

    for _ in range(2):
        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(places)) == 2 and kept_sizes() == [1]
        places.clear()


@pytest.mark.usefixtures("nothing_kept")
def test_memory_that_the_system_does_not_take_is_not_kept(monkeypatch):
    monkeypatch.setattr(recycled.mmap, "MADV_FREE", -1)
    call(SIZE)
    assert kept_sizes() == []


@pytest.mark.usefixtures("nothing_kept")
def test_a_fork_keeps_nothing_and_changes_nothing():
    with keeping():
        array = empty(SIZE, np.uint64)
        array[:] = 7
        call(SIZE)
    call(SIZE)
    child = os.fork()
    if child == 0:
        right = not recycled._kept and (array == 7).all()
        array[:] = 1
        call(SIZE)
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (array == 7).all() and kept_sizes() == [1]


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("algorithm", ["filter-boruvka", "filter-boruvka-threads"])
def test_forests_have_memory_of_their_own(algorithm):
    graph = generate("grid", rows=1500, columns=1500, order="sorted")
    first = mst.minimum_spanning_forest(graph, algorithm=algorithm)
    memory = [np.frombuffer(block, np.uint8) for kept in recycled._kept for block in kept._left]
    assert memory and not any(np.shares_memory(first.edge_ids, block) for block in memory)
    before = first.edge_ids.copy()
    del memory
    other = mst.Graph(graph.n, graph.u, graph.v, -graph.w)
    mst.minimum_spanning_forest(other, algorithm=algorithm)
    assert np.array_equal(first.edge_ids, before)


class _Solved(Exception):
    """Ends a measurement after its first solve."""


@pytest.mark.usefixtures("nothing_kept")
@pytest.mark.parametrize("m", [1 << 17, 1 << 18])
def test_samples_keep_memory_as_calls_do(monkeypatch, m):
    keeps = []

    def end(*given, **options):
        keeps.append(recycled._current.memory is not None)
        raise _Solved

    graph = Graph(2, np.zeros(m, np.int32), np.ones(m, np.int32), np.arange(m, dtype=np.int32))
    monkeypatch.setattr(sampler, "take_samples", end)
    monkeypatch.setattr(solver, "_solved", end)
    spec = RunSpec("kruskal", {}, 1, "", "", Measure().model_dump())
    implementation = SimpleNamespace(ready=lambda *given, **options: SimpleNamespace(problem=None, init=0.0))
    with pytest.raises(_Solved):
        sampler.Sampler(spec, implementation, graph, loaded=True).measure()
    with pytest.raises(_Solved):
        solver.minimum_spanning_forest(graph, algorithm="kruskal")
    assert keeps == [m >= 1 << 18] * 2
