"""Bottlenecks and clusters on a GPU: its kernels emulated on the host, and on a device, beside those of one core."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import test_tree

from mst import Forest, Graph
from mst.kernels.cuda import climbing

sys.path.insert(0, str(Path(__file__).parent / "cuda"))
import emulated


@pytest.fixture
def gpu(monkeypatch):
    """A GPU counts as found, and as worth its copies."""
    monkeypatch.setattr("mst.tree.usable_gpu", lambda: True)
    monkeypatch.setattr(climbing, "PAIRS", 1)
    monkeypatch.setattr(climbing, "VERTICES", 1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if shutil.which("g++") is None:
        pytest.skip("the emulator needs g++")
    return tmp_path_factory.mktemp("emulator")


@pytest.fixture
def emulator(gpu, monkeypatch, folder):
    """It is emulated."""
    monkeypatch.setattr(climbing, "Device", lambda: emulated.ClimbingDevice(folder))


def check_answers(graph: Graph, rng) -> None:
    """Compare the answers for a graph with those of one core."""
    forest = test_tree.solve(graph)
    x, y = rng.integers(0, graph.n, (2, 300))
    for call in (forest.bottleneck, forest.bottleneck_edges):
        found, expected = call(x, y), call(x, y, threads=1)
        assert found.dtype == expected.dtype and np.array_equal(found, expected), graph.name
    for k in {forest.components, (graph.n + forest.components) // 2, graph.n}:
        found, expected = forest.labels(k=k), forest.labels(k=k, threads=1)
        assert found.dtype == expected.dtype and np.array_equal(found, expected), graph.name
    assert forest._merges(None)._climber is not None
    assert np.array_equal(forest.bottleneck(y, x), forest.bottleneck(x, y))


def test_emulated_device_answers_as_one_core_does(emulator, rng):
    for graph in [*test_tree.graphs(rng), *test_tree.shapes(rng, 200)[::5]]:
        check_answers(graph, rng)


@pytest.mark.parametrize("error", [MemoryError("full"), RuntimeError("no driver"), ImportError("no cupy")])
def test_cores_answer_where_the_device_fails(gpu, monkeypatch, rng, error):
    asked = []

    def fails():
        asked.append(error)
        raise error

    monkeypatch.setattr(climbing, "Device", fails)
    forest = test_tree.solve(test_tree.random_graph(rng, 50, 90))
    assert forest.bottleneck([0, 1], [2, 1]).tolist() == forest.bottleneck([0, 1], [2, 1], threads=1).tolist()
    assert forest.labels(threshold=0).tolist() == forest.labels(threshold=0, threads=1).tolist()
    assert len(asked) == 2


def test_named_threads_and_few_pairs_stay_on_the_cores(monkeypatch):
    monkeypatch.setattr("mst.tree.usable_gpu", lambda: True)
    monkeypatch.setattr(climbing, "Device", lambda: pytest.fail("a device was asked"))
    forest = Forest(Graph(2, [0], [1], [1.5]), [0])
    x = np.zeros(climbing.PAIRS, int)
    assert forest.bottleneck(x, x + 1, threads=1).max() == 1.5 and forest.bottleneck(0, 1) == 1.5
    assert forest.labels(k=1).tolist() == [0, 0]


@pytest.mark.cuda
def test_a_device_answers_as_one_core_does(gpu, rng):
    cupy = pytest.importorskip("cupy", reason="needs CuPy")
    try:
        cupy.cuda.runtime.getDevice()
    except Exception as error:
        pytest.skip(f"no CUDA device answers: {error}")
    for graph in (*test_tree.graphs(rng), *test_tree.shapes(rng, 5000)):
        check_answers(graph, rng)
