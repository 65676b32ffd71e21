"""NetworKit's `graph.PrimMSF`."""

from __future__ import annotations

from mst.algorithms.peers import _networkit

ALGORITHM = dict(
    id="networkit-prim",
    paradigm="peer",
    title="NetworKit Prim",
    input="edges",
    ties="any",
    requires=("numba", "networkit"),
    limits=dict(n=200_000_000, m=200_000_000),
)


def prepare(graph, *, width):
    return _networkit.build(graph)


def solve(problem):
    from networkit.graph import PrimMSF

    return _networkit.run(PrimMSF(problem[1]))


def collect(problem, result):
    return _networkit.edge_ids(problem[0], result)
