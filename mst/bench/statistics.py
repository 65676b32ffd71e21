"""Statistics over process medians: their median with an interval, the ratio of two sets of them, geometric means.

The unit of observation is the process, not the sample: samples of one process share its memory layout, its
pages and its place on the machine, so more of them make no interval narrower. One number per process, the
median of its samples, enters everything here.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import comb, cos, exp, fsum, log, nan, pi, sin, sqrt, tan

import numpy as np

COVERAGE = 0.95
NORMAL_95 = 1.96  # standard deviations of a normal distribution from its mean to the ends of its central 95 %
FEWEST_PROCESSES = 3
"""Fewest processes of a verdict, an interval or a headline: the range of three covers the median in 75 % of cases."""


@dataclass(frozen=True)
class Summary:
    """Median of the processes' medians, with an interval by order statistics; None if nothing was measured.

    The coverage is the probability that such an interval holds the median of the distribution that the values are from,
    for any such distribution (see `interval_ranks`). The spread is the range of the values over their median, None for
    fewer than two.
    """

    count: int
    median: float | None
    low: float | None
    high: float | None
    coverage: float = 0.0
    spread: float | None = None


@dataclass(frozen=True)
class Ratio:
    """The ratio of the second of two sets to the first, with a 95 % interval (None for sets too small)."""

    estimate: float
    low: float | None
    high: float | None


def summarise(values: Sequence[float]) -> Summary:
    """Summarise one number per process.

    >>> summarise([4.0, 5.0, 3.0, 4.0, 6.0])
    Summary(count=5, median=4.0, low=3.0, high=6.0, coverage=0.9375, spread=0.75)
    """
    if not len(values):
        return Summary(0, None, None, None)
    # NumPy takes ten times as long for so few values, which counts in a table of 100,000 records.
    data = sorted(map(float, values))
    median = statistics.median(data)
    rank, coverage = interval_ranks(len(data))
    low, high = data[rank - 1], data[-rank]
    spread = (data[-1] - data[0]) / median if len(data) > 1 and median > 0 else None
    return Summary(len(data), median, low, high, coverage, spread)


@cache
def interval_ranks(count: int) -> tuple[int, float]:
    """Return the rank from either end of the values that bound the median's interval, and its coverage.

    It is the narrowest interval between order statistics that covers the median of any continuous distribution with
    95 % (Hollander, Wolfe & Chicken, *Nonparametric Statistical Methods*, §3.6). Fewer than six values have none: for
    them it extends from the least to the greatest.

    >>> interval_ranks(3), interval_ranks(5), interval_ranks(9)
    ((1, 0.75), (1, 0.9375), (2, 0.9609375))
    """
    rank, coverage = 1, 1 - 2 / 2**count
    while (narrower := coverage - 2 * comb(count, rank) / 2**count) >= COVERAGE:
        rank, coverage = rank + 1, narrower
    return rank, coverage


def median_draws(values: Sequence[float], number: int, key: str) -> np.ndarray:
    """Return draws of the median, which carry the interval of `summarise` through arithmetic.

    Of n values of any continuous distribution, k lie below its median with probability C(n, k)/2ⁿ. A draw takes such a
    k, and the end of the gap after the k-th value that is farther from the middle: the 2.5th and 97.5th percentiles of
    many draws are the interval's ends. Equal keys give the same draws, others independent ones.

    >>> draws = median_draws([4.0, 5.0, 3.0, 4.0, 6.0], 1000, "a run")
    >>> [float(end) for end in np.percentile(draws, [2.5, 97.5])]
    [3.0, 6.0]
    """
    data, count = np.sort(np.asarray(values, float)), len(values)
    below = np.random.default_rng(list(key.encode())).binomial(count, 0.5, number)
    ends = data[np.where(2 * below < count, np.maximum(below, 1) - 1, np.minimum(below, count - 1))]
    return np.where(2 * below == count, np.median(data), ends)


def of_extremes(
    rows: np.ndarray, choose: Callable[..., np.ndarray], processes: Sequence[int], number: int | None = None
) -> np.ndarray:
    """Return the least or the greatest of several quantities with draws, one a row, the estimate first.

    The least of nine noisy draws would be below the least of the nine medians. So quantiles are compared with equal
    quantiles, and deviations are enlarged by as much as those of a normal distribution, estimated from so few
    processes, need for intervals that hold for all rows at once with 95 %. Downwards for the least, upwards for the
    greatest, each row only has to hold by itself (Berger 1982, intersection-union tests): the lower end of all is no
    higher than that of the row that is truly the least. Deviations of positive quantities are factors. The draws are
    shuffled: the extreme is independent of other quantities.

    `choose` is ``np.min`` or ``np.max``, `processes` the fewest behind each row, and `number` how many quantities there
    are, if more than those measured.
    """
    number = number or len(rows)
    if number == 1:
        return rows[0]
    if positive := rows.min() > 0:
        rows = np.log(rows)
    estimate = rows[:, :1]
    deviations = np.sort(rows[:, 1:], axis=1) - estimate
    # Two of three processes may be equal by chance, on one side of the median: the other side's scatter counts.
    symmetric = np.sort(np.sign(deviations) * np.maximum(abs(deviations), abs(deviations[:, ::-1])), axis=1)
    all_rows, one_row = (np.array([[_widening(size, count)] for count in processes]) for size in (number, 1))
    outer = symmetric < 0 if choose is np.min else symmetric > 0
    chosen = choose(estimate + np.where(outer, one_row, all_rows) * symmetric, axis=0)
    # Rounded, since the last bits of a logarithm differ between processors; zero has one sign.
    rounded = np.round(rows, 3) + 0.0
    seed = hashlib.sha256(rounded.tobytes() + choose.__name__.encode()).digest()
    found = np.concatenate((choose(estimate, axis=0), np.random.default_rng(list(seed)).permutation(chosen)))
    return np.exp(found) if positive else found


@cache
def _widening(rows: int, processes: int) -> float:
    """Return by how much to enlarge the intervals of several medians so that all hold at once with 95 % (Bonferroni).

    Student's t over the processes of one run, even where a row compares two.

    >>> [round(_widening(9, processes), 1) for processes in (3, 4, 5, 9)]
    [8.3, 3.4, 2.1, 1.5]
    """
    own = (1 + interval_ranks(processes)[1]) / 2
    return max(1.0, _student(1 - (1 - COVERAGE) / 2 / rows, processes - 1) / _student(own, processes - 1))


@cache
def _student(probability: float, freedom: int) -> float:
    """Return a quantile above the median of Student's t: √freedom times the tangent of an angle found by bisection.

    >>> [round(_student(0.975, freedom), 3) for freedom in (2, 3, 7)]
    [4.303, 3.182, 2.365]
    """
    low, high, whole = 0.0, pi / 2, _integral(freedom - 1, pi / 2)
    for _ in range(60):
        angle = (low + high) / 2
        share = _integral(freedom - 1, angle) / whole
        low, high = (angle, high) if (1 + share) / 2 < probability else (low, angle)
    return sqrt(freedom) * tan(low)


def _integral(power: int, angle: float) -> float:
    """Return the integral of a power of the cosine from 0 to an angle, by parts."""
    if power < 2:
        return sin(angle) if power else angle
    return (cos(angle) ** (power - 1) * sin(angle) + (power - 1) * _integral(power - 2, angle)) / power


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of the positive numbers among these; NaN of none.

    >>> round(geometric_mean([2.0, 8.0]), 12), geometric_mean([])
    (4.0, nan)
    """
    logs = [log(value) for value in values if value > 0]
    return exp(fsum(logs) / len(logs)) if logs else nan


