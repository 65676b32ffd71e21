"""Stress tests for races: small adversarial graphs, tiny chunks and batches, random delays, more threads than cores.

They solve as many graphs as fit into ``$MST_RACE_SECONDS`` (12 by default) for all widths together, always in the
same order.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from scripts import run_python

import mst
from mst.algorithms.threads import bucket_threads as buckets
from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.algorithms.threads import reservation_kruskal as reservations
from mst.graph import Graph
from mst.kernels.filter_boruvka.policy import THREADS
from mst.kernels.parallel.runtime import workers
from mst.order import total
from mst.proof import check_forest

SECONDS = float(os.environ.get("MST_RACE_SECONDS", 12))
EACH = SECONDS / 4
FEWEST = 3 * EACH
"""Graphs that every width must solve: a thirtieth of the number that two slow, shared cores solve with 8 threads."""
EPSILON = 0.25
SCRATCH = ours.Scratch()
"""Shared by all solves, so that each starts with the values that earlier ones left there."""


def graphs(rng, degree=4):
    """Yield graphs whose edges contend for few components; of `degree` edges a vertex, at most."""
    n = int(rng.integers(2, 200))
    m = int(rng.integers(1, degree * n))
    yield n, rng.integers(0, n, m), rng.integers(0, n, m), np.zeros(m, np.int32)
    yield n, np.zeros(m, np.int64), rng.integers(0, n, m), rng.integers(0, 3, m)
    yield n, np.arange(n - 1), np.arange(1, n), rng.permutation(n - 1)
    yield (
        n,
        rng.integers(0, n, m) // 9,
        rng.integers(0, n, m),
        np.sort(rng.integers(0, m, m))[:: rng.choice((-1, 1))],
    )
    yield n, rng.integers(0, 2, m), rng.integers(0, 3 if n > 2 else 2, m), rng.integers(0, 9, m)
    cliques = rng.integers(0, n // 8 + 1, m) * 8
    ends = np.minimum(cliques + rng.integers(0, 8, (2, m)), n - 1)
    bridges = np.arange(0, n - 8, 8)
    u, v = np.concatenate([ends[0], bridges]), np.concatenate([ends[1], bridges + 8])
    yield n, u, v, rng.integers(0, 50, len(u))


def race(width, seconds, seed):
    """Solve graphs for `seconds`; return their number, without those of the first round, which compiles."""
    rng = np.random.default_rng(seed)
    raced = 0

    def one_round():
        nonlocal raced
        for n, u, v, w in graphs(rng):
            compare(Graph(n, u, v, np.asarray(w, np.int32)), width, raced)
            raced += 1

    one_round()
    compiled, stop = raced, time.monotonic() + seconds
    while time.monotonic() < stop:
        one_round()
    return raced - compiled


def compare(graph, width, turn):
    """Assert that every algorithm finds the forest; `turn` chooses the tuning, delays and the input's form."""
    expected = mst.minimum_spanning_forest(graph, algorithm="kruskal").edge_ids
    contended = turn // 2 % 2 * 4096
    policy = replace(
        THREADS,
        smallest_chunk=16,
        largest_chunk=16,
        batch_wait=turn % 5 / 100,
        contended=contended,
        range=16,
        per_vertex_in_order=(turn % 3, turn % 3, 64),
        fewest_edges=0,
    )
    if turn % 4 == 0:  # in blocks, wherever ids are local
        policy = replace(
            policy, largest_chunk=1024, leaving=1.0, light_leaving=1e6, per_vertex_in_blocks=(1e6,) * 3
        )
    storage = ours.rows(graph) if turn % 2 else ours.edge_list(graph, graph.w)
    options = ours.Options(policy, delay_seed=turn % 3)
    found = ours.solve_storage(graph, storage, width, options, scratch=SCRATCH).edge_ids
    assert np.array_equal(np.sort(found), expected), ("filter-boruvka-threads", width, turn)
    if turn % 3 == 0:
        with workers(width):
            problem = reservations.Problem(graph, width, 16, 1.25)
            found = reservations.solve_in_chunks(problem, grain=64, delay_seed=turn % 2).edge_ids
        assert np.array_equal(np.sort(found), expected), ("reservation-kruskal", width, turn)
    else:
        problem = buckets.prepare(graph, width=width, epsilon=EPSILON)
        found = buckets.solve_rounded(problem, options._replace(ties_in_any_order=True)).edge_ids
        optimum = total(graph.w[expected])
        proof = check_forest(graph, np.sort(found), reference_weight=optimum, epsilon=EPSILON)
        assert proof.ok, ("bucket-threads", width, turn, proof.reason)


@pytest.mark.slow
def test_one_thread_finds_the_forest():
    assert race(1, EACH, 1) >= FEWEST


@pytest.mark.slow
@pytest.mark.alone
def test_up_to_four_threads_per_core_find_the_forest():
    width = 4 * len(os.sched_getaffinity(0))
    widths = sorted({2, 3, width})
    code = f"import test_threads_races as t; print([t.race(w, {EACH}, w) for w in {widths}])"
    done = run_python(code, NUMBA_NUM_THREADS=max(widths), PYTHONPATH=os.pathsep.join(sys.path))
    raced = dict(zip(widths, json.loads(done.stdout), strict=True))
    assert min(raced.values()) >= FEWEST, raced
