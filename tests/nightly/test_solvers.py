"""Unions of tiny adversarial graphs for every exact algorithm, on threads, ranks and a GPU; races at many threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import solver_attack

from mst import registry
from mst.bench.launch import find_launcher, launch_command
from mst.bench.machine import this_machine

TESTS = Path(__file__).resolve().parent.parent
SHARE = float(os.environ.get("MST_NIGHTLY", 1))
WIDEST = 8
RACED = (
    "lock-boruvka",
    "cas-boruvka",
    "parlay-boruvka",
    "edge-boruvka",
    "reservation-kruskal",
    "component-boruvka",
)
HOURS = 12 * 3600
HOST = ("sequential", "threads", "peer")


def attack(*words: str, threads: int = WIDEST, ranks: int = 0) -> dict[str, int]:
    """Run `solver_attack` in a process of so many threads, or in ranks; return the graphs by algorithm and width."""
    command, extra = [sys.executable, str(TESTS / "solver_attack.py"), *words], {}
    if ranks:
        command, extra = launch_command(ranks, [*command, "--paradigms", "mpi"], find_launcher())
        extra = {**extra, "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    path = os.pathsep.join([str(TESTS.parent), str(TESTS), *sys.path])
    environment = {**os.environ, **extra, "NUMBA_NUM_THREADS": str(threads), "PYTHONPATH": path}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    result = json.loads(done.stdout.splitlines()[-1])
    print(
        f"\n{result['seconds']} s, {result['cpu_seconds']} s of CPU, {result['cores']} cores: {result['graphs']}"
    )
    return result["graphs"]


def expected_runs() -> set[str]:
    """Return every algorithm of the host, with every width that it has."""
    return {
        f"{algorithm.id} w{width}"
        for algorithm in solver_attack.attacked(HOST, [])
        for width in (range(1, WIDEST + 1) if algorithm.paradigm == "threads" else [1])
    }


@pytest.mark.parametrize(
    "wanted",
    [
        pytest.param(3000, marks=[pytest.mark.slow, pytest.mark.timeout(600)]),
        pytest.param(int(10**6 * SHARE), marks=[pytest.mark.nightly, pytest.mark.timeout(HOURS)]),
    ],
)
def test_adversarial_graphs_at_every_width(wanted):
    widths = ",".join(map(str, range(1, WIDEST + 1)))
    graphs = attack("--graphs", str(wanted), "--widths", widths, "--seed", str(wanted))
    assert graphs.keys() == expected_runs() and min(graphs.values()) >= wanted


@pytest.mark.nightly
@pytest.mark.timeout(HOURS)
@pytest.mark.parametrize("ranks", range(1, 6))
@pytest.mark.parametrize("algorithm", [a.id for a in registry.algorithms().values() if a.paradigm == "mpi"])
def test_adversarial_graphs_on_ranks(algorithm, ranks):
    if registry.get(algorithm).missing() or find_launcher() is None:
        pytest.skip("needs mpi4py and mpiexec")
    wanted = int(10**6 * SHARE)
    graphs = attack("--graphs", str(wanted), "--algorithms", algorithm, "--seed", "3", threads=1, ranks=ranks)
    assert graphs == {f"{algorithm} w{ranks}": pytest.approx(wanted, rel=0.5)}
    assert min(graphs.values()) >= wanted


@pytest.mark.nightly
@pytest.mark.timeout(HOURS)
@pytest.mark.skipif(not this_machine().gpus, reason="needs a CUDA device, but this machine has none")
def test_adversarial_graphs_on_a_gpu():
    wanted = int(10**5 * SHARE)
    graphs = attack("--graphs", str(wanted), "--paradigms", "cuda", "--seed", "4")
    assert graphs and min(graphs.values()) >= wanted


@pytest.mark.nightly
@pytest.mark.timeout(HOURS)
@pytest.mark.parametrize("algorithm", RACED)
def test_an_hour_of_races_at_eight_threads_per_core(algorithm):
    width = 8 * len(os.sched_getaffinity(0))
    words = ("--seconds", str(3600 * SHARE), "--widths", str(width), "--algorithms", algorithm, "--seed", "5")
    graphs = attack(*words, threads=width)
    assert graphs[f"{algorithm} w{width}"] > 1000 * SHARE
