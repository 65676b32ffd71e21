"""Stress tests for races in the papers' algorithms: few contended components, chunks of one edge, oversubscription."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
import test_threads_races
from scripts import run_python

from mst import registry
from mst.algorithms.sequential import kruskal
from mst.graph import Graph

# One of each algorithm, and those that differ from them by options: as much code to compile again.
DEFAULTS = (
    ("edge-boruvka", {"chunk": 1}),
    ("lock-boruvka", {}),
    ("cas-boruvka", {}),
    ("parlay-boruvka", {}),
    ("contract-boruvka", {}),
    ("component-boruvka", {}),
)
# Those whose kernels `paused_kernels` has.
PAUSED = tuple(v for v in DEFAULTS if v[0] in ("lock-boruvka", "cas-boruvka", "component-boruvka"))
OPTIONS = (
    ("edge-boruvka", {"chunk": 3, "compression": False, "gather": "serial"}),
    ("edge-boruvka", {"chunk": 2, "fused": True}),
    ("edge-boruvka", {"chunk": 1, "minimum": "vertex"}),
    ("lock-boruvka", {"covered": False, "staggered": False}),
    ("cas-boruvka", {"covered": False}),
    ("parlay-boruvka", {"find": "grandparent", "filter": False}),
    ("parlay-boruvka", {"find": "splitting", "compare": False}),
)


def solve(name, options, graph, width, delay):
    algorithm = registry.get(name)
    module = algorithm.load()
    problem = module.prepare(graph, width=width, **algorithm.resolve(options))
    if name in ("lock-boruvka", "cas-boruvka"):
        result = module.solve(problem)
    elif name == "edge-boruvka":
        result = module.solve_with_probe(problem, delay_seed=delay)
    else:
        result = module.solve_in_chunks(problem, smallest=1, delay_seed=delay)
    return np.sort(module.collect(problem, result))


def race(width, rounds, seed, variants):
    rng = np.random.default_rng(seed)
    for round_ in range(rounds):
        for n, u, v, w in test_threads_races.graphs(rng, degree=1 if round_ % 2 else 4):
            u, v = (u, v) if round_ % 2 else (v, u)  # unions have a direction
            graph = Graph(n, u, v, w if round_ % 4 else w.astype(np.float64) / 3)
            expected = np.sort(kruskal.solve(kruskal.prepare(graph, width=1)))
            for name, options in variants:
                found = solve(name, options, graph, width, round_ % 3)
                assert np.array_equal(found, expected), (name, options, width, round_, n, len(u))


@pytest.mark.parametrize(
    "variants", ["PAUSED", *(pytest.param(name, marks=pytest.mark.slow) for name in ("DEFAULTS", "OPTIONS"))]
)
def test_more_threads_than_cores_find_the_forest(variants):
    width, rounds = 4 * len(os.sched_getaffinity(0)), 24 if variants == "PAUSED" else 6
    code = f"import test_papers_races as t; [t.race(w, {rounds}, w, t.{variants}) for w in (2, 3, {width})]"
    if variants == "PAUSED":
        code = f"import paused_kernels, {code.removeprefix('import ')}"
    run_python(code, NUMBA_NUM_THREADS=max(width, 3), PYTHONPATH=os.pathsep.join(sys.path))
