"""SciPy's `scipy.sparse.csgraph.minimum_spanning_tree`, the function that most Python users call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.peers._simple import SimpleEdges, double_weights, simple_edges
from mst.graph import Graph

ALGORITHM = dict(
    id="scipy",
    paradigm="peer",
    title="SciPy",
    input="edges",
    ties="any",
    requires=("numba", "scipy"),
    limits=dict(n=2_147_483_647, m=2_147_483_647),
)


class Problem(NamedTuple):
    """The simple edges, and SciPy's matrix of them."""

    edges: SimpleEdges
    matrix: Any


def prepare(graph: Graph, *, width: int) -> Problem:
    from scipy.sparse import csr_array

    # SciPy drops forest edges of weight zero from the result (scipy issue 18892).
    simple = simple_edges(graph)
    weights = double_weights(simple.w, positive=True)
    return Problem(simple, csr_array((weights, (simple.u, simple.v)), shape=(graph.n, graph.n)))


def solve(problem: Problem) -> Any:
    from scipy.sparse.csgraph import minimum_spanning_tree

    return minimum_spanning_tree(problem.matrix) if problem.edges.n else problem.matrix


def collect(problem: Problem, result: Any) -> np.ndarray:
    tree = result.tocoo()
    return problem.edges.edge_ids(tree.row, tree.col)
