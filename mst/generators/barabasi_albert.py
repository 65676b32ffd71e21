"""Barabási–Albert graphs: new vertices prefer those of high degree."""

from __future__ import annotations

from mst.generators.family import Edges, Parameter, empty_pairs, family, require


@family(
    "preferential attachment: each new vertex chooses k others by their degrees",
    dict(
        n=Parameter(int, "vertices", high=2**31 - 1),
        k=Parameter(int, "edges that each new vertex brings", default=4, low=1),
    ),
    connected="always",
)
def barabasi_albert(*, n: int, k: int, seed: int, connected: bool) -> Edges:
    """Grow a star of k + 1 vertices to n vertices and (n - k)·k edges (Barabási and Albert, Science 1999).

    A choice in proportion to degree is an end of a random earlier edge (Batagelj and Brandes 2005); a vertex
    that was chosen already is drawn again.
    """
    from mst.kernels.generate_preferential import fill_preferential
    from mst.kernels.hashing import stream

    require(n > k, "barabasi-albert", f"k = {k:,} others need more than {n:,} vertices: lower k or raise n")
    pairs = empty_pairs((n - k) * k)
    fill_preferential(pairs, n, k, stream(seed, "choices"))
    return Edges(n, pairs)
