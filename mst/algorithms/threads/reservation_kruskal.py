"""Parallel Filter-Kruskal by deterministic reservations, as published in the Problem Based Benchmark Suite.

This is a reimplementation of ``parallelFilterKruskal`` of PBBS (Anderson, Blelloch, Dhulipala, Dobson and Sun, "The
Problem-Based Benchmark Suite (PBBS), V2", PPoPP 2022): sample a pivot, sort and solve the lightest edges, filter the
others by the components found, sort and solve the remaining ones. The pivot is the program's, ``min(5n/4, m)`` edges;
the ECL-MST paper (§2) swaps two letters of this term. A radix sort replaces the program's comparison sort.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from mst.errors import UnsupportedError
from mst.graph import Graph
from mst.kernels.filter_boruvka.parallel.key_range import KeyRange, mark
from mst.kernels.filter_boruvka.parallel.sample import Draws, quantiles, sample_edges
from mst.kernels.filter_boruvka.parallel.storage import EdgeList
from mst.kernels.parallel.compact import starts, write_positions
from mst.kernels.parallel.keys import keys_at, words_of
from mst.kernels.parallel.radix import argsort
from mst.kernels.parallel.runtime import Schedule, grain_for, new_tallies, refusal, workers
from mst.kernels.threads import reservations as kernel

ALGORITHM = dict(
    id="reservation-kruskal",
    paradigm="threads",
    paper="fallin",
    title="Filter-Kruskal with reservations (PBBS)",
    input="edges",
    options=dict(
        sample=dict(default=0, min=0, help="weights sampled for the pivot; 0 is the square root of m"),
        prefix=dict(default=1.25, min=0.0, help="edges per vertex that are sorted before any is filtered"),
    ),
    requires=("numba",),
)

_GRANULARITY = 5


class Problem(NamedTuple):
    """The graph, the number of threads, and the options; `sample` is 0 only if there are no edges."""

    graph: Graph
    width: int
    sample: int
    prefix: float


class Result(NamedTuple):
    """Edge ids of the forest, and rounds of reservations."""

    edge_ids: np.ndarray
    rounds: int


def prepare(graph: Graph, *, width: int, sample: int, prefix: float) -> Problem:
    if reason := refusal(width):
        raise UnsupportedError(reason)
    return Problem(graph, width, min(sample or isqrt(graph.m), graph.m), prefix)


def solve(problem: Problem) -> Result:
    with workers(problem.width):
        return solve_in_chunks(problem)


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    return {"rounds": result.rounds}


def solve_in_chunks(problem: Problem, grain: int = 4096, delay_seed: int = 0) -> Result:
    """Solve with chunks of `grain` iterates; a delay seed perturbs the schedule."""
    graph, width, sample, prefix = problem
    n, m, u, v = graph.n, graph.m, graph.u, graph.v
    schedule = Schedule(width, grain, new_tallies(width, delay_seed))
    words, kind = words_of(graph.w, width)
    index = np.int32 if m < 2**31 else np.int64
    parent = np.arange(n, dtype=u.dtype)
    reservations = np.full(n, np.iinfo(index).max, index)
    bottom, top = (words.dtype.type(0), -1), (~words.dtype.type(0), m)
    ranges = [(bottom, top)]
    if prefix * n < m and sample:
        keys, ids = sample_edges(EdgeList(words, kind, u, v), Draws(*bottom, np.empty(0, np.uint32), sample, 1))
        pivot = tuple(bound[0] for bound in quantiles(keys, ids, np.array([prefix * n / m])))
        ranges = [(bottom, pivot), (pivot, top)]
    found, rounds = [], 0
    for low, high in ranges:
        inner = None if low == bottom else (u, v, parent)
        ids = _sorted_range(words, kind, KeyRange(*low, *high), inner, schedule, index)
        a, b = np.empty(len(ids), u.dtype), np.empty(len(ids), u.dtype)
        kernel.gather_ends(schedule, ids, u, v, a, b)
        loop = kernel.Loop(a, b, parent, reservations, np.zeros(len(ids), np.uint8))
        rounds += kernel.unite_in_order(loop, schedule, _GRANULARITY)
        found.append(ids[loop.chosen.view(np.bool_)])
    return Result(np.concatenate(found), rounds)


def _sorted_range(
    words: np.ndarray, kind: int, key_range: KeyRange, inner: tuple | None, schedule: Schedule, index: type
) -> np.ndarray:
    """Return the ids of the edges of a range of (key, id), sorted in that order.

    `inner`, if given, holds the ends of all edges and a union-find: edges inside a tree are left out.
    """
    m, (width, largest, shared) = len(words), schedule
    grain = grain_for(m, width, smallest=64, largest=largest, multiple=64)
    over_words = Schedule(width, grain // 64, shared)
    mask, counts = np.empty(-(-m // 64), np.uint64), np.empty(-(-m // grain), np.int64)
    mark(Schedule(width, grain, shared), words, kind, key_range, mask, counts)
    if inner:
        kernel.clear_inner(over_words, mask, *inner, counts)
    ids: np.ndarray = np.empty(int(counts.sum()), index)
    write_positions(width, grain // 64, mask, starts(counts), ids, shared)
    return ids[argsort(keys_at(words, kind, ids, width), width)]
