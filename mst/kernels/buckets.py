"""Geometric buckets: numbers for non-negative weights that keep their order but not their last bits."""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit

_ONE_EXPONENT = np.int64(1 << 52)
_INFINITE = np.int64(0x7FF + 52) * _ONE_EXPONENT
_LEAST_NORMAL = np.finfo(np.float64).smallest_normal


@njit
def bucket_numbers(weights, shift, numbers):
    """Write the bucket of each weight: its bits as float64, but the last `shift`.

    Weights must be exact in float64. Zero and infinity have buckets of their own. Subnormal weights are scaled
    into the normal range, which makes room for 52 exponents below.
    """
    for i in range(weights.size):
        x = np.float64(weights[i])
        if x == 0:
            number = np.int64(0)
        elif x == np.inf:
            number = np.int64(2) + (_INFINITE >> shift)
        elif x < _LEAST_NORMAL:
            number = np.int64(1) + (np.float64(x * 2.0**52).view(np.int64) >> shift)
        else:
            number = np.int64(1) + ((x.view(np.int64) + 52 * _ONE_EXPONENT) >> shift)
        numbers[i] = number
