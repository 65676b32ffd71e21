"""Rows sorted by weight: ranges are filtered by all threads, and joined in order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from checked_threads import counters_by_threads
from expected import by_kruskal

from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.graph import Graph, frozen
from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.parallel.in_order import (
    are_in_order,
    cut_into_ranges,
    join_in_order,
    new_ranges,
    rows_between,
)
from mst.kernels.filter_boruvka.policy import THREADS
from mst.kernels.parallel.runtime import FOREST, Schedule, launched, new_tallies, workers
from mst.kernels.primitives.keys import keys_at, lazy_keys

WIDTH = min(3, launched())
ALWAYS = replace(
    THREADS, range=8, per_vertex_in_order=(0, 0, 0), fewest_edges=0, leaving=-1.0, smallest_chunk=1
)
"""Joins all sorted rows in order, however few edges a vertex has."""


def ends(rng, n, m, kind):
    """Return the ends of `m` edges: hubs, communities or others."""
    u, v = rng.integers(0, n, (2, m))
    if kind == "sorted":
        u, v = np.minimum(u, v), np.maximum(u, v)
        order = np.lexsort((v, u))
        return u[order], v[order]
    if kind == "hubs":
        return u % max(1, n // 50), v
    if kind == "near":
        return np.sort(u), np.minimum(n - 1, np.sort(u) + rng.integers(0, 5, m))
    return u, v


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.int64, np.float64])
def test_order_is_checked_in_both_directions(rng, dtype):
    for turn in range(40):
        m = int(rng.integers(1, 300))
        w = np.sort(rng.integers(-9, 9, m)).astype(dtype)
        if turn % 2:
            w[w == 0] *= dtype(-1)
        if turn % 4 > 1:
            w = w[::-1].copy()
        if turn % 3 == 0:
            w[rng.integers(0, m)] += dtype(rng.integers(-1, 2))
        with workers(WIDTH):
            schedule = Schedule(WIDTH, 16, new_tallies(WIDTH))
            assert are_in_order(schedule, lazy_keys(frozen(w)), 1) == (w[:-1] <= w[1:]).all()
            assert are_in_order(schedule, lazy_keys(frozen(w)), -1) == (w[:-1] >= w[1:]).all()


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_ranges_have_all_rows_in_the_order_of_weight(rng, dtype):
    for turn in range(60):
        m, grain = int(rng.integers(1, 300)), int(rng.integers(1, 20))
        w = np.sort(rng.integers(-9, rng.choice((-7, 9, 200)), m)).astype(dtype)
        if turn % 3 == 0:
            w[w == w[-1]] = np.iinfo(np.int32).max if dtype == np.int32 else np.inf
        for step in (1, -1):
            keys = lazy_keys(frozen(w[::step].copy()))
            starts, sizes = cut_into_ranges(keys, step, grain)
            assert sizes.min() > 0 and sizes.max() <= grain and len(sizes) <= 4 * (m // grain) + 4
            order = []
            for start, size in zip(starts.tolist(), sizes.tolist()):
                rows = np.arange(start, start + size)
                order += rows[np.lexsort((rows, w[::step][rows]))].tolist()
            assert np.array_equal(order, np.lexsort((np.arange(m), w[::step])))


@pytest.mark.parametrize("kind", ["random", "sorted", "hubs", "near"])
@pytest.mark.parametrize("step", [1, -1])
def test_rows_in_order_are_joined_in_order(rng, kind, step):
    for turn in range(60):
        n = int(rng.integers(2, 400))
        m = int(rng.integers(30, 3000))
        w = np.sort(rng.integers(0, max(2, m * turn // 30), m)) - 7
        dtype = (np.int32, np.float64, np.float32)[turn % 3]
        graph = Graph(n, *ends(rng, n, m, kind), w[::step].astype(dtype))
        counted = counters_by_threads(graph, WIDTH, ALWAYS, seed=turn % 3)
        assert len(by_kruskal(graph)) <= counted["kept"] <= m


def test_only_sorted_rows_of_many_edges_are_joined_so(rng):
    n, m = 6000, 100_000
    u, v = ends(rng, n, m, "random")
    weights = np.arange(m, dtype=np.int32)
    swapped = weights.copy()
    swapped[[700, 701]] = swapped[[701, 700]]
    policy = replace(THREADS, fewest_edges=m * WIDTH // 2)
    sources = np.sort(u)
    for name, vertices, first, w in (
        ("in order", n, u, weights),
        ("backwards", n, u, weights[::-1].copy()),
        ("two weights, descending", n, u, (weights < m // 2).astype(np.int32)),
        ("not quite in order", n, u, swapped),
        ("few per vertex", m // 2, u, weights),
        ("few per vertex, by first end", m // 2, sources, weights),
        ("very few per vertex, by first end", m, sources, weights),
        ("few", n, u, weights),
    ):
        graph = Graph(vertices, first, v, w)
        counted = counters_by_threads(graph, WIDTH, THREADS if name == "few" else policy)
        taken = ["in order", "backwards", "two weights, descending"]
        taken += ["few per vertex, by first end"] if WIDTH > 2 else []
        assert ("kept" in counted) == (name in taken), name


def test_fewer_edges_suffice_where_rows_are_sorted_by_their_first_ends():
    for width, by_source, least in (
        (2, True, 3),
        (3, False, 3),
        (3, True, 1.5),
        (16, False, 8),
        (16, True, 1.5),
    ):
        n = 4_000_000
        for edges, expected in ((least * n, True), (least * n - 1, False)):
            assert rules.joins_in_order(int(edges), n, width, by_source, THREADS) is expected


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_bounds_enclose_the_rows_between_them(rng, dtype):
    for turn in range(200):
        m = int(rng.integers(1, 60))
        w = np.sort(rng.integers(0, rng.choice((1, 4, 90)), m, endpoint=True)).astype(dtype)
        step = -1 if turn % 2 and w[0] < w[-1] else 1
        w = w[::step].copy()
        keys, rows = lazy_keys(frozen(w)), np.arange(m)
        low, high = sorted((w[e], e) for e in rng.integers(0, m, 2).tolist())
        key = keys_at(keys, np.array((low[1], high[1])))
        first, stop = rows_between(keys, step, key[0], low[1], key[1], high[1])
        wanted = [e for e in rows if low < (w[e], e) <= high]
        assert set(wanted) <= set(range(first, stop))
        if step > 0:
            assert stop - first == len(wanted)
        else:
            assert ((w[first:stop] >= low[0]) & (w[first:stop] <= high[0])).all()


@pytest.mark.parametrize("step", [1, -1])
def test_rounds_read_only_the_rows_they_may_join(rng, step, monkeypatch):
    read = []
    for name in ("select", "select_all", "copy_outside"):
        whole = getattr(ours.select, name)
        monkeypatch.setattr(
            ours.select,
            name,
            lambda s, storage, *a, f=whole: (read.append(len(storage.words)), f(s, storage, *a)),
        )
    policy = replace(ALWAYS, per_vertex_in_order=(1e9, 0, 0), light=0.5, giant=2.0, max_unfiltered=0)
    rounds = 0
    for turn in range(60):
        n, m = int(rng.integers(20, 400)), int(rng.integers(1000, 5000))
        w = np.sort(rng.integers(0, max(2, m * turn // 30), m)) - 7
        dtype = (np.int32, np.float64, np.float32)[turn % 3]
        u, v = ends(rng, n, m, ("random", "sorted", "hubs")[turn % 3])
        graph = Graph(n, u, v, w[::step].astype(dtype))
        read.clear()
        chosen = replace(policy, giant=0.5) if turn % 2 else policy
        counted = counters_by_threads(graph, WIDTH, chosen, seed=turn % 3)
        rounds += counted["parts"]
        if turn > 30 and counted["parts"] > 1 and not turn % 2:
            assert max(read[:-1]) < m and sum(read) <= m + 3 * counted["parts"]
    assert rounds > 100


def test_joining_ends_with_the_last_edge_of_a_spanning_tree(rng):
    n, m = 300, 60_000
    u, v = (x.astype(np.int32) for x in ends(rng, n, m, "random"))
    graph = Graph(n, u, v, np.arange(m, dtype=np.int32))
    keys, tallies, forest = lazy_keys(graph.w), new_tallies(WIDTH), np.empty(n - 1, np.int32)
    ranges = new_ranges(*cut_into_ranges(keys, 1, 64), 64, 4 * WIDTH)
    with workers(WIDTH):
        parent = np.arange(n, dtype=np.uint32)
        join_in_order(WIDTH, ranges, keys, u.view("u4"), v.view("u4"), 1, parent, forest, n - 1, tallies)
    assert np.array_equal(forest, by_kruskal(graph)) and tallies[FOREST] == n - 1
    # Of about a thousand ranges, those after the last edge were not read, but for those that were ahead of the join.
    last = int(forest.max()) // 64
    assert (ranges.counts[last + 1 + 5 * WIDTH :] == -1).all() and last + 5 * WIDTH < len(ranges.counts) // 2


@pytest.mark.parametrize("step", [1, -1])
def test_the_order_of_rows_is_found_once(rng, step, monkeypatch):
    found = []
    whole = ours.order_of
    monkeypatch.setattr(ours, "order_of", lambda *given: found.append(whole(*given)) or found[-1])
    m = 2_000_000
    u, v = ends(rng, 200_000, m, "random")
    graph = Graph(200_000, u, v, np.arange(m, dtype=np.int32)[::step].copy())
    problem = ours.prepare(graph, width=2, input="edges", hand_over=True)
    assert problem.step == step
    if launched() > 1:
        result = ours.solve(problem)
        assert "kept" in result.counters and np.array_equal(np.sort(result.edge_ids), by_kruskal(graph))
    assert found == [step]


def test_few_threads_take_large_graphs_in_order_unless_ids_follow_places(rng):
    m = 2_000_000
    w = np.zeros(m, np.int32)
    for kind, n, left in (
        ("random", 200_000, False),
        ("near", 200_000, True),
        ("random", 1_000_000, True),
        ("random", 20_000, True),
    ):
        u, v = ends(rng, n, m, kind)
        graph = Graph(n, u, v, w)
        problem = ours.prepare(graph, width=2, input="edges", hand_over=True)
        assert (problem.on_one_core is not None) == left
