"""Batches joined and settled, against Kruskal: batches that close many cycles and few, in every layout of edges."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from mst.algorithms.sequential import kruskal
from mst.graph import Graph
from mst.kernels.filter_boruvka import parallel_join
from mst.kernels.filter_boruvka.batch_edges import drop, dropped, ends_at, in_order, new_edges, put
from mst.kernels.filter_boruvka.drop_cycle_edges import new_desk, peel
from mst.kernels.parallel.runtime import FOREST, new_counters, workers
from mst.kernels.primitives.jit import njit

pytestmark = pytest.mark.alone

LAYOUTS = {1: (np.int32, np.uint32, 100), 3: (np.int32, np.uint64, 100), 4: (np.int64, np.uint64, 2**33)}


@njit
def _fill(edges, u, v, keys, order):
    for i in range(order.size):
        e = order[i]
        put(edges, i, u[e], v[e], keys[e], e)


def joined(n, u, v, w, cuts, layout, loose=False, crowded=False):
    """Return the forest of edges in batches that end at the places `cuts` of their order, and the surplus edges."""
    vertex_type, key_type, ids = LAYOUTS[layout]
    order = np.lexsort((np.arange(len(w)), w))
    starts = np.array([0, *cuts, len(w)])
    rng = np.random.default_rng(len(w))
    for first, last in pairwise(starts):
        rng.shuffle(order[first:last])
    edges = new_edges(len(w), vertex_type, key_type, ids)
    assert len(edges) == layout
    _fill(edges, u, v, w.astype(key_type), order)
    counters, filled = new_counters(1), len(starts) - 1
    with workers(1):
        parent = parallel_join.new_trees(n, vertex_type, 1, counters)
        lengths, chunks = parallel_join.chunked(starts, 1)
        parts, surplus = np.empty((chunks[-1], 3), np.int64), np.zeros(filled, np.int64)
        forest = np.empty(n, np.int64 if layout == 4 else np.int32)
        parallel_join.join(
            1, parallel_join.new_state(1), starts, lengths, chunks, np.full(filled, loose), edges, parts,
            surplus, parent, crowded, forest, counters,
        )  # fmt: skip
    return forest[: counters[FOREST]], surplus


def shapes(rng):
    """Yield graphs of which one batch holds: few cycles, nearly all edges surplus, cycles through one vertex.

    And few cycles among many connected edges, so that the search from them gives up.
    """
    yield 8_000, *rng.integers(0, 8_000, (2, 5_000))
    yield 50_000, *rng.integers(0, 50_000, (2, 6_000))
    yield 40, *rng.integers(0, 40, (2, 6_000))
    yield (
        5_000,
        np.where(rng.random(6_000) < 0.7, 17, rng.integers(0, 5_000, 6_000)),
        rng.integers(0, 5_000, 6_000),
    )
    yield 6_001, np.arange(6_000), np.arange(1, 6_001)
    yield 2, np.zeros(300, int), np.ones(300, int)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("cuts", [(), (10, 2_900), (60, 61, 200, 299)])
@pytest.mark.parametrize("highest", [1, 1000])
@pytest.mark.parametrize("crowded", [False, True])
def test_the_lightest_edges_are_taken(layout, cuts, highest, crowded, rng):
    some_surplus = 0
    for n, u, v in shapes(rng):
        w = rng.integers(0, highest, len(u)).astype(np.int32)
        graph = Graph(n, u, v, w)
        forest, surplus = joined(
            n, graph.u, graph.v, w, [c for c in cuts if c < len(w)], layout, False, crowded
        )
        expected = kruskal.solve(kruskal.prepare(graph, width=1, sort="radix"))
        assert np.array_equal(np.sort(forest), np.sort(expected)), (n, len(u))
        some_surplus += surplus.sum()
    assert some_surplus


def peeled(u, v, layout):
    """Return the ids of the edges that are left when leaves have been taken off; one chunk is without any."""
    size, (vertex_type, key_type, ids) = len(u), LAYOUTS[layout]
    edges = new_edges(size, vertex_type, key_type, ids)
    _fill(edges, u, v, np.zeros(size, key_type), np.arange(size))
    parts = np.array([[0, size // 3, size // 2], [size // 2, size // 2, size // 2], [size // 2, size, size]])
    desk = new_desk(size)
    left, out = _peeled(edges, parts, desk.counts, desk.places)
    assert out == 0
    return left


@njit
def _peeled(edges, parts, counts, places):
    """`peel`, once all edges have been dropped; return what is left, and how many edges still are dropped."""
    for i in range(parts[0, 0], parts[-1, 2]):
        drop(edges, i, True)
    left = places[: peel(edges, parts, counts, places)]
    out = 0
    for i in range(parts[0, 0], parts[-1, 2]):
        out += dropped(edges, i)
    return left, out


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("hub", [0, 300, 2_000])
def test_pruned_leaves_lie_on_no_cycle(layout, hub, rng):
    for n, m in ((4_000, 1_000), (4_000, 2_000), (4_000, 3_000), (50, 3_000)):
        # And a vertex with more edges than its count can say; some of them are on cycles.
        u, v = rng.integers(1, n, (2, m))
        u[:hub] = 0
        u, v = u[u != v], v[u != v]
        graph = nx.Graph(zip(u.tolist(), v.tolist(), strict=True))
        bridges = set(nx.bridges(graph))
        pairs = np.sort(np.stack([u, v]), axis=0)
        _, group, times = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
        alone = np.array([(a, b) in bridges or (b, a) in bridges for a, b in zip(u, v, strict=True)])
        on_a_cycle = np.flatnonzero(~alone | (times[group.reshape(-1)] > 1))
        left = peeled(u, v, layout)
        assert np.isin(on_a_cycle, left).all()
        if 2 * m <= n:
            # Trees, nearly all of them: hardly any leaf is overlooked.
            assert len(left) < len(on_a_cycle) + m // 10


def test_a_loose_batch_takes_any_spanning_forest(rng):
    u, v = rng.integers(0, 300, (2, 5_000))
    forest, surplus = joined(300, u, v, np.zeros(5_000, np.int32), (), 1, loose=True)
    assert len(forest) == 299
    assert surplus.sum() > 0


@pytest.mark.parametrize("sizes", [[3], [0, 3], [3, 0], [0, 0], [5, 0, 0, 90_000, 0, 64, 1]])
@pytest.mark.parametrize("width", [1, 16])
def test_every_edge_is_in_a_chunk_of_its_batch(sizes, width):
    starts = np.append(0, np.cumsum(sizes))
    begins, loose = parallel_join.without_empty(starts, np.array(sizes) % 2 == 0)
    filled = [size for size in sizes if size]
    assert np.diff(begins).tolist() == filled and begins[-1] == sum(sizes)
    assert loose.tolist() == [size % 2 == 0 for size in filled]
    lengths, chunks = parallel_join.chunked(begins, width)
    for size, length, count in zip(filled, lengths, np.diff(chunks), strict=True):
        assert (count - 1) * length < size <= count * length
        assert 64 <= length <= parallel_join.CHUNK


@pytest.mark.parametrize("width", [1, 2, 5, 16])
def test_every_chunk_of_every_phase_is_taken_once(width, rng):
    chunks = np.append(0, np.cumsum(rng.integers(1, 20, 30)))
    state = parallel_join.new_state(width)
    parallel_join.begin(state, width, chunks)
    for phase in range(2 * (len(chunks) - 1)):
        first, last = chunks[phase // 2], chunks[phase // 2 + 1]
        taken = []
        # Whose share a worker takes from does not matter, nor does it if it is the last to hear of the phase.
        while len(taken) < last - first:
            believed = phase - int(rng.integers(0, 2)) * (phase > 0 and bool(taken))
            found, chunk = parallel_join.take_chunk(state, int(rng.integers(width)), width, chunks, believed)
            assert chunk < 0 or found == phase
            taken += [chunk] if chunk >= 0 else []
        assert sorted(taken) == list(range(first, last))
        for owner in range(width):
            assert parallel_join.take_chunk(state, owner, width, chunks, phase) == (phase, -1)
        part = int(rng.integers(0, len(taken)))
        assert not parallel_join.finish(state, chunks, phase, part)
        assert parallel_join.finish(state, chunks, phase, len(taken) - part)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_order_is_by_key_and_id(layout, rng):
    vertex_type, key_type, ids = LAYOUTS[layout]
    keys, edge_ids = rng.integers(0, 5, 500), rng.permutation(500)
    edges = new_edges(500, vertex_type, key_type, ids)

    @njit
    def fill(edges, keys, edge_ids):
        for i in range(keys.size):
            put(edges, i, np.uint32(1), np.uint32(2), keys[i], edge_ids[i])
        return ends_at(edges, 0)

    @njit
    def order(edges, places):
        spare, words, spare_words = np.empty_like(places), np.empty(500, np.uint64), np.empty(500, np.uint64)
        return in_order(edges, places, spare, words, spare_words)

    assert tuple(fill(edges, keys.astype(key_type), edge_ids)) == (1, 2)
    assert np.array_equal(order(edges, np.arange(500)), np.lexsort((edge_ids, keys)))
