"""Barabási–Albert graphs, which grow by preferential attachment."""

from __future__ import annotations

from mst.generators.definition import Edges, Parameter, empty_pairs, generator, require


@generator(
    "preferential attachment: each new vertex is joined to k others, chosen in proportion to their degrees",
    dict(
        n=Parameter(int, "vertices", high=2**31 - 1),
        k=Parameter(int, "edges of each new vertex", default=4, low=1),
    ),
    connected="always",
)
def barabasi_albert(*, n: int, k: int, seed: int, connected: bool) -> Edges:
    """Grow a star of k + 1 vertices by a vertex and k edges at a time (Barabási and Albert, Science 1999).

    A random end of an earlier edge is a vertex chosen in proportion to its degree (Batagelj and Brandes 2005); if the
    new vertex is already joined to that vertex, another end is drawn. The graph has ``(n - k)·k`` edges.
    """
    from mst.kernels.generate.preferential import fill_preferential
    from mst.kernels.primitives.hashing import stream

    require(n > k, f"k = {k:,} others need more than {n:,} vertices: lower k or raise n")
    pairs = empty_pairs((n - k) * k)
    fill_preferential(pairs, n, k, stream(seed, "choices"))
    return Edges(n, pairs)