def ratio(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """Estimate the ratio of `b` to `a`, from one positive number per process.

    The estimate is the Hodges–Lehmann one, the median of all ratios of a value of `b` to a value of `a`; the
    interval is the one that belongs to the Mann–Whitney test (Hollander, Wolfe & Chicken, *Nonparametric
    Statistical Methods*, §4.3), exact for any distribution of the noise. Sets too small for it (three processes
    against three or four, two against at most seven) fall back on Student's t over logarithms.
    """
    x, y = np.log(np.asarray(a, np.float64)), np.log(np.asarray(b, np.float64))
    shifts = np.sort(np.subtract.outer(y, x), axis=None)
    estimate = float(np.median(shifts))
    cut = _rank_cut(len(x), len(y))
    if cut is not None:
        low, high = shifts[cut], shifts[-1 - cut]
    elif min(len(x), len(y)) >= 2:
        freedom = len(x) + len(y) - 2
        pooled = (len(x) * x.var() + len(y) * y.var()) / freedom
        half = _student((1 + COVERAGE) / 2, freedom) * np.sqrt(pooled * (1 / len(x) + 1 / len(y)))
        low, high = estimate - half, estimate + half
    else:
        return Ratio(float(np.exp(estimate)), None, None)
    return Ratio(*(float(value) for value in np.exp((estimate, low, high))))


@cache
def _rank_cut(a: int, b: int) -> int | None:
    """Return how many pairwise shifts may be dropped at each end for 95 % coverage; None if even 0 covers less."""
    total, tails = comb(a + b, a), accumulate(_mann_whitney(a, b))
    first = next(u for u, tail in enumerate(tails) if 2 * tail > (1 - COVERAGE) * total)
    return first - 1 if first else None


def _mann_whitney(a: int, b: int) -> list[int]:
    """Return the numbers of arrangements of `a` and `b` values with Mann–Whitney statistic 0, 1, …, ab.

    They are the coefficients of the Gaussian binomial, the product of (1 - q^(b+i)) / (1 - q^i) over i ≤ a.
    """
    counts = [1] + [0] * (a * b)
    for i in range(1, a + 1):
        for k in range(a * b, b + i - 1, -1):
            counts[k] -= counts[k - b - i]
        for k in range(i, a * b + 1):
            counts[k] += counts[k - i]
    return counts
