"""Every sequential algorithm against Kruskal in plain Python, on graphs that break such algorithms."""

from __future__ import annotations

import sys
from dataclasses import replace
from time import perf_counter

import adversarial
import numpy as np
import pytest
from adversarial import DTYPES
from option_combinations import option_combinations
from oracles import by_python_kruskal
from scripts import run_python

from mst import registry
from mst.advice.kinds import are_in_order
from mst.algorithms._laps import no_lap
from mst.algorithms.cuda import bucket as bucket_cuda
from mst.algorithms.sequential import bucket, filter_boruvka, numpy_boruvka
from mst.algorithms.threads import bucket_threads
from mst.errors import UnsupportedError
from mst.execute import execute
from mst.facts import Facts
from mst.graph import Graph
from mst.kernels.filter_boruvka.policy import ONE_CORE
from mst.kernels.primitives.keys import lazy_keys
from mst.order import total


def cases():
    """Yield (id, options) of every sequential exact algorithm and each combination of its options.

    Options other than the defaults are more code to compile, and so a longer test.
    """
    for name, algorithm in registry.algorithms().items():
        if algorithm.paradigm == "sequential" and algorithm.exact:
            for options in option_combinations(algorithm, numbers=(1, 5)):
                yield pytest.param(name, options, marks=[pytest.mark.slow] if options else [])


CASES = list(cases())


def solve(name, graph, **options):
    """Solve twice on one problem, which `solve` must leave as it is; return the sorted edge ids."""
    found = execute(registry.get(name), graph, options=options)
    first = np.sort(found.collect())
    again = np.sort(found.implementation.collect(found.problem, found.implementation.solve(found.problem)))
    assert np.array_equal(first, again)
    return first.tolist()


def assert_forests(name, solved, **options):
    """Assert that an algorithm finds the forests of `solved`."""
    for graph, expected in solved:
        assert solve(name, graph, **options) == expected, graph.name


def extreme_weights(dtype, m, rng, *, least=None):
    """Return few distinct values, among them zero of both signs, the extremes and infinities."""
    pool = adversarial.extremes(dtype)
    if least is not None:
        pool = pool[pool >= least]
    return rng.choice(pool, m)


def random_graph(n, m, weights, rng):
    return Graph(n, rng.integers(0, n, m), rng.integers(0, n, m), weights)


@pytest.fixture(scope="module")
def solved():
    """Small graphs and their forests."""
    return [(graph, by_python_kruskal(graph)) for graph in adversarial.small(np.random.default_rng(30))]


@pytest.mark.slow
@pytest.mark.parametrize("name,options", [case for case in CASES if case.values[1]], ids=str)
def test_small_graphs_have_the_expected_forest_with_any_options(name, options, solved):
    assert_forests(name, solved, **options)


@pytest.mark.parametrize("name,options", CASES, ids=str)
@pytest.mark.parametrize("width", (32, pytest.param(64, marks=pytest.mark.slow)))
def test_larger_graphs_have_the_forest_of_the_oracle(name, options, width, rng):
    n, m = 2_000, 30_000
    u, v = rng.integers(0, n, m), (rng.integers(0, n, m) * rng.random(m)).astype(int)
    graph = Graph(n, u, v, rng.integers(0, 5_000, m).astype(np.int32) if width == 32 else rng.random(m))
    assert solve(name, graph, **options) == by_python_kruskal(graph)


def test_small_graphs_are_joined_at_once_and_have_the_same_forest_with_a_filter(monkeypatch, rng, solved):
    graph = random_graph(1000, 8000, rng.random(8000), rng)
    levels = []
    for policy in (ONE_CORE, replace(ONE_CORE, fewest_to_filter=0)):
        monkeypatch.setattr(filter_boruvka, "ONE_CORE", policy)
        problem = filter_boruvka.prepare(graph, width=1, filter=True, input="edges")
        levels.append(filter_boruvka.solve(problem).counters["levels"])
    assert levels[0] == 1 < levels[1]
    assert_forests("filter-boruvka", solved)


