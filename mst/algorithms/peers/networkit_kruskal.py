"""NetworKit's `graph.KruskalMSF`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mst.algorithms.peers import _networkit
from mst.graph import Graph

ALGORITHM = dict(
    id="networkit-kruskal",
    paradigm="peer",
    title="NetworKit Kruskal",
    input="edges",
    ties="any",
    requires=("numba", "networkit"),
    limits=dict(n=200_000_000, m=200_000_000),
)


def prepare(graph: Graph, *, width: int) -> _networkit.Problem:
    return _networkit.build(graph)


def solve(problem: _networkit.Problem) -> Any:
    from networkit.graph import KruskalMSF

    return _networkit.run(KruskalMSF(problem.own))


def collect(problem: _networkit.Problem, result: Any) -> np.ndarray:
    return _networkit.edge_ids(problem, result)
