"""The fastest algorithms on the front page, and the pages' other sentences."""

from __future__ import annotations

import math
import re

import pandas as pd
import pytest

from mst.reporting import data
from mst.reporting.data import spreads, without_result
from mst.reporting.hardware import HARDWARE_KINDS
from mst.reporting.page import answer, chooser
from mst.reporting.page.build import render
from mst.reporting.page.chapters import ReportData
from mst.reporting.page.facts import graph_rows, merged, missing_graphs


def made(*runs: tuple, processes: int = 5) -> pd.DataFrame:
    """Prepared rows of (graph, algorithm, paradigm, width, seconds); the intervals are ± 1 %."""
    table = [
        dict(
            machine="m", graph=graph, n=1000, m=500_000, algorithm=algorithm, paradigm=paradigm, width=width,
            options="default", layout="", status="ok", grade="identical", current=True, oversubscribed=False, flags="",
            compute_seconds=seconds, compute_low=seconds / 1.01, compute_high=seconds * 1.01, processes=processes,
            init_seconds=math.nan, transfer_seconds=math.nan, call_seconds=math.nan,
            peak_bytes=1, working_bytes=1, energy_joules=math.nan,
            family="", origin="measured", reason=None, spread=0.02,
            created="2026-11-22T10:00:00", commit="0123456789abcdef",
        )
        for graph, algorithm, paradigm, width, seconds in runs
    ]  # fmt: skip
    return data.prepared_rows(pd.DataFrame(table), "kruskal")


CORE, CORES, GPU, MPI = HARDWARE_KINDS
TWO_GRAPHS = (
    ("a", "kruskal", "sequential", 1, 2.0),
    ("a", "filter-boruvka", "sequential", 1, 1.0),
    ("a", "scipy", "peer", 1, 8.0),
    ("a", "igraph", "peer", 1, 4.0),
    ("b", "kruskal", "sequential", 1, 8.0),
    ("b", "filter-boruvka", "sequential", 1, 1.0),
    ("b", "scipy", "peer", 1, 9.0),
    ("b", "igraph", "peer", 1, 20.0),
)


def test_gains_are_geometric_means_over_the_best_of_each_graph():
    (found,) = answer.findings(made(*TWO_GRAPHS), CORE, "kruskal")
    assert (found.algorithm, found.firsts, found.graphs) == ("filter-boruvka", (("filter-boruvka", 2),), 2)
    assert not found.is_library and found.over_baseline.mean == pytest.approx(4.0)
    assert [graph for graph, _ in found.over_baseline.ratios] == ["a", "b"]
    assert [ratio for _, ratio in found.over_baseline.ratios] == pytest.approx([2.0, 8.0])
    assert found.over_library.mean == pytest.approx(6.0)
    assert dict(found.over_library.names) == {"igraph": 1, "scipy": 1}


def test_whole_calls_are_beside_the_solve_where_they_were_measured():
    rows = made(*TWO_GRAPHS)
    assert math.isnan(answer.findings(rows, CORE, "kruskal")[0].call)
    rows["call_seconds"] = rows["compute_seconds"] * rows["graph"].map({"a": 1.2, "b": math.nan})
    assert answer.findings(rows, CORE, "kruskal")[0].call == pytest.approx(1.2)
    rows["call_seconds"] = rows["compute_seconds"] * rows["graph"].map({"a": 2.0, "b": 4.5})
    assert answer.findings(rows, CORE, "kruskal")[0].call == pytest.approx(3.0)


def test_a_gpu_is_compared_with_a_gpu_library_or_says_with_what():
    own = [("a", "filter-boruvka-mpi", "mpi", 4, 1.0), ("a", "filter-boruvka-cuda", "cuda", 1, 0.5)]
    cugraph, scipy = ("a", "cugraph", "peer", 1, 2.0), ("a", "scipy", "peer", 1, 8.0)
    (mpi,) = answer.findings(made(*own, cugraph), MPI, "kruskal")
    assert mpi.over_library is None
    (gpu,) = answer.findings(made(*own, cugraph, scipy), GPU, "kruskal")
    assert dict(gpu.over_library.names) == {"cugraph": 1} and gpu.library == "the best GPU library"
    (gpu,) = answer.findings(made(*own, scipy), GPU, "kruskal")
    assert dict(gpu.over_library.names) == {"scipy": 1} and "without a GPU" in gpu.library
    (mpi,) = answer.findings(made(*own, cugraph, scipy), MPI, "kruskal")
    assert dict(mpi.over_library.names) == {"scipy": 1}


