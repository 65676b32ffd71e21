"""Prim's algorithm with a binary heap of the outside vertices: O(m log n) (Biagiotti, §III)."""

from __future__ import annotations

import numpy as np

from mst import order
from mst.graph import CSR, Graph
from mst.kernels.primitives.jit import njit

ALGORITHM = dict(
    id="prim-heap",
    paradigm="sequential",
    paper="biagiotti",
    title="Prim, heap",
    input="csr",
    requires=("numba",),
)

_UNSEEN, _INSIDE = -1, -2


def prepare(graph: Graph, *, width: int) -> CSR:
    return graph.csr()


def solve(problem: CSR) -> np.ndarray:
    return grow(problem.offsets, problem.neighbours, order.keys(problem.weights), problem.edge_ids)


def collect(problem: CSR, result: np.ndarray) -> np.ndarray:
    return result


@njit
def grow(offsets, neighbours, keys, edge_ids):
    """Grow a tree from every vertex that no earlier tree has reached.

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
    nearest_key = np.empty(n, keys.dtype)
    nearest_id = np.empty(n, edge_ids.dtype)
    heap = np.empty(n, neighbours.dtype)
    place = np.full(n, _UNSEEN, neighbours.dtype)
    forest = np.empty(max(n - 1, 0), edge_ids.dtype)
    size = 0
    for source in range(n):
        if place[source] == _INSIDE:
            continue
        x, waiting = source, 0
        while True:
            place[x] = _INSIDE
            for slot in range(offsets[x], offsets[x + 1]):
                y = neighbours[slot]
                if place[y] == _INSIDE:
                    continue
                key, e = keys[slot], edge_ids[slot]
                if place[y] == _UNSEEN:
                    place[y] = waiting
                    heap[waiting] = y
                    waiting += 1
                elif not _before(key, e, nearest_key[y], nearest_id[y]):
                    continue
                nearest_key[y], nearest_id[y] = key, e
                _sift_up(heap, place, nearest_key, nearest_id, y)
            if waiting == 0:
                break
            x = heap[0]
            forest[size] = nearest_id[x]
            size += 1
            waiting -= 1
            if waiting > 0:
                last = heap[waiting]
                heap[0], place[last] = last, 0
                _sift_down(heap, place, nearest_key, nearest_id, last, waiting)
    return forest[:size]


@njit(inline="always")
def _before(key, e, other_key, other_id):
    """Return whether an edge comes before another by (key, edge id)."""
    return key < other_key or (key == other_key and e < other_id)


@njit
def _sift_up(heap, place, keys, ids, x):
    """Restore the heap after the edge to vertex `x` has become lighter.

    All arrays are of shape (n,). `heap` holds vertices, and `place`, of the same dtype, the place of each vertex in the
    heap; `keys` and `ids` are the key and the id of the lightest edge from the tree to each vertex.
    """
    at = place[x]
    while at > 0:
        above = heap[(at - 1) >> 1]
        if not _before(keys[x], ids[x], keys[above], ids[above]):
            break
        heap[at], place[above] = above, at
        at = (at - 1) >> 1
    heap[at], place[x] = x, at


@njit
def _sift_down(heap, place, keys, ids, x, waiting):
    """Restore the heap of `waiting` vertices after `x` has replaced its root; the arrays are as for `_sift_up`."""
    at = place[x]
    while True:
        child = 2 * at + 1
        if child >= waiting:
            break
        if child + 1 < waiting:
            left, right = heap[child], heap[child + 1]
            child += _before(keys[right], ids[right], keys[left], ids[left])
        below = heap[child]
        if not _before(keys[below], ids[below], keys[x], ids[x]):
            break
        heap[at], place[below] = below, at
        at = child
    heap[at], place[x] = x, at
