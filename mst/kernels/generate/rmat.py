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
    """Row and column bit of the quarter that 32 random bits choose, without a branch to mispredict."""
    row = np.uint64(bits >= lower)
    column = np.uint64(bits >= right) ^ row ^ np.uint64(bits >= lower_right)
    return row, column


@njit(parallel=True)
def fill_rmat(pairs, first, scale, cuts, key, simple):
    """Write arcs number ``first …``; `cuts` are the quarters' cumulative probabilities times 2³².

    Simple ones have their smaller end first, and loops are DROPPED. One hash serves two levels.
    """
    right, lower, lower_right = cuts
    for i in prange(pairs.size):
        row = column = np.uint64(0)
        arc = hash1(key, np.uint64(first) + np.uint64(i))
        for pair_of_levels in range((scale + 1) // 2):
            bits = hash1(arc, np.uint64(pair_of_levels))
            row0, column0 = _quarter(bits >> _S32, right, lower, lower_right)
            row1, column1 = _quarter(bits & _LOW32, right, lower, lower_right)
            row = row << _TWO | row0 << _ONE | row1
            column = column << _TWO | column0 << _ONE | column1
        if scale & 1:  # an odd scale has no use for the last level
            row, column = row >> _ONE, column >> _ONE
        if not simple:
            pairs[i] = row << _S32 | column
        elif row == column:
            pairs[i] = DROPPED
        else:
            pairs[i] = packed(row, column)
