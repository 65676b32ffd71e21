"""The suite of GPU ablations, as far as it needs no GPU: its table, its order of samples, what it reads from ncu."""

from __future__ import annotations

import stat

import pytest

from mst import registry
from mst.algorithms.cuda import flat_boruvka
from mst.bench import cuda_ablations, cuda_suite


def test_every_ablation_changes_options_that_exist():
    families = {"hypercube-20", "circulant-20", "binomial-20"}
    for a in cuda_ablations.ABLATIONS:
        before = registry.get(a.algorithm_before or a.algorithm)
        after = registry.get(a.algorithm)
        assert (before.id, before.resolve(a.before)) != (after.id, after.resolve(a.after)), a
        assert set(a.graphs) <= cuda_suite.GRAPHS.keys() | families, a


@pytest.mark.parametrize("took,expected", [(1.0, cuda_ablations.SAMPLES), (5_000.0, cuda_ablations.LEAST)])
def test_sides_take_turns_until_the_budget_is_spent(monkeypatch, took, expected):
    calls = []
    monkeypatch.setattr(cuda_ablations, "solve_ms", lambda module, problem: calls.append(problem) or took)
    times = cuda_ablations.alternate([(None, "a"), (None, "b")])
    assert [len(side) for side in times] == [expected, expected]
    assert calls[:4] == ["b", "a", "a", "b"] and calls.count("a") == expected + cuda_ablations.WARM


@pytest.mark.parametrize(
    "before,after,sign",
    [
        ([2.0, 2.1, 2.2], [1.0, 1.0, 1.1], "+"),
        ([1.0, 1.0, 1.1], [2.0, 2.1, 2.2], "-"),
        ([1.0, 1.2, 0.9], [1.0, 1.0, 1.0], "="),
        ([1.01, 1.01, 1.01], [1.0, 1.0, 1.0], "="),
    ],
)
def test_signs_say_which_side_is_faster(before, after, sign):
    assert cuda_ablations.ratio_of(before, after).sign == sign


def test_a_profile_is_read_from_ncu_and_its_absence_said(monkeypatch, tmp_path, capsys):
    header = '"ID","Process ID","Kernel Name","Block Size","Metric Name","Metric Unit","Metric Value"'
    lines = [
        "==PROF== Connected",
        header,
        *(f'"{i}","7","count_slots","(512, 1, 1)","m.pct","%","{v}"' for i, v in enumerate(("1,024.5", "n/a"))),
    ]
    program = tmp_path / "ncu"
    program.write_text("#!/bin/sh\ncat <<'END'\n" + "\n".join(lines) + "\nEND\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    report = cuda_ablations.Report()
    arguments = ("contract-boruvka-cuda", {}, "road-4M", ["m.pct"], True, report)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert list(cuda_ablations.profile(*arguments)) == [("count_slots", "m.pct", 1024.5)]
    program.write_text("#!/bin/sh\necho no permission\n")
    assert list(cuda_ablations.profile(*arguments)) == []
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert list(cuda_ablations.profile(*arguments)) == []
    told = capsys.readouterr().out
    assert "ncu read nothing: no permission" in told and "ncu is not installed" in told
    assert len(report.rows) == 2 and all(row["error"] for row in report.rows)


def test_stalls_are_those_of_the_worst_launch():
    launches = []
    worst = "assign_cheapest"
    for kernel, cycles, waiting in (("prepare", 900.0, 800.0), (worst, 50.0, 40.0), (worst, 129.0, 121.0)):
        launches += [(kernel, flat_boruvka.LATENCY, cycles), (kernel, flat_boruvka.STALLED, waiting)]
    assert flat_boruvka.profiled(launches) == {"stall_cycles": 121.0, "stalled_share": 121 / 129}
    assert flat_boruvka.profiled(launches[:2]) == {}
