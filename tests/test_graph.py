"""A graph stores all input that can be stored exactly, and its errors name the row and the reason of other input."""

from __future__ import annotations

import numpy as np
import pytest

from mst import Graph, InputError

GOOD = dict(n=3, u=[0, 1], v=[1, 2], w=[1, 2])


@pytest.mark.parametrize(
    "change,message",
    [
        (dict(n=-1), "vertex count must be an integer ≥ 0, got -1"),
        (dict(n=2.5), "vertex count must be an integer ≥ 0, got 2.5"),
        (dict(n="many"), "vertex count must be an integer ≥ 0, got 'many'"),
        (dict(n=float("nan")), "vertex count"),
        (dict(n=float("inf")), "vertex count"),
        (dict(n=2**63), "9,223,372,036,854,775,808 vertices do not fit into any memory: number them from 0"),
        (dict(u=[0]), "u, v and w must have the same length, got 1, 2 and 2"),
        (dict(v=[0]), "the same length, got 2, 1 and 2"),
        (dict(w=[1, 2, 3]), "the same length, got 2, 2 and 3"),
        (dict(u=[0, 3]), r"u\[1\] = 3 is not a vertex: ids run from 0 to 2 \(n = 3\)"),
        (dict(v=[-1, 2]), r"v\[0\] = -1 is not a vertex: ids run from 0 to 2 \(n = 3\); shift the ids"),
        (dict(n=0), r"u\[0\] = 0 is not a vertex"),
        (dict(v=[2**40, 2]), r"v\[0\] = 1099511627776 is not a vertex"),
        (dict(v=np.array([2**63, 2], np.uint64)), r"v\[0\] = 9223372036854775808 is not a vertex"),
        (dict(u=[[0, 1]]), r"u must be one-dimensional, got shape \(1, 2\)"),
        (dict(u=[[0], [0, 1]]), "u is not an array of numbers: .*inhomogeneous"),
        (dict(v=np.ma.array([1, 2], mask=[0, 1])), r"v\[1\] is masked: drop that edge, or give it a value"),
        (dict(w=np.ma.array([1, 2], mask=[1, 0])), r"w\[0\] is masked"),
        (dict(u=[0.0, 1.0]), "u must hold integers, got dtype float64: convert the ids first"),
        (dict(u=[True, False]), "u must hold integers, got dtype bool"),
        (dict(w=[[1, 2]]), "w must be one-dimensional"),
        (dict(w=[1.0, np.nan]), r"w\[1\] is NaN, which cannot be ordered"),
        (dict(w=np.array([np.nan, 1], np.float16)), r"w\[0\] is NaN"),
        (dict(w=np.array([1, 2], np.complex128)), "dtype complex128: convert it to numbers that int32,"),
        (dict(w=["1", "2"]), "dtype <U1: convert it to numbers that int32,"),
        (dict(w=np.array([2**63, 1], np.uint64)), r"w\[0\] = 9223372036854775808 does not fit int64"),
        (dict(w=np.array([1, 2], np.longdouble)), "dtype float128: convert it to numbers that int32,"),
    ],
)
def test_illegal_input_is_refused_by_row_and_reason(change, message):
    with pytest.raises(InputError, match=message):
        Graph(**{**GOOD, **change})


@pytest.mark.parametrize(
    "given,stored",
    [
        (np.int8, np.int32),
        (np.int16, np.int32),
        (np.uint8, np.int32),
        (np.uint16, np.int32),
        (bool, np.int32),
        (np.int32, np.int32),
        (np.uint32, np.int64),
        (np.int64, np.int64),
        (np.uint64, np.int64),
        (np.float16, np.float32),
        (np.float32, np.float32),
        (np.float64, np.float64),
        (">i4", np.int32),
        (">f8", np.float64),
    ],
)
def test_weights_are_widened_to_a_dtype_that_is_exact(given, stored):
    graph = Graph(3, [0, 1], [1, 2], np.array([1, 0], given))
    assert graph.w.dtype == stored and graph.w.dtype.isnative and graph.w.tolist() == [1, 0]
    assert Graph(3, [], [], np.empty(0, given)).w.dtype.kind == np.dtype(stored).kind


@pytest.mark.parametrize("given", (np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ">i8"))
def test_ends_are_32_bits_wide(given):
    graph = Graph(3, np.array([0, 1], given), np.array([1, 2], given), [1, 2])
    assert graph.u.dtype == graph.v.dtype == np.int32 and graph.v.tolist() == [1, 2]


