"""The minimum spanning forest: sorted edge ids, total weight, component count."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

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
        ids = np.sort(np.asarray(self.edge_ids).astype(np.int64, copy=False))
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

    def to_networkx(self, nodes: Sequence[Hashable] | None = None, *, weight: str = "weight") -> networkx.Graph:
        """Return the forest as a networkx graph, isolated vertices included.

        Parameters
        ----------
        nodes : sequence of hashable, length n, optional
            Names of the vertices: ``list(graph)`` where the graph came from the networkx graph ``graph``.
            By default vertex i is named i.
        weight : str
            The edge attribute that holds the weight, a Python number; ``id`` holds the edge id.

        Raises
        ------
        InputError
            `nodes` is not as long as there are vertices, or gives two of them the same name.

        Examples
        --------
        >>> import mst
        >>> forest = mst.minimum_spanning_forest((3, [0, 2, 2], [1, 1, 0], [5, 7, 6]))
        >>> list(forest.to_networkx("abc").edges(data=True))
        [('a', 'b', {'weight': 5, 'id': 0}), ('a', 'c', {'weight': 6, 'id': 2})]
        """
        import networkx

        names = range(self.graph.n) if nodes is None else nodes
        if len(names) != self.graph.n:
            raise InputError(f"{len(names)} nodes were given to name {self.graph.n} vertices")
        u, v, w = (array.tolist() for array in self.edges())
        tree = networkx.Graph()
        tree.add_nodes_from(names)
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