def test_small_graphs_are_solved_alike_by_lists_and_by_arrays(monkeypatch, solved):
    joined, join_few = [], numpy_boruvka.join_few
    monkeypatch.setattr(numpy_boruvka, "join_few", lambda *given: joined.append(given) or join_few(*given))
    for few in (-1, numpy_boruvka.FEW):
        monkeypatch.setattr(numpy_boruvka, "FEW", few)
        assert_forests("numpy-boruvka", solved)
        assert bool(joined) == (few > 0)


def hard_weights(n, u, v, rng):
    """Yield named weights for which a threshold from a sample may be bad."""
    m = len(u)
    communities = rng.integers(0, 40, n)
    apart = communities[u] != communities[v]
    yield "equal", np.full(m, 7)
    yield "two values", rng.integers(0, 2, m)
    yield "few values", rng.integers(0, 9, m).astype(np.float32)
    yield "sorted", np.arange(m)
    yield "reversed", np.arange(m)[::-1].copy()
    yield "equal but for the last", np.append(np.full(m - 1, 7), 3)
    yield "sorted but for the last", np.append(np.arange(m - 1), -1)
    yield "reversed but for the last", np.append(np.arange(m - 1)[::-1], m)
    yield "inside communities first", rng.integers(0, 1000, m) + 1000 * apart
    yield "between communities first", rng.integers(0, 1000, m) - 1000 * apart
    yield "half of the vertices first", rng.integers(0, 1000, m) + 1000 * (u % 2 | v % 2)
    yield "by vertex", np.maximum(u, v)
    yield "heavy tail", (10.0 ** rng.uniform(0, 9, m)).astype(np.int32)
    yield "one outlier", np.append(rng.random(m - 1), 1e300)
    yield "tiny and huge", 10.0 ** rng.uniform(-300, 300, m)
    yield "wide", rng.integers(-(2**63), 2**63 - 1, m)
    yield "mostly infinite", np.where(rng.random(m) < 0.9, np.inf, rng.random(m))


def assert_hard_weights(n, u, v, rng, **options):
    """Assert that filter-boruvka finds Kruskal's forests for all of these weights of the edges."""
    for label, weights in hard_weights(n, u, v, rng):
        graph = Graph(n, u, v, weights)
        assert solve("filter-boruvka", graph, **options) == solve("kruskal", graph), label


@pytest.mark.parametrize("options", ({}, {"filter": False}, {"input": "csr"}), ids=str)
@pytest.mark.parametrize("shape", ("sparse", "middling", "dense"))
def test_filter_boruvka_is_right_on_hard_weights(shape, options, rng):
    n, m = {"sparse": (20_000, 34_000), "middling": (6_000, 60_000), "dense": (200, 120_000)}[shape]
    u, v = rng.integers(0, n, m), rng.integers(0, n, m)
    assert_hard_weights(n, u, v, rng, **options)