def test_ends_are_64_bits_wide_from_2_to_the_31_on():
    assert Graph(2**31 - 1, [0], [2**31 - 2], [1]).u.dtype == np.int32
    graph = Graph(2**31, [0], [2**31 - 1], [1])
    assert graph.u.dtype == graph.v.dtype == np.int64 and graph.v[0] == 2**31 - 1


def test_graphs_and_their_arrays_are_immutable():
    u = np.array([0, 1], np.int32)
    graph = Graph(3, u, [1, 2], [1, 2])
    for array in (graph.u, graph.v, graph.w):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        graph.n = 4
    u.flags.writeable = True  # the caller's own array stays the caller's
    assert graph.m == 2


def test_strided_input_is_copied():
    rows = np.array([[0, 1, 5], [1, 2, 7]])
    graph = Graph(3, rows[:, 0], rows[:, 1], rows[:, 2])
    assert graph.u.flags.c_contiguous and graph.w.tolist() == [5, 7]


def test_infinities_loops_and_parallel_edges_are_legal():
    graph = Graph(2, [0, 0, 1], [0, 1, 0], [np.inf, -np.inf, -0.0], name="odd")
    assert graph.m == 3 and repr(graph) == "<Graph 'odd': n=2 m=3 weights float64>"


def test_csr_has_both_directions_in_the_order_of_ids(rng):
    graph = Graph(20, rng.integers(0, 20, 90), rng.integers(0, 20, 90), rng.random(90))
    csr = graph.csr()
    assert csr is graph.csr()
    assert csr.offsets[0] == 0 and csr.offsets[-1] == 2 * (graph.u != graph.v).sum()
    for x in range(20):
        row = slice(csr.offsets[x], csr.offsets[x + 1])
        ids = csr.edge_ids[row]
        assert (np.diff(ids) > 0).all()
        assert ids.tolist() == [e for e in range(90) if (graph.u[e] == x) != (graph.v[e] == x)]
        assert np.array_equal(csr.weights[row], graph.w[ids])
        assert np.array_equal(csr.neighbours[row], graph.u[ids] + graph.v[ids] - x)


def test_csr_without_edges_is_empty():
    assert Graph(0, [], [], []).csr().offsets.tolist() == [0]
    assert Graph(2, [1], [1], [3]).csr().offsets.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "weights",
    [[0.5, 2**53 + 1], (2**53 + 1, 0.5), [0.5, np.array(2**53 + 1)], [0.5, np.int64(2**53 + 1)]],
)
def test_whole_weights_that_floats_would_round_are_refused(weights):
    with pytest.raises(
        InputError, match=r"w\[[01]\] has weight 9007199254740993, which float64 cannot represent"
    ):
        Graph(3, [0, 1], [1, 2], weights)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.int8])
def test_threads_check_as_one_does(dtype, rng, monkeypatch):
    monkeypatch.setattr("mst.graph.MANY", 100)
    monkeypatch.setattr("mst.graph._FEW", 100)
    u, v = (rng.integers(0, 100, 1000).astype(dtype) for _ in "uv")
    w = rng.standard_normal(1000)
    one, two = (Graph(100, u, v[::-1], w, threads=threads) for threads in (1, 2))
    for field in "uvw":
        assert getattr(one, field).dtype == getattr(two, field).dtype
        assert (getattr(one, field) == getattr(two, field)).all()
    for given in [-1, 100] if np.dtype(dtype).kind == "i" else [100]:
        wrong = u.copy()
        wrong[901] = given
        for threads in (1, 2):
            with pytest.raises(InputError, match=rf"u\[901\] = {given} is not a vertex"):
                Graph(100, wrong, v, w, threads=threads)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_threads_find_nan_and_take_infinities(dtype, rng, monkeypatch):
    monkeypatch.setattr("mst.graph.MANY", 100)
    monkeypatch.setattr("mst.graph._FEW", 100)
    ends, w = rng.integers(0, 9, 1000), np.full(1000, -np.inf, dtype)
    w[:9] = np.inf
    assert np.isinf(Graph(9, ends, ends, w, threads=2).w).all()
    for nan in (np.nan, -np.nan):
        w[700] = nan
        for threads in (1, 2):
            with pytest.raises(InputError, match=r"w\[700\] is NaN"):
                Graph(9, ends, ends, w, threads=threads)
        with pytest.raises(InputError, match=r"w\[0\] is NaN"):
            Graph(9, ends[:1], ends[:1], w[700:701])


def test_negative_ids_of_a_narrow_dtype_are_refused_below_many_vertices():
    for n in (127, 128, 129, 255, 256, 300):
        with pytest.raises(InputError, match=r"u\[1\] = -1 is not a vertex"):
            Graph(n, np.array([0, -1], np.int8), [1, 2], [1, 2])
