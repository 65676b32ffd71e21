"""Races looked for: small adversarial graphs, tiny chunks and batches, perturbed schedules, more threads than cores."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from mst.algorithms.sequential import kruskal
from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.algorithms.threads import reservation_kruskal as reservations
from mst.graph import Graph
from mst.kernels.parallel_runtime import workers


def graphs(rng):
    """Yield graphs whose edges fight over few components."""
    n = int(rng.integers(2, 300))
    m = int(rng.integers(1, 6 * n))
    yield n, rng.integers(0, n, m), rng.integers(0, n, m), np.zeros(m, np.int32)
    yield n, np.zeros(m, np.int64), rng.integers(0, n, m), rng.integers(0, 3, m)
    yield n, np.arange(n - 1), np.arange(1, n), rng.permutation(n - 1)
    yield n, rng.integers(0, 2, m), rng.integers(0, 3 if n > 2 else 2, m), rng.integers(0, 9, m)
    cliques = rng.integers(0, n // 8 + 1, m) * 8
    ends = np.minimum(cliques + rng.integers(0, 8, (2, m)), n - 1)
    bridges = np.arange(0, n - 8, 8)
    u, v = np.concatenate([ends[0], bridges]), np.concatenate([ends[1], bridges + 8])
    yield n, u, v, rng.integers(0, 50, len(u)).astype(np.float64)


def race(width, rounds, seed):
    rng = np.random.default_rng(seed)
    for round_ in range(rounds):
        for n, u, v, w in graphs(rng):
            graph = Graph(n, u, v, w)
            expected = np.sort(kruskal.solve(kruskal.prepare(graph, width=1, sort="radix")))
            delay = round_ % 3
            tuning = ours.Tuning(fewest=64, most=64, batch_per_worker=round_ % 5, delay_seed=delay)
            with workers(width):
                found = ours._Run(graph, width, tuning).solve()
                other, _ = reservations._solve(graph, width, 16, 1.25, grain=64, delay_seed=delay)
            assert np.array_equal(np.sort(found), expected), (round_, n, len(u))
            assert np.array_equal(np.sort(other), expected), (round_, n, len(u))


def test_at_one_width():
    race(1, 20, 1)


def test_with_four_times_as_many_threads_as_cores():
    width = 4 * len(os.sched_getaffinity(0))
    code = f"import test_threads_races as t; [t.race(w, 25, w) for w in (2, 3, {width})]"
    environment = {
        **os.environ,
        "NUMBA_NUM_THREADS": str(max(width, 3)),
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr[-3000:]
