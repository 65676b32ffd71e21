"""`simplify`: the edges kept, the counts, and that the order of the rows does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mst
from mst import Graph
from mst.simplify import MergeCounts, _merge_few, simplify

DTYPES = (np.int32, np.int64, np.float32, np.float64)


@pytest.fixture(autouse=True, scope="module")
def compiled_code_merges_few_edges_too():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("mst.simplify._FEW_FOR_LOADED", 0)
        yield


def by_dictionary(graph: Graph) -> tuple[list[tuple], MergeCounts]:
    """The definition, spelled out."""
    loops = 0
    pairs: dict[tuple, list] = {}
    for a, b, w in zip(graph.u.tolist(), graph.v.tolist(), graph.w.tolist()):
        if a == b:
            loops += 1
        else:
            pairs.setdefault((min(a, b), max(a, b)), []).append((a < b, w))
    both = sum(len({forward for forward, _ in arcs}) == 2 for arcs in pairs.values())
    more = sum(len(arcs) - 1 for arcs in pairs.values()) - both
    edges = [(*pair, min(w for _, w in pairs[pair])) for pair in sorted(pairs)]
    return edges, MergeCounts(loops, both, more)


def rows(graph: Graph) -> list[tuple]:
    return list(zip(graph.u.tolist(), graph.v.tolist(), graph.w.tolist()))


@st.composite
def multigraphs(draw) -> Graph:
    n = draw(st.sampled_from([1, 2, 3, 7, 100_000]))
    vertex = st.integers(0, min(n, 7) - 1) | st.integers(max(n - 3, 0), n - 1)
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=40))
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    weight = (
        st.integers(-3, 3) if dtype.kind == "i" else st.sampled_from([-np.inf, -1.5, -0.0, 0.0, 2.0, np.inf])
    )
    w = np.array([draw(weight) for _ in pairs], dtype)
    return Graph(n, [a for a, _ in pairs], [b for _, b in pairs], w, name="x")


@pytest.mark.slow
@given(multigraphs())
def test_the_lightest_edge_of_each_pair_stays(graph):
    simple, merged = simplify(graph)
    edges, counts = by_dictionary(graph)
    assert rows(simple) == edges and merged == counts
    assert merged.loops + merged.reciprocal + merged.parallel == graph.m - simple.m
    assert (simple.n, simple.name, simple.w.dtype, simple.u.dtype) == (
        graph.n,
        "x",
        graph.w.dtype,
        graph.u.dtype,
    )


@given(multigraphs(), st.randoms(use_true_random=False))
def test_neither_the_order_nor_the_direction_of_rows_matters(graph, random):
    order = list(range(graph.m))
    random.shuffle(order)
    turned = np.array([random.random() < 0.5 for _ in order], bool)
    u, v = graph.u[order], graph.v[order]
    other = Graph(graph.n, np.where(turned, v, u), np.where(turned, u, v), graph.w[order])
    ours, theirs = simplify(graph)[0], simplify(other)[0]
    for a, b in ((ours.u, theirs.u), (ours.v, theirs.v), (ours.w, theirs.w)):
        assert a.tobytes() == b.tobytes()


@given(multigraphs())
def test_few_edges_are_merged_alike_without_compiled_code(graph):
    simple, merged = simplify(graph)
    *columns, loops, reciprocal, parallel = _merge_few(graph)
    assert MergeCounts(loops, reciprocal, parallel) == merged
    for few, many in zip(columns, (simple.u, simple.v, simple.w)):
        assert few.dtype == many.dtype and few.tobytes() == many.tobytes()


@given(multigraphs())
def test_a_simple_graph_stays_as_it_is(graph):
    once, _ = simplify(graph)
    twice, merged = simplify(once)
    assert rows(once) == rows(twice) and merged == MergeCounts(0, 0, 0)


@given(multigraphs())
def test_the_spanning_forest_weighs_the_same(graph):
    before = mst.minimum_spanning_forest(graph)
    after = mst.minimum_spanning_forest(simplify(graph)[0])
    assert repr(before.weight + 0) == repr(after.weight + 0) and before.components == after.components


@pytest.mark.parametrize("n", [0, 1, 5])
def test_no_edges(n):
    simple, merged = simplify(Graph(n, [], [], []))
    assert (simple.n, simple.m, merged) == (n, 0, MergeCounts(0, 0, 0))


def test_a_graph_of_self_loops_has_no_edges_left():
    simple, merged = simplify(Graph(2, [1, 1], [1, 1], [3, 4]))
    assert (simple.m, merged) == (0, MergeCounts(2, 0, 0))


def test_extreme_integers_are_kept_exactly():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    simple, _ = simplify(Graph(3, [0, 1, 1], [1, 0, 2], np.array([high, low, high])))
    assert rows(simple) == [(0, 1, low), (1, 2, high)]


def test_a_huge_and_almost_empty_graph_costs_little():
    graph = Graph(2**40, [2**39, 3, 2**39], [3, 2**39, 5], [7, 6, 5])
    simple, merged = simplify(graph)
    assert rows(simple) == [(3, 2**39, 6), (5, 2**39, 5)] and merged == MergeCounts(0, 1, 0)
    assert simple.u.dtype == np.int64


def test_many_edges_at_one_vertex(rng):
    """Linear for any degrees: a star listed twice, both ways."""
    n = 200_000
    leaves = rng.permutation(np.arange(1, n, dtype=np.int32))
    centre = np.zeros(n - 1, np.int32)
    w = rng.integers(0, 100, 2 * (n - 1))
    simple, merged = simplify(Graph(n, np.r_[centre, leaves], np.r_[leaves, centre], w))
    assert merged == MergeCounts(0, n - 1, 0)
    assert (simple.u == 0).all() and (simple.v == np.arange(1, n)).all()
    lightest = np.minimum(w[: n - 1], w[n - 1 :])
    assert (simple.w[leaves - 1] == lightest).all()


def test_the_result_does_not_keep_the_memory_of_merged_edges():
    u = np.zeros(1000, np.int32)
    simple, _ = simplify(Graph(2, u, u + 1, u))
    assert simple.m == 1
    column = simple.u
    while isinstance(column.base, np.ndarray):
        column = column.base
    assert column.nbytes == 4


def by_sorting(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray, MergeCounts]:
    """The definition, by NumPy, for many edges."""
    low, high, forward = np.minimum(graph.u, graph.v), np.maximum(graph.u, graph.v), graph.u < graph.v
    order = np.lexsort((graph.w, high, low))
    order = order[low[order] != high[order]]
    pair = low[order].astype(np.int64) * graph.n + high[order]
    begins = np.flatnonzero(np.diff(pair, prepend=-1))
    both = np.maximum.reduceat(forward[order], begins) != np.minimum.reduceat(forward[order], begins)
    loops = graph.m - len(order)
    counts = MergeCounts(loops, int(both.sum()), len(order) - len(begins) - int(both.sum()))
    kept = order[begins]
    return low[kept], high[kept], graph.w[kept] + graph.w.dtype.type(0), counts


def uniform(rng, m):
    return 50_000, rng.integers(0, 50_000, m), rng.integers(0, 50_000, m)


def star(rng, m):
    """Nearly all edges in one bucket, many of them twice."""
    return 2**20, np.where(rng.random(m) < 0.99, 3, rng.integers(0, 2**20, m)), rng.integers(0, 2**18, m)


def parallel(rng, m):
    """One pair has most edges."""
    hub = rng.random(m) < 0.9
    return 2**16, np.where(hub, 7, rng.integers(0, 2**16, m)), np.where(hub, 5, rng.integers(0, 2**16, m))


def complete(rng, m):
    return 300, rng.integers(0, 300, m), rng.integers(0, 300, m)


def wide(rng, m):
    return 2**24, rng.integers(0, 2**24, m), rng.integers(2**24 - 9, 2**24, m)


def wider(rng, m):
    """Ids of 64 bits, most of whose vertices are isolated."""
    return 2**40, rng.integers(0, 2**40, m), rng.integers(0, 2**40, m)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("make", [uniform, star, parallel, complete, wide, wider])
def test_many_edges_are_merged_alike_by_any_number_of_threads(make, dtype, threads, rng):
    n, u, v = make(rng, 200_000)
    graph = Graph(n, u, v, rng.integers(-100, 100, len(u)).astype(dtype))
    simple, counts = simplify(graph, threads=threads)
    for found, expected in zip((simple.u, simple.v, simple.w, counts), by_sorting(graph)):
        assert np.array_equal(found, expected)


def test_a_simple_graph_shares_its_arrays_unless_a_zero_is_negative():
    graph = Graph(3, [0, 1], [1, 2], np.array([0.0, 2.0]))
    assert np.shares_memory(simplify(graph)[0].w, graph.w)
    signed = simplify(Graph(3, [0, 1], [1, 2], np.array([-0.0, 2.0])))[0]
    assert not np.signbit(signed.w).any()
