"""Passes over all edges and a join in stages, which threads share: forest and counters are those of one core."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scripts import run_python

from mst.algorithms.sequential import filter_boruvka as one_core
from mst.algorithms.threads import _passes
from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.generators import generate
from mst.graph import Graph
from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.policy import THREADS
from mst.kernels.parallel.runtime import launched

SHAPES = [(2, 1), (5, 9), (60, 500), (400, 20_000), (3000, 3500), (3000, 40_000), (150, 300_000)]
"""Vertices and edges; of the last, so few are light that whole blocks of a vector loop are passed over."""

KINDS = ["random", "nearly equal", "few", "extreme", "ascending", "nearly descending", "by place", "by vertex"]


def weights(rng, kind, u, v, m):
    return {
        "random": lambda: rng.integers(0, 1 << 24, m),
        "nearly equal": lambda: np.append(np.full(m - 1, 3), 2),
        "few": lambda: rng.integers(0, 7, m),
        "extreme": lambda: np.where(rng.random(m) < 0.5, -(2**31), 2**31 - 1),
        "ascending": lambda: np.arange(m),
        "nearly descending": lambda: np.append(-np.arange(m - 1), 1),
        "by place": lambda: u % 50,
        "by vertex": lambda: np.maximum(u, v),
    }[kind]()


@pytest.mark.parametrize("dtype", [np.int32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_forest_and_counters_are_those_of_one_core(rng, monkeypatch, dtype):
    # Two threads filter graphs of any size.
    monkeypatch.setattr(
        one_core, "ONE_CORE", replace(one_core.ONE_CORE, fewest_to_filter=0, fewest_at_vertices=0)
    )
    for turn, kind in enumerate(KINDS):
        # One range of vertices has nearly all edges, or another.
        monkeypatch.setattr(_passes.passes, "_BELOW", (0.6, 0.1, 0.95)[turn % 3])
        monkeypatch.setattr(_passes, "_FEW", 0 if turn else _passes._FEW)
        for n, m in SHAPES:
            u, v = rng.integers(0, n, (2, m)).astype(np.int32)
            w = weights(rng, kind, u, v, m).astype(dtype)
            graph = Graph(n, u, v, w if dtype == np.int32 else w / 7)
            problem = one_core.prepare(graph, width=1, filter=True, input="edges")
            expected = one_core.solve(problem)
            found = _passes.solve_sharing_passes(graph, (2, min(3, launched()))[turn % 2])
            assert np.array_equal(*(np.sort(x.edge_ids) for x in (found, expected))), (kind, n, m)
            # Stages, and ranges of batches, close other cycles; heavy edges in another order are sampled differently.
            free = dict(conflicts=0) | (dict(light=0, levels=0) if "at_vertices" in expected.counters else {})
            assert found.counters | free == expected.counters | free, (kind, n, m)


def test_two_threads_share_the_passes_over_large_graphs_that_one_core_joins():
    for m, width in ((499_999, 1), (500_000, 2)):
        graph = generate("uniform", n=100_000, m=m, seed=2)
        problem = ours.prepare(graph, width=2, input="edges", hand_over=True)
        assert problem.on_one_core is not None and problem.width == width
        result, alone = ours.solve(problem), one_core.solve(problem.on_one_core)
        assert np.array_equal(*(np.sort(x.edge_ids) for x in (result, alone)))
        assert result.counters["width"] == width
        assert {"sample", "select light", "join"} <= set(ours.phases(problem))
    assert not rules.shares_passes(10**7, 1, THREADS) and not rules.shares_passes(10**7, 4, THREADS)


def test_three_and_more_threads_do_not_leave_weights_that_follow_vertices_to_one_core(monkeypatch, rng):
    monkeypatch.setattr(ours, "refusal", lambda width: None)
    u, v = rng.integers(0, 100_000, (2, 600_000))
    graph = Graph(100_000, u, v, np.maximum(u, v))
    for width, sharing in ((1, 1), (2, 2), (3, None), (4, None), (5, None)):
        problem = ours.prepare(graph, width=width, input="edges", hand_over=True)
        assert (problem.on_one_core and problem.width) == sharing


SHORT_OF_MEMORY = """
import resource
import numpy as np
from mst.algorithms.threads import _passes
from mst.graph import Graph

rng, m = np.random.default_rng(1), 200_000
# Four in five edges fall into one bucket, for which the worker that sorts it allocates more than is left.
weights = 1 + rng.random(m) * 1e-12
weights[::5] = np.exp2(rng.random(m // 5) * 2000 - 1000)
graph = Graph(m, *rng.integers(0, m, (2, m)), weights)
_passes.solve_sharing_passes(graph, 2)
kernel, limits = _passes.passes.join, resource.getrlimit(resource.RLIMIT_AS)

def limited(*arguments):
    with open("/proc/self/statm") as pages:
        used = int(pages.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used, limits[1]))
    try:
        return kernel(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)

_passes.passes.join = limited
for _ in range(10):
    try:
        _passes.solve_sharing_passes(graph, 2)
        raise SystemExit("there was memory")
    except MemoryError:
        pass
"""


@pytest.mark.skipif(launched() < 2, reason="two threads take two cores")
def test_no_worker_waits_for_one_that_ran_out_of_memory():
    # malloc keeps no memory that it could lend again.
    run_python(SHORT_OF_MEMORY, MALLOC_MMAP_THRESHOLD_=65536, MALLOC_ARENA_MAX=1)
