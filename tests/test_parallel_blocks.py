"""Blocks of vertices that workers solve by themselves, and the edges between them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from checked_threads import counters_by_threads

from mst.algorithms.threads import filter_boruvka_threads as ours
from mst.algorithms.threads._blocks import cut_into_blocks
from mst.generators import generate
from mst.graph import Graph
from mst.kernels.filter_boruvka.parallel.blocks.division import edges_of
from mst.kernels.filter_boruvka.policy import THREADS
from mst.kernels.parallel.runtime import launched

ANY = replace(THREADS, leaving=1.0, light_leaving=1e6, per_vertex_in_blocks=(1e6,) * 3)
"""Cuts every graph into blocks."""

WIDTHS = sorted({2, min(3, launched()), min(8, launched())})


def grid(rows, columns):
    vertices = np.arange(rows * columns).reshape(rows, columns)
    u = np.concatenate([vertices[:, :-1].ravel(), vertices[:-1].ravel()])
    v = np.concatenate([vertices[:, 1:].ravel(), vertices[1:].ravel()])
    by_row = np.lexsort((v, u))
    return u[by_row], v[by_row]


def graphs(rng):
    """Yield graphs of which few to nearly all edges leave their block, with weights that follow rows or do not."""
    n, m, reach = int(rng.integers(2, 400)), int(rng.integers(1, 1500)), int(rng.integers(1, 40))
    u = rng.integers(0, n, m)
    near = np.clip(u + rng.integers(-reach, reach + 1, m), 0, n - 1)
    sorted_ = np.sort(rng.integers(0, 99, m))
    for w in (
        rng.permutation(m),
        rng.integers(0, 3, m),
        np.minimum(u, near),
        -np.maximum(u, near),
        sorted_,
        -sorted_,
    ):
        yield n, u, near, w
    yield n, u, near, -np.arange(m)
    yield n, u, rng.integers(0, n, m), rng.integers(0, 50, m)
    rows, columns = int(rng.integers(1, 25)), int(rng.integers(2, 25))
    u, v = grid(rows, columns)
    m = len(u)
    falling = -np.arange(m)
    for w in (np.arange(m), falling, falling // 3, falling // 40, rng.permutation(m), rng.integers(0, 4, m)):
        yield rows * columns, u, v, w


@pytest.mark.parametrize("dtype", [np.int32, pytest.param(np.float64, marks=pytest.mark.slow)])
@pytest.mark.parametrize("at_vertices", [False, True])
def test_blocks_find_the_forest(rng, dtype, at_vertices, monkeypatch):
    monkeypatch.setattr(ours, "_follow_vertices", lambda *given: at_vertices)
    cut, deferred = 0, 0
    for turn in range(40):
        # One thread joins what is left, or all of them do.
        policy = replace(ANY, smallest_chunk=16, largest_chunk=1024, few_left=turn % 2 << 14)
        for n, u, v, w in graphs(rng):
            w = np.asarray(w, dtype) if dtype == np.int32 else w / 7 - 3
            graph = Graph(n, u, v, w)
            counted = counters_by_threads(graph, WIDTHS[turn % len(WIDTHS)], policy, seed=turn % 3)
            cut += ("blocks_at_vertices" if at_vertices else "blocks") in counted
            deferred += counted.get("deferred", 0)
    assert cut > 200 and deferred > 1000


@pytest.mark.parametrize("order", ["random", "ascending", "descending", "with ties", "by column"])
def test_a_grid_is_solved_in_blocks_and_few_edges_are_left(rng, order):
    u, v = grid(500, 60)
    m = len(u)
    w = {
        "random": rng.permutation(m),
        "ascending": np.arange(m),
        "descending": -np.arange(m),
        "with ties": -np.arange(m) // 7,
        "by column": u % 60,
    }[order]
    graph = Graph(30_000, u, v, w.astype(np.int32))
    counted = counters_by_threads(graph, 2)
    assert counted["blocks"] == 2
    # A border crosses up to two rows of edges, and a block defers no more than leave it.
    assert counted["leaving"] < 2 * 60 and counted["deferred"] <= 2 * counted["leaving"]


def test_blocks_begin_with_the_lightest_edges_of_vertices_if_weights_follow_them(rng):
    u, v = grid(500, 250)
    heights = rng.permutation(125_000)
    for w, follow in (
        (np.maximum(heights[u], heights[v]), True),
        (u, False),  # rows are in order
        (rng.permutation(len(u)), False),
    ):
        graph = Graph(125_000, u, v, w.astype(np.int32))
        counted = counters_by_threads(graph, 2)
        assert counted["blocks"] == 2 and ("blocks_at_vertices" in counted) == follow


def test_blocks_have_about_as_many_edges(rng):
    # Nine tenths of the edges are among a tenth of the vertices.
    u = np.sort(
        np.where(rng.random(200_000) < 0.9, rng.integers(0, 10_000, 200_000), rng.integers(0, 99_000, 200_000))
    )
    graph = Graph(100_000, u, u + 1 + rng.integers(0, 20, len(u)), rng.integers(0, 1000, len(u)))
    edges = edges_of(ours.edge_list(graph, graph.w))
    cut = cut_into_blocks(graph.n, edges, 4, THREADS)
    held = np.histogram(graph.u, cut.starts)[0]
    assert len(held) == 4 and held.max() < 1.2 * held.min()
    assert np.array_equal(
        cut.cells[np.arange(graph.n) >> int(cut.shift)],
        np.searchsorted(cut.starts, np.arange(graph.n), "right") - 1,
    )


def test_graphs_whose_ids_do_not_follow_places_are_not_cut(rng):
    for graph in (
        generate("uniform", n=2000, m=8000, seed=1),
        Graph(300, np.zeros(2000, np.int32), rng.integers(0, 300, 2000), rng.integers(0, 9, 2000)),
    ):
        assert "blocks" not in counters_by_threads(graph, 2)


def test_many_light_edges_between_blocks_are_too_many_unless_rows_are_in_order_and_heavy_ones_are_not(rng):
    u = np.sort(rng.integers(0, 20_000, 100_000))
    far = rng.random(len(u)) < 0.04
    v = np.where(far, rng.integers(0, 20_000, len(u)), np.minimum(u + 1 + rng.integers(0, 20, len(u)), 19_999))
    near = rng.integers(0, 1000, len(u))
    for w, expected in (
        (near, False),
        (np.where(far, 2000 + near, near), True),
        (np.zeros(len(u)), True),
        (-np.arange(len(u)), True),
    ):
        graph = Graph(20_000, u, v, w.astype(np.int32))
        assert ("blocks" in counters_by_threads(graph, 2)) == expected


@pytest.mark.parametrize(
    "per_vertex, scattered, cut_by", [(2, True, (2, 4)), (4, True, (4,)), (4, False, (2, 4)), (24, False, ())]
)
def test_dense_graphs_are_not_cut(rng, per_vertex, scattered, cut_by):
    n, m = 20_000, 20_000 * per_vertex
    u = rng.integers(0, n - 9, m)
    u = u if scattered else np.sort(u)
    graph = Graph(n, u, u + rng.integers(1, 9, m), rng.permutation(m))
    edges = edges_of(ours.edge_list(graph, graph.w))
    assert tuple(width for width in (2, 4) if cut_into_blocks(n, edges, width, THREADS)) == cut_by


@pytest.mark.parametrize("values", [1, 3, 1 << 20])
def test_all_threads_join_many_heavy_edges_between_communities(rng, values):
    u = np.sort(rng.integers(0, 20_000, 400_000))
    far = rng.random(len(u)) < 0.05
    v = np.where(far, rng.integers(0, 20_000, len(u)), u // 20 * 20 + rng.integers(0, 20, len(u)))
    w = np.where(far, 2000 + rng.integers(0, values, len(u)), rng.integers(0, 1000, len(u)))
    graph = Graph(20_000, u, v, w.astype(np.int32))
    counted = counters_by_threads(graph, 2, replace(THREADS, per_vertex_in_blocks=(1e6,) * 3))
    assert counted["blocks"] == 2 and counted["leaving"] > 0 and counted["light"] < counted["leaving"] / 2


def is_left_to_one_core(graph, width):
    ordered = width <= THREADS.in_order and ours._order_of_rows(graph, width) != 0
    return ours._is_for_one_core(graph, width, ordered)


def test_two_threads_share_passes_over_scattered_rows_of_local_ids(rng, monkeypatch):
    u, v = grid(1000, 120)
    for rows, follow in ((np.arange(len(u)), True), (rng.permutation(len(u)), False)):
        graph = Graph(120_000, u[rows], v[rows], rng.permutation(len(u)).astype(np.int32))
        assert [is_left_to_one_core(graph, width) for width in (2, 4)] == [not follow, False]
        monkeypatch.setattr("mst.algorithms.threads._blocks._FEWEST_SCATTERED", graph.m)
        assert not is_left_to_one_core(graph, 2)
        monkeypatch.undo()


def test_few_threads_leave_rows_in_order_to_one_core(rng):
    u, v = grid(1000, 60)
    ids = rng.permutation(60_000)
    for w, in_order in (
        (np.arange(len(u)), True),
        (-np.arange(len(u)), True),
        (rng.permutation(len(u)), False),
    ):
        for near, a, b in ((True, u, v), (False, ids[u], ids[v])):
            graph = Graph(60_000, a, b, w.astype(np.int32))
            left = [is_left_to_one_core(graph, width) for width in (1, 2, 4, 8)]
            assert left == [True, in_order or not near, in_order or not near, not near]


def test_few_threads_leave_weights_in_order_of_sorted_rows_to_one_core(rng):
    u, v = np.sort(rng.integers(0, 100_000, 520_000)), rng.integers(0, 100_000, 520_000)
    for w, rows, left in (
        (np.arange(len(u)), slice(None), True),
        (-np.arange(len(u)), slice(None, None, -1), True),
        (np.arange(len(u)), rng.permutation(len(u)), False),
        (rng.permutation(len(u)), slice(None), False),
    ):
        graph = Graph(100_000, u[rows], v[rows], w.astype(np.int32))
        assert [is_left_to_one_core(graph, width) for width in (4, 8)] == [left, False]
