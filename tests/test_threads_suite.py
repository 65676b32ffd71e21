"""The bench of many cores: what it runs, how it reads a program, and its page."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from mst import registry
from mst.bench import side_by_side
from mst.bench import threads_suite as bench
from mst.errors import ConfigError
from mst.graph import Graph

pytestmark = pytest.mark.alone

PROGRAM = """
import sys, numpy as np
n, m = np.fromfile(sys.argv[1], "<i8", 2)
u, v, w = np.fromfile(sys.argv[1], "<i4", offset=16).reshape(3, m)
print("seconds: 0.25\\nseconds: 0.75\\nother: 9\\nweight:", w.sum() + n)
"""


def result(**walls):
    rows = {
        label: dict(wall=wall, spread=1.0, agreeing="edges", digest="x", weight="7", peak_bytes=28_000)
        for label, wall in walls.items()
    }
    return {"label": "a graph", "n": 1_000, "m": 1_000, "contenders": rows}


def test_a_program_reads_the_graph_and_states_its_seconds(tmp_path):
    graph = dict(n=4, u=np.array([0, 1]), v=np.array([1, 2]), w=np.array([5, 6]))
    np.savez(tmp_path / "graph.npz", **graph)
    (tmp_path / "program.py").write_text(PROGRAM)
    command = side_by_side.Command.parse(f"mine={sys.executable} {tmp_path}/program.py {{graph}} {{width}}", 2)
    program = side_by_side.Program(command, tmp_path / "graph.npz")
    assert program.get_ready() is None
    answer = program.fork()
    assert (answer["wall"], answer["weight"]) == ([0.25, 0.75], "15")
    assert command.label == "mine × 2"


def test_a_program_that_says_nothing_is_refused(tmp_path):
    np.savez(tmp_path / "graph.npz", n=1, u=[], v=[], w=[])
    program = side_by_side.Program(side_by_side.Command.parse("mine=true {graph}", 1), tmp_path / "graph.npz")
    program.get_ready()
    assert "ended with code 0" in program.fork()["reason"]


@pytest.mark.parametrize("text", ["mine", "mine=prog", "=prog {graph}"])
def test_a_command_without_a_name_or_a_graph_is_refused(text):
    with pytest.raises(ConfigError, match="give NAME=TEMPLATE"):
        side_by_side.Command.parse(text, 2)


COMPILES = """
import pathlib
import numpy as np

ALGORITHM = dict(id="probe", paradigm="threads", title="Probe")


def prepare(graph, *, width):
    return graph


def solve(graph):
    compiled = pathlib.Path(__file__ + ".compiled")
    if graph.n == 3 and not compiled.exists():
        np.ones(1 << 23)
        compiled.touch()
    return np.ones(1 << 20)


def collect(graph, result):
    return [0, 1]
"""


def test_what_is_compiled_first_is_not_memory_of_a_solve(tmp_path, monkeypatch):
    (tmp_path / "probe.py").write_text(COMPILES)
    monkeypatch.setenv(registry.EXTRA_FOLDERS, str(tmp_path))
    registry.algorithms.cache_clear()
    np.savez(tmp_path / "graph.npz", n=3, **{x: np.arange(2, dtype=np.int32) for x in "uvw"})
    server = side_by_side.Server(side_by_side.Contender("probe", width=2), tmp_path / "graph.npz", 2)
    try:
        assert server.get_ready() is None
        peaks = [server.fork()["peak_bytes"] for _ in range(2)]
    finally:
        server.close()
        registry.algorithms.cache_clear()
    assert all(1 << 23 <= peak < 1 << 25 for peak in peaks), peaks


def test_warmers_take_both_ways_of_a_first_part():
    threads = registry.get("filter-boruvka-threads").load()
    like = Graph(2, [0], [1], np.ones(1, np.int32))
    solved = (
        threads.solve(threads.prepare(graph, width=1, input="edges")) for graph in side_by_side.warmers(like)
    )
    assert [result.counters["parts"] == 1 for result in solved] == [True, False, False]


def test_rows_and_graphs_are_those_that_the_targets_are_stated_for():
    labels = [row.label for row in bench.contenders_at([1, 2, 16])]
    assert labels[:4] == ["filter-boruvka × 1", *(f"filter-boruvka-threads × {w}" for w in (1, 2, 16))]
    assert {"filter-boruvka-threads[input=csr] × 16", "reservation-kruskal × 16"} <= set(labels)
    graphs = [case.label for case in bench.cases("full")]
    assert len(graphs) == 17
    assert graphs[-2:] == ["R-MAT 22, 24 bits", "r4-2e23, 24 bits"]
    assert bench._widths(6) == [1, 2, 4, 6]


def test_the_page_shows_speedups_rivals_and_memory():
    ours = {f"filter-boruvka-threads × {width}": wall for width, wall in ((1, 8.0), (2, 4.0))}
    rivals = {"filter-boruvka × 1": 6.0, "reservation-kruskal × 2": 10.0, "pbbs × 2": 9.0, "gbbs × 2": 7.0}
    report = {
        "clock": "wall", "processes": 1, "widths": [1, 2], "commands": ["pbbs=p {graph}", "gbbs=g {graph}"],
        "machine": {"cpu": "a processor", "hardware_threads": 2, "memory_gib": 4},
        "conditions": {"kernel": "6", "load": 0}, "versions": {}, "runtime": {"layer": "omp"},
        "left_out": [], "results": [result(**ours, **rivals)],
    }  # fmt: skip
    page = bench.page(report)
    assert "| a graph | 0.75 | 2.00 | 2.50 | 1.75 |" in page
    assert "Threads: layer omp." in page
    assert "| a graph | 0.50 | 0.50 |" in page
