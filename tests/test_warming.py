"""Warm-up solves: when a process of a run is warm, and how many solves it times."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from scripts import run_python

from mst import registry
from mst.bench.measure import ranks
from mst.bench.measure.processes import pinned_environment
from mst.bench.measure.samples import still_cold, take_samples, warm_seconds
from mst.bench.measure.warm_up import compile_kernels
from mst.execute import implementation_of
from mst.graph import Graph


@pytest.mark.parametrize(
    ("warm", "share", "cold"),
    [
        ([0.7], 0.1, True),  # this time may include the loading of machine code
        ([3.0], 0.1, False),  # a second solve of this length exceeds any budget
        ([3.0], 20.0, True),
        ([0.7, 0.02], 0.2, True),
        ([0.7, 0.02, 0.0201], 0.2, False),
        ([0.7, 0.02, 0.03, 0.02], 9.0, False),
        ([0.7, 0.5], 0.2, False),
    ],
)
def test_first_solve_alone_does_not_prove_warmth(warm, share, cold):
    assert still_cold(warm, share) is cold


def test_loaded_code_is_warm_after_a_long_first_solve():
    assert still_cold([0.7], 0.2) and not still_cold([0.7], 0.2, loaded=True)
    assert still_cold([0.02], 0.2, loaded=True), "a short solve meets cold caches"
    assert still_cold([0.7], 20.0, loaded=True), "there is time to see that it is steady"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seconds", "loaded", "warmup", "compute"),
    [
        (1.5, True, 0, 1),  # the time to load code is negligible beside the solve
        (1.5, False, 1, 1),
        (0.31, True, 1, 2),
        (0.01, True, 2, 5),  # short solves are repeated more often
    ],
)
def test_number_of_warm_up_and_timed_solves(seconds, loaded, warmup, compute):
    measure = dict(processes=5, samples=3, budget=6.0)
    taken = take_samples(lambda: ("forest", seconds), measure, 0.0, loaded=loaded)
    assert taken.result == "forest"
    assert (len(taken.warmup), len(taken.compute)) == (warmup, compute)


@pytest.mark.parametrize(("code", "warmup"), [(0.1, 0), (1.2, 1)])
def test_first_solve_of_seconds_is_no_sample_if_it_compiles(code, warmup):
    read, solved = iter([4.0, 4.0 + code]), iter([1.5, 0.3])
    measure = dict(processes=5, samples=1, budget=6.0)
    taken = take_samples(
        lambda: ("forest", next(solved)), measure, 0.0, loaded=True, code_seconds=lambda: next(read)
    )
    assert taken.warmup + taken.compute == [1.5, 0.3][: 1 + warmup] and len(taken.warmup) == warmup


def test_code_that_any_rank_compiles_counts_though_another_has_compiled_for_longer(monkeypatch):
    own = iter([0.5, 3.5])
    monkeypatch.setattr(ranks, "code_seconds", lambda: next(own))
    comm = SimpleNamespace(allgather=lambda seconds: [10.0, seconds])
    sampler = ranks.RankSampler(None, None, None, comm)
    before = sampler.code_seconds()
    assert sampler.code_seconds() - before == 3.0


@pytest.mark.parametrize("seconds", [0.001, 0.31])
def test_program_is_started_only_as_often_as_requested(seconds):
    calls = []
    measure = dict(processes=5, samples=3, budget=60.0)
    taken = take_samples(lambda: (calls.append(1), seconds), measure, 0.0, loaded=True, alone=True)
    assert (len(taken.warmup), len(taken.compute), len(calls)) == (0, 3, 3)


def test_loading_of_code_does_not_count_against_the_budget():
    assert warm_seconds([0.7, 0.02, 0.03]) == pytest.approx(0.05)
    assert warm_seconds([0.7]) == 0.7


def test_threads_compile_the_code_of_the_graph_alone(rng):
    solved = []
    implementation = implementation_of(registry.get("filter-boruvka-threads"))
    solve = implementation.solve
    implementation = replace(
        implementation, solve=lambda problem: (solved.append(problem.graph), solve(problem))[1]
    )
    graph = Graph(9, *rng.integers(0, 9, (2, 50)), rng.integers(0, 9, 50, "int32"))
    compile_kernels(implementation, graph, 1, dict(input="edges", hand_over=True))
    assert [graph is one for one in solved] == [True]


COMPILED_LATE = """
import sys
import numpy as np
from mst import registry
from mst.bench.measure.processes import run_in_fork
from mst.bench.measure.warm_up import compile_kernels, solve_once
from mst.execute import implementation_of
from mst.graph import Graph

def versions():
    kernels = [k for name, module in [*sys.modules.items()] if name.startswith("mst.") for k in vars(module).values()]
    return {k.py_func.__qualname__: len(k.signatures) for k in kernels if hasattr(k, "signatures")}

def check(algorithm, graph):
    implementation, options = implementation_of(algorithm), algorithm.resolve()
    compile_kernels(implementation, graph, 1, options)
    before = versions()
    solve_once(implementation, graph, 1, options)
    late = [name for name, count in versions().items() if count > before.get(name, 0)]
    assert not late, f"{algorithm.id}, m = {graph.m}: {late}"

rng = np.random.default_rng(1)
failed = 0
for n, m in ((20_000, 120_000), (20_000, 15_000), (3000, 200_000)):
    graph = Graph(n, *rng.integers(0, n, (2, m)), rng.integers(0, 1000, m).astype(np.int32))
    for algorithm in registry.algorithms().values():
        if algorithm.paradigm == "sequential":
            # Each in a new process, which starts without machine code.
            failed += run_in_fork(lambda: check(algorithm, graph)) != 0
sys.exit(failed)
"""


@pytest.mark.slow
def test_sampler_finds_all_code_compiled():
    run_python(COMPILED_LATE, **pinned_environment(1))
