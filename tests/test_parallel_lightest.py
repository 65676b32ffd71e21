"""The lightest edge at each vertex, found and linked by several threads, against Kruskal."""

from __future__ import annotations

from dataclasses import replace

import adversarial
import numpy as np
import pytest
from checked_threads import counters_by_threads
from expected import by_kruskal

from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.algorithms.threads._passes import solve_sharing_passes
from mst.graph import Graph
from mst.kernels.filter_boruvka.policy import THREADS
from mst.kernels.parallel.runtime import launched

WIDTHS = sorted({2, min(3, launched()), min(8, launched())})


@pytest.mark.parametrize("dtype", [np.int32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_workers_begin_with_the_lightest_edges_of_vertices_if_weights_follow_them(dtype, rng):
    n, m = 20_000, 120_000
    policy = replace(THREADS, fewest_at_vertices=m // 8)
    u, v = rng.integers(0, n, (2, m))
    heights = rng.permutation(n)
    for turn, (w, follow) in enumerate(
        (
            (np.maximum(heights[u], heights[v]), True),
            (-np.minimum(heights[u], heights[v]), True),
            (rng.permutation(m), False),
            (rng.integers(0, 9, m), False),
        )
    ):
        graph = Graph(n, u, v, w.astype(dtype))
        counted = counters_by_threads(graph, WIDTHS[turn % len(WIDTHS)], policy)
        assert ("at_vertices" in counted) == follow
        # A vertex without a lighter neighbour shares its edge with the one to which it leads.
        assert not follow or n // 2 < counted["at_vertices"] < n


def test_few_edges_each_are_not_worth_a_sample(rng):
    u, v = rng.integers(0, 9000, (2, 60_000))
    graph = Graph(9000, u, v, np.maximum(u, v))
    for policy, begins in ((THREADS, False), (replace(THREADS, fewest_at_vertices=30_000), True)):
        assert ("at_vertices" in counters_by_threads(graph, 2, policy)) == begins


def test_workers_may_begin_with_the_lightest_edges_on_any_graph(monkeypatch, rng):
    monkeypatch.setattr(ours.one_core_lightest, "follow_vertices", lambda *given: True)
    policy = replace(THREADS, fewest_at_vertices=0, per_vertex_at_vertices=0.0, smallest_chunk=16, leaving=-1)
    begun = 0
    for turn in range(2):
        for graph in (*adversarial.small(rng), *adversarial.medium(rng, n=120, m=400)):
            counted = counters_by_threads(graph, WIDTHS[turn % len(WIDTHS)], policy, seed=turn)
            begun += "at_vertices" in counted
    assert begun > 20


@pytest.mark.parametrize("dtype", [np.int32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_trees_join_their_lightest_edges_if_light_ones_left_most_vertices_of_a_dense_graph_apart(dtype, rng):
    n, m = 4_000, 120_000
    u, v = rng.integers(0, n, (2, m))
    heights = rng.permutation(n)
    for turn, (w, apart) in enumerate(
        (
            (heights[u] + heights[v], True),
            (1000 * np.maximum(heights[u], heights[v]) + rng.integers(0, 1000, m), True),
            (rng.permutation(m), False),
        )
    ):
        graph = Graph(n, u, v, w.astype(dtype))
        counted = counters_by_threads(graph, WIDTHS[turn % len(WIDTHS)], THREADS, seed=turn)
        assert ("at_trees" in counted) == apart
        assert not apart or counted["at_trees"] > n // 3


@pytest.mark.parametrize("dtype", [np.int32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_the_edges_that_join_clusters_of_a_dense_graph_come_before_heavier_ones(dtype, rng):
    n, clusters = 1000, rng.integers(0, 30, 1000)
    u, v = np.triu_indices(n, 1)
    inside = clusters[u] == clusters[v]
    for width in WIDTHS:
        graph = Graph(n, u, v, (np.where(inside, 0, 2**20) + rng.integers(0, 2**20, len(u))).astype(dtype))
        counted = counters_by_threads(graph, width, THREADS)
        assert 0 < counted["further"] < len(u) // 3 and counted["light"] < len(u) // 2


@pytest.mark.parametrize("dtype", [np.int32, pytest.param(np.int64, marks=pytest.mark.slow)])
def test_few_trees_of_a_dense_graph_join_their_lightest_edges_until_they_span(dtype, rng):
    n, m = 600, 60_000
    u, v = rng.integers(0, n, (2, m))
    cluster, greatest = rng.integers(0, 12, n), np.iinfo(dtype).max
    inside, noise = cluster[u] == cluster[v], rng.permutation(m)
    policy = replace(THREADS, most_further=0.0)
    for apart, joined in ((10**6 + noise, 11), (10**6 + noise // 10_000, 11), (np.full(m, greatest), 0)):
        graph = Graph(n, u, v, np.where(inside, noise, apart).astype(dtype))
        for width in WIDTHS:
            counted = counters_by_threads(graph, width, policy)
            assert counted["at_trees"] >= joined
            shared = solve_sharing_passes(graph, 2)
            assert np.array_equal(np.sort(shared.edge_ids), by_kruskal(graph))


@pytest.mark.parametrize("by_worker", [False, True])
def test_the_first_of_equal_edges_is_the_lightest_for_any_number_of_workers(by_worker, rng, monkeypatch):
    monkeypatch.setattr(ours.rules, "has_row_per_worker", lambda *given: by_worker)
    n, m = 300, 30_000
    u, v = rng.integers(0, n, (2, m))
    for values in (1, 2, 300):
        w = np.maximum(u, v) // (n // values) if values < 300 else np.maximum(u, v)
        graph = Graph(n, u, v, w.astype(np.int32))
        policy = replace(
            THREADS, fewest_at_vertices=0, smallest_chunk=64, largest_chunk=64, per_vertex_further=0.0
        )
        counts = [counters_by_threads(graph, width, policy, seed=width).get("at_trees") for width in WIDTHS]
        assert len(set(counts)) == 1
        for width in WIDTHS:
            counters_by_threads(graph, width, policy, seed=1)


def test_trees_of_any_graph_may_join_their_lightest_edges(rng):
    policy = replace(
        THREADS,
        smallest_chunk=16,
        leaving=-1,
        take_all=float("inf"),
        fewest_at_vertices=2**40,
        most_further=2,
        light=0.3,
        per_vertex_further=0.0,
        few_trees=1e9,
        least_open=0.0,
    )
    begun = further = 0
    for turn in range(2):
        for graph in (*adversarial.small(rng), *adversarial.medium(rng, n=120, m=400)):
            counted = counters_by_threads(graph, WIDTHS[turn % len(WIDTHS)], policy, seed=turn)
            begun += "at_trees" in counted
            further += counted.get("further", 0) > 0
    assert begun > 20 and further > 20


@pytest.mark.slow
def test_threads_race_for_the_lightest_edges_of_hubs(monkeypatch, rng):
    monkeypatch.setattr(ours.one_core_lightest, "follow_vertices", lambda *given: True)
    policy = replace(THREADS, fewest_at_vertices=0, largest_chunk=64, smallest_chunk=16)
    for turn in range(60):
        hubs, n, m = int(rng.integers(1, 5)), int(rng.integers(10, 2000)), 20_000
        u, v = rng.integers(0, hubs, m), rng.integers(0, n, m)
        graph = Graph(max(n, hubs), u, v, rng.integers(0, (2, 50, 10**6)[turn % 3], m).astype(np.int32))
        assert "at_vertices" in counters_by_threads(graph, WIDTHS[-1], policy, seed=turn % 3)
