"""Caveman graphs: disjoint cliques, or cliques that are connected in a ring."""

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

_PARAMETERS = dict(
    cliques=Parameter(int, "number of cliques", low=0, high=MAX_VERTICES),
    size=Parameter(int, "vertices of each clique", low=1, high=MAX_VERTICES),
)


@generator("disjoint cliques; with connected, a ring of cliques", _PARAMETERS, connected="on request")
def caveman(*, cliques: int, size: int, seed: int, connected: bool) -> Edges:
    """Make disjoint cliques or, with `connected`, the connected caveman graph, which has as many edges."""
    from mst.kernels.generate.cliques import connect_cliques_in_ring, fill_cliques

    n = cliques * size
    require(n <= MAX_VERTICES, f"{cliques:,} × {size:,} is more than 2³² vertices")
    pairs = empty_pairs(cliques * pair_count(size))
    fill_cliques(pairs, cliques, size)
    if not connected or cliques <= 1:
        return Edges(n, pairs, "sorted")
    require(size >= 3, f"cliques of {size} vertices cannot form a ring: size must be at least 3")
    connect_cliques_in_ring(pairs, cliques, size)
    return Edges(n, pairs)


@generator(
    "a ring of cliques, each joined to the previous one by one of its edges", _PARAMETERS, connected="always"
)
def connected_caveman(*, cliques: int, size: int, seed: int, connected: bool) -> Edges:
    """Connect cliques in a ring (Watts 1999); from two cliques on, as networkx's function of the same name does."""
    return caveman(cliques=cliques, size=size, seed=seed, connected=True)
