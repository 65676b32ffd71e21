"""The rounds of Durbhakula's two algorithms, `lock-boruvka` and `cas-boruvka`.

Owner threads find the minima of components, then unite components along the minima.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.graph import Graph
from mst.kernels.parallel.runtime import FOREST, new_tallies, refusal, workers
from mst.kernels.primitives.packed_edges import PackedEdges, pack
from mst.kernels.threads import owner_boruvka as kernel


class Problem(NamedTuple):
    """The edge list in words, the number of threads, and the options."""

    n: int
    edges: PackedEdges
    width: int
    locking: bool
    staggered: bool
    covered: bool


class Result(NamedTuple):
    """Edge ids of the forest, and counters.

    `rounds` does not count the last round, which unites nothing. `visits` counts the edges that threads visited,
    including those of the last round; `failed` counts unions deferred because another thread held a component.
    """

    edge_ids: np.ndarray
    rounds: int
    visits: int
    failed: int


def prepare(graph: Graph, *, width: int, locking: bool, staggered: bool, covered: bool) -> Problem:
    if reason := refusal(width):
        raise UnsupportedError(reason)
    edges = PackedEdges(graph.u, graph.v, *pack(order.keys(graph.w), np.arange(graph.m)))
    return Problem(graph.n, edges, width, locking, staggered, covered)


def solve(problem: Problem) -> Result:
    with workers(problem.width):
        return _rounds(problem)


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    return {"rounds": result.rounds, "edge visits": result.visits, "failed unions": result.failed}


def _rounds(problem: Problem) -> Result:
    n, m, width = problem.n, len(problem.edges.words), problem.width
    state = kernel.State(
        parent=np.arange(n, dtype=problem.edges.a.dtype),
        owner=(np.arange(n, dtype=np.int64) * width // max(n, 1)).astype(np.int32),
        minimum=np.empty(n, np.int32 if m < 2**31 else np.int64),
        covered=np.zeros(m if problem.covered else 0, np.uint8),
        permissions=np.full(n if problem.locking else 0, kernel.FREE, np.int32),
    )
    forest = np.empty(max(n - 1, 0), np.int64)
    shared = new_tallies(width)
    rounds, before = 0, -1
    # Repeated until a round unites nothing, since a graph of several components never has only one left.
    while before < shared[FOREST]:
        before = int(shared[FOREST])
        kernel.find_minima(width, problem.edges, state, problem.staggered, shared)
        kernel.unite_minima(width, problem.edges, state, forest, shared)
        rounds += 1
    return Result(forest[: shared[FOREST]], rounds - 1, int(shared[kernel.VISITS]), int(shared[kernel.FAILED]))
