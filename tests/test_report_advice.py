"""The page's tables of advice give the answers of the table of advice, and no more than was measured."""

from __future__ import annotations

import json
import re

import pytest

from mst import advice
from mst.advice import Table
from mst.reporting.page import advised
from mst.reporting.page.build import write_report
from mst.reporting.table import write_table


def cell(m: int, density: float, kinds: list[str], **times: float) -> dict:
    named = {name.replace("__", "@").replace("_", "-"): seconds for name, seconds in times.items()}
    return dict(m=m, density=density, kinds=kinds, times=named)


USUAL = ["even random", "even wide", "skewed random"]
TABLE = Table(
    {
        "machine": "box",
        "checked": {"good": 19, "cases": 20},
        "cells": [
            cell(1024, 4.0, USUAL, kruskal__1=1.0, filter_boruvka__1=2.0, filter_boruvka_threads__8=4.0),
            cell(4096, 4.0, USUAL, kruskal__1=2.0, filter_boruvka__1=3.0, filter_boruvka_threads__8=4.0),
            cell(4096, 4.0, ["even equal"], kruskal__1=1.0, prim_dense__1=0.1, filter_boruvka_threads__8=4.0),
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


def lines(rows: list[advised.Row]) -> list[tuple]:
    return [(row.name, r.edges, r.algorithm, r.place, r.margin) for row in rows for r in row.ranges]


def test_neighbouring_cells_with_the_same_answer_are_described_together():
    core, cores, gpu = advised.panels(TABLE)
    assert [panel.hardware for panel in (core, cores, gpu)] == [
        "One core", "8 cores", "8 cores and a GPU, the graph in host memory"
    ]  # fmt: skip
    every = "1.5 to nearly complete"
    assert lines(core.rows) == [
        (every, "up to 4,096", "kruskal", "", "1.5–2.0×"),
        (every, "from 16.4\u00a0k", "filter-boruvka", "", "3.0×"),
    ]
    assert lines(cores.rows)[1] == (every, "from 16.4\u00a0k", "filter-boruvka-threads", "8\u00a0cores", "3.0×")
    assert lines(gpu.rows) == [(every, "any", "filter-boruvka-cuda", "GPU", "10×")]


def test_kinds_that_change_the_answer_are_named_where_they_were_measured():
    core, cores, gpu = advised.panels(TABLE)
    assert list(core.others) == ["equal weights"]
    # Nearest to 1,024 edges, too, is the cell of equal weights.
    assert lines(core.others["equal weights"]) == [("1.5 to nearly complete", "any", "prim-dense", "", "10×")]
    assert lines(cores.others["equal weights"])[0][3] == "1\u00a0core" and not gpu.others


def test_every_line_is_an_answer_of_the_table(monkeypatch):
    asked: set[tuple[int, int]] = set()
    choose = Table.choose
    with monkeypatch.context() as patch:
        patch.setattr(Table, "choose", lambda self, n, m, **k: asked.add((n, m)) or choose(self, n, m, **k))
        panels = advised.panels(advice.table())
    table = advice.table()
    assert panels and all(n * (n - 1) // 2 >= m for n, m in asked), "no graph is denser than complete"
    for panel, (_, width, gpu) in zip(panels, advised.settings(table), strict=True):
        answers = {table.choose(n, m, width=width, gpu=gpu).algorithm for n, m in asked}
        assert {r.algorithm.split()[0] for row in panel.rows for r in row.ranges} == answers
    assert advised.panels(Table({"machine": "box", "cells": []})) == []


@pytest.mark.parametrize("scope", ["default", "graphs/g"])
def test_advice_is_on_the_page_of_everything_alone(monkeypatch, tmp_path, scope):
    monkeypatch.setattr(advice, "table", lambda: TABLE)
    write_table([], [], tmp_path / "table.parquet", tmp_path / "table.csv")
    write_report(
        table=tmp_path / "table.parquet", graphs=[], config={"scope": scope},
        out=tmp_path / "report.html",
    )  # fmt: skip
    page = (tmp_path / "report.html").read_text()
    assert ('id="advice"' in page) == (scope == "default") == ('href="#advice"' in page)
    if scope == "default":
        text = re.sub(r"<[^>]+>|\s+", " ", page)
        assert (
            "Measured on box." in text and "19 of 20 cases" in text and "Otherwise with equal weights" in text
        )


def test_the_committed_table_is_small_and_a_cell_a_line():
    from mst import resources

    text = resources.path("config/advice.json").read_text()
    assert len(text) < 100_000
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    assert all(json.dumps(one) in lines for one in json.loads(text)["cells"])
