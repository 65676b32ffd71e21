"""Advice comes from the table alone, and ``algorithm="auto"`` follows it."""

from __future__ import annotations

import json
import os
import re
import sys
import types

import numpy as np
import pytest

import mst
from mst import advice, cli, registry, solver
from mst.advice import Candidate, Table, first, kind_of
from mst.advice.traits import Traits, traits_of
from mst.algorithms.sequential import kruskal
from mst.bench.advice import __main__ as making
from mst.bench.advice import calls
from mst.bench.advice.cases import Case, training, unseen
from mst.bench.advice.cells import (
    FROM_HOST,
    Measured,
    UsableHardware,
    alike,
    cells,
    judge,
    promising,
    report,
    widths,
)
from mst.errors import ConfigError, OutOfMemoryError
from mst.generators import generate

GPU = {"filter-boruvka-cuda[start=edges]@gpu": 0.1, "filter-boruvka-cuda[start=edges]@device": 0.05}
CELLS = [
    dict(m=1000, density=4.0, kinds=["even random"], times={"kruskal@1": 1.0, "filter-boruvka-threads@4": 4.0}),
    dict(
        m=10**6,
        density=4.0,
        kinds=["even random", "skewed random"],
        times={"kruskal@1": 9.0, "filter-boruvka@1": 3.0, "filter-boruvka-threads@4": 1.0, **GPU},
    ),
    dict(
        m=10**6,
        density=4.0,
        kinds=["even equal"],
        times={"kruskal@1": 2.0, "filter-boruvka@1": 3.0, "filter-boruvka-threads@4": 4.0, **GPU},
    ),
]
TABLE = Table({"machine": "box", "cells": CELLS})


def table_of(**times: float) -> Table:
    cell = dict(
        m=1000,
        density=4.0,
        kinds=["even random"],
        times={f"{k}@1".replace("_", "-"): t for k, t in times.items()},
    )
    return Table({"machine": "box", "cells": [cell]})


@pytest.mark.parametrize(
    ("n", "m", "query", "algorithm", "width"),
    [
        (250, 1000, {}, "kruskal", 1),
        (250_000, 1_000_000, {}, "filter-boruvka", 1),
        (250_000, 1_000_000, dict(width=3), "filter-boruvka", 1),
        (250_000, 1_000_000, dict(width=4), "filter-boruvka-threads", 4),
        (250_000, 1_000_000, dict(width=64), "filter-boruvka-threads", 64),
        (250_000, 1_000_000, dict(width=64, weights="equal"), "kruskal", 1),
        (250_000, 1_000_000, dict(width=4, skew=50.0), "filter-boruvka-threads", 4),
        (250_000, 1_000_000, dict(width=64, gpu="host"), "filter-boruvka-cuda", 1),
        (250, 900, dict(width=64), "kruskal", 1),
        (0, 0, {}, "kruskal", 1),
    ],
)
def test_the_nearest_cell_decides(n, m, query, algorithm, width):
    choice = TABLE.choose(n, m, **query)
    assert (choice.algorithm, choice.width) == (algorithm, width)


def test_choice_names_its_cell_margin_and_machine():
    choice = TABLE.choose(250_000, 10**6, width=4)
    assert choice.margin == 3.0 and choice.machine == "box" and choice.seconds == 1.0
    assert (choice.m, choice.density, choice.kinds) == (10**6, 4.0, ("even random", "skewed random"))
    assert choice.extrapolated == "" and choice.gpu is None and not choice.options
    on_gpu = TABLE.choose(250_000, 10**6, width=4, gpu="device")
    assert (on_gpu.gpu, on_gpu.options, on_gpu.margin) == ("device", {"start": "edges"}, None)
    assert "m: measured from" in TABLE.choose(25_000_000, 10**8).extrapolated
    assert "not with even local" in TABLE.choose(250_000, 10**6, weights="local").extrapolated
    empty = Table({"machine": "box", "cells": []})
    assert empty.choose(5, 5) == advice.FALLBACK
    assert empty.choose(5, 5, gpu="device") == advice.FALLBACK_ON_DEVICE
    for wrong in (dict(weights="odd"), dict(gpu="yes")):
        with pytest.raises(ValueError, match="must be one of"):
            TABLE.choose(5, 5, **wrong)


