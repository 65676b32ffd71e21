"""Exact sums of floats: significands added up as integers, a bin for each exponent.

The idea of Neal, *Fast exact summation using small and large superaccumulators*, 2015, without its chunks: a
bin per exponent needs no carries, and the few nonempty bins are combined once at the end.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit

BINS = 2048
LOW_BITS = 27
"""The 53 bits of a significand are split here, so that a bin has space for the sum of 2³⁶ halves."""


@njit
def bin_sums(values):
    """Add up significands by biased exponent.

    Parameters
    ----------
    values : numpy.ndarray of float32 or float64, shape (m,)
        Without NaN.

    Returns
    -------
    high, low : numpy.ndarray of int64, shape (2048,)
        Bin e stands for ``(high << 27) + low`` units of 2^(max(e, 1) - 1075). The last bin holds infinities:
        their signs added up in `high`, their number in `low`.
    """
    high, low = np.zeros(BINS, np.int64), np.zeros(BINS, np.int64)
    one = np.empty(1, np.float64)
    bits = one.view(np.int64)
    for value in values:
        one[0] = value
        exponent = (bits[0] >> 52) & (BINS - 1)
        significand = bits[0] & ((1 << 52) - 1)
        sign = -1 if bits[0] < 0 else 1
        if exponent == BINS - 1:
            high[exponent] += sign
            low[exponent] += 1
            continue
        if exponent > 0:
            significand |= 1 << 52
        high[exponent] += sign * (significand >> LOW_BITS)
        low[exponent] += sign * (significand & ((1 << LOW_BITS) - 1))
    return high, low
