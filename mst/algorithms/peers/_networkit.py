"""What NetworKit's two algorithms share: its graph, and the way back from its forests."""

from __future__ import annotations

import numpy as np

from mst.algorithms.peers._simple import double_weights, simple_edges


def build(graph):
    """Return the simple edges and NetworKit's graph of them; its Prim takes infinity for "not reached"."""
    import networkit

    simple = simple_edges(graph)
    ends = simple.u.astype(np.int64), simple.v.astype(np.int64)  # 32-bit ends crash it
    weights = double_weights(simple.w, positive=True)
    own = networkit.GraphFromCoo((weights, ends), n=graph.n, weighted=True)
    return simple, own


def run(algorithm):
    """Return the forest that an algorithm object finds."""
    algorithm.run()
    return algorithm.getForest()


def edge_ids(simple, forest):
    """Return the original edge ids of NetworKit's forest."""
    ends = np.array(list(forest.iterEdges()), np.int64).reshape(-1, 2)
    return simple.edge_ids(ends[:, 0], ends[:, 1])
