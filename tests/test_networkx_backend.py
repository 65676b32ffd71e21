"""networkx's functions through this package: its own tests, and weights of every kind of number."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import pytest

nx = pytest.importorskip("networkx", reason="networkx is not installed")
pytest.importorskip("scipy", reason="networkx's test mode needs scipy")

from networkx.utils.backends import backends  # noqa: E402

pytestmark = pytest.mark.skipif("mst" not in backends, reason="this package is not installed beside networkx")


def test_tests_of_networkx_pass_with_this_backend(tmp_path):
    environment = {**os.environ, "NETWORKX_TEST_BACKEND": "mst", "NETWORKX_FALLBACK_TO_NX": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs"]
    done = subprocess.run(
        [*command, "networkx.algorithms.tree.tests.test_mst"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout and "xfailed" not in done.stdout


@pytest.mark.parametrize(
    "weights",
    [
        [3, 1, 2, 1, 3, 2],
        [0.5, float("-inf"), -0.0, 0.0, float("inf"), 0.5],
        [2**70, 2**70 + 1, -(2**80), 0, 2**70, 5],
        [2**53, 2**53 + 1, float(2**53), 7, 1, 0.5],
        [Fraction(1, 3), Fraction(1, 7), 1, 2, Fraction(2, 3), 1],
        [True, False, True, True, False, True],
    ],
    ids=["int", "float", "beyond-int64", "mixed", "fractions", "bools"],
)
@pytest.mark.parametrize("name", ["minimum_spanning_tree", "maximum_spanning_tree"])
def test_any_kind_of_weight_gives_networkx_kruskal_tree(weights, name):
    graph = nx.complete_graph(4)
    for edge, weight in zip(graph.edges, weights, strict=True):
        graph.edges[edge]["weight"] = weight
    ours, theirs = getattr(nx, name)(graph, backend="mst"), getattr(nx, name)(graph)
    assert list(ours.edges(data=True)) == list(theirs.edges(data=True))


def test_random_graphs_edge_by_edge():
    for seed in range(40):
        graph = nx.MultiGraph(nx.gnm_random_graph(30, 60, seed=seed))
        graph.add_edges_from([(0, 1), (0, 1), (2, 2)])
        for k, (*_, data) in enumerate(graph.edges(data=True)):
            data["weight"] = (k * 7919 + seed) % 11
        for minimum in ("minimum", "maximum"):
            function = getattr(nx, f"{minimum}_spanning_edges")
            assert list(function(graph, backend="mst")) == list(function(graph))


def test_nan_is_refused_with_its_edge_or_ignored():
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=float("nan"))
    graph.add_edge("b", "c", weight=1.0)
    with pytest.raises(ValueError, match=r"NaN found as an edge weight. Edge .*'a', 'b'"):
        list(nx.minimum_spanning_edges(graph, backend="mst"))
    assert list(nx.minimum_spanning_edges(graph, ignore_nan=True, data=False, backend="mst")) == [("b", "c")]
