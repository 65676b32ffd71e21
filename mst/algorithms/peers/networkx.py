"""networkx's `minimum_spanning_edges` in pure Python: the most widely known function, and a lower bound of speed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.peers._simple import SimpleEdges, double_weights, simple_edges
from mst.graph import Graph

ALGORITHM = dict(
    id="networkx",
    paradigm="peer",
    title="networkx",
    input="edges",
    options=dict(
        method=dict(
            default="kruskal", choices=("kruskal", "prim", "boruvka"), help="which of its three algorithms"
        ),
    ),
    ties="any",
    requires=("numba", "networkx"),
    limits=dict(n=1_000_000, m=1_000_000),
)


class Problem(NamedTuple):
    """The simple edges, networkx's graph of them, and the method."""

    edges: SimpleEdges
    own: Any
    method: str


def prepare(graph: Graph, *, width: int, method: str) -> Problem:
    import networkx

    # networkx's Borůvka omits edges of infinite weight.
    simple = simple_edges(graph)
    weights = double_weights(simple.w, positive=True)
    own = networkx.Graph()
    own.add_nodes_from(range(graph.n))
    own.add_weighted_edges_from(zip(simple.u.tolist(), simple.v.tolist(), weights.tolist()))
    return Problem(simple, own, method)


def solve(problem: Problem) -> list[tuple[int, int]]:
    import networkx

    return list(networkx.minimum_spanning_edges(problem.own, algorithm=problem.method, data=False))


def collect(problem: Problem, result: list[tuple[int, int]]) -> np.ndarray:
    ends = np.array(result, np.int64).reshape(-1, 2)
    return problem.edges.edge_ids(ends[:, 0], ends[:, 1])