@pytest.mark.slow
def test_edges_are_sampled_only_where_that_changes_the_answer(monkeypatch):
    sampled = []
    monkeypatch.setattr(advice, "traits_of", lambda graph: sampled.append(graph) or traits_of(graph))
    small = generate("uniform", n=250, m=1000)
    assert TABLE.choose_for(small).algorithm == "kruskal" and not sampled
    equal = mst.Graph(
        250_000, *np.random.default_rng(1).integers(0, 250_000, (2, 10**6)), np.ones(10**6, np.int32)
    )
    assert TABLE.choose_for(equal).algorithm == "kruskal" and len(sampled) == 1
    # Where solving takes no longer than sampling, no sample is taken.
    shorter = [{**cell, "times": {k: t * 1e-6 for k, t in cell["times"].items()}} for cell in CELLS]
    assert Table({"machine": "box", "cells": shorter}).choose_for(equal).algorithm == "filter-boruvka"
    assert len(sampled) == 1


@pytest.fixture
def settled(monkeypatch):
    """Compiled code is worth its wait."""
    monkeypatch.setattr(first, "choose", lambda graph, width: None)


def test_auto_follows_the_table(monkeypatch, settled):
    graph = generate("uniform", n=300, m=1200, seed=3)
    monkeypatch.setattr(advice, "table", lambda: table_of(prim_dense=1.0, kruskal=2.0))
    assert mst.minimum_spanning_forest(graph).algorithm == "prim-dense"
    huge = mst.Graph(60_000, [0], [1], np.array([1], np.int32))
    assert solver.choose(huge, 1).algorithm == "kruskal", "the next best, since the best refuses the graph"
    monkeypatch.setattr(advice, "table", lambda: table_of(prim_dense=1.0))
    assert solver.choose(huge, 1) == advice.FALLBACK
    monkeypatch.setattr(advice, "table", lambda: TABLE)
    assert mst.minimum_spanning_forest(graph, threads=1).algorithm == "kruskal"


def test_auto_takes_a_gpu_only_if_cupy_is_loaded_and_memory_allows(monkeypatch, settled):
    graph = generate("uniform", n=300, m=1200, seed=3)
    cell = {**CELLS[1], "m": 1200}
    monkeypatch.setattr(advice, "table", lambda: Table({"machine": "box", "cells": [cell]}))
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert solver.choose(graph, 1).algorithm == "filter-boruvka"
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    choice = solver.choose(graph, 1)
    assert (choice.algorithm, choice.gpu, choice.options) == ("filter-boruvka-cuda", "host", {"start": "edges"})

    def full(self):
        if self.paradigm == "cuda":
            raise OutOfMemoryError("the device is full")
        return load(self)

    load = registry.Algorithm.load
    monkeypatch.setattr(registry.Algorithm, "load", full)
    assert mst.minimum_spanning_forest(graph, threads=1).algorithm == "filter-boruvka"
    # CuPy is loaded but unusable: still being imported, or without a device.
    for broken in (types.ModuleType("cupy"), fake_cupy(devices=0)):
        monkeypatch.setitem(sys.modules, "cupy", broken)
        assert solver.choose(graph, 1).algorithm == "filter-boruvka"


def test_graph_beyond_the_limits_of_a_gpu_runs_on_cores(monkeypatch):
    class Huge:
        n, m, u, v = 10**9, 4 * 10**9, np.zeros(1), np.zeros(1)
        w = np.zeros(1, np.int32)

    monkeypatch.setattr(advice, "table", lambda: TABLE)
    monkeypatch.setattr(advice, "traits_of", lambda graph: Traits(1.0, "random", 9, 0.0, 9))
    choice = advice.choose_for(Huge, width=4, gpu="host")
    assert (choice.algorithm, choice.gpu) == ("filter-boruvka-threads", None)
    assert advice.choose_for(Huge, gpu="device") == advice.FALLBACK_ON_DEVICE


