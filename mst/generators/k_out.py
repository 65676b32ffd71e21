"""Random k-out graphs: every vertex chooses k others."""

from __future__ import annotations

import numpy as np

from mst.generators.distinct import distinct, exactly
from mst.generators.family import MAX_VERTICES, Edges, Parameter, empty_pairs, family, require


@family(
    "k-out graph: every vertex draws k arcs to random others, which are then made simple",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
        k=Parameter(int, "arcs out of every vertex", default=4),
        m=Parameter(int, "edges, exactly: draw more arcs, or drop some at random", default=None),
    ),
    name="k-out",
)
def k_out(*, n: int, k: int, m: int | None, seed: int, connected: bool) -> Edges:
    """Draw arcs with replacement (Walkup 1980); Galois's r4-2e23 in the ECL-MST paper is k = 4, n = 2²³.

    No vertex is isolated, other than in G(n, m) of the same average degree.
    """
    from mst.kernels.generate_uniform import fill_arcs
    from mst.kernels.hashing import stream

    require(n != 1 or k == 0, "k-out", "one vertex has no other to choose: n must be at least 2, or k = 0")
    require(m is None or m <= n * (n - 1) // 2, "k-out", f"{n:,} vertices have fewer than m = {m} pairs")
    require(m is None or m == 0 or k > 0, "k-out", f"k = 0 arcs cannot make m = {m} edges: raise k")
    key = stream(seed, "arcs")

    def draw(first: int, count: int) -> np.ndarray:
        arcs = empty_pairs(count)
        fill_arcs(arcs, n, first, key)
        return arcs

    edges = distinct(draw(0, n * k)) if m is None else exactly(m, draw, n * k, "k-out", seed)
    return Edges(n, edges, "sorted")
