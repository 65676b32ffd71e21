"""The traits of a sample of edges are near those of all edges."""

from __future__ import annotations

import numpy as np
import pytest

from mst import Graph
from mst.advice.traits import sampled_rows, traits_of, weights_along_rows
from mst.generators import generate
from mst.weights import WeightSpec


def true_skew(graph: Graph) -> float:
    degrees = np.bincount(graph.u, minlength=graph.n) + np.bincount(graph.v, minlength=graph.n)
    return float((degrees.astype(float) ** 2).mean() / degrees.mean() ** 2)


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
@pytest.mark.parametrize(
    ("generator", "parameters"),
    [
        ("uniform", dict(n=40_000, m=60_000)),
        ("grid", dict(rows=200, columns=200)),
        ("barabasi-albert", dict(n=20_000, k=4)),
        ("kronecker", dict(scale=13, edge_factor=16)),
        ("dense", dict(n=500)),
    ],
)
def test_skew_is_near_the_whole_graphs(generator, parameters, order):
    graph = generate(generator, order=order, seed=3, **parameters)
    assert traits_of(graph).skew == pytest.approx(true_skew(graph), rel=0.5)
    assert traits_of(graph) == traits_of(graph)


def test_estimated_skew_is_at_least_1_as_that_of_every_graph():
    grids = [generate("grid", rows=60, columns=60, order="shuffled", seed=seed) for seed in range(6)]
    assert min(traits_of(grid).skew for grid in grids) == 1


def test_skew_of_a_small_graph_is_exact():
    star = Graph(100, np.zeros(99, int), np.arange(1, 100), np.arange(99))
    assert traits_of(star).skew == pytest.approx(true_skew(star), abs=1e-3)


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        ("int32", "random"),
        ("int32:7:7", "equal"),
        ("int32:0:6", "few"),
        ("float64:0:1", "wide"),
        ("int64:-9:1152921504606846976", "wide"),
        ("float32:-1:1", "random"),
    ],
)
def test_kinds_of_weights_are_recognised(weights, kind, order):
    graph = generate("grid", rows=200, columns=200, order=order, seed=5, weights=WeightSpec.parse(weights))
    assert traits_of(graph).weights == kind


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
def test_weights_that_follow_places_are_local(order):
    grid = generate("grid", rows=200, columns=200, order=order, seed=5)
    for w in (grid.u // 200 + grid.u % 200, np.sin(grid.v // 200 / 31.0) + np.cos(grid.v % 200 / 47.0)):
        assert traits_of(Graph(grid.n, grid.u, grid.v, w)).weights == "local"
    cliques = generate("connected-caveman", cliques=3000, size=9, order=order)
    rng = np.random.default_rng(2)
    w = rng.integers(0, 1 << 24, 3001)[cliques.u // 9] + rng.integers(0, 50, cliques.m)
    traits = traits_of(Graph(cliques.n, cliques.u, cliques.v, w))
    assert traits.weights == "local" and traits.local > 0.9


@pytest.mark.parametrize("most", [1, 2, 30, 10**6])
def test_edges_that_share_an_end_are_compared_by_the_ranks_of_their_weights(most):
    rng = np.random.default_rng(most)
    u, v = rng.integers(0, 90, 200), rng.integers(0, 90, 200)
    graph = Graph(90, u, v, (np.minimum(u, v) + rng.integers(0, most, 200)).astype(np.float32))
    rank, first, near = np.sort(graph.w).searchsorted(graph.w), {}, []
    for e, ends in enumerate(zip(u, v)):
        for x in ends if u[e] != v[e] else ():
            if x in first:
                near.append(abs(rank[e] - rank[first[x]]) <= 200 // 32)
            first.setdefault(x, e)
    anywhere = np.mean(abs(rank - np.roll(rank, -100)) <= 200 // 32)
    local = max((np.mean(near) - anywhere) / (1 - anywhere), 0)
    assert traits_of(graph).local == pytest.approx(local, abs=6e-4)


def test_weights_that_ascend_with_the_rows_are_not_local():
    star = Graph(1001, np.zeros(1000, int), np.arange(1, 1001), np.arange(1000))
    assert traits_of(star).weights == "random" and traits_of(star).local < 0.1


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("m", [200, 5000, 99_999])
def test_weights_that_follow_rows_are_seen_by_a_few_of_them(m, dtype):
    rng = np.random.default_rng(m)
    near = (np.arange(m) // 50 * 7919 % 8_000_000 + rng.integers(0, 40, m)).astype(dtype)
    far = rng.integers(0, 1 << 24, m).astype(dtype)
    nearly_equal = np.where(np.arange(m) == m // 2, 3, 7).astype(dtype)
    assert [weights_along_rows(w) for w in (near, nearly_equal)] == ["local"] * 2
    descending = np.unique(far)[::-1]
    ordered = [np.sort(far), descending, descending.repeat(2), np.sort(nearly_equal)[::-1]]
    assert {weights_along_rows(np.ascontiguousarray(w)) for w in (far, far % 3, *ordered)} == {"random"}
    if far.itemsize == 8:
        assert weights_along_rows((far * 1e9).astype(dtype) / 3) == "wide"
    beyond_float32 = 2.0 ** (far % 600).astype(float)
    assert weights_along_rows(beyond_float32) == "wide"
    assert weights_along_rows(near[:100]) == weights_along_rows(near[:0]) == "random"
    infinite = np.where(far % 2 == 0, np.inf, -np.inf)
    assert weights_along_rows(infinite) == "random"


def test_rows_in_the_order_of_their_weights_are_seen():
    for w, in_order in (
        ([9, 4, 1], True),
        ([1, 4, 4], True),
        ([9, 4, 4], True),
        ([7, 7, 7], True),
        ([9, 4, 5], False),
    ):
        assert traits_of(Graph(4, [0, 1, 2], [1, 2, 3], w)).in_order == in_order


def test_exact_halves_in_float64_are_not_wide():
    graph = generate("uniform", n=1000, m=9000)
    assert traits_of(Graph(graph.n, graph.u, graph.v, graph.w / 2)).weights == "random"
    # Infinity fits float32, and finite values that overflow there do not.
    assert traits_of(Graph(3, [0, 1], [1, 2], [np.inf, 1.0])).weights == "few"
    many = np.where(np.arange(9000) < 4000, 1e300, np.arange(9000.0))
    assert traits_of(Graph(graph.n, graph.u, graph.v, many)).weights == "wide"


@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 0), (1, 1), (2, 5)])
def test_tiny_graphs_have_traits(n, m):
    loops = Graph(n, np.zeros(m, int), np.zeros(m, int), np.ones(m, np.int32))
    traits = traits_of(loops)
    assert traits.weights == "equal" and traits.sampled == m and traits.local == 0


def test_the_sample_is_bounded():
    assert len(sampled_rows(100, 10**9)) == 128
    rows = sampled_rows(2**31, 2**32)
    assert len(rows) == 2**16 and rows[0] >= 0 and rows[-1] < 2**32 and (np.diff(rows) >= 0).all()
