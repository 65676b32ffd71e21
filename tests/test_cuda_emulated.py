"""CUDA kernels emulated on the host: every path of their logic, in random interleavings, without a GPU."""

from __future__ import annotations

import re
import sys

import emulated
import numpy as np
import pytest
from emulated import SPECIAL
from expected import by_kruskal

import mst
from mst import Graph, order, proof, registry
from mst.algorithms.cuda import bucket, ecl_mst, filter_boruvka
from mst.algorithms.cuda.device.launch import argument_of
from mst.algorithms.cuda.device.proof import prove_on
from mst.algorithms.sequential.bucket import mantissa_bits
from mst.interop import gpu_call
from mst.kernels.cuda.filter_boruvka import Shape


def random_graph(rng, n, m, dtype, spread, hub):
    u, v = rng.integers(0, n, m), rng.integers(0, n, m)
    if hub:
        u = np.where(rng.random(m) < 0.6, 0, u)
    w = rng.integers(-spread, spread + 1, m)
    if dtype == "float64":
        w = w + rng.integers(0, 3, m) / 3
    return Graph(n, u, v, w.astype(dtype))


@pytest.mark.parametrize("start", ["csr", "edges"])
@pytest.mark.parametrize("name", SPECIAL)
def test_filter_boruvka_finds_the_forest_of_special_graphs(emulator_folder, name, start):
    graph = SPECIAL[name]
    ids, _ = emulated.filter_forest(emulator_folder, graph, emulated.Run(csr=start == "csr"), samples=64)
    assert np.array_equal(ids, by_kruskal(graph))


