"""Random trees, and the spanning tree that makes other families connected."""

from __future__ import annotations

import numpy as np


class Tree:
    """A random recursive tree over ``0 … n - 1`` with random names, in closed form.

    Parameters
    ----------
    n : int
        Number of vertices.
    seed : int
        Which tree.
    """

    def __init__(self, n: int, seed: int):
        from mst.kernels import hashing

        self.edges = max(n - 1, 0)
        self._ranks = hashing.permutation(seed, "ranks in the tree", n)
        self._key = hashing.stream(seed, "parents in the tree")

    def fill(self, pairs: np.ndarray) -> int:
        """Write the tree's edges to the front of `pairs`; return how many they are."""
        from mst.kernels.generate_tree import fill_tree

        fill_tree(pairs[: self.edges], self._ranks, self._key)
        return self.edges

    def keep_others(self, pairs: np.ndarray) -> int:
        """Move the pairs outside the tree to the front, in their order; return how many they are."""
        from mst.kernels.generate_tree import erase_tree
        from mst.kernels.pairs import compact

        erase_tree(pairs, self._ranks, self._key)
        return compact(pairs)
