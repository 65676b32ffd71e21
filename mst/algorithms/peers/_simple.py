"""Simple graphs for libraries that add parallel edges up or drop them, and the way back to edge ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SimpleEdges:
    """Edges with u < v, one per pair (the smallest by weight, then id), sorted by pair.

    Attributes
    ----------
    u, v, w : numpy.ndarray, shape (k,)
    ids : numpy.ndarray of int64, shape (k,)
        Edge ids in the original graph.
    pairs : numpy.ndarray of uint64, shape (k,)
        ``u * n + v``, ascending.
    n : int
    """

    n: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    ids: np.ndarray
    pairs: np.ndarray


def simple_edges(graph) -> SimpleEdges:
    """Return the lightest edge of each pair of distinct ends; of equal ones, the smallest id."""
    low, high = np.minimum(graph.u, graph.v), np.maximum(graph.u, graph.v)
    pairs = low.astype(np.uint64) * np.uint64(max(graph.n, 1)) + high.astype(np.uint64)
    ids = np.flatnonzero(low != high)
    ranked = ids[np.lexsort((graph.w[ids], pairs[ids]))]
    first = np.ones(len(ranked), bool)
    first[1:] = pairs[ranked[1:]] != pairs[ranked[:-1]]
    kept = ranked[first]
    return SimpleEdges(graph.n, low[kept], high[kept], graph.w[kept], kept, pairs[kept])


def edge_ids_of_pairs(simple: SimpleEdges, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the original edge ids of the pairs ``{a[i], b[i]}``, all of which must be in `simple`."""
    low, high = np.minimum(a, b).astype(np.uint64), np.maximum(a, b).astype(np.uint64)
    return simple.ids[np.searchsorted(simple.pairs, low * np.uint64(max(simple.n, 1)) + high)]
