"""SciPy's `scipy.sparse.csgraph.minimum_spanning_tree`: what most Python users reach for."""

from __future__ import annotations

from mst.algorithms.peers._simple import double_weights, simple_edges

ALGORITHM = dict(
    id="scipy",
    paradigm="peer",
    title="SciPy",
    input="edges",
    ties="any",
    requires=("numba", "scipy"),
    limits=dict(n=2_147_483_647, m=2_147_483_647),
)


def prepare(graph, *, width):
    from scipy.sparse import csr_array

    # Forest edges of weight zero vanish from its result (scipy issue 18892).
    simple = simple_edges(graph)
    weights = double_weights(simple.w, positive=True)
    return simple, csr_array((weights, (simple.u, simple.v)), shape=(graph.n, graph.n))


def solve(problem):
    from scipy.sparse.csgraph import minimum_spanning_tree

    simple, matrix = problem
    return minimum_spanning_tree(matrix) if simple.n else matrix


def collect(problem, result):
    tree = result.tocoo()
    return problem[0].edge_ids(tree.row, tree.col)
