"""Whole calls of filter-boruvka-cuda with arrays on the host and the device, with a stand-in for the device."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import stand_in
from expected import by_kruskal
from test_cuda_staging import driver, fake, pytestmark  # noqa: F401

import mst
from mst import Graph, InputError, advice, registry
from mst import execute as execute_module
from mst.algorithms.cuda import filter_boruvka
from mst.algorithms.cuda.device import keys, memory, staging
from mst.errors import ConfigError, OutOfMemoryError
from mst.interop import device as device_arrays
from mst.interop import gpu_call
from mst.interop.device import forest_of_unchecked, unchecked_graph
from mst.kernels.cuda import loader


@pytest.fixture
def device(fake, emulator_folder, monkeypatch):  # noqa: F811
    """Replace the GPU; return the number of requests to it, by kind."""
    kernel, counts = stand_in.equip(fake, emulator_folder)
    monkeypatch.setattr(memory, "multiprocessors", lambda number: 2)
    monkeypatch.setattr(filter_boruvka, "blocks_for", lambda kernel, shape: counts.update(queries=1) or 2)
    monkeypatch.setattr(loader, "Kernel", kernel)
    monkeypatch.setattr(gpu_call, "FEW", 20)
    monkeypatch.setattr(type(registry.get("kruskal")), "missing", lambda algorithm: None)
    caches = gpu_call._solver, keys._kernels, keys._kernel, filter_boruvka._kernel_on_device
    for kept in caches:
        kept.cache_clear()
    yield counts
    for kept in caches:
        kept.cache_clear()
    vars(registry.get("filter-boruvka-cuda")).pop("_loaded", None)


def called(monkeypatch, graph):
    """Return the edge ids of a call that did not fall back."""
    found = []
    call = gpu_call.edge_ids_of
    monkeypatch.setattr(gpu_call, "edge_ids_of", lambda *given: found.append(call(*given)) or found[-1])
    forest = mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda")
    assert forest.edge_ids is found[-1].edge_ids and set(forest.seconds) == {"init", "transfer", "compute"}
    return forest.edge_ids


def refuse(call, n, u, v, w):
    """Assert that ends that are no vertices and weights that are no numbers are refused by row."""
    row, limits = len(v) // 2, np.iinfo(v.dtype)
    for bad in (n, -1, 2**32, limits.max, limits.min):
        if limits.min <= bad <= limits.max and not 0 <= bad < n:
            wrong = v.copy()
            wrong[row] = bad
            with pytest.raises(InputError, match=rf"v\[{row}\] = {bad} is not a vertex"):
                call((n, u, wrong, w))
    if w.dtype.kind == "f":
        w = w.copy()
        w[row] = np.nan
        with pytest.raises(InputError, match=rf"w\[{row}\] is NaN"):
            call((n, u, v, w))


CASES = [
    pytest.param(ids, weights, marks=[] if (ids, weights) == ("int64", "float64") else pytest.mark.slow)
    for ids in ("int32", "int64")
    for weights in ("int32", "int64", "float32", "float64")
]


@pytest.mark.parametrize("ids,weights", CASES)
def test_calls_find_the_forest_of_kruskal_or_refuse(device, monkeypatch, ids, weights):
    rng = np.random.default_rng(len(ids + weights))
    for n, m, spread in ((2, 1, 1), (60, 300, 2), (60, 300, 2**24), (300, 250, 9)):
        u, v = rng.integers(0, n, (2, m)).astype(ids)
        for w in (rng.integers(-spread, spread + 1, m), rng.integers(-spread, spread + 1, m) * 2**36 / 3):
            w = (w if weights[-2:] == "64" else np.clip(w, -(2**24), 2**24)).astype(weights)
            expected = mst.minimum_spanning_forest(Graph(n, u, v, w), algorithm="kruskal")
            for by_marks in (True, False):
                monkeypatch.setattr(gpu_call, "marked_is_shorter", lambda n, m: by_marks)  # noqa: B023
                assert np.array_equal(called(monkeypatch, (n, u, v, w)), expected.edge_ids)
        refuse(lambda graph: mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda"), n, u, v, w)


def on_device(n, *columns):
    """Return a graph on the device."""
    return n, *map(stand_in.OnDevice.of, columns)


def ids_of(graph, **options):
    """Return the edge ids of a call with arrays on the device."""
    forest = mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda", **options)
    assert isinstance(forest.edge_ids, stand_in.OnDevice) and forest.edge_ids.dtype == np.int64
    assert forest.given == graph[1:] and forest.components == graph[0] - len(forest)
    return forest.edge_ids.array


def random_graph(rng, n, m, spread, ids="int32", weights="int32"):
    return n, *rng.integers(0, n, (2, m)).astype(ids), rng.integers(-spread, spread + 1, m).astype(weights)


alone = pytest.mark.parametrize("fake", [(1, 0)], indirect=True, ids=str)


@alone
@pytest.mark.parametrize("ids", ["int8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("weights", ["int32", "int64", "float32", "float64"])
def test_device_calls_find_the_forest_of_kruskal_or_refuse(device, ids, weights):
    rng = np.random.default_rng(len(ids + weights))
    for n, m, spread in ((2, 1, 1), (60, 300, 2), (60, 300, 2**24), (120, 110, 9)):
        n, u, v, w = random_graph(rng, n, m, spread, ids, weights)
        for values in (w, w * 2**36 / 3) if weights == "float64" else (w,):
            assert np.array_equal(ids_of(on_device(n, u, v, values)), by_kruskal(Graph(n, u, v, values)))
        refuse(lambda graph: ids_of(on_device(*graph)), n, u, v, w)


@alone
def test_ids_of_two_widths_and_graphs_without_a_forest(device):
    rng = np.random.default_rng(2)
    n, u, v, w = random_graph(rng, 60, 200, 9)
    expected = by_kruskal(Graph(n, u, v, w))
    assert np.array_equal(ids_of(on_device(n, u.astype(np.int64), v, w)), expected)
    assert np.array_equal(ids_of(on_device(n, u, v.astype(np.uint64), w)), expected)
    found = ids_of(on_device(n, u, u, w))
    assert len(found) == 0 and found.nbytes == 0
    for n, m in ((0, 0), (1, 0), (50, 0), (1, 3)):
        ends, w = np.zeros(m, np.int64), np.zeros(m, np.float32)
        assert len(ids_of(on_device(n, ends, ends, w))) == 0


@alone
def test_calls_of_two_shapes_and_key_widths_take_turns(device):
    rng = np.random.default_rng(3)
    for turn in range(3):
        for n, m in ((60, 200), (70, 200), (60, 250)):
            for n, u, v, w in (random_graph(rng, n, m, 2**20, "int32", "float64") for _ in range(2)):
                exact = w if turn % 2 else w / 3
                for weights in (exact, w):
                    expected = by_kruskal(Graph(n, u, v, weights))
                    assert np.array_equal(ids_of(on_device(n, u, v, weights)), expected)
                    found = mst.minimum_spanning_forest((n, u, v, weights), algorithm="filter-boruvka-cuda")
                    assert np.array_equal(found.edge_ids, expected)


@alone
def test_options_of_device_calls_are_honoured(device, monkeypatch):
    rng = np.random.default_rng(4)
    graph = random_graph(rng, 60, 900, 9)
    seen = []
    settings = filter_boruvka.settings_for
    monkeypatch.setattr(
        filter_boruvka, "settings_for", lambda n, m, **given: seen.append(given) or settings(n, m, **given)
    )
    there = on_device(*graph)
    for options in ({}, {"factor": 0.7, "seed": 5}, {"samples": 64}, {}):
        assert np.array_equal(ids_of(there, **options), by_kruskal(Graph(*graph)))
    default = {"csr": False, "factor": 0.0, "samples": 4096, "seed": 1}
    assert seen == [default, default | {"factor": 0.7, "seed": 5}, default | {"samples": 64}]
    for options, message in (
        ({"factr": 1}, "factor"),
        ({"samples": 1}, "at least 32"),
        ({"start": "all"}, "csr, edges"),
    ):
        with pytest.raises(ConfigError, match=message):
            ids_of(there, **options)
    monkeypatch.setattr(
        device_arrays, "execute", lambda algorithm, graph, options: SimpleNamespace(result=options)
    )
    monkeypatch.setattr(filter_boruvka, "edge_ids", lambda options: stand_in.OnDevice.of(np.array([2, 1])))
    execute_module._of_module.cache_clear()
    assert ids_of(there, start="csr").tolist() == [1, 2]


@alone
@pytest.mark.parametrize("ids", ["int32", "int64"])
def test_device_calls_build_nothing_again_and_ask_little_of_the_driver(device, ids):
    graph = on_device(*random_graph(np.random.default_rng(5), 60, 300, 99, ids))
    ids_of(graph)
    device.clear()
    ids_of(graph)
    expected = {"launches": 4, "allocations": 2, "sets": 2, "copies": 1, "waits": 2}
    assert device == expected | ({"allocations": 3} if ids == "int64" else {})


@alone
def test_host_calls_build_nothing_again_and_ask_little_of_the_driver(device, monkeypatch):
    monkeypatch.setattr(staging, "ALONE", 1 << 20)
    graph = random_graph(np.random.default_rng(5), 60, 300, 99)
    mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda")
    device.clear()
    mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda")
    assert device == {"launches": 4, "allocations": 2, "sets": 2, "copies": 5, "waits": 2}


@alone
def test_threads_that_call_at_once_get_their_own_forests(device):
    rng = np.random.default_rng(6)
    graphs = [random_graph(rng, 60, 300, 2**20, "int32", kind) for kind in ("float64", "int32", "float64")]
    graphs += [random_graph(rng, 40, 300, 2**20, "int64", "float64")]
    expected = [by_kruskal(Graph(*graph)) for graph in graphs]

    def calls(thread):
        for call in range(12):
            which = (call + thread) % len(graphs)
            graph = graphs[which]
            if call % 3 == 2:
                found = mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda").edge_ids
            else:
                found = ids_of(on_device(*graph))
            assert np.array_equal(found, expected[which])

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(calls, range(3)))


@alone
def test_device_calls_without_memory_say_what_they_need(device, fake):  # noqa: F811
    graph = on_device(*random_graph(np.random.default_rng(7), 60, 300, 9))
    fake.free = 5000
    with pytest.raises(
        OutOfMemoryError, match=r"filter-boruvka-cuda of n = 60, m = 300 needs .* \(5,000 bytes\)"
    ):
        ids_of(graph)
    fake.free = 10**12
    ids_of(graph)


@alone
def test_auto_solves_device_arrays_in_the_same_way(device, monkeypatch):
    monkeypatch.setattr(advice, "measured_best", lambda graph, gpu: advice.FALLBACK_ON_DEVICE)
    graph = random_graph(np.random.default_rng(8), 60, 300, 9)
    there = on_device(*graph)
    ids_of(there)
    device.clear()
    forest = mst.minimum_spanning_forest(there)
    assert forest.algorithm == "filter-boruvka-cuda"
    assert np.array_equal(forest.edge_ids.array, by_kruskal(Graph(*graph)))
    assert device["launches"] == 4 and device["kernels made"] == 0


@alone
def test_rows_and_single_vertices_are_left_to_graph(device):
    u = np.zeros(3, np.int32)
    assert forest_of_unchecked(unchecked_graph(1, u, u, u), {}) is None
    assert forest_of_unchecked(unchecked_graph(2, u, u, u), {"start": "csr"}) is None


@alone
def test_workers_of_large_copies_are_more(device):
    copier = staging.of_device()
    copier.workers = 99
    assert [copier.width(size) for size in (1, staging.LARGE - 1, staging.LARGE)] == [12, 12, 16]
