"""The answer on the first screen, and the page's other sentences."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from mst.reporting import data
from mst.reporting.data import not_run, spreads, unfinished
from mst.reporting.page import answer
from mst.reporting.page.facts import graph_rows, merged, missing_graphs


@pytest.fixture(scope="module")
def rows(report) -> pd.DataFrame:
    return data.prepare(pd.read_parquet(report / "table.parquet"), "kruskal")


def made(*runs: tuple, processes: int = 5) -> pd.DataFrame:
    """Prepared rows of (graph, algorithm, paradigm, width, seconds); the intervals are ± 1 %."""
    table = [
        dict(
            machine="m", graph=graph, n=1000, m=500_000, algorithm=algorithm, paradigm=paradigm, width=width,
            options="default", layout="", status="ok", grade="identical", current=True, oversubscribed=False, flags="",
            compute_seconds=seconds, compute_low=seconds / 1.01, compute_high=seconds * 1.01, processes=processes,
            working_bytes=1, energy_joules=math.nan, origin="measured", reason=None, spread=0.02,
        )
        for graph, algorithm, paradigm, width, seconds in runs
    ]  # fmt: skip
    return data.prepare(pd.DataFrame(table), "kruskal")


CORE, CORES, GPU, MPI = answer.HARDWARE
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
    assert (found.algorithm, found.wins, found.graphs, found.is_library) == ("filter-boruvka", 2, 2, False)
    assert found.over_baseline.mean == pytest.approx(4.0)
    assert (found.over_baseline.least, found.over_baseline.most) == pytest.approx((2.0, 8.0))
    assert found.over_library.mean == pytest.approx(6.0)
    assert dict(found.over_library.names) == {"igraph": 1, "scipy": 1}


def test_a_gpu_s_library_is_compared_with_gpus_only():
    own = [("a", "filter-boruvka-mpi", "mpi", 4, 1.0), ("a", "filter-boruvka-cuda", "cuda", 1, 0.5)]
    library = ("a", "cugraph", "peer", 1, 2.0)
    (mpi,) = answer.findings(made(*own, library), MPI, "kruskal")
    assert mpi.over_library is None
    (gpu,) = answer.findings(made(*own, library), GPU, "kruskal")
    assert dict(gpu.over_library.names) == {"cugraph": 1}
    (mpi,) = answer.findings(made(*own, library, ("a", "scipy", "peer", 1, 8.0)), MPI, "kruskal")
    assert dict(mpi.over_library.names) == {"scipy": 1}


def test_finding_says_that_our_algorithm_did_not_run():
    theirs, ours = ("a", "ecl-mst-cuda", "cuda", 1, 1.0), ("b", "filter-boruvka-cuda", "cuda", 1, 1.0)
    (found,) = answer.findings(made(theirs, ours), GPU, "kruskal", ["a"])
    assert found.left_out == "filter-boruvka-cuda"
    (found,) = answer.findings(made(theirs), GPU, "kruskal")
    assert found.left_out is None
    (found,) = answer.findings(made(*TWO_GRAPHS), CORE, "kruskal")
    assert found.left_out is None


def test_interval_of_a_mean_narrows_with_graphs_and_needs_processes():
    gain = answer.findings(made(*TWO_GRAPHS), CORE, "kruskal")[0].over_baseline
    # Four medians that are known within 1 %, half of them in each mean: 1 % · √4 / 2.
    assert gain.high / gain.mean == pytest.approx(1.01, rel=1e-3)
    assert gain.mean / gain.low == pytest.approx(1.01, rel=1e-3)
    few = answer.findings(made(*TWO_GRAPHS, processes=2), CORE, "kruskal")[0].over_baseline
    assert few.low is None and few.high is None and few.mean == gain.mean


def test_finishing_everywhere_comes_before_being_fast_somewhere():
    partial = made(*TWO_GRAPHS, ("a", "boruvka", "sequential", 1, 0.1))
    (found,) = answer.findings(partial, CORE, "kruskal")
    assert (found.algorithm, found.wins) == ("filter-boruvka", 1)


def test_the_fastest_on_most_graphs_precedes_an_algorithm_that_ran_on_more_graphs():
    one_more = [("c", "kruskal", "sequential", 1, 3.0), ("c", "scipy", "peer", 1, 9.0)]
    (found,) = answer.findings(made(*TWO_GRAPHS, *one_more), CORE, "kruskal")
    assert (found.algorithm, found.wins, found.graphs) == ("filter-boruvka", 2, 3)


def test_graphs_on_which_few_algorithms_ran_do_not_decide():
    few = [(name, "boruvka", "sequential", 1, 1.0) for name in "cdefg"]
    (found,) = answer.findings(made(*TWO_GRAPHS, *few), CORE, "kruskal")
    assert (found.algorithm, found.wins, found.graphs) == ("filter-boruvka", 2, 2)


def test_ours_beside_the_baseline_and_a_library_are_enough():
    others = [
        (g, name, "sequential", 1, 9.0) for g in "ab" for name in ("boruvka", "prim-heap", "filter-kruskal")
    ]
    three = [(g, *run[1:]) for g in "cde" for run in TWO_GRAPHS[:3]]
    (found,) = answer.findings(made(*TWO_GRAPHS, *others, *three), CORE, "kruskal")
    assert (found.algorithm, found.wins, found.graphs) == ("filter-boruvka", 5, 5)
    for missing in range(3):
        fewer = [run for i, run in enumerate(three) if i % 3 != missing]
        (found,) = answer.findings(made(*TWO_GRAPHS, *others, *fewer), CORE, "kruskal")
        assert found.graphs == 2


def test_few_algorithms_decide_nothing_among_themselves_or_on_their_own_machine():
    few = made(*TWO_GRAPHS, ("c", "boruvka", "sequential", 1, 1.0))
    assert answer.findings(few, CORE, "kruskal", ["c"]) == []
    few.loc[few["graph"] == "c", "machine"] = "other"
    assert [found.machine for found in answer.findings(few, CORE, "kruskal")] == ["m"]


def test_programs_on_disk_are_no_libraries():
    program = made(*TWO_GRAPHS, ("a", "command-ours", "peer", 1, 1.5), ("b", "command-ours", "peer", 1, 0.5))
    (found,) = answer.findings(program, CORE, "kruskal")
    assert not found.is_library and dict(found.over_library.names) == {"igraph": 1, "scipy": 1}
    assert set(data.best_of_each(program)["peer"]) == {"igraph", "scipy"}


def test_many_cores_are_judged_on_graphs_where_many_ran():
    threads = [("a", "filter-boruvka-threads", "threads", 2, 0.5), ("b", "kruskal", "threads", 1, 0.1)]
    (found,) = answer.findings(made(*TWO_GRAPHS, *threads), CORES, "kruskal")
    assert (found.algorithm, found.wins, found.graphs) == ("filter-boruvka-threads", 1, 1)


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


def test_a_library_may_win():
    (found,) = answer.findings(made(*TWO_GRAPHS[:1], ("a", "igraph", "peer", 1, 0.5)), CORE, "kruskal")
    assert found.is_library and found.algorithm == "igraph" and found.over_library is None


def test_missing_hardware_says_why(rows):
    cards = {card.hardware: card for card in answer.cards(made(*TWO_GRAPHS), "kruskal", {})}
    assert cards["GPU"].finding is None and cards["GPU"].reason == "no such run was planned"
    unsupported = made(("a", "ecl-mst-cuda", "cuda", 1, 1.0)).assign(
        status="unsupported", reason="needs cupy, not installed", shown=False
    )
    assert answer.missing(unsupported, GPU) == "needs cupy, not installed"
    gone = [unsupported.assign(graph=g, status="unavailable", reason="no location has it") for g in "bcd"]
    assert answer.missing(pd.concat([unsupported, *gone]), GPU) == "needs cupy, not installed"
    assert answer.missing(pd.concat(gone), GPU) == "none of its graphs is available"


@pytest.mark.parametrize(
    ("n", "m", "largest", "kind"),
    [
        (10, 20, 5, "small"),
        (2000, 1_000_000, 1999, "dense"),
        (1_000_000, 3_000_000, 28_754, "hubs"),
        (264_346, 365_050, 8, "sparse"),
        (100_000, 800_000, 40, "in between"),
        (1_000_000, 3_000_000, None, "in between"),
    ],
)
def test_kinds_of_graphs(n, m, largest, kind):
    assert answer.kind_of(n, m, largest) == kind


def test_reference_measurements_stand_apart():
    own = made(*TWO_GRAPHS)
    other = made(("a", "filter-boruvka-cuda", "cuda", 1, 0.01)).assign(machine="elsewhere", origin="reference")
    here, reference = answer.groups(pd.concat([own, other], ignore_index=True), "kruskal", {}, {})
    assert {card.finding.machine for card in here.cards if card.finding} == {"m"}
    assert [card.hardware for card in reference.cards] == ["GPU"]
    assert "m," not in answer.headline([reference], "kruskal")


def test_reference_machines_that_measured_little_beside_others_have_no_card():
    much = made(*TWO_GRAPHS, *((g, "kruskal", "sequential", 1, 1.0) for g in "cde"))
    much = much.assign(machine="much", origin="reference")
    little = made(*TWO_GRAPHS[:4]).assign(machine="little", origin="reference")
    _, reference = answer.groups(pd.concat([much, little], ignore_index=True), "kruskal", {}, {})
    assert {card.finding.machine for card in reference.cards} == {"much", "little"}
    more = made(*TWO_GRAPHS, *((g, *run[1:]) for g in "cde" for run in TWO_GRAPHS[:4]))
    more = more.assign(machine="much", origin="reference")
    _, reference = answer.groups(pd.concat([more, little], ignore_index=True), "kruskal", {}, {})
    assert {card.finding.machine for card in reference.cards} == {"much"}
    (dense,) = [kind for kind in reference.kinds if kind.name == "dense"]
    assert [f.machine for f in dense.found[0]] == ["much"]
    alone = made(*((g, "boruvka", "sequential", 1, 1.0) for g in "abcdefghij")).assign(
        machine="a", origin="reference"
    )
    _, reference = answer.groups(pd.concat([much, alone], ignore_index=True), "kruskal", {}, {})
    assert {card.finding.machine for card in reference.cards} == {"much"}
    _, reference = answer.groups(alone, "kruskal", {}, {})
    assert {card.finding.machine for card in reference.cards} == {"a"}


def test_a_reference_machine_without_ours_has_no_card_beside_one_with_it():
    ours = made(("a", "filter-boruvka-cuda", "cuda", 1, 1.0), ("a", "kruskal", "sequential", 1, 9.0))
    theirs = made(("a", "ecl-mst-cuda", "cuda", 1, 2.0), ("a", "kruskal", "sequential", 1, 9.0))
    ours, theirs = (
        rows.assign(machine=name, origin="reference") for rows, name in ((ours, "x"), (theirs, "y"))
    )
    _, reference = answer.groups(pd.concat([ours, theirs], ignore_index=True), "kruskal", {}, {})
    assert {c.finding.machine for c in reference.cards if c.hardware == "GPU"} == {"x"}
    _, reference = answer.groups(theirs, "kruskal", {}, {})
    assert {c.finding.machine for c in reference.cards if c.hardware == "GPU"} == {"y"}


def test_headline_says_it_in_a_sentence():
    here = answer.groups(made(*TWO_GRAPHS), "kruskal", {}, {})
    assert answer.headline(here, "kruskal") == (
        "On one core of m, filter-boruvka is fastest on 2 of 2 graphs: 4.0× as fast as kruskal and "
        "6.0× as fast as the best library (geometric means)."
    )
    nothing = made(*TWO_GRAPHS).assign(shown=False)
    assert answer.headline(answer.groups(nothing, "kruskal", {}, {}), "kruskal").startswith("Nothing has been")


def test_failures_of_one_reason_are_one_row(rows):
    lines = unfinished(rows)
    assert lines[0]["status"] == "wrong"
    assert sum(line["runs"] for line in lines) == rows["status"].isin(["wrong", *data.NOT_FINISHED]).sum()
    absent = [line for line in not_run(rows) if line["status"] == "unavailable"]
    assert len(absent) == 1 and absent[0]["graphs"] == "twitter" and "kruskal, " in absent[0]["series"] + ", "
    assert all(line["reason"] for line in [*lines, *not_run(rows)])


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
    assert (row["merged_text"], row["checks"], row["wrong"]) == ("1 loops", 2, ["snap: edges 7, found 2"])
    assert missing_graphs([there, gone])[0]["tried"] == [("https://x/t.gz", "offline")]
    assert merged({}) == ""
