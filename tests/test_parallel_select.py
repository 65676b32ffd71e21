"""Selecting edges of an edge list and of rows, and their batches, against NumPy; rounds and their scratch space."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from checked_threads import counters_by_threads
from expected import by_kruskal
from numba import njit  # not the package's: its cache hashes all that this file imports

from mst.algorithms._filter_boruvka.rounds import Progress, Sampled, next_round, single_key_batches
from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.generators import generate
from mst.graph import Graph, frozen
from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.parallel.records import Records, WideRecords, share_on_equal_lines
from mst.kernels.filter_boruvka.parallel.sample import Draws, quantiles, sample_edges, sample_edges_parallel
from mst.kernels.filter_boruvka.parallel.select import (
    BLOCK,
    SelectedChunk,
    Wanted,
    batches_of,
    bounds_of,
    pick,
    select_chunk,
)
from mst.kernels.filter_boruvka.parallel.storage import EdgeList, advance_row, edge_at, find_row
from mst.kernels.filter_boruvka.policy import THREADS
from mst.kernels.parallel.keys import KEYS, words_of
from mst.kernels.parallel.runtime import new_tallies, workers
from mst.kernels.primitives.scratch import borrowed
from mst.order import keys


@njit
def picked_edges(storage, first, last, wanted):
    scratch = np.empty(last - first + 1, np.uint64)
    count = pick(storage, first, last, wanted, scratch)
    found = np.empty((count, 3), np.int64)
    row = find_row(storage, scratch[0]) if count else 0
    for i in range(count):
        row = advance_row(storage, scratch[i], row)
        found[i, 0], found[i, 1], found[i, 2] = edge_at(storage, scratch[i], row)
    return found


def storage_of(graph, form):
    """Return the edges of a graph with words instead of weights."""
    storage = ours.edge_list(graph, graph.w) if form == "edges" else ours.rows(graph)
    words, kind = words_of(storage.words, 1)
    return storage._replace(words=words, kind=kind)


@pytest.fixture
def graph(rng):
    return Graph(90, *rng.integers(0, 90, (2, 700)), rng.integers(0, 40, 700).astype(np.int32))


@pytest.mark.parametrize("form", ["edges", pytest.param("csr", marks=pytest.mark.slow)])
@pytest.mark.parametrize("selective", [False, True])
@pytest.mark.parametrize("bitmap", [False, True])
def test_edges_of_a_range_of_keys_are_picked_once(form, selective, bitmap, graph, rng):
    storage = storage_of(graph, form)
    low, high = np.unique(keys(graph.w))[[3, 20]]
    member = rng.random(90) < 0.7
    in_giant = np.packbits(member, bitorder="little")
    in_giant = np.append(in_giant, np.zeros(-len(in_giant) % 8, np.uint8)).view(np.uint64)[
        : None if bitmap else 0
    ]
    asked = Wanted(low, -1, high, graph.m, selective, in_giant, np.empty(0, np.uint32), False)
    cuts = [0, 1, 333, 700] if form == "edges" else [0, 5, 500, len(storage.words)]
    found = np.concatenate([picked_edges(storage, a, b, asked) for a, b in itertools.pairwise(cuts)])
    wanted = (keys(graph.w) >= low) & (keys(graph.w) <= high)
    if bitmap:
        wanted &= ~(member[graph.u] & member[graph.v])
    if form == "csr":
        wanted &= graph.u != graph.v
    assert sorted(found[:, 2]) == np.flatnonzero(wanted).tolist()
    ends = np.sort(found[:, :2], axis=1)
    assert np.array_equal(ends, np.sort(np.stack([graph.u, graph.v])[:, found[:, 2]].T, axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["edges", "csr"])
def test_edges_within_any_tree_are_left_out_where_roots_are_compared(form, graph, rng):
    storage = storage_of(graph, form)
    words = storage.words
    low, high = np.unique(keys(graph.w))[[3, 20]]
    in_giant = np.array([0xFF, 0], np.uint64)  # the first eight vertices
    roots = rng.integers(0, 12, graph.n).astype(graph.u.dtype)
    roots[:8] = 0
    slots = len(words)
    places, batch = np.empty(slots, np.uint32), np.empty(slots, np.uint8)
    counts, picked = np.zeros(1, np.int64), np.empty(BLOCK + 1, np.uint64)
    bounds = bounds_of(np.empty(0, words.dtype), np.empty(0, np.int64))
    for compare in (False, True):
        asked = Wanted(low, -1, high, graph.m, False, in_giant, roots, compare)
        found = select_chunk(0, slots, storage, asked, bounds, SelectedChunk(places, batch, counts), picked)
        ids = places[:found] if form == "edges" else storage.ids[places[:found]]
        wanted = (keys(graph.w) >= low) & (keys(graph.w) <= high)
        wanted &= (roots[graph.u] != roots[graph.v]) if compare else ~((graph.u < 8) & (graph.v < 8))
        if form == "csr":
            wanted &= graph.u != graph.v
        assert sorted(ids.tolist()) == np.flatnonzero(wanted).tolist()
        assert counts.tolist() == [found]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 2])
def test_of_many_trees_none_is_joined_with_itself(width, rng):
    clusters, size = 400, 40
    within = np.stack(np.triu_indices(size, 1), axis=1)
    ends = (np.arange(clusters)[:, None, None] * size + within).reshape(-1, 2)
    between = rng.integers(0, clusters * size, (clusters * 4, 2))
    # Local ids would be solved in blocks.
    u, v = rng.permutation(clusters * size)[np.concatenate([ends, between]).T]
    # All edges inside a cluster may be light; edges that leave it are heavy, and so is a half of those inside.
    w = np.concatenate([rng.integers(0, 2000, len(ends)), rng.integers(1000, 2000, len(between))])
    order = rng.permutation(len(u))
    graph = Graph(clusters * size, u[order], v[order], w[order].astype(np.int32))
    found, counted = solved(graph, width)
    assert np.array_equal(found, by_kruskal(graph))
    assert counted["parts"] > 1 and counted["light"] < graph.m / 4


@pytest.mark.parametrize("samples", [1, 511, 512, 700, 3000])
@pytest.mark.parametrize("labelled", [False, True])
def test_all_workers_draw_the_same_sample_as_one(samples, labelled, graph, rng):
    words, kind = words_of(graph.w, 1)
    labels = rng.integers(0, 5, graph.n if labelled else 0).astype(np.int32)
    storage, low = EdgeList(words, kind, graph.u, graph.v), np.sort(keys(graph.w))[200]
    draws = Draws(low, 300, labels, samples, 7)
    with workers(2):
        drawn = sample_edges_parallel(2, storage, draws, new_tallies(2, delay_seed=5))
    for mine, theirs in zip(drawn, sample_edges(storage, draws), strict=True):
        assert np.array_equal(mine, theirs)
    above = (keys(graph.w) > low) | ((keys(graph.w) == low) & (np.arange(graph.m) > 300))
    if labelled:
        above &= labels[graph.u] != labels[graph.v]
    assert set(drawn[1]) <= set(np.flatnonzero(above))
    if samples == 3000:
        # Four draws and more from every stretch of one place.
        assert set(drawn[1]) == set(np.flatnonzero(above))


def drawn_keys(rng, dtype, size):
    """Return keys of which a few, many or none are equal, over a narrow range or all there is."""
    highest = (1, 3, 1_000, np.iinfo(dtype).max)[rng.integers(4)]
    keys = rng.integers(0, highest, size, dtype, endpoint=True)
    return keys if rng.integers(3) else np.iinfo(dtype).max - keys


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_quantiles_are_places_of_the_sorted_sample(dtype, rng):
    for size in np.append([1, 2, 3], rng.integers(1, 5_000, 150)):
        numbers, ids = drawn_keys(rng, dtype, size), rng.permutation(10 * size)[:size]
        ids = np.sort(ids) if rng.integers(2) else ids
        fractions = np.sort(rng.random(rng.integers(0, 9))) * rng.choice([1, 0.2, 0.01])
        order = np.lexsort((ids, numbers))[np.minimum((fractions * size).astype(int), size - 1)]
        found = quantiles(numbers, ids, fractions)
        assert np.array_equal(found[0], numbers[order]) and np.array_equal(found[1], ids[order])
        assert found[0].dtype == dtype


def batches(numbers, bounds, start=0):
    """Return the batches of edges with these keys and ids from `start` on."""
    numbers, ends = frozen(numbers), frozen(np.zeros(len(numbers), np.int32))
    batch, places = np.zeros(len(numbers), np.uint8), np.arange(len(numbers), dtype=np.uint64)
    batches_of(EdgeList(numbers, KEYS, ends, ends, start), places, bounds, batch, 0)
    return batch.astype(np.int64)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_batches_of_few_keys_are_exact_in_any_order(dtype, rng):
    for distinct in (1, 2, 3, 8, 60):
        numbers = rng.integers(0, distinct, 4_000).astype(dtype) * dtype(rng.choice((1, 1 << 20)))
        for order in (np.sort(numbers), np.sort(numbers)[::-1].copy(), numbers):
            ids = np.sort(rng.permutation(len(order))[:200])
            by_key = ids[np.lexsort((ids, order[ids]))]
            found = batches(order, bounds_of(order[by_key], by_key))
            places = order.astype(np.int64) * len(order) + np.arange(len(order))
            sampled, counts = np.unique(order[ids], return_counts=True)
            crowded = np.isin(order, sampled[counts > 1])
            before = np.searchsorted(places[by_key], places)
            assert crowded.mean() > 0.5 and np.array_equal(found[crowded], before[crowded])


def cells_in(bounds, keys):
    """Return the cell of each key in `bounds`."""
    keys, (low, high) = np.maximum(keys, bounds.base), bounds.shifts
    above = bounds.below + (np.maximum(keys, bounds.pivot) - bounds.pivot >> keys.dtype.type(high))
    return np.where(keys < bounds.pivot, keys - bounds.base >> keys.dtype.type(low), above)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("tail", [1, -1])
def test_few_keys_of_a_long_tail_share_a_cell(dtype, tail, rng):
    keys = np.minimum(rng.zipf(1.3, 100_000), 2**30).astype(dtype)
    keys = keys if tail == 1 else dtype(2**30) - keys
    several = bounds_of(np.sort(rng.choice(keys, 255)), np.arange(255))
    assert several.below > 0 and len(several.cells) <= 2**13 + 2
    cells = cells_in(several, several.keys)
    alike = sum(len(np.unique(several.keys[cells == cell])) > 1 for cell in np.unique(cells))
    assert alike < len(np.unique(several.keys)) / 4
    even = bounds_of(np.sort(rng.integers(0, 2**30, 255).astype(dtype)), np.arange(255))
    assert even.below == 0


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_only_a_cell_with_a_bound_is_searched_or_rounded(dtype, rng):
    for count in np.append([1, 2], rng.integers(1, 255, 40)):
        bounds = bounds_of(np.sort(drawn_keys(rng, dtype, count)), np.arange(count))
        assert len(bounds.cells) <= 2**13 + 2
        probes = np.sort(np.append(drawn_keys(rng, dtype, 300), bounds.keys))
        batch = batches(probes, bounds, start=10_000)
        assert (np.diff(batch) >= 0).all()
        cell, taken = (cells_in(bounds, keys) for keys in (probes, bounds.keys))
        free = ~np.isin(cell, taken)
        assert np.array_equal(batch[free], np.searchsorted(bounds.keys, probes[free]))
        assert (np.abs(batch - np.searchsorted(bounds.keys, probes, side="right")) <= 1).all()


@pytest.mark.parametrize("highest", [1, 5, 300, 2**31 - 1])
def test_batches_ascend_and_divide_ties(highest, rng):
    weights = frozen(rng.integers(0, highest, 20_000).astype(np.int32))
    words, kind = words_of(weights, 1)
    draws = Draws(np.uint32(0), -1, np.empty(0, np.uint32), 4096, 1)
    sample_keys, ids = sample_edges(EdgeList(words, kind, weights, weights), draws)
    bounds = bounds_of(*quantiles(sample_keys, ids, np.arange(1, 64) / 64))
    batch = batches(keys(weights), bounds)
    order = np.lexsort((np.arange(len(weights)), weights))
    assert (np.diff(batch[order]) >= 0).all()
    assert np.bincount(batch).max() < 4 * len(weights) / 64 + (highest == 5) * len(weights) / 5


def test_batches_in_any_order_hold_one_key_each(rng):
    n, m = 500, 20_000
    numbers = rng.integers(0, 50, m).astype(np.uint32)
    highest, low = (~np.uint32(0), m), (np.uint32(0), -1)
    policy = replace(THREADS, light=30.0, take_all=1 / 3)
    progress = Progress(n, 1, policy, highest, low, m, m, n - 1, np.arange(n, dtype=np.uint32))
    ids = np.sort(rng.permutation(m)[:4096])
    following = next_round(progress, Sampled(numbers[ids], ids, float(m)), every_key=True)
    assert following.high == highest
    table = bounds_of(following.keys, following.ids)
    assert table.shifts == (0, 0)
    batch = batches(numbers, table)
    single = single_key_batches(following.keys, following.ids, m)
    found = [np.unique(numbers[batch == b]) for b in np.flatnonzero(single)]
    assert len(found) > 20
    assert all(len(of) <= 1 for of in found)


def test_no_filter_follows_one_that_dropped_few_edges(rng):
    # Each hub joins with the lightest of its own edges, and the next one's are as light: ids decide.
    hubs, leaves = 30, 4_000
    u, v = np.repeat(np.arange(hubs), leaves), np.tile(np.arange(hubs, hubs + leaves), hubs)
    w = np.minimum(rng.zipf(1.3, len(u)), 2**24)
    graph = Graph(hubs + leaves, u, v, w.astype(np.int32))
    assert 2 < counters_by_threads(graph, 2)["parts"] < 12


@pytest.mark.parametrize(("edges", "used"), [(100_000, 16), (1_000_000, 20)])
def test_of_many_threads_a_small_graph_uses_those_that_get_enough_edges(edges, used, monkeypatch):
    class StartedError(Exception):
        pass

    def start(width):
        raise StartedError(width)

    monkeypatch.setattr(ours, "workers", start)
    graph = generate("uniform", n=50_000, m=edges, seed=1)
    with pytest.raises(StartedError) as started:
        ours.solve_storage(graph, ours.edge_list(graph, graph.w), 128)
    assert started.value.args == (used,)


def test_a_batch_is_as_the_root_of_the_edges_where_many_wait():
    few, many = (rules.batch_count(1.3 * trees, trees, 16, THREADS) for trees in (100_000, 400_000))
    assert few > 1 and many == pytest.approx(2 * few, abs=1)
    assert rules.batch_count(1.3 * 400_000, 400_000, 64, THREADS) == pytest.approx(many / 2, abs=2)
    # No worker waits at width 1, and a round never has more batches than fit a byte.
    assert rules.batch_count(1.3 * 400_000, 400_000, 1, THREADS) == int(1.3 * 128)
    assert rules.batch_count(1e6, 200, 1, THREADS) == 255 and rules.batch_count(0.0, 2, 16, THREADS) == 1


def solved(graph, width=1, form="edges"):
    problem = ours.prepare(graph, width=width, input=form, hand_over=False)
    result = ours.solve(problem)
    return np.sort(ours.collect(problem, result)), result.counters


@pytest.mark.parametrize("form", ["edges", pytest.param("csr", marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", [np.int32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_edges_outside_the_giant_tree_are_copied_where_further_rounds_read_them(form, dtype, monkeypatch):
    copied, copy = [], ours._copy_edges_outside

    def copy_and_keep(run, following):
        copy(run, following)
        copied.append(run.storage)

    monkeypatch.setattr(ours, "_copy_edges_outside", copy_and_keep)
    skewed = generate("rmat", scale=14, m=200_000, seed=5)
    graph = Graph(skewed.n, skewed.u, skewed.v, np.sqrt(skewed.w) if dtype == np.float64 else skewed.w)
    found, counted = solved(graph, width=2, form=form)
    assert counted["batches"] > counted["parts"] >= 3
    assert np.array_equal(found, by_kruskal(graph))
    (kept,) = copied
    assert 0 < len(kept.rows) < graph.m // 2
    assert len(np.unique(kept.rows)) == len(kept.rows)
    ends = np.sort(np.stack([kept.u, kept.v]), axis=0)
    assert np.array_equal(ends, np.sort(np.stack([graph.u[kept.rows], graph.v[kept.rows]]), axis=0))


def test_further_solves_use_the_memory_of_the_first():
    graph = generate("rmat", scale=14, m=200_000, seed=5)
    problem = ours.prepare(graph, width=2, input="edges", hand_over=False)
    first = ours.solve(problem).edge_ids
    (scratch,) = problem.scratch_pool
    taken, expected = dict(scratch._kept), first.copy()
    again = ours.solve(problem).edge_ids
    assert problem.scratch_pool == [scratch]
    assert all(scratch._kept[name] is array for name, array in taken.items())
    assert taken.keys() >= {"parent 0", "edges 0", "kept 0", "batch 0"}
    assert np.array_equal(first, expected)
    assert np.array_equal(np.sort(again), by_kruskal(graph))


def test_an_array_that_grows_gets_spare_space():
    scratch = ours.Scratch()
    first = scratch.take("rows", (100, 2), np.uint64)
    assert scratch.take("rows", 400, np.uint32).base is first.base and scratch.bytes == 1600
    assert scratch.take("rows", (101, 2), np.uint64).shape == (101, 2)
    assert scratch.bytes == (101 + 25) * 16
    assert scratch.take("other", 0, np.int64).size == 0 and scratch.bytes == 126 * 16


def test_concurrent_solves_of_one_problem_use_separate_memory():
    graph = generate("uniform", n=2_000, m=6_000, seed=5)
    problem = ours.prepare(graph, width=1, input="edges", hand_over=False)
    with borrowed(problem.scratch_pool) as in_use:
        kept = in_use.take("edges 0", (6_000, 2), np.uint64)
        kept[:] = 7
        assert np.array_equal(np.sort(ours.solve(problem).edge_ids), by_kruskal(graph))
        assert (kept == 7).all()
    assert len(problem.scratch_pool) == 2


def test_one_core_takes_what_it_solves_as_fast(rng):
    cases = [(1, 10**7, True), (2, 4 * 10**5, True), (2, 10**7, True)]
    for width, fewest in ((3, 500_000), (4, 500_000), (5, 400_000), (8, 250_000), (16, 200_000), (64, 200_000)):
        cases += [(width, fewest - 1, True), (width, fewest, False)]
    for width, edges, expected in cases:
        assert rules.is_for_one_core(edges, width, THREADS) is expected
    graph = Graph(50, rng.integers(0, 50, 200), rng.integers(0, 50, 200), rng.integers(0, 9, 200))
    for hand_over in (True, False):
        problem = ours.prepare(graph, width=2, input="edges", hand_over=hand_over)
        result = ours.solve(problem)
        assert np.array_equal(np.sort(result.edge_ids), by_kruskal(graph))
        assert (problem.on_one_core is not None) == hand_over and result.counters["light"] > 0
        assert ours.phases(problem)


def test_leaves_of_hubs_share_cache_lines_and_edges_of_large_graphs_do_not():
    hubs = generate("star", n=200_000, hubs=1000, seed=1)
    large = generate("uniform", n=2_000_000, m=100_000, seed=1)
    for graph, crowded in ((hubs, True), (large, False)):
        pairs = graph.u.astype(np.uint64) | graph.v.astype(np.uint64) << np.uint64(32)
        none = np.empty(0, np.uint64)
        for records in (
            Records(pairs, none, none),
            WideRecords(pairs & np.uint64(2**32 - 1), pairs >> np.uint64(32), none, none),
        ):
            assert (share_on_equal_lines(records) > THREADS.crowded) == crowded


def test_edges_are_not_tested_where_nearly_all_of_them_stay_open(rng):
    # The light edges join some communities; the others, with heavier weights, are as open as before.
    communities, size, each = 200, 100, 900
    of = np.repeat(np.arange(communities), each)
    u, v = of * size + rng.integers(0, size, (2, len(of)))
    graph = Graph(communities * size, u, v, (of * 1000 + rng.integers(0, 1000, len(of))).astype(np.int32))
    found, counted = solved(graph)
    assert np.array_equal(found, by_kruskal(graph))
    assert counted["parts"] == 2 and counted["light"] == graph.m
