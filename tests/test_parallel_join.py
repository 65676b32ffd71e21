"""Batches joined, their cycle edges dropped, against Kruskal: with many cycles and few, in every type of records."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from expected import by_kruskal
from numba import njit  # not the package's: its cache hashes all that this file imports
from scripts import run_python

from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.generators import generate
from mst.graph import Graph
from mst.kernels.filter_boruvka.parallel import join
from mst.kernels.filter_boruvka.parallel.drop_cycle_edges import new_scratch, prune_leaves
from mst.kernels.filter_boruvka.parallel.records import (
    PackedRecords,
    Records,
    WideRecords,
    ends_at,
    id_at,
    in_order,
    is_dropped,
    new_records,
    put,
    set_dropped,
)
from mst.kernels.filter_boruvka.parallel.trees import new_parents
from mst.kernels.parallel.runtime import FOREST, new_tallies, workers

TYPES = {
    PackedRecords: (np.int32, np.uint32, 100),
    Records: (np.int32, np.uint64, 100),
    WideRecords: (np.int64, np.uint64, 2**33),
}
# Each kind is all kernels of batches to compile again.
KINDS = [pytest.param(kind, marks=[pytest.mark.slow] * (kind is not PackedRecords)) for kind in TYPES]


@njit
def _fill(records, u, v, keys, order):
    for i in range(order.size):
        e = order[i]
        put(records, i, u[e], v[e], keys[e], e)


def joined(graph, cuts, kind, any_order=False, contended=False):
    """Return the forest of edges in batches that end at the places `cuts` of their order, and the closing edges."""
    n, u, v, w = graph.n, graph.u, graph.v, graph.w
    vertex_type, key_type, ids = TYPES[kind]
    order = np.lexsort((np.arange(len(w)), w))
    starts = np.array([0, *cuts, len(w)])
    rng = np.random.default_rng(len(w))
    for first, last in pairwise(starts):
        rng.shuffle(order[first:last])
    records = new_records(len(w), vertex_type, key_type, ids)
    assert type(records) is kind
    _fill(records, u, v, w.astype(key_type), order)
    tallies, filled = new_tallies(1), len(starts) - 1
    with workers(1):
        edges = np.empty(n, np.int64 if kind is WideRecords else np.int32)
        forest = join.Forest(new_parents(n, vertex_type, 1, tallies), edges, contended)
        batches = join.batches_of(starts, np.full(filled, any_order), 1)
        done = join.Joined(np.empty((batches.chunks[-1], 3), np.int64), *np.zeros((2, filled), np.int64))
        join.join(1, join.Shared(join.new_state(1), tallies), batches, records, done, forest)
    return edges[: tallies[FOREST]], done.closing + done.parallel


def shapes(rng):
    """Yield graphs of which one batch holds: few cycles, nearly all edges closing, cycles through one vertex.

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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cuts", [(), (10, 2_900), (60, 61, 200, 299)])
@pytest.mark.parametrize("highest", [1, 1000])
@pytest.mark.parametrize("contended", [False, True])
def test_joined_batches_have_the_forest_of_kruskal(kind, cuts, highest, contended, rng):
    closing = 0
    for n, u, v in shapes(rng):
        w = rng.integers(0, highest, len(u)).astype(np.int32)
        graph = Graph(n, u, v, w)
        forest, found = joined(graph, [c for c in cuts if c < len(w)], kind, contended=contended)
        assert np.array_equal(np.sort(forest), by_kruskal(graph)), (n, len(u))
        closing += found.sum()
    assert closing


