"""The common part of NetworKit's two algorithms: its graph, and edge ids from its forests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.peers._simple import SimpleEdges, double_weights, simple_edges
from mst.graph import Graph


class Problem(NamedTuple):
    """The simple edges, and NetworKit's graph of them."""

    edges: SimpleEdges
    own: Any


def build(graph: Graph) -> Problem:
    """Return the simple edges and NetworKit's graph of them, with weights that its Prim can read.

    Prim reads infinity as "not reached".
    """
    import networkit

    simple = simple_edges(graph)
    ends = simple.u.astype(np.int64), simple.v.astype(np.int64)  # NetworKit crashes on 32-bit ends
    weights = double_weights(simple.w, positive=True)
    own = networkit.GraphFromCoo((weights, ends), n=graph.n, weighted=True)
    return Problem(simple, own)


def run(algorithm: Any) -> Any:
    """Return the forest that an algorithm object finds."""
    algorithm.run()
    return algorithm.getForest()


def edge_ids(problem: Problem, forest: Any) -> np.ndarray:
    """Return the original edge ids of NetworKit's forest."""
    ends = np.array(list(forest.iterEdges()), np.int64).reshape(-1, 2)
    return problem.edges.edge_ids(ends[:, 0], ends[:, 1])
