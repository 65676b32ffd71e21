"""Statistics over process medians: the median of medians and its bootstrap interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_RESAMPLES = 10_000


@dataclass(frozen=True)
class Summary:
    """Median of the processes' medians, with a 95 % bootstrap interval; None where nothing was measured."""

    count: int
    median: float | None
    low: float | None
    high: float | None


def summarise(values: Sequence[float]) -> Summary:
    """Summarise one number per process.

    Examples
    --------
    >>> from mst.bench.stats import summarise
    >>> summarise([1.0, 1.1, 0.9, 1.0, 1.2]).median
    1.0
    """
    if not values:
        return Summary(0, None, None, None)
    data = np.asarray(values, dtype=np.float64)
    # A fixed seed: the same samples always give the same interval.
    drawn = np.random.default_rng(0).integers(0, len(data), (_RESAMPLES, len(data)))
    low, high = np.percentile(np.median(data[drawn], axis=1), [2.5, 97.5])
    return Summary(len(data), float(np.median(data)), float(low), float(high))
