"""rustworkx's `minimum_spanning_edges`: Kruskal's algorithm in Rust; the sort uses all threads that rayon may use."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.peers._simple import SimpleEdges, double_weights, simple_edges
from mst.graph import Graph

ALGORITHM = dict(
    id="rustworkx",
    paradigm="peer",
    title="rustworkx",
    input="edges",
    ties="any",
    requires=("numba", "rustworkx"),
    limits=dict(n=100_000_000, m=100_000_000),
)


class Problem(NamedTuple):
    """The simple edges, and rustworkx's graph of them."""

    edges: SimpleEdges
    own: Any


def prepare(graph: Graph, *, width: int) -> Problem:
    import rustworkx

    simple = simple_edges(graph)
    weights = double_weights(simple.w)
    own = rustworkx.PyGraph(node_count_hint=graph.n, edge_count_hint=len(simple.ids))
    own.add_nodes_from(range(graph.n))
    own.add_edges_from(list(zip(simple.u.tolist(), simple.v.tolist(), weights.tolist())))
    return Problem(simple, own)


def solve(problem: Problem) -> Any:
    import rustworkx

    return rustworkx.minimum_spanning_edges(problem.own, weight_fn=float)


def collect(problem: Problem, result: Any) -> np.ndarray:
    ends = np.array([(a, b) for a, b, _ in result], np.int64).reshape(-1, 2)
    return problem.edges.edge_ids(ends[:, 0], ends[:, 1])
