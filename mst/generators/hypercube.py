"""Hypercube graphs."""

from __future__ import annotations

import numpy as np

from mst.generators.definition import Edges, Parameter, empty_pairs, generator, pack


@generator(
    "2^dimension vertices, joined if their ids differ in one bit",
    dict(dimension=Parameter(int, "number of bits of an id", high=32)),
    connected="always",
)
def hypercube(*, dimension: int, seed: int, connected: bool) -> Edges:
    """Join x to x + 2^b for each bit b that is zero in x, which gives d·2^(d-1) edges."""
    half = 2**dimension // 2
    pairs = empty_pairs(dimension * half, 2**dimension)
    vertices = np.arange(2**dimension, dtype=np.uint64)
    for b in range(dimension):
        bit = np.uint64(2**b)
        lower = vertices[vertices & bit == 0]
        pairs[b * half : (b + 1) * half] = pack(lower, lower | bit)
    return Edges(2**dimension, pairs)
