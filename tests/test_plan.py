"""The plan of an experiment: which runs there are, for how long, and why others are not."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from mst import registry
from mst.bench.machine import Hardware
from mst.bench.planning import plan as planning
from mst.bench.planning.batches import MEASURED, PROVED, Batch, batches, folder_of, write_index
from mst.bench.planning.experiment import Block, Experiment, wants, widths_of
from mst.bench.planning.plan import GraphState, hardware_reason, plan
from mst.bench.planning.site import Machine, Node
from mst.bench.records.store import Run, proof_path
from mst.errors import ConfigError
from mst.facts import Facts
from mst.yaml_models import parse

BOX = Machine("box", Hardware("processor", 1, 6, 12, 32, ("GPU",)))
SMALL = {"g": GraphState("g", "ok", Facts(n=3, m=3), "d"), "h": GraphState("h", "ok", Facts(n=3, m=3), "e")}


def experiment(*blocks, graphs=("g",), **more) -> Experiment:
    return parse(Experiment, {"title": "t", "graphs": list(graphs), "runs": list(blocks), **more}, "e")


def block(*algorithms, **more) -> Block:
    return parse(Block, {"algorithms": list(algorithms), **more}, "b")


def rows(wanted: Experiment, states=SMALL, records=Path("nowhere"), machine=BOX):
    return plan(wanted, states, machines=[machine], records=records)


def test_first_block_with_a_run_decides_and_its_measure_replaces_that_of_the_experiment():
    blocks = [
        {"algorithms": ["kruskal"], "measure": {"processes": 3}},
        {"algorithms": ["kruskal", "boruvka"], "measure": {"processes": 7}},
        {"algorithms": ["qkruskal"]},
    ]
    found = {r.algorithm: r.measure.processes for r in rows(experiment(*blocks, measure={"processes": 9}))}
    assert found == {"kruskal": 3, "boruvka": 7, "qkruskal": 9}


@pytest.mark.parametrize("within, budget", [(6, 2.0), (1000, 10.0)])
def test_possible_runs_share_the_seconds_of_an_experiment(within, budget):
    too_large = GraphState("h", "ok", Facts(n=60_000, m=3), "e")
    states = SMALL | {"h": too_large, "i": GraphState("i", "unavailable", reason="no mirror")}
    found = rows(experiment({"algorithms": ["kruskal", "prim-dense"]}, graphs="ghi", within=within), states)
    unavailable = ["unavailable"] * 2
    assert [r.status for r in found] == ["planned", "planned", "planned", "unsupported", *unavailable]
    assert {r.measure.budget for r in found} == {budget}


def test_earlier_measurements_say_what_is_done_and_how_long_it_takes(tmp_path):
    wanted = experiment({"algorithms": ["kruskal"]}, graphs="gh", within=8)
    row = rows(wanted, records=tmp_path)[0]
    assert (row.status, row.reason, row.expected_seconds) == ("planned", "", 5.0)  # of the budget, and one more
    record = tmp_path / row.run.path
    record.parent.mkdir(parents=True)

    def found():
        return rows(wanted, records=tmp_path)[0]

    assert (found().reason, found().seconds) == ("", None)
    for name, seconds, age in (("f" * 12, 7.0, 100), ("0" * 12, 5.0, 200)):
        (old := record.with_name(f"{name}.json")).write_text(json.dumps({"seconds": seconds}))
        os.utime(old, (10**9 - age, 10**9 - age))
    assert (found().status, found().reason) == ("planned", "its code or its graph has changed")
    assert found().expected_seconds == 7.0, "the newest measurement counts"
    record.write_text(json.dumps({"seconds": 3.5}))
    assert (found().status, found().reason, found().seconds) == ("planned", "its forest is not proved", 3.5)
    proof_path(record).write_text("{}")
    assert (found().status, found().seconds) == ("done", 3.5)
    assert {r.measure.budget for r in rows(wanted, records=tmp_path)} == {4.0}, (
        "done runs have their share, too"
    )
    assert found().row() == found().row() | {"status": "planned", "reason": ""}, "the row stays the same"
    record.write_text("[]")
    os.utime(record, (10**10, 10**10))
    assert found().seconds is None, "a damaged measurement has no time"


def test_left_out_graphs_and_blocks_have_rows_with_the_reason():
    wanted = experiment(
        {"algorithms": ["kruskal"]},
        {"algorithms": ["boruvka"], "left_out": "it takes days"},
        graphs="gh",
        small={"graphs": ["g"]},
        left_out={"i": "no such file"},
    )
    assert wanted.at_scale("full") is wanted
    found = {(r.graph, r.algorithm): (r.status, r.reason) for r in rows(wanted.at_scale("small"))}
    small = "left out at scale: small; run it with scale: full"
    assert found == {
        ("g", "kruskal"): ("planned", ""),
        ("g", "boruvka"): ("unsupported", "it takes days"),
        **{("h", a): ("unsupported", small) for a in ("kruskal", "boruvka")},
        **{("i", a): ("unsupported", "no such file") for a in ("kruskal", "boruvka")},
    }


def test_part_of_an_experiment_has_its_algorithms_graphs_and_measure():
    wanted = experiment(
        {"algorithms": ["kruskal", "boruvka"]}, {"algorithms": ["qkruskal"]}, {"algorithms": "all", "graphs": ["h"]},
        graphs="gh", within=100, measure={"processes": 9},
        small={"graphs": ["g"], "algorithms": ["kruskal", "cas-boruvka"], "within": 5, "measure": {"processes": 2}},
        first={"graphs": ["h"]},
    )  # fmt: skip
    small, first = wanted.at_scale("small"), wanted.beginning()
    assert [b.algorithms for b in small.runs] == [["kruskal"], ["cas-boruvka", "kruskal"]]
    assert (small.graphs, small.within, small.measure.processes) == (["g"], 5, 2)
    assert (first.graphs, first.within, first.measure.processes, first.runs) == (["h"], 100, 9, wanted.runs)


@pytest.mark.parametrize(
    "widths, paradigm, cores, expected",
    [
        ("powers", "sequential", 6, [1]),
        ("powers", "peer", 6, [1]),
        ("one", "threads", 6, [1]),
        ("powers", "threads", 6, [1, 2, 4, 6]),
        ("powers", "threads", 8, [1, 2, 4, 8]),
        ("powers", "cuda", 6, [1]),
        ("cores", "mpi", 6, [6]),
        ([4, 2, 4], "threads", 6, [2, 4]),
        ([2, 1], "peer", 6, [1]),
    ],
)
def test_widths_of_a_paradigm(widths, paradigm, cores, expected):
    assert widths_of(block("kruskal", widths=widths), paradigm, cores) == expected


CLUSTER = Machine("far", BOX.hardware, Node(machine="far", runs=["mpi"], cpus=4, nodes=2))


@pytest.mark.parametrize(
    "paradigm, width, machine, more, reason",
    [
        ("cuda", 1, BOX, {}, ""),
        ("cuda", 2, BOX, {}, "needs 2 CUDA devices, but this machine has 1"),
        ("cuda", 1, replace(BOX, hardware=replace(BOX.hardware, gpus=())), {}, "has none"),
        ("threads", 6, BOX, {}, ""),
        ("threads", 7, BOX, {}, "width 7 is above the 6 cores"),
        ("threads", 7, BOX, {"oversubscribe": True}, ""),
        ("threads", 12, BOX, {"hyperthreads": True}, ""),
        ("threads", 13, BOX, {"hyperthreads": True}, "width 13 is above the 12 hardware threads"),
        ("mpi", 7, BOX, {"hyperthreads": True}, "width 7 is above the 6 cores"),
        ("mpi", 1, BOX, {}, ""),
        ("mpi", 2, BOX, {}, "needs mpiexec"),
        ("mpi", 8, CLUSTER, {}, ""),
        ("mpi", 7, CLUSTER, {}, "7 ranks do not spread evenly over nodes of 4 cores"),
        ("threads", 12, CLUSTER, {}, "width 12 is above the 6 cores"),
    ],
)
def test_reason_why_hardware_does_not_fit(paradigm, width, machine, more, reason, monkeypatch):
    monkeypatch.setattr(planning, "find_launcher", lambda: None)
    found = hardware_reason(paradigm, width, machine, block("kruskal", **more))
    assert reason in found and bool(found) == bool(reason)


@pytest.mark.parametrize(
    "more, graph, algorithm, options, width, expected",
    [
        ({}, "g", "kruskal", "default", 1, True),
        ({"left_out": "no"}, "g", "kruskal", "default", 1, False),
        ({"graphs": ["h"]}, "g", "kruskal", "default", 1, False),
        ({"without_graphs": ["g"]}, "g", "kruskal", "default", 1, False),
        ({"without": ["kruskal"]}, "g", "kruskal", "default", 1, False),
        ({}, "g", "kruskal", "sort=comparison", 1, False),
        ({"widths": [2, 4]}, "g", "kruskal", "default", 1, True),
        ({"widths": [2, 4]}, "g", "cas-boruvka", "default", 2, True),
        ({"widths": [2, 4]}, "g", "cas-boruvka", "default", 1, False),
        ({"widths": "powers"}, "g", "cas-boruvka", "default", 3, True),
    ],
)
def test_block_wants_a_run(more, graph, algorithm, options, width, expected):
    found = block("kruskal", "cas-boruvka", **more)
    assert wants(found, registry.get(algorithm), graph, options, width) is expected


@pytest.mark.parametrize(
    "more, message",
    [
        ({"algorithms": ["kruskall"]}, "did you mean 'kruskal'"),
        ({"algorithms": "all", "without": ["kruskall"]}, "did you mean 'kruskal'"),
        ({"options": {"sort": []}}, "option sort has no value"),
        ({"graphs": ["h"]}, "no block of runs has the graph g"),
        ({"left_out": "no"}, "no block of runs has the graph g"),
    ],
)
def test_wrong_blocks_are_refused(more, message):
    with pytest.raises(ConfigError, match=message):
        experiment({"algorithms": ["kruskal"], **more})


def test_batch_of_several_runs_is_complete_with_all_of_them(tmp_path):
    records, own, other = (tmp_path / name for name in ("records", "own", "other"))
    wanted = experiment({"algorithms": ["kruskal", "boruvka"]})
    (possible,) = batches(rows(wanted, {}), [])
    assert {r.status for r in possible.possible} == {"waiting"} and not batches(rows(wanted), [])
    known = rows(wanted)
    batch = replace(possible, rows=tuple(known))

    def folder(batch: Batch = batch) -> str:
        return str(folder_of(batch, records, own, [other]).relative_to(tmp_path))

    def write(place: Path, runs: list[Run], *names: str) -> None:
        place.mkdir(parents=True, exist_ok=True)
        for name in names:
            write_index(place / name, records, [str(run.path) for run in runs])

    both = [row.run for row in known]
    for run in both[:1]:
        (records / run.path).parent.mkdir(parents=True)
        (records / run.path).write_text("{}")
    write(own / batch.subfolder / "1", both, MEASURED)
    assert folder() == "own/box/g/all/2", "one record is gone: they are measured again"
    waiting = replace(batch, rows=possible.possible)
    assert folder(waiting) == "own/box/g/all/1"
    for number in (9, 10):
        write(own / batch.subfolder / str(number), both[: number - 8], MEASURED, PROVED)
    done = replace(batch, rows=tuple(replace(row, status="done") for row in known))
    assert folder(done) == "own/box/g/all/10", "the 9th lists only one of them"
    write(own / batch.subfolder / "11", both, MEASURED, PROVED)
    assert folder(done) == "own/box/g/all/11", "the latest that lists all"
    assert folder(waiting) == "own/box/g/all/12", "it is not known whether these runs are done"
    elsewhere = replace(done, rows=(*done.rows, replace(done.rows[0], run=replace(both[0], algorithm="x"))))
    assert folder(elsewhere) == "own/box/g/all/12"
    write(other / batch.subfolder / "3", [row.run for row in elsewhere.rows], MEASURED, PROVED)
    assert folder(elsewhere) == "other/box/g/all/3"


def test_index_changes_with_a_record_and_with_its_proof(tmp_path):
    run = Run("m", "g", "kruskal", "default", 1, "0" * 12).path
    (tmp_path / run).parent.mkdir(parents=True)
    seen = []
    for file, text in (
        (tmp_path / run, "1"),
        (proof_path(tmp_path / run), "1"),
        (proof_path(tmp_path / run), "2"),
    ):
        file.write_text(text)
        write_index(tmp_path / PROVED, tmp_path, [str(run)])
        seen.append((tmp_path / PROVED).read_text())
    assert len(set(seen)) == 3
