"""Arcs of R-MAT graphs."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.hashing import hash1
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.pairs import DROPPED, packed

_ONE, _TWO = np.uint64(1), np.uint64(2)
_S32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)


@njit
def _quarter(bits, right, lower, lower_right):
    """Choose a quarter of the matrix by 32 random bits, without branches, which would be mispredicted.

    Parameters
    ----------
    bits : uint64
        A random number below 2³².
    right, lower, lower_right : uint64
        The smallest `bits` that choose each of these quarters; smaller ones choose the upper left quarter.

    Returns
    -------
    row, column : uint64
        0 or 1 each.
    """
    row = np.uint64(bits >= lower)
    column = np.uint64(bits >= right) ^ row ^ np.uint64(bits >= lower_right)
    return row, column


@njit(parallel=True)
def fill_rmat(pairs, first, scale, thresholds, key, simple):
    """Write consecutive arcs of an endless random sequence; each hash is used for two levels of recursion.

    Parameters
    ----------
    pairs : array of uint64, shape (m,)
        Output: packed pairs. If `simple`, the smaller end comes first, and self-loops are DROPPED.
    first : int
        Index in the sequence of the first arc to write.
    scale : int
        The vertices are ``0 … 2**scale - 1``.
    thresholds : tuple of three uint64
        Cumulative probabilities of the first three quarters, times 2³².
    key : uint64
        Key of the random stream.
    simple : bool
    """
    right, lower, lower_right = thresholds
    for i in prange(pairs.size):
        row = column = np.uint64(0)
        arc = hash1(key, np.uint64(first) + np.uint64(i))
        for pair_of_levels in range((scale + 1) // 2):
            bits = hash1(arc, np.uint64(pair_of_levels))
            row0, column0 = _quarter(bits >> _S32, right, lower, lower_right)
            row1, column1 = _quarter(bits & _LOW32, right, lower, lower_right)
            row = row << _TWO | row0 << _ONE | row1
            column = column << _TWO | column0 << _ONE | column1
        if scale & 1:  # the last pair of levels has one too many
            row, column = row >> _ONE, column >> _ONE
        if not simple:
            pairs[i] = row << _S32 | column
        elif row == column:
            pairs[i] = DROPPED
        else:
            pairs[i] = packed(row, column)
