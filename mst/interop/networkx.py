"""NetworkX's spanning-forest functions, computed here: ``nx.minimum_spanning_tree(G, backend="mst")``.

Installed beside networkx, this package is one of its backends. The functions take and return networkx graphs and
break ties as networkx's Kruskal does, by the order of ``G.edges``, for every value of ``algorithm``.

``nx.config.backends.mst.threads = 4`` limits it to four cores, and ``nx.config.backends.mst.gpu = True`` has it solve
on a GPU. Making arrays of a networkx graph's dictionaries takes most of the time, on one core.

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
from collections.abc import Hashable, Iterator
from decimal import Decimal
from typing import Any

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
        The edge attribute to weigh by, numbers of any ordered type; edges without it weigh 1.
    keys, data : bool
        Whether edges come with their keys, where it is a multigraph, and with their attributes.
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
        Borůvka's algorithm on a multigraph: networkx has none.

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
        As of `minimum_spanning_edges`.

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
        As of `minimum_spanning_edges`.

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
        As of `minimum_spanning_edges`.

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
        As of `minimum_spanning_edges`.

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
    return _in_order(_unwrapped(G), weight, keys, data, ignore_nan, minimum, partition)


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
        As of `minimum_spanning_tree`.

    Raises
    ------
    ValueError, TypeError
        As of `minimum_spanning_edges`.

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
    if not (hasattr(graph, "is_multigraph") and hasattr(graph, "edges")):
        raise KindError(f"{type(G).__name__} is not a networkx graph")
    return graph


def _forest_graph(graph: Any, edges: Iterator[tuple]) -> Any:
    forest = graph.__class__()
    forest.graph.update(graph.graph)
    forest.add_nodes_from(graph.nodes.items())
    forest.add_edges_from(edges)
    return forest


def _spanning_edges(
    graph: Any, algorithm: str, weight: str, keys: bool, data: bool, ignore_nan: bool, *, minimum: bool
) -> Iterator[tuple]:
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        # The message is networkx's: its tests match it.
        known = ", ".join(ALGORITHMS)
        raise ChoiceError(f"{algorithm} is not a valid choice for an algorithm. Choose one of: {known}")
    if graph.is_multigraph() and algorithm.startswith("bor"):
        from networkx import NetworkXNotImplemented

        # So that code behaves as it does without this backend.
        raise NetworkXNotImplemented("networkx's Borůvka is not implemented for multigraphs")
    return _in_order(graph, weight, keys, data, ignore_nan, minimum)


def _in_order(
    graph: Any,
    weight: str,
    keys: bool,
    data: bool,
    ignore_nan: bool,
    minimum: bool,
    partition: str | None = None,
) -> Iterator[tuple]:
    import mst

    edges = list(graph.edges(keys=True, data=True) if graph.is_multigraph() else graph.edges(data=True))
    if not isinstance(weight, Hashable):
        raise KindError(f"the attribute to weigh by must be hashable, got {type(weight).__name__}")
    values = [_number(edge, edge[-1].get(weight, 1)) for edge in edges]
    # Only NaN differs from itself, in every type of number.
    nan = [k for k, value in enumerate(values) if value != value]
    if nan and not ignore_nan:
        raise ChoiceError(f"NaN found as an edge weight. Edge {edges[nan[0]]}")
    for k in reversed(nan):
        del edges[k], values[k]
    number: dict[Hashable, int] = {node: k for k, node in enumerate(graph)}
    ranks = _ranks(values, minimum)
    if partition is not None:
        edges, ranks = _partitioned(edges, ranks, partition)
    count = len(edges)
    u = np.fromiter((number[edge[0]] for edge in edges), np.int32, count)
    v = np.fromiter((number[edge[1]] for edge in edges), np.int32, count)
    ids = mst.minimum_spanning_forest(mst.Graph(len(number), u, v, ranks), **_configured()).edge_ids
    for k in ids[np.lexsort((ids, ranks[ids]))].tolist():
        edge = edges[k]
        key = (edge[2],) if graph.is_multigraph() and keys else ()
        yield (edge[0], edge[1], *key, *((edge[-1],) if data else ()))


def _partitioned(edges: list[tuple], ranks: np.ndarray, partition: str) -> tuple[list[tuple], np.ndarray]:
    """Return the edges that are not excluded, and their ranks, with the included ones in front of all others."""
    from networkx import EdgePartition

    parts = [edge[-1].get(partition) for edge in edges]
    open_ = np.array([part != EdgePartition.EXCLUDED for part in parts], bool)
    included = np.array([part == EdgePartition.INCLUDED for part in parts], bool)
    return [edge for edge, kept in zip(edges, open_) if kept], np.where(included, -1, ranks)[open_]


def _configured() -> dict[str, Any]:
    """Return the algorithm and the threads that the backend's configuration names."""
    import networkx

    config = networkx.config.backends.mst
    return {"algorithm": "filter-boruvka-cuda"} if config.gpu else {"threads": config.threads}


def _number(edge: tuple, value: Any) -> Any:
    """Return an edge's weight if it is a real number, as networkx asks of it."""
    if not isinstance(value, numbers.Real | Decimal | np.bool_):
        raise KindError(f"edge {edge[:-1]} must weigh a real number, got {type(value).__name__}")
    return value


def _ranks(values: list, minimum: bool) -> np.ndarray:
    """Return int32 ranks of weights of any ordered type, equal for equal weights, reversed for a maximum."""
    array = _exact_array(values)
    if array is None:
        try:
            place = {value: k for k, value in enumerate(sorted(set(values)))}
        except TypeError as error:  # as of Decimal and a NumPy float
            raise KindError(f"the weights have no order: {error}") from error
        ranks = np.fromiter((place[value] for value in values), np.int32, len(values))
    else:
        ranks = np.unique(array, return_inverse=True)[1].astype(np.int32)
    return ranks if minimum else ranks.max(initial=0) - ranks


def _exact_array(values: list) -> np.ndarray | None:
    """Return the weights as an array where it holds each of them exactly, else None."""
    kinds = {type(value) for value in values}
    if kinds <= {float} or (kinds <= {int, bool} and all(-(2**63) <= value < 2**63 for value in values)):
        return np.array(values, np.float64 if float in kinds else np.int64)
    return None
