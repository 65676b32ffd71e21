"""Calls with arrays in host memory that a GPU checks while it solves them, with a stand-in for the GPU."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import mst
from mst import Graph, advice, solver
from mst.algorithms.cuda.device import memory
from mst.errors import InputError, OutOfMemoryError
from mst.interop import device

U, V, W = np.array([0, 1, 2], np.int32), np.array([1, 2, 0], np.int32), np.array([5, 7, 6])
FOREST = mst.Forest(Graph(3, U, V, W), [0, 2], algorithm="filter-boruvka-cuda")


@pytest.fixture
def calls(monkeypatch):
    """Replace the GPU; return the options of the calls that reach it."""
    options = []

    def forest_of_unchecked(graph, given):
        assert graph.u is not U and np.shares_memory(graph.u, U)
        options.append(given)
        return FOREST

    monkeypatch.setattr(device, "forest_of_unchecked", forest_of_unchecked)
    return options


def test_arrays_go_to_the_gpu_unchecked_where_it_is_named(calls):
    found = mst.minimum_spanning_forest((3, U, V, W), algorithm="filter-boruvka-cuda", start="edges")
    assert found is FOREST and calls == [{"start": "edges"}]


@pytest.mark.parametrize("chosen", ["filter-boruvka-cuda", "kruskal"])
def test_arrays_go_to_the_gpu_unchecked_where_auto_takes_it(calls, monkeypatch, chosen):
    gpu = "host" if chosen.endswith("cuda") else None
    choice = advice.Choice(chosen, 1, options={"start": "edges"} if gpu else {}, gpu=gpu)
    monkeypatch.setattr(solver, "usable_gpu", lambda: True)
    monkeypatch.setattr(solver, "choose", lambda *_, **__: choice)
    found = mst.minimum_spanning_forest((3, U, V, W))
    assert found.edge_ids.tolist() == [0, 2]
    assert (found is FOREST, calls) == ((True, [{"start": "edges"}]) if gpu else (False, []))


def test_graphs_that_the_gpu_cannot_hold_stay_on_the_cores(monkeypatch):
    def too_large(graph, options):
        raise OutOfMemoryError("full")

    choices = iter([advice.Choice("filter-boruvka-cuda", 1, gpu="host"), advice.Choice("kruskal", 1)])
    monkeypatch.setattr(device, "forest_of_unchecked", too_large)
    monkeypatch.setattr(solver, "usable_gpu", lambda: True)
    monkeypatch.setattr(solver, "choose", lambda *_, **__: next(choices))
    assert mst.minimum_spanning_forest((3, U, V, W)).algorithm == "kruskal"


def test_illegal_arrays_are_refused_by_row_whatever_the_gpu_saw(monkeypatch):
    monkeypatch.setattr(device, "forest_of_unchecked", lambda graph, options: None)
    with pytest.raises(InputError, match=r"v\[1\] = 2 is not a vertex"):
        mst.minimum_spanning_forest((2, np.minimum(U, 1), V, W), algorithm="filter-boruvka-cuda")


@pytest.mark.parametrize(
    "arrays",
    [
        (U.tolist(), V, W),
        (U.astype(np.int64), V, W),
        (U.astype(np.uint8), V.astype(np.uint8), W),
        (U.reshape(1, 3), V, W),
        (U[:2], V, W),
        (U[:0], V[:0], W[:0]),
        (np.ma.masked_equal(U, 9), V, W),
        (U, V, W.astype(np.uint64)),
        (U.astype(">i4"), V, W),
    ],
)
def test_other_arrays_are_left_to_graph(arrays):
    assert device.unchecked_graph(3, *arrays) is None
    assert device.unchecked_graph(2**31, U, V, W) is device.unchecked_graph(2.5, U, V, W) is None
    assert device.unchecked_graph(3, U, V, W).u.ctypes.data == U.ctypes.data


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_unsigned_and_strided_arrays_go_to_the_gpu_as_signed_ones_without_gaps(dtype, step, monkeypatch):
    monkeypatch.setattr(device, "MANY", 3)
    u, v, w = (np.repeat(a, step)[::step] for a in (U.astype(dtype), V.astype(dtype), W))
    graph = device.unchecked_graph(3, u, v, w)
    for given, kept in ((u, graph.u), (v, graph.v), (w, graph.w)):
        assert kept.tolist() == given.tolist() and kept.flags.c_contiguous and kept.dtype.kind == "i"
        assert np.shares_memory(kept, given) == (step == 1)


def test_ids_that_are_too_large_for_signed_ones_look_negative_to_the_gpu():
    ids = np.array([0, 1, 2**32 - 2], np.uint32)
    assert device.unchecked_graph(3, ids, ids, W).u.tolist() == [0, 1, -2]


def test_the_driver_is_asked_for_memory_only_where_the_pool_does_not_suffice(monkeypatch):
    asked = []
    runtime = SimpleNamespace(memGetInfo=lambda: asked.append(True) or (50, 1000))
    pool = SimpleNamespace(free_bytes=lambda: 100)
    cupy = SimpleNamespace(cuda=SimpleNamespace(runtime=runtime), get_default_memory_pool=lambda: pool)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    memory.ensure_free(100, "a graph")
    assert not asked
    memory.ensure_free(150, "a graph")
    with pytest.raises(OutOfMemoryError, match=r"needs .*\(151 bytes\).* \(150 bytes\) are free"):
        memory.ensure_free(151, "a graph")
    assert len(asked) == 2


def test_graph_of_wide_ids_is_like_one_of_narrow_ids():
    graph = device._WideGraph(device.unchecked_graph(3, U.astype(np.int64), V.astype(np.int64), W))
    kept = pickle.loads(pickle.dumps(graph))
    assert type(kept) is Graph and repr(kept) == repr(graph) == repr(Graph(3, U, V, W))
    for found in (graph, kept):
        assert found.u.dtype == found.v.dtype == np.int32 and not found.u.flags.writeable
        assert (found.u.tolist(), found.v.tolist(), found.w.tolist()) == ([0, 1, 2], [1, 2, 0], [5, 7, 6])
    forest = mst.Forest(graph, [0, 2])
    assert forest.weight == 11 and forest.edges()[1].tolist() == [1, 0]