def pruned(u, v, kind):
    """Return the ids of the edges that are left when leaves have been pruned; one chunk is without any."""
    size, (vertex_type, key_type, ids) = len(u), TYPES[kind]
    records = new_records(size, vertex_type, key_type, ids)
    _fill(records, u, v, np.zeros(size, key_type), np.arange(size))
    chunks = np.array([[0, size // 3, size // 2], [size // 2, size // 2, size // 2], [size // 2, size, size]])
    scratch = new_scratch(size)
    left, out = _pruned(records, chunks, scratch.degrees, scratch.places)
    assert out == 0
    return left


@njit
def _pruned(records, chunks, degrees, places):
    """Drop all edges, then `prune_leaves`; return the places left, and how many edges are dropped still."""
    for i in range(chunks[0, 0], chunks[-1, 2]):
        set_dropped(records, i, True)
    left = places[: prune_leaves(records, chunks, degrees, places)]
    out = 0
    for i in range(chunks[0, 0], chunks[-1, 2]):
        out += is_dropped(records, i)
    return left, out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hub", [0, 300, 2_000])
def test_pruned_leaves_lie_on_no_cycle(kind, hub, rng):
    for n, m in ((4_000, 1_000), (4_000, 2_000), (4_000, 3_000), (50, 3_000)):
        # And a vertex with more edges than its degree counter can hold; some of them are on cycles.
        u, v = rng.integers(1, n, (2, m))
        u[:hub] = 0
        u, v = u[u != v], v[u != v]
        graph = nx.Graph(zip(u.tolist(), v.tolist(), strict=True))
        bridges = set(nx.bridges(graph))
        pairs = np.sort(np.stack([u, v]), axis=0)
        _, group, times = np.unique(pairs, axis=1, return_inverse=True, return_counts=True)
        alone = np.array([(a, b) in bridges or (b, a) in bridges for a, b in zip(u, v, strict=True)])
        on_a_cycle = np.flatnonzero(~alone | (times[group.reshape(-1)] > 1))
        left = pruned(u, v, kind)
        assert np.isin(on_a_cycle, left).all()
        if 2 * m <= n:
            # Trees, nearly all of them: hardly any leaf is overlooked.
            assert len(left) < len(on_a_cycle) + m // 10


@pytest.mark.parametrize("kind", KINDS)
def test_the_lightest_of_parallel_edges_is_kept(kind, rng):
    vertex_type, key_type, ids = TYPES[kind]
    u, v = rng.integers(0, 12, (2, 3_000))
    keys = rng.integers(0, 40, 3_000).astype(key_type)
    records = new_records(3_000, vertex_type, key_type, ids)
    _fill(records, u, v, keys, np.arange(3_000))

    @njit
    def kept(records, first, last):
        end = join.drop_parallel(records, first, last)
        return [(ends_at(records, i), id_at(records, i)) for i in range(first, end)]

    left = kept(records, 100, 3_000)
    lightest = {}
    for e in np.lexsort((np.arange(100, 3_000), keys[100:])) + 100:
        lightest.setdefault((min(u[e], v[e]), max(u[e], v[e])), e)
    assert {(min(ends), max(ends)): e for ends, e in left}.keys() == lightest.keys()
    assert set(lightest.values()) <= {e for _, e in left}
    assert len(left) < 600


@pytest.mark.parametrize("rows", ["sorted", "reversed", "shuffled"])
@pytest.mark.parametrize("per_weight", [1, 9])
def test_few_edges_close_cycles_if_weights_descend_along_the_rows(rows, per_weight, rng):
    graph = generate("rmat", scale=12, m=60_000, seed=1, order="sorted")
    order = {"sorted": np.arange(graph.m), "reversed": np.arange(graph.m)[::-1]}.get(
        rows, rng.permutation(graph.m)
    )
    w = (np.arange(graph.m, 0, -1) // per_weight).astype(np.int32)
    graph = Graph(graph.n, *(np.ascontiguousarray(column[order]) for column in (graph.u, graph.v, w)))
    found = ours.solve(ours.prepare(graph, width=1, input="edges", hand_over=False))
    assert np.array_equal(np.sort(found.edge_ids), by_kruskal(graph))
    assert found.counters["surplus"] < graph.m / 4 < found.counters["parallel"]


def test_a_batch_in_any_order_has_some_spanning_forest(rng):
    graph = Graph(300, *rng.integers(0, 300, (2, 5_000)), np.zeros(5_000, np.int32))
    forest, closing = joined(graph, (), PackedRecords, any_order=True)
    assert len(forest) == 299
    assert closing.sum() > 0


@pytest.mark.parametrize("sizes", [[3], [0, 3], [3, 0], [0, 0], [5, 0, 0, 90_000, 0, 64, 1]])
@pytest.mark.parametrize("width", [1, 16])
def test_every_edge_is_in_a_chunk_of_its_batch(sizes, width):
    starts = np.append(0, np.cumsum(sizes))
    batches = join.batches_of(starts, np.array(sizes) % 2 == 0, width)
    filled = [size for size in sizes if size]
    assert np.diff(batches.starts).tolist() == filled and batches.starts[-1] == sum(sizes)
    assert batches.any_order.tolist() == [size % 2 == 0 for size in filled]
    for size, length, count in zip(filled, batches.lengths, np.diff(batches.chunks), strict=True):
        assert (count - 1) * length < size <= count * length
        assert 64 <= length <= join.LONGEST_CHUNK


@pytest.mark.parametrize("width", [1, 2, 5, 16])
def test_every_chunk_of_every_phase_is_taken_once(width, rng):
    chunks = np.append(0, np.cumsum(rng.integers(1, 20, 30)))
    state = join.new_state(width)
    join.open_first_phase(state, width, chunks)
    for phase in range(2 * (len(chunks) - 1)):
        first, last = chunks[phase // 2], chunks[phase // 2 + 1]
        taken = []
        # It does not matter from which share a worker takes, nor whether it is the last to see the phase.
        while len(taken) < last - first:
            believed = phase - int(rng.integers(0, 2)) * (phase > 0 and bool(taken))
            found, chunk = join.take_chunk(state, int(rng.integers(width)), width, chunks, believed)
            assert chunk < 0 or found == phase
            taken += [chunk] if chunk >= 0 else []
        assert sorted(taken) == list(range(first, last))
        for owner in range(width):
            assert join.take_chunk(state, owner, width, chunks, phase) == (phase, -1)
        some = int(rng.integers(0, len(taken)))
        assert not join.report_done(state, chunks, phase, some)
        assert join.report_done(state, chunks, phase, len(taken) - some)


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_is_by_key_and_id(kind, rng):
    vertex_type, key_type, ids = TYPES[kind]
    keys, edge_ids = rng.integers(0, 5, 500), rng.permutation(500)
    records = new_records(500, vertex_type, key_type, ids)
    _fill(records, keys, keys, keys.astype(key_type), edge_ids)

    @njit
    def order(records, places):
        spare, words, spare_words = np.empty_like(places), np.empty(500, np.uint64), np.empty(500, np.uint64)
        return in_order(records, places, spare, words, spare_words)

    assert np.array_equal(order(records, np.arange(500)), np.lexsort((edge_ids, keys[edge_ids])))


SHORT_OF_MEMORY = """
import numba
from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.generators import generate
from mst.kernels.filter_boruvka.parallel import join
from mst.kernels.primitives.jit import BY_NAME

@numba.njit
def find_roots(records, first, last, parent, contended):
    if first == 0:
        raise MemoryError
    return last

BY_NAME[join.__name__, "find_roots"] = find_roots
problem = ours.prepare(generate("uniform", n=20_000, m=80_000, seed=1), width=4, input="edges", hand_over=False)
try:
    ours.solve(problem)
    raise SystemExit("there was memory")
except MemoryError:
    pass
"""


def test_no_worker_waits_for_one_that_ran_out_of_memory():
    run_python(SHORT_OF_MEMORY, NUMBA_NUM_THREADS=4)
