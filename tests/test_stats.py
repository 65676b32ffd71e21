"""Medians of process medians, their intervals, and ratios of two sets."""

from __future__ import annotations

import itertools
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mst.bench.statistics import (
    COVERAGE,
    _mann_whitney,
    _rank_cut,
    geometric_mean,
    interval_ranks,
    median_draws,
    of_extremes,
    ratio,
    summarise,
)

times = st.floats(1e-6, 1e3)


def test_summary_of_nothing_is_none():
    summary = summarise([])
    assert (summary.count, summary.median, summary.low, summary.high, summary.spread) == (0, *[None] * 4)


def test_one_process_has_an_interval_of_one_point_and_no_spread():
    summary = summarise([0.25])
    assert (summary.median, summary.low, summary.high, summary.spread) == (0.25, 0.25, 0.25, None)
    assert summarise([0.0, 0.0]).spread is None


@given(st.lists(times, min_size=2, max_size=12))
def test_interval_contains_the_median_within_the_range(values):
    summary = summarise(values)
    assert min(values) <= summary.low <= summary.median <= summary.high <= max(values)
    assert summary.median == float(np.median(values))
    assert summary.spread == pytest.approx((max(values) - min(values)) / summary.median)


@pytest.mark.parametrize("count", range(1, 31))
def test_interval_is_the_narrowest_of_its_coverage(count):
    rank, coverage = interval_ranks(count)
    outside = [2 * sum(comb(count, i) for i in range(r)) / 2**count for r in (rank, rank + 1)]
    assert coverage == 1 - outside[0]
    assert 1 - outside[1] < COVERAGE <= coverage or (count < 6 and rank == 1)


def test_five_processes_are_bounded_by_their_range_and_nine_by_the_second_and_eighth():
    five, nine = summarise([5.0, 1.0, 3.0, 2.0, 4.0]), summarise([9.0, 8, 7, 6, 5, 4, 3, 2, 1])
    assert (five.low, five.high, five.coverage) == (1, 5, 0.9375)
    assert (nine.low, nine.high) == (2, 8) and nine.coverage > 0.95


def test_interval_covers_the_true_median(rng):
    noise = np.exp(rng.normal(0, 0.1, (400, 11)))
    assert np.mean([s.low <= 1 <= s.high for s in map(summarise, noise)]) > 0.93


def test_geometric_mean_leaves_out_values_without_logarithm():
    assert geometric_mean([0.1, 1000.0, 0.0, float("nan")]) == pytest.approx(10)
    assert np.isnan(geometric_mean([0.0]))


@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 3), (3, 3), (4, 5), (5, 5)])
def test_mann_whitney_counts_every_order(a, b):
    counts = [0] * (a * b + 1)
    for places in itertools.combinations(range(a + b), a):
        counts[sum(p - i for i, p in enumerate(places))] += 1
    assert _mann_whitney(a, b) == counts
    assert sum(counts) == comb(a + b, a)


def test_rank_interval_needs_enough_processes():
    assert _rank_cut(5, 5) == 2  # two-sided 8/252 beyond the third shift
    assert _rank_cut(4, 4) == 0
    assert _rank_cut(3, 3) is None
    assert _rank_cut(2, 8) == 0
    five = [1.0, 2.0, 4.0, 8.0, 16.0], [3.0, 9.0, 27.0, 81.0, 243.0]
    ratios = sorted(y / x for x, y in itertools.product(*five))
    assert (ratio(*five).low, ratio(*five).high) == pytest.approx((ratios[2], ratios[-3]))


@given(st.lists(times, min_size=2, max_size=8), st.lists(times, min_size=2, max_size=8))
def test_swapping_the_sides_inverts_the_ratio(a, b):
    forward, back = ratio(a, b), ratio(b, a)
    assert forward.low <= forward.estimate * (1 + 1e-9) and forward.estimate <= forward.high * (1 + 1e-9)
    assert forward.estimate == pytest.approx(1 / back.estimate, rel=1e-9)
    assert forward.low == pytest.approx(1 / back.high, rel=1e-9)


@given(st.lists(times, min_size=4, max_size=8), st.floats(0.01, 100))
def test_ratio_is_the_factor_between_the_sides(values, factor):
    assert ratio(values, [factor * v for v in values]).estimate == pytest.approx(factor, rel=1e-9)


def test_one_process_has_an_estimate_and_no_interval():
    result = ratio([1.0], [2.0, 2.0, 2.0])
    assert result.estimate == pytest.approx(2.0)
    assert result.low is None and result.high is None


@pytest.mark.parametrize("sizes", [(5, 5), (5, 3), (3, 3), (2, 4), (8, 8)])
def test_ratio_interval_covers_the_true_ratio(rng, sizes):
    covered = 0
    for _ in range(400):
        a, b = (np.exp(rng.normal(0, 0.05, size)) for size in sizes)
        result = ratio(a, 1.2 * b)
        covered += result.low <= 1.2 <= result.high
    assert covered / 400 > 0.92  # 95 % less three standard errors


def test_intervals_of_ratios_and_means_cover_at_least_what_they_say():
    """The runs are equal, of five processes each."""
    rng, rounds = np.random.default_rng(1), 100
    covered = means = 0
    for round_ in range(rounds):
        ratios = equal_graphs(rng, 5, round_, pairs=True)
        low, high = np.percentile(ratios[0][1:], [2.5, 97.5])
        covered += low <= 1 <= high
        low, high = np.percentile(np.exp(np.log(ratios[:, 1:]).mean(axis=0)), [2.5, 97.5])
        means += low <= 1 <= high
    assert min(covered, means) >= 0.93 * rounds


