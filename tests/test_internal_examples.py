"""Examples of functions that have no page of their own."""

from __future__ import annotations

import pandas as pd

from mst.bench.measure.driver import Cost, affordable
from mst.bench.measure.samples import take_calls
from mst.bench.records.account import summary
from mst.reporting.data import without_result
from mst.reporting.papers.evidence import in_words, resembles


def test_counts_are_listed_in_one_line(tmp_path):
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
    # A call of seconds counts, unless it loaded code.
    assert take_calls(lambda: 4.0, expected=0.1, left=9.0) == [4.0]
    calls, loaded = iter([4.0, 0.03, 0.03]), iter([0.0, 3.9])
    assert take_calls(lambda: next(calls), 0.1, 9.0, code_seconds=lambda: next(loaded)) == [0.03, 0.03]


def test_spare_budget_goes_to_the_cheapest():
    assert affordable([Cost(10, 2, 2, 4), Cost(10, 9, 9, 4)]) == [True, False]
    assert affordable([Cost(10, 2, 1, 0), Cost(10, 9, 9, 4)]) == [False, True]


def test_a_stand_in_resembles_its_input():
    near = {"n": 1696415, "m": 11095298, "components": 760, "maximum_degree": 36000}
    assert resembles("as-skitter", near)
    assert not resembles("as-skitter", {**near, "components": 1003742})
    words = "like for as-skitter (the same vertices, edges, largest degree; components 760 for 756)"
    assert in_words("as-skitter", "like", {**near, "maximum_degree": 35455}) == words
