"""Edges of a two-dimensional grid."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.jit import njit

_S32 = np.uint64(32)


@njit(parallel=True)
def fill_grid(pairs, rows, cols):
    """Write the edges of a grid, sorted; the vertex at (row, column) is ``row * cols + column``."""
    for row in prange(rows):
        i = row * (2 * cols - 1)
        for column in range(cols):
            x = row * cols + column
            if column + 1 < cols:
                pairs[i] = np.uint64(x) << _S32 | np.uint64(x + 1)
                i += 1
            if row + 1 < rows:
                pairs[i] = np.uint64(x) << _S32 | np.uint64(x + cols)
                i += 1
