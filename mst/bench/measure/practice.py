"""The small graphs on which runs compile before they are measured."""

from __future__ import annotations

import numpy as np

from mst.edge_slice import EdgeSlice
from mst.graph import Graph


def practice_graph(like: Graph | EdgeSlice, n: int = 1000, m: int = 40_000, weights: int = 40_000) -> Graph:
    """Return a random graph of the same dtypes, whose edges repeat the first so many weights of `like`."""
    rng = np.random.default_rng(0)
    # Of the last vertex no edge is had, so that filters find work to the end.
    u, v = (rng.integers(0, n - 1, m).astype(like.u.dtype) for _ in range(2))
    w = np.resize(like.w[:weights], m) if len(like.w) else np.zeros(m, like.w.dtype)
    return Graph(n, u, v, w)
