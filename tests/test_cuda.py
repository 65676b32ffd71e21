"""CUDA algorithms on a GPU: forests, races and ties under stress, and arrays that stay on the device."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracles
import pytest
from expected import by_kruskal
from test_interop import OnlyDLPack

import mst
from mst import Graph, registry
from mst.algorithms.cuda import ecl_mst, filter_boruvka
from mst.algorithms.cuda.device import staging
from mst.algorithms.cuda.device.proof import prove
from mst.errors import InputError
from mst.execute import execute
from mst.interop.device import device_graph

pytestmark = pytest.mark.cuda


def solved(name, graph, **options):
    found = execute(registry.get(name), graph, options=options)
    return np.sort(found.collect()).tolist(), found.counters()


def random_graph(rng, n, m, weights):
    return Graph(n, *rng.integers(0, n, (2, m)), weights)


@pytest.mark.parametrize("rung", range(9))
def test_every_rung_of_ecl_mst_finds_the_forest(cupy, rung):
    rng = np.random.default_rng(rung)
    for weights in (rng.integers(0, 9, 9000).astype(np.int32), rng.random(9000)):
        graph = random_graph(rng, 900, 9000, weights)
        for options in ({}, {"compression": "jumping", "factor": 4, "warp": 16}):
            assert solved("ecl-mst-cuda", graph, rung=rung, **options)[0] == oracles.by_python_kruskal(graph)


@pytest.mark.parametrize("ahead", [1, 4])
def test_ecl_mst_finds_the_forest_with_long_and_short_worklists(cupy, ahead):
    rng = np.random.default_rng(ahead)
    for m in (600_000, 1_500_000):  # not filtered, filtered; both start above `SHORT`
        graph = random_graph(rng, 350_000, m, rng.integers(0, 2**20, m).astype(np.int32))
        ids, counters = solved("ecl-mst-cuda", graph, ahead=ahead, batch=1 + ahead // 4)
        assert counters["filtered"] == (m > 700_000)
        assert ids == mst.minimum_spanning_forest(graph, algorithm="filter-boruvka").edge_ids.tolist()


@pytest.mark.parametrize("block", [32, 128, 1024])
def test_ecl_mst_finds_the_forest_under_races_and_ties(cupy, block, monkeypatch):
    monkeypatch.setattr(ecl_mst, "BLOCK", block)
    rng = np.random.default_rng(block)
    n, m = 3000, 40_000
    graph = Graph(
        n,
        np.where(rng.random(m) < 0.3, 0, rng.integers(0, n, m)),
        rng.integers(0, n, m),
        rng.integers(0, 3, m).astype(np.int32),
    )
    expected = oracles.by_python_kruskal(graph)
    for rung in (0, 4, 5, 8):
        options = registry.get("ecl-mst-cuda").resolve({"rung": rung})
        problem = ecl_mst.transfer(ecl_mst.prepare(graph, width=1, **options))
        for _ in range(20):
            assert ecl_mst.collect(problem, ecl_mst.solve(problem)).tolist() == expected, rung


@pytest.mark.parametrize("weights", ["int32", "float64"])
def test_proof_on_the_device_accepts_the_forest_and_rejects_others(cupy, weights):
    rng = np.random.default_rng(6)
    m = 300_000
    there = [cupy.asarray(rng.integers(0, 40_000, m).astype(np.int32)) for _ in range(2)]
    w = rng.integers(0, 1000, m).astype(np.int32) if weights == "int32" else rng.random(m)
    forest = mst.minimum_spanning_forest((40_000, *there, cupy.asarray(w)))
    assert prove(forest.graph, forest.edge_ids).ok
    assert not prove(forest.graph, forest.edge_ids[1:]).ok
    chosen = set(forest.edge_ids.get().tolist())
    another = forest.edge_ids.copy()
    another[5] = next(edge for edge in range(m) if edge not in chosen)
    assert not prove(forest.graph, another).ok


@pytest.mark.parametrize("block", [64, 128, 256, 512, 1024])
def test_filter_boruvka_finds_the_forest_under_races_and_ties(cupy, block, monkeypatch):
    monkeypatch.setattr(filter_boruvka, "BLOCK", block)
    rng = np.random.default_rng(block)
    n, m = 5000, 60_000
    hub = np.where(rng.random(m) < 0.3, 0, rng.integers(0, n, m))
    algorithm = registry.get("filter-boruvka-cuda")
    for weights in (np.ones(m, np.int32), rng.integers(0, 3, m).astype(np.int32), rng.integers(0, 2, m) / 3):
        graph = Graph(n, hub, rng.integers(0, n, m), weights)
        expected = oracles.by_python_kruskal(graph)
        for start in ("csr", "edges"):
            prepared = filter_boruvka.prepare(
                graph, width=1, **algorithm.resolve({"start": start, "factor": 0.7})
            )
            problem = filter_boruvka.transfer(prepared)
            problem.kernel = filter_boruvka.kernel_for(problem.shape, BLOCKS_PER_MULTIPROCESSOR=1, BLOCK=block)
            most = filter_boruvka.blocks_for(problem.kernel, problem.shape._replace(m=10 * m))
            for blocks in {1, 2, 7, most}:
                problem.blocks = blocks
                for _ in range(10):
                    found = np.sort(filter_boruvka.collect(problem, filter_boruvka.solve(problem))).tolist()
                    assert found == expected, (start, blocks)


def test_device_arrays_are_solved_without_a_copy(cupy):
    rng = np.random.default_rng(3)
    n, m = 2000, 20_000
    u, v = rng.integers(0, n, (2, m)).astype(np.int32)
    w = rng.integers(0, 1000, m).astype(np.int32)
    expected = oracles.by_python_kruskal(Graph(n, u, v, w))
    there = tuple(map(cupy.asarray, (u, v, w)))
    forest = mst.minimum_spanning_forest((n, *there))
    assert isinstance(forest.edge_ids, cupy.ndarray)
    assert forest.graph.u.data.ptr == there[0].data.ptr
    assert forest.edge_ids.get().tolist() == expected
    assert forest.weight == int(w[expected].sum())
    assert forest.components == n - len(expected)
    for name in ("ecl-mst-cuda", "filter-boruvka-cuda"):
        assert mst.minimum_spanning_forest((n, *there), algorithm=name).edge_ids.get().tolist() == expected


@pytest.mark.parametrize("ids", ["int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("weights", ["int32", "int64", "float32", "float64"])
def test_device_calls_of_several_shapes_take_turns(cupy, ids, weights):
    rng = np.random.default_rng(len(ids + weights))
    graphs = []
    for n, m in ((2, 1), (2000, 9000), (2000, 9000), (30_000, 60_000), (900, 1_500_000), (30_000, 40)):
        u, v = rng.integers(0, n, (2, m)).astype(ids)
        w = rng.integers(-(2**20), 2**20, m).astype(weights)
        graphs += [(n, u, v, w)] + [(n, u, v, w / 3)] * (weights == "float64")
    expected = [by_kruskal(Graph(*graph)) for graph in graphs]
    for _ in range(3):
        for (n, *columns), wanted in zip(graphs, expected, strict=True):
            there = tuple(map(cupy.asarray, columns))
            forest = mst.minimum_spanning_forest((n, *there), algorithm="filter-boruvka-cuda")
            assert forest.edge_ids.dtype == np.int64 and np.array_equal(forest.edge_ids.get(), wanted)
            assert all(np.array_equal(a.get(), b[wanted]) for a, b in zip(forest.edges(), columns, strict=True))


@pytest.mark.parametrize("n,m", [(2_000_000, 5_000_000), (5000, 12_000_000), (3_000_000, 1_000_000)])
def test_large_graphs_on_host_and_device_have_the_same_ids(cupy, n, m):
    rng = np.random.default_rng(m)
    columns = *rng.integers(0, n, (2, m)).astype(np.int32), rng.integers(0, 2**30, m).astype(np.int32)
    expected = mst.minimum_spanning_forest((n, *columns), algorithm="filter-boruvka").edge_ids
    there = tuple(map(cupy.asarray, columns))
    for graph in ((n, *columns), (n, *there), (n, *there)):
        found = mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda").edge_ids
        assert np.array_equal(cupy.asnumpy(found), expected)


@pytest.mark.parametrize("ids", ["int32", "int64"])
def test_device_calls_follow_the_current_stream(cupy, ids):
    rng = np.random.default_rng(8)
    n, m = 5000, 40_000
    u, v = rng.integers(0, n, (2, m)).astype(ids)
    w = rng.random(m)
    expected = by_kruskal(Graph(n, u, v, w))
    there, many = [cupy.asarray(column) for column in (u, v, w)], cupy.zeros(1 << 26)
    cupy.cuda.Device().synchronize()
    for stream in (cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(), cupy.cuda.Stream.null):
        for _ in range(5):
            columns = [cupy.zeros_like(column) for column in there]
            cupy.cuda.Device().synchronize()
            with stream:
                for _ in range(20):  # the columns are written long after the call began
                    cupy.sin(many, out=many)
                for column, values in zip(columns, there, strict=True):
                    cupy.add(values, cupy.zeros_like(values), out=column)
                forest = mst.minimum_spanning_forest((n, *columns), algorithm="filter-boruvka-cuda")
                total = forest.edges()[2].sum()
                assert np.array_equal(forest.edge_ids.get(), expected)
                assert np.isclose(float(total), w[expected].sum())


@pytest.mark.parametrize("own_streams", [False, True])
def test_threads_that_call_at_once_get_their_own_forests(cupy, own_streams):
    rng = np.random.default_rng(9)
    graphs = []
    for n, m, dtype in (
        (900, 5000, np.float64),
        (900, 5000, np.float64),
        (900, 5000, np.int32),
        (20_000, 70_000, np.int32),
    ):
        columns = *rng.integers(0, n, (2, m)).astype(np.int32), (1e6 * rng.random(m)).astype(dtype)
        graphs.append((n, *columns, tuple(map(cupy.asarray, columns)), by_kruskal(Graph(n, *columns))))
    cupy.cuda.Device().synchronize()

    def calls(thread):
        with cupy.cuda.Stream(non_blocking=True) if own_streams else cupy.cuda.Stream.null:
            for call in range(300):
                n, u, v, w, there, expected = graphs[(call // 2 + thread * (call % 3)) % len(graphs)]
                graph = (n, u, v, w) if call % 4 == 3 else (n, *there)
                found = mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda").edge_ids
                assert np.array_equal(cupy.asnumpy(found), expected), (thread, call)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(calls, range(2)))


def test_every_device_keeps_its_own_state(cupy):
    rng = np.random.default_rng(10)
    n, m = 3000, 20_000
    columns = *rng.integers(0, n, (2, m)), rng.random(m)
    expected = by_kruskal(Graph(n, *columns))
    for number in 2 * list(range(cupy.cuda.runtime.getDeviceCount())):
        with cupy.cuda.Device(number):
            there = tuple(map(cupy.asarray, columns))
            for graph in ((n, *columns), (n, *there)):
                found = mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-cuda").edge_ids
                assert np.array_equal(cupy.asnumpy(found), expected)


def test_tensors_on_a_device_have_a_forest_of_tensors(cupy):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    rng = np.random.default_rng(11)
    columns = *rng.integers(0, 500, (2, 4000)), rng.random(4000)
    for _ in range(3):
        there = [torch.tensor(column, device="cuda") for column in columns]
        forest = mst.minimum_spanning_forest((500, *there), algorithm="filter-boruvka-cuda")
        assert isinstance(forest.edge_ids, torch.Tensor) and forest.edge_ids.is_cuda
        assert forest.edge_ids.tolist() == by_kruskal(Graph(500, *columns)).tolist()


def test_dlpack_arrays_become_a_device_graph_without_a_copy(cupy):
    ends = cupy.asarray(np.array([0, 1, 2], np.int32))
    graph = device_graph(
        3, OnlyDLPack(ends), OnlyDLPack(cupy.roll(ends, 1)), OnlyDLPack(cupy.asarray([3.0, 1.0, 2.0]))
    )
    assert graph.u.data.ptr == ends.data.ptr and graph.m == 3


def test_illegal_device_arrays_are_refused_by_row(cupy):
    ends, w = cupy.asarray([0, 5]), cupy.asarray([1.0, 2.0])
    for kind in (np.int8, np.int32, np.uint32, np.int64, np.uint64):
        with pytest.raises(InputError, match=r"u\[1\] = 5 is not a vertex"):
            mst.minimum_spanning_forest((3, ends.astype(kind), ends, w))
    for bad in (2**32, -1, -(2**63)):
        with pytest.raises(InputError, match=rf"v\[1\] = {bad} is not a vertex"):
            mst.minimum_spanning_forest((9, ends, cupy.asarray([0, bad]), w))
    with pytest.raises(InputError, match=r"w\[1\] is NaN"):
        mst.minimum_spanning_forest((9, ends, ends, cupy.asarray([1.0, np.nan])))
    with pytest.raises(InputError, match="runs on the host"):
        mst.minimum_spanning_forest((9, ends, ends, w), algorithm="kruskal")
    for n, m in ((0, 0), (1, 0), (7, 0), (1, 2)):
        assert len(mst.minimum_spanning_forest((n, *(cupy.zeros(m, np.int64) for _ in range(3)))).edge_ids) == 0


def test_phases_of_filter_boruvka_are_not_negative_and_name_the_work_done(cupy):
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 20_000, 200_000, rng.integers(0, 2**24, 200_000).astype(np.int32))
    problem = filter_boruvka.transfer(
        filter_boruvka.prepare(graph, width=1, start="csr", factor=0.0, samples=4096, seed=1)
    )
    phases = filter_boruvka.phases(problem)
    assert all(seconds >= 0 for seconds in phases.values())
    assert 0 < sum(phases.values()) < 1
    assert phases["row_minima"] > 0 and phases["relabel"] + phases["finish_in_block"] > 0


@pytest.mark.parametrize("length", [1, 1000, 100_000, 3_000_001])
def test_staged_copies_are_whole(cupy, length):
    rng = np.random.default_rng(length)
    ends, weights = rng.integers(0, 2**31, length).astype(np.int32), rng.random(length)
    there = cupy.zeros(length, np.int32), cupy.zeros(length)
    staging.upload([(ends, there[0]), (weights, there[1])])
    assert bool((there[0] == cupy.asarray(ends)).all()) and bool((there[1] == cupy.asarray(weights)).all())
    assert np.array_equal(staging.download(there[0].view(np.uint32)), ends)
    words = rng.integers(0, 2**64, length, dtype=np.uint64)
    assert staging.upload([(words, there[0])]) == words.max()
    assert bool((there[0].view(np.uint32) == cupy.asarray(words.astype(np.uint32))).all())


def test_wide_ids_are_solved_like_narrow_ones_or_refused(cupy):
    rng = np.random.default_rng(3)
    n, m = 50_000, 400_000
    u, v, w = *rng.integers(0, n, (2, m)), rng.random(m)
    forest = mst.minimum_spanning_forest((n, u, v, w), algorithm="filter-boruvka-cuda", start="edges")
    expected = mst.minimum_spanning_forest((n, u, v, w), algorithm="filter-boruvka")
    assert np.array_equal(forest.edge_ids, expected.edge_ids) and forest.weight == expected.weight
    assert all(np.array_equal(a, b) for a, b in zip(forest.edges(), expected.edges(), strict=True))
    for bad in (n, -1, 2**32, -(2**63)):
        wrong = u.copy()
        wrong[m // 2] = bad
        with pytest.raises(InputError, match=rf"u\[{m // 2}\] = {bad} is not a vertex"):
            mst.minimum_spanning_forest((n, wrong, v, w), algorithm="filter-boruvka-cuda")
