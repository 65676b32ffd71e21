"""The minimum spanning forest: sorted edge ids, total weight, component count."""

from __future__ import annotations

import copyreg
import hashlib
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from dataclasses import InitVar, dataclass, field
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mst.cores import MANY, cores_for, usable_width
from mst.errors import InputError, UnsupportedError, names_missing, names_missing_numba
from mst.graph import Graph, LabelledGraph, column
from mst.order import total
from mst.units import counted

if TYPE_CHECKING:
    import networkx
    import pyarrow
    from scipy.sparse import csr_array

    from mst.tree import MergeTree

_SPARSE = 1024
"""Edge ids are sorted by comparison if a bitmap of all edges would take more bits than this per id."""

_FEW_OF_64_BITS = 1 << 16
"""Fewer 64-bit ids, such as NumPy's Borůvka returns, are sorted by NumPy: compiling a kernel for them takes
thousands of times as long."""

_FEWEST_TO_SHARE = 3
"""Fewest threads that sort ids together: in parallel, sorting takes twice the work, so two threads gain nothing."""

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (4, 8)}


@dataclass(frozen=True, eq=False)
class Forest:
    """A spanning forest of a graph, as edge ids.

    Attributes
    ----------
    graph : Graph
        The graph that the forest spans.
    edge_ids : numpy.ndarray of int64, shape (n - components,)
        Rows of the graph's edge list, ascending.
    algorithm : str
        Id of the algorithm that found the forest.
    seconds : dict of str to float
        Wall time of each stage in seconds: ``init``, ``transfer`` and ``compute``. Compiling (once per machine) and
        loading machine code are not included; if there was any, its time is ``code``.
    exact : bool
        Whether the weight is minimum (or maximum); False for an approximate forest.
    maximum : bool
        Whether this is a maximum spanning forest instead of a minimum one.
    threads : int
        Threads for checking, sorting and adding up many edges, at most the number of usable cores; not pickled.
    trusted : bool
        Skip all checks: the edge ids are known to form a forest and to be ascending int64. Not stored.

    Raises
    ------
    InputError
        `graph` is not a `Graph`, or `edge_ids` are not distinct rows of its edge list or too many for a forest.
    InputError, UnsupportedError
        `threads` is less than 1, or above the number of usable cores.

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
    exact: bool = True
    maximum: bool = False
    _tree: MergeTree | None = field(default=None, init=False, repr=False)
    threads: int = 1
    trusted: InitVar[bool] = False

    def __post_init__(self, trusted: bool) -> None:
        if not isinstance(self.graph, Graph):
            raise InputError(f"the graph of a forest must be a Graph, got {type(self.graph).__name__}")
        object.__setattr__(self, "threads", cores_for(self.threads))
        ids = self.edge_ids if trusted else _distinct_rows(self.edge_ids, self.graph, self.threads)
        ids.setflags(write=False)
        object.__setattr__(self, "edge_ids", ids)

    def __reduce__(self) -> tuple:
        """Pickle without the cached arrays of queries."""
        fields = (self.graph, self.edge_ids, self.algorithm, self.seconds, self.exact, self.maximum)
        return Forest, fields

    def __len__(self) -> int:
        return len(self.edge_ids)

    def __repr__(self) -> str:
        kind = "Forest" if self.exact else "Approximate forest:"
        kind = f"Maximum {kind.lower()}" if self.maximum else kind
        edges, components = counted(len(self), "edge"), counted(self.components, "component")
        return f"<{kind} {edges}, weight {self.weight}, {components}>"

    @cached_property
    @names_missing_numba
    def weight(self) -> int | float:
        """Total weight: an exact int for integer weights, the correctly rounded sum for floats."""
        return total(self.graph.w, self.edge_ids, threads=min(self.threads, usable_width()))

    @property
    def n(self) -> int:
        """Number of vertices."""
        return self.graph.n

    @property
    def m(self) -> int:
        """Number of edges of the graph; ``len(forest)`` is the number of edges of the forest."""
        return self.graph.m

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

    @names_missing("scipy")
    def to_scipy(self) -> csr_array:
        """Return the forest as a SciPy sparse array, as `scipy.sparse.csgraph.minimum_spanning_tree` does.

        Returns
        -------
        scipy.sparse.csr_array, shape (n, n), of the weights' dtype
            One entry per edge of the forest, in row u and column v as in the graph's edge list, with sorted indices.
            An edge of weight zero is an explicitly stored zero, which ``eliminate_zeros()`` would drop.

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

    @names_missing("networkx")
    def to_networkx(self, nodes: Iterable[Hashable] | None = None, *, weight: str = "weight") -> networkx.Graph:
        """Return the forest as a networkx graph, isolated vertices included.

        Parameters
        ----------
        nodes : iterable of hashable, length n, optional
            Names of the vertices, in the order of their ids. By default, the nodes of the networkx graph, the labels in
            the table, or the ids in the file that the graph came from; otherwise, vertex i is named i.
        weight : str
            The edge attribute for the weight, a Python number; the attribute ``id`` holds the edge id.

        Returns
        -------
        networkx.Graph

        Raises
        ------
        InputError
            `nodes` does not have one name for each vertex, is unordered, or has duplicates; or `weight` is ``"id"`` or
            not a string.

        Examples
        --------
        >>> import mst
        >>> forest = mst.minimum_spanning_forest((3, [0, 2, 2], [1, 1, 0], [5, 7, 6]))
        >>> list(forest.to_networkx("abc").edges(data=True))
        [('a', 'b', {'weight': 5, 'id': 0}), ('a', 'c', {'weight': 6, 'id': 2})]
        """
        import networkx

        if not isinstance(weight, str) or weight == "id":
            raise InputError(
                f"the name of the weight attribute must be a string other than 'id', got {weight!r}"
            )
        if nodes is None and isinstance(self.graph, LabelledGraph):
            nodes = self.graph.labels
        names = range(self.graph.n) if nodes is None else _node_names(nodes)
        if len(names) != self.graph.n:
            raise InputError(f"nodes has {len(names)} names for {self.graph.n} vertices")
        u, v, w = (array.tolist() for array in self.edges())
        tree = networkx.Graph()
        tree.add_nodes_from(names)
        if len(tree) != self.graph.n:
            raise InputError(f"nodes has only {len(tree)} different names for {self.graph.n} vertices")
        tree.add_edges_from(
            (names[a], names[b], {weight: x, "id": e}) for a, b, x, e in zip(u, v, w, self.edge_ids.tolist())
        )
        return tree

    def to_table(self) -> pyarrow.Table:
        """Return the forest's edges as an Arrow table, which pandas and Polars can read.

        Returns
        -------
        pyarrow.Table
            Columns ``u``, ``v``, ``w`` and ``id`` (the edge ids, ascending). Ends are named as in `to_networkx`; if
            the names are consecutive integers, ``n`` in the schema's metadata is one more than the largest.

        Raises
        ------
        UnsupportedError
            Arrow has no type for the labels.

        Examples
        --------
        >>> import mst
        >>> mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6])).to_table().to_pydict()
        {'u': [0, 2], 'v': [1, 0], 'w': [5, 6], 'id': [0, 2]}
        """
        import pyarrow

        columns = dict(zip("uvw", self.edges()), id=self.edge_ids)
        given: Any = getattr(self.graph, "labels", range(self.graph.n))
        if isinstance(given, range):
            if given.start:
                stored = np.int32 if given.stop <= 2**31 else np.int64
                columns |= {end: columns[end].astype(stored, copy=False) + given.start for end in "uv"}
            return pyarrow.table(columns, metadata={"n": str(given.stop)})
        try:
            labels = pyarrow.array(given)
            # Arrow may change labels: it converts mixed types to one, such as "a" to b"a", and drops nanoseconds and
            # the time zones of times of day.
            may_differ = len(set(map(type, given))) > 1 or pyarrow.types.is_temporal(labels.type)
            if may_differ and labels.to_pylist() != given:
                raise TypeError(f"they would all become {labels.type}")
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise UnsupportedError(
                f"Arrow has no type for these labels: {error}; use forest.edges() and forest.graph.labels instead"
            ) from error
        return pyarrow.table(columns | {end: labels.take(columns[end]) for end in "uv"})

    def linkage(self, *, threads: int | None = None) -> np.ndarray:
        """Return the single-linkage hierarchy of the vertices, in SciPy's format.

        Removing all edges heavier than some height from a minimum spanning forest leaves the single-linkage clusters at
        that height (Gower and Ross, *Minimum spanning trees and single linkage cluster analysis*, 1969). So this is
        `scipy.cluster.hierarchy.linkage` for the distances along the edges of any graph. O(n log n) time.

        Parameters
        ----------
        threads : int, optional
            Cores that may be used if the forest is large (default: all).

        Returns
        -------
        numpy.ndarray of float64, shape (n - 1, 4)
            Row i merges the clusters in the first two columns, smaller id first, into cluster n + i. The third column
            is the height of the merge, the weight of an edge; the fourth is the number of vertices in the new
            cluster. Rows ascend by (weight, edge id). Vertices that no path joins are infinitely far apart: the last
            rows merge the trees of the forest at height infinity, so ``fcluster(Z, t, "distance")`` keeps them apart
            for every finite ``t``.

        Raises
        ------
        InputError
            The graph has no vertices. (With one vertex, the result has shape (0, 4), which SciPy does not accept.)
        InputError, UnsupportedError
            `threads` is less than 1, or above the number of usable cores.

        Examples
        --------
        >>> import mst
        >>> mst.minimum_spanning_forest((4, [0, 1, 2], [1, 2, 0], [5.0, 7.0, 6.0])).linkage()
        array([[ 0.,  1.,  5.,  2.],
               [ 2.,  4.,  6.,  3.],
               [ 3.,  5., inf,  4.]])
        """
        return self._merges(threads).linkage(threads)

    def labels(
        self, *, k: int | None = None, threshold: float | None = None, threads: int | None = None
    ) -> np.ndarray:
        """Return the clusters that remain when the heaviest edges of the forest are removed.

        Parameters
        ----------
        k : int, optional
            The number of clusters, from `components` to n. Among equal weights, larger edge ids are removed first.
        threshold : float, optional
            The largest weight of an edge that is kept, as in SciPy's ``fcluster(linkage, threshold, "distance")``. Give
            either this or `k`.
        threads : int, optional
            Cores that may be used if the forest is large (default: all).

        Returns
        -------
        numpy.ndarray of int64, shape (n,)
            The cluster of each vertex. Clusters are numbered from 0 in the order of their smallest vertices.

        Raises
        ------
        InputError
            Both `k` and `threshold` are given, or neither; or `k` clusters are impossible.
        InputError, UnsupportedError
            `threads` is less than 1, or above the number of usable cores.

        Examples
        --------
        >>> import mst
        >>> forest = mst.minimum_spanning_forest((4, [0, 1, 2], [1, 2, 3], [5, 9, 6]))
        >>> forest.labels(k=2).tolist(), forest.labels(threshold=5).tolist()
        ([0, 0, 1, 1], [0, 0, 1, 2])
        """
        return self._merges(threads).labels(k, threshold)

    def bottleneck(self, x: Any, y: Any, *, threads: int | None = None) -> np.ndarray:
        """Return the bottleneck (minimax) distance of pairs of vertices.

        The bottleneck distance of two vertices is the smallest possible maximum weight of a path between them: the
        largest weight on their path in a minimum spanning forest, and their cophenetic distance in single linkage.
        O(log n) time per pair.

        Parameters
        ----------
        x, y : array_like of int
            Vertices, of shapes that broadcast.
        threads : int, optional
            Cores that may be used if there are many pairs (default: all).

        Returns
        -------
        numpy.ndarray of float64, of the shape of the pairs
            Infinity if no path joins the two vertices, and 0 from a vertex to itself. If the weights are int64, float64
            may round them; `bottleneck_edges` leads to the exact ones.

        Raises
        ------
        InputError
            `x` or `y` holds a value that is not a vertex, the shapes do not broadcast, or `threads` is less than 1.
        UnsupportedError
            `threads` is above the number of usable cores.

        Examples
        --------
        >>> import mst
        >>> forest = mst.minimum_spanning_forest((5, [0, 1, 2], [1, 2, 3], [5, 9, 6]))
        >>> forest.bottleneck([0, 2, 0, 1], [3, 3, 4, 1]).tolist()
        [9.0, 6.0, inf, 0.0]
        """
        return self._merges(threads).bottleneck(x, y, threads)

    def bottleneck_edges(self, x: Any, y: Any, *, threads: int | None = None) -> np.ndarray:
        """Return the heaviest edge on the path between each pair of vertices, by (weight, edge id).

        Parameters
        ----------
        x, y, threads
            As for `bottleneck`.

        Returns
        -------
        numpy.ndarray of int64, of the shape of the pairs
            Edge ids; -1 if no path joins the two vertices, and from a vertex to itself.

        Raises
        ------
        InputError, UnsupportedError
            As for `bottleneck`.

        Examples
        --------
        >>> import mst
        >>> forest = mst.minimum_spanning_forest((5, [0, 1, 2], [1, 2, 3], [5, 9, 6]))
        >>> forest.bottleneck_edges(0, [1, 2, 3, 4]).tolist()
        [0, 1, 1, -1]
        """
        return self._merges(threads).bottleneck_edges(x, y, threads)

    def paths(self, x: Any, y: Any, *, threads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the paths between pairs of vertices.

        Parameters
        ----------
        x, y : array_like of int
            Vertices, of shapes that broadcast to k pairs.
        threads : int, optional
            Cores that may be used if the forest is large (default: all).

        Returns
        -------
        edge_ids : numpy.ndarray of int64
            The edges of all paths. The path from ``x[i]`` to ``y[i]`` is ``edge_ids[offsets[i] : offsets[i + 1]]``,
            which is empty if no path exists or the two are the same vertex.
        offsets : numpy.ndarray of int64, shape (k + 1,)

        Raises
        ------
        InputError, UnsupportedError
            As for `bottleneck`.

        Examples
        --------
        >>> import mst
        >>> forest = mst.minimum_spanning_forest((5, [0, 1, 2], [1, 2, 3], [5, 9, 6]))
        >>> edge_ids, offsets = forest.paths([3, 0], [0, 4])
        >>> edge_ids.tolist(), offsets.tolist()
        ([2, 1, 0], [0, 3, 3])
        """
        return self._merges(threads).paths(x, y, threads)

    def is_unique(self, *, threads: int | None = None) -> bool:
        """Return whether every other spanning forest of the graph is heavier.

        That is false if an edge outside the forest weighs as much as the heaviest edge on the path between its ends.
        O(m log n) time.

        Parameters
        ----------
        threads : int, optional
            Cores that may be used if there are many edges (default: all).

        Raises
        ------
        InputError, UnsupportedError
            `threads` is less than 1, or above the number of usable cores.

        Examples
        --------
        >>> import mst
        >>> mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6])).is_unique()
        True
        >>> mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 7])).is_unique()
        False
        """
        return self._merges(threads).is_unique(threads)

    def add_edges(self, u: Any, v: Any, w: Any) -> Forest:
        """Return the minimum spanning forest of the graph with added edges, without solving it from scratch.

        Parameters
        ----------
        u, v : array_like of int, shape (q,)
            Ends of the new edges: vertices of the graph.
        w : array_like, shape (q,)
            Their weights, which the dtype of the graph's weights must represent exactly.

        Returns
        -------
        Forest
            The forest of a graph whose last rows are the new edges; existing edges keep their ids. Finding the
            edges to exchange takes O(q log² n) time, copying the graph O(n + m).

        Raises
        ------
        InputError
            The edges are invalid (see `Graph`), or the dtype does not represent a weight exactly.

        Examples
        --------
        >>> import mst
        >>> forest = mst.minimum_spanning_forest((4, [0, 1, 2], [1, 2, 3], [5, 9, 6]))
        >>> larger = forest.add_edges([0, 1], [3, 3], [7, 8])
        >>> larger.edge_ids.tolist(), larger.weight
        ([0, 2, 3], 18)
        """
        graph, edge_ids = self._merges(None).add_edges(u, v, w)
        return Forest(graph, edge_ids, algorithm=self.algorithm, exact=self.exact)

    @names_missing_numba
    def _merges(self, threads: int | None) -> MergeTree:
        """Return the tree of merges, which the first query builds with its threads and keeps."""
        from mst.tree import MergeTree

        width = cores_for(threads)
        if self.maximum:
            raise UnsupportedError(
                "clusters, bottlenecks and paths need a minimum spanning forest: negate the weights"
            )
        tree = self._tree
        if tree is None:
            tree = MergeTree(self.graph, self.edge_ids, width)
            object.__setattr__(self, "_tree", tree)
        return tree

    @property
    def digest(self) -> str:
        """SHA-256 of the edge ids as little-endian int64: two forests of a graph are equal if their digests are."""
        return digest(self.edge_ids)


def _reduced(graph: Graph) -> tuple:
    """Pickle the edge list alone; unpickling makes its arrays read-only again, as kernels require."""
    vertices = graph.labels if isinstance(graph, LabelledGraph) else graph.n
    made = partial(type(graph), name=graph.name, trusted=True)
    return made, (vertices, graph.u, graph.v, graph.w)


# Not methods of `Graph`, since fingerprints of algorithms cover the class.
copyreg.pickle(Graph, _reduced)
copyreg.pickle(LabelledGraph, _reduced)


def _distinct_rows(edge_ids: Any, graph: Graph, threads: int) -> np.ndarray:
    """Return edge ids ascending, as int64; raise `InputError` if they are not distinct rows or too many."""
    ids = id_column(edge_ids)
    rows = _by_bitmap(ids, graph.m, threads)
    if rows is None:
        rows = ids.copy()
        rows.sort()
        if fault := fault_of(rows, graph.m):
            raise InputError(fault[0])
        rows = rows.astype(np.int64, copy=False)
    if len(rows) >= max(graph.n, 1):
        raise InputError(f"{len(rows)} edges close a cycle among {graph.n} vertices")
    return rows


def id_column(edge_ids: Any) -> np.ndarray:
    """Return edge ids as an array of integers, shape (k,), or raise `InputError`; the values are not checked."""
    ids = column(edge_ids, "edge_ids")
    if ids.size and ids.dtype.kind not in "iu":
        raise InputError(f"edge_ids must hold integers, got dtype {ids.dtype}")
    return ids


def fault_of(ids: np.ndarray, m: int) -> tuple[str, int] | None:
    """Return why ascending ids are not distinct rows of `m` edges, and the id at fault; None if they are."""
    for edge in (ids.item(0), ids.item(-1)) if ids.size else ():
        if not 0 <= edge < m:
            return f"{edge} is not an edge: ids run from 0 to {m - 1}", edge
    same = ids[1:] == ids[:-1]
    if np.count_nonzero(same):
        edge = ids.item(same.argmax())
        return f"edge {edge} occurs more than once", edge
    return None


def _by_bitmap(ids: np.ndarray, m: int, threads: int) -> np.ndarray | None:
    """Return edge ids ascending, as int64; None if they are not distinct rows of `m` edges, or sorting is faster."""
    # Loading numba takes longer than sorting; an algorithm that needs numba has loaded it, with the kernel for 32 bits.
    if not 0 < len(ids) <= m <= _SPARSE * len(ids) or "mst.kernels.primitives.jit" not in sys.modules:
        return None
    if ids.itemsize < 4 or not ids.dtype.isnative or (ids.itemsize == 8 and len(ids) < _FEW_OF_64_BITS):
        return None
    words = np.ascontiguousarray(ids).view(_UNSIGNED[ids.itemsize])  # negative ids are then the largest
    if len(ids) >= MANY and threads >= _FEWEST_TO_SHARE:
        from mst.kernels.parallel.ascending import ascending as ascending_by_threads
        from mst.kernels.parallel.extremes import largest
        from mst.kernels.parallel.runtime import workers

        words.setflags(write=False)
        if largest(words, np.iinfo(words.dtype).max, threads) >= m:
            return None
        with workers(threads):
            rows, different = ascending_by_threads(words, m, threads)
    else:
        rows, different = _ascending()(words, m)
    return rows if different == len(ids) else None


@cache  # a statement that imports takes longer than sorting a few ids
def _ascending() -> Callable[[np.ndarray, int], tuple[np.ndarray, int]]:
    from mst.kernels.primitives.ascending import ascending

    return ascending


def _node_names(nodes: Iterable[Hashable]) -> list[Hashable]:
    """Return names of vertices as a list; raise `InputError` if they have no order or networkx does not accept them."""
    if isinstance(nodes, Mapping | Set):
        remedy = "list(nodes.values()), if its keys are 0, 1, …" if isinstance(nodes, Mapping) else "a list"
        raise InputError(f"a {type(nodes).__name__} does not say which node is vertex 0: give {remedy}")
    try:
        names = list(nodes)
        hash(tuple(names))
    except TypeError as error:
        raise InputError(f"nodes must be names that networkx accepts: {error}") from error
    if None in names:
        raise InputError(f"nodes[{names.index(None)}] is None, which networkx does not accept as a node")
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
