"""NetworkX's spanning-forest functions, computed here: ``nx.minimum_spanning_tree(G, backend="mst")``.

If networkx is installed, this package is one of its backends. The functions take and return networkx graphs and
break ties like networkx's Kruskal, by the order of ``G.edges``, for every value of ``algorithm``.

``nx.config.backends.mst.threads = 4`` limits it to four cores, and ``nx.config.backends.mst.gpu = True`` makes it solve
on a GPU. Most of the time is spent, on one core, reading a networkx graph's dictionaries and writing the forest's.

Examples
--------
>>> import networkx as nx
>>> G = nx.cycle_graph(4)
>>> G.add_edge(0, 3, weight=2)
>>> sorted(nx.minimum_spanning_tree(G, backend="mst").edges)
[(0, 1), (1, 2), (2, 3)]
"""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, compress, pairwise
from typing import Any, NamedTuple

import numpy as np

from mst.errors import InputError

ALGORITHMS = ("kruskal", "prim", "boruvka", "borůvka")
FUNCTIONS = (
    "minimum_spanning_edges",
    "maximum_spanning_edges",
    "minimum_spanning_tree",
    "maximum_spanning_tree",
    "kruskal_mst_edges",
    "partition_spanning_tree",
)


class ChoiceError(InputError, ValueError):
    """A value that networkx refuses with a ValueError."""


class KindError(InputError, TypeError):
    """An argument of a type that networkx refuses with a TypeError."""


def get_info() -> dict[str, Any]:
    """Return the description of this backend that networkx shows."""
    return {
        "backend_name": "mst",
        "project": "mst",
        "package": "mst",
        "short_summary": "Minimum and maximum spanning forests on all cores, or on a GPU.",
        "functions": {name: {} for name in FUNCTIONS},
        "default_config": {"threads": None, "gpu": False},
    }


class BackendGraph:
    """A networkx graph as networkx passes it to this backend: the graph itself, without a copy."""

    __networkx_backend__ = "mst"

    def __init__(self, graph: Any):
        self.graph = graph

    def is_directed(self) -> bool:
        """Return whether the graph is directed; networkx checks it before a call."""
        return self.graph.is_directed()

    def is_multigraph(self) -> bool:
        """Return whether the graph is a multigraph."""
        return self.graph.is_multigraph()


def convert_from_nx(graph: Any, **_: Any) -> BackendGraph:
    """Wrap a networkx graph."""
    return BackendGraph(graph)


def convert_to_nx(result: Any, **_: Any) -> Any:
    """Return results in networkx's types."""
    return result.graph if isinstance(result, BackendGraph) else result


def minimum_spanning_edges(
    G: BackendGraph,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple]:
    """Generate the edges of a minimum spanning forest by weight, as `networkx.minimum_spanning_edges` does.

    Parameters
    ----------
    G : BackendGraph
        A graph as networkx passes it: `convert_from_nx` wraps it.
    algorithm : str
        One of `ALGORITHMS`, which all give the same edges.
    weight : str
        The edge attribute with the weights, numbers of any ordered type; edges without it weigh 1.
    keys, data : bool
        Whether edges come with their keys, in a multigraph, and with their attributes.
    ignore_nan : bool
        Whether edges of weight NaN are skipped.

    Returns
    -------
    iterator of tuple

    Raises
    ------
    ValueError
        No such algorithm; or, once the first edge is generated, a weight is NaN and `ignore_nan` is not set: a
        `ChoiceError`.
    TypeError
        Not a networkx graph, or weights without an order: a `KindError`.
    networkx.NetworkXNotImplemented
        A directed graph; or Borůvka's algorithm on a multigraph: networkx has neither.

    Examples
    --------
    >>> import networkx as nx
    >>> G = nx.Graph()
    >>> G.add_weighted_edges_from([("a", "b", 1.5), ("b", "c", 2.5), ("a", "c", 0.5)])
    >>> list(nx.minimum_spanning_edges(G, data=False, backend="mst"))
    [('a', 'c'), ('a', 'b')]
    """
    return _spanning_edges(_unwrapped(G), algorithm, weight, keys, data, ignore_nan, minimum=True)


