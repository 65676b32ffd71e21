"""A forest as a tree of merges: clusters, bottlenecks, paths and new edges, from one stored structure.

Kruskal's algorithm joins two trees by each edge that it takes. `MergeTree` stores which ones, and every query of a
`mst.Forest` reads that; the methods of `mst.Forest` are the public calls.
"""

from __future__ import annotations

import math
import operator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from mst.arrays import as_numpy, readable
from mst.cores import cores_for
from mst.errors import InputError
from mst.graph import Graph, LabelledGraph
from mst.order import keys

_MANY = 1 << 16
"""Pairs from which on threads pay, and the code for them, which takes a second or two to compile."""


class MergeTree:
    """The Kruskal reconstruction tree of a forest.

    Parameters
    ----------
    graph : Graph
    edge_ids : numpy.ndarray of int64, shape (k,)
        The forest's edges, ascending.

    Attributes
    ----------
    ranked : numpy.ndarray of int64, shape (k,)
        The edges in the order by (weight, edge id); the place of an edge here is its rank.
    weights : numpy.ndarray, shape (k,)
        Their weights.
    links : numpy.ndarray of uint32 or uint64, shape (n, 2)
        The merges, as `mst.kernels.tree.merge` describes them.
    merges : numpy.ndarray of `mst.kernels.proof.reconstruction.edge_dtype`, shape (k,)
        The same in the order of the edges, from `mst.kernels.proof.reconstruction.link_trees`.

    Raises
    ------
    InputError
        The edges close a cycle.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.graph import Graph
    >>> from mst.tree import MergeTree
    >>> MergeTree(Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6]), np.array([0, 2])).ranked.tolist()
    [0, 2]
    """

    def __init__(self, graph: Graph, edge_ids: np.ndarray) -> None:
        from mst.kernels.primitives.radix import argsort

        self.graph = graph
        self.ranked = edge_ids[argsort(keys(graph.w[edge_ids]))]
        self.weights = graph.w[self.ranked]
        self.links, self.merges = self._linked()

    def _linked(self) -> tuple[np.ndarray, np.ndarray]:
        from mst.kernels.proof.reconstruction import edge_dtype, gather_edges, link_trees

        n, w = self.graph.n, self.weights
        ends = np.dtype(f"u{self.graph.u.itemsize}")
        edges = np.empty(len(w), edge_dtype(ends, self.graph.m, w.dtype))
        gather_edges(self.graph.u.view(ends), self.graph.v.view(ends), w, self.ranked, edges)
        links = np.empty((n, 2), ends)
        rank = link_trees(edges, np.arange(n, dtype=ends), links)
        if rank >= 0:
            raise InputError(f"edge {self.ranked[rank]} closes a cycle: these edges are no forest")
        return links, edges

    @cached_property
    def _rooted(self) -> np.ndarray:
        from mst.kernels.graph.csr import build_csr
        from mst.kernels.tree.rooted import root_trees

        n, u, v = self.graph.n, self.graph.u[self.ranked], self.graph.v[self.ranked]
        offsets, neighbours, _, slots = build_csr(n, u, v, u)
        before = np.full((n, 3), -1, np.int64)
        root_trees(offsets, neighbours, slots, np.empty(n, np.int64), before)
        return before

    def linkage(self) -> np.ndarray:
        """Return the hierarchy of `mst.Forest.linkage`."""
        from mst.kernels.tree.linkage import write_linkage

        n = self.graph.n
        if n == 0:
            raise InputError("a graph without vertices has no hierarchy")
        hierarchy = np.empty((n - 1, 4))
        write_linkage(self.merges, self.links, np.empty((n, 2), self.links.dtype), hierarchy)
        return hierarchy

    def labels(self, k: int | None, threshold: float | None) -> np.ndarray:
        """Return the clusters of `mst.Forest.labels`."""
        from mst.kernels.tree.merge import label

        if (k is None) == (threshold is None):
            raise InputError(
                "give either k, the number of clusters, or threshold, the largest weight within one"
            )
        limit = self._rank_above(threshold) if k is None else self._rank_of_count(k)
        labels = np.empty(self.graph.n, np.int64)
        label(self.links, limit, np.full(self.graph.n, -1, np.int64), labels)
        return labels

    def _rank_above(self, threshold: Any) -> int:
        """Return how many edges have a weight of at most `threshold`, a number."""
        try:
            number = float(threshold)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"threshold must be a number, got {threshold!r}") from None
        if math.isnan(number):
            raise InputError("threshold is NaN, which has no place in an order: give a number")
        dtype = self.weights.dtype
        if dtype.kind == "f":
            return int(np.searchsorted(self.weights, np.float64(number), "right"))
        if math.isinf(number):
            return len(self.weights) if number > 0 else 0
        # Compared as an integer: a float64 does not hold every weight.
        whole = int(threshold) if isinstance(threshold, int | np.integer) else math.floor(number)
        if whole < np.iinfo(dtype).min:
            return 0
        return int(np.searchsorted(self.weights, dtype.type(min(whole, np.iinfo(dtype).max)), "right"))

    def _rank_of_count(self, k: Any) -> int:
        """Return how many of the lightest edges leave `k` clusters."""
        try:
            count = operator.index(k)
        except TypeError:
            raise InputError(f"k must be a whole number, got {k!r}") from None
        n, trees = self.graph.n, self.graph.n - len(self.ranked)
        if not trees <= count <= n:
            raise InputError(
                f"{n} vertices in {trees} trees cannot form {count} clusters: give k from {trees} to {n}"
            )
        return n - count

    def bottleneck_edges(self, x: Any, y: Any, threads: int | None) -> np.ndarray:
        """Return the edges of `mst.Forest.bottleneck_edges`."""
        x, _, ranks = self._joining_ranks(x, y, threads)
        joined = ranks < len(self.ranked)
        edges = np.full(x.shape, -1, np.int64)
        edges[joined] = self.ranked[ranks[joined]]
        return edges

    def bottleneck(self, x: Any, y: Any, threads: int | None) -> np.ndarray:
        """Return the distances of `mst.Forest.bottleneck`."""
        x, y, ranks = self._joining_ranks(x, y, threads)
        joined = ranks < len(self.ranked)
        distances = np.where(x == y, 0.0, np.inf)
        distances[joined] = self.weights[ranks[joined]]
        return distances

    def _joining_ranks(self, x: Any, y: Any, threads: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return pairs of vertices, and the rank of the edge that joined each: uint64, n or more if there is none."""
        from mst.kernels.proof.reconstruction import find_joining_ranks

        x, y = np.broadcast_arrays(self._vertices(x, "x"), self._vertices(y, "y"))
        a, b = (ends.reshape(-1).astype(self.links.dtype) for ends in (x, y))
        width = cores_for(threads)
        if a.size < _MANY:
            ranks = np.empty(a.size, np.uint64)
            find_joining_ranks(self.links, a, b, a.size, np.empty(a.size, np.uint32), ranks)
            ranks[(x == y).reshape(-1)] = self.graph.n
        else:
            from mst.kernels.tree.joining import joining_ranks

            with _workers(width):
                ranks = joining_ranks(self.links, a, b, width)
        return x, y, ranks.reshape(x.shape)

    def paths(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the paths of `mst.Forest.paths`."""
        from mst.kernels.tree.rooted import path_lengths, write_paths

        x, y = np.broadcast_arrays(self._vertices(x, "x"), self._vertices(y, "y"))
        x, y = (np.ascontiguousarray(ends.reshape(-1), np.int64) for ends in (x, y))
        offsets = np.zeros(len(x) + 1, np.int64)
        path_lengths(self._rooted, x, y, offsets[1:])
        np.cumsum(offsets, out=offsets)
        edges = np.empty(offsets[-1], np.int64)
        write_paths(self._rooted, x, y, offsets, edges)
        return self.ranked[edges], offsets

    def is_unique(self, threads: int | None) -> bool:
        """Return the answer of `mst.Forest.is_unique`."""
        from mst.kernels.proof.path_maximum import EdgeList, PathMaxima, first_violation_by
        from mst.kernels.proof.reconstruction import find_root_paths, root_path_dtype

        graph, links, width = self.graph, self.links, cores_for(threads)
        if graph.m < _MANY:
            outside = np.setdiff1d(np.flatnonzero(graph.u != graph.v), self.ranked)
            _, _, ranks = self._joining_ranks(graph.u[outside], graph.v[outside], threads)
            return bool((ranks < len(self.ranked)).all() and (graph.w[outside] > self.weights[ranks]).all())
        root_paths = np.empty(graph.n, root_path_dtype(links.dtype, graph.w.dtype))
        find_root_paths(self.merges, root_paths)
        ranked = self.merges.copy()
        ranked["id"] = np.iinfo(ranked.dtype["id"]).max  # so that every other edge of the same weight precedes
        forest = PathMaxima(np.sort(self.ranked), ranked, links, root_paths, np.empty(0, ranked.dtype["id"]))
        edges = EdgeList(graph.u.view(links.dtype), graph.v.view(links.dtype), graph.w)
        with _workers(width):
            return first_violation_by(width, edges, forest, True)[0] < 0

    def add_edges(self, u: Any, v: Any, w: Any) -> tuple[Graph, np.ndarray]:
        """Return the graph with more edges, and the ids of its forest, as `mst.Forest.add_edges` describes.

        A new edge can replace one on the path between its ends. In the reconstruction tree the paths from all ends of
        new edges to the roots are short, and have the bottlenecks of the forest: with the new edges they are a small
        graph, and a link outside the forest of that graph is an edge that leaves.
        """
        from mst.kernels.tree.merge import joining, links_above

        graph, added = self.graph, _added(self.graph, u, v, w)
        ends = np.unique(np.concatenate((added.u, added.v))).astype(np.int64)
        ranks, children = np.empty(graph.n, np.int64), np.empty(graph.n, np.int64)
        count = links_above(self.links, ends, np.zeros(graph.n, np.bool_), ranks, children)
        ranks, children = ranks[:count], children[:count]
        # The links, then the new edges.
        ids = np.concatenate((self.ranked[ranks], graph.m + np.arange(added.m)))
        order = np.lexsort((ids, np.concatenate((self.weights[ranks], added.w))))
        ends = np.concatenate((children, added.u, self.links[children, 0], added.v)).astype(np.int64)
        vertices, places = np.unique(ends, return_inverse=True)
        joins = np.empty(len(ids), np.bool_)
        a, b = places.reshape(2, -1)[:, order]
        joining(a, b, np.arange(len(vertices)), joins)
        joins[order] = joins.copy()
        kept = np.delete(self.ranked, ranks[~joins[:count]])
        columns = ((graph.u, added.u), (graph.v, added.v), (graph.w, added.w))
        u, v, w = map(np.concatenate, columns)
        if isinstance(graph, LabelledGraph):
            whole: Graph = LabelledGraph(graph.labels, u, v, w, name=graph.name, trusted=True)
        else:
            whole = Graph(graph.n, u, v, w, name=graph.name, trusted=True)
        return whole, np.concatenate((kept, ids[count:][joins[count:]]))

    def _vertices(self, vertices: Any, name: str) -> np.ndarray:
        """Return vertices as an array of integers of any shape."""
        array = as_numpy(vertices, name)
        if array.size == 0:
            return array.astype(np.int64)
        if array.dtype.kind not in "iu":
            raise InputError(f"{name} must hold vertices, got dtype {array.dtype}")
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= self.graph.n:
            wrong = low if low < 0 else high
            raise InputError(
                f"{name} holds {wrong}, which is not a vertex: ids run from 0 to {self.graph.n - 1}"
            )
        return array.astype(np.int64, copy=False)


def _workers(width: int) -> AbstractContextManager[None]:
    """Return a context that runs parallel kernels by `width` threads; one thread needs none."""
    from mst.kernels.parallel.runtime import workers

    return workers(width) if width > 1 else nullcontext()


def _added(graph: Graph, u: Any, v: Any, w: Any) -> Graph:
    """Return the new edges as a graph of the same vertices, with weights of the same dtype."""
    added = Graph(*readable((graph.n, u, v, w)))
    if added.w.dtype == graph.w.dtype:
        return added
    with np.errstate(invalid="ignore", over="ignore"):
        weights = added.w.astype(graph.w.dtype)
        changed = weights.astype(added.w.dtype) != added.w
    if changed.any():
        row = int(np.argmax(changed))
        raise InputError(
            f"w[{row}] = {added.w[row]} is no {graph.w.dtype}, as the graph's weights are: convert those first"
        )
    return Graph(graph.n, added.u, added.v, weights)
