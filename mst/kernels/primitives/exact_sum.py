"""Exact sums of floats: significands added up as integers, a bin for each exponent.

After Neal, *Fast exact summation using small and large superaccumulators*, 2015, but without chunks: a bin per exponent
needs no carries, and `mst.order` combines the few nonempty bins once at the end.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit

BINS = 2048
LOW_BITS = 27
"""The 53 bits of a significand are split here, so that a bin has space for the sum of 2³⁶ halves."""


@njit(nogil=True)
def bin_sums(values):
    """Add up significands by biased exponent.

    Parameters
    ----------
    values : numpy.ndarray of float64, shape (m,)
        Without NaN.

    Returns
    -------
    numpy.ndarray of int64, shape (2, 2048)
        Bin e stands for ``([0, e] << 27) + [1, e]`` units of 2^(max(e, 1) - 1075). The last bin holds infinities:
        their signs added up, then their number.
    """
    sums = np.zeros((2, BINS), np.int64)
    high, low = sums
    for bits in values.view(np.int64):
        exponent = (bits >> 52) & (BINS - 1)
        significand = bits & ((1 << 52) - 1)
        sign = -1 if bits < 0 else 1
        if exponent == BINS - 1:
            high[exponent] += sign
            low[exponent] += 1
            continue
        if exponent > 0:
            significand |= 1 << 52
        high[exponent] += sign * (significand >> LOW_BITS)
        low[exponent] += sign * (significand & ((1 << LOW_BITS) - 1))
    return sums
