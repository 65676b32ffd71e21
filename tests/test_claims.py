"""Verdicts on synthetic records, one test for each rule; and the five papers' claims themselves."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import fake_records
import numpy as np
import pytest
from claim_names import Everything, claims_by_id, every_formula

from mst import registry, resources
from mst.bench.machine import Hardware
from mst.bench.planning.experiment import Experiment
from mst.bench.records.store import load_records
from mst.errors import ConfigError
from mst.reporting.papers import claims, evidence
from mst.reporting.papers.claims import (
    CONFIRMED,
    CONTRADICTED,
    DISAGREE,
    NOT_COMPARABLE,
    NOT_MEASURED,
    UNDECIDED,
    Criterion,
    Document,
    Kind,
)
from mst.reporting.papers.formula import Missing, Names, Result, Unfit, evaluate, parse_selection
from mst.reporting.papers.observations import Printed, gather
from mst.reporting.papers.published import published, published_tables
from mst.yaml_models import parse

GRAPHS = {g.name: g for g in fake_records.GRAPHS}
ROAD, SOCIAL = GRAPHS["USA-road-d.NY"], GRAPHS["com-youtube"]
TURNS = [[f"2026-11-20T10:0{k}:00+00:00"] * 2 for k in range(5)]  # spans of processes
LEAST = "min(T('boruvka', g) / T('kruskal', g) for g in BOTH)"
TITAN = Hardware("AMD Ryzen Threadripper 2950X", 1, 16, 32, 64, ("NVIDIA TITAN V",), "515.43")


@pytest.fixture
def book() -> Document:
    return parse(
        Document,
        {
            "papers": {"p": {"title": "Paper", "judge": "port"}, "q": {"title": "Other", "judge": "original"}},
            "machines": {"titan": {"title": "a Titan V", "gpu": "TITAN V"}},
            "originals": {"boruvka": "command-theirs"},
            "selections": {},
            "sets": {"BOTH": [ROAD.name, SOCIAL.name]},
            "claims": {},
        },
        "test",
    )


class Records:
    """Records of one machine with stated seconds."""

    def __init__(self, folder, name="box", machine=fake_records.DESKTOP):
        self.folder, self.name, self.machine = folder, name, machine

    def add(
        self,
        algorithm,
        graph,
        seconds,
        *,
        noise=0.001,
        processes=5,
        width=1,
        wrong=None,
        grade="identical",
        counters=True,
        **more,
    ):
        fake = fake_records.FakeAlgorithm(algorithm, algorithm, more.pop("paradigm", "sequential"), 1e-9)
        rng = np.random.default_rng(list(f"{algorithm}{graph.name}{width}".encode()))
        samples = fake_records.process_samples(rng, seconds, processes=processes, noise=noise)
        run, value = fake_records.measurement(
            self.name, graph, fake, width, facts=self.machine, samples=samples, **more
        )
        value["phases"] = [{"union": 1.0, "map": 3.0}] * processes
        value["counters"] = [{"rounds": 5, "edges by round": [8, 3]} if counters else {}] * processes
        fake_records.write_record(self.folder, run, value, wrong=wrong, grade=grade)
        return self

    def source(self):
        (found,) = gather(load_records(self.folder))
        return found


@pytest.fixture
def records(tmp_path):
    return Records(tmp_path / "records")


def claim(quantity="gm(T('boruvka', g) / T('kruskal', g) for g in BOTH)", **more):
    return parse(claims.Claim, {"id": "c", "place": "§1", "says": "…", "quantity": quantity, **more}, "test")


def judged(made, source, book, paper="p"):
    return claims.judge(made, book.papers[paper], source, book)


def both(records, algorithm, seconds, **more):
    for graph in (ROAD, SOCIAL):
        records.add(algorithm, graph, seconds, **more)
    return records


@pytest.fixture
def twice(records):
    """The source of records of which boruvka takes twice as long as kruskal."""
    return both(both(records, "kruskal", 1.0), "boruvka", 2.0).source()


def test_confirmed_and_contradicted_by_a_range(twice, book):
    near = judged(claim(anywhere={"near": 2.1, "within": 0.1}), twice, book)
    assert near.verdict == CONFIRMED and near.by == "port" and near.result.value == pytest.approx(2, rel=0.02)
    assert near.result.low <= near.result.value <= near.result.high and len(near.result.records) == 4
    far = judged(claim(anywhere={"near": 3, "within": 0.1}), twice, book)
    assert far.verdict == CONTRADICTED


def test_a_direction_needs_the_whole_interval(records, book):
    source = both(both(records, "kruskal", 1.0, noise=0.025), "boruvka", 1.0, noise=0.025).source()
    outcome = judged(claim(anywhere={"above": 1}), source, book)
    assert outcome.result.low < 1 < outcome.result.high
    assert outcome.verdict == UNDECIDED and outcome.reason == "the interval lies on both sides of 1"
    outcome = judged(claim(anywhere={"low": 1.02, "high": 3}), source, book)
    assert outcome.verdict == UNDECIDED
    assert outcome.reason == "the interval lies only partly within 1.02 to 3"
    assert judged(claim(anywhere={"above": 0.5}), source, book).verdict == CONFIRMED
    assert judged(claim(anywhere={"below": 0.5}), source, book).verdict == CONTRADICTED


@pytest.mark.parametrize(
    ("bound", "interval", "holds"),
    [
        ({"above": 1}, (1.5, 1.01, 2), True),
        ({"above": 1}, (1.5, 1, 2), None),
        ({"above": 1}, (0.9, 0.8, 1), False),
        ({"below": 1}, (0.5, 0.2, 0.99), True),
        ({"below": 1}, (0.5, 0.2, 1), None),
        ({"below": 1}, (1.5, 1, 2), False),
        ({"near": -2, "within": 0.1}, (-2, -2, -2), True),
        ({"near": 2, "plus_minus": 0.1}, (2.1, 2.1, 2.1), True),
        ({"low": 1, "high": 2}, (1.5, 0.81, 2.19), True),
        ({"low": 1, "high": 2}, (1.5, 0.79, 2), None),
        ({"low": 1, "high": 2}, (1.5, 1, 2.21), None),
        ({"low": 1, "high": 2}, (2.5, 1.9, 3), None),
        ({"low": 1, "high": 2}, (2.5, 2.1, 3), False),
        ({"low": 1, "high": 2}, (0.5, 0.1, 1.1), None),
        ({"low": 1, "high": 2}, (0.5, 0.1, 0.9), False),
        ({"equals": 3}, (3, 3, 3), True),
        ({"equals": 3}, (4, 4, 4), False),
    ],
)
def test_ends_of_intervals_decide_exactly(bound, interval, holds):
    assert parse(Criterion, bound, "test").judge(Result(*interval)) is holds


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({}, "give a criterion"),
        ({"anywhere": {"above": 1}, "elsewhere": {"above": 1}}, "anywhere excludes there and elsewhere"),
        ({"anywhere": {"above": 1}, "there": {"above": 1}}, "anywhere excludes there and elsewhere"),
        ({"anywhere": {"above": 1, "below": 2}}, "give near with within"),
        ({"anywhere": {"near": 1}}, "give near with within"),
        ({"anywhere": {"above": 1}, "standing": "imprecise"}, "give standing and arithmetic together"),
        ({"anywhere": {"above": 1}, "arithmetic": "1 + 1"}, "give standing and arithmetic together"),
        ({"anywhere": {"above": 1}, "counterexample": {}}, "only a claim about every graph or width"),
    ],
)
def test_contradictory_claims_are_refused(facts, message):
    with pytest.raises(ConfigError, match=message):
        claim(**facts)


def test_machine_of_the_papers_kind_and_others_have_their_own_criteria(tmp_path, book):
    made = claim(machine="titan", there={"near": 4, "within": 0.1}, elsewhere={"above": 1})
    here = both(both(Records(tmp_path / "a"), "kruskal", 1.0), "boruvka", 2.0).source()
    there = both(both(Records(tmp_path / "b", "titan-box", TITAN), "kruskal", 1.0), "boruvka", 2.0).source()
    outcome = judged(made, here, book)
    assert (outcome.on_kind, outcome.verdict) == (False, CONFIRMED)
    outcome = judged(made, there, book)
    assert (outcome.on_kind, outcome.verdict) == (True, CONTRADICTED)


def test_claim_about_one_machine_is_not_comparable_on_another(twice, book):
    outcome = judged(claim(machine="titan", there={"near": 2, "within": 0.1}), twice, book)
    assert outcome.verdict == NOT_COMPARABLE and "a Titan V" in outcome.reason and outcome.result is not None


def test_claim_about_one_machine_is_not_comparable_on_another_before_it_is_measured(tmp_path, records, book):
    made = claim(machine="titan", there={"near": 2, "within": 0.1})
    here = both(records, "kruskal", 1.0).source()
    there = both(Records(tmp_path / "b", "titan-box", TITAN), "kruskal", 1.0).source()
    outcome = judged(made, here, book)
    assert outcome.verdict == NOT_COMPARABLE and "a Titan V" in outcome.reason and outcome.result is None
    assert judged(made, there, book).verdict == NOT_MEASURED


def test_criterion_for_other_machines_may_have_its_own_formula(twice, book):
    elsewhere = {"quantity": "T('kruskal', 'com-youtube')", "near": 1, "within": 0.1}
    made = claim(machine="titan", there={"near": 99, "within": 0.1}, elsewhere=elsewhere)
    assert judged(made, twice, book).result.value == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize(
    ("needs", "message"),
    [
        ({"gpu": True}, "needs a GPU"),
        ({"cores": 64}, "needs 64 cores, but this machine has 8"),
        ({"threads": 64}, "needs 64 hardware threads"),
        ({"gpu": True, "gpu_memory": True}, "needs a GPU, but this machine has none"),
    ],
)
def test_machine_without_needed_hardware_is_not_comparable(twice, book, needs, message):
    outcome = judged(claim(anywhere={"above": 1}, needs=needs), twice, book)
    assert outcome.verdict == NOT_COMPARABLE and message in outcome.reason and outcome.result is None


@pytest.mark.parametrize(
    ("gpu", "lacking"),
    [
        ("NVIDIA TITAN V", "needs a GPU of 80 GB, but this machine has NVIDIA TITAN V"),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA A100-SXM4-80GB", None),
    ],
)
def test_gpus_of_80_gb_are_known_by_name(gpu, lacking):
    machine = {"gpus": [gpu], "cores": 1, "hardware_threads": 1}
    assert claims.Needs(gpu=True, gpu_memory=True).lacking(machine) == lacking


def test_missing_numbers_never_confirm(records, book):
    source = both(records, "kruskal", 1.0).source()
    outcome = judged(claim(anywhere={"above": 1}), source, book)
    assert outcome.verdict == NOT_MEASURED and "boruvka on USA-road-d.NY: not run" in outcome.reason
    source = records.add("boruvka", ROAD, 2.0).source()
    outcome = judged(claim(anywhere={"above": 1}), source, book)
    assert outcome.verdict == NOT_MEASURED
    assert outcome.result.missing
    assert outcome.result.value == pytest.approx(2, rel=0.02)


def test_printed_numbers_alone_are_not_measured(records, book):
    source = both(records, "kruskal", 1.0).source()
    quantity = "published('ecl-mst/table-3', 'ecl_mst', 'internet')"
    outcome = judged(claim(quantity, anywhere={"above": 0}), source, book)
    assert outcome.verdict == NOT_MEASURED and "printed numbers alone" in outcome.reason


def test_part_contradicts_a_claim_about_every_graph_and_never_confirms_it(records, book):
    source = both(records, "kruskal", 1.0).add("boruvka", ROAD, 0.5).source()
    assert judged(claim(LEAST, anywhere={"above": 1}, every=True), source, book).verdict == CONTRADICTED
    assert judged(claim(LEAST, anywhere={"above": 1}), source, book).verdict == NOT_MEASURED
    assert judged(claim(LEAST, anywhere={"below": 1}, every=True), source, book).verdict == NOT_MEASURED


def test_runs_of_few_processes_do_not_shield_a_claim_about_every_graph(records, book):
    source = (
        both(records, "kruskal", 1.0)
        .add("boruvka", ROAD, 0.5)
        .add("boruvka", SOCIAL, 2.0, processes=2)
        .source()
    )
    outcome = judged(claim(LEAST, anywhere={"above": 1}, every=True), source, book)
    assert outcome.verdict == CONTRADICTED and "of fewer than three processes" in outcome.result.missing[0]
    assert outcome.result.missing and outcome.result.used == [ROAD.name]
    for other in (
        claim(LEAST, anywhere={"below": 1}, every=True),
        claim(LEAST, anywhere={"above": 1}),
        claim("max(T('boruvka', g) / T('kruskal', g) for g in BOTH)", anywhere={"below": 1}, every=True),
    ):
        assert judged(other, source, book).verdict == NOT_MEASURED


@pytest.mark.parametrize("width", ["", "@best"])
def test_where_run_skips_wrong_and_failed_runs(records, book, width):
    made = records.add("kruskal", ROAD, 1.0).add("kruskal", SOCIAL, 1.0).add("boruvka", ROAD, 2.0)
    source = made.add("boruvka", SOCIAL, 4.0, wrong="an edge too many").source()
    quantity = f"T('boruvka{width}', g) / T('kruskal', g) for g in BOTH"
    where = judged(claim(f"gm(where_run({quantity}))", anywhere={"above": 1}), source, book)
    assert where.verdict == CONFIRMED and where.result.value == pytest.approx(2, rel=0.02)
    assert f"skipped: boruvka on {SOCIAL.name}: wrong" in where.reason
    assert judged(claim(f"gm({quantity})", anywhere={"above": 1}), source, book).verdict == NOT_MEASURED


@pytest.mark.parametrize("whole", ["gm", "mean", "median", "kendall"])
def test_mean_or_correlation_of_a_part_contradicts_no_claim_about_every_graph(records, book, whole):
    source = records.add("kruskal", ROAD, 1.0).source()
    term = "(n(g), T('kruskal', g))" if whole == "kendall" else "T('kruskal', g)"
    part = claim(f"{whole}({term} for g in BOTH)", every=True, anywhere={"above": 3})
    assert judged(part, source, book).verdict == NOT_MEASURED


def test_smaller_machine_gives_a_counterexample_only(records, twice, book):
    needs = {"needs": {"cores": 64}, "every": True}
    small = claim(LEAST, anywhere={"above": 3}, counterexample={"cores": 8}, **needs)
    assert judged(small, twice, book).verdict == CONTRADICTED
    for other in (
        claim(LEAST, anywhere={"above": 1}, counterexample={"cores": 8}, **needs),
        claim(LEAST, anywhere={"above": 3}, counterexample={"cores": 16}, **needs),
        claim(LEAST, anywhere={"above": 3}, **needs),
    ):
        outcome = judged(other, twice, book)
        assert outcome.verdict == NOT_COMPARABLE and outcome.result is None
        assert outcome.reason == "needs 64 cores, but this machine has 8"
    shutil.rmtree(records.folder / records.name / SOCIAL.name / "boruvka")
    part = claim(LEAST, anywhere={"above": 1}, counterexample={"cores": 8}, **needs)
    outcome = judged(part, records.source(), book)
    assert outcome.verdict == NOT_MEASURED
    assert outcome.reason.endswith("not run; confirming it needs 64 cores, but this machine has 8")
    with pytest.raises(ConfigError, match="every graph or width"):
        claim(LEAST, anywhere={"above": 3}, counterexample={"cores": 8})


def test_runs_of_few_processes_judge_nothing(records, book):
    source = both(both(records, "kruskal", 1.0, processes=2), "boruvka", 2.0).source()
    outcome = judged(claim(anywhere={"above": 1}), source, book)
    assert outcome.verdict == NOT_MEASURED and "fewer than three processes" in outcome.reason


@pytest.mark.parametrize(("seconds", "way"), [(2.0, "agrees"), (0.5, "disagrees")])
def test_port_never_judges_a_program_that_is_available(records, book, seconds, way):
    source = both(both(records, "kruskal", 1.0), "boruvka", seconds).source()
    outcome = judged(claim(anywhere={"above": 1}), source, book, paper="q")
    assert outcome.verdict == NOT_MEASURED and outcome.by == "port"
    assert f"our port {way}" in outcome.reason
    assert "command-theirs on USA-road-d.NY: not run" in outcome.reason


def test_original_program_judges(records, twice, book):
    book = book.model_copy(update={"originals": {"boruvka": "command-theirs", "kruskal": "kruskal"}})
    both(records, "command-theirs", 0.5, paradigm="peer", grade="weight")
    outcome = judged(claim(anywhere={"above": 1}), records.source(), book, paper="q")
    assert outcome.verdict == CONTRADICTED and outcome.by == "original"
    assert outcome.result.value == pytest.approx(0.5, rel=0.02)
    assert judged(claim(anywhere={"above": 1}), twice, book, paper="q").by == "port"


def test_port_stands_in_for_a_program_that_was_measured_in_part(records, twice, book):
    book = book.model_copy(update={"originals": {"boruvka": "command-theirs", "kruskal": "kruskal"}})
    source = records.add("command-theirs", ROAD, 2.0, paradigm="peer", grade="weight").source()
    outcome = judged(claim(anywhere={"above": 1}), source, book, paper="q")
    assert (outcome.verdict, outcome.by) == (NOT_MEASURED, "port") and "our port agrees" in outcome.reason


def test_one_counterexample_of_the_original_program_decides(records, twice, book):
    book = book.model_copy(update={"originals": {"boruvka": "command-theirs", "kruskal": "kruskal"}})
    source = records.add("command-theirs", ROAD, 0.5, paradigm="peer", grade="weight").source()
    outcome = judged(claim(LEAST, anywhere={"above": 1}, every=True), source, book, paper="q")
    assert (outcome.verdict, outcome.by) == (CONTRADICTED, "original")


def test_printed_numbers_have_a_value_only_if_none_is_missing():
    for graphs, complete in (("'internet',", True), ("'internet', 'grid-1024'", False)):
        made = claim(f"gm(T('ecl-mst-cuda', g) for g in ({graphs}))", anywhere={"above": 0})
        assert (claims.own_value(made, "ecl-mst", Names({})) is not None) is complete


def test_unproved_wrong_and_failed_runs_count_for_nothing(records, book):
    both(records, "kruskal", 1.0)
    records.add("boruvka", ROAD, 2.0, wrong="12 ids differ").add("boruvka", SOCIAL, 2.0, grade=None)
    outcome = judged(claim(anywhere={"above": 1}), records.source(), book)
    assert outcome.verdict == NOT_MEASURED and outcome.result is None
    assert "12 ids differ" in outcome.reason and "unproved" in outcome.reason
    ran = judged(claim("sum(ran('boruvka', g) for g in BOTH)", anywhere={"equals": 0}), records.source(), book)
    assert ran.verdict == CONFIRMED
    unknown = judged(claim("wrong('boruvka', 'com-youtube')", anywhere={"equals": 0}), records.source(), book)
    assert unknown.verdict == NOT_MEASURED and "unproved" in unknown.reason
    wrong = judged(claim("wrong('boruvka', 'USA-road-d.NY')", anywhere={"equals": 0}), records.source(), book)
    assert wrong.verdict == CONTRADICTED and wrong.result.value == 1


def test_widths_best_and_oversubscribed(records, book):
    records.add("kruskal", ROAD, 1.0)
    for width, seconds, flags in ((1, 4.0, ()), (2, 2.0, ()), (4, 3.0, ()), (16, 1.0, ("oversubscribed",))):
        records.add("reservation-kruskal", ROAD, seconds, width=width, flags=flags, paradigm="threads")
    source, best = records.source(), "T('reservation-kruskal@best', 'USA-road-d.NY')"
    assert judged(claim(best, anywhere={"near": 2, "within": 0.05}), source, book).verdict == CONFIRMED
    plain = judged(claim(best.replace("best", "16"), anywhere={"above": 0}), source, book)
    assert plain.verdict == NOT_MEASURED
    meant = judged(claim(best.replace("best", "16+"), anywhere={"near": 1, "within": 0.05}), source, book)
    assert meant.verdict == CONFIRMED
    for width, verdict in (("16!", CONFIRMED), ("4!", NOT_MEASURED)):
        only = claim(best.replace("best", width), anywhere={"above": 0})
        assert judged(only, source, book).verdict == verdict


def test_phases_counters_facts_and_memory(records, book):
    source = records.add("kruskal", ROAD, 1.0).source()
    for quantity, value in (
        ("share('kruskal', 'USA-road-d.NY', 'map')", 0.75),
        ("phase('kruskal', 'USA-road-d.NY', 'union')", 1.0),
        ("counter('kruskal', 'USA-road-d.NY', 'rounds')", 5),
        ("counter('kruskal', 'USA-road-d.NY', 'edges by round[1]')", 3),
        ("counter('kruskal', 'USA-road-d.NY', 'edges by round[-2]')", 8),
        ("counter('kruskal', 'USA-road-d.NY', 'edges by round[mean]')", 5.5),
        ("m('USA-road-d.NY') / n('USA-road-d.NY')", ROAD.m / ROAD.n),
        ("memory('kruskal', 'USA-road-d.NY')", 24 * ROAD.m + 1_000_000),
    ):
        made = claim(quantity, anywhere={"near": value, "within": 1e-6})
        assert judged(made, source, book).verdict == CONFIRMED


def test_older_proved_version_has_the_numbers_that_the_newest_lacks(records, book):
    newer = dict(commit="b" * 40, created="2026-11-21T10:00:00+00:00", counters=False)
    for graph in (ROAD, SOCIAL):
        records.add("kruskal", graph, 1.0, wrong="too heavy" if graph is SOCIAL else None)
        records.add("kruskal", graph, 3.0, **newer)
    newest = [
        {**vars(r.run), "current": r.measurement["created"] == newer["created"]}
        for r in load_records(records.folder)
    ]
    for source in (records.source(), *gather(load_records(records.folder), newest)):
        verdicts = []
        for quantity, value in (
            ("T('kruskal', 'USA-road-d.NY')", 3.0),
            ("counter('kruskal', 'USA-road-d.NY', 'rounds')", 5),
            (f"counter('kruskal', '{SOCIAL.name}', 'rounds')", 5),
        ):
            made = claim(quantity, anywhere={"near": value, "within": 0.01})
            verdicts.append(judged(made, source, book).verdict)
        assert verdicts == [CONFIRMED, CONFIRMED, NOT_MEASURED]
    of_other_code = [{**row, "current": False} for row in newest]
    assert gather(load_records(records.folder), of_other_code) == []


@pytest.mark.parametrize(
    ("criterion", "value", "low", "high", "verdict"),
    [
        ({"near": 10, "within": 0.1}, 9, 8, 9.1, True),
        ({"near": 10, "within": 0.1}, 9, 7.8, 9.1, None),
        ({"near": 10, "within": 0.1}, 8.5, 8, 9.1, None),
        ({"near": 10, "within": 0.1}, 8, 7, 8.9, False),
        ({"near": 10, "within": 0.1}, 9.5, 7, 8.9, None),
        ({"near": -0.06, "plus_minus": 0.1}, 0.04, 0.03, 0.05, True),
        ({"near": -0.06, "plus_minus": 0.1}, 0.04, 0.03, 0.2, None),
        ({"low": 1, "high": 2}, 2, 1.9, 2.2, True),
        ({"low": 1, "high": 2}, 2, 1.9, 5, None),
        ({"low": 1, "high": 2}, 2.5, 1.9, 5, None),
        ({"low": 1, "high": 2}, 2.5, 2.1, 5, False),
        ({"equals": 7}, 7, 7, 7, True),
        ({"equals": 7}, 6, 6, 6, False),
        ({"above": 1}, 1.5, 1.01, 2, True),
        ({"above": 1}, 0.7, 0.5, 1, False),
        ({"above": 1}, 1, 0.9, 1.1, None),
        ({"below": 1}, 0.7, 0.5, 0.9, True),
        ({"below": 1}, 1.5, 1, 2, False),
        ({"below": 1}, 1, 0.9, 1.1, None),
    ],
)
def test_interval_logic(criterion, value, low, high, verdict):
    assert parse(Criterion, criterion, "test").judge(Result(value, low, high)) is verdict


@pytest.mark.parametrize("criterion", [{}, {"near": 1}, {"low": 1}, {"above": 1, "below": 2}, {"within": 0.1}])
def test_empty_or_ambiguous_criterion_is_refused(criterion):
    with pytest.raises(ConfigError, match="give near"):
        parse(Criterion, criterion, "test")


def test_overall_prefers_the_paper_s_machine_and_lets_no_machine_outvote_another():
    def overall(*verdicts, kinds=()):
        return claims.overall(claims.Outcome("m", v, "", v in kinds) for v in verdicts)

    assert overall() == NOT_MEASURED
    assert overall(NOT_COMPARABLE) == NOT_COMPARABLE
    assert overall(NOT_MEASURED, NOT_COMPARABLE) == NOT_MEASURED
    assert overall(NOT_MEASURED, UNDECIDED, NOT_COMPARABLE) == UNDECIDED
    assert overall(CONFIRMED, UNDECIDED, NOT_MEASURED) == CONFIRMED
    assert overall(CONFIRMED, CONTRADICTED, CONFIRMED) == DISAGREE
    assert overall(CONFIRMED, CONTRADICTED, kinds=[CONFIRMED]) == CONFIRMED


def test_kinds_look_at_gpu_and_processor():
    kind = Kind(title="both", gpu="TITAN V", cpu="2950X")
    assert kind.matches(TITAN.as_dict()) and not kind.matches(fake_records.GPU_BOX.as_dict())


# Stand-ins.

STAND_IN = GRAPHS["uniform-2e14"]


def test_stand_ins_of_an_experiment_cover_its_graphs_and_those_left_out():
    known = claims.document().stand_ins
    graphs = {"graphs": ["USA-road-d.BAY", "rmat16.sym"], "left_out": {"kron_g500-logn21.mtx": "too large"}}
    paper = Experiment(title="t", runs=[{"algorithms": ["kruskal"]}], **graphs)
    names = ("USA-road-d.BAY", "kron_g500-logn21.mtx")
    assert claims.stand_ins_of(paper) == {name: known[name] for name in names}


@pytest.fixture
def stand_ins(book, monkeypatch) -> Document:
    """A book in which another graph may be measured in place of the social one."""
    facts = {"n": STAND_IN.n, "m": STAND_IN.m, "components": STAND_IN.components}
    monkeypatch.setattr(evidence, "facts_of_input", lambda graph: {**facts, "maximum_degree": 40})
    return book.model_copy(update={"stand_ins": {SOCIAL.name: STAND_IN.name}})


def stood_in(records, seconds, **more):
    """Both algorithms on the roads and on the stand-in; nothing of the social graph."""
    for graph in (ROAD, STAND_IN):
        records.add("kruskal", graph, 1.0, **more).add("boruvka", graph, seconds, **more)
    return records


def of_stand_ins(records, **more):
    """The source of these records, which knows how large the stand-in is."""
    facts = {
        "name": STAND_IN.name,
        "status": "ok",
        "n": STAND_IN.n,
        "m": STAND_IN.m,
        "maximum_degree": 42,
        **more,
    }
    (source,) = gather(load_records(records.folder), manifests=[{"components": STAND_IN.components, **facts}])
    return source


@pytest.mark.parametrize(
    ("seconds", "criterion", "verdict"),
    [
        (2.0, {"above": 1}, CONFIRMED),
        (0.5, {"above": 1}, CONTRADICTED),
        (1.0, {"above": 1}, UNDECIDED),
        (2.0, {"near": 2, "within": 0.1}, CONFIRMED),
        (2.0, {"near": 3, "within": 0.1}, CONTRADICTED),
    ],
)
def test_stand_ins_have_a_verdict_of_their_own(records, stand_ins, seconds, criterion, verdict):
    source = of_stand_ins(stood_in(records, seconds, noise=0.02 if verdict == UNDECIDED else 0.001))
    outcome = judged(claim(anywhere=criterion), source, stand_ins)
    assert outcome.verdict == NOT_MEASURED == claims.overall([outcome])
    besides = outcome.on_stand_ins
    assert besides.verdict == f"{verdict} on stand-ins"
    assert "1 of 2 inputs: uniform-2e14 for com-youtube (" in besides.reason
    assert besides.reason.endswith("components; largest degree 42 for 40)")
    assert besides.result.stood_in == {SOCIAL.name: STAND_IN.name} and STAND_IN.name in besides.result.used
    assert besides.result.value == pytest.approx(seconds, rel=0.1) and besides.result.low < besides.result.high
    assert not besides.result.missing and len(besides.result.records) == 4


@pytest.mark.parametrize("fact", ["n", "m", "components", "maximum_degree"])
def test_stand_in_that_differs_by_more_than_a_tenth_counts_for_nothing(records, stand_ins, fact):
    stood_in(records, 2.0)
    true = {**evidence.facts_of_input("any"), "maximum_degree": 40}[fact]
    near, far, less = (of_stand_ins(records, **{fact: int(factor * true)}) for factor in (1.1, 2, 0.5))
    assert judged(claim(anywhere={"above": 1}), less, stand_ins).on_stand_ins is None
    made = claim(anywhere={"above": 1})
    assert judged(made, near, stand_ins).on_stand_ins.verdict == "confirmed on stand-ins"
    assert judged(made, far, stand_ins).on_stand_ins is None


def test_regenerated_graph_under_the_name_in_print_is_a_stand_in(records, stand_ins):
    book = stand_ins.model_copy(update={"sets": {"ONE": ((SOCIAL.name, STAND_IN.name),)}})
    source = of_stand_ins(stood_in(records, 2.0))
    quantity = "gm(T('boruvka', g) / T('kruskal', g) for g in ONE)"
    outcome = judged(claim(quantity, anywhere={"above": 1}), source, book)
    assert (outcome.verdict, outcome.on_stand_ins.verdict) == (NOT_MEASURED, "confirmed on stand-ins")


def test_stand_ins_of_a_claim_about_every_graph_are_no_counterexample(records, stand_ins):
    made = claim(LEAST, anywhere={"above": 1}, every=True)
    records.add("kruskal", ROAD, 1.0).add("boruvka", ROAD, 2.0)
    source = of_stand_ins(records.add("kruskal", STAND_IN, 1.0).add("boruvka", STAND_IN, 0.5))
    outcome = judged(made, source, stand_ins)
    assert (outcome.verdict, outcome.on_stand_ins.verdict) == (NOT_MEASURED, "contradicted on stand-ins")


def test_true_counterexample_counts_beside_stand_ins(records, stand_ins):
    source = of_stand_ins(stood_in(records, 0.5))
    outcome = judged(claim(LEAST, anywhere={"above": 1}, every=True), source, stand_ins)
    assert outcome.verdict == CONTRADICTED and outcome.result.missing and not outcome.result.stood_in
    assert STAND_IN.name not in outcome.result.used


@pytest.mark.parametrize("seconds", [2.0, 0.5])
def test_measured_inputs_are_judged_without_stand_ins(records, book, stand_ins, seconds):
    source = both(stood_in(records, 1 / seconds), "kruskal", 1.0)
    source = both(records, "boruvka", seconds).source()
    made = claim(anywhere={"above": 1})
    outcome = judged(made, source, stand_ins)
    assert outcome == judged(made, source, book) and not outcome.result.stood_in
    assert outcome.verdict == (CONFIRMED if seconds > 1 else CONTRADICTED)


def test_partly_measured_input_has_no_stand_in(records, stand_ins):
    source = stood_in(records, 2.0).add("kruskal", SOCIAL, 1.0).source()
    outcome = judged(claim(anywhere={"above": 1}), source, stand_ins)
    assert outcome.verdict == NOT_MEASURED and "boruvka on com-youtube: not run" in outcome.reason


@pytest.mark.parametrize("status", ["unavailable", "ok"])
def test_stand_in_replaces_an_unavailable_input_of_known_size(records, stand_ins, status):
    source = of_stand_ins(stood_in(records, 2.0))
    source.facts[SOCIAL.name] = {"name": SOCIAL.name, "status": status, "n": 5, "m": 4}
    made = claim("m('com-youtube') * T('kruskal', 'com-youtube')", anywhere={"above": 1})
    outcome = judged(made, source, stand_ins).on_stand_ins
    assert outcome.result.value == pytest.approx(STAND_IN.m, rel=0.02)


@pytest.mark.parametrize("measured", ["kruskal", "boruvka"])
def test_partly_measured_stand_ins_change_nothing(records, book, stand_ins, measured):
    made = claim(anywhere={"above": 1})
    records.add("kruskal", ROAD, 1.0).add("boruvka", ROAD, 2.0)
    source = records.add(measured, STAND_IN, 1.0).source()
    assert judged(made, source, stand_ins) == judged(made, source, book)
    assert judged(made, source, stand_ins).verdict == NOT_MEASURED


def test_stand_ins_of_few_processes_judge_nothing(records, book, stand_ins):
    source = stood_in(records, 2.0, processes=2).source()
    made = claim(anywhere={"above": 1})
    outcome = judged(made, source, stand_ins)
    assert outcome.verdict == NOT_MEASURED and outcome == judged(made, source, book)


def test_stand_ins_change_no_claim_about_another_or_a_larger_machine(records, book, stand_ins):
    source = stood_in(records, 2.0).source()
    for made in (
        claim(machine="titan", there={"near": 2, "within": 0.1}),
        claim(anywhere={"above": 1}, needs={"cores": 64}),
        claim(LEAST, anywhere={"above": 3}, needs={"cores": 64}, every=True, counterexample={"cores": 8}),
    ):
        assert judged(made, source, stand_ins) == judged(made, source, book)
    only = claim(LEAST, anywhere={"above": 1}, needs={"cores": 64}, every=True, counterexample={"cores": 8})
    records.add("boruvka", STAND_IN, 0.5)
    outcome = judged(only, records.source(), stand_ins)
    assert outcome.verdict == NOT_MEASURED and outcome.on_stand_ins is None
    assert outcome.reason.endswith("not run; confirming it needs 64 cores, but this machine has 8")


def test_claims_about_facts_use_no_stand_ins(records, stand_ins):
    source = of_stand_ins(stood_in(records, 2.0))
    made = claim("max(n(g) for g in BOTH)", anywhere={"above": 0}, judge="facts")
    assert judged(made, source, stand_ins).on_stand_ins is None
    ours = claim("max(n(g) for g in BOTH)", anywhere={"above": 0})
    assert judged(ours, source, stand_ins).on_stand_ins


@pytest.mark.parametrize("named", ["g", "'as-skitter'"])
def test_printed_numbers_are_of_the_input_and_facts_of_its_stand_in(records, stand_ins, named):
    """The graph is a member of a set, or one that the formula itself names."""
    book = stand_ins.model_copy(
        update={"stand_ins": {"as-skitter": STAND_IN.name}, "sets": {"ONE": ("as-skitter",)}}
    )
    source = of_stand_ins(records.add("kruskal", STAND_IN, 1.0))
    printed = f"mean(published('ecl-mst/table-2', 'vertices', {named}) * T('kruskal', {named}) for g in ONE)"
    outcome = judged(claim(printed, anywhere={"above": 0}), source, book).on_stand_ins
    assert outcome.result.value == pytest.approx(1_696_415, rel=0.02)
    ours = f"mean(m({named}) / n({named}) * T('kruskal', {named}) for g in ONE)"
    outcome = judged(claim(ours, anywhere={"above": 0}), source, book).on_stand_ins
    assert outcome.result.value == pytest.approx(STAND_IN.m / STAND_IN.n, rel=0.02)


def test_port_on_stand_ins_has_no_verdict(records, stand_ins):
    book = stand_ins.model_copy(update={"originals": {"boruvka": "command-theirs", "kruskal": "kruskal"}})
    outcome = judged(claim(anywhere={"above": 1}), of_stand_ins(stood_in(records, 2.0)), book, paper="q")
    assert outcome.verdict == NOT_MEASURED and outcome.on_stand_ins is None
    for graph in (ROAD, STAND_IN):
        records.add("command-theirs", graph, 0.5, paradigm="peer", grade="weight")
    outcome = judged(claim(anywhere={"above": 1}), of_stand_ins(records), book, paper="q").on_stand_ins
    assert outcome.by == "original" and outcome.verdict == "contradicted on stand-ins"
    assert outcome.result.value == pytest.approx(0.5, rel=0.02)


# Records that may judge.


@pytest.mark.parametrize("spans", [[], TURNS])
@pytest.mark.parametrize("disturbed", ["kruskal", "boruvka"])
@pytest.mark.parametrize("flag", ["busy", "stolen", "throttled"])
def test_disturbed_records_judge_nothing(records, book, flag, disturbed, spans):
    for algorithm, seconds in (("kruskal", 1.0), ("boruvka", 2.0)):
        both(records, algorithm, seconds, flags=(flag,) if algorithm == disturbed else ())
    outcome = judged(claim(anywhere={"above": 1}), change(records, spans=spans), book)
    assert outcome.verdict == NOT_MEASURED
    assert f"{disturbed} at width 1 on USA-road-d.NY: disturbed ({flag})" in outcome.reason


def test_runs_whose_interval_is_wide_judge_nothing_but_their_spread_and_counters(records, book):
    """The interval of the median counts, not the flag of the record, which is of the range."""
    at = f"'boruvka', '{ROAD.name}'"
    records.add("boruvka", ROAD, 2.0, flags=("spread",))
    times, spread, rounds = (
        claim(text, anywhere={"above": 0}) for text in (f"T({at})", f"spread({at})", f"counter({at}, 'rounds')")
    )

    def verdict(made, *medians):
        source = change(records, samples={"compute": [[median, 1.001 * median] for median in medians]})
        return judged(made, source, book)

    assert verdict(times, 1.0, 1.0, 1.05).verdict == CONFIRMED
    wide = verdict(times, 1.0, 1.0, 1.2)
    assert wide.verdict == NOT_MEASURED and "spread too wide (1 to 1.2 s)" in wide.reason
    assert verdict(spread, 1.0, 1.0, 1.2).verdict == verdict(rounds, 1.0, 1.0, 1.2).verdict == CONFIRMED
    # Of nine processes one may be disturbed, of two any number.
    assert verdict(times, *[1.0] * 8, 1.2).verdict == CONFIRMED
    share = claim(f"T({at})", anywhere={"low": 0, "high": 2})
    assert verdict(share, *[1.0] * 8, 1.2).verdict == CONFIRMED
    assert verdict(share, *[1.0] * 7, 1.2, 1.2).verdict == NOT_MEASURED
    # Microseconds differ by less than the call of a function takes.
    assert verdict(times, 5e-5, 5e-5, 6e-5).verdict == CONFIRMED


def test_wide_interval_of_95_percent_judges_a_direction_and_misses_a_range(records, book):
    """It holds for the noise that widened it: the whole of it lies on one side, or nothing is decided."""
    records.add("boruvka", ROAD, 2.0)

    def verdict(bound, *medians):
        source = change(records, samples={"compute": [[median, 1.001 * median] for median in medians]})
        return judged(claim(f"T('boruvka', '{ROAD.name}')", anywhere=bound), source, book).verdict

    six = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
    assert verdict({"above": 0.9}, *six) == CONFIRMED and verdict({"below": 0.9}, *six) == CONTRADICTED
    assert verdict({"above": 1.2}, *six) == UNDECIDED
    # The range of five covers the median with 93.75 %, and a range may contain a value by luck.
    missed, met, overlapped = {"low": 2.0, "high": 2.5}, {"low": 0.0, "high": 2.0}, {"low": 1.4, "high": 1.9}
    assert verdict({"above": 0.9}, *six[:5]) == verdict(missed, *six[:5]) == NOT_MEASURED
    assert verdict(missed, *six) == CONTRADICTED
    assert verdict(met, *six) == verdict(overlapped, *six) == NOT_MEASURED


def in_turns(records, spans, **times):
    """Write the times of each algorithm's processes, and the minutes in which each process began and ended."""
    for path in records.folder.rglob("*.json"):
        value = fake_records.read_json(path)
        if "samples" in value:
            algorithm = value["run"]["algorithm"]
            value["samples"]["compute"] = [[time] for time in times[algorithm]]
            value["spans"] = [
                [f"2026-11-26T04:{minute:02}:00+00:00" for minute in span] for span in spans[algorithm]
            ]
            path.write_text(json.dumps(value))
    return records.source()