def maximum_spanning_edges(
    G: BackendGraph,
    algorithm: str = "kruskal",
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
) -> Iterator[tuple]:
    """Generate the edges of a maximum spanning forest by weight, as `networkx.maximum_spanning_edges` does.

    Parameters
    ----------
    G, algorithm, weight, keys, data, ignore_nan
        As for `minimum_spanning_edges`.

    Returns
    -------
    iterator of tuple
        The heaviest first.

    Raises
    ------
    ValueError, TypeError, networkx.NetworkXNotImplemented
        As for `minimum_spanning_edges`.

    Examples
    --------
    >>> import networkx as nx
    >>> G = nx.Graph()
    >>> G.add_weighted_edges_from([("a", "b", 1.5), ("b", "c", 2.5), ("a", "c", 0.5)])
    >>> list(nx.maximum_spanning_edges(G, data=False, backend="mst"))
    [('b', 'c'), ('a', 'b')]
    """
    return _spanning_edges(_unwrapped(G), algorithm, weight, keys, data, ignore_nan, minimum=False)


def minimum_spanning_tree(
    G: BackendGraph, weight: str = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    """Return a minimum spanning forest as a graph, as `networkx.minimum_spanning_tree` does.

    Parameters
    ----------
    G, weight, algorithm, ignore_nan
        As for `minimum_spanning_edges`.

    Returns
    -------
    networkx.Graph
        Of the class of the graph, with all of its nodes and their attributes, and the attributes of the edges kept.

    Raises
    ------
    ValueError, TypeError, networkx.NetworkXNotImplemented
        As for `minimum_spanning_edges`.

    Examples
    --------
    >>> import networkx as nx
    >>> G = nx.Graph()
    >>> G.add_weighted_edges_from([("a", "b", 1.5), ("b", "c", 2.5), ("a", "c", 0.5)])
    >>> nx.minimum_spanning_tree(G, backend="mst").size("weight")
    2.0
    """
    return _forest_graph(_unwrapped(G), minimum_spanning_edges(G, algorithm, weight, ignore_nan=ignore_nan))


def maximum_spanning_tree(
    G: BackendGraph, weight: str = "weight", algorithm: str = "kruskal", ignore_nan: bool = False
) -> Any:
    """Return a maximum spanning forest as a graph, as `networkx.maximum_spanning_tree` does.

    Parameters
    ----------
    G, weight, algorithm, ignore_nan
        As for `minimum_spanning_edges`.

    Returns
    -------
    networkx.Graph
        Of the class of the graph, with all of its nodes and their attributes, and the attributes of the edges kept.

    Raises
    ------
    ValueError, TypeError, networkx.NetworkXNotImplemented
        As for `minimum_spanning_edges`.

    Examples
    --------
    >>> import networkx as nx
    >>> G = nx.Graph()
    >>> G.add_weighted_edges_from([("a", "b", 1.5), ("b", "c", 2.5), ("a", "c", 0.5)])
    >>> nx.maximum_spanning_tree(G, backend="mst").size("weight")
    4.0
    """
    return _forest_graph(_unwrapped(G), maximum_spanning_edges(G, algorithm, weight, ignore_nan=ignore_nan))


def kruskal_mst_edges(
    G: BackendGraph,
    minimum: bool,
    weight: str = "weight",
    keys: bool = True,
    data: bool = True,
    ignore_nan: bool = False,
    partition: str | None = None,
) -> Iterator[tuple]:
    """Generate the edges that `networkx.algorithms.tree.mst.kruskal_mst_edges` does.

    Parameters
    ----------
    G, weight, keys, data, ignore_nan
        As for `minimum_spanning_edges`.
    minimum : bool
        Whether the forest is a minimum or a maximum one.
    partition : str, optional
        The edge attribute that holds a `networkx.EdgePartition`: included edges come first, excluded ones not at all.

    Returns
    -------
    iterator of tuple

    Raises
    ------
    ValueError, TypeError
        As for `minimum_spanning_edges`.

    Examples
    --------
    >>> import networkx as nx
    >>> from networkx.algorithms.tree.mst import kruskal_mst_edges
    >>> G = nx.Graph()
    >>> G.add_weighted_edges_from([("a", "b", 1.5), ("b", "c", 2.5), ("a", "c", 0.5)])
    >>> G.edges["a", "c"]["part"] = nx.EdgePartition.EXCLUDED
    >>> list(kruskal_mst_edges(G, True, data=False, partition="part", backend="mst"))
    [('a', 'b'), ('b', 'c')]
    """
    return _edges_by_weight(_unwrapped(G), weight, keys, data, ignore_nan, minimum, partition)


def partition_spanning_tree(
    G: BackendGraph,
    minimum: bool = True,
    weight: str = "weight",
    partition: str = "partition",
    ignore_nan: bool = False,
) -> Any:
    """Return a spanning forest with all included and no excluded edges, as `networkx.partition_spanning_tree` does.

    Parameters
    ----------
    G, minimum, weight, partition, ignore_nan
        As for `kruskal_mst_edges`.

    Returns
    -------
    networkx.Graph
        As for `minimum_spanning_tree`.

    Raises
    ------
    ValueError, TypeError
        As for `minimum_spanning_edges`.

    Examples
    --------
    >>> import networkx as nx
    >>> G = nx.cycle_graph(3)
    >>> G.edges[1, 2]["partition"] = nx.EdgePartition.INCLUDED
    >>> sorted(nx.partition_spanning_tree(G, backend="mst").edges)
    [(0, 1), (1, 2)]
    """
    edges = kruskal_mst_edges(G, minimum, weight, ignore_nan=ignore_nan, partition=partition)
    return _forest_graph(_unwrapped(G), edges)


def _unwrapped(G: Any) -> Any:
    """Return the networkx graph that networkx, or a direct call, hands over."""
    graph = G.graph if isinstance(G, BackendGraph) else G
    if not (hasattr(graph, "is_multigraph") and hasattr(graph, "adjacency")):
        raise KindError(f"{type(G).__name__} is not a networkx graph")
    # networkx keeps the graphs that a backend has converted, and warns at the next call that they may be out of date:
    # this one holds the graph itself.
    if kept := getattr(graph, "__networkx_cache__", None):
        kept.get("backends", {}).pop("mst", None)
    return graph


def _forest_graph(graph: Any, edges: Iterator[tuple]) -> Any:
    import networkx

    forest = graph.__class__()
    forest.graph.update(graph.graph)
    if type(graph) is not networkx.Graph:
        forest.add_nodes_from(graph.nodes.items())
        forest.add_edges_from(edges)
        return forest
    # As these two do for a graph that has nothing yet, in a third of the time.
    nodes, rows = forest._node, forest._adj
    for node, attributes in graph.nodes(data=True):
        nodes[node], rows[node] = attributes.copy(), {}
    for a, b, attributes in edges:
        rows[a][b] = rows[b][a] = attributes.copy()
    return forest


def _spanning_edges(
    graph: Any, algorithm: str, weight: str, keys: bool, data: bool, ignore_nan: bool, *, minimum: bool
) -> Iterator[tuple]:
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        # The message is networkx's: its tests match it.
        known = ", ".join(ALGORITHMS)
        raise ChoiceError(f"{algorithm} is not a valid choice for an algorithm. Choose one of: {known}")
    is_directed = graph.is_directed()
    if is_directed or (graph.is_multigraph() and algorithm.startswith("bor")):
        from networkx import NetworkXNotImplemented

        # So that code behaves as it does without this backend.
        raise NetworkXNotImplemented(
            "spanning trees of directed graphs are not implemented: use G.to_undirected()"
            if is_directed
            else "networkx's Borůvka is not implemented for multigraphs"
        )
    return _edges_by_weight(graph, weight, keys, data, ignore_nan, minimum)


def _edges_by_weight(
    graph: Any,
    weight: str,
    keys: bool,
    data: bool,
    ignore_nan: bool,
    minimum: bool,
    partition: str | None = None,
) -> Iterator[tuple]:
    """Generate the edges of a forest; nothing is checked before the first of them, as in networkx."""
    import mst

    edges, weights = _weighed(_edges_of(graph), weight, ignore_nan)
    if not minimum:
        weights = -weights if weights.dtype.kind == "f" else ~weights
    if partition is not None:
        edges, weights = _partitioned(edges, weights, partition)
    graph_of_arrays = mst.Graph(len(edges.nodes), edges.u, edges.v, weights, trusted=True)
    ids = mst.minimum_spanning_forest(graph_of_arrays, **_configured()).edge_ids
    ids = ids[weights[ids].argsort(kind="stable")]
    rows = ids.tolist()
    columns: list[Iterable] = [
        map(edges.nodes.__getitem__, edges.u[ids].tolist()),
        map(edges.nodes.__getitem__, edges.v[ids].tolist()),
    ]
    if edges.keys is not None and keys:
        columns.append(map(edges.keys.__getitem__, rows))
    if data:
        columns.append(map(edges.data.__getitem__, rows))
    yield from zip(*columns)


def _weighed(edges: _Edges, weight: str, ignore_nan: bool) -> tuple[_Edges, np.ndarray]:
    """Return the edges that have a weight other than NaN, and their weights, or ranks of these, as an array."""
    if not isinstance(weight, Hashable):
        raise KindError(f"the name of the weight attribute must be hashable, got {type(weight).__name__}")
    values = [attributes.get(weight, 1) for attributes in edges.data]
    weights = _exact_array(values)
    # Only NaN differs from itself, in every type of number.
    if weights is None:
        _refuse_no_numbers(edges, values)
        numbers_only = np.fromiter((value == value for value in values), np.bool_, len(values))
    else:
        numbers_only = weights == weights
    if not numbers_only.all():
        if not ignore_nan:
            raise ChoiceError(f"NaN found as an edge weight. Edge {edges.edge(int(numbers_only.argmin()))}")
        edges, values = edges.where(numbers_only), list(compress(values, numbers_only.tolist()))
        weights = None if weights is None else weights[numbers_only]
    return edges, _ranks(values) if weights is None else weights


class _Edges(NamedTuple):
    """The edges of a networkx graph, in the order of ``graph.edges``.

    Attributes
    ----------
    nodes : sequence of hashable
    u, v : numpy.ndarray of int32
        The places of each edge's ends in `nodes`.
    keys : list or None
        Their keys in a multigraph.
    data : list of dict
        Their attributes.
    """

    nodes: Sequence[Hashable]
    u: np.ndarray
    v: np.ndarray
    keys: list | None
    data: list[dict]

    def edge(self, k: int) -> tuple:
        """Return an edge as ``graph.edges`` does, with its attributes."""
        key = () if self.keys is None else (self.keys[k],)
        return (self.nodes[self.u[k]], self.nodes[self.v[k]], *key, self.data[k])

    def where(self, kept: np.ndarray) -> _Edges:
        """Return the edges that are kept, a bool for each."""
        chosen = kept.tolist()
        keys = None if self.keys is None else list(compress(self.keys, chosen))
        return _Edges(self.nodes, self.u[kept], self.v[kept], keys, list(compress(self.data, chosen)))


def _edges_of(graph: Any) -> _Edges:
    """Return the edges of a graph: rows of its dictionaries are read as wholes, not edge by edge."""
    place: dict[Hashable, int] = {}
    rows: list[dict] = []
    for node, row in graph.adjacency():
        place[node] = len(rows)
        rows.append(row if type(row) is dict else dict(row))
    nodes = list(place)
    degrees = np.fromiter(map(len, rows), np.int64, len(rows))
    u = np.repeat(np.arange(len(rows), dtype=np.int32), degrees)
    v = np.fromiter(map(place.__getitem__, chain.from_iterable(rows)), np.int32, len(u))
    values: list[Any] = list(chain.from_iterable(row.values() for row in rows))
    if not graph.is_directed():
        # Both ends have the edge: it counts at the first.
        first = v >= u
        u, v, values = u[first], v[first], list(compress(values, first.tolist()))
    if not graph.is_multigraph():
        return _Edges(nodes, u, v, None, values)
    parallel = np.fromiter(map(len, values), np.int64, len(values))
    keys = list(chain.from_iterable(values))
    data = list(chain.from_iterable(by_key.values() for by_key in values))
    return _Edges(nodes, np.repeat(u, parallel), np.repeat(v, parallel), keys, data)


def _partitioned(edges: _Edges, weights: np.ndarray, partition: str) -> tuple[_Edges, np.ndarray]:
    """Return the edges that are not excluded, and ranks of their weights, with the included ones before all others."""
    from networkx import EdgePartition

    parts = [attributes.get(partition) for attributes in edges.data]
    kept = np.array([part != EdgePartition.EXCLUDED for part in parts], np.bool_)
    included = np.array([part == EdgePartition.INCLUDED for part in parts], np.bool_)
    ranks = np.unique(weights, return_inverse=True)[1]
    return edges.where(kept), np.where(included, -1, ranks)[kept]


def _configured() -> dict[str, Any]:
    """Return the algorithm and the threads that the backend's configuration names."""
    import networkx

    config = networkx.config.backends.mst
    return {"algorithm": "filter-boruvka-cuda"} if config.gpu else {"threads": config.threads}


def _refuse_no_numbers(edges: _Edges, values: list) -> None:
    """Raise `KindError` for the first weight that is not a real number, as networkx asks of it."""
    accepted = numbers.Real | Decimal | np.bool_
    if not all(issubclass(kind, accepted) for kind in set(map(type, values))):
        k = next(k for k, value in enumerate(values) if not isinstance(value, accepted))
        raise KindError(
            f"edge {edges.edge(k)[:-1]} must have a real number as its weight, got {type(values[k]).__name__}"
        )


_FLOATS = {float, np.float64}
_INTEGERS = {int, bool, np.int64, np.int32, np.bool_}


def _exact_array(values: list) -> np.ndarray | None:
    """Return the weights as an array where it holds each of them exactly, else None."""
    kinds = set(map(type, values))
    if not kinds <= _FLOATS | _INTEGERS:
        return None
    try:
        array = np.array(values, np.float64 if kinds & _FLOATS else np.int64)
    except OverflowError:
        return None
    mixed = kinds & _FLOATS and kinds & _INTEGERS
    return None if mixed and not (np.abs(array) < 2**53).all() else array


def _ranks(values: list) -> np.ndarray:
    """Return int32 ranks of weights of any ordered type, equal for equal weights, whose hashes may differ."""
    # Decimal compares with numbers of Python, but not with NumPy's integers; NumPy's booleans not with large integers.
    values = [value.item() if isinstance(value, np.integer | np.bool_) else value for value in values]
    try:
        ascending = sorted(range(len(values)), key=values.__getitem__)
        rises = [values[a] < values[b] for a, b in pairwise(ascending)]
    except TypeError as error:  # such as Decimal and np.longdouble
        raise KindError(f"the weights cannot be ordered: {error}") from error
    ranks = np.zeros(len(values), np.int32)
    ranks[ascending[1:]] = np.cumsum(rises)
    return ranks
