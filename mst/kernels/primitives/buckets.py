"""Geometric buckets: numbers for non-negative weights that keep their order but not their last bits."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit

_ONE = np.uint64(1)
# Subnormal weights have up to 52 exponents below the normal ones.
_BELOW = np.uint64(52 << 52)
_INFINITE = np.uint64((0x7FF + 52) << 52)
_LEAST_NORMAL = np.finfo(np.float64).smallest_normal


@njit
def bucket_numbers(weights, shift, numbers):
    """Write the number of each weight's bucket: its bits as float64, without the last `shift`.

    `weights`, of any weight dtype and shape (m,), are non-negative and exact in float64; `numbers`, uint32 of shape
    (m,), is overwritten. Zero and infinity have separate buckets.
    """
    shift = np.uint64(shift)
    for i in range(weights.size):
        x = np.float64(weights[i])
        if x == 0:
            number = np.uint64(0)
        elif x == np.inf:
            number = _ONE + _ONE + (_INFINITE >> shift)
        elif x < _LEAST_NORMAL:
            number = _ONE + (np.float64(x * 2.0**52).view(np.uint64) >> shift)
        else:
            number = _ONE + ((x.view(np.uint64) + _BELOW) >> shift)
        numbers[i] = number
