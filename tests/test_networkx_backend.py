"""networkx's functions through this package: its own tests, and weights of every kind of number."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import mst

nx = pytest.importorskip("networkx", reason="networkx is not installed")
pytest.importorskip("scipy", reason="networkx's test mode needs scipy")

from networkx.utils.backends import backends  # noqa: E402

pytestmark = pytest.mark.skipif("mst" not in backends, reason="this package is not installed beside networkx")


def networkxs_own_tests(folder, fallback: str) -> str:
    """Run networkx's tests of spanning trees through this backend; return what pytest prints."""
    environment = {**os.environ, "NETWORKX_TEST_BACKEND": "mst", "NETWORKX_FALLBACK_TO_NX": fallback}
    command = [sys.executable, "-m", "pytest", "-q", "-rx", "-p", "no:cacheprovider", "--pyargs"]
    done = subprocess.run(
        [*command, "networkx.algorithms.tree.tests.test_mst"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def test_tests_of_networkx_pass_with_this_backend(tmp_path):
    printed = networkxs_own_tests(tmp_path, "1")
    assert " passed" in printed and "xfailed" not in printed


@pytest.mark.slow
def test_tests_of_minimum_spanning_trees_pass_without_networkxs_own_code(tmp_path):
    """The others are of functions that count or sample spanning trees, or ask whether a graph is connected."""
    printed = networkxs_own_tests(tmp_path, "")
    missing = {line.rpartition(" - ")[2] for line in printed.splitlines() if line.startswith("XFAIL")}
    others = ("random_spanning_tree", "number_of_spanning_trees", "is_tree", "is_connected")
    assert missing == {f"{name!r} not implemented by mst" for name in others}
    passed, others = (int(re.search(rf"(\d+) {kind}", printed)[1]) for kind in ("passed", "xfailed"))
    assert passed >= (54 if passed + others > 77 else 50)  # networkx 3.6 has only 77 tests


def test_the_configuration_names_threads_or_the_gpu(monkeypatch):
    asked = []
    solve = mst.minimum_spanning_forest
    monkeypatch.setattr(mst, "minimum_spanning_forest", lambda graph, **how: asked.append(how) or solve(graph))
    with nx.config.backends.mst(threads=1):
        nx.minimum_spanning_tree(nx.cycle_graph(4), backend="mst")
    with nx.config.backends.mst(gpu=True):
        nx.minimum_spanning_tree(nx.cycle_graph(4), backend="mst")
    nx.minimum_spanning_tree(nx.cycle_graph(4), backend="mst")
    assert asked == [{"threads": 1}, {"algorithm": "filter-boruvka-cuda"}, {"threads": None}]


@pytest.mark.parametrize("minimum", [True, False])
def test_partitions_are_respected(minimum):
    graph = nx.gnm_random_graph(20, 60, seed=2)
    for k, (*_, data) in enumerate(graph.edges(data=True)):
        data["weight"] = k * 37 % 11
        data["partition"] = (nx.EdgePartition.OPEN, nx.EdgePartition.INCLUDED, nx.EdgePartition.EXCLUDED)[
            k * 7 % 5 % 3
        ]
    ours, theirs = (nx.partition_spanning_tree(graph, minimum, **how) for how in ({"backend": "mst"}, {}))
    assert list(ours.edges(data=True)) == list(theirs.edges(data=True))


@pytest.mark.parametrize(
    "weights",
    [
        [3, 1, 2, 1, 3, 2],
        [0.5, float("-inf"), -0.0, 0.0, float("inf"), 0.5],
        [2**70, 2**70 + 1, -(2**80), 0, 2**70, 5],
        [2**53, 2**53 + 1, float(2**53), 7, 1, 0.5],
        [-(2**53), -(2**53) - 1, 0.5, -(2**53), 1, -(2**53)],
        [Fraction(1, 3), Fraction(1, 7), 1, 2, Fraction(2, 3), 1],
        [True, False, True, True, False, True],
        [np.float64(0.5), 1, 0.25, np.float64(1.0), 0, 2],
        [np.int64(3), 1, np.int32(1), True, np.bool_(False), -(2**63)],
        [np.uint64(2**63), np.bool_(True), np.uint64(2**63 + 1), np.bool_(False), np.uint64(3), np.bool_(True)],
        [np.float32(0.1), 0.1, np.float32(0.1), 0.1, 0.1, np.float32(0.1)],
        [2, None, 0.5, None, 0.25, 3],
    ],
    ids=[
        "int",
        "float",
        "beyond-int64",
        "mixed",
        "mixed-negative",
        "fractions",
        "bools",
        "numpy-floats",
        "numpy-integers",
        "numpy-booleans",
        "hashes",
        "missing",
    ],
)
@pytest.mark.parametrize("name", ["minimum_spanning_tree", "maximum_spanning_tree"])
def test_any_kind_of_weight_gives_networkx_kruskal_tree(weights, name):
    graph = nx.complete_graph(4)
    for edge, weight in zip(graph.edges, weights, strict=True):
        graph.edges[edge].update({} if weight is None else {"weight": weight})
    ours, theirs = getattr(nx, name)(graph, backend="mst"), getattr(nx, name)(graph)
    assert list(ours.edges(data=True)) == list(theirs.edges(data=True))


def test_decimals_are_ordered_among_integers_of_numpy():
    graph = nx.cycle_graph(3)  # networkx cannot compare these
    for edge, weight in zip(graph.edges, [np.int64(2), Decimal("1.5"), np.uint8(1)], strict=True):
        graph.edges[edge]["weight"] = weight
    assert list(nx.minimum_spanning_tree(graph, backend="mst").edges) == [(0, 2), (1, 2)]


def test_random_graphs_edge_by_edge():
    for seed in range(40):
        graph = nx.MultiGraph(nx.gnm_random_graph(30, 60, seed=seed))
        graph.add_edges_from([(0, 1), (0, 1), (2, 2)])
        for k, (*_, data) in enumerate(graph.edges(data=True)):
            data["weight"] = (k * 7919 + seed) % 11
        for minimum in ("minimum", "maximum"):
            function = getattr(nx, f"{minimum}_spanning_edges")
            assert list(function(graph, backend="mst")) == list(function(graph))


def views():
    graph = nx.gnm_random_graph(30, 90, seed=1)
    graph.add_edge(3, 3)
    for k, (*_, data) in enumerate(graph.edges(data=True)):
        data["weight"] = k * 37 % 23
    graph.add_node("alone", colour="red")
    directed = nx.gnm_random_graph(20, 80, seed=1, directed=True)
    yield graph.subgraph([*range(20), "alone"])
    yield nx.subgraph_view(graph, filter_edge=lambda a, b: (a + b) % 3)
    yield nx.MultiGraph(graph).subgraph([*range(25), "alone"])
    yield directed.to_undirected(as_view=True)
    yield nx.freeze(graph.copy())
    yield nx.Graph()


@pytest.mark.parametrize(
    "graph", tuple(views()), ids=["nodes", "edges", "multigraph", "directed", "frozen", "empty"]
)
def test_views_of_graphs_have_the_trees_of_networkx(graph):
    ours, theirs = nx.minimum_spanning_tree(graph, backend="mst"), nx.minimum_spanning_tree(graph)
    assert list(ours.nodes(data=True)) == list(theirs.nodes(data=True))
    assert list(ours.edges(data=True)) == list(theirs.edges(data=True))
    for node in set(ours) & {"alone"}:
        ours.nodes[node]["colour"] = "blue"
        assert graph.nodes[node]["colour"] == "red"
    for *_, data in ours.edges(data=True):
        data["weight"] = "changed"
    assert all(weight != "changed" for *_, weight in graph.edges(data="weight"))


@pytest.mark.filterwarnings("error")
def test_changed_graphs_are_read_anew_without_a_warning():
    graph = nx.cycle_graph(4)
    for edge in graph.edges:
        graph.edges[edge]["weight"] = 2
        tree = nx.minimum_spanning_tree(graph, backend="mst")
        graph.edges[edge]["weight"] = 1
    assert edge not in tree.edges


def test_nan_is_refused_with_its_edge_or_ignored():
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=float("nan"))
    graph.add_edge("b", "c", weight=1.0)
    with pytest.raises(ValueError, match=r"NaN found as an edge weight. Edge .*'a', 'b'"):
        list(nx.minimum_spanning_edges(graph, backend="mst"))
    assert list(nx.minimum_spanning_edges(graph, ignore_nan=True, data=False, backend="mst")) == [("b", "c")]


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("extreme", ["minimum", "maximum"])
def test_directed_graphs_have_no_spanning_tree_with_or_without_this_backend(kind, extreme):
    graph = kind([(0, 1), (1, 2), (2, 0)])
    function = getattr(nx, f"{extreme}_spanning_tree")
    for choice in ({}, {"backend": "mst"}):
        with pytest.raises(nx.NetworkXNotImplemented, match="directed"):
            function(graph, **choice)
    graph.add_edge(2, 0, weight=-5 if extreme == "minimum" else 5)
    partitioned = nx.partition_spanning_tree(graph, minimum=extreme == "minimum", backend="mst")
    assert sorted(partitioned.edges) == sorted(
        nx.partition_spanning_tree(graph, minimum=extreme == "minimum").edges
    )


@pytest.mark.parametrize("algorithm", ["boruvka", "borůvka"])
@pytest.mark.parametrize("choice", [{}, {"backend": "mst"}], ids=["networkx", "mst"])
def test_boruvka_of_networkx_takes_no_multigraph_with_or_without_this_backend(algorithm, choice):
    with pytest.raises(nx.NetworkXNotImplemented, match="multigraph"):
        nx.minimum_spanning_tree(nx.MultiGraph([(0, 1), (1, 2)]), algorithm=algorithm, **choice)
