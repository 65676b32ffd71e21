"""Random graphs whose vertices are chosen by a power law, one edge or one clique at a time."""

from __future__ import annotations

import numpy as np

from mst.generators.definition import (
    MAX_VERTICES,
    Edges,
    Parameter,
    empty_pairs,
    generator,
    pack,
    pair_count,
    require,
)
from mst.generators.distinct import draw_distinct
from mst.generators.spanning import SpanningTree


@generator(
    "random edges or overlapping cliques of vertices chosen by a power law, in a given number of components",
    dict(
        n=Parameter(int, "vertices", high=MAX_VERTICES),
        m=Parameter(int, "edges"),
        skew=Parameter(
            int,
            "k: vertex x is chosen in proportion to about (x + shift)^(1/k - 1), so that degrees have the exponent "
            "3 (k = 2), 2.5, 2.33, …; k = 1 chooses all alike",
            default=2,
            low=1,
            high=16,
        ),
        shift=Parameter(int, "at most n; the greater, the lower is the largest degree", default=0),
        size=Parameter(int, "vertices of each clique; 2 for single edges", default=2, low=2, high=2**20),
        components=Parameter(
            int,
            "components: pairs of last vertices, and all others; by default any number",
            default=None,
            low=1,
        ),
    ),
    connected="on request",
)
def power_law(
    *, n: int, m: int, skew: int, shift: int, size: int, components: int | None, seed: int, connected: bool
) -> Edges:
    """Draw cliques until there are m edges, including those of a random spanning tree if `components` is given.

    Vertex x is drawn as ⌊(n + shift)·Uᵏ⌋ - shift, where U is uniform, in integers; negative ones are drawn again. Edges
    beyond m are dropped at random. Expected degrees fall with the id, as in Chung and Lu (2002).
    """
    from mst.kernels.generate.power_law import fill_power_law
    from mst.kernels.primitives.hashing import stream

    require(shift <= n, f"shift = {shift:,} is above n = {n:,}: lower it")
    require(
        not connected or components in (None, 1),
        f"components = {components} cannot be connected: leave connected or components out",
    )
    apart = components - 1 if components else 0
    core = n - 2 * apart
    require(core > 0 or not apart, f"{n:,} vertices cannot have {apart + 1:,} components")
    tree = SpanningTree(core, seed) if connected or components else None
    reserved = tree.edges + apart if tree else 0
    most = pair_count(core) + apart
    require(reserved <= m <= most, f"m = {m:,} must be from {reserved:,} to {most:,} with these vertices")
    key = stream(seed, "cliques")

    def draw(first: int, count: int) -> np.ndarray:
        """Return pairs of an endless sequence, without edges of the tree if any."""
        drawn = empty_pairs(count)
        fill_power_law(drawn, first, core, skew, shift, size, key)
        return drawn[: tree.drop_tree_edges(drawn)] if tree else drawn

    others = draw_distinct(m - reserved, draw, m - reserved, seed)
    if tree is None:
        return Edges(n, others, "sorted")
    pairs = empty_pairs(m)
    tree.fill(pairs)
    first = np.arange(core, n, 2, dtype=np.uint64)
    pairs[tree.edges : reserved] = pack(first, first + np.uint64(1))
    pairs[reserved:] = others
    return Edges(n, pairs)
