"""Random geometric graphs: random points of the unit square, joined if they are near each other."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from mst.generators.definition import Edges, Parameter, empty_pairs, generator
from mst.generators.points import BITS, random_points
from mst.generators.spanning import try_until_connected


@generator(
    "random points of the unit square, joined at a distance of at most radius",
    dict(
        n=Parameter(int, "points", high=2**31 - 1),
        radius=Parameter(
            float, "largest distance of joined points; by default 0.55·√(ln n / n)", default=None, high=2
        ),
    ),
    connected="on request",
)
def geometric(*, n: int, radius: float | None, seed: int, connected: bool) -> Edges:
    """Join near points; the default radius is that of the rgg_n_2 graphs of the DIMACS challenge.

    Vertices are numbered along the Hilbert curve. With `connected`, up to 100 sets of points are tried.
    """
    squared_radius = _squared_radius(n, radius)

    def make(attempt: int) -> Edges:
        return Edges(n, _near_pairs(n, squared_radius, seed, attempt))

    return try_until_connected(make, "raise radius", connected=connected)


def _squared_radius(n: int, radius: float | None) -> int:
    """Return the squared radius in units of the lattice of points.

    The logarithm of the default is computed in decimal arithmetic, since that of floats depends on the platform.
    """
    if radius is not None:
        return int(Fraction(radius) ** 2 * 4**BITS)
    with localcontext(prec=40):
        return int(Decimal("0.3025") * Decimal(n).ln() / n * 4**BITS) if n > 1 else 0


def _near_pairs(n: int, squared_radius: int, seed: int, attempt: int) -> np.ndarray:
    from mst.kernels.generate import geometric as generate_geometric

    points = random_points(n, seed, f"points {attempt}")
    # Cells are at least as wide as the radius, and there are at most as many as points.
    order = 0
    while order < BITS and 4 ** (BITS - order - 1) >= squared_radius and 4 ** (order + 1) <= max(n, 1):
        order += 1
    first_codes = np.arange(4**order + 1, dtype=np.uint64) << np.uint64(2 * (BITS - order))
    starts = np.searchsorted(points.codes, first_codes)
    cells = generate_geometric.Cells(points.x, points.y, starts, order, BITS)
    counts = generate_geometric.count_near(cells, squared_radius)
    ends = np.cumsum(counts)
    pairs = empty_pairs(int(ends[-1]) if n else 0)
    generate_geometric.fill_near(pairs, ends - counts, cells, squared_radius)
    return pairs
