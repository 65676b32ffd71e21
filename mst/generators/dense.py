"""Complete graphs, whole or with a share of their edges."""

from __future__ import annotations

from fractions import Fraction

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator
from mst.generators.uniform import sample


@generator(
    "every two vertices are joined",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
    ),
    connected="always",
)
def complete(*, n: int, seed: int, connected: bool) -> Edges:
    """Join all pairs: one clique."""
    from mst.kernels.generate.cliques import fill_cliques

    pairs = empty_pairs(n * (n - 1) // 2)
    fill_cliques(pairs, 1, n)
    return Edges(n, pairs, "sorted")


@generator(
    "a random share of the complete graph's edges",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
        share=Parameter(float, "share of the n(n-1)/2 pairs, rounded to a whole number", default=0.9, high=1),
    ),
    connected="on request",
)
def dense(*, n: int, share: float, seed: int, connected: bool) -> Edges:
    """Sample G(n, m) with m = share·n(n-1)/2; Shou and He's dense inputs have a share of 0.9."""
    return sample("dense", n, round(Fraction(share) * (n * (n - 1) // 2)), seed, connected)
