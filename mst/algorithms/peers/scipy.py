"""SciPy's `scipy.sparse.csgraph.minimum_spanning_tree`: what most Python users reach for."""

from __future__ import annotations

import numpy as np

from mst.algorithms.peers._simple import edge_ids_of_pairs, simple_edges

ALGORITHM = dict(
    id="scipy",
    paradigm="peer",
    title="SciPy csgraph",
    input="edges",
    ties="any",
    requires=("scipy",),
)


def prepare(graph, *, width):
    from scipy.sparse import csr_array

    # Parallel edges would be added up; the explicit zeros that SciPy drops (scipy issue 18892) are kept away
    # from it by ranks in place of weights when there are any.
    simple = simple_edges(graph)
    weights = simple.w.astype(np.float64)
    exact = np.array_equal(weights.astype(simple.w.dtype), simple.w) and np.isfinite(weights).all()
    if not exact or (weights == 0).any():
        weights = np.unique(simple.w, return_inverse=True)[1].astype(np.float64) + 1.0
    matrix = csr_array((weights, (simple.u, simple.v)), shape=(graph.n, graph.n))
    return simple, matrix


def solve(problem):
    from scipy.sparse.csgraph import minimum_spanning_tree

    return minimum_spanning_tree(problem[1])


def collect(problem, result):
    tree = result.tocoo()
    return edge_ids_of_pairs(problem[0], tree.row, tree.col)
