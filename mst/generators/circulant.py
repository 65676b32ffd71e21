"""Circulant graphs."""

from __future__ import annotations

import math

import numpy as np

from mst.generators.definition import MAX_VERTICES, Edges, Parameter, empty_pairs, generator, require


@generator(
    "every vertex of a ring is joined to those at given offsets",
    dict(
        n=Parameter(int, "vertices of the ring", low=1, high=MAX_VERTICES),
        offsets=Parameter(tuple, "offsets, for instance 1,2", low=1),
    ),
    connected="on request",
)
def circulant(*, n: int, offsets: tuple[int, ...], seed: int, connected: bool) -> Edges:
    """Join x to x + offset (mod n) for every offset; an offset of n/2 gives n/2 edges, others n."""
    for offset in offsets:
        require(
            offset <= n // 2,
            "circulant",
            f"offset {offset:,} is not below {n // 2 + 1:,}: on a ring of {n:,}, give its shorter way round",
        )
    require(len(set(offsets)) == len(offsets), "circulant", f"offsets {offsets} repeat: give each once")
    common = math.gcd(n, *offsets)
    require(
        not connected or common == 1,
        "circulant",
        f"offsets {offsets} on a ring of {n:,} have the common divisor {common}, so the graph falls into "
        f"{common} parts: add an offset",
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
    starts = vertices[: n // 2] if 2 * offset == n else vertices
    ends = (starts + np.uint64(offset)) % np.uint64(n)
    return np.minimum(starts, ends) << np.uint64(32) | np.maximum(starts, ends)
