"""Makes random graphs connected: by a spanning tree among the edges, or by trying several graphs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mst.errors import InputError
from mst.generators.definition import Edges

_ATTEMPTS = 100


class SpanningTree:
    """A random recursive tree with randomly permuted vertices, whose edges can be computed independently.

    Parameters
    ----------
    n : int
        Number of vertices.
    seed : int

    Attributes
    ----------
    edges : int
        Number of edges.
    """

    def __init__(self, n: int, seed: int):
        from mst.kernels.primitives import hashing

        self.edges = max(n - 1, 0)
        self._ranks = hashing.permutation(seed, "ranks in the tree", n)
        self._key = hashing.stream(seed, "parents in the tree")

    def fill(self, pairs: np.ndarray) -> int:
        """Write the edges of the tree to the front of `pairs`; return their number."""
        from mst.kernels.generate.tree import fill_tree

        fill_tree(pairs[: self.edges], self._ranks, self._key)
        return self.edges

    def drop_tree_edges(self, pairs: np.ndarray) -> int:
        """Move the pairs that are not edges of the tree to the front, in their order; return their number."""
        from mst.kernels.generate.tree import erase_tree
        from mst.kernels.primitives.pairs import compact

        erase_tree(pairs, self._ranks, self._key)
        return compact(pairs)


def try_until_connected(make: Callable[[int], Edges], remedy: str, *, connected: bool) -> Edges:
    """Return ``make(0)`` or, if `connected`, the first connected graph among ``make(0)``, ``make(1)``, ….

    The result has the distribution of the graphs, conditioned on being connected.

    Parameters
    ----------
    make : callable
        ``make(attempt)`` returns the edges of a graph.
    remedy : str
        What the user can do, for the error message.
    connected : bool

    Raises
    ------
    InputError
        None of 100 graphs is connected.
    """
    if not connected:
        return make(0)
    from mst.kernels.union_find.connectivity import is_connected

    for attempt in range(_ATTEMPTS):
        edges = make(attempt)
        if is_connected(edges.n, edges.pairs):
            return edges
    raise InputError(f"none of {_ATTEMPTS} attempts was connected: {remedy}")
