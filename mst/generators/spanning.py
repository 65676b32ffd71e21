"""What makes a random graph connected: a spanning tree among its edges, or another try."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mst.errors import InputError
from mst.generators.definition import Edges

_ATTEMPTS = 100


class SpanningTree:
    """A random recursive tree over ``0 … n - 1`` under random names, whose every edge is known in closed form.

    Parameters
    ----------
    n : int
        Number of vertices.
    seed : int
        Which tree.
    """

    def __init__(self, n: int, seed: int):
        from mst.kernels.primitives import hashing

        self.edges = max(n - 1, 0)
        self._ranks = hashing.permutation(seed, "ranks in the tree", n)
        self._key = hashing.stream(seed, "parents in the tree")

    def fill(self, pairs: np.ndarray) -> int:
        """Write the tree's edges to the front of `pairs`; return how many they are."""
        from mst.kernels.generate.tree import fill_tree

        fill_tree(pairs[: self.edges], self._ranks, self._key)
        return self.edges

    def keep_others(self, pairs: np.ndarray) -> int:
        """Move the pairs outside the tree to the front, in their order; return how many they are."""
        from mst.kernels.generate.tree import erase_tree
        from mst.kernels.primitives.pairs import compact

        erase_tree(pairs, self._ranks, self._key)
        return compact(pairs)


def first_connected(generator: str, make: Callable[[int], Edges], remedy: str) -> Edges:
    """Return the first connected graph among ``make(0)``, ``make(1)``, …: the distribution of connected graphs.

    Raises
    ------
    InputError
        When none of 100 attempts is connected.
    """
    from mst.kernels.union_find.connectivity import is_connected

    for attempt in range(_ATTEMPTS):
        edges = make(attempt)
        if is_connected(edges.n, edges.pairs):
            return edges
    raise InputError(f"generator {generator!r}: none of {_ATTEMPTS} attempts was connected: {remedy}")
