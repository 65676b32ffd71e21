"""Delaunay triangulations of random points."""

from __future__ import annotations

import numpy as np

from mst.generators.definition import Edges, Parameter, generator, pack, require_memory
from mst.generators.points import random_points


@generator(
    "Delaunay triangulation of random points of the unit square",
    dict(n=Parameter(int, "points", high=2**28)),
    connected="always",
)
def delaunay(*, n: int, seed: int, connected: bool) -> Edges:
    """Triangulate points as in the delaunay_n graphs of the DIMACS challenge, numbered along the Hilbert curve.

    Points are inserted in a biased randomised insertion order (Amenta, Choi and Rote, SoCG 2003): a random half last, a
    random half of the rest before it, and so on, each group in the order of the curve. All predicates are exact.
    """
    from mst.kernels.generate import delaunay as generate_delaunay
    from mst.kernels.primitives import hashing

    require_memory(90 * n, f"triangles of {n:,} points")
    points = random_points(n, seed)
    sequence = generate_delaunay.insertion_order(n, hashing.stream(seed, "order of insertion"))
    start = generate_delaunay.first_triangle(points.x, points.y, sequence)
    if start < 0:
        return Edges(n, _along_a_line(points.x, points.y))
    corners = generate_delaunay.triangulate(points.x, points.y, sequence, start)
    return Edges(n, generate_delaunay.edges_of(corners, n))


def _along_a_line(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the packed pairs of consecutive points of a line, for collinear or fewer than three points."""
    line = np.lexsort((y, x)).astype(np.uint64)
    return pack(np.minimum(line[:-1], line[1:]), np.maximum(line[:-1], line[1:]))