SLOWER_AND_FASTER = np.array([1.0, 1.5, 0.8, 1.2, 1.1, 0.9])
THERE_AND_BACK = {
    "kruskal": [(0, 1), (3, 4), (4, 5), (7, 8), (8, 9), (11, 12)],
    "boruvka": [(1, 2), (2, 3), (5, 6), (6, 7), (9, 10), (10, 11)],
}
ONE_BY_ONE = {"kruskal": [(k, k + 1) for k in range(6)], "boruvka": [(k, k + 1) for k in range(6, 12)]}
UNKNOWN = {"kruskal": [], "boruvka": []}  # in older records


@pytest.mark.parametrize(
    ("spans", "verdict"), [(THERE_AND_BACK, CONFIRMED), (ONE_BY_ONE, UNDECIDED), (UNKNOWN, UNDECIDED)]
)
def test_processes_that_took_turns_are_compared_turn_by_turn(records, book, spans, verdict):
    """Noise that lasts longer than a turn affects both, and decides nothing."""
    records.add("kruskal", ROAD, 1.0).add("boruvka", ROAD, 1.0)
    source = in_turns(records, spans, kruskal=SLOWER_AND_FASTER, boruvka=1.1 * SLOWER_AND_FASTER)
    outcome = judged(
        claim(f"T('boruvka', '{ROAD.name}') / T('kruskal', '{ROAD.name}')", anywhere={"above": 1}), source, book
    )
    assert outcome.verdict == verdict


