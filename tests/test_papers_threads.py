"""The papers' shared-memory algorithms: effects of their options, their counters, and the kernels that they share."""

from __future__ import annotations

import itertools

import adversarial
import drawn
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mst import ConfigError, order, registry
from mst.execute import execute
from mst.facts import Facts
from mst.graph import Graph
from mst.kernels.primitives.packed_edges import edge_id, lighter, pack
from mst.kernels.threads.owner_boruvka import (
    FREE,
    State,
    acquire_permissions,
    link_by_cas,
    link_with_permission,
)
from mst.kernels.threads.parlay_boruvka import find_halving
from mst.kernels.union_find.concurrent import rank_find, rank_link, rank_root, ranked_forest


def run(name, graph, width=1, **options):
    """Return the forest and the counters of a run."""
    found = execute(registry.get(name), graph, width, options)
    return np.sort(found.collect()), found.counters()


def random_graph(n=500, m=3_000, seed=1):
    rng = np.random.default_rng(seed)
    return Graph(n, *rng.integers(0, n, (2, m)), rng.permutation(m))


# -- counters and options ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_joining_on_both_ends_takes_one_round_for_each_edge_of_a_star():
    star = Graph(41, np.zeros(40, int), np.arange(1, 41), np.arange(40))
    assert run("edge-boruvka", star)[1]["rounds"] == 1
    assert run("edge-boruvka", star, join="both")[1]["rounds"] == 40
    assert run("edge-boruvka", star, join="both", minimum="vertex")[1]["rounds"] == 40


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"fused": True}, {"filter": "serial"}, {"compression": False}])
def test_published_optimisations_do_not_change_the_rounds(options):
    graph = random_graph()
    assert run("edge-boruvka", graph, **options)[1] == run("edge-boruvka", graph)[1]


@pytest.mark.slow
def test_slots_by_round_are_twice_the_edges_by_round():
    graph = random_graph()
    edges = run("edge-boruvka", graph)[1]["edges by round"]
    slots = run("edge-boruvka", graph, minimum="vertex")[1]["edges by round"]
    assert slots == [2 * size for size in edges]
    assert run("parlay-boruvka", graph)[1]["edges by round"][1:] == edges[1:]


@pytest.mark.slow
def test_phases_are_those_of_the_paper():
    algorithm = registry.get("edge-boruvka")
    module = algorithm.load()
    names = {"minimum edges", "unions", "mapping", "filtering", "gathering"}
    for options in ({}, {"fused": True}, {"minimum": "vertex"}):
        problem = module.prepare(random_graph(), width=1, **algorithm.resolve(options))
        seconds = module.phases(problem)
        assert set(seconds) == names
        assert sum(seconds.values()) > 0


def test_largest_chunk_is_one_that_sums_with_the_edges_fit_64_bits():
    graph = Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6])
    for width in (1, 2):
        assert run("edge-boruvka", graph, width=width, chunk=2**31 - 1)[0].tolist() == [0, 2]
    with pytest.raises(ConfigError, match="chunk=9223372036854775807 must be at least 1 and at most"):
        run("edge-boruvka", graph, chunk=2**63 - 1)


def test_options_that_contradict_each_other_are_refused():
    algorithm = registry.get("edge-boruvka")
    facts = Facts(n=10, m=10)
    assert "ticket" in algorithm.skip(facts, options={"fused": True, "filter": "serial"})
    assert "vertex" in algorithm.skip(facts, options={"fused": True, "minimum": "vertex"})
    assert algorithm.skip(facts, options={"minimum": "vertex", "join": "both"}) is None


@pytest.mark.parametrize("name", ["lock-boruvka", "cas-boruvka"])
def test_every_owner_visits_every_edge(name):
    graph = random_graph()
    for width in (1, 2):
        counters = run(name, graph, width)[1]
        # The round that unites nothing visits them too.
        assert counters["edge visits"] == (counters["rounds"] + 1) * width * graph.m


@pytest.mark.slow
def test_without_filter_every_round_scans_all_edges():
    graph = random_graph()
    counters = run("parlay-boruvka", graph, filter=False)[1]
    assert set(counters["edges by round"]) == {graph.m}
    components = counters["components by round"]
    assert all(2 * after <= before for before, after in itertools.pairwise(components))


@pytest.mark.slow
def test_contraction_halves_the_vertices():
    vertices = run("contract-boruvka", random_graph())[1]["vertices by round"]
    assert all(2 * after <= before for before, after in itertools.pairwise(vertices))


# -- kernels ----------------------------------------------------------------------------------------------------


@given(st.sampled_from(adversarial.DTYPES).flatmap(lambda dtype: drawn.weights(dtype, 9)))
def test_words_order_like_weights_and_ids(w):
    ids = np.arange(9)[::-1] * 3
    words, beside = pack(order.keys(w), ids)
    for i in range(9):
        assert edge_id(words, beside, i) == ids[i]
        for j in range(9):
            assert lighter(words, beside, i, j) == ((w[i], ids[i]) < (w[j], ids[j]))


def test_ids_beyond_32_bits_are_kept_outside_the_words():
    words, ids = pack(np.array([5, 5], np.uint32), np.array([2**32, 2**32 - 1]))
    assert words.tolist() == [5, 5]
    assert lighter(words, ids, 1, 0)
    assert not lighter(words, ids, 0, 1)


def test_links_keep_ranked_trees_flat_and_finds_agree():
    sets = ranked_forest(16)
    for step in (1, 2, 4, 8):
        for x in range(0, 16, 2 * step):
            assert rank_link(sets, rank_root(sets, x), rank_root(sets, x + step))
    top = rank_root(sets, 0)
    below = next(x for x in range(16) if x != top)
    assert not rank_link(sets, below, top), "only roots can be linked"
    untouched = sets.copy()
    assert {rank_root(sets, x) for x in range(16)} == {top}
    assert np.array_equal(sets, untouched)
    assert {rank_find(sets, x) for x in range(16)} == {top}


def test_halving_moves_every_other_vertex():
    parent = np.array([0, 0, 1, 2, 3, 4])
    assert find_halving(parent, 5) == 0
    assert parent.tolist() == [0, 0, 1, 1, 3, 3]


def test_permission_is_granted_for_both_components_or_none():
    permissions = np.full(4, FREE, np.int32)
    assert acquire_permissions(permissions, 3, 1, np.int32(7))
    assert permissions.tolist() == [FREE, 7, FREE, 7]
    assert not acquire_permissions(permissions, 0, 3, np.int32(8))
    assert not acquire_permissions(permissions, 1, 2, np.int32(8))
    assert permissions.tolist() == [FREE, 7, FREE, 7]


@pytest.mark.parametrize("locking", [True, False])
def test_roots_alone_are_linked_and_without_locks_the_larger_below_the_smaller(locking):
    link, top, below = (link_with_permission, 3, 1) if locking else (link_by_cas, 1, 3)
    state = State(*np.zeros((3, 4), np.int32), np.zeros(0, np.uint8), np.full(4 * locking, FREE, np.int32))
    state.parent[:] = range(4)
    assert link(state, 3, 1, np.int32(7)) and (state.parent[below], state.owner[top]) == (top, 7)
    linked = state.parent.tolist()
    for x, y in ((below, 2), (2, below)):
        assert not link(state, x, y, np.int32(8)), "another thread has linked it meanwhile"
    assert state.parent.tolist() == linked and (state.permissions == FREE).all()
