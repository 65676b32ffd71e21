"""Random k-out graphs: every vertex chooses k others."""

from __future__ import annotations

import numpy as np

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator, require
from mst.generators.distinct import distinct, exactly
from mst.generators.spanning import first_connected


@generator(
    "every vertex draws k arcs to random others; arcs are then made simple",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
        k=Parameter(int, "arcs out of every vertex", default=4),
        m=Parameter(int, "edges, exactly: draw more arcs, or drop some at random", default=None),
    ),
    name="k-out",
    connected="on request",
)
def k_out(*, n: int, k: int, m: int | None, seed: int, connected: bool) -> Edges:
    """Draw arcs with replacement (Walkup 1980); Galois's r4-2e23 in the ECL-MST paper is k = 4, n = 2²³.

    Without `m` no vertex is isolated, other than in G(n, m) of the same average degree. With `connected`, up to
    100 graphs are made and the first connected one is taken; from k = 2 on nearly all of them are connected.
    """
    from mst.kernels.generate.uniform import fill_arcs
    from mst.kernels.primitives.hashing import stream

    require(n != 1 or k == 0, "k-out", "one vertex has no other to choose: n must be at least 2, or k = 0")
    require(m is None or m <= n * (n - 1) // 2, "k-out", f"{n:,} vertices have fewer than m = {m} pairs")
    require(m is None or m == 0 or k > 0, "k-out", f"k = 0 arcs cannot make m = {m} edges: raise k")
    everything = n * k

    def make(attempt: int) -> Edges:
        key = stream(seed, f"arcs {attempt}")

        def draw(first: int, count: int) -> np.ndarray:
            arcs = empty_pairs(count)
            fill_arcs(arcs, n, first, key)
            return arcs

        if m is None:
            return Edges(n, distinct(draw(0, everything)), "sorted")
        return Edges(n, exactly(m, draw, everything, "k-out", seed), "sorted")

    return first_connected("k-out", make, "raise k") if connected else make(0)
