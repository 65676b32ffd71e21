"""rustworkx's `minimum_spanning_edges`: Kruskal in Rust, sorted by as many threads as rayon is given."""

from __future__ import annotations

import numpy as np

from mst.algorithms.peers._simple import double_weights, simple_edges

ALGORITHM = dict(
    id="rustworkx",
    paradigm="peer",
    title="rustworkx",
    input="edges",
    ties="any",
    requires=("numba", "rustworkx"),
    limits=dict(n=100_000_000, m=100_000_000),
)


def prepare(graph, *, width):
    import rustworkx

    simple = simple_edges(graph)
    weights = double_weights(simple.w)
    own = rustworkx.PyGraph(node_count_hint=graph.n, edge_count_hint=len(simple.ids))
    own.add_nodes_from(range(graph.n))
    own.add_edges_from(list(zip(simple.u.tolist(), simple.v.tolist(), weights.tolist())))
    return simple, own


def solve(problem):
    import rustworkx

    return rustworkx.minimum_spanning_edges(problem[1], weight_fn=float)


def collect(problem, result):
    ends = np.array([(a, b) for a, b, _ in result], np.int64).reshape(-1, 2)
    return problem[0].edge_ids(ends[:, 0], ends[:, 1])
