"""The order: edges compare by (weight, edge id), through order-preserving unsigned keys.

The order is total, so every graph has exactly one minimum spanning forest. Kernels see only keys: one kernel
per key width (32 or 64 bit) serves every weight dtype.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from mst.cores import MANY


def keys(weights: np.ndarray) -> np.ndarray:
    """Map weights to unsigned keys of the same order.

    Parameters
    ----------
    weights : numpy.ndarray, shape (m,)
        int32, int64, float32 or float64 without NaN.

    Returns
    -------
    numpy.ndarray, shape (m,)
        uint32 whenever the order fits in 32 bits: always for int32 and float32, for int64 whose range is
        below 2³², for float64 whose every value is exact in float32. uint64 otherwise. ``-0.0`` and ``0.0``
        get one key.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.order import keys
    >>> keys(np.array([-1.5, -0.0, 0.0, np.inf])).argsort(kind="stable").tolist()
    [0, 1, 2, 3]
    """
    from mst.kernels.primitives import keys as kernel

    if weights.dtype == np.int64:
        low, high = kernel.extremes(weights)
        if int(high) - int(low) < 2**32:
            return kernel.offset_keys(weights, low)
    elif weights.dtype == np.float64:
        if kernel.fits_float32(weights):
            weights = weights.astype(np.float32)
    elif weights.dtype not in (np.int32, np.float32):
        raise TypeError(f"no key transform for dtype {weights.dtype}")
    return kernel.plain_keys(weights)


def total(weights: np.ndarray, rows: np.ndarray | None = None, *, threads: int = 1) -> int | float:
    """Return the sum of weights: exact for integers of any total, correctly rounded for floats.

    Opposite infinities total NaN, as in IEEE 754.

    Parameters
    ----------
    weights : numpy.ndarray, shape (m,)
        int32, int64, float32 or float64 without NaN.
    rows : numpy.ndarray of int64, shape (k,), optional
        Places of the weights to add up; by default, all are added up.
    threads : int
        Used only if there are many weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.order import total
    >>> total(np.array([2**62, 2**62, 2**62]))
    13835058055282163712
    >>> total(np.array([0.1] * 10))
    1.0
    >>> total(np.array([5, 7, 6]), np.array([0, 2]))
    11
    """

    def part(first: int, last: int) -> np.ndarray:
        return weights[first:last] if rows is None else weights[rows[first:last]]

    integers = weights.dtype.kind == "i"
    size = len(weights if rows is None else rows)
    if not integers and "numba" not in sys.modules:
        # As exact, and done before numba is loaded; partial sums that overflow, and opposite infinities, are left.
        with contextlib.suppress(OverflowError, ValueError):
            return math.fsum(part(0, size).tolist())
    if integers:
        return sum(_by_parts(size, threads, lambda first, last: _integer_total(part(first, last))))
    bins = _by_parts(size, threads, lambda first, last: _bins(part(first, last)))
    return _rounded(np.sum(bins, axis=0))


def _by_parts(size: int, threads: int, function: Callable[[int, int], Any]) -> list:
    """Call ``function(first, last)`` for parts of ``0 … size - 1``, small enough that their weights stay in a cache."""
    if threads == 1 or size < MANY or "numba" not in sys.modules:
        return [function(first, first + MANY) for first in range(0, max(size, 1), MANY)]
    from mst.kernels.parallel.parts import by_threads

    with by_threads(threads) as parts:
        return parts(size, function)


def _integer_total(weights: np.ndarray) -> int:
    if weights.dtype.itemsize < 8:
        return int(weights.sum(dtype=np.int64))
    # 32-bit halves: neither sum can wrap below 2³¹ edges.
    high = int((weights >> 32).sum(dtype=np.int64))
    low = int((weights & 0xFFFFFFFF).sum(dtype=np.uint64))
    return (high << 32) + low


def _bins(weights: np.ndarray) -> np.ndarray:
    from mst.kernels.primitives.exact_sum import bin_sums

    return bin_sums(weights.astype(np.float64, copy=False))


def _rounded(bins: np.ndarray) -> float:
    """Return the total of the sums that `bin_sums` returns."""
    from mst.kernels.primitives.exact_sum import LOW_BITS

    high, low = bins.tolist()
    signs, infinities = high.pop(), low.pop()
    if infinities:
        return math.copysign(math.inf, signs) if abs(signs) == infinities else math.nan
    units = sum(((h << LOW_BITS) + l) << max(e - 1, 0) for e, (h, l) in enumerate(zip(high, low)) if h or l)
    try:
        return units / (1 << 1074)  # Python rounds a quotient of integers correctly
    except OverflowError:
        return math.inf if units > 0 else -math.inf
