"""Small graphs on which runs compile before they are measured."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from mst.edge_slice import EdgeSlice
from mst.errors import UnsupportedError
from mst.execute import Implementation
from mst.graph import Graph

Edges = Graph | EdgeSlice  # a graph, or a rank's part of one
# Vertices, edges and the number of different weights: dense, sparse, between, many ties. Filters and sorts take
# a different code path for each.
_SHAPES = (1000, 40_000, 40_000), (10_000, 8000, 8000), (10_000, 60_000, 60_000), (1000, 40_000, 8)


def compile_kernels(implementation: Implementation, like: Graph, width: int, options: dict[str, Any]) -> None:
    """Solve small graphs of a graph's dtypes, so that every fork inherits the machine code."""
    if "hand_over" in options:
        # With this option small graphs reach other code, and take as long to solve as this graph.
        solve_once(implementation, like, width, options)
        return
    ends = np.array([0, 1, 2], like.u.dtype), np.array([1, 2, 0], like.v.dtype)
    triangle = Graph(3, *ends, np.array([1, 2, 3]).astype(like.w.dtype))
    solve_once(implementation, triangle, width, options)
    # A triangle has nothing to filter. Some algorithms take no graph of several components.
    with contextlib.suppress(UnsupportedError):
        for n, m, weights in _SHAPES:
            solve_once(implementation, small_graph(like, n, m, weights), width, options)


def solve_once(
    implementation: Implementation, graph: Edges, width: int, options: dict[str, Any], comm: Any = None
) -> None:
    """Run every stage of a sample."""
    problem = implementation.ready(graph, width, options, comm=comm).problem
    result = implementation.solve(problem)
    implementation.collect(problem, result)
    implementation.counters(problem, result)


def small_graph(like: Edges, n: int, m: int, weights: int = 40_000) -> Graph:
    """Return a random graph of the same dtypes, whose edges repeat the first `weights` weights of `like`."""
    rng = np.random.default_rng(0)
    # The last vertex has no edge, so filters find work to the end.
    u, v = (rng.integers(0, n - 1, m).astype(like.u.dtype) for _ in range(2))
    w = np.resize(like.w[:weights], m) if len(like.w) else np.zeros(m, like.w.dtype)
    return Graph(n, u, v, w)
