"""Kruskal's algorithm (1956): the reference of every proof, and the papers' baseline.

By default, it is as fast as this package can make it. With ``sort="comparison", union="rank", prefetch=False``, it is
the baseline of the papers (Shou and He, Listings 1 and 2): a comparison sort of whole edges, like ``std::sort``, and
disjoint sets with union by rank and path compression. In their listings, ``find`` omits the compression and ``join``
raises the rank of the wrong root; this code follows their text, which has both right.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst import order
from mst.graph import Graph
from mst.kernels.primitives.radix import records, sorted_records
from mst.kernels.sequential.kruskal import add_in_order, empty_growth
from mst.kernels.sequential.plain_kruskal import add_edges, add_ids, sort_edges, whole_edges

ALGORITHM = dict(
    id="kruskal",
    paradigm="sequential",
    title="Kruskal",
    input="edges",
    options=dict(
        sort=dict(
            default="radix",
            choices=("radix", "comparison"),
            help="radix sort of ids by key, or comparison sort of whole edges, like std::sort",
        ),
        union=dict(
            default="index",
            choices=("index", "rank"),
            help="link roots by index with path halving, or by rank with path compression",
        ),
        prefetch=dict(default=True, help="load cache lines ahead of the scan"),
    ),
    requires=("numba",),
)


class Problem(NamedTuple):
    """The graph, its edges as records if whole edges are sorted, and the options of the scan."""

    graph: Graph
    edges: np.ndarray | None
    by_rank: bool
    prefetch: bool


def prepare(
    graph: Graph, *, width: int, sort: str = "radix", union: str = "index", prefetch: bool = True
) -> Problem:
    edges = whole_edges(order.keys(graph.w), graph.u, graph.v) if sort == "comparison" else None
    return Problem(graph, edges, union == "rank", prefetch)


def solve(problem: Problem) -> np.ndarray:
    graph, edges, by_rank, prefetch = problem
    growth = empty_growth(graph.n, graph.u, graph.v)
    rank = np.zeros(graph.n if by_rank else 0, np.uint8)
    if edges is not None:
        edges = edges.copy()
        sort_edges(edges)
        return growth.forest[: add_edges(growth, rank, edges, prefetch)]
    in_order = sorted_records(*records(order.keys(graph.w)))
    if by_rank or not prefetch:
        return growth.forest[: add_ids(growth, rank, in_order, prefetch)]
    return growth.forest[: add_in_order(growth, in_order, 0, graph.m, 0)]


def collect(problem: Problem, result: np.ndarray) -> np.ndarray:
    return result
