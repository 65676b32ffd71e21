"""A networkx backend for spanning forests: ``nx.minimum_spanning_tree(G, backend="mst")``.

The functions take and return networkx graphs. For every value of ``algorithm``, they break ties as networkx's Kruskal
does, by the order of ``G.edges``.

``nx.config.backends.mst.threads = 4`` limits the backend to four cores, and ``nx.config.backends.mst.gpu = True`` makes
it use a GPU. Most of the time is spent on one core, reading and writing the dictionaries of networkx graphs.

Examples
--------
>>> import networkx as nx
>>> G = nx.cycle_graph(4)
>>> G.add_edge(0, 3, weight=2)
>>> sorted(nx.minimum_spanning_tree(G, backend="mst").edges)
[(0, 1), (1, 2), (2, 3)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mst.interop.networkx_edges import ChoiceError, KindError, edges_of, partitioned, weighed

ALGORITHMS = ("kruskal", "prim", "boruvka", "borůvka")
FUNCTIONS = (
    "minimum_spanning_edges",
    "maximum_spanning_edges",
    "minimum_spanning_tree",
    "maximum_spanning_tree",
    "kruskal_mst_edges",
    "partition_spanning_tree",
)


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
        A graph as networkx passes it to the backend, wrapped by `convert_from_nx`.
    algorithm : str
        One of `ALGORITHMS`; the edges do not depend on it.
    weight : str
        The edge attribute with the weights, numbers of any ordered type; edges without it weigh 1.
    keys, data : bool
        Whether to include the edges' keys (in a multigraph) and their attributes.
    ignore_nan : bool
        Whether to skip edges of weight NaN.

    Returns
    -------
    iterator of tuple
        The lightest edge first.

    Raises
    ------
    ValueError
        There is no such algorithm; or, when the first edge is requested, a weight is NaN although `ignore_nan` is
        False. The error is a `ChoiceError`.
    TypeError
        `G` is not a networkx graph, or the weights cannot be ordered. The error is a `KindError`.
    networkx.NetworkXNotImplemented
        The graph is directed, or `algorithm` is Borůvka's and the graph a multigraph: networkx supports neither.

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
        The heaviest edge first.

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
        A graph of the same class, with all nodes and their attributes, and with the attributes of the forest's edges.

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
        As for `minimum_spanning_tree`.

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
    """Generate the edges of a spanning forest by weight, as networkx's function of the same name does.

    Parameters
    ----------
    G, weight, keys, data, ignore_nan
        As for `minimum_spanning_edges`.
    minimum : bool
        Whether to find a minimum rather than a maximum spanning forest.
    partition : str, optional
        The edge attribute with a `networkx.EdgePartition`: included edges come first, and excluded edges are left out.

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
    """Return the graph that networkx, or a direct call, passes as `G`."""
    graph = G.graph if isinstance(G, BackendGraph) else G
    if not (hasattr(graph, "is_multigraph") and hasattr(graph, "adjacency")):
        raise KindError(f"{type(G).__name__} is not a networkx graph")
    # networkx caches graphs that a backend has converted, and warns on the next call that they may be out of date. Ours
    # cannot be, since it holds the graph itself.
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
    # The same for an empty networkx.Graph, in a third of the time.
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

        # The same error as without this backend.
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
    """Generate the edges of a forest; as in networkx, nothing is checked before the first edge is requested."""
    import mst

    edges, weights = weighed(edges_of(graph), weight, ignore_nan)
    if not minimum:
        weights = -weights if weights.dtype.kind == "f" else ~weights
    if partition is not None:
        edges, weights = partitioned(edges, weights, partition)
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


def _configured() -> dict[str, Any]:
    """Return the algorithm or the threads that the configuration of the backend sets."""
    import networkx

    config = networkx.config.backends.mst
    return {"algorithm": "filter-boruvka-cuda"} if config.gpu else {"threads": config.threads}
