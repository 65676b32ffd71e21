"""The minimum spanning forest: sorted edge ids, total weight, component count."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mst.errors import InputError
from mst.graph import Graph
from mst.order import total

if TYPE_CHECKING:
    import networkx
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Forest:
    """A spanning forest of a graph, as edge ids.

    Attributes
    ----------
    graph : Graph
        The graph that it spans.
    edge_ids : numpy.ndarray of int64, shape (n - components,)
        Rows of the graph's edge list, ascending.
    algorithm : str
        Id of the algorithm that found it.
    seconds : dict of str to float
        Wall time by part (``init``, ``transfer``, ``compute``), in seconds. Machine code, which is compiled once for a
        machine and loaded afterwards, counts to none of these: ``code`` is the time that it took, if any.

    Raises
    ------
    InputError
        `graph` is no `Graph`; or `edge_ids` are no distinct rows of its edge list, or more than any forest has.

    Examples
    --------
    >>> import mst
    >>> forest = mst.minimum_spanning_forest((4, [0, 0, 1], [1, 1, 2], [3, 2, 1]))
    >>> forest.edge_ids.tolist(), forest.weight, forest.components
    ([1, 2], 3, 2)
    """

    graph: Graph
    edge_ids: np.ndarray
    algorithm: str = ""
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.graph, Graph):
            raise InputError(f"a forest is of a Graph, got {type(self.graph).__name__}")
        ids = _distinct_rows(self.edge_ids, self.graph)
        ids.flags.writeable = False
        object.__setattr__(self, "edge_ids", ids)

    def __len__(self) -> int:
        return len(self.edge_ids)

    def __repr__(self) -> str:
        return f"<Forest {len(self):,} edges, weight {self.weight}, {self.components:,} components>"

    @cached_property
    def weight(self) -> int | float:
        """Total weight: an exact int for integer weights, the correctly rounded sum for floats."""
        return total(self.graph.w[self.edge_ids])

    @property
    def components(self) -> int:
        """Number of trees, isolated vertices included."""
        return self.graph.n - len(self.edge_ids)

    def edges(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays ``(u, v, w)`` of the forest's edges, in the order of `edge_ids`.

        Examples
        --------
        >>> import mst
        >>> u, v, w = mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6])).edges()
        >>> w.tolist()
        [5, 6]
        """
        g, ids = self.graph, self.edge_ids
        return g.u[ids], g.v[ids], g.w[ids]

    def to_scipy(self) -> csr_array:
        """Return the forest as a SciPy sparse array, as `scipy.sparse.csgraph.minimum_spanning_tree` does.

        Returns
        -------
        scipy.sparse.csr_array, shape (n, n), of the weights' dtype
            One entry per edge, at row u and column v of the edge list, indices sorted. Edges of weight zero are
            stored entries too; ``eliminate_zeros()`` would drop them.

        Examples
        --------
        >>> import mst
        >>> mst.minimum_spanning_forest((3, [0, 2, 2], [1, 1, 0], [5.5, 7, 6])).to_scipy().toarray()
        array([[0. , 5.5, 0. ],
               [0. , 0. , 0. ],
               [6. , 0. , 0. ]])
        """
        from scipy.sparse import csr_array

        u, v, w = self.edges()
        n = self.graph.n
        return csr_array((w, (u, v)), shape=(n, n))

    def to_networkx(self, nodes: Iterable[Hashable] | None = None, *, weight: str = "weight") -> networkx.Graph:
        """Return the forest as a networkx graph, isolated vertices included.

        Parameters
        ----------
        nodes : iterable of hashable, length n, optional
            Names of the vertices in their order: ``list(graph)`` where the graph came from the networkx graph
            ``graph``. By default vertex i is named i.
        weight : str
            The edge attribute that holds the weight, a Python number; ``id`` holds the edge id.

        Raises
        ------
        InputError
            `nodes` is not as long as there are vertices, has no order, or gives two of them the same name; or `weight`
            cannot name the weight.

        Examples
        --------
        >>> import mst
        >>> forest = mst.minimum_spanning_forest((3, [0, 2, 2], [1, 1, 0], [5, 7, 6]))
        >>> list(forest.to_networkx("abc").edges(data=True))
        [('a', 'b', {'weight': 5, 'id': 0}), ('a', 'c', {'weight': 6, 'id': 2})]
        """
        import networkx

        if not isinstance(weight, str) or weight == "id":
            raise InputError(f"the weight's attribute must be a text other than 'id', got {weight!r}")
        names = range(self.graph.n) if nodes is None else _node_names(nodes)
        if len(names) != self.graph.n:
            raise InputError(f"{len(names)} nodes were given to name {self.graph.n} vertices")
        u, v, w = (array.tolist() for array in self.edges())
        tree = networkx.Graph()
        for name in names:  # add_nodes_from takes a pair for a node and its attributes
            tree.add_node(name)
        if len(tree) != self.graph.n:
            raise InputError(f"{self.graph.n} vertices were given only {len(tree)} different names")
        tree.add_edges_from(
            (names[a], names[b], {weight: x, "id": e}) for a, b, x, e in zip(u, v, w, self.edge_ids.tolist())
        )
        return tree

    def linkage(self) -> np.ndarray:
        """Return the single-linkage hierarchy of the vertices, in SciPy's format.

        Cutting a minimum spanning forest below a height leaves the clusters that single linkage makes at that
        height (Gower and Ross, *Minimum spanning trees and single linkage cluster analysis*, 1969), so this is
        `scipy.cluster.hierarchy.linkage` for any graph of distances, in time O(n log n).

        Returns
        -------
        numpy.ndarray of float64, shape (n - 1, 4)
            Row i merges the clusters of the first two columns, smaller id first, into cluster n + i; then the
            height, which is the edge's weight, and the number of vertices. Rows ascend by (weight, edge id).
            Vertices that no path joins are infinitely far apart: a forest's trees are merged by the last rows at
            height infinity, so ``fcluster(Z, t, "distance")`` keeps them apart for every finite ``t``.

        Raises
        ------
        InputError
            There is no vertex. (One vertex makes no merge: shape (0, 4), which SciPy refuses.)

        Examples
        --------
        >>> import mst
        >>> mst.minimum_spanning_forest((4, [0, 1, 2], [1, 2, 0], [5.0, 7.0, 6.0])).linkage()
        array([[ 0.,  1.,  5.,  2.],
               [ 2.,  4.,  6.,  3.],
               [ 3.,  5., inf,  4.]])
        """
        from mst.kernels.primitives.radix import argsort
        from mst.kernels.proof.dendrogram import write_linkage
        from mst.order import keys

        n = self.graph.n
        if n == 0:
            raise InputError("a graph without vertices has no hierarchy")
        u, v, w = self.edges()
        ranked = argsort(keys(w))
        hierarchy = np.empty((n - 1, 4))
        parent, clusters = np.empty(n, u.dtype), np.empty((n, 2), np.int64)
        write_linkage(u[ranked], v[ranked], w[ranked], parent, clusters, hierarchy)
        return hierarchy

    @property
    def digest(self) -> str:
        """SHA-256 of the edge ids as little-endian int64: equal digests are equal forests."""
        return digest(self.edge_ids)


