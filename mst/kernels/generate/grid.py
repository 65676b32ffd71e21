"""Edges of a two-dimensional grid."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.jit import njit

_S32 = np.uint64(32)


@njit(parallel=True)
def fill_grid(pairs, rows, columns):
    """Write the edges of a grid, sorted; the vertex at (row, column) is ``row * columns + column``.

    Parameters
    ----------
    pairs : array of uint64, shape (rows (columns - 1) + (rows - 1) columns,)
        Output: packed pairs.
    rows, columns : int
    """
    for row in prange(rows):
        i = row * (2 * columns - 1)
        for column in range(columns):
            x = row * columns + column
            if column + 1 < columns:
                pairs[i] = np.uint64(x) << _S32 | np.uint64(x + 1)
                i += 1
            if row + 1 < rows:
                pairs[i] = np.uint64(x) << _S32 | np.uint64(x + columns)
                i += 1
