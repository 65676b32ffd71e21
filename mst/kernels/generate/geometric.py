"""Pairs of near points, found in cells whose points are contiguous along the Hilbert curve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange

from mst.kernels.generate.hilbert import position_of
from mst.kernels.primitives.jit import njit

_S32 = np.uint64(32)


class Cells(NamedTuple):
    """Points in the cells of a grid of ``2**order`` × ``2**order``, numbered along the Hilbert curve.

    Attributes
    ----------
    x, y : arrays of int64, shape (n,)
        Coordinates of `bits` bits, sorted by cell.
    starts : array of int64, shape (4**order + 1,)
        Cell `c` holds the points ``starts[c] … starts[c + 1] - 1``.
    order, bits : int
        Levels of the grid, and bits of a coordinate.
    """

    x: np.ndarray
    y: np.ndarray
    starts: np.ndarray
    order: int
    bits: int


@njit
def _visit_near(pairs, at, i, points, squared_radius):
    """Return how many points with a larger number are near point `i`, and write the pairs that they form with it.

    Parameters
    ----------
    pairs : array of uint64, shape (m,) or (0,)
        Output: packed pairs, from index `at`; if empty, pairs are only counted.
    at, i : int
    points : Cells
    squared_radius : int
        Square of the largest distance of near points.

    Returns
    -------
    int64
    """
    x, y, starts, order, bits = points
    cells = np.int64(1) << order
    shift = bits - order
    column, row = x[i] >> shift, y[i] >> shift
    found = 0
    for other_column in range(max(column - 1, 0), min(column + 2, cells)):
        for other_row in range(max(row - 1, 0), min(row + 2, cells)):
            cell = position_of(other_column, other_row, order)
            for j in range(max(starts[cell], i + 1), starts[cell + 1]):
                dx, dy = x[i] - x[j], y[i] - y[j]
                if dx * dx + dy * dy <= squared_radius:
                    if pairs.size:
                        pairs[at + found] = np.uint64(i) << _S32 | np.uint64(j)
                    found += 1
    return found


@njit(parallel=True)
def count_near(points, squared_radius):
    """Return how many points with a larger number are near each point.

    Parameters
    ----------
    points : Cells
        Cells must be at least as wide as the radius.
    squared_radius : int
        Square of the largest distance of near points.

    Returns
    -------
    array of int64, shape (n,)
    """
    n = points.x.size
    counts = np.empty(n, np.int64)
    no_output = np.empty(0, np.uint64)
    for i in prange(n):
        counts[i] = _visit_near(no_output, 0, i, points, squared_radius)
    return counts


@njit(parallel=True)
def fill_near(pairs, offsets, points, squared_radius):
    """Write the pairs that `count_near` counts.

    Parameters
    ----------
    pairs : array of uint64, shape (m,)
        Output: packed pairs.
    offsets : array of int64, shape (n,)
        Index of the first pair of each point.
    points, squared_radius
        As for `count_near`.
    """
    if pairs.size == 0:
        return
    for i in prange(points.x.size):
        _visit_near(pairs, offsets[i], i, points, squared_radius)
