"""Caveman graphs: cliques, apart or chained into a ring."""

from __future__ import annotations

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator, require

_PARAMETERS = dict(
    cliques=Parameter(int, "how many cliques", low=0, high=MAX_VERTICES),
    size=Parameter(int, "vertices of each clique", low=1, high=MAX_VERTICES),
)


@generator(
    "cliques apart from each other, or chained into a ring when connected",
    _PARAMETERS,
    connected="on request",
)
def caveman(*, cliques: int, size: int, seed: int, connected: bool) -> Edges:
    """Make disjoint cliques; with `connected`, the connected caveman graph, of as many edges."""
    from mst.kernels.generate.cliques import chain_cliques, fill_cliques

    n = cliques * size
    require(n <= MAX_VERTICES, "caveman", f"{cliques:,} × {size:,} is more than 2³² vertices")
    pairs = empty_pairs(cliques * (size * (size - 1) // 2))
    fill_cliques(pairs, cliques, size)
    if not connected or cliques <= 1:
        return Edges(n, pairs, "sorted")
    require(size >= 3, "caveman", f"cliques of {size} vertices fall apart in a ring: size must be at least 3")
    chain_cliques(pairs, cliques, size)
    return Edges(n, pairs)


@generator(
    "a ring of cliques, each with one edge turned to the clique before",
    _PARAMETERS,
    connected="always",
)
def connected_caveman(*, cliques: int, size: int, seed: int, connected: bool) -> Edges:
    """Chain cliques into a ring (Watts 1999), as networkx's function of that name does from two cliques on."""
    return caveman(cliques=cliques, size=size, seed=seed, connected=True)
