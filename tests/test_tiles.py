"""Edges that close cycles within a tile of rows, and which graphs are filtered by tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from checked_threads import counters_by_threads
from expected import by_kruskal

from mst.algorithms._filter_boruvka.tiles import rows_left_by_tiles
from mst.algorithms.sequential import filter_boruvka
from mst.graph import Graph, frozen
from mst.kernels.filter_boruvka.parallel.tiles import filter_tiles
from mst.kernels.filter_boruvka.policy import THREADS
from mst.kernels.parallel.runtime import LIVE, Schedule, launched, new_tallies, workers
from mst.kernels.primitives.keys import lazy_keys

ANY = replace(
    THREADS,
    tile=128,
    left_by_tiles=1.0,
    leaving=1.0,
    light_leaving=1e6,
    per_vertex_in_blocks=(1e6,) * 3,
    smallest_chunk=16,
)
"""Filters every graph by tiles, and cuts it into blocks."""


def communities(rng, n, m, size, far=0.05, weights="by community"):
    """Return communities of `size` consecutive vertices, rows by vertex, with a share `far` of other edges."""
    u = np.sort(rng.integers(0, n, m))
    away = rng.random(m) < far
    v = np.where(away, rng.integers(0, n, m), np.minimum(u // size * size + rng.integers(0, size, m), n - 1))
    w = {
        "by community": np.where(away, n * 1000, u // size * 1000) + rng.integers(0, 1000, m),
        "nearly ascending": np.arange(m) // 64 * 64 + rng.integers(0, 64, m),
        "ascending": np.arange(m),
        "random": rng.integers(0, 1000, m),
        "equal": np.zeros(m, np.int64),
    }[weights]
    return Graph(n, u, v, w.astype(np.int32))


@pytest.mark.parametrize("dtype", [np.int32, np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])
def test_a_tile_keeps_its_forest_and_the_edges_that_leave_its_window(rng, dtype):
    for _ in range(20):
        n, m, tile = int(rng.integers(1, 500)), int(rng.integers(1, 2000)), 64 * int(rng.integers(1, 9))
        graph = communities(
            rng, n, m, int(rng.integers(1, 60)), 0.1, rng.choice(["by community", "random", "equal"])
        )
        u, v, w = graph.u, graph.v, frozen((graph.w / 7 - 90).astype(dtype))
        if rng.random() < 0.3:
            u, v = frozen(u[::-1].copy()), frozen(v[::-1].copy())
        mask, tallies = np.zeros(-(-m // 64), np.uint64), new_tallies(2)
        with workers(min(2, launched())):
            filter_tiles(
                Schedule(min(2, launched()), tile, tallies), u.view("u4"), v.view("u4"), lazy_keys(w), 1, mask
            )
        kept = np.unpackbits(mask.view(np.uint8), bitorder="little").astype(bool)
        assert not kept[m:].any() and kept.sum() == tallies[LIVE]
        for first in range(0, m, tile):
            rows = slice(first, min(first + tile, m))
            low, high = sorted((int(u[rows][0]), int(u[rows][-1])))
            span = high - low + 1
            a, b, expected = u[rows], v[rows], np.ones(len(u[rows]), bool)
            if span <= len(a):
                inside = (np.minimum(a, b) >= low - span) & (np.maximum(a, b) <= high + span)
                near = np.flatnonzero(inside)
                expected = ~inside
                expected[near[by_kruskal(Graph(n, a[near], b[near], w[rows][near]))]] = True
            assert np.array_equal(kept[rows], expected)


@pytest.mark.parametrize(
    ("weights", "filtered"),
    [
        ("by community", True),
        ("nearly ascending", True),
        ("ascending", False),
        ("random", False),
        ("equal", False),
    ],
)
def test_only_weights_that_follow_rows_in_no_order_are_filtered(rng, weights, filtered):
    graph = communities(rng, 16_000, 128_000, 100, weights=weights)
    found = filter_boruvka.solve(filter_boruvka.prepare(graph, width=1, filter=True, input="edges"))
    assert np.array_equal(np.sort(found.edge_ids), by_kruskal(graph))
    assert ("tiles" in found.counters) == filtered
    assert ("tiles" in counters_by_threads(graph, 2)) == filtered


def test_rows_of_far_ends_and_shuffled_ones_are_not_filtered(rng):
    far = communities(rng, 16_000, 128_000, 16_000)
    shuffled = communities(rng, 16_000, 128_000, 100)
    order = rng.permutation(128_000)
    with workers(1):
        for graph, rows in ((far, slice(None)), (shuffled, order)):
            u, v, w = (frozen(column[rows]) for column in (graph.u, graph.v, graph.w))
            assert rows_left_by_tiles(16_000, u.view("u4"), v.view("u4"), lazy_keys(w), 1, THREADS) is None


@pytest.mark.parametrize("blocks", [True, False])
def test_what_tiles_leave_is_solved_in_blocks_or_in_batches(rng, blocks):
    policy = ANY if blocks else replace(ANY, leaving=-1.0)
    for turn in range(30):
        n, m = int(rng.integers(2, 1000)), int(rng.integers(1, 4000))
        graph = communities(
            rng, n, m, int(rng.integers(1, 60)), 0.1, ["by community", "random", "equal"][turn % 3]
        )
        for few in (0, 1 << 14):
            counters_by_threads(graph, min(3, launched()), replace(policy, few_left=few), seed=turn % 3)