def test_turns_that_only_one_of_two_runs_took_are_left_out(records, book):
    records.add("kruskal", ROAD, 1.0).add("boruvka", ROAD, 1.0)
    ratio = claim(f"T('boruvka', '{ROAD.name}') / T('kruskal', '{ROAD.name}')", anywhere={"above": 1})
    shorter = {**THERE_AND_BACK, "boruvka": THERE_AND_BACK["boruvka"][:5]}
    found = in_turns(records, shorter, kruskal=SLOWER_AND_FASTER, boruvka=1.1 * SLOWER_AND_FASTER[:5])
    assert judged(ratio, found, book).result.processes == 5
    two = in_turns(records, shorter, kruskal=SLOWER_AND_FASTER, boruvka=1.1 * SLOWER_AND_FASTER[:2])
    assert judged(ratio, two, book).verdict == NOT_MEASURED


def test_range_judges_ratios_of_turns_that_vary_little_however_much_the_times_do(records, book):
    records.add("kruskal", ROAD, 1.0).add("boruvka", ROAD, 1.0)
    quantity = f"T('boruvka', '{ROAD.name}') / T('kruskal', '{ROAD.name}')"
    little, much = [1.1, 1.12, 1.08, 1.1, 1.09, 1.11], [1.0, 1.2, 1.1, 1.15, 1.05, 1.1]

    def verdict(ratios, times, **bounds):
        source = in_turns(records, THERE_AND_BACK, kruskal=times, boruvka=times * ratios)
        return judged(claim(quantity, anywhere=bounds or {"low": 1, "high": 1.2}), source, book)

    assert verdict(little, SLOWER_AND_FASTER).verdict == CONFIRMED
    for times in (SLOWER_AND_FASTER, np.ones(6)):
        wide = verdict(much, times)
        assert wide.verdict == NOT_MEASURED
        assert "boruvka@1 / kruskal@1 on USA-road-d.NY: spread too wide (1 to 1.2)" in wide.reason
        shown = evaluate(quantity, records.source(), Names({}))
        assert (shown.value, shown.objections) == (pytest.approx(1.1), ["spread too wide (1 to 1.2)"])
        assert verdict(much, times, above=0.9).verdict == CONFIRMED
    # Microseconds differ by less than the call of a function takes.
    assert verdict(much, np.full(6, 5e-5)).verdict == CONFIRMED


