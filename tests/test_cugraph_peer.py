"""The cuGraph peer against a stand-in with the interface that pylibcugraph documents, on numpy arrays."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import mst
from mst import Graph
from mst.algorithms.peers import cugraph as peer
from mst.errors import DependencyError, OutOfMemoryError, UnsupportedError
from mst.facts import Facts
from mst.registry import get


class OnDevice(np.ndarray):
    """An array with CuPy's way to the host."""

    def get(self):
        return np.asarray(self)


class SGGraph:
    """Takes the arguments of pylibcugraph.SGGraph that the peer may use."""

    def __init__(
        self, resource_handle, graph_properties, src_or_offset_array, dst_or_index_array, *, weight_array,
        store_transposed, renumber, do_expensive_check,
    ):  # fmt: skip
        assert graph_properties == {"is_symmetric": True, "is_multigraph": False}
        assert src_or_offset_array.dtype == dst_or_index_array.dtype == np.int32
        assert weight_array.dtype in (np.float32, np.float64)
        assert weight_array.min() > 0 and weight_array.max() < np.finfo(weight_array.dtype).max
        assert not renumber and not store_transposed
        self.arrays = src_or_offset_array, dst_or_index_array, weight_array


def spanning_tree(resource_handle, graph, do_expensive_check=False):
    """Both directions of each edge of the forest, in any order, its weights, and the offsets."""
    u, v, w = (np.asarray(array) for array in graph.arrays)
    forward = u < v
    half = Graph(int(max(u.max(), v.max())) + 1, u[forward], v[forward], w[forward])
    a, b, weight = mst.minimum_spanning_forest(half, algorithm="kruskal").edges()
    order = np.random.default_rng(2).permutation(2 * len(a))
    both = [np.concatenate(pair)[order].view(OnDevice) for pair in ((a, b), (b, a), (weight, weight))]
    return (*both, np.array([0, 2 * len(a)]).view(OnDevice))


@pytest.fixture
def rapids(monkeypatch):
    cupy = types.ModuleType("cupy")
    cupy.asarray = lambda array: np.asarray(array).view(OnDevice)
    cupy.cuda = types.SimpleNamespace(runtime=types.SimpleNamespace(deviceSynchronize=lambda: None))
    library = types.ModuleType("pylibcugraph")
    library.__version__ = "25.10.00"
    library.ResourceHandle = object
    library.GraphProperties = lambda **properties: properties
    library.SGGraph = SGGraph
    library.minimum_spanning_tree = spanning_tree
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "pylibcugraph", library)
    return library


def solved(graph, precision):
    problem = peer.transfer(peer.prepare(graph, width=1, precision=precision))
    return peer.collect(problem, peer.solve(problem))


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_multigraph_gives_the_edge_ids_of_kruskal(rapids, precision):
    rng = np.random.default_rng(1)
    u, v = rng.integers(0, 90, (2, 700))
    graph = Graph(100, u, v, rng.permutation(700).astype(np.int32))
    expected = mst.minimum_spanning_forest(graph, algorithm="kruskal").edge_ids
    assert np.array_equal(solved(graph, precision), expected)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_negative_and_infinite_weights_are_passed_as_positive_ranks(rapids, precision):
    weights = [-1.0, 1.0, np.inf, -0.25, 0.0, -np.inf, 1 / 3]
    graph = Graph(6, [0, 1, 2, 3, 0, 1, 2], [1, 2, 3, 4, 2, 3, 4], weights)
    problem = peer.transfer(peer.prepare(graph, width=1, precision=precision))
    simple = problem[0]
    assert np.array_equal(problem[3][:7], 1 + np.argsort(np.argsort(simple.w)))
    expected = mst.minimum_spanning_forest(graph, algorithm="kruskal").edge_ids
    assert np.array_equal(peer.collect(problem, peer.solve(problem)), expected)


def test_more_vertices_than_cugraph_counts_threads_for_are_refused():
    facts = Facts(n=2**26 + 1, m=1)
    assert "above its limit" in get("cugraph").skip(facts, options={"precision": "float64"})


def test_graph_without_edges_needs_no_library_call(rapids, monkeypatch):
    monkeypatch.delattr(rapids, "SGGraph")
    assert len(solved(Graph(3, [1], [1], [5.0]), "float64")) == 0


def test_weights_that_float32_would_round_are_refused(rapids):
    with pytest.raises(UnsupportedError, match="use precision=float64"):
        solved(Graph(2, [0], [1], [1 / 3]), "float32")


def test_library_without_minimum_spanning_tree_is_refused_with_its_version(rapids, monkeypatch):
    monkeypatch.delattr(rapids, "minimum_spanning_tree")
    with pytest.raises(DependencyError, match=r"25\.10\.00 has no minimum_spanning_tree"):
        solved(Graph(2, [0], [1], [1.0]), "float64")


@pytest.mark.parametrize("error", [MemoryError("alloc"), RuntimeError("std::bad_alloc: out_of_memory")])
def test_out_of_memory_of_the_library_becomes_out_of_memory_error(rapids, monkeypatch, error):
    def fail(*arguments, **options):
        raise error

    monkeypatch.setattr(rapids, "minimum_spanning_tree", fail)
    with pytest.raises(OutOfMemoryError, match="n = 2, m = 1 ran out of device memory"):
        solved(Graph(2, [0], [1], [1.0]), "float64")


def test_other_errors_of_the_library_pass_unchanged(rapids, monkeypatch):
    def fail(*arguments, **options):
        raise RuntimeError("invalid handle")

    monkeypatch.setattr(rapids, "minimum_spanning_tree", fail)
    with pytest.raises(RuntimeError, match="invalid handle"):
        solved(Graph(2, [0], [1], [1.0]), "float64")
