"""Paths and stars, the trees of the largest diameter and of the largest degree."""

from __future__ import annotations

import numpy as np

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator, pack


@generator(
    "0 - 1 - 2 - …: the tree of the largest diameter",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
    ),
    connected="always",
)
def path(*, n: int, seed: int, connected: bool) -> Edges:
    """Join each vertex to the next."""
    pairs = empty_pairs(max(n - 1, 0))
    first = np.arange(len(pairs), dtype=np.uint64)
    pairs[:] = pack(first, first + np.uint64(1))
    return Edges(n, pairs, "sorted")


@generator(
    "vertex 0 joined to all others: the tree of the largest degree",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
    ),
    connected="always",
)
def star(*, n: int, seed: int, connected: bool) -> Edges:
    """Join vertex 0 to all others; the packed pair of 0 and v is v."""
    pairs = empty_pairs(max(n - 1, 0))
    pairs[:] = np.arange(1, len(pairs) + 1, dtype=np.uint64)
    return Edges(n, pairs, "sorted")
