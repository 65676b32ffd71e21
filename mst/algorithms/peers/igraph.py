"""igraph's `Graph.spanning_tree`; parallel edges and self-loops are its own matter, and it returns edge ids."""

from __future__ import annotations

import numpy as np

from mst.algorithms.peers._simple import double_weights

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


def prepare(graph, *, width, method):
    import igraph

    own = igraph.Graph(graph.n, np.column_stack((graph.u, graph.v)))
    own.es["weight"] = double_weights(graph.w).tolist()
    return own, method


def solve(problem):
    own, method = problem
    return own.spanning_tree(weights="weight", return_tree=False, method=method)


def collect(problem, result):
    return np.array(result, np.int64)
