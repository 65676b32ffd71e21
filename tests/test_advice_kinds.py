"""Kinds of weights are told apart by a few of them."""

from __future__ import annotations

import numpy as np
import pytest

from mst.advice.kinds import are_in_order, weights_along_rows
from mst.generators import generate
from mst.weights import WeightSpec


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("m", [200, 5000, 99_999])
def test_weights_that_follow_rows_are_seen_by_a_few_of_them(m, dtype):
    rng = np.random.default_rng(m)
    near = (np.arange(m) // 50 * 7919 % 8_000_000 + rng.integers(0, 40, m)).astype(dtype)
    far = rng.integers(0, 1 << 24, m).astype(dtype)
    nearly_equal = np.where(np.arange(m) == m // 2, 3, 7).astype(dtype)
    assert [weights_along_rows(w) for w in (near, nearly_equal)] == ["local"] * 2
    descending = np.unique(far)[::-1]
    ordered = [np.sort(far), descending, descending.repeat(2), np.sort(nearly_equal)[::-1]]
    assert {weights_along_rows(np.ascontiguousarray(w)) for w in (far, far % 3, *ordered)} == {"random"}
    if far.itemsize == 8:
        assert weights_along_rows((far * 1e9).astype(dtype) / 3) == "wide"
    beyond_float32 = 2.0 ** (far % 600).astype(float)
    assert weights_along_rows(beyond_float32) == "wide"
    assert weights_along_rows(near[:100]) == weights_along_rows(near[:0]) == "random"
    infinite = np.where(far % 2 == 0, np.inf, -np.inf)
    assert weights_along_rows(infinite) == "random"


@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        ("int32", "random"),
        ("int32:0:6", "random"),
        ("float64:0:1", "wide"),
        ("int64:-9:1152921504606846976", "wide"),
        ("float32:-1:1", "random"),
    ],
)
def test_kinds_of_generated_weights_are_recognised(weights, kind):
    graph = generate("grid", rows=200, columns=200, order="shuffled", seed=5, weights=WeightSpec.parse(weights))
    assert weights_along_rows(graph.w) == kind


def test_exact_halves_in_float64_are_not_wide():
    weights = generate("uniform", n=1000, m=9000).w
    assert weights_along_rows(weights / 2) == "random"
    assert weights_along_rows(np.where(weights % 2 == 0, 1e300, weights)) == "wide"


def test_rows_in_the_order_of_their_weights_are_seen():
    for w, in_order in (
        ([9, 4, 1], True),
        ([1, 4, 4], True),
        ([9, 4, 4], True),
        ([7, 7, 7], True),
        ([9, 4, 5], False),
    ):
        assert are_in_order(np.array(w, np.int32)) == in_order