def test_ratios_of_turns_are_of_medians_or_of_means(records):
    records.add("kruskal", ROAD, 1.0).add("boruvka", ROAD, 1.0)
    in_turns(records, THERE_AND_BACK, kruskal=SLOWER_AND_FASTER, boruvka=SLOWER_AND_FASTER)
    for path in records.folder.rglob("boruvka/**/*.json"):
        value = fake_records.read_json(path)
        if "samples" in value:
            value["samples"]["compute"] = [[time, time, 4 * time] for time in SLOWER_AND_FASTER]
            path.write_text(json.dumps(value))
    source = records.source()
    for time, ratio in (("T", 1), ("M", 2)):
        for over, under, expected in (
            ("boruvka", "kruskal", ratio),
            ("boruvka", "boruvka", 1),
            ("kruskal", "kruskal", 1),
        ):
            text = f"{time}('{over}', '{ROAD.name}') / {time}('{under}', '{ROAD.name}')"
            found = evaluate(text, source, Names({}))
            assert (found.low, found.high) == pytest.approx((expected, expected))


def test_published_claims_compare_what_alone_differs():
    """qKruskal with Kruskal of the same sort and without the filter; and a program that goes by edge index."""
    quantity = {id: claim.quantity for id, claim in claims_by_id().items()}
    assert quantity["ecl-72"] == 'T("kruskal", "USA-road-d.NY") / T("qkruskal", "USA-road-d.NY")'
    assert quantity["ecl-73"] == 'min(T("qkruskal", g) / T("filter-kruskal", g) for g in SH8)'
    assert quantity["bz-18"].startswith('wrong("flat-boruvka-cuda", "ties-100k") +')