def test_committed_table_names_registered_algorithms():
    table = advice.table()
    assert table.machine and table.cells
    for cell in table.cells:
        for name, seconds in cell["times"].items():
            candidate = Candidate.parse(name)
            registry.get(candidate.algorithm).parse_slug(candidate.slug)
            assert str(candidate) == name and seconds > 0
        assert {tuple(kind.split()) for kind in cell["kinds"]} <= {
            (skew, weights) for skew in advice.DEGREES for weights in advice.WEIGHTS
        }


def test_table_of_the_environment_variable_is_used(monkeypatch, tmp_path):
    file = tmp_path / "advice.json"
    file.write_text(json.dumps({"machine": "mine", "cells": CELLS}))
    monkeypatch.setenv("MST_ADVICE", str(file))
    advice.table.cache_clear()
    try:
        assert advice.choose(250, 1000).machine == "mine"
        file.write_text('{"machine": "mine"}')
        advice.table.cache_clear()
        with pytest.raises(ConfigError, match="is no table of advice"):
            advice.choose(250, 1000)
    finally:
        advice.table.cache_clear()


@pytest.mark.slow
def test_a_fork_of_a_process_with_threads_uses_one_core():
    graph = generate("uniform", n=2000, m=9000, seed=5)
    in_threads = dict(algorithm="filter-boruvka-threads", threads=1, hand_over=False)
    expected = mst.minimum_spanning_forest(graph, **in_threads).digest
    assert solver.usable_width() >= 1
    pid = os.fork()
    if pid == 0:
        right = solver.usable_width() == 1 and mst.minimum_spanning_forest(graph).digest == expected
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


SLOW, FAST = {"kruskal@1": 4.0, "filter-boruvka@1": 1.0}, {"kruskal@1": 1.0, "filter-boruvka@1": 4.0}


