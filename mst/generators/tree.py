"""Trees: random recursive, uniformly random, and complete binary ones."""

from __future__ import annotations

import numpy as np

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator, pack
from mst.generators.spanning import SpanningTree


@generator(
    "a random recursive, uniformly random, or binary tree",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
        shape=Parameter(
            str,
            "recursive (the parent of a vertex is a random earlier one; depth about e·ln n), uniform (every labelled "
            "tree equally likely; depth about √n) or binary (like a heap: the parent of x is (x - 1)/2)",
            default="recursive",
            choices=("recursive", "uniform", "binary"),
        ),
    ),
    connected="always",
)
def tree(*, n: int, shape: str, seed: int, connected: bool) -> Edges:
    """Make a tree of n vertices; a uniform one is decoded from a random Prüfer sequence (Prüfer 1918)."""
    from mst.kernels.generate import tree as generate_tree
    from mst.kernels.primitives import hashing

    pairs = empty_pairs(max(n - 1, 0), n)
    if shape == "recursive":
        SpanningTree(n, seed).fill(pairs)
    elif shape == "uniform":
        generate_tree.fill_prufer(pairs, n, hashing.stream(seed, "Prüfer sequence"))
    else:
        children = np.arange(1, len(pairs) + 1, dtype=np.uint64)
        pairs[:] = pack((children - np.uint64(1)) >> np.uint64(1), children)
    return Edges(n, pairs)
