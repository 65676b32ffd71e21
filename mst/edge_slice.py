"""A rank's part of a graph: consecutive rows of its edge list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mst.graph import Graph


@dataclass(frozen=True, eq=False)
class EdgeSlice:
    """Rows ``start … start + len(u) - 1`` of the edge list of a graph with `n` vertices and `m` edges.

    Attributes
    ----------
    n, m : int
        Vertices and edges of the whole graph.
    start : int
        The edge id of the first row.
    u, v : numpy.ndarray of int32 or int64, shape (rows,)
        Ends, as vertices of the whole graph.
    w : numpy.ndarray of int32, int64, float32 or float64, shape (rows,)
        Weights, in the same dtype on all ranks.
    """

    n: int
    m: int
    start: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray

    @property
    def rows(self) -> int:
        """Number of edges."""
        return len(self.w)

    @property
    def bytes(self) -> int:
        """Size of the rows in memory."""
        return self.u.nbytes + self.v.nbytes + self.w.nbytes


def bounds(m: int, size: int) -> np.ndarray:
    """Return the first row of each of `size` ranks, and `m`: int64, shape (size + 1,).

    Examples
    --------
    >>> from mst.edge_slice import bounds
    >>> bounds(10, 4).tolist()
    [0, 2, 5, 7, 10]
    """
    return np.array([m * rank // size for rank in range(size + 1)], np.int64)


def of_graph(graph: Graph, rank: int, size: int) -> EdgeSlice:
    """Return the rows of a graph in memory that belong to rank `rank` of `size`.

    Examples
    --------
    >>> from mst.edge_slice import of_graph
    >>> from mst import Graph
    >>> of_graph(Graph(4, [0, 1, 2], [1, 2, 3], [5, 6, 7]), 1, 2).w.tolist()
    [6, 7]
    """
    start, stop = bounds(graph.m, size)[rank : rank + 2].tolist()
    rows = graph.u[start:stop], graph.v[start:stop], graph.w[start:stop]
    return EdgeSlice(graph.n, graph.m, start, *rows)
