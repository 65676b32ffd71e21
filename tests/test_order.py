"""Keys keep the order of every dtype and are as narrow as they can be; totals are exact."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import adversarial
import drawn
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mst.order import keys, total

DTYPES = adversarial.DTYPES


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(data=st.data())
def test_keys_compare_as_weights_do(dtype, data):
    weights = data.draw(drawn.weights(dtype, 8))
    found = keys(weights)
    assert found.dtype in (np.uint32, np.uint64)
    for a, x in zip(weights.tolist(), found.tolist()):
        for b, y in zip(weights.tolist(), found.tolist()):
            assert (a < b) == (x < y) and (a == b) == (x == y)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_keys_of_the_extremes_ascend(dtype):
    weights = adversarial.extremes(dtype)
    found = keys(weights).astype(object)
    distinct = np.diff(weights.astype(object)) != 0
    assert all((later > earlier) == step for earlier, later, step in zip(found, found[1:], distinct))


@pytest.mark.parametrize("dtype", (np.float32, np.float64))
def test_both_zeros_are_one(dtype):
    assert len(set(keys(np.array([0.0, -0.0], dtype)).tolist())) == 1
    assert len(set(keys(np.array([0.0, -0.0, 1 / 3], dtype)).tolist())) == 2


@pytest.mark.parametrize(
    "weights,width",
    [
        (np.array([-(2**31), 2**31 - 1], np.int32), 32),
        (np.array([0.5, np.inf], np.float32), 32),
        (np.array([2**62, 2**62 + 2**32 - 1]), 32),
        (np.array([2**62, 2**62 + 2**32]), 64),
        (np.array([-(2**63), -(2**63) + 2**32 - 1]), 32),
        (np.array([-(2**63), 2**63 - 1]), 64),
        (np.array([0.5, -np.inf, 3.0, -0.0]), 32),
        (np.array([0.1]), 64),
        (np.array([1e300]), 64),
        (np.array([1e-320]), 64),
        (np.array([2.0**-149]), 32),
        (np.empty(0, np.int64), 32),
        (np.empty(0, np.float64), 32),
    ],
)
def test_keys_are_narrow_when_the_order_fits(weights, width):
    assert keys(weights).dtype == np.dtype(f"u{width // 8}")


def test_offset_keys_reach_from_the_lowest_to_the_highest():
    assert keys(np.array([-5, 2**32 - 6, 0])).tolist() == [0, 2**32 - 1, 5]


def test_keys_refuse_unordered_values():
    with pytest.raises(TypeError, match="uint8"):
        keys(np.zeros(3, np.uint8))


def test_keys_leave_the_weights_alone():
    for dtype in DTYPES:
        weights = adversarial.extremes(dtype)
        before = weights.copy()
        keys(weights)[:] = 0
        assert np.array_equal(weights, before)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(data=st.data())
def test_totals_are_exact_or_correctly_rounded(dtype, data):
    weights = data.draw(drawn.weights(dtype, data.draw(st.integers(0, 9))))
    found = total(weights)
    values = weights.tolist()
    infinite = [x for x in values if isinstance(x, float) and math.isinf(x)]
    if len(set(infinite)) == 2:
        assert math.isnan(found)
    elif infinite:
        assert found == infinite[0]
    elif dtype.kind == "i":
        assert type(found) is int and found == sum(values)
    else:
        exact = sum(map(Fraction, values), Fraction(0))
        try:
            assert found == float(exact)
        except OverflowError:
            assert found == (math.inf if exact > 0 else -math.inf)


def test_totals_do_not_depend_on_the_order(rng):
    weights = rng.standard_normal(10_000) * 10.0 ** rng.integers(-200, 200, 10_000)
    assert total(weights) == total(weights[::-1]) == math.fsum(weights.tolist())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_totals_of_rows_do_not_depend_on_how_they_are_divided(dtype, threads, rng, monkeypatch):
    import mst.kernels.primitives.exact_sum  # noqa: F401 - threads serve where numba is loaded

    monkeypatch.setattr("mst.order.MANY", 1 << 12)
    weights = rng.integers(-(2**31), 2**31, 50_000) if dtype.kind == "i" else rng.standard_normal(50_000)
    if dtype.itemsize == 8:
        weights = weights * 2.0 ** rng.integers(0, 31, 50_000)
    weights = weights.astype(dtype)
    rows = np.flatnonzero(rng.random(50_000) < 0.8)
    for some in (rows, rows[:0], rows[: 1 << 12]):
        add_up = sum if dtype.kind == "i" else math.fsum
        assert total(weights, some, threads=threads) == add_up(weights[some].tolist())
    if dtype.kind == "f":
        weights[rows[[5, -5]]] = math.inf, -math.inf
        assert math.isnan(total(weights, rows, threads=threads))
        assert total(weights, rows[10:], threads=threads) == -math.inf


@pytest.mark.parametrize("loaded", [False, True])
def test_partial_sums_may_leave_the_range(loaded, monkeypatch):
    import numba  # noqa: F401

    if not loaded:
        monkeypatch.delitem(sys.modules, "numba")
    top = np.finfo(np.float64).max
    assert math.isnan(total(np.array([math.inf, -math.inf, math.inf])))
    assert total(np.array([top, top, -top])) == top
    assert total(np.array([top, top])) == math.inf and total(np.array([-top, -top])) == -math.inf
    assert total(np.array([2**63 - 1] * 5)) == 5 * (2**63 - 1)
    assert total(np.array([-(2**63)] * 5)) == -5 * 2**63
    assert total(np.array([2**31 - 1] * 5, np.int32)) == 5 * (2**31 - 1)
