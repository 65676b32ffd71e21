"""igraph's `Graph.spanning_tree`, which handles parallel edges and self-loops itself and returns edge ids."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.peers._simple import double_weights
from mst.graph import Graph

ALGORITHM = dict(
    id="igraph",
    paradigm="peer",
    title="igraph",
    input="edges",
    options=dict(
        method=dict(default="auto", choices=("auto", "kruskal", "prim"), help="which of its algorithms"),
    ),
    ties="any",
    requires=("numba", "igraph"),
    limits=dict(n=20_000_000, m=20_000_000),
)


class Problem(NamedTuple):
    """igraph's graph, and the method."""

    own: Any
    method: str


def prepare(graph: Graph, *, width: int, method: str) -> Problem:
    import igraph

    own = igraph.Graph(graph.n, np.column_stack((graph.u, graph.v)))
    own.es["weight"] = double_weights(graph.w).tolist()
    return Problem(own, method)


def solve(problem: Problem) -> list[int]:
    own, method = problem
    return own.spanning_tree(weights="weight", return_tree=False, method=method)


def collect(problem: Problem, result: list[int]) -> np.ndarray:
    return np.array(result, np.int64)