def test_load_changes_no_counter_and_no_forest(records, book):
    records.add("boruvka", ROAD, 2.0, flags=("stolen",))
    rounds = claim(f"counter('boruvka', '{ROAD.name}', 'rounds')", anywhere={"above": 0})
    wrong = claim(f"wrong('boruvka', '{ROAD.name}')", anywhere={"equals": 0})
    assert [judged(made, records.source(), book).verdict for made in (rounds, wrong)] == [CONFIRMED] * 2
    ran = claim(f"ran('boruvka', '{ROAD.name}')", anywhere={"equals": 1})
    assert judged(ran, records.source(), book).verdict == NOT_MEASURED


def change(records, **facts):
    """Change all measurements: keys of the document, whose mappings are updated."""
    for path in records.folder.rglob("*.json"):
        value = fake_records.read_json(path)
        if "samples" in value:
            for key, new in facts.items():
                value[key] = {**value[key], **new} if isinstance(value[key], dict) and new else new
            path.write_text(json.dumps(value))
    return records.source()


@pytest.mark.parametrize("git", [{"dirty": True}, None])
def test_records_of_changed_code_judge_nothing(records, book, git):
    both(both(records, "kruskal", 1.0), "boruvka", 2.0)
    outcome = judged(claim(anywhere={"above": 1}), change(records, git=git), book)
    assert outcome.verdict == NOT_MEASURED and "uncommitted code" in outcome.reason


