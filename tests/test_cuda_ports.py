"""The published GPU programs on a GPU: races and ties under stress, arrays on the device, unified memory, figures."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from option_combinations import option_combinations

import mst
from mst import Graph, registry
from mst.errors import OutOfMemoryError
from mst.execute import implementation_of

pytestmark = pytest.mark.cuda

PORTS = ("edge-boruvka-cuda", "flat-boruvka-cuda", "contract-boruvka-cuda", "jucele-cuda", "gunrock-cuda")


def option_sets(name):
    """Yield every combination of options, of those of flat-boruvka-cuda that share code."""
    alone = dict(order=("sorted",), walk=("interleaved",), blocks=(0,))
    yield from option_combinations(registry.get(name), block=(64, 1024), **alone)
    if name == "flat-boruvka-cuda":
        yield from (dict(order="shuffled", walk="contiguous", blocks=blocks) for blocks in (1, 7, 3000))


def prepared(name, graph, **options):
    algorithm = registry.get(name)
    implementation = implementation_of(algorithm)
    return implementation, implementation.ready(graph, options=algorithm.resolve(options)).problem


@pytest.mark.parametrize("name", PORTS)
def test_ports_find_the_forest_under_races_and_ties(cupy, name):
    rng = np.random.default_rng(7)
    n, m = 5000, 60_000
    u, v = np.where(rng.random(m) < 0.3, 0, rng.integers(0, n, m)), rng.integers(0, n, m)
    u[: n - 1], v[: n - 1] = np.arange(n - 1), np.arange(1, n)
    for weights in (np.ones(m, np.int32), rng.integers(0, 3, m).astype(np.float32), rng.integers(0, 2, m) / 3):
        graph = Graph(n, u, v, weights)
        expected = oracles.by_python_kruskal(graph)
        for options in option_sets(name):
            implementation, problem = prepared(name, graph, **options)
            for _ in range(4):
                found = np.sort(implementation.collect(problem, implementation.solve(problem))).tolist()
                assert found == expected, options


@pytest.mark.parametrize("name", PORTS)
def test_device_graphs_are_solved_on_the_device(cupy, name):
    rng = np.random.default_rng(3)
    n, m = 2000, 20_000
    u, v = rng.integers(0, n, (2, m)).astype(np.int32)
    u[: n - 1], v[: n - 1] = np.arange(n - 1), np.arange(1, n)
    for w in (rng.integers(0, 1000, m), rng.random(m)):
        expected = oracles.by_python_kruskal(Graph(n, u, v, w))
        forest = mst.minimum_spanning_forest((n, *map(cupy.asarray, (u, v, w))), algorithm=name)
        assert isinstance(forest.edge_ids, cupy.ndarray)
        assert forest.edge_ids.get().tolist() == expected


@pytest.mark.parametrize("name", PORTS)
def test_phases_counters_and_bytes_are_plausible(cupy, name):
    rng = np.random.default_rng(5)
    n, m = 20_000, 200_000
    u, v = rng.integers(0, n, (2, m))
    u[: n - 1], v[: n - 1] = np.arange(n - 1), np.arange(1, n)
    implementation, problem = prepared(name, Graph(n, u, v, rng.integers(0, 2**24, m).astype(np.int32)))
    implementation.phases(problem)
    phases = implementation.phases(problem)
    assert all(isinstance(s, float) and s >= 0 for s in phases.values()) and 0 < sum(phases.values()) < 1
    counters = implementation.counters(problem, implementation.solve(problem))
    assert 2 <= counters["rounds"] <= 15
    assert implementation.device_bytes(problem) > 8 * n + m


def test_more_unified_memory_than_is_free_is_refused(cupy, monkeypatch):
    module = registry.get("contract-boruvka-cuda").load()
    graph = Graph(3, [0, 1], [1, 2], [1, 2])
    problem = module.prepare(
        graph, width=1, **registry.get("contract-boruvka-cuda").resolve({"memory": "unified"})
    )
    monkeypatch.setattr(module, "layout", lambda p: {"values": (np.uint8, 10**15)})
    with pytest.raises(OutOfMemoryError, match=r"needs 1e\+06 GB .* of unified memory"):
        module.transfer(problem)


def test_theoretical_occupancy_falls_with_the_rounds(cupy):
    rng = np.random.default_rng(2)
    graph = Graph(2**20, *rng.integers(0, 2**20, (2, 2**22)), rng.integers(0, 2**24, 2**22).astype(np.int32))
    implementation, problem = prepared("contract-boruvka-cuda", graph, work="edge")
    occupancy = registry.get("contract-boruvka-cuda").load().occupancy
    report = occupancy(problem, implementation.counters(problem, implementation.solve(problem)))
    assert "count_slots_by_edge" in report and "count_slots" not in report
    for kernel, shares in report.items():
        assert all(0 < share <= 1 for share in shares), kernel
    # Rows lose vertices every round; slots hardly fall, because parallel edges are kept.
    assert report["find_candidates"][-1] < report["find_candidates"][0]
    assert report["count_slots_by_edge"][-1] > report["find_candidates"][-1]
