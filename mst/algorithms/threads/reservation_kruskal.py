"""Parallel filter-Kruskal by deterministic reservations: the Problem Based Benchmark Suite's, as published.

A reimplementation of ``parallelFilterKruskal`` of PBBS (Anderson, Blelloch, Dhulipala, Dobson and Sun, "The
Problem-Based Benchmark Suite (PBBS), V2", PPoPP 2022): sample a pivot, sort and solve the lightest edges,
filter the others by the components found, sort and solve what is left. The pivot is the program's,
``min(5n/4, m)`` edges; the ECL-MST paper (§2) swaps two letters of it. Its comparison sort is a radix sort here.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from mst.errors import UnsupportedError
from mst.kernels.filter_boruvka.parallel_filter import mark
from mst.kernels.filter_boruvka.parallel_sample import quantiles, sample_edges
from mst.kernels.parallel.compact import starts, write_positions
from mst.kernels.parallel.keys import keys_at, words_of
from mst.kernels.parallel.radix import argsort
from mst.kernels.parallel.runtime import grain_for, new_counters, refusal, workers
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


def prepare(graph, *, width, sample, prefix):
    if reason := refusal(width):
        raise UnsupportedError(reason)
    return graph, width, sample or isqrt(graph.m), prefix


def solve(problem):
    graph, width, sample, prefix = problem
    with workers(width):
        return _solve(graph, width, sample, prefix)


def collect(problem, result):
    return result[0]


def counters(problem, result):
    return {"rounds": result[1]}


def _solve(graph, width, sample, prefix, grain=4096, delay_seed=0):
    n, m, u, v = graph.n, graph.m, graph.u, graph.v
    shared = new_counters(width, delay_seed)
    words, kind = words_of(graph.w, width)
    index = np.int32 if m < 2**31 else np.int64
    parent = np.arange(n, dtype=u.dtype)
    reservations = np.full(n, np.iinfo(index).max, index)
    bottom, top = (words.dtype.type(0), -1), (~words.dtype.type(0), m)
    parts = [(bottom, top)]
    if prefix * n < m and sample:
        keys, ids = sample_edges((words, u, v), kind, *bottom, None, sample, 1)
        pivot = tuple(part[0] for part in quantiles(keys, ids, np.array([prefix * n / m])))
        parts = [(bottom, pivot), (pivot, top)]
    found, rounds = [], 0
    for low, high in parts:
        order = _sorted_part(words, kind, low, high, u, v, parent, low != bottom, width, grain, shared, index)
        a, b = np.empty(len(order), u.dtype), np.empty(len(order), u.dtype)
        kernel.take(width, grain, order, u, v, a, b, shared)
        chosen, more = kernel.unite_in_order(a, b, parent, reservations, width, grain, _GRANULARITY, shared)
        found.append(order[chosen.view(np.bool_)])
        rounds += more
    return np.concatenate(found), rounds


def _sorted_part(words, kind, low, high, u, v, parent, filtering, width, grain, shared, index):
    """Return the ids of the edges above `low`, at most `high`, by the order; when filtering, those that join."""
    m = len(words)
    grain = grain_for(m, width, smallest=64, largest=grain, multiple=64)
    mask, counts = np.empty(-(-m // 64), np.uint64), np.empty(-(-m // grain), np.int64)
    mark(width, grain, words, kind, *low, *high, mask, counts, shared)
    if filtering:
        kernel.mark_apart(width, grain // 64, mask, u, v, parent, counts, shared)
    ids = np.empty(int(counts.sum()), index)
    write_positions(width, grain // 64, mask, starts(counts), ids, shared)
    return ids[argsort(keys_at(words, kind, ids, width), width)]
