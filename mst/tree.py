"""A forest as a tree of merges: clusters, bottlenecks, paths and new edges, from one stored structure.

Kruskal's algorithm joins two trees by each edge that it takes. `MergeTree` stores which ones, for the queries of
`mst.Forest`, whose methods are the public interface.
"""

from __future__ import annotations

import math
import operator
from functools import cached_property
from typing import Any

import numpy as np

from mst.arrays import as_numpy, distinct_values, readable
from mst.cores import cores_for
from mst.errors import InputError
from mst.graph import Graph, LabelledGraph
from mst.order import keys
from mst.rounding import converted
from mst.units import counted

_MANY_EDGES, _MANY_PAIRS = 1 << 16, 1 << 17
"""With fewer edges, or pairs of vertices, threads do not pay off."""

_WRITERS = 4
"""The number of threads that write a hierarchy as fast as memory permits."""


class MergeTree:
    """The Kruskal reconstruction tree of a forest.

    Parameters
    ----------
    graph : Graph
    edge_ids : numpy.ndarray of int64, shape (k,)
        The forest's edges, ascending.
    width : int
        Threads for building the tree.

    Attributes
    ----------
    links : numpy.ndarray of uint32 or uint64, shape (n, 2)
        The merges, as `mst.kernels.tree.merge` describes them.
    merges : numpy.ndarray of `mst.kernels.proof.reconstruction.edge_dtype`, shape (k,)
        The merges in the order of the edges; see `mst.kernels.proof.reconstruction.link_trees`.
    clusters : numpy.ndarray of the dtype of `links`, shape (k, 3)
        The clusters that each edge joined; see the same function.

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

    def __init__(self, graph: Graph, edge_ids: np.ndarray, width: int = 1) -> None:
        from mst.kernels.proof import building

        self.graph, self.edge_ids = graph, edge_ids
        self._directed: tuple[np.ndarray, np.ndarray] | None = None
        weights, ends = graph.w[edge_ids], f"u{graph.u.itemsize}"
        forest = building.Forest(graph.u.view(ends), graph.v.view(ends), edge_ids, weights, keys(weights))
        self.merges, self.links, self.clusters, _, cycle = building.reconstruct(graph.n, forest, width, True)
        if cycle >= 0:
            raise InputError(f"edge {self.merges[cycle]['id']} closes a cycle: these edges are not a forest")

    @cached_property
    def ranked(self) -> np.ndarray:
        """Edge ids sorted by (weight, edge id), int64 of shape (k,); the position of an edge is its rank."""
        return self.merges["id"].astype(np.int64)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights by rank, shape (k,)."""
        return self.merges["weight"].copy()

    def linkage(self, threads: int | None) -> np.ndarray:
        """Return the hierarchy of `mst.Forest.linkage`."""
        from mst.kernels.parallel.parts import by_threads
        from mst.kernels.tree.linkage import join_trees, write_linkage

        n, k = self.graph.n, len(self.merges)
        if n == 0:
            raise InputError("a graph without vertices has no hierarchy")
        merges, clusters = self.merges, self.clusters
        with by_threads(min(self._width(threads), _WRITERS)) as parts:
            hierarchy = parts.empty((n - 1, 4), np.float64)
            parts(k, lambda a, b: write_linkage(merges[a:b], clusters[a:b], hierarchy[a:b]))
        if k < n - 1:
            roots = np.flatnonzero(self.links[:, 1] >= n)
            roots = roots[np.argsort(self._labels(k)[roots])]
            join_trees(self.links[roots] - (0, n - 1), n + k, hierarchy[k:])
        return hierarchy

    def labels(self, k: int | None, threshold: float | None) -> np.ndarray:
        """Return the clusters of `mst.Forest.labels`."""
        if (k is None) == (threshold is None):
            raise InputError(
                "give either k, the number of clusters, or threshold, the largest weight within a cluster"
            )
        return self._labels(self._rank_above(threshold) if k is None else self._rank_of_count(k))

    def _labels(self, limit: int) -> np.ndarray:
        """Return the cluster of each vertex when only edges of ranks below `limit` are kept."""
        from mst.kernels.tree.merge import find_roots, number_clusters

        roots, numbers = np.empty((2, self.graph.n), self.links.dtype)
        labels = np.empty(self.graph.n, np.int64)
        find_roots(self.merges, limit, roots)
        number_clusters(roots, numbers, labels)
        return labels

    def _rank_above(self, threshold: Any) -> int:
        """Return how many edges have a weight of at most `threshold`, a number."""
        try:
            number = math.ldexp(threshold, 0)  # which takes no text
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"threshold must be a number, got {threshold!r}") from None
        if math.isnan(number):
            raise InputError("threshold is NaN, which cannot be ordered: give a number")
        dtype = self.weights.dtype
        is_whole = isinstance(threshold, int | np.integer)
        if dtype.kind == "f":
            if is_whole and number > int(threshold):  # it was rounded up
                number = math.nextafter(number, -math.inf)
            return int(np.searchsorted(self.weights, np.float64(number), "right"))
        if math.isinf(number):
            return len(self.weights) if number > 0 else 0
        # Compared as an integer: a float64 does not hold every weight.
        whole = int(threshold) if is_whole else math.floor(number)
        if whole < np.iinfo(dtype).min:
            return 0
        return int(np.searchsorted(self.weights, dtype.type(min(whole, np.iinfo(dtype).max)), "right"))

    def _rank_of_count(self, k: Any) -> int:
        """Return how many of the lightest edges leave `k` clusters."""
        try:
            count = operator.index(k)
        except TypeError:
            raise InputError(f"k must be a whole number, got {k!r}") from None
        n, trees = self.graph.n, self.graph.n - len(self.merges)
        if not trees <= count <= n:
            raise InputError(
                f"{counted(n, 'vertex', 'vertices')} in {counted(trees, 'tree')} cannot form "
                f"{counted(count, 'cluster')}: give k from {trees} to {n}"
            )
        return n - count

    def bottleneck_edges(self, x: Any, y: Any, threads: int | None) -> np.ndarray:
        """Return the edges of `mst.Forest.bottleneck_edges`."""
        return self._joining(x, y, threads, self.ranked, np.full(2, -1))

    def bottleneck(self, x: Any, y: Any, threads: int | None) -> np.ndarray:
        """Return the distances of `mst.Forest.bottleneck`."""
        return self._joining(x, y, threads, self.weights, np.array([0, math.inf]))

    def _joining(
        self, x: Any, y: Any, threads: int | None, of_ranks: np.ndarray, otherwise: np.ndarray
    ) -> np.ndarray:
        """Return the output of `mst.kernels.tree.joining.find_joining` in the shape of the pairs."""
        from mst.kernels.parallel.parts import by_threads
        from mst.kernels.tree.joining import find_joining

        x, y, shape = self._pairs(x, y)
        width, links = cores_for(threads), self.links
        with by_threads(width if len(x) >= _MANY_PAIRS else 1) as parts:
            values = parts.empty(len(x), otherwise.dtype)
            parts(len(x), lambda a, b: find_joining(a, b, x, y, links, of_ranks, otherwise, values))
        return values.reshape(shape)

    def _pairs(self, x: Any, y: Any) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
        """Return the broadcast vertices x and y, each flattened and in the dtype of the links, and their shape."""
        x, y = self._vertices(x, "x"), self._vertices(y, "y")
        try:
            x, y = np.broadcast_arrays(x, y)
        except ValueError:
            raise InputError(
                f"x and y must have shapes that can be broadcast together, got {x.shape} and {y.shape}"
            ) from None
        return x.reshape(-1).astype(self.links.dtype), y.reshape(-1).astype(self.links.dtype), x.shape

    def paths(self, x: Any, y: Any, threads: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the paths of `mst.Forest.paths`."""
        from mst.kernels.parallel.parts import by_threads
        from mst.kernels.tree.rooted import collect_paths

        x, y, _ = self._pairs(x, y)
        width = self._width(threads)
        tree = self.links, *self._rooted(width)
        offsets = np.zeros(len(x) + 1, np.int64)
        with by_threads(width, 1) as parts:
            ranks = parts(len(x), lambda a, b: collect_paths(x[a:b], y[a:b], *tree, offsets[a + 1 : b + 1]))
        np.cumsum(offsets, out=offsets)
        return self.ranked[np.concatenate(ranks)], offsets

    def _rooted(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the edges directed to the roots, as `mst.kernels.tree.rooted.root_clusters` does; computed once."""
        from mst.kernels.parallel.parts import by_threads
        from mst.kernels.proof.building import MOST, sorted_by
        from mst.kernels.tree.rooted import find_depths, gather_ends, root_clusters

        if self._directed is not None:
            return self._directed
        graph, links, merges = self.graph, self.links, self.merges
        n, k, kind = graph.n, len(merges), links.dtype
        u, v = graph.u.view(kind), graph.v.view(kind)

        def direct(ranks: np.ndarray) -> None:
            parts(
                len(ranks), lambda a, b: root_clusters(ranks[a:b], merges, links, ends, entries, above, below)
            )

        with by_threads(min(width, MOST)) as parts:
            ends, below = parts.empty((k, 2), kind), parts.empty(k, kind)
            above, entries = parts.empty((n, 2), kind), parts.empty(n, kind)
            parts(n, lambda a, b: np.copyto(above[a:b], n))
            parts(n, lambda a, b: np.copyto(entries[a:b], n))
            parts(k, lambda a, b: gather_ends(a, b, u, v, merges, links, ends))
            if parts.width == 1:
                direct(np.arange(k, dtype=kind)[::-1].copy())
            else:
                depths = np.empty(k, np.uint32)
                find_depths(merges, np.zeros(n, np.uint8), depths)
                for level in np.split(sorted_by(depths, parts).ids, np.cumsum(np.bincount(depths))[:-1]):
                    direct(level)
        self._directed = above, below
        return self._directed

    def is_unique(self, threads: int | None) -> bool:
        """Return the answer of `mst.Forest.is_unique`."""
        from mst.kernels.parallel.runtime import several_workers
        from mst.kernels.proof.path_maximum import REFUSED, EdgeList, PathMaxima, first_violation_by
        from mst.kernels.proof.reconstruction import find_root_paths, root_path_dtype

        graph, links, width = self.graph, self.links, cores_for(threads)
        if graph.m < _MANY_EDGES:
            outside = np.setdiff1d(np.flatnonzero(graph.u != graph.v), self.edge_ids)
            edges = self.bottleneck_edges(graph.u[outside], graph.v[outside], 1)
            return bool((edges >= 0).all() and (graph.w[outside] > graph.w[edges]).all())
        root_paths = np.empty(graph.n, root_path_dtype(links.dtype, graph.w.dtype))
        find_root_paths(self.merges, root_paths)
        no_bounds = np.empty(0, self.merges.dtype["id"])
        forest = PathMaxima(self.edge_ids, self.merges, links, root_paths, no_bounds)
        every = EdgeList(graph.u.view(links.dtype), graph.v.view(links.dtype), graph.w)
        with several_workers(width):
            return first_violation_by(width, every, forest, REFUSED)[0] < 0

    def add_edges(self, u: Any, v: Any, w: Any) -> tuple[Graph, np.ndarray]:
        """Return the graph with more edges, and the ids of its forest, as `mst.Forest.add_edges` describes.

        A new edge can replace one on the path between its ends. In the reconstruction tree, the paths from the ends of
        new edges to the roots are short and have the same bottlenecks as the forest. With the new edges, these paths
        are a small graph; their links that are not in its forest are the edges to remove.
        """
        from mst.kernels.tree.merge import joining, links_above

        graph, added = self.graph, _added(self.graph, u, v, w)
        ends = distinct_values(np.concatenate((added.u, added.v))).astype(np.int64, copy=False)
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

    def _width(self, threads: int | None) -> int:
        """Return how many threads to use for work on all vertices."""
        from mst.kernels.proof.building import LARGE

        return cores_for(threads) if self.graph.n >= LARGE else 1

    def _vertices(self, vertices: Any, name: str) -> np.ndarray:
        """Return vertices as an array of integers of any shape."""
        array = as_numpy(vertices, name)
        if np.ma.is_masked(vertices):
            raise InputError(f"{name} has masked values: drop or replace them")
        if array.size == 0:
            return array.astype(np.int64)
        if array.dtype.kind not in "iu":
            remedy = (
                ": give their places in forest.graph.labels" if isinstance(self.graph, LabelledGraph) else ""
            )
            raise InputError(f"{name} must hold vertices, got dtype {array.dtype}{remedy}")
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >= self.graph.n:
            wrong = low if low < 0 else high
            raise InputError(
                f"{name} holds {wrong}, which is not a vertex: ids run from 0 to {self.graph.n - 1}"
            )
        return array.astype(np.int64, copy=False)


def _added(graph: Graph, u: Any, v: Any, w: Any) -> Graph:
    """Return the new edges as a graph of the same vertices, with weights of the same dtype."""
    added = Graph(*readable((graph.n, u, v, w)))
    if added.w.dtype == graph.w.dtype:
        return added
    weights, changed = converted(added.w, graph.w.dtype)
    if changed.any():
        row = int(np.argmax(changed))
        raise InputError(
            f"w[{row}] = {added.w[row]} cannot be stored as {graph.w.dtype}, the dtype of the graph's weights: "
            "convert those first"
        )
    return Graph(graph.n, added.u, added.v, weights)
