"""Kruskal's algorithm (1956): the papers' baseline, and every proof's reference."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst import order
from mst.graph import Graph
from mst.kernels.primitives.radix import records, sorted_records
from mst.kernels.sequential.kruskal import take

ALGORITHM = dict(
    id="kruskal",
    paradigm="sequential",
    title="Kruskal",
    input="edges",
    options=dict(
        sort=dict(
            default="radix",
            choices=("radix", "comparison"),
            help="how edges are sorted: by digits of the key, or by comparisons",
        ),
    ),
    requires=("numba",),
)


class Problem(NamedTuple):
    """The graph, and how its edges are sorted."""

    graph: Graph
    sort: str


def prepare(graph: Graph, *, width: int, sort: str) -> Problem:
    return Problem(graph, sort)


def solve(problem: Problem) -> np.ndarray:
    graph, sort = problem
    words, ids = (sorted_records if sort == "radix" else sorted_by_comparison)(*records(order.keys(graph.w)))
    unsigned = np.dtype(f"u{graph.u.itemsize}")
    forest = np.empty(max(min(graph.n - 1, graph.m), 0), np.int32 if graph.m < 2**31 else np.int64)
    parent = np.arange(graph.n, dtype=unsigned)
    size = take(parent, graph.u.view(unsigned), graph.v.view(unsigned), words, ids, 0, graph.m, forest, 0)
    return forest[:size]


def collect(problem: Problem, result: np.ndarray) -> np.ndarray:
    return result


def sorted_by_comparison(words: np.ndarray, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the records in order, by the fastest of numpy's comparison sorts that is correct.

    `words` has dtype uint64, shape (m,); `ids` is empty where the words hold the ids, and else has shape (m,).
    """
    if len(ids):
        ids = np.argsort(words, kind="stable")
    else:
        words.sort()  # distinct, as they hold the ids
    return words, ids