@pytest.mark.slow
@pytest.mark.parametrize("case", range(36))
def test_filter_boruvka_finds_the_forest_of_kruskal(emulator_folder, case):
    rng = np.random.default_rng(case)
    n = int(rng.integers(2, 250))
    m = 20 * n if case % 3 == 0 else int(rng.integers(0, 5 * n))
    dtype = ("int32", "float64", "int64")[case % 3]
    graph = random_graph(rng, n, m, dtype, int(rng.choice([1, 10, 2**24])), hub=case % 4 == 0)
    run = emulated.Run(
        csr=case % 5 != 4,
        block_components=16 if case % 2 else 1024,
        items=4 if case % 5 == 4 else 2,
        blocks=1 + case % 3,
        seed=case + 1,
        lanes_per_row=(0, 1, 4, 32)[case % 4],
        short_prefix=case // 3 % 2 == 1,
    )
    options = dict(samples=(64, 256)[case % 2], factor=(0.0, 0.5, 2.0)[case // 2 % 3])
    ids, counters = emulated.filter_forest(emulator_folder, graph, run, **options)
    assert np.array_equal(ids, by_kruskal(graph)), counters


def test_heavy_phase_skips_edges_inside_the_giant_component(emulator_folder):
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 300, 6000, "int32", 2**24, hub=False)
    ids, counters = emulated.filter_forest(emulator_folder, graph, emulated.Run(), samples=256, factor=0.7)
    assert np.array_equal(ids, by_kruskal(graph))
    assert counters["light_worklist"] < 600
    assert 0 < counters["outside"] < 150
    assert 0 < counters["heavy_worklist"] < 5000


def line_of(n, vertices):
    """A path along vertices in an order, with descending weights: every hook leads to the next one."""
    return Graph(n, vertices[:-1], vertices[1:], np.arange(n - 1)[::-1].copy())


@pytest.mark.parametrize("start", ["csr", "edges"])
def test_long_chains_of_hooks_are_compressed_in_few_passes(emulator_folder, start):
    rng = np.random.default_rng(7)
    n = 1500
    for vertices in (np.arange(n), np.arange(n)[::-1].copy(), rng.permutation(n)):
        graph = line_of(n, vertices)
        ids, counters = emulated.filter_forest(
            emulator_folder, graph, emulated.Run(csr=start == "csr"), samples=64
        )
        assert np.array_equal(ids, np.arange(n - 1)) and counters["rounds"] <= 2


@pytest.mark.parametrize("start", ["csr", "edges"])
def test_more_phases_follow_where_the_lightest_edges_leave_no_giant(emulator_folder, start):
    rng = np.random.default_rng(8)
    points = rng.random((90, 2))
    u, v = np.triu_indices(90, 1)
    far = np.hypot(*(points[u] - points[v]).T)
    run = emulated.Run(csr=start == "csr")
    graph = Graph(90, u, v, far)
    ids, counters = emulated.filter_forest(emulator_folder, graph, run, samples=1024, factor=0.4)
    assert np.array_equal(ids, by_kruskal(graph))
    assert counters["outside"] > 45
    assert counters["phases"] > 2 or counters["heavy_worklist"] < graph.m / 4


def test_keys_made_on_the_device_are_those_of_the_order(emulator_folder):
    rng = np.random.default_rng(9)
    weights = [
        *(np.asarray(special, dtype) for dtype in (np.int32, np.int64) for special in ([0], [-7, 7, -(2**31)])),
        np.array([2**40, 2**40 + 2**32 - 1]),
        np.array([2**40, 2**40 + 2**32]),
        np.array([-(2**63), 2**63 - 1, 0]),
        np.array([0.5, -0.0, 0.0, np.inf, -np.inf, -3.25]),
        np.array([0.1, -0.0, 0.0, np.inf, -np.inf, 1e300, 5e-324]),
        rng.standard_normal(3000),
        rng.standard_normal(3000).astype(np.float32),
        np.array([-0.0, 0.0, np.inf, -np.inf], np.float32),
        rng.integers(-(2**31), 2**31, 5000).astype(np.int32),
    ]
    for w in weights:
        n = 50
        graph = Graph(n, *rng.integers(0, n, (2, len(w))), w)
        survey, found = emulated.surveyed_keys(emulator_folder, graph, wide=len(w) % 2 == 0)
        expected = order.keys(graph.w)
        if expected.itemsize == 4:
            expected = expected - expected.min()
        assert found.dtype == expected.dtype and np.array_equal(found, expected), w.dtype
        assert survey.largest_key == int(expected.max()) and not survey.has_nan
        assert survey.largest_end == max(graph.u.max(), graph.v.max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_survey_finds_nan_and_ends_out_of_range(emulator_folder, dtype):
    w = np.arange(700, dtype=dtype)
    ends = np.zeros(700, np.int32)
    ends[699] = -2
    for place in (0, 350, 699):
        for bits in (np.nan, -np.nan):
            w_nan = w.copy()
            w_nan[place] = bits
            survey, _ = emulated.surveyed_keys(emulator_folder, Graph(1, ends, ends, w_nan, trusted=True))
            assert survey.has_nan and survey.largest_end == 2**32 - 2
    assert not emulated.surveyed_keys(emulator_folder, Graph(1, ends, ends, w, trusted=True))[0].has_nan
    ends = ends.astype(np.int64)
    for bad, largest in ((-2, 2**64 - 2), (2**32, 2**32)):
        ends[350:] = bad
        survey, _ = emulated.surveyed_keys(emulator_folder, Graph(1, ends, ends, w, trusted=True), wide=True)
        assert survey.largest_end == largest and not survey.has_nan


@pytest.mark.parametrize("blocks", [1, 2, 5])
@pytest.mark.parametrize(
    "m,share", [(1, 1), (31, 0), (32, 1), (33, 0.5), (5000, 0.3), (40_000, 0.01), (9000, 1)]
)
def test_ids_are_listed_in_ascending_order(emulator_folder, m, share, blocks):
    rng = np.random.default_rng(m)
    expected = np.flatnonzero(rng.random(m) < share)
    words, guard = -(-m // 32), np.uint64(7)
    arrays = {
        "forest": rng.permutation(expected).astype(np.uint32),
        "count": np.array([len(expected)], np.uint32),
        "marked": np.zeros(words, np.uint32),
        "ids": np.full(len(expected) + 1, guard),
        "sums": np.full(blocks, emulated.FILL, np.uint32),
        "control": np.zeros(1, np.uint32),
    }
    argument = argument_of(gpu_call.MARKED, {name: array.ctypes.data for name, array in arrays.items()})
    argument["words"] = words
    emulated.mark_kernels(emulator_folder)("list_edges", blocks, argument, m)
    assert np.array_equal(arrays["ids"][:-1], expected) and arrays["ids"][-1] == guard


# Every variant of the source: rungs, single removals, both at once, explicit compressions, slots that a lane reads.
ECL_MST = [dict(rung=rung) for rung in range(9)]
ECL_MST += [dict(rung=rung, compression="jumping") for rung in range(4, 9)]
ECL_MST += [dict(without=without, batch=batch) for without in ecl_mst.OPTIMISATIONS for batch in (1, 2)]
ECL_MST += [dict(without="compression", compression="jumping"), dict(rung=2, without="tuples", batch=3, warp=1)]


@pytest.mark.parametrize(
    "options", [pytest.param(o, marks=[pytest.mark.slow] * (i % 5 > 0)) for i, o in enumerate(ECL_MST)], ids=str
)
def test_every_option_of_ecl_mst_finds_the_forest(emulator_folder, options):
    algorithm = registry.get("ecl-mst-cuda")
    rng = np.random.default_rng(len(str(options)))
    dtype = ("int32", "float64")[len(str(options)) % 2]
    drawn = [random_graph(rng, 60, 400, dtype, spread, hub=spread == 2) for spread in (2, 2**20)]
    key_bytes = 8 if dtype == "float64" else 4
    special = [graph for graph in SPECIAL.values() if order.keys(graph.w).itemsize == key_bytes]
    for i, graph in enumerate(drawn + special):
        ahead, factor = ((1, 3), (4, 2), (3, 4))[i % 3]
        problem = ecl_mst.prepare(
            graph, width=1, **algorithm.resolve(dict(options, ahead=ahead, factor=factor))
        )
        problem.device = emulated.EclDevice(emulator_folder, problem, seed=7)
        for solve in (ecl_mst.solve, ecl_mst.solve_as_published):
            assert np.array_equal(ecl_mst.collect(problem, solve(problem)), by_kruskal(graph))
    unfiltered = options.get("rung", 0) >= 3 or options.get("without") == "filter"
    assert ecl_mst.prepare(drawn[0], width=1, **algorithm.resolve(options)).filtered == (not unfiltered)


def test_ecl_mst_counts_and_times_launches_as_its_paper_does(emulator_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", emulated.FakeCupy())
    rng = np.random.default_rng(2)
    for m, dtype in ((400, "int32"), (100, "int32"), (400, "float64")):
        graph = random_graph(rng, 60, m, dtype, 2**20, hub=False)
        problem = ecl_mst.prepare(graph, width=1, **registry.get("ecl-mst-cuda").resolve({}))
        problem.device = emulated.EclDevice(emulator_folder, problem, seed=1)
        counted = ecl_mst.counters(problem, ecl_mst.solve(problem))
        assert counted["filtered"] == int(m == 400) == counted["populate"] - 1
        # The launch that finds nothing left, in each phase that has anything at all.
        assert 0 < counted["minimise"] - counted["unite"] <= 1 + counted["filtered"]
        assert counted["unite"] <= 6 * (1 + counted["filtered"])
        assert ("kept" in counted) == problem.filtered and counted.get("kept", 1) in range(1, problem.slots)
        phases = ecl_mst.phases(problem)
        assert set(phases) == {"initialise", "populate", "minimise", "unite", "forget"}
        assert phases["populate"] == counted["populate"] and phases["unite"] == counted["unite"]
        ids = counted["unite"] if problem.key_bits == 64 else 0
        assert phases["minimise"] == counted["minimise"] + ids


@pytest.mark.parametrize("epsilon", [0.01, 0.25, 1.0])
def test_forest_of_buckets_is_within_its_bound(emulator_folder, epsilon):
    rng = np.random.default_rng(int(100 * epsilon))
    n, m = 150, 1500
    u, v = rng.integers(0, n, (2, m))
    for w in (rng.random(m) ** 8, rng.integers(0, 2**62, m), np.where(rng.random(m) < 0.1, -0.0, np.inf)):
        graph = Graph(n, u, v, w)
        rounded = Graph(n, u, v, bucket.buckets(graph.w, mantissa_bits(epsilon)).astype(np.int64))
        ids, _ = emulated.filter_forest(emulator_folder, rounded, emulated.Run(), samples=64)
        best = mst.minimum_spanning_forest(graph, algorithm="kruskal")
        assert len(ids) == len(best)
        found = mst.Forest(graph, ids).weight
        assert found == best.weight or found <= (1 + epsilon) * best.weight


def proof_of(emulator_folder, graph, ids):
    keys = order.keys(graph.w)
    return prove_on(emulated.ProofDevice(emulator_folder, keys.itemsize * 8), graph, keys, np.asarray(ids))


@pytest.mark.parametrize("case", range(6))
def test_proof_on_the_device_agrees_with_the_one_on_the_host(emulator_folder, case):
    rng = np.random.default_rng(case)
    graph = random_graph(rng, 120, (60, 400)[case % 2], ("int32", "float64")[case // 3], 5, hub=case == 2)
    ids = by_kruskal(graph)
    assert proof_of(emulator_folder, graph, rng.permutation(ids)).ok
    rejected = 0
    for _ in range(30):
        other = ids.copy()
        other[rng.integers(len(ids))] = rng.integers(graph.m)
        ours, theirs = proof_of(emulator_folder, graph, other), proof.prove(graph, other)
        assert ours.ok == theirs.ok, (ours.reason, theirs.reason)
        rejected += not ours.ok
    assert rejected > 20


def test_proof_says_why_a_forest_is_rejected(emulator_folder):
    graph = Graph(5, [0, 1, 2, 0, 3, 3], [1, 2, 0, 0, 4, 4], [5, 7, 6, 0, 2, 2])
    assert proof_of(emulator_folder, graph, [0, 2, 4]).ok
    for ids, reason in (
        ([0, 2, 9], "one is 0 or 9"),
        ([0, 0, 4], "comes twice"),
        ([0, 1, 2, 4], "close 1 cycle$"),
        ([0, 2, 3, 4, 5], "close 2 cycles"),
        ([0, 4], "2 edges join two trees, the first is edge 1"),
        ([0, 1, 4], "1 edges come before .* the first is edge 2"),
        ([0, 2, 5], "the first is edge 4"),
    ):
        found = proof_of(emulator_folder, graph, ids)
        assert not found.ok and re.search(reason, found.reason), (ids, found.reason)


@pytest.mark.parametrize("name", SPECIAL)
def test_forests_of_special_graphs_are_proved(emulator_folder, name):
    assert proof_of(emulator_folder, SPECIAL[name], by_kruskal(SPECIAL[name])).ok


def test_seed_moves_the_threshold_where_edges_are_filtered_and_never_the_forest(emulator_folder):
    rng = np.random.default_rng(4)
    for m, distinct in ((900, range(4, 8)), (90, range(1, 2))):
        graph = random_graph(rng, 60, m, "int32", 2**20, hub=False)
        counted = []
        for seed in range(1, 8):
            problem = ecl_mst.prepare(graph, width=1, **registry.get("ecl-mst-cuda").resolve({"seed": seed}))
            problem.device = emulated.EclDevice(emulator_folder, problem, seed=1)
            result = ecl_mst.solve(problem)
            assert np.array_equal(ecl_mst.collect(problem, result), by_kruskal(graph))
            counted.append(ecl_mst.counters(problem, result))
        assert len({counters["threshold"] for counters in counted}) in distinct
        assert all(counters["filtered"] == ("kept" in counters) == (m > 200) for counters in counted)
        assert all(0 < counters.get("kept", 1) < 5 * 3 * graph.n for counters in counted)


def test_settings_follow_the_degree_and_the_start():
    settings = filter_boruvka.settings_for
    assert settings(1000, 8000).expected_light == 950
    assert settings(1000, 8000, csr=False).expected_light == 1100
    assert settings(1000, 50_000, csr=False).expected_light == 1600
    sparse = settings(1000, 1200)
    assert sparse.samples == 0 and sparse.expected_light == 1200  # no filter: every edge is light
    assert [settings(1000, m).lanes_per_row for m in (4000, 5000, 8000, 40_000)] == [1, 2, 4, 32]
    for shape, items in (
        (Shape(5000, 11_200_413, 0, csr=False, key_bits=32), 4),
        (Shape(5000, 11_200_413, 22_400_826, csr=True, key_bits=32), 2),
        (Shape(8_388_608, 33_554_406, 0, csr=False, key_bits=32), 2),
    ):
        assert filter_boruvka.items_per_thread(shape) == items