def equal_graphs(rng, processes, key, *, pairs, noise="normal"):
    """Nine equal graphs: draws of the ratio of two equal runs, or of one run's time, whose true value is 1."""
    rows = []
    for graph in range(9):
        draw = rng.standard_normal if noise == "normal" else lambda size: rng.standard_t(3, size)
        a, b = np.exp(0.02 * draw((2, processes)))
        found = np.concatenate(([np.median(b)], median_draws(b, 500, f"b{graph}{key}")))
        below = np.concatenate(([np.median(a)], median_draws(a, 500, f"a{graph}{key}"))) if pairs else 1.0
        rows.append(found / below)
    return np.array(rows)


@pytest.mark.parametrize("noise", ["normal", "heavy"])
@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("processes", [3, *(pytest.param(p, marks=pytest.mark.slow) for p in (4, 5, 9))])
def test_one_of_nine_equal_graphs_is_seldom_a_counterexample(processes, pairs, noise):
    """In at most 5 of 100 sets of nine graphs the least one is below 1, even with three processes."""
    rng, rounds = np.random.default_rng(processes), 200
    false = 0
    for round_ in range(rounds):
        rows = equal_graphs(rng, processes, round_, pairs=pairs, noise=noise)
        false += np.percentile(of_extremes(rows, np.min, [processes] * len(rows))[1:], 97.5) <= 1
    assert false <= 0.05 * rounds


@pytest.mark.parametrize("choose, end", [(np.min, 2.5), (np.max, 97.5)])
@pytest.mark.parametrize("processes", [3, 9])
def test_outer_end_of_an_extreme_holds_for_the_row_that_is_the_extreme(choose, end, processes):
    """One graph lies far outside the other eight: its true value, 1, is beyond the end in at most 5 of 100 sets."""
    rng, rounds, away = np.random.default_rng(processes), 200, {np.min: 2.0, np.max: 0.5}[choose]
    missed = 0
    for round_ in range(rounds):
        rows = equal_graphs(rng, processes, round_, pairs=False)
        rows[1:] *= away
        found = np.percentile(of_extremes(rows, choose, [processes] * len(rows))[1:], end)
        missed += found > 1 if choose is np.min else found < 1
    assert missed <= 0.05 * rounds


def test_outer_end_of_an_extreme_is_no_wider_than_that_of_one_row():
    """Nine equal rows of nine processes: only the end towards the other rows allows for their number."""
    draws = [median_draws(np.exp(np.linspace(-0.1, 0.1, 9)), 1000, str(k)) for k in range(9)]
    rows = np.stack([np.r_[1.0, own] for own in draws])
    low, high = np.percentile(of_extremes(rows, np.min, [9] * 9)[1:], [2.5, 97.5])
    assert np.log(low) == pytest.approx(-0.075, rel=0.02) and np.log(high) > 0.1
    low, high = np.percentile(of_extremes(rows, np.max, [9] * 9)[1:], [2.5, 97.5])
    assert np.log(low) < -0.1 and np.log(high) == pytest.approx(0.075, rel=0.02)


def test_extreme_of_one_row_is_that_row():
    row = np.r_[[2.0], median_draws([1.9, 2.0, 2.6], 100, "alone")]
    assert of_extremes(row[None], np.min, [3]).tolist() == row.tolist()


def test_draws_of_the_least_and_the_greatest_are_independent():
    rows = np.stack([np.r_[2.0, median_draws([1.4, 2.0, 2.6], 1000, str(k))] for k in range(8)])
    least, greatest = (of_extremes(rows, choose, [3] * 8)[1:] for choose in (np.min, np.max))
    assert abs(np.corrcoef(least, greatest)[0, 1]) < 0.1


def test_draw_between_the_middle_two_values_is_the_median():
    assert set(median_draws([1.0, 3.0], 100, "two").tolist()) == {1.0, 2.0, 3.0}


def test_run_of_few_processes_widens_the_intervals_of_no_others():
    """Each interval holds together with the others by its own processes: a wide one hides no counterexample."""
    few, many = [1.5, 2.0, 2.5], [0.4, 0.41, 0.42, 0.43, 0.44, 0.45, 0.46, 0.47, 0.48]
    rows = np.stack([np.r_[np.median(v), median_draws(v, 1000, f"{len(v)}")] for v in (few, many)])
    alone, both = (np.percentile(of_extremes(rows[k:], np.min, [3, 9][k:], 42)[1:], 97.5) for k in (1, 0))
    assert both <= alone < 1


@pytest.mark.parametrize("choose", [np.min, np.max])
def test_interval_of_an_extreme_factor_is_positive(choose):
    """Three processes that scatter by a third: a widened difference would reach below nothing."""
    rows = np.stack([np.r_[2.0, median_draws([1.4, 2.0, 2.6], 1000, str(k))] for k in range(8)])
    drawn = of_extremes(rows, choose, [3] * 8)
    assert drawn.min() > 0 and drawn[0] == pytest.approx(2) and np.percentile(drawn, 2.5) <= 1.4


@pytest.mark.parametrize("unit", [2.0, 1.0])
def test_draws_of_the_least_do_not_depend_on_the_last_bits_of_a_logarithm(unit):
    """Processors round logarithms differently, and docs/papers.md must be the same on all of them."""
    seconds = unit * np.array([0.7, 1.0, 1.3])
    rows = np.stack([np.r_[unit, median_draws(seconds, 1000, str(k))] for k in range(8)])
    elsewhere = np.nextafter(rows, 0.0)
    drawn, again = (of_extremes(values, np.min, [3] * 8) for values in (rows, elsewhere))
    np.testing.assert_allclose(drawn, again, rtol=1e-12)
