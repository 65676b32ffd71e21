"""The side-by-side bench: a small run of it, its arithmetic, and what it does when forests differ."""

from __future__ import annotations

import json

import pytest

from mst.bench import suite


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
    assert len({r["digest"] for r in found.values() if r["exact"]}) == 1
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


def entry(seconds, *, exact=True, digest="x", weight="7"):
    return dict(cpu=seconds, wall=seconds, spread=1.0, exact=exact, digest=digest, weight=weight)


def test_ratios_are_against_the_fastest_rival():
    results = [result(ours=entry(2.0), slow=entry(9.0), fast=entry(5.0)), result(ours=entry(1.0))]
    results[1]["label"] = "another"
    ratios = suite._ratios(results, suite.Comparison("ours", ("slow", "fast", "absent"), ""), "cpu")
    assert ratios == {"a graph": 2.5, "another": None}


@pytest.mark.parametrize(
    "odd,said",
    [
        (dict(b=entry(1, digest="y")), ["b on a graph: edges differ from the others'"]),
        (dict(b=entry(1, exact=False, digest="y")), []),
        (dict(b=entry(1, exact=False, weight="8")), ["b on a graph: weight differ from the others'"]),
        ({"command-x": entry(1, exact=False, weight="7.000001")}, []),
    ],
)
def test_differing_forests_are_told(odd, said):
    assert suite.disagreements(result(a=entry(1), c=entry(1), **odd)) == said


def test_the_full_suite_is_what_the_targets_are_stated_for():
    labels = [case.label for case in suite.sequential_cases("full")]
    assert len(labels) == 15
    assert {"uniform 10 M, 31 bits", "dense 5000, 24 bits", "road NY, its own"} <= set(labels)
    labels = {contender.label for contender in suite.SUITES["sequential"].contenders}
    for comparison in suite.SUITES["sequential"].comparisons:
        assert comparison.ours in labels
        assert all(rival in labels or rival.startswith("command-") for rival in comparison.rivals)
