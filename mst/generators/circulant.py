"""Circulant graphs: rings with edges between vertices at given distances."""

from __future__ import annotations

import math

import numpy as np

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator, pack, require


@generator(
    "every vertex of a ring is joined to those at given distances",
    dict(
        n=Parameter(int, "vertices of the ring", low=1, high=MAX_VERTICES),
        offsets=Parameter(tuple, "distances on the ring, for instance 1,2", low=1),
    ),
    connected="on request",
)
def circulant(*, n: int, offsets: tuple[int, ...], seed: int, connected: bool) -> Edges:
    """Join x to x + offset (mod n) for every offset: n edges per offset, or n/2 if the offset is n/2."""
    for offset in offsets:
        require(
            offset <= n // 2,
            f"offset {offset:,} must be below {n // 2 + 1:,}: on a ring of {n:,}, count in the shorter direction",
        )
    require(len(set(offsets)) == len(offsets), f"offsets {offsets} repeat: give each once")
    common = math.gcd(n, *offsets)
    require(
        not connected or common == 1,
        f"offsets {offsets} on a ring of {n:,} have the common divisor {common}, so the graph has "
        f"{common} components: add an offset",
    )
    pairs = empty_pairs(n * len(offsets), n)
    vertices = np.arange(n, dtype=np.uint64)
    filled = 0
    for offset in offsets:
        ring = _ring(vertices, offset, n)
        pairs[filled : filled + len(ring)] = ring
        filled += len(ring)
    return Edges(n, pairs[:filled])


def _ring(vertices: np.ndarray, offset: int, n: int) -> np.ndarray:
    """Return the packed pairs at one offset."""
    starts = vertices[: n // 2] if 2 * offset == n else vertices
    ends = (starts + np.uint64(offset)) % np.uint64(n)
    return pack(np.minimum(starts, ends), np.maximum(starts, ends))
