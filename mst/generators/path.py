"""Paths and stars, the trees of the largest diameter and of the largest degree, and stars of several hubs."""

from __future__ import annotations

import numpy as np

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator, pack


@generator(
    "0 - 1 - 2 - …: the tree of the largest diameter",
    dict(n=Parameter(int, "vertices", high=MAX_VERTICES)),
    connected="always",
)
def path(*, n: int, seed: int, connected: bool) -> Edges:
    """Join each vertex to the next."""
    pairs = empty_pairs(max(n - 1, 0))
    first = np.arange(len(pairs), dtype=np.uint64)
    pairs[:] = pack(first, first + np.uint64(1))
    return Edges(n, pairs, "sorted")


@generator(
    "vertex 0 joined to all others, the tree of the largest degree; or to some hubs, and these to all others",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
        hubs=Parameter(
            int, "hubs, the first vertices; every other x is joined to hub x mod hubs", 1, 1, MAX_VERTICES
        ),
    ),
    connected="always",
)
def star(*, n: int, hubs: int, seed: int, connected: bool) -> Edges:
    """Join the hubs to vertex 0, and every other vertex to a hub."""
    pairs = empty_pairs(max(n - 1, 0))
    vertices = np.arange(1, len(pairs) + 1, dtype=np.uint64)
    pairs[:] = pack(np.where(vertices < hubs, 0, vertices % np.uint64(hubs)), vertices)
    return Edges(n, pairs, "sorted" if hubs == 1 else "any")
