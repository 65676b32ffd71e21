"""Kruskal's algorithm (1956): the papers' baseline, and every proof's reference."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst import order
from mst.graph import Graph
from mst.kernels.primitives.radix import Records, records, sorted_records
from mst.kernels.sequential.kruskal import add_in_order, empty_growth

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
    in_order = (sorted_records if sort == "radix" else sorted_by_comparison)(*records(order.keys(graph.w)))
    growth = empty_growth(graph.n, graph.u, graph.v)
    return growth.forest[: add_in_order(growth, in_order, 0, graph.m, 0)]


def collect(problem: Problem, result: np.ndarray) -> np.ndarray:
    return result


def sorted_by_comparison(words: np.ndarray, ids: np.ndarray) -> Records:
    """Return the records in order, by the fastest of numpy's comparison sorts that is correct.

    `words` has dtype uint64, shape (m,); `ids` is empty where the words hold the ids, and else has shape (m,).
    """
    if len(ids):
        ids = np.argsort(words, kind="stable")
    else:
        words.sort()  # distinct, as they hold the ids
    return Records(words, ids)
