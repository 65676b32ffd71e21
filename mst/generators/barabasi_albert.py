"""Barabási–Albert graphs: new vertices prefer those of high degree."""

from __future__ import annotations

from mst.generators.definition import Edges, Parameter, empty_pairs, generator, require


@generator(
    "preferential attachment: each new vertex chooses k others by their degrees",
    dict(
        n=Parameter(int, "vertices", high=2**31 - 1),
        k=Parameter(int, "edges that each new vertex brings", default=4, low=1),
        isolated=Parameter(int, "the last of the vertices, which nothing is joined to", default=0),
    ),
    connected="on request",
)
def barabasi_albert(*, n: int, k: int, isolated: int, seed: int, connected: bool) -> Edges:
    """Grow a star of k + 1 vertices to n vertices and (n - k)·k edges (Barabási and Albert, Science 1999).

    Of these n, `isolated` stay out of it: each is a component of its own, as in the crawls that this resembles.

    A choice in proportion to degree is an end of a random earlier edge (Batagelj and Brandes 2005); a vertex
    that was chosen already is drawn again.
    """
    from mst.kernels.generate.preferential import fill_preferential
    from mst.kernels.primitives.hashing import stream

    grown = n - isolated
    told = f"{grown:,} vertices" + (f" that are not isolated (n = {n:,})" if isolated else "")
    require(grown > k, "barabasi-albert", f"k = {k:,} others need more than {told}: lower k or raise n")
    require(
        not (connected and isolated),
        "barabasi-albert",
        f"isolated = {isolated:,} vertices cannot be connected: leave connected or isolated out",
    )
    pairs = empty_pairs((grown - k) * k)
    fill_preferential(pairs, grown, k, stream(seed, "choices"))
    return Edges(n, pairs)