def test_interval_of_a_mean_narrows_with_graphs_and_needs_processes():
    gain = answer.findings(made(*TWO_GRAPHS), CORE, "kruskal")[0].over_baseline
    # Four medians that are known within 1 %, half of them in each mean: 1 % · √4 / 2.
    assert gain.high / gain.mean == pytest.approx(1.01, rel=1e-3)
    assert gain.mean / gain.low == pytest.approx(1.01, rel=1e-3)
    few = answer.findings(made(*TWO_GRAPHS, processes=2), CORE, "kruskal")[0].over_baseline
    assert few.low is None and few.high is None and few.mean == gain.mean
    some = made(*TWO_GRAPHS)
    some.loc[some["graph"] == "b", "processes"] = 2
    known = answer.findings(some, CORE, "kruskal")[0].over_baseline
    assert known.low is not None and [graph for graph, _ in known.ratios] == ["a"]


def test_fewer_than_three_processes_give_no_headline_number():
    cards = answer.cards(made(*TWO_GRAPHS, processes=2), "kruskal", {})
    sentence = answer.headline(cards, "kruskal")
    assert sentence == "On one core of m, filter-boruvka is fastest on 2 of 2 graphs."
    stem, page = next(render(ReportData(made(*TWO_GRAPHS, processes=2), [], [], {}, "kruskal", [])))
    assert stem == ""
    assert "fewer than three processes were measured" in page and '<div class="gain"><b>' not in page


