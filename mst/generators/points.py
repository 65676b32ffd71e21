"""Random points of the unit square, for the geometric generators."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.generators.definition import require_memory

BITS = 26
"""Coordinates are multiples of 2⁻²⁶, stored as integers, so that every geometric predicate fits exactly in 128 bits."""


class Points(NamedTuple):
    """Distinct points, numbered along the Hilbert curve, so that near points have similar numbers.

    Attributes
    ----------
    codes : numpy.ndarray of uint64, shape (n,)
        Positions on the curve of order `BITS`, ascending.
    x, y : numpy.ndarray of int64, shape (n,)
        Coordinates in ``0 … 2**BITS - 1``.
    """

    codes: np.ndarray
    x: np.ndarray
    y: np.ndarray


def random_points(n: int, seed: int, label: str = "points") -> Points:
    """Return `n` random points, drawn without replacement from the 2⁵² points of the lattice.

    Parameters
    ----------
    n, seed : int
    label : str
        Distinguishes several sets of points with the same seed.

    Returns
    -------
    Points

    Examples
    --------
    >>> from mst.generators.points import random_points
    >>> points = random_points(1000, seed=1)
    >>> bool((points.codes[:-1] < points.codes[1:]).all())
    True
    """
    from mst.kernels.generate.hilbert import points_at
    from mst.kernels.primitives.hashing import permutation, permuted_range

    require_memory(32 * n, f"{n:,} points")
    codes = permuted_range(permutation(seed, label, 4**BITS), n)
    codes.sort()
    return Points(codes, *points_at(codes, BITS))
