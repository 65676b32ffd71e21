"""Random k-out graphs: every vertex is joined to k random others."""

from __future__ import annotations

import numpy as np

from mst.generators.definition import (
    MAX_VERTICES,
    Edges,
    Parameter,
    empty_pairs,
    generator,
    pair_count,
    require,
)
from mst.generators.distinct import distinct, draw_distinct
from mst.generators.spanning import try_until_connected


@generator(
    "k arcs from every vertex to random others, made simple",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
        k=Parameter(int, "arcs from every vertex", default=4),
        m=Parameter(
            int, "exact number of edges, reached by more arcs, or by dropping random ones", default=None
        ),
    ),
    connected="on request",
)
def k_out(*, n: int, k: int, m: int | None, seed: int, connected: bool) -> Edges:
    """Draw arcs with replacement (Walkup 1980); Galois's r4-2e23 in the ECL-MST paper is k = 4, n = 2²³.

    Without `m`, no vertex is isolated, unlike in G(n, m) of the same average degree. With `connected`, up to 100 graphs
    are tried; for k ≥ 2, nearly all of them are connected.
    """
    from mst.kernels.generate.uniform import fill_arcs
    from mst.kernels.primitives.hashing import stream

    require(
        n != 1 or k == 0, "a single vertex cannot be joined to others: n must be at least 2, or k must be 0"
    )
    require(
        m is None or m <= pair_count(n), f"{n:,} vertices have fewer than m = {m} pairs: lower m or raise n"
    )
    require(m is None or m == 0 or k > 0, f"k = 0 arcs cannot make m = {m} edges: raise k")
    drawn = n * k

    def make(attempt: int) -> Edges:
        key = stream(seed, f"arcs {attempt}")

        def draw(first: int, count: int) -> np.ndarray:
            arcs = empty_pairs(count)
            fill_arcs(arcs, n, first, key)
            return arcs

        if m is None:
            return Edges(n, distinct(draw(0, drawn)), "sorted")
        return Edges(n, draw_distinct(m, draw, drawn, seed), "sorted")

    return try_until_connected(make, "raise k", connected=connected)
