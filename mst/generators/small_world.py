"""Watts–Strogatz graphs: a ring lattice whose edges are rewired at random."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mst.generators.definition import Edges, Parameter, empty_pairs, generator, require
from mst.generators.spanning import first_connected


@generator(
    "small world: a ring lattice with rewired edges",
    dict(
        n=Parameter(int, "vertices of the ring", high=2**31 - 1),
        k=Parameter(int, "nearest neighbours that each vertex is joined to; even", default=4),
        p=Parameter(float, "probability that an edge is rewired", default=0.1, high=1),
    ),
    connected="on request",
)
def watts_strogatz(*, n: int, k: int, p: float, seed: int, connected: bool) -> Edges:
    """Rewire one end of each edge with probability p, never to a loop or a parallel edge: n·k/2 edges stay.

    Lattice edges take their turns by distance, then by vertex, as in Watts and Strogatz (Nature 1998). With
    `connected`, up to 100 graphs are made and the first connected one is taken.
    """
    require(k % 2 == 0, "watts-strogatz", f"k = {k} is odd: half of the neighbours lie on either side")
    require(k < n or k == 0, "watts-strogatz", f"k = {k} neighbours need more than {n:,} vertices")

    def make(attempt: int) -> Edges:
        return Edges(n, _rewired(n, k, p, seed, attempt))

    if not connected:
        return make(0)
    return first_connected("watts-strogatz", make, "raise k or lower p")


def _rewired(n: int, k: int, p: float, seed: int, attempt: int) -> np.ndarray:
    from mst.kernels.generate.small_world import fill_ring_lattice, rewire
    from mst.kernels.primitives.hashing import stream

    pairs = empty_pairs(n * (k // 2))
    fill_ring_lattice(pairs, n)
    threshold = np.uint64(min(round(Fraction(p) * 2**64), 2**64 - 1))
    expected = int(len(pairs) * p)
    # Half full at the expected number of entries, with room for ten standard deviations more.
    slots = 1 << (2 * (expected + 10 * int(expected**0.5) + 64) - 1).bit_length()
    table = np.zeros(slots, np.uint64)
    if p > 0:
        rewire(pairs, n, threshold, stream(seed, f"rewiring {attempt}"), table)
    return pairs
