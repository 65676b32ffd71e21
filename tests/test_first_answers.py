"""The first answers of a process: without numba, without compiling, until compiled code is worth its wait."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import mst
from mst import advice, registry
from mst.advice import first
from mst.generators import generate
from mst.graph import Graph

SOLVE = """
import json, sys
import numpy as np
import mst
n, m = map(int, sys.argv[1:3])
random = np.random.default_rng(1)
graph = mst.Graph(n, random.integers(0, n, m), random.integers(0, n, m), random.random(m))
forest = mst.minimum_spanning_forest(graph, threads=1)
print(json.dumps([forest.algorithm, forest.weight, "numba" in sys.modules]))
"""


def fresh(code: str, *arguments: object, cache: os.PathLike) -> subprocess.CompletedProcess[str]:
    """Run code in a new process whose cache is a folder."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "MST_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.fixture
def new_process(monkeypatch, tmp_path):
    """This process has solved nothing, has not loaded numba, and its cache is empty."""
    monkeypatch.setattr(first, "_solved", {})
    monkeypatch.setattr(first, "_settled", set())
    monkeypatch.setattr(first, "_passed_up", 0.0)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setenv("MST_CACHE", str(tmp_path))


def sized(n: int, m: int) -> Graph:
    """Return a graph of a size, whose edges are all loops and take no memory."""
    ends = np.broadcast_to(np.int32(0), m)
    return Graph(n, ends, ends, ends, trusted=True)


def test_importing_loads_not_even_numpy():
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys, mst; print('numpy' in sys.modules, mst.Graph.__module__, dir(mst))",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert loaded.startswith("False mst.graph [") and "minimum_spanning_forest" in loaded
    with pytest.raises(AttributeError, match="no attribute 'graphs'"):
        mst.graphs  # noqa: B018


def test_the_first_forests_of_a_process_need_no_compiled_code(tmp_path):
    for n, m in ((100, 300), (200_000, 1_000_000)):
        algorithm, weight, numba = json.loads(fresh(SOLVE, n, m, cache=tmp_path).stdout)
        random = np.random.default_rng(1)
        graph = Graph(n, random.integers(0, n, m), random.integers(0, n, m), random.random(m))
        assert (algorithm, numba) == ("numpy-boruvka", False)
        assert weight == mst.minimum_spanning_forest(graph, algorithm="kruskal").weight


def test_large_graphs_have_code_compiled(new_process):
    assert first.choose(sized(1_000_000, 4_000_000), 1) == first.IN_NUMPY
    large = first.choose(sized(10**7, 10**9), 1)
    assert large is None or large.algorithm == "kruskal"
    # Compiling for threads takes longest, and pays for the largest graphs alone.
    assert first.choose(sized(10**6, 2 * 10**7), 16).width == 1
    assert first.choose(sized(10**8, 2 * 10**9), 16) is None


def test_a_process_of_many_graphs_comes_to_compiled_code(new_process):
    graph = sized(200_000, 1_000_000)
    taken = []
    while (choice := first.choose(graph, 1)) == first.IN_NUMPY:
        taken.append(choice)
        assert len(taken) < 100
    assert len(taken) > 2
    assert choice is None or choice.algorithm == "kruskal"


def test_code_that_this_machine_has_compiled_is_loaded_sooner(new_process, monkeypatch):
    graph = sized(1_000_000, 6_000_000)
    usual = advice.choose(graph.n, graph.m)
    before = first.choose(graph, 1)
    first.solved(graph, registry.get(usual.algorithm), usual.options, 1)
    # The next process.
    monkeypatch.setattr(first, "_solved", {})
    monkeypatch.setattr(first, "_passed_up", 0.0)
    assert before == first.IN_NUMPY and first.choose(graph, 1) is None
    # Code for weights of another dtype is other code, and so is a changed file's.
    monkeypatch.setattr(first, "_settled", set())
    wide = Graph(graph.n, graph.u, graph.v, np.broadcast_to(0.5, graph.m), trusted=True)
    assert first.choose(wide, 1) == first.IN_NUMPY
    monkeypatch.setattr(first, "_stamp", lambda: "another")
    monkeypatch.setattr(first, "_passed_up", 0.0)
    assert first.choose(graph, 1) == first.IN_NUMPY


def test_options_and_named_algorithms_are_taken_at_their_word(new_process):
    graph = generate("uniform", n=50, m=200)
    assert mst.minimum_spanning_forest(graph, algorithm="kruskal").algorithm == "kruskal"
    assert mst.minimum_spanning_forest(graph, threads=1).algorithm in ("numpy-boruvka", "kruskal")


def test_totals_without_numba_are_those_with_it():
    code = (
        "import sys, numpy as np; from mst.order import total\n"
        "big = np.finfo(float).max\n"
        "for w in ([0.1] * 10, [big, big, -big, -big], [np.inf, 1.0], [np.inf, -np.inf], [1e16, 1.0, -1e16], []):\n"
        "    print(total(np.array(w, float)))\n"
    )
    without, with_numba = (
        subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, check=True).stdout
        for head in ("", "import numba\n")
    )
    assert without == with_numba and without.split()[:2] == ["1.0", "1.0"]
