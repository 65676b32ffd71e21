"""Edges of a two-dimensional grid, and the replacement of edges by paths."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.pairs import packed

_S32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)


@njit(parallel=True)
def fill_grid(pairs, rows, columns):
    """Write the edges of a grid in sorted order; the vertex at (row, column) is ``row * columns + column``.

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


@njit(parallel=True)
def fill_bends(bent, pairs, n):
    """Replace each edge by a path; new vertices, from `n` on, are shared evenly and numbered along each path.

    Parameters
    ----------
    bent : array of uint64, shape (m + new vertices,)
        Output: packed pairs.
    pairs : array of uint64, shape (m,), m ≥ 1
        Packed pairs.
    n : int
        Number of vertices of `pairs`.
    """
    each, more = divmod(bent.size - pairs.size, pairs.size)
    for path in prange(pairs.size):
        i = np.int64(path)
        new = i * each + min(i, more)
        row, last = i + new, np.int64(pairs[i] >> _S32)
        for x in range(n + new, n + new + each + (i < more)):
            bent[row] = packed(last, x)
            row, last = row + 1, np.int64(x)
        bent[row] = packed(last, pairs[i] & _LOW32)