def test_runs_on_a_gpu_judge_with_the_versions_of_cupy_cuda_and_driver(tmp_path, book):
    records = Records(tmp_path, "titan-box", TITAN)
    both(both(records, "kruskal", 1.0), "jucele-cuda", 2.0, paradigm="cuda")
    made = claim("gm(T('jucele-cuda', g) for g in BOTH)", anywhere={"above": 1})
    outcome = judged(made, records.source(), book)
    assert outcome.verdict == NOT_MEASURED and "does not state the version of cupy and cuda" in outcome.reason
    source = change(records, versions={"cupy": "14.2.0", "cuda": "13.0"})
    assert judged(made, source, book).verdict == CONFIRMED
    both(records, "command-theirs", 2.0, paradigm="cuda", grade="weight")
    program = claim("gm(T('command-theirs', g) for g in BOTH)", anywhere={"above": 1})
    assert "the version of cuda" in judged(program, records.source(), book).reason
    source = change(records, versions={"cuda": "13.0"})
    assert judged(program, source, book).verdict == CONFIRMED


def test_failed_run_on_a_gpu_counts_without_the_version_of_cuda(tmp_path, book):
    records = Records(tmp_path, "titan-box", TITAN)
    records.add("jucele-cuda", ROAD, 2.0, paradigm="cuda", status="error", reason="an error of the library")
    made = claim(f"1 - ran('jucele-cuda', '{ROAD.name}')", anywhere={"equals": 1})
    assert judged(made, records.source(), book).reason.endswith("does not state the version of cupy")
    assert judged(made, change(records, versions={"cupy": "14.2.0"}), book).verdict == CONFIRMED


@pytest.mark.parametrize(
    "quantity",
    ["phase('boruvka', 'USA-road-d.NY', 'map')", "share('boruvka', 'USA-road-d.NY', 'map')",
     "counter('boruvka', 'USA-road-d.NY', 'rounds')",
     "memory('boruvka', 'USA-road-d.NY')", "spread('boruvka', 'USA-road-d.NY')"],
)  # fmt: skip
def test_phases_counters_memory_and_spread_need_three_processes_too(records, book, quantity):
    made = claim(quantity, anywhere={"above": -1})
    source = records.add("boruvka", ROAD, 2.0, processes=2).source()
    outcome = judged(made, source, book)
    assert (
        outcome.verdict == NOT_MEASURED
        and f"{quantity.partition('(')[0]} of fewer than three processes" in outcome.reason
    )
    source = records.add("boruvka", ROAD, 2.0, processes=3).source()
    found = judged(made, source, book)
    assert found.verdict == CONFIRMED and found.result.processes == 3


