"""Pairs of near points, through cells that are contiguous along the Hilbert curve."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.generate.hilbert import place_of
from mst.kernels.primitives.jit import njit

_S32 = np.uint64(32)


@njit
def _visit(pairs, at, i, x, y, starts, order, bits, square):
    """Write the pairs of point `i` with near points of a larger number, unless `pairs` is empty; count them."""
    cells = np.int64(1) << order
    shift = bits - order
    column, row = x[i] >> shift, y[i] >> shift
    found = 0
    for other_column in range(max(column - 1, 0), min(column + 2, cells)):
        for other_row in range(max(row - 1, 0), min(row + 2, cells)):
            cell = place_of(other_column, other_row, order)
            for j in range(max(starts[cell], i + 1), starts[cell + 1]):
                dx, dy = x[i] - x[j], y[i] - y[j]
                if dx * dx + dy * dy <= square:
                    if pairs.size:
                        pairs[at + found] = np.uint64(i) << _S32 | np.uint64(j)
                    found += 1
    return found


@njit(parallel=True)
def count_near(x, y, starts, order, bits, square):
    """For each point, how many points of a larger number are near it.

    Cell `c` of the ``2**order`` × ``2**order`` grid, in the order of the Hilbert curve, holds the points
    ``starts[c] … starts[c + 1] - 1``; it must be at least as wide as the root of `square`.
    """
    counts = np.empty(x.size, np.int64)
    nothing = np.empty(0, np.uint64)
    for i in prange(x.size):
        counts[i] = _visit(nothing, 0, i, x, y, starts, order, bits, square)
    return counts


@njit(parallel=True)
def fill_near(pairs, offsets, x, y, starts, order, bits, square):
    """Write the pairs that `count_near` counts; those of point `i` start at ``offsets[i]``."""
    if pairs.size == 0:
        return
    for i in prange(x.size):
        _visit(pairs, offsets[i], i, x, y, starts, order, bits, square)
