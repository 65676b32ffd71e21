"""Advice comes from the table alone, and ``algorithm="auto"`` follows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

import mst
from mst import advice, cli, cores, registry, solver
from mst.advice import Candidate, Table, best, first
from mst.advice.kinds import KINDS, weights_along_rows
from mst.bench import advice as making
from mst.bench.advice import MeasuredGraph, alike, cells, judge, promising, report, settings
from mst.bench.measure import sampler
from mst.bench.measure.messages import RunSpec
from mst.bench.planning.experiment import Measure
from mst.errors import ConfigError, OutOfMemoryError, UnsupportedError
from mst.generators import generate

GPU = {"filter-boruvka-cuda[start=edges]@gpu": 0.1, "filter-boruvka-cuda[start=edges]@device": 0.05}
CELLS = [
    dict(m=1000, density=4.0, kinds=["random"], times={"kruskal@1": 1.0, "filter-boruvka-threads@4": 4.0}),
    dict(
        m=10**6,
        density=4.0,
        kinds=["random", "wide"],
        times={"kruskal@1": 9.0, "filter-boruvka@1": 3.0, "filter-boruvka-threads@4": 1.0, **GPU},
    ),
    dict(
        m=10**6,
        density=4.0,
        kinds=["local"],
        times={"kruskal@1": 2.0, "filter-boruvka@1": 3.0, "filter-boruvka-threads@4": 4.0, **GPU},
    ),
]
TABLE = Table({"machine": "box", "cells": CELLS})


def table_of(**times: float) -> Table:
    cell = dict(
        m=1000,
        density=4.0,
        kinds=["random"],
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
        (250_000, 1_000_000, dict(weights="local"), "kruskal", 1),
        (250_000, 1_000_000, dict(weights="wide"), "filter-boruvka", 1),
        (250_000, 1_000_000, dict(width=64, weights="local"), "filter-boruvka-threads", 64),
        (250_000, 1_000_000, dict(gpu="device", weights="local"), "filter-boruvka-cuda", 1),
        (250_000, 1_000_000, dict(width=64, gpu="host"), "filter-boruvka-cuda", 1),
        (250, 900, dict(width=64), "kruskal", 1),
        (0, 0, {}, "kruskal", 1),
    ],
)
def test_the_nearest_cell_decides(n, m, query, algorithm, width):
    choice = TABLE.choose(n, m, **query)
    assert (choice.algorithm, choice.width) == (algorithm, width)


def test_all_cores_are_used_where_the_most_that_they_suffice_for_were_the_fastest():
    times = {"filter-boruvka@1": 3.0, "filter-boruvka-threads@2": 2.0, "filter-boruvka-threads@4": 1.0}
    table = Table({"machine": "box", "cells": [dict(CELLS[0], times=times)]})
    assert [table.choose(250, 1000, width=width).width for width in (1, 2, 3, 5)] == [1, 2, 3, 5]


@pytest.mark.parametrize(
    ("n", "query", "algorithm"),
    [
        (250, {}, "kruskal"),
        (40, {}, "filter-boruvka"),
        (4000, {}, "qkruskal"),
        (250, {"weights": "local"}, "prim-dense"),
        (40, {"weights": "local"}, "prim-dense"),
    ],
)
def test_density_and_kinds_decide_among_cells_of_one_size(n, query, algorithm):
    cells = [
        dict(m=1000, density=density, kinds=[kind], times={name: 1.0})
        for density, kind, name in (
            (4.0, "random", "kruskal@1"),
            (32.0, "random", "filter-boruvka@1"),
            (1.0, "random", "boruvka@1"),
            (0.25, "random", "qkruskal@1"),
            (4.0, "local", "prim-dense@1"),
        )
    ]
    assert Table({"machine": "box", "cells": cells}).choose(n, 1000, **query).algorithm == algorithm


def test_more_cores_are_taken_only_where_the_most_were_the_fastest():
    threads = "filter-boruvka-threads"
    cells = [
        dict(
            m=1000,
            density=4.0,
            kinds=["random"],
            times={f"{threads}@4": 1, f"{threads}@8": 2, "kruskal@1": 3},
        ),
        dict(m=10**6, density=4.0, kinds=["random"], times={"kruskal@1": 1, f"{threads}@4": 2}),
        dict(m=10**6, density=4.0, kinds=["local"], times={"kruskal@1": 2, f"{threads}@4": 1}),
    ]
    table = Table({"machine": "box", "cells": cells})
    for width in (8, 64):
        choice = table.choose(250, 1000, width=width)
        assert (choice.width, choice.margin) == (4, 3)
    # Weights decide only between algorithms of one core.
    assert table.choose(250_000, 10**6, width=4, weights="local").algorithm == "kruskal"


def test_choice_names_its_cell_margin_and_machine():
    choice = TABLE.choose(250_000, 10**6, width=4)
    assert choice.margin == 3.0 and choice.machine == "box" and choice.seconds == 1.0
    assert (choice.m, choice.density, choice.kinds) == (10**6, 4.0, ("random", "wide"))
    assert choice.extrapolated == "" and choice.gpu is None and not choice.options
    on_gpu = TABLE.choose(250_000, 10**6, width=4, gpu="device")
    assert (on_gpu.gpu, on_gpu.options, on_gpu.margin) == ("device", {"start": "edges"}, None)
    assert "m: measured from" in TABLE.choose(25_000_000, 10**8).extrapolated
    few = Table({"machine": "box", "cells": CELLS[:1]})
    outside = few.choose(250, 1000, weights="wide").extrapolated
    assert outside == "weights: measured with random ones, not with wide ones"
    empty = Table({"machine": "box", "cells": []})
    assert empty.choose(5, 5) == advice.FALLBACK
    assert empty.choose(5, 5, gpu="device") == advice.FALLBACK_ON_DEVICE
    for wrong in (dict(weights="odd"), dict(gpu="yes")):
        with pytest.raises(ValueError, match="must be one of"):
            TABLE.choose(5, 5, **wrong)


@pytest.mark.slow
def test_weights_are_looked_at_only_where_that_changes_the_answer(monkeypatch):
    looked = []
    monkeypatch.setattr(
        best, "weights_along_rows", lambda weights: looked.append(weights) or weights_along_rows(weights)
    )
    monkeypatch.setattr(best, "table", lambda: TABLE)
    small = generate("uniform", n=250, m=1000)
    assert advice.measured_best(small).algorithm == "kruskal" and not looked
    ends = np.random.default_rng(1).integers(0, 250_000, (2, 10**6))
    nearly_equal = mst.Graph(250_000, *ends, (np.arange(10**6) != 500_000).astype(np.int32))
    assert advice.measured_best(nearly_equal, width=4).algorithm == "filter-boruvka-threads" and not looked
    assert advice.measured_best(nearly_equal).algorithm == "kruskal" and len(looked) == 1
    # Where solving takes no longer than looking, nothing is looked at.
    shorter = [{**cell, "times": {k: t * 1e-6 for k, t in cell["times"].items()}} for cell in CELLS]
    table = Table({"machine": "box", "cells": shorter})
    monkeypatch.setattr(best, "table", lambda: table)
    assert advice.measured_best(nearly_equal).algorithm == "filter-boruvka"
    assert len(looked) == 1


def test_rows_in_the_order_of_their_weights_are_for_filter_boruvka(monkeypatch):
    monkeypatch.setattr(best, "table", lambda: TABLE)
    ends = np.random.default_rng(1).integers(0, 250_000, (2, 10**6))
    constant = np.ones(10**6, np.int32)
    nearly = (np.arange(10**6) != 500_000).astype(np.int32)
    for weights, algorithm in (
        (constant, "filter-boruvka"),
        (np.arange(10**6), "filter-boruvka"),
        (-np.arange(10**6), "filter-boruvka"),
        (-np.arange(10**6) // 3, "filter-boruvka"),
        (nearly, "kruskal"),
    ):
        graph = mst.Graph(250_000, *ends, weights)
        assert advice.measured_best(graph).algorithm == algorithm
        # Answers are judged that `auto` gives.
        row = MeasuredGraph("", graph.n, graph.m, weights_along_rows(graph.w), seconds=SLOW)
        assert list(judge(TABLE, [row]).chosen) == [f"{algorithm}@1"]


def test_graphs_whose_rows_are_in_order_are_in_no_cell():
    ordered = replace(measured({"kruskal@1": 4.0, "filter-boruvka@1": 0.1}), in_order=True)
    assert cells([measured(SLOW), ordered]) == cells([measured(SLOW)])
    assert cells([ordered]) == []


ON_ONE_CORE = solver.Request("auto", 1, {})


@pytest.fixture
def settled(monkeypatch):
    """Compiled code is worth its wait."""
    monkeypatch.setattr(first, "early_choice", lambda graph, width: None)


def test_auto_follows_the_table(monkeypatch, settled):
    graph = generate("uniform", n=300, m=1200, seed=3)
    monkeypatch.setattr(best, "table", lambda: table_of(prim_dense=1.0, kruskal=2.0))
    assert mst.minimum_spanning_forest(graph).algorithm == "prim-dense"
    huge = mst.Graph(60_000, [0], [1], np.array([1], np.int32))
    assert advice.measured_best(huge).algorithm == "kruskal", "the next best, since the best refuses the graph"
    monkeypatch.setattr(best, "table", lambda: table_of(prim_dense=1.0))
    assert advice.measured_best(huge) == advice.FALLBACK
    monkeypatch.setattr(best, "table", lambda: TABLE)
    assert mst.minimum_spanning_forest(graph, threads=1).algorithm == "kruskal"


def test_auto_takes_a_gpu_only_if_cupy_is_loaded_and_memory_allows(monkeypatch, settled):
    graph = generate("uniform", n=300, m=1200, seed=3)
    cell = {**CELLS[1], "m": 1200}
    monkeypatch.setattr(best, "table", lambda: Table({"machine": "box", "cells": [cell]}))
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert solver.choose(graph, ON_ONE_CORE).algorithm == "filter-boruvka"
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    choice = solver.choose(graph, ON_ONE_CORE)
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
        assert solver.choose(graph, ON_ONE_CORE).algorithm == "filter-boruvka"


def test_graph_beyond_the_limits_of_a_gpu_runs_on_cores(monkeypatch):
    class Huge:
        n, m, u, v = 10**9, 4 * 10**9, np.zeros(1), np.zeros(1)
        w = np.zeros(1, np.int32)

    monkeypatch.setattr(best, "table", lambda: TABLE)
    choice = advice.measured_best(Huge, width=4, gpu="host")
    assert (choice.algorithm, choice.gpu) == ("filter-boruvka-threads", None)
    assert advice.measured_best(Huge, gpu="device") == advice.FALLBACK_ON_DEVICE


def test_graph_is_for_one_core_if_no_number_of_cores_changes_the_choice(monkeypatch, rng):
    random = dict(
        m=1000, density=4.0, kinds=["random"], times={"kruskal@1": 1.0, "filter-boruvka-threads@4": 2.0}
    )
    threads = random | {"times": {"filter-boruvka-threads@1": 2.0, "filter-boruvka-threads@4": 1.0}}
    wide = random | {"kinds": ["wide"], "times": {"filter-boruvka@1": 1.0, "kruskal@1": 9.0}}
    int32, int64 = (
        mst.Graph(250, *rng.integers(0, 250, (2, 1000)), rng.integers(0, np.iinfo(dtype).max, 1000, dtype))
        for dtype in (np.int32, np.int64)
    )
    for measured, graph, expected, algorithm in (
        ([random], int32, True, "kruskal"),
        ([threads], int32, False, "filter-boruvka-threads"),
        ([random, wide], int32, True, "kruskal"),
        ([random, wide], int64, False, "filter-boruvka"),
    ):
        table = Table({"machine": "box", "cells": measured})
        monkeypatch.setattr(best, "table", lambda table=table: table)
        assert best.is_for_one_core(graph) is expected
        assert advice.measured_best(graph, width=1).algorithm == algorithm


def test_committed_table_names_registered_algorithms():
    table = advice.table()
    assert table.machine and table.cells
    for cell in table.cells:
        for name, seconds in cell["times"].items():
            candidate = Candidate.parse(name)
            registry.get(candidate.algorithm).parse_slug(candidate.slug)
            assert str(candidate) == name and seconds > 0
        assert set(cell["kinds"]) <= set(KINDS)


def test_table_of_the_environment_variable_is_used(monkeypatch, tmp_path):
    file = tmp_path / "advice.json"
    file.write_text(json.dumps({"machine": "mine", "cells": CELLS}))
    monkeypatch.setenv("MST_ADVICE", str(file))
    advice.table.cache_clear()
    try:
        assert advice.table().choose(250, 1000).machine == "mine"
        for damaged in ('{"machine": "mine"}', "[]", "{"):
            file.write_text(damaged)
            advice.table.cache_clear()
            with pytest.raises(ConfigError, match="is not a table of advice"):
                advice.table().choose(250, 1000)
    finally:
        advice.table.cache_clear()


@pytest.mark.slow
def test_a_fork_of_a_process_with_threads_uses_one_core():
    graph = generate("uniform", n=2000, m=9000, seed=5)
    in_threads = dict(algorithm="filter-boruvka-threads", threads=1, hand_over=False)
    expected = mst.minimum_spanning_forest(graph, **in_threads).digest
    assert cores.usable_width() >= 1
    pid = os.fork()
    if pid == 0:
        try:
            right = cores.usable_width() == 1 and mst.minimum_spanning_forest(graph).digest == expected
            named = dict(algorithm="filter-boruvka-threads", hand_over=False)
            right &= mst.minimum_spanning_forest(graph, **named).digest == expected
            # With numba's parallel loops, which OpenMP would end.
            again = generate("uniform", n=2000, m=9000, seed=5)
            right &= mst.minimum_spanning_forest(again, algorithm="parlay-boruvka").digest == expected
            with pytest.raises(UnsupportedError, match="forked"):
                mst.minimum_spanning_forest(graph, threads=2, **named)
            os._exit(0 if right else 1)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


SLOW, FAST = {"kruskal@1": 4.0, "filter-boruvka@1": 1.0}, {"kruskal@1": 1.0, "filter-boruvka@1": 4.0}


def measured(times: dict[str, float], kind: str = "random", m: int = 1000) -> MeasuredGraph:
    return MeasuredGraph("uniform", m // 4, m, kind, seconds=times)


def test_kinds_share_a_cell_unless_they_change_the_answer():
    rows = [measured(SLOW), measured(SLOW, "wide"), measured(FAST, "local")]
    found = sorted((cell["kinds"], cell["graphs"]) for cell in cells(rows))
    assert found == [(["local"], 1), (["random", "wide"], 2)]
    slow, fast = [measured(SLOW)], [measured(FAST)]
    assert alike([slow, slow], [(1, None)]) and not alike([slow, fast], [(1, None)])
    # On two cores they have the same answer; on one core they do not.
    wide = {"filter-boruvka-threads@2": 0.1}
    pair = [[measured(SLOW | wide)], [measured(FAST | wide)]]
    assert alike(pair, [(2, None)]) and not alike(pair, [(1, None), (2, None)])
    (one,) = cells([measured({"kruskal@1": 1.0}), measured({"kruskal@1": 4.0, "prim-dense@1": 1.0})])
    assert one["times"] == {"kruskal@1": 2.0}, "geometric means of the candidates that every graph has"
    # A candidate that was measured for one kind only may be that kind's answer.
    local = measured(SLOW | {"parlay-boruvka@2": 0.1}, "local")
    assert len(cells([measured(SLOW), local])) == 2


def test_graphs_of_about_the_same_size_and_density_share_a_cell():
    (cell,) = cells([measured(SLOW, m=1000), measured(SLOW, m=1200)])
    assert (cell["m"], cell["density"], cell["graphs"]) == (1095, 4.0, 2)
    assert [cell["m"] for cell in cells([measured(SLOW, m=1000), measured(SLOW, m=2000)])] == [1000, 2000]


def test_cell_keeps_the_candidates_that_answers_and_margins_need():
    times = {"kruskal@1": 9.0, "filter-boruvka@1": 1.0, "prim-dense@1": 30.0, "filter-boruvka-threads@4": 0.1}
    (cell,) = cells([measured(times)])
    assert set(cell["times"]) == {"kruskal@1", "filter-boruvka@1", "filter-boruvka-threads@4"}
    whole = dict(m=1000, density=4.0, kinds=["random"], times=times)
    small, large = (Table({"machine": "box", "cells": [c]}) for c in (cell, whole))
    for width in (1, 2, 4, 8):
        short, long = (table.choose(250, 1000, width=width) for table in (small, large))
        assert (short.algorithm, short.width, short.margin) == (long.algorithm, long.width, long.margin)
    # The cell of a small graph keeps the GPU's time, even where it is far from the best.
    small, large = measured(times | {"edge-boruvka-cuda@gpu": 99.0}), measured({**SLOW, **GPU}, m=10**6)
    both = Table({"machine": "box", "cells": cells([small, large])})
    assert both.choose(250, 1000, width=4, gpu="host").algorithm == "filter-boruvka-threads"
    assert both.choose(250_000, 10**6, width=4, gpu="host").algorithm == "filter-boruvka-cuda"


def test_cell_without_the_gpu_answers_only_for_graphs_too_small_for_one():
    tiny, small, large = measured(FAST, m=1000), measured({**SLOW, **GPU}, m=30_000), measured(SLOW, m=10**6)
    table = Table({"machine": "box", "cells": cells([tiny, small, large])})
    answers = [table.choose(m // 4, m, gpu="host").algorithm for m in (1000, 30_000, 10**6)]
    assert answers == ["kruskal", "filter-boruvka-cuda", "filter-boruvka-cuda"]


def test_cell_measured_on_fewer_cores_answers_only_for_smaller_graphs_than_all_others():
    threads = "filter-boruvka-threads"
    few, some, many = (
        {**SLOW, **{f"{threads}@{width}": 0.5 for width in widths}} for widths in ((), (2,), (2, 16))
    )
    rows = [
        measured(FAST, m=1000),
        measured(some, m=30_000),
        measured(few, m=10**6),
        measured(many, m=4 * 10**6),
    ]
    table = Table({"machine": "box", "cells": cells(rows)})
    for width, expected in (
        (1, ["kruskal", "filter-boruvka", "filter-boruvka"]),
        (2, ["kruskal", threads, threads]),
        (4, ["kruskal", threads, threads]),
        # A few of the cores say little about all of them.
        (16, ["kruskal", threads, "filter-boruvka"]),
        (64, ["kruskal", threads, "filter-boruvka"]),
    ):
        choices = [table.choose(m // 4, m, width=width) for m in (1000, 30_000, 10**6)]
        assert [choice.algorithm for choice in choices] == expected
        assert {choice.width for choice in choices if choice.algorithm == threads} <= {width}


def test_wide_weights_are_nearer_to_random_ones_than_to_local_ones():
    near_local, farther = measured(FAST, "local", m=10**6), measured(SLOW, m=2 * 10**6)
    table = Table({"machine": "box", "cells": cells([near_local, farther])})
    answers = [table.choose(250_000, 10**6, weights=weights).algorithm for weights in KINDS]
    assert dict(zip(KINDS, answers)) == {
        "random": "filter-boruvka",
        "wide": "filter-boruvka",
        "local": "kruskal",
    }


def test_verdict_counts_regret_and_the_cost_of_choosing():
    table = Table({"machine": "box", "cells": cells([measured(SLOW)])})
    verdicts = judge(table, [measured(SLOW), measured(FAST)])
    assert list(verdicts.regret) == [1.0, 4.0]
    assert re.search(r"1 +none +1 +2\n", report(verdicts)) and re.search("uniform .* 4", report(verdicts))
    assert judge(table, [measured({"kruskal@1": 1.0})]).empty, "the chosen candidate was not measured there"
    # Local weights are worth a look, whose cost counts, unless that takes as long as the solve.
    for scale, chosen in ((5e-5, "kruskal@1"), (1e-7, "filter-boruvka@1")):
        rows = [
            measured({k: t * scale for k, t in times.items()}, kind)
            for times, kind in ((SLOW, "random"), (FAST, "local"))
        ]
        local = judge(Table({"machine": "box", "cells": cells(rows)}), rows).iloc[1]
        assert local.chosen == chosen and (local.regret == 4.0 or local.regret == pytest.approx(1.2))


def test_settings_are_the_measured_widths_and_places():
    first = {"kruskal@1": 9.0, "filter-boruvka@1": 3.0, "filter-boruvka-threads@4": 0.5, **GPU}
    # Candidates are compared only with those of the same cores and GPU.
    assert promising(first) == {"filter-boruvka@1", "filter-boruvka-threads@4", *GPU}
    wide = [(1, None), (4, None), (1, "host"), (4, "host"), (1, "device")]
    assert settings([measured(first)]) == wide and settings([measured(SLOW)]) == [(1, None)]


@pytest.mark.parametrize(("n", "m"), [(32, 256), (60, 500), (128, 1024), (128, 2048), (500, 2000)])
def test_weights_of_small_graphs_are_not_inspected(n, m):
    # They take 10 µs to inspect, and the nearest graphs with local weights in the table are a hundred times as large.
    assert advice.table().choose_uninspected(n, m, width=2, gpu=None) is not None


def fake_cupy(devices: int = 1) -> types.ModuleType:
    """Return a stand-in for the part of CuPy that `auto` and samplers use."""
    cupy = types.ModuleType("cupy")
    runtime = types.SimpleNamespace(getDeviceCount=lambda: devices, CUDARuntimeError=RuntimeError)
    stream = types.SimpleNamespace(synchronize=lambda: None)
    cupy.cuda = types.SimpleNamespace(runtime=runtime, get_current_stream=lambda: stream)
    cupy.asarray = lambda array: ("on the device", len(array))
    return cupy


def test_an_algorithm_that_returns_neither_edges_nor_a_total_is_named():
    implementation = types.SimpleNamespace(collect=lambda problem, result: None, weight=None)
    with pytest.raises(AssertionError, match="collect returned None, but there is no function weight"):
        sampler.Sampler(None, implementation, None, loaded=True).forest(None, None)


def test_gpus_are_called_with_arrays_on_the_host_and_on_the_device(monkeypatch):
    graph, called = generate("uniform", n=100, m=300), []
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(
        sampler, "minimum_spanning_forest", lambda columns, **options: called.append((columns, options))
    )
    spec = RunSpec("edge-boruvka-cuda", {"block": 64}, 1, "", "", Measure().model_dump())
    for edge_ids, places in ((print, {"call", "call_on_device"}), (None, {"call"})):
        called.clear()
        implementation = types.SimpleNamespace(edge_ids=edge_ids)
        found = sampler.Sampler(spec, implementation, graph, loaded=True).calls(expected=0.001, spent=0.0)
        assert found.keys() == places and all(seconds > 0 for part in found.values() for seconds in part)
        there = [columns for columns, _ in called if isinstance(columns[1], tuple)]
        assert bool(there) == (edge_ids is not None) and len(there) < len(called)
        assert all(how == {"algorithm": "edge-boruvka-cuda", "threads": 1, "block": 64} for _, how in called)


def test_calls_are_given_only_options_that_differ_from_the_defaults(monkeypatch):
    graph, called = generate("uniform", n=100, m=300), []
    monkeypatch.setattr(sampler, "minimum_spanning_forest", lambda columns, **options: called.append(options))
    every = registry.get("filter-boruvka-cuda").resolve({"seed": 7})
    spec = RunSpec("filter-boruvka-cuda", every, 1, "", "", Measure().model_dump())
    implementation = types.SimpleNamespace(edge_ids=None)
    sampler.Sampler(spec, implementation, graph, loaded=True).calls(expected=0.001, spent=0.0)
    # Not start=csr: a call of this algorithm starts from edges.
    assert called and all(given.keys() == {"algorithm", "threads", "seed"} for given in called)


@pytest.fixture(scope="module")
def measured_results(tmp_path_factory):
    """An experiment on two graphs, measured, as if nothing else had run here."""
    folder = tmp_path_factory.mktemp("advice") / "results"
    runs = [{"algorithms": ["kruskal", "prim-dense"]}]
    measure = {"processes": 3, "samples": 1, "budget": 60, "phases": False}
    experiment = {"title": "Small", "graphs": ["complete-50", "uniform-1kx3"], "measure": measure, "runs": runs}
    file = folder.parent / "experiment.yaml"
    file.write_text(yaml.safe_dump({"results": str(folder), "machine": "box", "experiment": experiment}))
    assert cli.main(["measure", "--configfile", str(file)]) == 0
    for record in records_of(folder):
        change(record, lambda value: value["conditions"].update(flags=[]))
    return folder


@pytest.fixture
def results(measured_results, tmp_path):
    return Path(shutil.copytree(measured_results, tmp_path / "results"))


def records_of(results: Path) -> list[Path]:
    return sorted(p for p in results.glob("records/*/*/*/*/*/*.json") if ".proof" not in p.name)


def change(record: Path, how) -> None:
    value = json.loads(record.read_text())
    how(value)
    record.write_text(json.dumps(value))


def test_table_is_made_of_records_and_judged(results, capsys):
    assert making.main([str(results)]) == 0
    file = results / "advice.json"
    table = json.loads(file.read_text())
    assert [(cell["m"], cell["density"]) for cell in table["cells"]] == [(1225, 24.5), (1500, 1.5)]
    assert table["cells"][0]["times"].keys() == {"kruskal@1", "prim-dense@1"}
    assert re.search(r", \d+ cores$", table["machine"]) and json.dumps(table["cells"][1]) in file.read_text()
    assert making.main([str(results), "--judge", str(file)]) == 0
    assert json.loads(file.read_text()) == {**table, "checked": {"good": 2, "cases": 2}}
    assert "of 2 cases" in capsys.readouterr().out


def test_records_that_judge_nothing_make_no_table(results, capsys):
    kept, *others = records_of(results)
    changes = {
        "disturbed (busy)": lambda value: value["conditions"].update(flags=["busy", "spread"]),
        "no whole calls of 3 processes": lambda value: value["samples"].update(
            call=value["samples"]["call"][:2]
        ),
        "of other code": lambda value: value["run"].update(source_fingerprint="0" * 12),
    }
    for record, how in zip(others, changes.values(), strict=True):
        change(record, how)
    assert making.main([str(results)]) == 0
    assert [len(cell["times"]) for cell in json.loads((results / "advice.json").read_text())["cells"]] == [1]
    printed = capsys.readouterr().out
    assert all(f"1 record not counted: {reason}" in printed for reason in changes)
    kept.with_suffix(".proof.json").unlink()
    with pytest.raises(SystemExit, match="no machine"):
        making.main([str(results)])
    assert "1 record not counted: unproved" in capsys.readouterr().out


def test_command_prints_the_cell_and_the_machine(capsys, tmp_path):
    sizes = ["--n", "1000000", "--m", "1500000", "--threads", "1", "--gpu", "none"]
    assert cli.main(["advise", *sizes, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["algorithm"] == advice.table().choose(1_000_000, 1_500_000).algorithm and printed["times"]
    assert cli.main(["advise", *sizes, "--weights", "local"]) == 0
    assert "m=1,500,000, local weights" in capsys.readouterr().out
    file = tmp_path / "tiny.txt"
    file.write_text("0 1 5\n1 2 5\n")
    assert cli.main(["advise", str(file), "--threads", "1", "--gpu", "none"]) == 0
    text = capsys.readouterr().out
    assert "n=3 m=2, random weights, rows in their order" in text
    assert "nearest measurement: m=" in text and "about" not in text, "not in proportion to two edges"
    assert cli.main(["advise", str(file), "--gpu", "device", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["in_order"], printed["m"]) == (True, 2) and printed["measured_m"] > 2
    assert cli.main(["advise", "--m", "100000", "--threads", "1", "--gpu", "none"]) == 0
    assert re.search(r"about .* for 100,000 edges, a whole call", capsys.readouterr().out)
    assert cli.main(["advise"]) == 2 and cli.main(["advise", *sizes, "--m", "-1"]) == 2


@pytest.mark.parametrize("named", ["0", "-1", "abc", "1.5", ""])
def test_a_wrong_number_of_threads_for_numba_is_refused(named, monkeypatch):
    monkeypatch.setenv("NUMBA_NUM_THREADS", named)
    refused = f"NUMBA_NUM_THREADS={named!r} is not a number of threads: set it to 1 or more, or unset it"
    with pytest.raises(ConfigError, match=re.escape(refused)):
        cores.named_threads()
    if named in ("0", "abc"):
        # Before numba sees it.
        command = [sys.executable, "-c", "import mst.kernels.primitives.jit"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.stderr.splitlines()[-1] == f"mst.errors.ConfigError: {refused}"


def test_more_threads_than_numba_launches_are_refused(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("numba.core.config.NUMBA_NUM_THREADS", 1)
    forest = mst.minimum_spanning_forest((2, [0], [1], [5]))
    for call in (forest.linkage, forest.is_unique, lambda threads: forest.bottleneck(0, 1, threads=threads)):
        with pytest.raises(UnsupportedError, match="threads=2 is above NUMBA_NUM_THREADS=1: use fewer"):
            call(threads=2)


def test_numba_without_its_compiler_is_refused():
    command = [sys.executable, "-c", "import mst.kernels.primitives.jit"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
    refused = "NUMBA_DISABLE_JIT is set, but kernels run only as compiled code: unset it"
    assert done.stderr.splitlines()[-1] == f"mst.errors.ConfigError: {refused}"
