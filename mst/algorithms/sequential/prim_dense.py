"""Prim's algorithm with an array of distances: O(n²), which suits dense graphs (Biagiotti, §III)."""

from __future__ import annotations

import numpy as np

from mst import order
from mst.graph import CSR, Graph
from mst.kernels.primitives.jit import njit

ALGORITHM = dict(
    id="prim-dense",
    paradigm="sequential",
    paper="biagiotti",
    title="Prim, dense",
    input="csr",
    requires=("numba",),
    limits=dict(n=50_000),
)


def prepare(graph: Graph, *, width: int) -> CSR:
    return graph.csr()


def solve(problem: CSR) -> np.ndarray:
    return grow(problem.offsets, problem.neighbours, order.keys(problem.weights), problem.edge_ids)


def collect(problem: CSR, result: np.ndarray) -> np.ndarray:
    return result


@njit
def grow(offsets, neighbours, keys, edge_ids):
    """Add the nearest outside vertex to the tree, n times; a vertex without an edge to it starts a new tree.

    Parameters
    ----------
    offsets : array of int64, shape (n + 1,)
    neighbours : array of int32 or int64, shape (2 m,)
    keys : array of uint32 or uint64, shape (2 m,)
        Order-preserving keys of the weights.
    edge_ids : array of int32 or int64, shape (2 m,)

    Returns
    -------
    array like `edge_ids`, shape (edges of the forest,)
    """
    n = offsets.size - 1
    far, none = keys.dtype.type(np.iinfo(keys.dtype).max), edge_ids.dtype.type(-1)
    nearest_key = np.full(n, far, keys.dtype)
    nearest_id = np.full(n, none, edge_ids.dtype)
    outside = np.arange(n)
    place = np.arange(n)
    forest = np.empty(max(n - 1, 0), edge_ids.dtype)
    size = 0
    for left in range(n, 0, -1):
        x, key, e = outside[0], nearest_key[outside[0]], nearest_id[outside[0]]
        for i in range(1, left):
            y = outside[i]
            if nearest_id[y] != none and (
                e == none or nearest_key[y] < key or (nearest_key[y] == key and nearest_id[y] < e)
            ):
                x, key, e = y, nearest_key[y], nearest_id[y]
        if e != none:
            forest[size] = e
            size += 1
        last = outside[left - 1]
        outside[place[x]], place[last] = last, place[x]
        place[x] = -1
        for slot in range(offsets[x], offsets[x + 1]):
            y = neighbours[slot]
            if place[y] >= 0 and (
                nearest_id[y] == none
                or keys[slot] < nearest_key[y]
                or (keys[slot] == nearest_key[y] and edge_ids[slot] < nearest_id[y])
            ):
                nearest_key[y], nearest_id[y] = keys[slot], edge_ids[slot]
    return forest[:size]
