"""The order of edges by (weight, edge id), and the unsigned integer keys that preserve it.

The order is total, so every graph has exactly one minimum spanning forest. Kernels work on keys alone, so one kernel
per key size (32 or 64 bits) serves all weight dtypes.
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
    """Return unsigned integer keys in the same order as the weights.

    Parameters
    ----------
    weights : numpy.ndarray, shape (m,)
        int32, int64, float32 or float64 without NaN.

    Returns
    -------
    numpy.ndarray, shape (m,)
        uint32 where 32 bits suffice: for int32 and float32, for int64 weights that span less than 2³², and for float64
        weights that float32 represents exactly; otherwise uint64. ``-0.0`` and ``0.0`` have the same key.

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
    """Return the sum of weights: an exact int for integers, correctly rounded for floats.

    The sum of opposite infinities is NaN, as in IEEE 754.

    Parameters
    ----------
    weights : numpy.ndarray, shape (m,)
        int32, int64, float32 or float64 without NaN.
    rows : numpy.ndarray of int64, shape (k,), optional
        Positions of the weights to add up; by default, all.
    threads : int
        Threads to use if there are many weights.

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
        # As exact, and faster than loading numba; it fails if a partial sum overflows, and for opposite infinities.
        with contextlib.suppress(OverflowError, ValueError):
            return math.fsum(part(0, size).tolist())
    if integers:
        return sum(_by_parts(size, threads, lambda first, last: _integer_total(part(first, last))))
    bins = _by_parts(size, threads, lambda first, last: _bins(part(first, last)))
    return _rounded(np.sum(bins, axis=0))


def _by_parts(size: int, threads: int, function: Callable[[int, int], Any]) -> list:
    """Call ``function(first, last)`` for parts of ``0 … size - 1``, each so small that its weights fit the cache."""
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
    """Return the correctly rounded total of the result of `bin_sums`."""
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
