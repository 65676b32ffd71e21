"""Random geometric graphs: points of the unit square, joined when they are near."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from mst.generators.definition import Edges, Parameter, empty_pairs, generator
from mst.generators.points import BITS, random_points
from mst.generators.spanning import first_connected


@generator(
    "random points of the unit square, joined at a distance of at most radius",
    dict(
        n=Parameter(int, "points", high=2**31 - 1),
        radius=Parameter(float, "largest distance; 0.55·√(ln n / n) when left out", default=None, high=2),
    ),
    connected="on request",
)
def geometric(*, n: int, radius: float | None, seed: int, connected: bool) -> Edges:
    """Join near points; the default radius is that of the DIMACS challenge's rgg_n_2 graphs.

    Vertices are numbered along the Hilbert curve. With `connected`, up to 100 sets of points are tried.
    """
    square = _squared_radius(n, radius)

    def make(attempt: int) -> Edges:
        return Edges(n, _near(n, square, seed, attempt))

    return first_connected("geometric", make, "raise radius") if connected else make(0)


def _squared_radius(n: int, radius: float | None) -> int:
    """In units of the lattice; the default's logarithm is decimal, since the platform's may differ."""
    if radius is not None:
        return int(Fraction(radius) ** 2 * 4**BITS)
    with localcontext(prec=40):
        return int(Decimal("0.3025") * Decimal(n).ln() / n * 4**BITS) if n > 1 else 0


def _near(n: int, square: int, seed: int, attempt: int) -> np.ndarray:
    from mst.kernels.generate import geometric as generate_geometric

    points = random_points(n, seed, f"points {attempt}")
    # Cells at least as wide as the radius, and not many more than points.
    order = 0
    while order < BITS and 4 ** (BITS - order - 1) >= square and 4 ** (order + 1) <= max(n, 1):
        order += 1
    places = np.arange(4**order + 1, dtype=np.uint64) << np.uint64(2 * (BITS - order))
    starts = np.searchsorted(points.codes, places)
    counts = generate_geometric.count_near(points.x, points.y, starts, order, BITS, square)
    ends = np.cumsum(counts)
    pairs = empty_pairs(int(ends[-1]) if n else 0)
    generate_geometric.fill_near(pairs, ends - counts, points.x, points.y, starts, order, BITS, square)
    return pairs
