"""Hashed weights: a function of the edge alone, unbiased, in range, and distinct where asked."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mst.errors import InputError
from mst.kernels.primitives import hashing
from mst.kernels.primitives.jit import njit
from mst.weights import WeightSpec, ecl_weights, hash_weights

MASK = 2**64 - 1
DTYPES = ("int32", "int64", "float32", "float64")


def mix(x: int) -> int:
    """The mixer, in Python's own integers."""
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & MASK
    return x ^ x >> 31


def hash2(key: int, i: int, j: int) -> int:
    """Hash of two counters, in Python's own integers."""
    golden = 0x9E3779B97F4A7C15
    return mix((mix((key + golden * i) & MASK) + golden * j) & MASK)


def below(bits: int, count: int) -> int:
    """Lemire's reduction, in Python's own integers."""
    while (bits * count & MASK) < 2**64 % count:
        bits = mix((bits + 0x9E3779B97F4A7C15) & MASK)
    return bits * count >> 64


@njit
def below_of_counters(key, count, out):
    for i in range(out.size):
        out[i] = hashing.below(hashing.hash1(key, i), count)


@njit
def images(permutation):
    return np.array([hashing.permuted(permutation, x) for x in range(permutation.size)])


@njit
def there_and_back(permutation, x):
    return hashing.unpermuted(permutation, hashing.permuted(permutation, x))


# --- the hash ---------------------------------------------------------------------------------------------


def test_weights_are_those_of_the_definition():
    u, v = np.array([5, 0, 7, 2**31 + 3]), np.array([1, 0, 9, 2**40])
    key = int(hashing.stream(3, "weights"))
    expected = [
        below(hash2(key, min(a, b), max(a, b)), 1000) + 1 for a, b in zip(u.tolist(), v.tolist(), strict=True)
    ]
    assert hash_weights(u, v, seed=3, spec=WeightSpec("int32", 1, 1000)).tolist() == expected


@given(st.integers(0, MASK), st.integers(0, MASK))
def test_wide_product(x, y):
    high, low = hashing.wide_product(np.uint64(x), np.uint64(y))
    assert int(high) << 64 | int(low) == x * y


@pytest.mark.parametrize("count", [1, 2, 3, 1000, 2**24 - 1, 2**32 + 1, 2**63, 2**63 + 1, 3 * 2**62 + 7])
def test_below_is_lemires_and_in_range(count):
    out = np.empty(300, np.uint64)
    below_of_counters(np.uint64(9), np.uint64(count), out)
    golden = 0x9E3779B97F4A7C15
    assert out.tolist() == [below(mix((9 + golden * i) & MASK), count) for i in range(300)]
    assert int(out.max()) < count


