"""Numbers from text: every float correctly rounded, every integer exact, everything else rejected."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mst import FormatError
from mst.formats import read_raw
from mst.kernels.graph.relabel import compact_ids
from mst.kernels.io.digits import write_adjacency_lines
from mst.kernels.io.parse import parse_number, round_decimal

INTEGER, REAL, HARD, LARGE, NAN, NONE = range(6)


def parsed(text: str):
    return parse_number(np.frombuffer(text.encode() + b"\n", np.uint8), 0)


@settings(max_examples=7 * settings.default.max_examples)
@given(digits=st.integers(0, 2**64 - 1), power=st.integers(-345, 310) | st.integers(-30, 30))
@example(9007199254740993, 0)
@example(9007199254740992, 22)
@example(1, 23)
@example(10000000000000000999, -7)
@example(2**64 - 1, 0)
def test_decimals_are_rounded_as_python_rounds_them(digits, power):
    decided, value = round_decimal(np.uint64(digits), power)
    if decided:
        assert value == float(f"{digits}e{power}")


@settings(max_examples=5 * settings.default.max_examples)
@given(significand=st.integers(2**52, 2**53 - 1), power=st.integers(-8, 10))
def test_values_half_way_between_floats_are_rounded_to_even(significand, power):
    half = 2 * significand + 1
    digits, ten = (half << power, 0) if power >= 0 else (half * 5**-power, power)
    for wiggle in (-1, 0, 1):
        if 0 <= digits + wiggle < 2**64:
            decided, value = round_decimal(np.uint64(digits + wiggle), ten)
            assert not decided or value == float(f"{digits + wiggle}e{ten}")


def test_almost_all_floats_are_decided_by_decimal(rng):
    values = rng.integers(0, 2**63, 20_000).astype(np.uint64).view(np.float64)
    texts = [repr(float(value)) for value in values if math.isfinite(value)]
    kinds = [parsed(text) for text in texts]
    assert all(kind == HARD or real == float(text) for (kind, _, _, real), text in zip(kinds, texts))
    assert sum(kind == HARD for kind, *_ in kinds) < len(texts) / 100


@settings(max_examples=5 * settings.default.max_examples)
@given(st.floats(allow_nan=False) | st.floats(min_value=-1e-300, max_value=1e-300))
def test_float_written_by_python_is_read_back(value):
    kind, end, _, real = parsed(repr(value))
    assert end == len(repr(value))
    assert kind == HARD or struct.pack("d", real) == struct.pack("d", value)


@settings(max_examples=5 * settings.default.max_examples)
@given(
    st.integers(-(2**65), 2**65) | st.integers(-(2**63) - 2, -(2**63) + 2) | st.integers(2**63 - 2, 2**63 + 2)
)
def test_integers_are_exact_or_too_large(value):
    for text in (str(value), f"{value:+025d}"):
        kind, end, integer, _ = parsed(text)
        assert end == len(text)
        assert (kind, integer) == (INTEGER, value) if -(2**63) <= value < 2**63 else kind == LARGE


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("007", INTEGER, 7),
        ("+5", INTEGER, 5),
        ("-0", INTEGER, 0),
        ("1.", REAL, 1.0),
        (".5", REAL, 0.5),
        ("-.5e3", REAL, -500.0),
        ("1E5", REAL, 1e5),
        ("1e+05", REAL, 1e5),
        ("0e999", REAL, 0.0),
        ("0.000000000000000000000000000000000000012345", REAL, 1.2345e-38),
        ("inf", REAL, math.inf),
        ("-INF", REAL, -math.inf),
        ("+Infinity", REAL, math.inf),
        ("1" + "0" * 19 + ".0", HARD, None),
        ("1e400", HARD, None),
        ("5e-324", HARD, None),
        ("1e-400", HARD, None),
        ("nan", NAN, None),
        ("-NaN", NAN, None),
        (".", NONE, None),
        ("-", NONE, None),
        ("+", NONE, None),
        ("e5", NONE, None),
        ("1e", NONE, None),
        ("1e+", NONE, None),
        (".e1", NONE, None),
        ("", NONE, None),
        ("in", NONE, None),
        ("--1", NONE, None),
    ],
)
def test_number_classifies_text(text, kind, value):
    found, _, integer, real = parsed(text)
    assert found == kind
    if value is not None:
        assert (integer if kind == INTEGER else real) == value


@settings(max_examples=2 * settings.default.max_examples)
@given(
    values=st.lists(
        st.decimals(allow_nan=False, allow_infinity=False)
        | st.floats(allow_nan=False, allow_infinity=False).map(repr),
        min_size=1,
        max_size=20,
    )
)
def test_weights_of_a_file_equal_those_of_python(tmp_path_factory, values):
    path = tmp_path_factory.getbasetemp() / "weights.txt"
    texts = [str(value) for value in values]
    path.write_text("".join(f"1 2 {text}\n" for text in [*texts, "0.5"]))
    wanted = [float(text) for text in [*texts, "0.5"]]
    whole = [text for text in texts if not set(text.lower()) & set(".e")]
    if any(math.isinf(value) for value in wanted) or any(not -(2**63) <= int(text) < 2**63 for text in whole):
        with pytest.raises(FormatError):
            read_raw(path)
    else:
        assert read_raw(path).w.tolist() == wanted


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))), st.sampled_from([1, 2**20, 2**40]))
def test_ids_are_compacted_in_ascending_order(pairs, scale):
    u = np.array([a * scale for a, _ in pairs], np.int64)
    v = np.array([b * scale for _, b in pairs], np.int64)
    ids, a, b = compact_ids(u, v)
    assert ids.tolist() == sorted({*u.tolist(), *v.tolist()})
    assert ids[a].tolist() == u.tolist() and ids[b].tolist() == v.tolist()
    assert a.dtype == b.dtype == np.int32


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 2**31 - 2), st.integers(-(2**63), 2**63 - 1)), max_size=5), max_size=8
    )
)
def test_adjacency_lines_equal_those_of_python(rows):
    flat = [entry for row in rows for entry in row]
    offsets = np.cumsum([0, *map(len, rows)])
    buffer = np.zeros(42 * len(flat) + len(rows), np.uint8)
    neighbours, weights = np.array([a for a, _ in flat], np.int32), np.array([w for _, w in flat], np.int64)
    size = write_adjacency_lines(offsets, neighbours, weights, buffer)
    assert buffer[:size].tobytes().decode() == "".join(
        " ".join(f"{a + 1} {w}" for a, w in row) + "\n" for row in rows
    )
