"""Barabási–Albert graphs, which grow by preferential attachment."""

from __future__ import annotations

from mst.generators.definition import Edges, Parameter, empty_pairs, generator, require


@generator(
    "preferential attachment: each new vertex is joined to k others, chosen in proportion to their degrees",
    dict(
        n=Parameter(int, "vertices", high=2**31 - 1),
        k=Parameter(int, "edges of each new vertex", default=4, low=1),
        isolated=Parameter(int, "number of isolated vertices, which have the largest ids", default=0),
    ),
    connected="on request",
)
def barabasi_albert(*, n: int, k: int, isolated: int, seed: int, connected: bool) -> Edges:
    """Grow a star of k + 1 vertices by a vertex and k edges at a time (Barabási and Albert, Science 1999).

    With ``n' = n - isolated``, the graph has ``(n' - k)·k`` edges. Isolated vertices make it similar to web crawls.

    A random end of an earlier edge is a vertex chosen in proportion to its degree (Batagelj and Brandes 2005); if the
    new vertex is already joined to it, another one is drawn.
    """
    from mst.kernels.generate.preferential import fill_preferential
    from mst.kernels.primitives.hashing import stream

    grown = n - isolated
    available = f"{grown:,} vertices" + (f" that are not isolated (n = {n:,})" if isolated else "")
    require(grown > k, "barabasi-albert", f"k = {k:,} others need more than {available}: lower k or raise n")
    require(
        not (connected and isolated),
        "barabasi-albert",
        f"isolated = {isolated:,} vertices cannot be connected: leave connected or isolated out",
    )
    pairs = empty_pairs((grown - k) * k)
    fill_preferential(pairs, grown, k, stream(seed, "choices"))
    return Edges(n, pairs)