@pytest.mark.parametrize("scope", ["algorithms/scipy", "graphs/a"])
def test_the_front_page_about_one_algorithm_or_graph_has_the_times_of_those_that_are_not_fastest(scope):
    rows = made(
        ("a", "kruskal", "sequential", 1, 0.5), ("a", "scipy", "peer", 1, 2.0),
        ("a", "bucket-threads", "threads", 1, 0.25), ("a", "bucket-threads", "threads", 2, 0.125),
        ("a", "prim-heap", "sequential", 1, 0.1),
    )  # fmt: skip
    rows.loc[rows["algorithm"] == "prim-heap", ["status", "shown"]] = "timeout", False
    front = next(render(ReportData(rows, [], [], {"scope": scope}, "kruskal", [])))[1]
    (table,) = re.findall(r'<section id="times">.*?<tbody>(.*?)</tbody>', front, re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(?:<b>)?([^<]*)", row) for row in table.split("</tr>")[:-1]]
    assert cells == [
        ["a", "bucket-threads ≈ · 2 threads", "125 ms", "0.25×", "124 ms to 126 ms"],
        ["a", "kruskal", "500 ms", "1.00×", "495 ms to 505 ms"],
        ["a", "scipy", "2 s", "4.00×", "1.98 s to 2.02 s"],
        ["a", "prim-heap", "timeout", "", ""],
    ]
    assert ("<b>scipy</b>" in table) == (scope == "algorithms/scipy")
    assert 'id="times"' not in next(render(ReportData(rows, [], [], {}, "kruskal", [])))[1]


def test_the_fastest_named_is_never_one_that_other_records_beat():
    new = [(graph, "new", "sequential", 1, 2.1) for graph in "abc"]
    records = made(*new, ("a", "kruskal", "sequential", 1, 0.037))
    (found,) = answer.findings(records, CORE, "kruskal")
    assert found.algorithm == "" and dict(found.firsts) == {"new": 2, "kruskal": 1}
    assert "new is fastest" not in answer.headline(answer.cards(records, "kruskal", {}), "kruskal")
    beaten = made(*TWO_GRAPHS, ("a", "boruvka", "sequential", 1, 0.1))
    assert answer.findings(beaten, CORE, "kruskal")[0].algorithm == ""
    within_noise = made(*TWO_GRAPHS, ("a", "boruvka", "sequential", 1, 0.999))
    assert answer.findings(within_noise, CORE, "kruskal")[0].algorithm == "filter-boruvka"


def test_runs_that_ours_was_absent_from_name_no_winner():
    theirs = ("a", "ecl-mst-cuda", "cuda", 1, 1.0)
    both = made(theirs, ("b", "filter-boruvka-cuda", "cuda", 1, 1.0), ("b", "ecl-mst-cuda", "cuda", 1, 2.0))
    (found,) = answer.findings(both, GPU, "kruskal")
    assert (found.algorithm, found.graphs) == ("filter-boruvka-cuda", 1), "graph a does not count"
    both.loc[both["graph"] == "b", "machine"] = "other"
    named = {f.machine: (f.algorithm, f.reason) for f in answer.findings(both, GPU, "kruskal")}
    assert named["other"] == ("filter-boruvka-cuda", "")
    assert named["m"][0] == "" and "filter-boruvka-cuda was not run there" in named["m"][1]
    (found,) = answer.findings(made(theirs, ("a", "scipy", "peer", 1, 8.0)), GPU, "kruskal")
    assert found.algorithm == "ecl-mst-cuda", "an experiment without ours names another"


def test_an_algorithm_that_was_run_alone_is_not_called_the_fastest():
    page = next(render(ReportData(made(*TWO_GRAPHS[::4]), [], [], {}, "kruskal", [])))[1]
    assert "No algorithm is fastest here yet." in page and page.count("astest on") == 1
    assert '<p class="note">only kruskal was run there, so nothing is compared.</p>' in page


def test_a_badge_counts_disturbed_records_and_names_dates_and_commits():
    rows = made(*TWO_GRAPHS)
    rows.loc[(rows["graph"] == "a") & (rows["algorithm"] == "kruskal"), "disturbed"] = True
    (found,) = answer.findings(rows, CORE, "kruskal")
    assert found.badge == answer.Badge(6, 1, "2026-11-22", ("0123456789",)), "a disturbed baseline counts"
    sentence = answer.headline(answer.cards(rows, "kruskal", {}), "kruskal")
    assert sentence.endswith(" This is uncertain: other work disturbed 1 of 6 records.")


def test_programs_on_disk_are_no_libraries():
    program = made(*TWO_GRAPHS, ("a", "command-ours", "peer", 1, 1.5), ("b", "command-ours", "peer", 1, 1.5))
    (found,) = answer.findings(program, CORE, "kruskal")
    assert not found.is_library and dict(found.over_library.names) == {"igraph": 1, "scipy": 1}


def test_many_cores_are_judged_on_graphs_where_many_ran():
    threads = [("a", "filter-boruvka-threads", "threads", 2, 0.5), ("b", "kruskal", "threads", 1, 0.1)]
    (found,) = answer.findings(made(*TWO_GRAPHS, *threads), CORES, "kruskal")
    assert (found.algorithm, found.graphs) == ("filter-boruvka-threads", 1)


def test_reference_measurements_stand_apart():
    own = made(*TWO_GRAPHS)
    other = made(("a", "filter-boruvka-cuda", "cuda", 1, 0.01), ("a", "kruskal", "sequential", 1, 1.0))
    other = other.assign(machine="elsewhere", origin="reference")
    cards = answer.cards(pd.concat([own, other], ignore_index=True), "kruskal", {})
    found = [(card.hardware, card.finding.machine, card.finding.reference) for card in cards if card.finding]
    assert found == [("One core", "m", False), ("GPU", "elsewhere", True)]
    assert "elsewhere" not in answer.headline(cards, "kruskal")


def test_reference_machines_that_measured_little_beside_others_have_no_card():
    more = made(*TWO_GRAPHS, *((g, *run[1:]) for g in "cde" for run in TWO_GRAPHS[:4]))
    more = more.assign(machine="much", origin="reference")
    little = made(*TWO_GRAPHS[:4]).assign(machine="little", origin="reference")
    cards = answer.cards(pd.concat([more, little], ignore_index=True), "kruskal", {})
    assert {card.finding.machine for card in cards if card.finding} == {"much"}


def test_many_cores_need_more_than_one_and_may_lose_to_one():
    threads = ("a", "filter-boruvka-threads", "threads", 1, 3.0)
    assert answer.findings(made(*TWO_GRAPHS, threads), CORES, "kruskal") == []
    wide = made(
        *TWO_GRAPHS, threads, ("a", "filter-boruvka-threads", "threads", 2, 1.5)
    )  # more than one core's 1.0
    (found,) = answer.findings(wide, CORES, "kruskal")
    assert (found.algorithm, found.widths) == ("filter-boruvka", "")
    fast = made(*(("a", "filter-boruvka-threads", "threads", w, 4 / w) for w in (1, 2, 8)), TWO_GRAPHS[0])
    (found,) = answer.findings(fast, CORES, "kruskal")
    assert (found.algorithm, found.widths) == ("filter-boruvka-threads", "8 threads")
    assert found.over_library is None


def test_a_winner_that_others_beat_on_as_many_graphs_is_fastest_in_the_mean():
    threads = [
        ("a", "filter-boruvka-threads", "threads", 2, 0.8),
        ("b", "filter-boruvka-threads", "threads", 2, 8.0),
    ]
    rows = made(*TWO_GRAPHS, *threads)
    (cores,) = [
        card for card in answer.cards(rows, "kruskal", {}) if card.hardware == "Many cores" and card.finding
    ]
    assert (cores.finding.algorithm, cores.finding.widths) == ("filter-boruvka", "")
    sentence = answer.headline([cores], "kruskal")
    assert "filter-boruvka is fastest in the geometric mean, and on 1 of 2 graphs" in sentence
    page = next(render(ReportData(rows, [], [], {}, "kruskal", [])))[1]
    assert "on one of them: no threads were faster in the mean" in page


def test_a_library_may_win():
    (found,) = answer.findings(made(*TWO_GRAPHS[:1], ("a", "igraph", "peer", 1, 0.5)), CORE, "kruskal")
    assert found.is_library and found.algorithm == "igraph" and found.over_library is None


def test_what_is_slower_than_others_is_not_praised():
    few = made(*TWO_GRAPHS)
    few.loc[few["graph"] == "b", "processes"] = 2
    noisy = few["graph"] == "a"
    few.loc[noisy & (few["algorithm"] == "filter-boruvka"), ["compute_seconds", "compute_low", "compute_high"]] = (
        2.2, 1.0, 3.0,
    )  # fmt: skip
    cards = answer.cards(few, "kruskal", {})
    assert cards[0].finding.algorithm == "" and cards[0].finding.reason == (
        "filter-boruvka is not named, since kruskal was faster where both finished three processes"
    )
    assert answer.headline(cards, "kruskal") == "No algorithm is fastest here yet."
    mpi = [("a", "filter-boruvka-mpi", "mpi", 2, 2.2), ("b", "filter-boruvka-mpi", "mpi", 2, 8.8)]
    cards = answer.cards(pd.concat([few, made(*mpi)], ignore_index=True), "kruskal", {})
    found = {card.hardware: card.finding for card in cards if card.finding}
    assert found["MPI"].over_baseline.mean == pytest.approx(0.909, rel=1e-3)
    assert answer.headline(cards, "kruskal") == "No algorithm is fastest here yet."


def test_a_nearest_record_is_not_compared_with_fewer_than_three_processes():
    rows = made(*TWO_GRAPHS[:4])
    (found,) = chooser.evidence(rows, "kruskal", {})
    assert found["text"].endswith("kruskal takes 2.00× as long, igraph takes 4.00× as long")
    rows.loc[rows["algorithm"] == "igraph", "processes"] = 2
    (found,) = chooser.evidence(rows, "kruskal", {})
    assert found["text"].endswith("kruskal takes 2.00× as long, scipy takes 8.00× as long")
    rows.loc[rows["library"], ["processes", "disturbed"]] = 1, True
    (found,) = chooser.evidence(rows, "kruskal", {})
    assert found["text"].endswith("kruskal takes 2.00× as long") and found["badge"].startswith("undisturbed")
    rows.loc[rows["algorithm"] == "kruskal", "disturbed"] = True
    (found,) = chooser.evidence(rows, "kruskal", {})
    assert found["badge"].startswith("disturbed")


def test_missing_hardware_says_why():
    cards = {card.hardware: card for card in answer.cards(made(*TWO_GRAPHS), "kruskal", {})}
    assert cards["GPU"].finding is None and cards["GPU"].reason == "no such run was planned"
    unsupported = made(("a", "ecl-mst-cuda", "cuda", 1, 1.0)).assign(
        status="unsupported", reason="needs cupy, which is not installed", shown=False
    )
    assert answer.missing(unsupported, GPU) == "needs cupy, which is not installed"
    gone = [unsupported.assign(graph=g, status="unavailable", reason="no location has it") for g in "bcd"]
    assert answer.missing(pd.concat([unsupported, *gone]), GPU) == "needs cupy, which is not installed"
    assert answer.missing(pd.concat(gone), GPU) == "none of its graphs is available"
    assert answer.missing(unsupported.assign(status="ok"), GPU) == "no record of it is proved here"


def test_hardware_that_was_not_measured_has_a_line_for_each_reason_and_no_card():
    page = next(render(ReportData(made(*TWO_GRAPHS), [], [], {}, "kruskal", [])))[1]
    assert page.count('<article class="card') == 1
    assert "<p>Not measured here: Many cores, GPU, MPI; no such run was planned.</p>" in page


def test_headline_says_it_in_a_sentence():
    facts = {"cpu": "AMD EPYC Processor", "cores": 2}
    one = answer.cards(made(*TWO_GRAPHS[:4]).assign(disturbed=True), "kruskal", {"m": facts})
    sentence = answer.headline(one, "kruskal")
    assert sentence.startswith("On one core of m (AMD EPYC, 2 cores), filter-boruvka is fastest")
    assert sentence.endswith(" This is uncertain: other work disturbed 3 of 3 records.")
    single = made(*TWO_GRAPHS[:2]).assign(disturbed=True)
    page = next(render(ReportData(single, [], [], {}, "kruskal", [], to_come=1)))[1]
    assert "2 of 2 records disturbed" in page and "unfinished: 1 planned run still" in page
    cards = answer.cards(made(*TWO_GRAPHS), "kruskal", {})
    assert answer.headline(cards, "kruskal") == (
        "On one core of m, filter-boruvka is fastest on 2 of 2 graphs: 4.0× as fast as kruskal and "
        "6.0× as fast as the best library (geometric means)."
    )
    few = made(*TWO_GRAPHS)
    few.loc[few["graph"] == "b", ["compute_low", "compute_high", "processes"]] = math.nan, math.nan, 2
    sentence = answer.headline(answer.cards(few, "kruskal", {}), "kruskal")
    assert sentence.endswith(
        "2 of 2 graphs: 2.0× as fast as kruskal on 1 of these and 4.0× as fast as the best library on 1 of these."
    )
    for rows, is_said in ((few, True), (made(*TWO_GRAPHS), False)):
        page = next(render(ReportData(rows, [], [], {}, "kruskal", [])))[1]
        said = re.findall(r"95 % interval [\d.]+× to [\d.]+×, on 1 of 2 graphs", page)
        assert (len(said) == 2) == is_said
    nothing = made(*TWO_GRAPHS).assign(shown=False)
    assert answer.headline(answer.cards(nothing, "kruskal", {}), "kruskal").startswith(
        "No record has been proved"
    )


def test_failures_of_one_reason_are_one_row(rows):
    found = without_result(rows)
    lines = found["unfinished"]
    assert lines[0]["status"] == "wrong"
    assert sum(line["runs"] for line in lines) == rows["status"].isin(["wrong", *data.NOT_FINISHED]).sum()
    absent = [line for line in found["not_run"] if line["status"] == "unavailable"]
    assert len(absent) == 1 and absent[0]["graphs"] == "twitter" and "kruskal, " in absent[0]["series"] + ", "
    assert all(line["reason"] for line in [*lines, *found["not_run"]])


def test_spread_is_shown_for_each_machine(rows):
    found = {s.machine: s for s in spreads(rows).itertuples()}
    assert set(found) == set(rows.loc[rows["shown"], "machine"])
    for name, spread in found.items():
        own = rows[rows["shown"] & (rows["machine"] == name)]["spread"]
        assert 0 < spread.median <= spread.ninth and spread.runs == own.notna().sum()


def test_graphs_list_merged_edges_and_wrong_published_numbers():
    there = {
        "name": "g", "status": "ok", "family": "road", "n": 3, "m": 2, "merged": {"loops": 1, "parallel": 0},
        "checks": [
            {"by": "snap", "quantity": "edges", "published": 7, "found": 2, "agrees": False},
            {"by": "snap", "quantity": "n", "published": 3, "found": 3, "agrees": True},
        ],
    }  # fmt: skip
    gone = {"name": "t", "status": "unavailable", "reason": "no location has it",
            "tried": [{"location": "https://x/t.gz", "reason": "offline"}]}  # fmt: skip
    (row,) = graph_rows([there, gone, dict(there)])
    assert (row["merged_text"], row["checks"]) == ("1 loop", 2)
    assert row["wrong"] == ["snap gives edges = 7, this graph has 2"]
    assert missing_graphs([there, gone])[0]["tried"] == [("https://x/t.gz", "offline")]
    assert merged({}) == ""