@pytest.mark.parametrize("count", [3, 1000, 3 * 2**62])
def test_below_is_unbiased(count):
    """Chi-square over equal parts; at 3·2⁶² a mere product would favour one value out of three."""
    out = np.empty(300_000, np.uint64)
    below_of_counters(np.uint64(4), np.uint64(count), out)
    parts = np.bincount((out // np.uint64(max(count // 3, 1))).astype(np.int64), minlength=3)[:3]
    thirds = count // 3 * np.array([1, 1, 1]) / count * len(out)
    assert ((parts - thirds) ** 2 / thirds).sum() < 20  # two degrees of freedom: 4.5e-5
    lowest_bit = int((out & np.uint64(1)).sum())
    share = (count // 2) / count
    assert abs(lowest_bit - len(out) * share) < 5 * math.sqrt(len(out) * share * (1 - share))


def test_below_of_zero_is_all_bits():
    out = np.empty(5, np.uint64)
    below_of_counters(np.uint64(1), np.uint64(0), out)
    assert out.tolist() == [mix((1 + 0x9E3779B97F4A7C15 * i) & MASK) for i in range(5)]


# --- permutations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [*range(20), 100, 1023, 1024, 1025, 40_000])
def test_permutation_is_a_bijection(size):
    order = hashing.permutation(1, "test", size)
    assert np.array_equal(np.sort(hashing.permuted_range(order, size)), np.arange(size))


@given(st.integers(1, MASK), st.integers(0, MASK), st.integers(0, 9))
def test_unpermuted_inverts_permuted(size, x, seed):
    assert int(there_and_back(hashing.permutation(seed, "test", size), np.uint64(x % size))) == x % size


@pytest.mark.parametrize(("size", "tries"), [(2, 400), (3, 600), (4, 1000), (5, 3000)])
def test_all_permutations_of_few_elements_are_equally_likely(size, tries):
    seen: dict[tuple, int] = {}
    for seed in range(tries):
        image = tuple(images(hashing.permutation(seed, "test", size)).tolist())
        seen[image] = seen.get(image, 0) + 1
    kinds = math.factorial(size)
    mean = tries / kinds
    chi_square = sum((times - mean) ** 2 / mean for times in seen.values()) + (kinds - len(seen)) * mean
    assert chi_square < (kinds - 1) + 6 * math.sqrt(2 * (kinds - 1))


def test_large_permutations_scatter():
    """The first images of a large domain fill its sixteenths evenly, in either digit of the network."""
    size = 10**15
    images = hashing.permuted_range(hashing.permutation(2, "test", size), 64_000)
    for parts in (images // np.uint64(size // 16 + 1), images % np.uint64(16)):
        times = np.bincount(parts.astype(np.int64), minlength=16)
        assert ((times - 4000) ** 2 / 4000).sum() < 50  # 15 degrees of freedom: 1e-5


def test_streams_differ_by_seed_and_label():
    keys = {int(hashing.stream(seed, label)) for seed in (-1, 0, 1, 10) for label in ("a", "0 a", "weights")}
    assert len(keys) == 12


# --- a function of the edge -------------------------------------------------------------------------------


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_neither_order_nor_direction_matters(dtype, distinct, rng):
    pairs = rng.integers(0, 60, (500, 2)).astype(np.int32)
    pairs = np.unique(np.sort(pairs, axis=1), axis=0)
    u, v = pairs.T
    spec = WeightSpec(dtype, -50_000, 70_000, distinct)
    weights = hash_weights(u, v, seed=5, spec=spec)
    order = rng.permutation(len(u))
    turned = rng.integers(0, 2, len(u)).astype(bool)
    a, b = np.where(turned, v, u)[order], np.where(turned, u, v)[order]
    assert np.array_equal(hash_weights(a, b, seed=5, spec=spec), weights[order])
    assert weights.dtype == dtype
    assert not np.array_equal(hash_weights(u, v, seed=6, spec=spec), weights)


def test_the_dtype_of_ids_does_not_matter():
    spec = WeightSpec("int32", 1, 1000)
    u, v = np.arange(50), np.arange(50) * 3
    expected = hash_weights(u, v, seed=1, spec=spec)
    for dtype in (np.int32, np.uint8):
        assert np.array_equal(hash_weights(u.astype(dtype), v.astype(dtype), seed=1, spec=spec), expected)


def test_parallel_edges_weigh_the_same_unless_distinct():
    u, v = [0, 1, 0, 2, 2], [1, 0, 1, 2, 2]
    same = hash_weights(u, v, seed=1, spec=WeightSpec("int32", 1, 1000))
    assert same[0] == same[1] == same[2] != same[3] == same[4]
    assert len(set(hash_weights(u, v, seed=1, spec=WeightSpec("int32", 1, 5, distinct=True)).tolist())) == 5


def test_ids_of_more_than_32_bits():
    u, v = np.array([2**40, 1, 2**33]), np.array([2, 2**40 + 1, 2**33 + 5])
    spec = WeightSpec("int64", 1, 100, distinct=True)
    weights = hash_weights(u, v, seed=1, spec=spec)
    assert len(set(weights.tolist())) == 3
    assert np.array_equal(hash_weights(v[::-1], u[::-1], seed=1, spec=spec), weights[::-1])


@pytest.mark.parametrize("shift", range(0, 40, 3))
def test_distinct_weights_depend_on_the_order_of_ids_alone(shift, rng):
    u, v = rng.integers(0, 60, (2, 500))
    spec = WeightSpec("int32", 1, 10**6, distinct=True)
    weights = hash_weights(u << shift, v << shift, seed=1, spec=spec)
    ranks = np.lexsort((np.arange(500), np.maximum(u, v), np.minimum(u, v)))
    in_order = hash_weights(np.arange(500), np.arange(500), seed=1, spec=spec)
    assert np.array_equal(weights[ranks], in_order)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("distinct", [False, True])
def test_no_edges(dtype, distinct):
    weights = hash_weights([], [], seed=1, spec=WeightSpec(dtype, 0, 1, distinct))
    assert weights.dtype == dtype and weights.size == 0


# --- ranges -----------------------------------------------------------------------------------------------

RANGES = [
    ("int32", 1, 1000),
    ("int32", -(2**31), 2**31 - 1),
    ("int32", 7, 7),
    ("int64", -(2**63), 2**63 - 1),
    ("int64", -(2**63), -(2**63) + 2),
    ("int64", 2**62, 2**62 + 2**40),
    ("float32", 0, 1),
    ("float32", -1, 1),
    ("float32", 1, 1000),
    ("float32", -3.4e38, 3.4e38),
    ("float32", 0, 1e-44),
    ("float64", 0, 1),
    ("float64", 0.1, 0.3),
    ("float64", -1000, -999),
    ("float64", -1.7e308, 1.7e308),
    ("float64", 0, 1e-322),
    ("float64", 1, 1 + 2**-50),
]


@pytest.mark.parametrize(("dtype", "low", "high"), RANGES)
def test_in_range_and_uniform(dtype, low, high):
    spec = WeightSpec(dtype, low, high)
    u = np.arange(40_000, dtype=np.int32)
    weights = hash_weights(u, u + 1, seed=1, spec=spec)
    assert weights.dtype == dtype
    top = int(high) if spec.is_integer else float(high)
    assert weights.min() >= low
    assert weights.max() <= top if spec.is_integer else weights.max() < top
    # Sixteen equal parts of the values that there are; few values have a part each.
    first, stop, exponent = spec.lattice
    places = [int(x / 2.0**exponent) if exponent else int(x) for x in weights.tolist()]
    count = stop - first
    parts = min(16, count)
    times = np.bincount([(place - first) * parts // count for place in places], minlength=parts)
    shares = np.diff([-(-k * count // parts) for k in range(parts + 1)]) / count * len(weights)
    assert ((times - shares) ** 2 / shares).sum() < 50
    assert count == spec.count


@pytest.mark.parametrize(("dtype", "low", "high"), RANGES)
def test_distinct_takes_each_value_at_most_once(dtype, low, high):
    spec = WeightSpec(dtype, low, high, distinct=True)
    m = min(spec.count, 3000)
    u = np.arange(m, dtype=np.int32)
    weights = hash_weights(u[::-1], u[::-1], seed=1, spec=spec)
    assert len(np.unique(weights)) == m
    assert weights.min() >= low and weights.max() <= high
    if spec.count <= 3000:
        first, stop, exponent = spec.lattice
        assert sorted(weights.tolist()) == [j * 2.0**exponent if exponent else j for j in range(first, stop)]


def test_distinct_weights_spread_over_the_range():
    u = np.arange(1000)
    weights = hash_weights(u, u + 1, seed=1, spec=WeightSpec("int32", 0, 10**9, distinct=True))
    assert 0.45e9 < weights.mean() < 0.55e9
    assert not (np.diff(weights) > 0).all()


def test_unit_interval_is_the_usual_one():
    assert WeightSpec("float64", 0, 1).lattice == (0, 2**53, -53)
    assert WeightSpec("float32", 0, 1).lattice == (0, 2**24, -24)


@given(
    st.sampled_from(["float32", "float64"]),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
@example("float32", 2.0**-60, 1.0)
def test_every_float_of_a_lattice_is_exact(dtype, low, high):
    if not low < high:
        return
    try:
        first, stop, exponent = WeightSpec(dtype, low, high).lattice
    except InputError:
        return  # nothing in between
    for place in {first, stop - 1, (first + stop) // 2}:
        value = math.ldexp(place, exponent)
        assert float(np.dtype(dtype).type(value)) == value
        assert np.dtype(dtype).type(low) <= value < np.dtype(dtype).type(high)
        assert value / 2.0**exponent == place


# --- specifications ---------------------------------------------------------------------------------------


@given(st.sampled_from(DTYPES), st.integers(-1000, 0), st.integers(1, 1000), st.booleans())
def test_text_round_trip(dtype, low, high, distinct):
    spec = WeightSpec(dtype, low, high, distinct)
    assert WeightSpec.parse(str(spec)) == spec


def test_weights_in_an_order_are_those_of_no_order_sorted(rng):
    u, v = rng.integers(0, 100, (2, 1000))
    random, up, down, near = (
        hash_weights(u, v, seed=3, spec=WeightSpec.parse(f"float32:0:1{order}"))
        for order in ("", ":ascending", ":descending", ":local")
    )
    assert up.tolist() == sorted(random.tolist()) == down.tolist()[::-1] != random.tolist()
    assert near.tolist() != up.tolist() == sorted(near.tolist())
    assert (np.abs(np.searchsorted(up, near) - np.arange(1000)) < 64).all()
    spec = WeightSpec("int32", 0, 9**5, distinct=True, order="ascending")
    assert WeightSpec.parse(str(spec)) == spec and (np.diff(hash_weights(u, v, seed=3, spec=spec)) > 0).all()


def test_specs_take_defaults_and_numpy_dtypes():
    assert WeightSpec.parse("int32") == WeightSpec() == WeightSpec(np.int32)
    assert WeightSpec(np.dtype("float64"), 0, 1).dtype == "float64"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("int16",),
            "no dtype 'int16' for weights (did you mean 'int64'?): use one of int32, int64, float32, float64",
        ),
        ((None,), "no dtype 'None' for weights"),
        (("int32", 1, 2**31), "high = 2147483648 is not a value of int32"),
        (("int32", 1.5, 3), "low = 1.5 is not a value of int32"),
        (("int32", "one", 3), "low = 'one' is not a value of int32"),
        (("int64", float("nan"), 3), "low = nan"),
        (("int64", 1, float("inf")), "high = inf"),
        (("float32", 0, 1e39), "high = 1e+39 is not a value of float32"),
        (("float64", 0, float("inf")), "high = inf"),
        (("float64", None, 1), "low = None"),
        (("int32", 3, 2), "int32:3:2 are an empty range: give high ≥ low"),
        (("float64", 1, 1), "empty range: give high > low"),
        (("int32", 1, 2, "yes"), "distinct must be true or false, got 'yes'"),
    ],
)
def test_bad_specs_are_refused(arguments, message):
    with pytest.raises(InputError) as raised:
        WeightSpec(*arguments)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "int32:1:9:sideways",
        "int32:1:9:random",
        "int32:ascending",
        "int32:1:9:ascending:distinct",
        "int32:1",
        "int32:1:2:3",
        "int32:1:2:distinct:4",
        "int8:1:2",
        "int32:a:b",
        "",
    ],
)
def test_bad_texts_are_refused(text):
    with pytest.raises(InputError):
        WeightSpec.parse(text)


def test_too_few_values_for_distinct_weights():
    u = np.arange(11)
    with pytest.raises(InputError, match=r"11 edges cannot have distinct weights from the 10 of int32:1:10"):
        hash_weights(u, u, seed=1, spec=WeightSpec("int32", 1, 10, distinct=True))


@pytest.mark.parametrize(
    ("u", "v"),
    [([0, 1], [1]), ([[0]], [[1]]), ([0.5], [1]), ([1], [0.5]), (["a"], [1])],
    ids=["lengths", "2-d", "float", "float v", "text"],
)
def test_bad_ends_are_refused(u, v):
    with pytest.raises(InputError):
        hash_weights(u, v, seed=1, spec=WeightSpec())


def test_ecl_weights_wrap_around_as_in_c(rng):
    n = 3_774_768
    u, v = rng.integers(0, n, (2, 1000))

    def in_c(a, b):
        product = (a * b + 2**31) % 2**32 - 2**31
        remainder = abs(product) % n * (1 if product >= 0 else -1)
        return abs(1 + remainder)

    expected = [in_c(int(a), int(b)) for a, b in zip(u, v, strict=True)]
    for ends in ((u, v), (v.astype(np.int32), u.astype(np.int32))):
        weights = ecl_weights(*ends, n)
        assert weights.dtype == np.int32 and weights.tolist() == expected
    assert ecl_weights([65536, 65536], [32768, 65536], 7).tolist() == [1, 1]  # -2**31 and 0 (mod 7)
    assert ecl_weights([], [], 3).tolist() == []
