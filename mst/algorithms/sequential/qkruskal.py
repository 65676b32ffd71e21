"""qKruskal (Brennan 1982): quicksort interleaved with Kruskal, so that heavy edges are often never sorted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.algorithms.sequential._lazy_kruskal import lazy_kruskal, workspace
from mst.graph import Graph

ALGORITHM = dict(
    id="qkruskal",
    paradigm="sequential",
    title="qKruskal",
    input="edges",
    options=dict(
        cutoff=dict(default=16_384, min=1, help="ranges of at most this many edges are sorted directly"),
        sample=dict(default=63, min=1, help="edges whose median is the pivot"),
    ),
    requires=("numba",),
)


class Problem(NamedTuple):
    """The graph and the options."""

    graph: Graph
    cutoff: int
    sample: int


def prepare(graph: Graph, *, width: int, cutoff: int, sample: int) -> Problem:
    return Problem(graph, cutoff, sample)


def solve(problem: Problem) -> np.ndarray:
    graph, cutoff, sample = problem
    return lazy_kruskal(*workspace(graph), cutoff, sample, False)


def collect(problem: Problem, result: np.ndarray) -> np.ndarray:
    return result
