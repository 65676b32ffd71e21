"""Counters of a GPU's profiler: parsing the output of Nsight Compute, and the counters computed from it."""

from __future__ import annotations

import stat

import pytest

from mst.algorithms.cuda import flat_boruvka
from mst.bench.measure import profiler

HEADER = '"ID","Process ID","Kernel Name","Block Size","Metric Name","Metric Unit","Metric Value"'


@pytest.fixture
def ncu(monkeypatch, tmp_path):
    """Return a function that puts a program named ncu on PATH, which prints the lines given."""

    def install(*lines):
        program = tmp_path / "ncu"
        program.write_text("#!/bin/sh\ncat <<'END'\n" + "\n".join(lines) + "\nEND\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    return install


def test_launches_are_read_from_ncu_without_values_that_are_no_numbers(ncu):
    values = enumerate(("1,024.5", "n/a"))
    rows = [f'"{i}","7","count_slots(Plan)","(512, 1, 1)","m.pct","%","{value}"' for i, value in values]
    ncu("==PROF== Connected", HEADER, *rows)
    assert profiler.read_profile([], ["m.pct"]) == [("count_slots", "m.pct", 1024.5)]


def test_ncu_without_output_is_reported_with_its_message(ncu, capsys):
    ncu("no permission")
    assert profiler.read_profile([], ["m.pct"]) == []
    assert capsys.readouterr().out == "ncu read nothing within 120 s: no permission\n\n"


def test_absent_ncu_is_reported(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert profiler.read_profile([], ["m.pct"]) == []
    assert capsys.readouterr().out == "ncu is not installed\n"


def test_achieved_occupancy_is_listed_by_kernel_and_launch():
    launches = [("find", profiler.OCCUPANCY, 82.0), ("flag", profiler.OCCUPANCY, 72.0)]
    launches += [("find", profiler.OCCUPANCY, 41.0), ("find", "another.metric", 1.0)]
    found = profiler.achieved_occupancy(launches)
    assert found == {"achieved_occupancy_find": [0.82, 0.41], "achieved_occupancy_flag": [0.72]}


def test_stalls_are_those_of_the_worst_launch():
    launches = []
    worst = "assign_cheapest"
    for kernel, cycles, waiting in (("prepare", 900.0, 800.0), (worst, 50.0, 40.0), (worst, 129.0, 121.0)):
        launches += [(kernel, flat_boruvka.LATENCY, cycles), (kernel, flat_boruvka.STALLED, waiting)]
    assert flat_boruvka.profiled(launches) == {"stall_cycles": 121.0, "stalled_share": 121 / 129}
    assert flat_boruvka.profiled(launches[:2]) == {}
