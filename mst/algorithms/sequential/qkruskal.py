"""qKruskal (Brennan 1982): quicksort interleaved with Kruskal, so that heavy edges are often never sorted."""

from __future__ import annotations

from mst.algorithms.sequential._lazy_kruskal import lazy_kruskal, workspace

ALGORITHM = dict(
    id="qkruskal",
    paradigm="sequential",
    title="qKruskal",
    input="edges",
    options=dict(
        cutoff=dict(default=16_384, min=1, help="ranges of at most this many edges are sorted outright"),
        sample=dict(default=63, min=1, help="edges whose median is the pivot"),
    ),
    requires=("numba",),
)


def prepare(graph, *, width, cutoff, sample):
    return graph, cutoff, sample


def solve(problem):
    graph, cutoff, sample = problem
    return lazy_kruskal(*workspace(graph), cutoff, sample, False)


def collect(problem, result):
    return result
