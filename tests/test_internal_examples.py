"""Examples of functions that have no page of their own."""

from __future__ import annotations

import pandas as pd

from mst.bench.measure.driver import Cost, affordable
from mst.bench.measure.samples import take_calls
from mst.bench.records.account import summary
from mst.bench.records.compare import judge
from mst.bench.statistics import ratio
from mst.reporting.data import without_result
from mst.reporting.papers.evidence import in_words, resembles

EVEN = [1.00, 1.01, 1.02, 1.00, 1.01]


def test_counts_are_told_in_one_line(tmp_path):
    file = tmp_path / "checked.json"
    file.write_text('{"status": {"ok": 53, "timeout": 2, "unsupported": 37}}')
    assert summary(file) == "53 runs measured and proved, 2 timeout, 37 unsupported"


def test_runs_of_one_series_and_one_reason_are_in_one_row():
    row = dict(machine="m", graph="g", series="a", status="timeout", reason="stopped after 60.1 s")
    rows = pd.DataFrame([row, {**row, "graph": "h", "reason": "stopped after 60.3 s"}])
    assert [(r["series"], r["graphs"]) for r in without_result(rows)["unfinished"]] == [("a", "g, h")]


def test_calls_are_taken_where_there_is_time():
    assert take_calls(lambda: 0.02, expected=0.01, left=1.0) == [0.02] * 3
    assert take_calls(lambda: 0.2, expected=0.1, left=0.15) == []


def test_spare_budget_goes_to_the_cheapest():
    assert affordable([Cost(10, 2, 2, 4), Cost(10, 9, 9, 4)]) == [True, False]
    assert affordable([Cost(10, 2, 1, 0), Cost(10, 9, 9, 4)]) == [False, True]


def test_sets_are_judged_by_their_processes():
    slower = [1.11, 1.10, 1.13, 1.12, 1.10]
    assert judge(EVEN, slower).verdict == "slower"
    assert judge(EVEN, [1.02, 1.00, 1.01, 1.01, 1.00]).verdict == "same"
    assert judge(EVEN, slower, flags=["busy"]).verdict == "can't tell"
    found = ratio(EVEN, [1.10, 1.12, 1.11, 1.11, 1.13])
    assert round(found.estimate, 2) == 1.11
    assert found.low > 1.05


def test_a_stand_in_resembles_its_input():
    near = {"n": 1696415, "m": 11095298, "components": 760, "maximum_degree": 36000}
    assert resembles("as-skitter", near)
    assert not resembles("as-skitter", {**near, "components": 1003742})
    words = "like for as-skitter (the same vertices, edges, largest degree; components 760 for 756)"
    assert in_words("as-skitter", "like", {**near, "maximum_degree": 35455}) == words
