"""The edges of a networkx graph as arrays, with weights of any ordered numbers, for `mst.interop.networkx`."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Sequence
from decimal import Decimal
from itertools import chain, compress, pairwise
from typing import Any, NamedTuple

import numpy as np

from mst.errors import InputError

_FLOATS = {float, np.float64}
_INTEGERS = {int, bool, np.int64, np.int32, np.bool_}


class ChoiceError(InputError, ValueError):
    """A value that networkx refuses with a ValueError."""


class KindError(InputError, TypeError):
    """An argument of a type that networkx refuses with a TypeError."""


class Edges(NamedTuple):
    """The edges of a networkx graph, in the order of ``graph.edges``.

    Attributes
    ----------
    nodes : sequence of hashable
    u, v : numpy.ndarray of int32
        The positions of each edge's ends in `nodes`.
    keys : list or None
        The edges' keys in a multigraph.
    data : list of dict
        The edges' attributes.
    """

    nodes: Sequence[Hashable]
    u: np.ndarray
    v: np.ndarray
    keys: list | None
    data: list[dict]

    def edge(self, k: int) -> tuple:
        """Return an edge as ``graph.edges`` does: its ends, its key in a multigraph, and its attributes."""
        key = () if self.keys is None else (self.keys[k],)
        return (self.nodes[self.u[k]], self.nodes[self.v[k]], *key, self.data[k])

    def where(self, kept: np.ndarray) -> Edges:
        """Return the edges for which `kept`, a bool per edge, is true."""
        chosen = kept.tolist()
        keys = None if self.keys is None else list(compress(self.keys, chosen))
        return Edges(self.nodes, self.u[kept], self.v[kept], keys, list(compress(self.data, chosen)))


def edges_of(graph: Any) -> Edges:
    """Return the edges of a graph, reading whole rows of its dictionaries rather than edge by edge."""
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
        # Both ends list the edge: it is taken from the first.
        first = v >= u
        u, v, values = u[first], v[first], list(compress(values, first.tolist()))
    if not graph.is_multigraph():
        return Edges(nodes, u, v, None, values)
    parallel = np.fromiter(map(len, values), np.int64, len(values))
    keys = list(chain.from_iterable(values))
    data = list(chain.from_iterable(by_key.values() for by_key in values))
    return Edges(nodes, np.repeat(u, parallel), np.repeat(v, parallel), keys, data)


def weighed(edges: Edges, weight: str, ignore_nan: bool) -> tuple[Edges, np.ndarray]:
    """Return the edges whose weight is not NaN, and their weights, or the ranks of these, as an array."""
    if not isinstance(weight, Hashable):
        raise KindError(f"the name of the weight attribute must be hashable, got {type(weight).__name__}")
    values = [attributes.get(weight, 1) for attributes in edges.data]
    weights = _exact_array(values)
    # In every type of number, only NaN differs from itself.
    if weights is None:
        _check_are_numbers(edges, values)
        numbers_only = np.fromiter((value == value for value in values), np.bool_, len(values))
    else:
        numbers_only = weights == weights
    if not numbers_only.all():
        if not ignore_nan:
            raise ChoiceError(f"NaN found as an edge weight. Edge {edges.edge(int(numbers_only.argmin()))}")
        edges, values = edges.where(numbers_only), list(compress(values, numbers_only.tolist()))
        weights = None if weights is None else weights[numbers_only]
    return edges, _ranks(values) if weights is None else weights


def partitioned(edges: Edges, weights: np.ndarray, partition: str) -> tuple[Edges, np.ndarray]:
    """Return the edges that are not excluded, and ranks of their weights in which included edges come first."""
    from networkx import EdgePartition

    parts = [attributes.get(partition) for attributes in edges.data]
    kept = np.array([part != EdgePartition.EXCLUDED for part in parts], np.bool_)
    included = np.array([part == EdgePartition.INCLUDED for part in parts], np.bool_)
    ranks = np.unique(weights, return_inverse=True)[1]
    return edges.where(kept), np.where(included, -1, ranks)[kept]


def _check_are_numbers(edges: Edges, values: list) -> None:
    """Raise `KindError` for the first weight that is not a real number, which networkx requires."""
    accepted = numbers.Real | Decimal | np.bool_
    if not all(issubclass(kind, accepted) for kind in set(map(type, values))):
        k = next(k for k, value in enumerate(values) if not isinstance(value, accepted))
        raise KindError(
            f"edge {edges.edge(k)[:-1]} must have a real number as its weight, got {type(values[k]).__name__}"
        )


def _exact_array(values: list) -> np.ndarray | None:
    """Return the weights as an array if float64 or int64 represents all of them exactly, else None."""
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
    """Return int32 ranks of weights of any ordered types; equal weights have equal ranks, whatever their hashes."""
    # Decimal cannot be compared with NumPy's integers, nor NumPy's booleans with large integers, unlike Python's types.
    values = [value.item() if isinstance(value, np.integer | np.bool_) else value for value in values]
    try:
        ascending = sorted(range(len(values)), key=values.__getitem__)
        rises = [values[a] < values[b] for a, b in pairwise(ascending)]
    except TypeError as error:  # such as Decimal and np.longdouble
        raise KindError(f"the weights cannot be ordered: {error}") from error
    ranks = np.zeros(len(values), np.int32)
    ranks[ascending[1:]] = np.cumsum(rises)
    return ranks
