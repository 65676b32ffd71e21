"""Advice is the table, nothing else; auto takes it."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

import mst
from mst import advice, cli, solver
from mst.bench.advise import Case, cells, judge, widths
from mst.generators import generate

CELLS = [
    {
        "cores": 1,
        "m": 1000,
        "density": 4.0,
        "times": {"kruskal@1": 1.0, "filter-boruvka@1": 2.0},
        "machine": "box",
    },
    {
        "cores": 1,
        "m": 10**6,
        "density": 4.0,
        "times": {"kruskal@1": 3.0, "filter-boruvka@1": 1.0},
        "machine": "box",
    },
    {
        "cores": 4,
        "m": 10**6,
        "density": 4.0,
        "times": {"kruskal@1": 9.0, "filter-boruvka@1": 3.0, "filter-boruvka-threads@4": 1.0},
        "machine": "box",
    },
    {
        "cores": 4,
        "m": 1000,
        "density": 4.0,
        "times": {"kruskal@1": 1.0, "filter-boruvka-threads@2": 4.0},
        "machine": "box",
    },
]


@pytest.mark.parametrize(
    ("n", "m", "width", "algorithm", "taken"),
    [
        (250, 1000, 1, "kruskal", 1),
        (250_000, 1_000_000, 1, "filter-boruvka", 1),
        (250_000, 1_000_000, 3, "filter-boruvka", 1),
        (250_000, 1_000_000, 4, "filter-boruvka-threads", 4),
        (250_000, 1_000_000, 64, "filter-boruvka-threads", 64),
        (250, 900, 64, "kruskal", 1),
        (0, 0, 1, "kruskal", 1),
    ],
)
def test_the_nearest_cell_of_the_widest_measured_decides(n, m, width, algorithm, taken):
    choice = advice.choose_from(CELLS, n, m, width=width)
    assert (choice.algorithm, choice.width) == (algorithm, taken)


def test_margin_is_over_the_next_best_algorithm():
    assert advice.choose_from(CELLS, 250_000, 10**6, width=4).margin == 3.0
    assert advice.choose_from([], 5, 5, width=1) == advice.FALLBACK


def test_auto_takes_the_tables_choice(monkeypatch):
    graph = generate("uniform", n=300, m=1200, seed=3)
    small = [{**CELLS[0], "times": {"prim-dense@1": 1.0, "kruskal@1": 2.0}}]
    monkeypatch.setattr(advice, "table", lambda: small)
    assert mst.minimum_spanning_forest(graph).algorithm == "prim-dense"
    monkeypatch.setattr(advice, "table", lambda: CELLS)
    forest = mst.minimum_spanning_forest(graph, threads=1)
    assert forest.algorithm == "kruskal"
    huge = mst.Graph(60_000, [0], [1], np.array([1], np.int32))
    monkeypatch.setattr(advice, "table", lambda: small)
    assert solver.choose(huge, 1) == ("filter-boruvka", 1), "a choice that refuses the graph is not taken"


def test_committed_table_names_what_there_is():
    for cell in advice.table():
        for name in cell["times"]:
            algorithm, _, width = name.partition("@")
            assert algorithm in mst.registry.algorithms() and 1 <= int(width) <= cell["cores"]
        assert min(cell["times"].values()) >= 1.0 and cell["machine"]


def test_a_fork_of_a_process_with_threads_uses_one_core():
    graph = generate("uniform", n=2000, m=9000, seed=5)
    expected = mst.minimum_spanning_forest(graph, algorithm="filter-boruvka-threads", threads=1).digest
    assert solver.usable_width() >= 1
    pid = os.fork()
    if pid == 0:
        right = solver.usable_width() == 1 and mst.minimum_spanning_forest(graph).digest == expected
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_cells_keep_what_every_family_has_and_judging_sees_regret():
    cases = [Case(1000, 4.0, "uniform", {}, 1), Case(1000, 4.0, "rmat", {}, 1)]
    times = [
        {"kruskal@1": 1.0, "boruvka@1": 2.0, "filter-boruvka-threads@2": 0.5},
        {"kruskal@1": 1.0, "boruvka@1": 8.0},
    ]
    made = cells(list(zip(cases, times)), 2, "box")
    assert [cell["cores"] for cell in made] == widths(2) == [1, 2]
    assert made[0]["times"] == {"boruvka@1": 4.0, "kruskal@1": 1.0}
    graph = generate("uniform", n=250, m=1000, seed=1)
    judged = judge(made, [(cases[0], graph, {"kruskal@1": 3.0, "boruvka@1": 1.0})], 1)
    assert [round(regret, 3) for *_, regret in judged] == [3.0]


def test_command_says_what_it_rests_on(capsys):
    assert cli.main(["advise", "--n", "1000000", "--m", "1500000", "--threads", "1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["algorithm"] == advice.choose(1_000_000, 1_500_000).algorithm and told["times"]
    assert cli.main(["advise"]) == 2
