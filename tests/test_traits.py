"""The traits of a sample of edges are near those of all edges."""

from __future__ import annotations

import numpy as np
import pytest

from mst import Graph
from mst.advice.traits import sampled_rows, traits_of
from mst.bench.advice.cases import weigh
from mst.generators import generate


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


def test_skew_of_a_small_graph_is_exact():
    star = Graph(100, np.zeros(99, int), np.arange(1, 100), np.arange(99))
    assert traits_of(star).skew == pytest.approx(true_skew(star), abs=1e-3)


@pytest.mark.parametrize("order", ["shuffled", "sorted"])
@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        ("hashed", "random"),
        ("values:1", "equal"),
        ("values:7", "few"),
        ("wide", "wide"),
        ("wide-integers", "wide"),
        ("normal", "random"),
        ("slope:200", "local"),
        ("waves:200", "local"),
    ],
)
def test_kinds_of_weights_are_recognised(weights, kind, order):
    graph = weigh(generate("grid", rows=200, columns=200, order=order), weights, 5)
    assert traits_of(graph).weights == kind


def test_weights_of_communities_are_local():
    graph = weigh(generate("connected-caveman", cliques=3000, size=9), "noisy-blocks:9", 2)
    assert traits_of(graph).weights == "local" and traits_of(graph).local > 0.9


def test_weights_that_ascend_with_the_rows_are_not_local():
    star = Graph(1001, np.zeros(1000, int), np.arange(1, 1001), np.arange(1000))
    assert traits_of(star).weights == "random" and traits_of(star).local < 0.1


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