def measured(times: dict[str, float], kind: str = "even random", m: int = 1000) -> Measured:
    skew, weights = kind.split()
    case = Case(m, 4.0, "uniform", dict(n=m // 4, m=m), 1)
    return Measured(case, m // 4, m, Traits(9.0 if skew == "skewed" else 1.0, weights, 1, 0.0, 1), times)


def test_kinds_share_a_cell_unless_they_change_the_answer():
    hardware = UsableHardware(1, False)
    rows = [measured(SLOW), measured(SLOW, "skewed random"), measured(FAST, "even equal")]
    found = sorted((cell["kinds"], cell["graphs"]) for cell in cells(rows, hardware))
    assert found == [(["even equal"], 1), (["even random", "skewed random"], 2)]
    assert alike({"a": [SLOW], "b": [SLOW]}, hardware) and not alike({"a": [SLOW], "b": [FAST]}, hardware)
    # On two cores they have the same answer; on one core they do not.
    wide = {"filter-boruvka-threads@2": 0.1}
    assert not alike({"a": [SLOW | wide], "b": [FAST | wide]}, UsableHardware(2, False))
    (one,) = cells([measured({"kruskal@1": 1.0}), measured({"kruskal@1": 4.0, "prim-dense@1": 1.0})], hardware)
    assert one["times"] == {"kruskal@1": 2.0}, "geometric means of the candidates that every graph has"
    # A candidate that was measured for one kind only may be that kind's answer.
    local = measured(SLOW | {"parlay-boruvka@2": 0.1}, "even local")
    assert len(cells([measured(SLOW), local], UsableHardware(2, False))) == 2


def test_cell_keeps_the_candidates_that_answers_and_margins_need():
    times = {"kruskal@1": 9.0, "filter-boruvka@1": 1.0, "prim-dense@1": 30.0, "filter-boruvka-threads@4": 0.1}
    (cell,) = cells([measured(times)], UsableHardware(4, False))
    assert set(cell["times"]) == {"kruskal@1", "filter-boruvka@1", "filter-boruvka-threads@4"}
    whole = dict(m=1000, density=4.0, kinds=["even random"], times=times)
    small, large = (Table({"machine": "box", "cells": [c]}) for c in (cell, whole))
    for width in (1, 2, 4, 8):
        short, long = (table.choose(250, 1000, width=width) for table in (small, large))
        assert (short.algorithm, short.width, short.margin) == (long.algorithm, long.width, long.margin)
    # The cell of a small graph keeps the GPU's time, even where it is far from the best.
    small, large = measured(times | {"edge-boruvka-cuda@gpu": 99.0}), measured({**SLOW, **GPU}, m=10**6)
    both = Table({"machine": "box", "cells": cells([small, large], UsableHardware(4, True))})
    assert both.choose(250, 1000, width=4, gpu="host").algorithm == "filter-boruvka-threads"
    assert both.choose(250_000, 10**6, width=4, gpu="host").algorithm == "filter-boruvka-cuda"


def test_verdict_counts_regret_and_the_cost_of_choosing():
    table = Table({"machine": "box", "cells": cells([measured(SLOW)], UsableHardware(1, False))})
    good, bad = judge(table, [measured(SLOW), measured(FAST)], UsableHardware(1, False))
    assert (good.regret, bad.regret) == (1.0, 4.0)
    costly = Measured(**{**vars(measured(SLOW)), "choosing": {"1 None": 0.5}})
    assert judge(table, [costly], UsableHardware(1, False))[0].regret == 1.5
    # A sample of the weights would not pay here: auto does not know that they are equal, and the verdict assumes so.
    rows = [
        measured({k: t * 1e-7 for k, t in times.items()}, kind)
        for times, kind in ((SLOW, "even random"), (FAST, "even equal"))
    ]
    short = Table({"machine": "box", "cells": cells(rows, UsableHardware(1, False))})
    assert [v.candidate for v in judge(short, rows, UsableHardware(1, False))] == ["filter-boruvka@1"] * 2
    text = report([good, bad], UsableHardware(1, False))
    assert "within 20 % of the best in 1 of 2 cases" in text and "4.00  uniform" in text


def test_hopeless_candidates_are_measured_once():
    first = {"kruskal@1": 9.0, "filter-boruvka@1": 3.0, "filter-boruvka-threads@4": 0.5, **GPU}
    # Candidates are compared only with those of the same cores and GPU.
    assert promising(first) == ["filter-boruvka@1", "filter-boruvka-threads@4", *GPU]
    assert widths(6) == [1, 2, 4, 6]


class OnDevice(np.ndarray):
    """An array that lies "on the device"."""

    def get(self):
        return np.asarray(self)


def fake_cupy(devices: int = 1) -> types.ModuleType:
    """Return a stand-in on the host for the part of CuPy that the driver uses."""
    cupy = types.ModuleType("cupy")
    stream = types.SimpleNamespace(synchronize=lambda: None)
    runtime = types.SimpleNamespace(getDeviceCount=lambda: devices, CUDARuntimeError=RuntimeError)
    parts = dict(
        asarray=lambda array: np.asarray(array).view(OnDevice),
        sort=lambda array: np.sort(array).view(OnDevice),
        int64=np.int64,
        cuda=types.SimpleNamespace(get_current_stream=lambda: stream, runtime=runtime),
        get_default_memory_pool=lambda: types.SimpleNamespace(free_all_blocks=lambda: None),
    )
    vars(cupy).update(parts)
    return cupy


class KruskalOnDevice:
    """Kruskal on the host in the form of an algorithm for a GPU."""

    def prepare(self, graph, *, width, **options):
        host = mst.Graph(graph.n, *(np.asarray(array) for array in (graph.u, graph.v, graph.w)))
        return kruskal.prepare(host, width=1, sort="radix")

    def transfer(self, problem):
        return problem

    def solve(self, problem):
        return kruskal.solve(problem)

    def collect(self, problem, result):
        return result

    def edge_ids(self, result):
        return result.view(OnDevice)


@pytest.fixture
def with_gpu(monkeypatch):
    """A fake GPU on which every CUDA algorithm runs Kruskal."""
    load = registry.Algorithm.load
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(
        registry.Algorithm, "load", lambda self: KruskalOnDevice() if self.paradigm == "cuda" else load(self)
    )


def test_cases_are_measured_once_and_the_table_is_checked(with_gpu, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(calls, "WARMING", calls.WARMING[:1])
    monkeypatch.setattr(making, "training", lambda most: [Case(600, 4.0, "uniform", dict(n=150, m=600), 1)])
    checks = [Case(500, 0.0, "tree", dict(n=501), 2, "values:2")]
    monkeypatch.setattr(making, "unseen", lambda most: checks)
    call = ["--folder", str(tmp_path), "--within", "600", "--check", "60", "--cores", "1"]
    assert making.main(call) == 0
    table = json.loads((tmp_path / "advice.json").read_text())
    (cell,) = table["cells"]
    assert {Candidate.parse(name).place for name in cell["times"]} == {"1", "gpu", "device"}
    (row,) = map(json.loads, (tmp_path / "checks.jsonl").read_text().splitlines())
    assert row["traits"]["weights"] == "few" and set(row["choosing"]) == {"1 None", "1 host", "1 device"}
    assert "of 3 cases" in capsys.readouterr().out
    assert (
        table["checked"]["cases"] == 3
        and json.dumps(cell) in (tmp_path / "advice.json").read_text().splitlines()[4]
    )
    before = (tmp_path / "cases.jsonl").read_text()
    assert making.main([*call[:2], "--within", "0", "--cores", "1"]) == 0
    assert (tmp_path / "cases.jsonl").read_text() == before, "measured cases are not measured again"
    assert making.main([*call[:2], "--within", "1", "--cores", "1"]) == 0
    assert (tmp_path / "cases.jsonl").read_text() == before
    # On any machine the same cases make the same table, but another machine cannot add cases.
    made = (tmp_path / "advice.json").read_text()
    monkeypatch.delitem(sys.modules, "cupy")
    (tmp_path / "check.txt").unlink()
    assert making.main([*call[:2], "--cores", "7"]) == 0
    assert (tmp_path / "advice.json").read_text() == made and (tmp_path / "check.txt").is_file()
    with pytest.raises(SystemExit):
        making.main([*call[:2], "--within", "1", "--cores", "7"])
    assert "another machine" in capsys.readouterr().err


def test_candidate_with_another_forest_has_no_time(with_gpu, monkeypatch, capsys):
    monkeypatch.setattr(KruskalOnDevice, "collect", lambda self, problem, result: result[1:])
    wrong: list[str] = []
    times = calls.measure(generate("uniform", n=100, m=300), UsableHardware(1, True).candidates(False), wrong)
    assert not any(name.endswith("@gpu") for name in times) and any(name.endswith("@device") for name in times)
    assert len(wrong) == len(FROM_HOST) and "WRONG" in capsys.readouterr().out


@pytest.mark.slow
def test_cases_have_the_size_and_kinds_that_they_claim():
    cases = training(5000)
    assert len({repr(case) for case in cases}) == len(cases) > 20
    kinds = set()
    for case in cases:
        graph = case.make()
        assert 0.9 < graph.m / case.m < 1.1
        kinds.add(kind_of(traits_of(graph)))
    assert kinds >= {"even random", "skewed random", "even wide", "even few", "even equal", "even local"}
    seen = {(case.generator, case.seed) for case in training()}
    new = unseen()
    assert not seen & {(case.generator, case.seed) for case in new} and len({c.generator for c in new}) > 9


def test_command_prints_the_cell_and_the_machine(capsys, tmp_path):
    sizes = ["--n", "1000000", "--m", "1500000", "--threads", "1", "--gpu", "none"]
    assert cli.main(["advise", *sizes, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["algorithm"] == advice.choose(1_000_000, 1_500_000).algorithm and printed["times"]
    assert cli.main(["advise", *sizes, "--weights", "equal", "--skew", "40"]) == 0
    assert "degrees of skew 40, equal weights" in capsys.readouterr().out
    file = tmp_path / "tiny.txt"
    file.write_text("0 1 5\n1 2 5\n")
    assert cli.main(["advise", str(file), "--threads", "1", "--gpu", "none"]) == 0
    text = capsys.readouterr().out
    assert "equal weights (1 distinct among 2 sampled edges)" in text and "nearest measurement: m=" in text
    assert cli.main(["advise", "--m", "100000", "--threads", "1", "--gpu", "none"]) == 0
    assert re.search(r"about .* for 100,000 edges, from a graph to sorted edge ids", capsys.readouterr().out)
    assert cli.main(["advise"]) == 2 and cli.main(["advise", *sizes, "--m", "-1"]) == 2
