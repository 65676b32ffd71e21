"""Random graphs G(n, m): every set of m pairs of vertices is equally likely."""

from __future__ import annotations

from mst.generators.definition import (
    MAX_VERTICES,
    Edges,
    Parameter,
    empty_pairs,
    generator,
    pair_count,
    require,
)
from mst.generators.spanning import SpanningTree


@generator(
    "random graph G(n, m): exactly m of the n(n-1)/2 pairs, all sets equally likely",
    dict(n=Parameter(int, "vertices", high=MAX_VERTICES), m=Parameter(int, "edges, exactly")),
    connected="on request",
)
def uniform(*, n: int, m: int, seed: int, connected: bool) -> Edges:
    """Sample pairs without replacement: the first m of a random order of all pairs (Erdős and Rényi 1959).

    With `connected`, n - 1 edges form a random recursive tree, and the others are sampled from the remaining pairs.
    """
    return sample(n, m, seed, connected)


def sample(n: int, m: int, seed: int, connected: bool) -> Edges:
    """Return the edges of a graph G(n, m)."""
    from mst.kernels.generate.uniform import fill_sample
    from mst.kernels.primitives import hashing

    possible = pair_count(n)
    require(m <= possible, f"{n:,} vertices have {possible:,} pairs, so m = {m:,} is too many")
    permutation = hashing.permutation(seed, "pairs", possible)
    pairs = empty_pairs(m)
    if not connected:
        fill_sample(pairs, n, permutation, 0)
        return Edges(n, pairs, "shuffled")
    require(m >= n - 1, f"{m:,} edges cannot connect {n:,} vertices: m must be at least {max(n - 1, 0):,}")
    tree = SpanningTree(n, seed)
    filled = tree.fill(pairs)
    position = 0
    while filled < m:
        rest = pairs[filled:]
        fill_sample(rest, n, permutation, position)
        position += len(rest)
        filled += tree.drop_tree_edges(rest)
    return Edges(n, pairs)