@pytest.mark.parametrize("dtype", (np.int32, pytest.param(np.float64, marks=pytest.mark.slow)))
def test_filter_boruvka_sorts_nothing_where_rows_are_in_order(dtype, rng):
    n, m = 3000, 9000
    u, v = rng.integers(0, n, m), rng.integers(0, n, m)
    steps = rng.integers(1, 3, m).cumsum()
    sorted_ = {"equal": 0 * steps, "ascending": steps, "with ties": steps // 3, "descending": -steps}
    # Of equal weights the first edge counts, so that rows backwards would be wrong.
    for length in (3, 100, 5000):
        sorted_[f"descending with about {length} ties"] = -(steps // length)
    others = {"down and up": np.abs(steps - steps[4096])}
    for place in (0, 1, 4095, 4096, 4097, m - 1):
        others[f"but for row {place}"] = np.where(np.arange(m) == place, steps[m // 2], steps)
        others[f"backwards but for row {place}"] = np.where(np.arange(m) == place, -steps[m // 2], -steps)
    for kind, weights in (sorted_ | others).items():
        graph = Graph(n, u, v, weights.astype(dtype))
        problem = filter_boruvka.prepare(graph, width=1, filter=True, input="edges")
        assert (set(filter_boruvka.phases(problem)) == {"join"}) == (kind in sorted_), kind
        assert solve("filter-boruvka", graph) == solve("kruskal", graph), kind


@pytest.mark.parametrize("dtype", DTYPES)
def test_filter_boruvka_takes_descending_rows_of_equal_weight_forwards(dtype, rng):
    for _ in range(200):
        n, m = int(rng.integers(1, 12)), int(rng.integers(1, 9))
        distinct = np.unique(extreme_weights(dtype, m, rng))[::-1]
        weights = distinct.repeat(rng.choice([1, 2, 3, 64, 65], len(distinct), p=[0.4, 0.3, 0.2, 0.05, 0.05]))
        # Zeros of both signs are equal.
        weights = np.where((weights == 0) & (rng.random(len(weights)) < 0.5), -weights, weights)
        graph = random_graph(n, len(weights), weights, rng)
        assert are_in_order(graph.w)
        expected = by_python_kruskal(graph)
        assert solve("filter-boruvka", graph) == expected, weights
        assert solve("filter-boruvka", graph, input="csr") == expected, weights


@pytest.mark.parametrize("dtype", (np.int32, np.int64, pytest.param(np.float32, marks=pytest.mark.slow)))
def test_filter_boruvka_sorts_what_no_filter_drops_where_batches_close_cycles(dtype, rng, monkeypatch):
    policy = replace(ONE_CORE, fewest_at_vertices=sys.maxsize, per_vertex_further=sys.maxsize)
    monkeypatch.setattr(filter_boruvka, "ONE_CORE", policy)
    n, m = 6_000, 60_000
    u, v = rng.integers(0, n, m), rng.integers(0, n, m)
    by_vertex = {"maximum": np.maximum(u, v), "minimum": -np.minimum(u, v) % n, "ties": np.maximum(u, v) // 4}
    # Keys of 64 bits that differ in their lower half, and one that does not.
    far = np.int64(2**63 - 2**20) if dtype == np.int64 else 0
    kinds = {name: (weights + far, True) for name, weights in by_vertex.items()}
    kinds["random"] = rng.integers(0, n, m), False
    if dtype == np.int64:
        kinds["wide"] = np.maximum(u, v) << 40, False
    for kind, (weights, sorts) in kinds.items():
        graph = Graph(n, u, v, weights.astype(dtype))
        problem = filter_boruvka.prepare(graph, width=1, filter=True, input="edges")
        result = filter_boruvka.solve(problem)
        assert ("sorted" in result.counters) == sorts, kind
        assert np.sort(result.edge_ids).tolist() == solve("kruskal", graph), kind


def test_filter_boruvka_sorts_where_batches_are_larger_than_wanted_and_close_cycles(rng, monkeypatch):
    policy = replace(ONE_CORE, fewest_at_vertices=sys.maxsize, per_vertex_further=sys.maxsize)
    monkeypatch.setattr(filter_boruvka, "ONE_CORE", policy)
    u, v = rng.integers(0, 1000, (2, 100_000), np.int32)
    graph = Graph(1000, u, v, np.maximum(u, v))  # a bucket holds all edges of a weight
    result = filter_boruvka.solve(filter_boruvka.prepare(graph, width=1, filter=True, input="edges"))
    assert "sorted" in result.counters
    assert np.sort(result.edge_ids).tolist() == solve("kruskal", graph)


def test_edges_appended_by_threads_in_any_order_are_joined_by_weight_and_id(rng):
    m = 2 * ONE_CORE.max_unfiltered
    graph = random_graph(300, m, rng.integers(0, 40, m), rng)
    edges = filter_boruvka.EdgeListSource(graph, lazy_keys(graph.w))
    for ids in (np.arange(m), rng.permutation(m)):
        forest = filter_boruvka.GrowingForest(graph, edges.keys, no_lap)
        assert forest.join_sorted(filter_boruvka.Candidates(ids.astype(np.uint64), edges.ends, m))
        assert np.sort(forest.result().edge_ids).tolist() == by_python_kruskal(graph)


def shapes_of_many_edges(rng):
    """Yield names, vertices and ends of graphs of 32,768 edges or more."""
    yield "uniform", 6_000, *rng.integers(0, 6_000, (2, 60_000))
    yield "dense", 700, *rng.permutation(700)[np.array(np.triu_indices(700, 1))]
    yield "bipartite", 12_000, rng.integers(0, 2_000, 70_000), rng.integers(2_000, 12_000, 70_000)
    places = rng.permutation(25_000).reshape(100, 250)
    ends = [(places[:-1], places[1:]), (places[:, :-1], places[:, 1:])]
    yield "grid", 25_000, *(np.concatenate([end.ravel() for end in side]) for side in zip(*ends, strict=True))


@pytest.mark.parametrize(
    "dtype", (np.int32, np.float64, *(pytest.param(t, marks=pytest.mark.slow) for t in DTYPES[1:3]))
)
def test_filter_boruvka_begins_with_the_lightest_edges_of_vertices_if_weights_follow_them(dtype, rng):
    for shape, n, u, v in shapes_of_many_edges(rng):
        heights = rng.permutation(n)
        parallel = rng.integers(0, len(u), len(u))
        kinds = {
            "greater": (u, v, np.maximum(heights[u], heights[v]), True),
            "lesser": (u, v, -np.minimum(heights[u], heights[v]), True),
            "reverse edges": (np.append(u, v), np.append(v, u), np.tile(rng.permutation(len(u)), 2), False),
            "parallel edges": (u[parallel], v[parallel], rng.permutation(len(u))[parallel], False),
            "random": (u, v, rng.permutation(len(u)), False),
            "few": (u, v, rng.integers(0, 9, len(u)), False),
            "equal": (u, v, np.append(np.zeros(len(u) - 1), -1), False),
        }
        for kind, (a, b, weights, follow) in kinds.items():
            graph = Graph(n, a, b, weights.astype(dtype))
            result = filter_boruvka.solve(filter_boruvka.prepare(graph, width=1, filter=True, input="edges"))
            assert ("at_vertices" in result.counters) == follow, (shape, kind)
            assert np.sort(result.edge_ids).tolist() == solve("kruskal", graph), (shape, kind)


def test_weights_of_the_lesser_end_are_filtered_in_dense_graphs_and_those_of_hubs_follow_vertices(rng):
    n, m = 3_000, 120_000
    heights = rng.permutation(n)
    dense, hubs = rng.integers(0, n, (2, m)), np.array([rng.integers(0, 40, 40_000), np.arange(40_000) % n])
    for (u, v), kind, follow in (
        (dense, np.maximum, True),
        (dense, np.minimum, False),
        (hubs, np.maximum, True),
        (hubs, np.minimum, False),
        (hubs[:, :5_000], np.maximum, True),
    ):
        keys = lazy_keys(kind(heights[u], heights[v]).astype(np.int32))
        found = filter_boruvka.lightest.follow_vertices(keys, *(end.astype(np.uint32) for end in (u, v)), n)
        assert found == follow, (kind, len(u))


def test_filter_boruvka_may_begin_with_the_lightest_edges_on_any_graph(monkeypatch, rng, solved):
    monkeypatch.setattr(
        filter_boruvka, "ONE_CORE", replace(ONE_CORE, fewest_at_vertices=0, per_vertex_at_vertices=0.0)
    )
    monkeypatch.setattr(filter_boruvka.lightest, "follow_vertices", lambda *given: True)
    assert_forests("filter-boruvka", solved)
    assert_hard_weights(6_000, *rng.integers(0, 6_000, (2, 60_000)), rng)


@pytest.mark.parametrize("form", ["edges", "csr"])
@pytest.mark.parametrize("dtype", [np.int32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_trees_join_their_lightest_edges_if_light_ones_left_most_vertices_of_a_dense_graph_apart(
    form, dtype, rng
):
    n, heights = 1_500, rng.permutation(1_500)
    complete, random = np.triu_indices(n, 1), rng.integers(0, n, (2, 60_000))
    for (u, v), kind, apart in (
        (complete, heights[complete[0]] + heights[complete[1]], True),
        (
            random,
            1000 * np.maximum(heights[random[0]], heights[random[1]]) + rng.integers(0, 1000, 60_000),
            True,
        ),
        (random, -(np.minimum(*random) // 64) * 1000 + rng.integers(0, 1000, 60_000), True),
        (random, rng.permutation(60_000), False),
        ((random[0] % 700, random[1] % 700), rng.permutation(60_000), False),  # others are isolated
    ):
        graph = Graph(n, u, v, kind.astype(dtype))
        result = filter_boruvka.solve(filter_boruvka.prepare(graph, width=1, filter=True, input=form))
        assert ("at_trees" in result.counters) == apart
        assert np.sort(result.edge_ids).tolist() == solve("kruskal", graph)


@pytest.mark.parametrize("form", ["edges", "csr"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_few_trees_of_a_dense_graph_join_their_lightest_edges_until_they_span(form, dtype, rng):
    n, m = 600, 60_000
    u, v = rng.integers(0, n, (2, m))
    cluster, greatest = rng.integers(0, 12, n), np.iinfo(dtype if dtype != np.float64 else np.int64).max
    inside, noise = cluster[u] == cluster[v], rng.permutation(m)
    for apart, share, spans in (
        (10**6 + np.abs(cluster[u] - cluster[v]) * 10**6 + noise, 0.0, True),
        (np.full(m, greatest), 0.0, False),  # such an edge is never the lightest
        (np.full(m, greatest), 1.0, False),  # but the filter for clusters takes them
    ):
        graph = Graph(n, u, v, np.where(inside, noise, apart).astype(dtype))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(filter_boruvka, "ONE_CORE", replace(ONE_CORE, most_further=share))
            result = filter_boruvka.solve(filter_boruvka.prepare(graph, width=1, filter=True, input=form))
        assert np.sort(result.edge_ids).tolist() == solve("kruskal", graph)
        assert result.counters.get("at_trees", 0) >= (11 if spans else 0)
        assert not spans or "open" not in result.counters


@pytest.mark.parametrize("form", ["edges", "csr"])
def test_clusters_of_a_dense_graph_are_joined_without_a_filter(form, rng):
    n, clusters = 600, rng.integers(0, 20, 600)
    u, v = np.triu_indices(n, 1)
    for apart, filtered in (
        (1 + rng.random(len(u)), False),
        (1 + rng.random((20, 20))[clusters[u], clusters[v]], None),
    ):
        graph = Graph(n, u, v, np.where(clusters[u] == clusters[v], rng.random(len(u)), apart))
        problem = filter_boruvka.prepare(graph, width=1, filter=True, input=form)
        result = filter_boruvka.solve(problem)
        assert np.sort(result.edge_ids).tolist() == solve("kruskal", graph)
        assert result.counters["levels"] >= 2 or "at_trees" in result.counters
        assert filtered is None or ("open" in result.counters) == filtered


@pytest.mark.parametrize("form", ["edges", pytest.param("csr", marks=pytest.mark.slow)])
def test_filter_boruvka_may_join_further_edges_of_any_graph(monkeypatch, rng, solved, form):
    policy = replace(
        ONE_CORE,
        per_vertex_further=0.0,
        max_kept_share=-1.0,
        most_further=2.0,
        few_trees=1e9,
        fewest_at_vertices=sys.maxsize,
    )
    monkeypatch.setattr(filter_boruvka, "ONE_CORE", policy)
    assert_forests("filter-boruvka", solved, input=form)
    assert_hard_weights(900, *rng.integers(0, 900, (2, 60_000)), rng, input=form)


def test_filter_boruvka_counts_and_times_its_phases(rng):
    graph = random_graph(5_000, 50_000, rng.random(50_000), rng)
    problem = filter_boruvka.prepare(graph, width=1, filter=True, input="edges")
    counted = filter_boruvka.counters(problem, filter_boruvka.solve(problem))
    assert graph.n < counted["light"] < 3 * graph.n
    assert 0 < counted["open"] < graph.m / 3
    assert counted["levels"] >= 2
    started = perf_counter()
    seconds = filter_boruvka.phases(problem)
    assert {"sample", "select light", "scatter", "join", "select heavy"} <= seconds.keys()
    assert min(seconds.values()) >= 0 and 0 < sum(seconds.values()) < perf_counter() - started


@pytest.mark.parametrize("name", ("filter-boruvka", "bucket"))
def test_graphs_beyond_32_bits_take_the_generic_path(name, rng, monkeypatch):
    monkeypatch.setattr(filter_boruvka, "NARROW", 100)
    monkeypatch.setattr(bucket, "NARROW", 100)
    weights = rng.integers(0, 2**10, 4_000) * 2.0  # one bucket each: exact
    graph = random_graph(500, 4_000, weights, rng)
    options = {"epsilon": 0.001} if name == "bucket" else {}
    assert solve(name, graph, **options) == by_python_kruskal(graph)


def int64_vertices(graph):
    """Return the same graph with the ids that graphs of 2³¹ vertices have."""
    wide = Graph(graph.n, graph.u.astype(np.int64), graph.v.astype(np.int64), graph.w, trusted=True)
    assert wide.u.dtype == np.int64
    return wide


@pytest.mark.slow
@pytest.mark.parametrize(
    "name,options", [case for case in CASES if case.values[0] != "filter-boruvka"], ids=str
)
def test_int64_vertices_are_accepted(name, options, rng):
    for weights in (rng.integers(0, 99, 2_000), rng.random(2_000)):
        graph = random_graph(300, 2_000, weights, rng)
        assert solve(name, int64_vertices(graph), **options) == by_python_kruskal(graph)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("epsilon", (0.001, 0.25, 1.0, 20.0))
def test_bucket_keeps_its_bound(epsilon, dtype, rng):
    n, m = 300, 1_500
    kinds = [
        rng.integers(0, 100, m),
        rng.integers(2**53, 2**63 - 1, m) if dtype == np.int64 else rng.random(m) * 1e6,
        2.0 ** rng.uniform(0, 30, m),
        extreme_weights(dtype, m, rng, least=0),
    ]
    if dtype == np.float64:
        kinds += [2.0 ** rng.uniform(-1074, 1000, m), np.where(rng.random(m) < 0.7, np.inf, rng.random(m))]
    for weights in kinds:
        graph = random_graph(n, m, weights.astype(dtype), rng)
        exact, close = solve("kruskal", graph), solve("bucket", graph, epsilon=epsilon)
        assert len(exact) == len(close)
        optimum, found = total(graph.w[exact]), total(graph.w[close])
        assert optimum <= found <= (1 + epsilon) * optimum
        # No more infinite edges than the optimum has: if the optimum is finite, so is the forest.
        assert np.isinf(graph.w[exact]).sum() == np.isinf(graph.w[close]).sum()


def test_bucket_is_not_exact(rng):
    graph = random_graph(300, 3_000, rng.random(3_000), rng)
    assert solve("bucket", graph, epsilon=0.25) != solve("kruskal", graph)


@pytest.mark.parametrize(
    "module,options", [(bucket, {}), (bucket_threads, {}), (bucket_cuda, dict(start="edges"))]
)
def test_buckets_refuse_negative_weights(module, options):
    graph = Graph(3, [0, 1], [1, 2], [4, -1])
    with pytest.raises(UnsupportedError, match=rf"^{module.ALGORITHM['id']} .* w\[1\] = -1 is negative"):
        module.prepare(graph, width=1, epsilon=0.25, **options)


def test_bucket_skips_graphs_with_negative_weights():
    facts = Facts(n=3, m=2, weight_min=-1)
    assert "weights ≥ 0" in registry.get("bucket").skip(facts)
    assert registry.get("bucket").skip(Facts(n=3, m=2, weight_min=0)) is None


PEAK = """
import sys
import numpy as np
from mst.graph import Graph
from mst.algorithms.sequential import filter_boruvka
n, m, source = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def run(n, m):
    rng = np.random.default_rng(5)
    u, v = rng.integers(0, n, m, np.int32), rng.integers(0, n, m, np.int32)
    graph = Graph(n, u, v, rng.integers(0, 2**24, m, np.int32), trusted=True)
    problem = filter_boruvka.prepare(graph, width=1, filter=True, input=source)
    del u, v
    open("/proc/self/clear_refs", "w").write("5")
    before = status("VmRSS")
    filter_boruvka.solve(problem)
    return status("VmHWM") - before
def status(field):
    return next(int(x.split()[1]) * 1024 for x in open("/proc/self/status") if x.startswith(field))
run(1000, 30000), run(1000, 1100)  # compile
print(run(n, m))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("source", ("edges", "csr"))
@pytest.mark.parametrize("degree", (1, 1.4, 1.8, 4))
def test_filter_boruvka_needs_little_memory(source, degree):
    n = 1_500_000
    m = int(degree * n)
    huge_pages = 6 * 2**21
    assert 8 * n < int(run_python(PEAK, n, m, source).stdout) <= 24 * n + 16 * m + huge_pages