def test_program_states_the_spread_of_the_solves_of_a_process(records, book):
    made = claim("spread('boruvka', 'USA-road-d.NY')", anywhere={"below": 0.01})
    records.add("boruvka", ROAD, 2.0)
    once = {"compute": [[2.0]] * 5}
    outcome = judged(made, change(records, samples=once), book)
    assert outcome.verdict == NOT_MEASURED and "no spread in its record" in outcome.reason
    source = change(records, samples={"compute": [[1.0, 1.2]] * 5})
    assert judged(made, source, book).result.value == pytest.approx(np.sqrt(0.02) / 1.1)
    source = change(records, samples=once, counters=[{"spread": 0.002}] * 5)
    assert judged(made, source, book).verdict == CONFIRMED
    source = change(records, samples=once, counters=[{"spread": 0.02}] * 5)
    assert judged(made, source, book).verdict == CONTRADICTED


def test_excess_is_over_the_weight_of_an_exact_forest(records):
    records.add("bucket", ROAD, 1.0, grade="edges").add("kruskal", ROAD, 1.0)
    for path in records.folder.rglob("*.json"):
        value = fake_records.read_json(path)
        if value.get("forest"):
            value["forest"]["weight"] = "110" if value["run"]["algorithm"] == "bucket" else "100"
            path.write_text(json.dumps(value))
    excess = evaluate("excess('bucket', 'USA-road-d.NY')", records.source(), Names({}))
    assert excess.value == pytest.approx(0.1)
    for path in records.folder.rglob("*.json"):
        path.write_text(path.read_text().replace('"weight": "1', '"weight": "0'))
    with pytest.raises(Missing, match="no excess in its record"):
        evaluate("excess('bucket', 'USA-road-d.NY')", records.source(), Names({}))


def test_width_that_was_not_granted_is_no_number_of_that_width(records):
    records.add("cas-boruvka", ROAD, 1.0, width=4, paradigm="threads", flags=("width-not-granted",))
    with pytest.raises(Missing, match=r"cas-boruvka at width 4 on USA-road-d\.NY"):
        evaluate("T('cas-boruvka@4', 'USA-road-d.NY')", records.source(), Names({}))


def test_of_several_layouts_the_fastest_that_was_proved_counts(records):
    for layout, seconds, grade in (("1x4", 1.0, None), ("2x2", 2.0, "identical"), ("4x1", 3.0, "identical")):
        records.add("ghs-mpi", ROAD, seconds, width=4, paradigm="mpi", layout=layout, grade=grade)
    table = [vars(record.run) | {"current": True} for record in load_records(records.folder)]
    (source,) = gather(load_records(records.folder), table)
    found = evaluate("T('ghs-mpi@4', 'USA-road-d.NY')", source, Names({}))
    assert found.value == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("status", ["unsupported", "unavailable"])
def test_reason_of_the_plan_says_why_a_number_is_missing(records, status):
    records.add("kruskal", ROAD, 1.0)
    row = dict(machine="box", graph=ROAD.name, algorithm="prim-dense", options="default", width=1)
    table = [vars(record.run) | {"current": True} for record in load_records(records.folder)]
    table.append(row | {"status": status, "reason": "too large"})
    (source,) = gather(load_records(records.folder), table)
    with pytest.raises(Missing, match=r"prim-dense on USA-road-d\.NY: too large"):
        evaluate("T('prim-dense', 'USA-road-d.NY')", source, Names({}))


def test_disturbed_width_is_the_best_only_where_nothing_is_judged(records):
    records.add("cas-boruvka", ROAD, 1.0, width=1, paradigm="threads", flags=("busy",))
    records.add("cas-boruvka", ROAD, 2.0, width=4, paradigm="threads")
    source = change(records, spans=TURNS)
    for judging, value, objections in ((True, 2, []), (False, 1, ["disturbed (busy)"])):
        found = evaluate("T('cas-boruvka@best', 'USA-road-d.NY')", replace(source, judging=judging), Names({}))
        assert (found.value, found.objections) == (pytest.approx(value, rel=0.02), objections)
        text = "T('cas-boruvka@best', 'USA-road-d.NY') / T('cas-boruvka@4', 'USA-road-d.NY')"
        ratio = evaluate(text, replace(source, judging=judging), Names({}))
        assert (ratio.value, ratio.best) == (pytest.approx(value / 2, rel=0.02), found.best)
    records.add("kruskal", ROAD, 1.0)
    source = change(records, spans=TURNS, samples={"compute": [[time] for time in SLOWER_AND_FASTER[:5]]})
    text = "T('cas-boruvka@best', 'USA-road-d.NY') / T('kruskal', 'USA-road-d.NY')"
    by_turn = evaluate(text, replace(source, judging=True), Names({}))
    assert (by_turn.low, by_turn.high, by_turn.best) == (1, 1, {"cas-boruvka": {"USA-road-d.NY": 4}})


def test_share_of_nothing_and_a_round_that_did_not_come_are_missing(records):
    records.add("boruvka", ROAD, 1.0)
    source = change(records, phases=[{"union": 0.0, "map": 0.0}] * 5)
    for formula in (
        "share('boruvka', 'USA-road-d.NY', 'map')",
        "counter('boruvka', 'USA-road-d.NY', 'edges by round[2]')",
    ):
        with pytest.raises(Missing, match="in its record"):
            evaluate(formula, source, Names({}))
    last = evaluate("counter('boruvka', 'USA-road-d.NY', 'edges by round[-2]')", source, Names({}))
    assert last.value == 8


def test_printed_arcs_are_twice_the_edges_and_runs_that_failed_did_not_run():
    printed = Printed("ecl-mst", "titan-v")
    arcs = published("ecl-mst/table-2").number("arcs", ("internet",))
    assert printed.fact("m", "internet") == arcs / 2
    jucele = parse_selection("jucele-cuda")
    assert printed.leaf("ran", jucele, "amazon0601").value == 0
    with pytest.raises(Unfit, match="jucele-cuda cannot run amazon0601"):
        printed.leaf("T", jucele, "amazon0601")


def test_session_lasts_until_a_pause_after_the_end_of_all_its_runs():
    def run(path, started, created):
        times = dict(started=f"2026-11-20T{started}:00+00:00", created=f"2026-11-20T{created}:00+00:00")
        measurement = times | {"run": {"paradigm": "sequential"}}
        return SimpleNamespace(path=path, measurement=measurement, run=SimpleNamespace(algorithm="kruskal"))

    runs = [("a", "10:00", "11:00"), ("b", "10:01", "10:02"), ("c", "11:03", "11:04"), ("d", "11:10", "11:11")]
    found = evidence.sessions(run(*each) for each in runs)
    assert found["a"] == found["b"] == found["c"] != found["d"]


def test_wide_intervals_of_shares_never_judge():
    shares = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    for wide in (False, True):
        assert "spread too wide" in evidence.objection_to_numbers("share", shares, wide=wide)
    assert evidence.objection_to_numbers("share", [0.01, 0.02, 0.05]) == ""


def test_stand_in_needs_known_numbers_of_vertices_and_edges(monkeypatch):
    monkeypatch.setattr(evidence, "facts_of_input", lambda _: {"n": 10, "m": 20})
    assert evidence.resembles("any", {"n": 10, "m": 20}) and not evidence.resembles("any", {"m": 20})


def test_short_times_count_though_short_steps_do_nothing():
    assert evidence.objection_to_numbers("T", [1e-5] * 5) == ""
    assert evidence.objection_to_numbers("phase", [1e-5] * 5) == "the step does nothing"
    assert evidence.objection_to_numbers("phase", [1e-5] * 4 + [3e-5]) == ""


def test_step_that_does_nothing_measures_nothing(records, book):
    records.add("kruskal", ROAD, 1.0)
    made = claim("I('kruskal', 'USA-road-d.NY')", anywhere={"below": 1})
    assert judged(made, records.source(), book).verdict == CONFIRMED
    source = change(records, samples={"init": [[5e-6]] * 5})
    outcome = judged(made, source, book)
    assert outcome.verdict == NOT_MEASURED and "the step does nothing" in outcome.reason


def test_init_of_less_than_a_millisecond_measures_nothing_but_a_first_call(records, book):
    made = claim("I('kruskal', 'USA-road-d.NY')", anywhere={"below": 1})
    records.add("kruskal", ROAD, 1.0)
    outcome = judged(made, change(records, samples={"init": [[9e-4]] * 5}), book)
    assert outcome.verdict == NOT_MEASURED and "a first call of less than a millisecond" in outcome.reason
    assert judged(made, change(records, samples={"init": [[2e-3]] * 5}), book).verdict == CONFIRMED


