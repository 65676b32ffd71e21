"""The side-by-side bench: a small run of it, its arithmetic, and what it does when forests differ."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from mst.bench import side_by_side, suite

pytestmark = pytest.mark.alone


def test_a_small_run(tmp_path, capsys):
    code = suite.main(
        ["sequential", "--scale", "small", "--processes", "1", "--out", str(tmp_path)]
        + ["--graphs", "uniform 1 M, 24", "--contenders", "filter-boruvka", "kruskal", "proof", "scipy"]
    )
    assert code == 0
    printed = capsys.readouterr().out
    assert "| uniform 1 M, 24 bits |" in printed
    assert "**geometric mean**" in printed
    report = json.loads(next(tmp_path.glob("sequential-small-*.json")).read_text())
    (result,) = report["results"]
    assert (result["n"], result["m"]) == (10_000, 15_000)
    found = result["contenders"]
    assert set(found) == {
        "filter-boruvka",
        "filter-boruvka[input=csr]",
        "filter-boruvka[filter=off]",
        "kruskal",
        "proof",
        "scipy",
    }
    assert len({r["weight"] for r in found.values()}) == 1
    assert len({r["digest"] for r in found.values() if r["agreeing"] == "edges"}) == 1
    for r in found.values():
        assert r["cpu"] > 0
        assert len(r["children"]) == 1
        assert r["init"] > 0
    assert report["machine"]["cpu"]
    assert "scipy" in report["versions"]


def test_unknown_names_are_refused(capsys, tmp_path):
    assert suite.main(["sequential", "--contenders", "kruskall", "--out", str(tmp_path)]) == 2
    assert "did you mean 'kruskal'" in capsys.readouterr().err
    assert suite.main(["sequential", "--graphs", "nothing like it", "--out", str(tmp_path)]) == 2
    assert "no graph or no contender" in capsys.readouterr().err


def test_an_absent_road_network_is_left_out(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("MST_MIRROR", raising=False)
    arguments = ["sequential", "--graphs", "its own", "--contenders", "kruskal", "--out", str(tmp_path)]
    assert suite.main(arguments) == 0
    assert "left out: road NY, its own: no USA-road-d.NY.gr.gz: set MST_MIRROR" in capsys.readouterr().out


def result(**contenders):
    return {"label": "a graph", "contenders": contenders}


def entry(seconds, *, agreeing="edges", digest="x", weight="7"):
    return dict(cpu=seconds, wall=seconds, spread=1.0, agreeing=agreeing, digest=digest, weight=weight)


def test_ratios_are_against_the_fastest_rival():
    results = [result(ours=entry(2.0), slow=entry(9.0), fast=entry(5.0)), result(ours=entry(1.0))]
    results[1]["label"] = "another"
    ratios = side_by_side.ratios(
        results, side_by_side.Comparison("ours", ("slow", "fast", "absent"), ""), "cpu"
    )
    assert ratios == {"a graph": 2.5, "another": None}


@pytest.mark.parametrize(
    "odd,said",
    [
        (dict(b=entry(1, digest="y")), ["b on a graph: edges differ from the others'"]),
        (dict(b=entry(1, agreeing="weight", digest="y")), []),
        (dict(b=entry(1, agreeing="nothing", weight="8")), []),
        (dict(b=entry(1, agreeing="weight", weight="8")), ["b on a graph: weight differ from the others'"]),
        (dict(b=entry(1, agreeing="roughly", weight="7.000001")), []),
        (dict(b=entry(1, agreeing="roughly", weight="7.1")), ["b on a graph: weight differ from the others'"]),
    ],
)
def test_differing_forests_are_told(odd, said):
    assert side_by_side.disagreements(result(a=entry(1), c=entry(1), **odd)) == said


def test_the_full_suite_is_what_the_targets_are_stated_for():
    usual = [case.label for case in suite.cases("full") if not case.only]
    assert len(usual) == 15
    assert {"uniform 10 M, 31 bits", "dense 5000, 24 bits", "road NY, its own"} <= set(usual)
    weak = [case for case in suite.cases("full") if case.only]
    assert {"all equal", "sorted", "reversed", "by community"} == {case.weights for case in weak}
    labels = {contender.label for contender in suite.CONTENDERS}
    assert {label for case in weak for label in case.only} <= labels
    for comparison in suite.comparisons([]):
        assert {comparison.ours, *comparison.rivals} <= labels


PROGRAM = """
import sys, numpy as np
from mst import Graph, minimum_spanning_forest
n, m = np.fromfile(sys.argv[1], "<i8", 2)
edges = np.fromfile(sys.argv[1], "<i4", offset=16).reshape(3, m)
print("seconds: 60\\nweight:", minimum_spanning_forest((n, *edges)).weight)
"""


def test_weak_spots_and_programs_have_tables_of_their_own(tmp_path, capsys):
    (tmp_path / "program.py").write_text(PROGRAM)
    code = suite.main(
        ["sequential", "--scale", "small", "--processes", "1", "--out", str(tmp_path)]
        + ["--graphs", "uniform 1 M, 24", "communities of 16", "--contenders", "filter-boruvka"]
        + ["--command", f"mine={sys.executable} {tmp_path}/program.py {{graph}}"]
    )
    assert code == 0
    usual, weak = capsys.readouterr().out.split("Weak spots:")
    assert "filter-boruvka / mine" in usual and "6e+04" in usual
    assert "| communities of 16, by community |" in weak and "mine" not in weak
    assert "as a share of 24 bytes a vertex and 16 an edge" in weak
    report = json.loads(next(tmp_path.glob("sequential-small-*.json")).read_text())
    assert report["commands"] and len(report["results"]) == 2


def test_weights_of_communities_are_apart():
    graph = side_by_side._communities(n=6_400, m=20_000, size=16)
    labels = np.arange(6_400)
    light = graph.w < 2**23
    assert 0.75 < light.mean() < 0.85
    for _ in range(20):
        np.minimum.at(labels, graph.u[light], labels[graph.v[light]])
        np.minimum.at(labels, graph.v[light], labels[graph.u[light]])
    assert np.bincount(labels).max() == 16
    assert not (graph.u == graph.v)[light].any()