def _distinct_rows(edge_ids: Any, graph: Graph) -> np.ndarray:
    """Return edge ids ascending, as int64; refuse ids that cannot be a forest's, without reading its edges."""
    try:
        ids = np.asarray(edge_ids)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"edge_ids is not an array of integers: {error}") from error
    if ids.ndim != 1 or np.ma.is_masked(edge_ids) or (ids.size and ids.dtype.kind not in "iu"):
        raise InputError(f"edge_ids must be integers in one dimension, got {ids.dtype} of shape {ids.shape}")
    ids = np.sort(ids)
    for edge in ids[[0, -1]].tolist() if ids.size else ():
        if not 0 <= edge < graph.m:
            raise InputError(f"{edge} is not an edge: ids run from 0 to {graph.m - 1}")
    ids = ids.astype(np.int64, copy=False)
    if (ids[1:] == ids[:-1]).any():
        twice = int(ids[np.argmax(ids[1:] == ids[:-1])])
        raise InputError(f"edge {twice} occurs more than once")
    if len(ids) >= max(graph.n, 1):
        raise InputError(f"{len(ids)} edges close a cycle among {graph.n} vertices")
    return ids


def _node_names(nodes: Iterable[Hashable]) -> list[Hashable]:
    """Return the names of vertices in their order; refuse those that networkx cannot take."""
    if isinstance(nodes, Mapping | Set):
        remedy = "list(nodes.values()), if its keys are 0, 1, …" if isinstance(nodes, Mapping) else "a list"
        raise InputError(f"a {type(nodes).__name__} does not say which node is vertex 0: give {remedy}")
    try:
        names = list(nodes)
        hash(tuple(names))
    except TypeError as error:
        raise InputError(f"nodes must be names that networkx can take: {error}") from error
    if None in names:
        raise InputError(f"nodes[{names.index(None)}] is None, which networkx does not take for a node")
    return names


def digest(edge_ids: np.ndarray) -> str:
    """Return the SHA-256 of sorted edge ids, as little-endian int64.

    Parameters
    ----------
    edge_ids : numpy.ndarray of int, shape (k,)
        In any order.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.forest import digest
    >>> digest(np.array([2, 1])) == digest(np.array([1, 2]))
    True
    """
    ids = np.sort(np.asarray(edge_ids)).astype("<i8", copy=False)
    return hashlib.sha256(np.ascontiguousarray(ids).data).hexdigest()
