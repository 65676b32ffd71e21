"""Borůvka's algorithm in pure NumPy: no code is compiled, so a fresh process answers at once.

The lightest edges, a few for each vertex, are sorted by (weight, edge id) and joined by Borůvka's rounds over whole
arrays. Of the other edges, only those between two of the trees found so far are sorted and joined in further rounds. A
compiled algorithm takes a third of the time or less, once it is compiled and loaded; `mst.advice.first` chooses between
them. Graphs of few vertices and edges are solved by Kruskal's algorithm over lists, since every round makes a dozen
NumPy calls.
"""

from __future__ import annotations

import numpy as np

from mst.graph import Graph

ALGORITHM = dict(
    id="numpy-boruvka",
    paradigm="sequential",
    title="Borůvka in NumPy",
    input="edges",
    requires=("numpy",),
)

LIGHT = 2
"""Edges per vertex that are joined before the others are filtered."""

FEW = 1 << 11
"""Up to this many vertices and edges together, lists take less time than arrays."""


def prepare(graph: Graph, *, width: int) -> Graph:
    return graph


def solve(graph: Graph) -> np.ndarray:
    if graph.n + graph.m <= FEW:
        order = np.argsort(graph.w, kind="stable")
        return order[join_few(graph.u[order].tolist(), graph.v[order].tolist(), graph.n)]
    cut = LIGHT * graph.n
    if graph.m <= cut:
        return _joined(graph, np.arange(graph.m), graph.u, graph.v)[1]
    light = graph.w <= np.partition(graph.w, cut)[cut]
    ids, heavy = np.flatnonzero(light), np.flatnonzero(~light)
    tree_of, first = _joined(graph, ids, graph.u[ids], graph.v[ids])
    u, v = tree_of[graph.u[heavy]], tree_of[graph.v[heavy]]
    between = u != v
    _, second = _joined(graph, heavy[between], u[between], v[between])
    return np.concatenate([first, second])


def _joined(graph: Graph, ids: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a label for the tree of each vertex, and the ids of the edges that join the trees.

    Parameters
    ----------
    graph : Graph
    ids : numpy.ndarray of int64, shape (k,)
        Edges, ascending.
    u, v : numpy.ndarray of int, shape (k,)
        The ends of these edges, or the trees of the ends.
    """
    order = in_order(graph.w[ids])
    label, rows = join(u[order], v[order], graph.n)
    return label, ids[order[rows]]


def collect(graph: Graph, result: np.ndarray) -> np.ndarray:
    return result


def in_order(weights: np.ndarray) -> np.ndarray:
    """Return the edge ids in ascending order of (weight, edge id)."""
    if len(weights) >= 2**32:
        return np.argsort(weights, kind="stable")
    keys, ids = _narrow_keys(weights), np.arange(len(weights), dtype=np.uint64)
    if keys is None:  # the ranks of equal weights are equal: sorting twice is faster than sorting stably
        ids = np.argsort(weights).astype(np.uint64)
        ascending = weights[ids]
        keys = np.zeros(len(ids), np.uint64)
        np.cumsum(ascending[1:] != ascending[:-1], out=keys[1:])
    words = keys << np.uint64(32) | ids
    words.sort()  # distinct, as they hold the ids
    words &= np.uint64(0xFFFFFFFF)
    return words.view(np.int64)


def _narrow_keys(weights: np.ndarray) -> np.ndarray | None:
    """Return the weights as uint64 below 2³² in the same order; None if they do not fit."""
    if weights.dtype == np.float32:
        bits = (weights + np.float32(0)).view(np.int32)  # -0.0 becomes 0.0
        return np.where(bits < 0, ~bits, bits ^ np.int32(-(2**31))).view(np.uint32).astype(np.uint64)
    if weights.dtype.kind != "i" or not len(weights):
        return None
    low, high = int(weights.min()), int(weights.max())
    if high - low >= 2**32:
        return None
    return weights.astype(np.uint64) - np.uint64(low % 2**64)  # modulo 2⁶⁴, as differences are


def join_few(u: list[int], v: list[int], n: int) -> list[int]:
    """Return the rows of the forest's edges by Kruskal's algorithm, with path halving; rows ascend by weight.

    Parameters
    ----------
    u, v : list of int, length k
        Ends, from 0 to n - 1.
    n : int
    """
    parent, rows = list(range(n)), []
    for row, (a, b) in enumerate(zip(u, v)):
        while (above := parent[a]) != a:
            parent[a] = a = parent[above]
        while (above := parent[b]) != b:
            parent[b] = b = parent[above]
        if a != b:
            parent[b] = a
            rows.append(row)
            if len(rows) == n - 1:
                break
    return rows


def join(u: np.ndarray, v: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a label for the tree of each vertex, and the rows of the forest's edges; rows ascend by weight.

    Parameters
    ----------
    u, v : numpy.ndarray of int, shape (k,)
        Ends, from 0 to n - 1.
    n : int

    Returns
    -------
    label : numpy.ndarray of int, shape (n,)
    rows : numpy.ndarray of int64, shape (edges of the forest,)
        In no particular order.
    """
    rows = np.flatnonzero(u != v)
    u, v = u[rows], v[rows]
    label, kept = np.arange(n, dtype=u.dtype), [rows[:0]]
    trees = n
    while len(rows):
        lightest = np.full(trees, len(rows))
        order = np.arange(len(rows))
        np.minimum.at(lightest, u, order)
        np.minimum.at(lightest, v, order)
        growing = np.flatnonzero(lightest < len(rows))
        lightest = lightest[growing]
        parent = np.arange(trees, dtype=u.dtype)
        parent[growing] = u[lightest] ^ v[lightest] ^ growing.astype(u.dtype)
        # Two trees that choose the same edge point at each other: the smaller becomes the root.
        mutual = (parent[parent[growing]] == growing) & (growing < parent[growing])
        parent[growing[mutual]] = growing[mutual]
        kept.append(rows[lightest[~mutual]])
        while not np.array_equal(above := parent[parent], parent):
            parent = above
        roots = parent == np.arange(trees)
        trees, parent = int(np.count_nonzero(roots)), (np.cumsum(roots, dtype=u.dtype) - 1)[parent]
        label, u, v = parent[label], parent[u], parent[v]
        between = u != v
        rows, u, v = rows[between], u[between], v[between]
    return label, np.concatenate(kept)
