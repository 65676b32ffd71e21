"""Watts–Strogatz graphs: ring lattices with randomly rewired edges."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mst.generators.definition import Edges, Parameter, empty_pairs, generator, require
from mst.generators.spanning import try_until_connected


@generator(
    "small world: a ring lattice with randomly rewired edges",
    dict(
        n=Parameter(int, "vertices of the ring", high=2**31 - 1),
        k=Parameter(int, "nearest neighbours of each vertex in the lattice; even", default=4),
        p=Parameter(float, "probability that an edge is rewired", default=0.1, high=1),
    ),
    connected="on request",
)
def watts_strogatz(*, n: int, k: int, p: float, seed: int, connected: bool) -> Edges:
    """Rewire one end of each lattice edge with probability p, but never to a self-loop or a parallel edge.

    Edges are rewired in the order of their distance, then of their vertex, as in Watts and Strogatz (Nature 1998). The
    graph has n·k/2 edges. With `connected`, up to 100 graphs are tried.
    """
    require(k % 2 == 0, f"k = {k} is odd: give an even number, since half of the neighbours are on each side")
    require(k < n or k == 0, f"k = {k} neighbours need more than {n:,} vertices")

    def make(attempt: int) -> Edges:
        return Edges(n, _rewired(n, k, p, seed, attempt))

    return try_until_connected(make, "raise k or lower p", connected=connected)


def _rewired(n: int, k: int, p: float, seed: int, attempt: int) -> np.ndarray:
    from mst.kernels.generate.small_world import fill_ring_lattice, rewire
    from mst.kernels.primitives.hashing import stream

    pairs = empty_pairs(n * (k // 2))
    fill_ring_lattice(pairs, n)
    threshold = np.uint64(min(round(Fraction(p) * 2**64), 2**64 - 1))
    expected = int(len(pairs) * p)
    # At most half full, even if there are ten standard deviations more entries than expected.
    slots = 1 << (2 * (expected + 10 * int(expected**0.5) + 64) - 1).bit_length()
    table = np.zeros(slots, np.uint64)
    if p > 0:
        rewire(pairs, n, threshold, stream(seed, f"rewiring {attempt}"), table)
    return pairs
