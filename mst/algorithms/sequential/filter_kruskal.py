"""Filter-Kruskal: Kruskal's algorithm in a quicksort that removes edges inside a tree from each heavier part first.

`scheme` chooses between the recursion of Osipov, Sanders and Singler (ALENEX 2009) and the two steps of PBBS's serial
program, the ECL-MST paper's serial baseline: first the lightest 4n/3 edges, then those others that pass a filter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.algorithms.sequential._lazy_kruskal import lazy_kruskal, prefix_kruskal, workspace
from mst.graph import Graph

ALGORITHM = dict(
    id="filter-kruskal",
    paradigm="sequential",
    title="Filter-Kruskal",
    input="edges",
    options=dict(
        scheme=dict(
            default="recursive",
            choices=("recursive", "prefix"),
            help="filter at every level of the quicksort, or once after the lightest 4n/3 edges (PBBS)",
        ),
        cutoff=dict(default=16_384, min=1, help="recursive: ranges of at most this many edges are sorted"),
        sample=dict(default=1023, min=1, help="edges that are sampled to choose a pivot"),
    ),
    requires=("numba",),
)


class Problem(NamedTuple):
    """The graph and the options."""

    graph: Graph
    scheme: str
    cutoff: int
    sample: int


def prepare(graph: Graph, *, width: int, scheme: str, cutoff: int, sample: int) -> Problem:
    return Problem(graph, scheme, cutoff, sample)


def solve(problem: Problem) -> np.ndarray:
    graph, scheme, cutoff, sample = problem
    if scheme == "prefix":
        return prefix_kruskal(*workspace(graph), 4 * graph.n // 3, sample)
    return lazy_kruskal(*workspace(graph), cutoff, sample, True)


def collect(problem: Problem, result: np.ndarray) -> np.ndarray:
    return result
