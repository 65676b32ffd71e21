"""The chooser gives the answers of the table of advice, beside the records."""

from __future__ import annotations

import json
import re

import pytest

from mst import advice
from mst.advice import Table
from mst.reporting.hardware import HARDWARE_KINDS
from mst.reporting.page import chooser
from mst.reporting.page.build import write_report
from mst.reporting.table import write_table


def cell(m: int, density: float, kinds: list[str], **times: float) -> dict:
    named = {name.replace("__", "@").replace("_", "-"): seconds for name, seconds in times.items()}
    return dict(m=m, density=density, kinds=kinds, times=named)


USUAL = ["random", "wide"]
TABLE = Table(
    {
        "machine": "box",
        "checked": {"good": 19, "cases": 20},
        "cells": [
            cell(1024, 4.0, USUAL, kruskal__1=1.0, filter_boruvka__1=2.0, filter_boruvka_threads__8=4.0),
            cell(4096, 4.0, USUAL, kruskal__1=2.0, filter_boruvka__1=3.0, filter_boruvka_threads__8=4.0),
            cell(4096, 4.0, ["local"], kruskal__1=1.0, prim_dense__1=0.1, filter_boruvka_threads__8=4.0),
            cell(
                16384,
                4.0,
                USUAL,
                kruskal__1=9.0,
                filter_boruvka__1=3.0,
                filter_boruvka_threads__8=1.0,
                filter_boruvka_cuda__gpu=0.1,
            ),
        ],
    }
)


def test_every_answer_is_that_of_the_table():
    table = advice.table()
    made = chooser.choices(table)
    for h, hardware in enumerate(chooser.settings(table)):
        for k, (_, density) in enumerate(chooser.KINDS):
            for (m, _), answer in zip(made["sizes"], made["answers"][h][k], strict=True):
                n = round(m / density if density else (m / chooser.COMPLETE) ** 0.5)
                if n * (n - 1) // 2 < m:
                    assert answer is None, "no graph is denser than complete"
                else:
                    choice = table.choose(n, m, width=hardware["cores"], gpu=hardware["gpu"])
                    assert answer[:2] == [choice.algorithm, chooser.call(choice, hardware["gpu"])]


def test_settings_are_the_hardware_of_the_table():
    assert [one["name"] for one in chooser.settings(TABLE)] == ["one core", "8 cores", "8 cores and a GPU"]
    made = chooser.choices(TABLE)
    assert [text for _, text in made["sizes"]] == ["1,024 edges", "4,096 edges", "16.4 k edges"]
    assert made["answers"][0][1][2][:2] == [
        "filter-boruvka",
        'mst.minimum_spanning_forest(graph, algorithm="filter-boruvka")',
    ]
    assert made["answers"][0][1][2][2:] == ["3.00×", "kruskal"]
    assert "threads=8" in made["answers"][1][1][2][1]
    assert chooser.choices(Table({"machine": "box", "cells": []}))["sizes"] == []


def test_a_call_to_copy_runs():
    import mst

    graph = mst.Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6])
    made = chooser.choices(advice.table())
    calls = {answer[1] for kinds in made["answers"][:2] for sizes in kinds for answer in sizes if answer}
    for call in sorted(calls):
        if "threads=" not in call:
            assert eval(call, {"mst": mst, "graph": graph}).weight == 11


def test_evidence_names_the_fastest_record_and_what_it_is_compared_with(rows):
    found = chooser.evidence(rows, "kruskal", {})
    assert {one["hardware"] for one in found} <= {"core", "cores", "gpu"} and found
    for one in found:
        graph, machine = re.match(r"on (\S+) \(.*?\) of (\S+),", one["text"]).groups()
        here = rows[rows["shown"] & rows["exact"] & (rows["graph"] == graph) & (rows["machine"] == machine)]
        here = here[next(h for h in HARDWARE_KINDS if h.id == one["hardware"]).uses(here)]
        assert f", {here.loc[here['compute_seconds'].idxmin(), 'series']} is fastest: " in one["text"]


@pytest.mark.parametrize("scope", ["default", "graphs/g"])
def test_the_chooser_is_on_the_page_of_everything_alone(monkeypatch, tmp_path, scope):
    monkeypatch.setattr(advice, "table", lambda: TABLE)
    write_table([], [], tmp_path / "table.parquet", tmp_path / "table.csv")
    write_report(
        table=tmp_path / "table.parquet", graphs=[], config={"scope": scope},
        out=tmp_path / "report.html",
    )  # fmt: skip
    page = (tmp_path / "report.html").read_text()
    assert ('id="choices"' in page) == (scope == "default") == ("19 of 20 checks" in page)
    assert ("What to use" in page) == (scope == "default")


def test_the_committed_table_is_small_and_a_cell_a_line():
    from mst import resources

    text = resources.path("config/advice.json").read_text()
    assert len(text) < 100_000
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    assert all(json.dumps(one) in lines for one in json.loads(text)["cells"])
