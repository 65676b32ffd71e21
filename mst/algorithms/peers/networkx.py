"""networkx's `minimum_spanning_edges`, in pure Python: the most widely known, and a lower bound."""

from __future__ import annotations

import numpy as np

from mst.algorithms.peers._simple import double_weights, simple_edges

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


def prepare(graph, *, width, method):
    import networkx

    # Its Borůvka leaves out edges of infinite weight.
    simple = simple_edges(graph)
    weights = double_weights(simple.w, positive=True)
    own = networkx.Graph()
    own.add_nodes_from(range(graph.n))
    own.add_weighted_edges_from(zip(simple.u.tolist(), simple.v.tolist(), weights.tolist()))
    return simple, own, method


def solve(problem):
    import networkx

    _, own, method = problem
    return list(networkx.minimum_spanning_edges(own, algorithm=method, data=False))


def collect(problem, result):
    ends = np.array(result, np.int64).reshape(-1, 2)
    return problem[0].edge_ids(ends[:, 0], ends[:, 1])
