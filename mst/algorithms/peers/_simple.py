"""Inputs and results of libraries that need simple graphs: weights as doubles, and edge ids from pairs of ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mst import order
from mst.graph import Graph
from mst.kernels.graph.simplify import lightest_of_parallel_edges
from mst.kernels.primitives.radix import argsort


@dataclass(frozen=True, eq=False)
class SimpleEdges:
    """The smallest edge by (weight, id) of each pair u < v, sorted by pair.

    Attributes
    ----------
    n : int
    u, v : numpy.ndarray of int32 or int64, shape (k,)
    w : numpy.ndarray of any weight dtype, shape (k,)
    ids : numpy.ndarray of int64, shape (k,)
        Edge ids in the original graph.
    """

    n: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    ids: np.ndarray

    def edge_ids(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the original edge ids of the pairs ``{a[i], b[i]}``; -1 for a pair that is not an edge."""
        wanted = _pairs(self.n, np.asarray(a), np.asarray(b))
        if len(self.ids) == 0:
            return np.full(len(wanted), -1)
        pairs = _pairs(self.n, self.u, self.v)
        at = np.minimum(np.searchsorted(pairs, wanted), len(pairs) - 1)
        return np.where(pairs[at] == wanted, self.ids[at], -1)


def simple_edges(graph: Graph) -> SimpleEdges:
    """Return the lightest edge of each pair of distinct ends, of equal ones that with the smallest id.

    Libraries differ in how they treat parallel edges: some add their weights, some keep the last one.
    """
    pairs = _pairs(graph.n, graph.u, graph.v)
    if (graph.u < graph.v).all() and (pairs[1:] > pairs[:-1]).all():
        return SimpleEdges(graph.n, graph.u, graph.v, graph.w, np.arange(graph.m))
    ids = lightest_of_parallel_edges(graph.u, graph.v, graph.w, pairs, argsort(pairs))
    low, high = np.minimum(graph.u[ids], graph.v[ids]), np.maximum(graph.u[ids], graph.v[ids])
    return SimpleEdges(graph.n, low, high, graph.w[ids], ids)


def double_weights(weights: np.ndarray, *, positive: bool = False) -> np.ndarray:
    """Return float64 weights with the same order and the same ties.

    All weights are replaced by their ranks, counted from 1, if some integer is above 2⁵³. With `positive`, this also
    happens if some weight is not positive, infinite or the largest float, because some libraries read zero as "no
    edge", and infinity or the largest float as "not reached".
    """
    doubles = weights.astype(np.float64)
    if len(weights) == 0:
        return doubles
    exact = weights.dtype != np.int64 or max(-int(weights.min()), int(weights.max())) <= 2**53
    if exact and not (positive and (doubles.min() <= 0 or doubles.max() >= np.finfo(np.float64).max)):
        return doubles
    return np.unique(order.keys(weights), return_inverse=True)[1] + 1.0


def _pairs(n: int, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    low, high = np.minimum(a, b).astype(np.uint64), np.maximum(a, b).astype(np.uint64)
    return low * np.uint64(max(n, 1)) + high
