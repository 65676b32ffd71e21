"""Complete graphs, and random graphs with a given share of all possible edges."""

from __future__ import annotations

from fractions import Fraction

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator, pair_count
from mst.generators.uniform import sample


@generator(
    "every two vertices are joined", dict(n=Parameter(int, "vertices", high=MAX_VERTICES)), connected="always"
)
def complete(*, n: int, seed: int, connected: bool) -> Edges:
    """Join all pairs of vertices."""
    from mst.kernels.generate.cliques import fill_cliques

    pairs = empty_pairs(pair_count(n))
    fill_cliques(pairs, 1, n)
    return Edges(n, pairs, "sorted")


@generator(
    "a random share of the edges of the complete graph",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
        share=Parameter(float, "share of the n(n-1)/2 pairs, rounded to a whole number", default=0.9, high=1),
    ),
    connected="on request",
)
def dense(*, n: int, share: float, seed: int, connected: bool) -> Edges:
    """Sample G(n, m) with m = share·n(n-1)/2; the share is 0.9 in Shou and He's dense inputs."""
    return sample(n, round(Fraction(share) * pair_count(n)), seed, connected)