def test_graphs_made_with_the_numbers_of_a_claim_do_not_confirm_it(records, book):
    records.add("kruskal", ROAD, 1.0)
    made = claim("m('USA-road-d.NY')", anywhere={"above": 1}, judge="facts")
    for generator, verdict in ((None, CONFIRMED), ({"name": "uniform"}, NOT_COMPARABLE)):
        facts = {"name": ROAD.name, "status": "ok", "n": 5, "m": 4, "generator": generator}
        (source,) = gather(load_records(records.folder), manifests=[facts])
        assert judged(made, source, book).verdict == verdict
    both_graphs = claim("max(m(g) for g in BOTH)", anywhere={"above": 1}, judge="facts")
    file = {"name": SOCIAL.name, "status": "ok", "n": 5, "m": 4, "generator": None}
    (one,) = gather(load_records(records.folder), manifests=[facts, file])
    assert judged(both_graphs, one, book).verdict == NOT_COMPARABLE
    below = claim("m('USA-road-d.NY')", anywhere={"below": 1}, judge="facts")
    assert judged(below, source, book).verdict == CONTRADICTED, "a contradiction is the paper's own"


def test_best_width_is_named_with_the_verdict(records, book):
    for width in (1, 4):
        records.add("reservation-kruskal", ROAD, 2.0 / width, width=width, paradigm="threads")
    source = records.add("kruskal", ROAD, 3.0).source()
    made = claim(
        "T('kruskal', 'USA-road-d.NY') / T('reservation-kruskal@best', 'USA-road-d.NY')", anywhere={"above": 1}
    )
    assert judged(made, source, book).reason.endswith("best widths: reservation-kruskal 4")


def test_verdict_names_graphs_on_which_best_widths_differ(records, book):
    for width in (1, 4):
        records.add("reservation-kruskal", ROAD, 2.0 / width, width=width, paradigm="threads")
        records.add("cas-boruvka", ROAD, 2.0 * width, width=width, paradigm="threads")
    made = claim(
        "T('cas-boruvka@best', 'USA-road-d.NY') / T('reservation-kruskal@best', 'USA-road-d.NY')",
        anywhere={"above": 1},
    )
    reason = judged(made, records.source(), book).reason
    assert reason.endswith(
        "best widths: cas-boruvka 1, reservation-kruskal 4, which differ between the sides on USA-road-d.NY"
    )


def test_tests_of_a_listing_contradict_its_claim(records, book):
    source = both(records, "kruskal", 1.0).source()
    made = claim("wrong('kruskal', 'USA-road-d.NY')", anywhere={"equals": 0})
    assert judged(made, source, book).verdict == CONFIRMED
    refuted = claim("wrong('kruskal', 'USA-road-d.NY')", anywhere={"equals": 0}, refuted="shown by a test")
    outcome = judged(refuted, source, book)
    assert (outcome.verdict, outcome.by, outcome.reason) == (CONTRADICTED, "tests", "shown by a test")


@pytest.mark.parametrize(
    ("stand_ins", "complaint"),
    [
        ({"amazon0601": "amazon0601-lik"}, "no graph 'amazon0601-lik'.*amazon0601-like"),
        ({"amazon061": "amazon0601-like"}, "no graph 'amazon061'"),
        ({"amazon0601": "rmat-14", "internet": "rmat-14"}, "'rmat-14' is named twice"),
        ({"amazon0601": "rmat-14", "rmat-14": "rmat-17"}, "'rmat-14' is named twice"),
        ({"amazon0601": "amazon0601"}, "'amazon0601' is named twice"),
    ],
)
def test_unknown_or_ambiguous_stand_ins_are_refused(stand_ins, complaint):
    with pytest.raises(ConfigError, match=complaint):
        claims.document().model_copy(update={"stand_ins": stand_ins}).checked()


def test_stand_in_is_a_member_of_a_set_only_as_another_name_of_its_input():
    book = claims.document()
    members = {name for listed in book.sets.values() for name in _flat(listed)}
    others = {(graph, other) for graph, other in book.stand_ins.items() if other in members}
    alone = {member for listed in book.sets.values() for member in listed if isinstance(member, str)}
    assert not alone & set(book.stand_ins.values())
    assert all((graph, other) in book.sets["ECL17"] for graph, other in others)
    assert set(book.stand_ins) <= members


def test_goal_that_was_not_reached_is_not_comparable(twice, book):
    outcome = judged(claim(anywhere={"above": 1}, goal="a goal"), twice, book)
    assert (outcome.verdict, outcome.reason) == (NOT_COMPARABLE, "a goal")


# The claims themselves.


def test_every_claim_is_there_once():
    book = claims.document()
    ids = [claim.id for made in book.claims.values() for claim in made]
    assert len(ids) == len(set(ids)) == 188
    assert set(book.claims) == set(book.papers)


def test_every_formula_names_known_algorithms_graphs_and_options():
    book = claims.document()
    names = Names(book.names().sets)
    source = Everything(names)
    for _, formula in every_formula():
        evaluate(formula, source, names)
    listed = (
        m for members in book.sets.values() for m in _flat(members) if isinstance(m, str) and "/" not in m
    )
    for text in {*source.selections, *book.originals, *book.selections.values()}:
        _check_options(text)
    sizes = {"small", "medium", "large", "extreme"}
    for word in set(listed) - source.graphs - sizes:
        assert parse_selection(word).algorithm in source.algorithms, word


def _flat(members):
    for member in members:
        yield from member if isinstance(member, tuple) else [member]


def _check_options(text):
    selection = parse_selection(text)
    algorithm = registry.algorithms().get(selection.algorithm)
    if algorithm is not None:
        unknown = [name for name, _ in selection.options if name not in algorithm.options]
        assert not unknown, (text, sorted(algorithm.options))
        algorithm.resolve(dict(selection.options))


@pytest.mark.slow
def test_every_formula_is_computed_once_everything_is_measured():
    names = Names(claims.document().names().sets)
    missing = [
        f"{id}: {reason}"
        for id, formula in every_formula()
        for reason in evaluate(formula, Everything(names), names).missing
    ]
    # Numbers of graphs that the papers print under another name, or not at all.
    assert not missing, missing[:5]


def test_every_kind_of_machine_is_known():
    used = {claim.machine for claim in claims_by_id().values()}
    assert used <= {None, *claims.document().machines}


def test_papers_own_tables_miss_a_claim_only_where_it_is_marked():
    """A claim is marked as contradicted or imprecise where, and only where, the paper's tables miss it."""
    book = claims.document()
    names = Names(book.names().sets)
    explained = {"sh-31": "the percentages are of totals that list more"}
    judged = 0
    for paper, made in book.claims.items():
        for one in made:
            own = claims.own_value(one, paper, names)
            if own is not None:
                judged += 1
                holds = one.criterion(on_kind=True).judge(own)
                assert holds is not False or one.standing or one.id in explained, (one.id, own)
    assert judged > 80


@pytest.mark.parametrize(
    ("id", "value"),
    [
        ("ecl-02", 4.72), ("ecl-05", None), ("ecl-08", 39.11), ("ecl-13", 12.75), ("ecl-19", 4.03), ("ecl-39", 3.57),
        ("ecl-54", 8.24), ("ecl-55", 1.84), ("ecl-65", 1.61), ("ecl-67", 8.85), ("sh-01", 49.58), ("sh-02", 3.50),
        ("sh-15", 3.70), ("sh-20", 3.2), ("sh-21", 0.16), ("sh-44", 1.09), ("sh-49", 5.32),
    ],
)  # fmt: skip
def test_arithmetic_of_the_papers_tables(id, value):
    book = claims.document()
    (paper, one), *_ = [(p, c) for p, made in book.claims.items() for c in made if c.id == id]
    own = claims.own_value(one, paper, book.names())
    if value is None:
        assert own is None
    else:
        assert own is not None and own.value == pytest.approx(value, rel=0.005, abs=0.005)


def test_published_tables_are_read_as_printed():
    for name, about in published_tables().items():
        with resources.path(f"report/published/{name}.csv").open(newline="") as file:
            columns = csv.DictReader(file).fieldnames
        assert columns is not None and set(about.key) <= set(columns)
        for selections in about.values.values():
            assert set(selections) <= set(columns)
        assert len(published(name).rows) > 0


@pytest.mark.parametrize(("table", "ratio"), [("ecl-mst/table-3", 0.0103), ("ecl-mst/table-4", 0.0063)])
def test_transcribed_cells_give_the_printed_means(table, ratio):
    cells = [float(r["ecl_mst"]) for r in published(table).rows if "GeoMean" not in r["graph"]]
    assert len(cells) == 17 and float(np.exp(np.log(cells).mean())) == pytest.approx(ratio, rel=0.03)
