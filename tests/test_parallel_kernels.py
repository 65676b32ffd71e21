"""Parallel building blocks against NumPy, at several widths and perturbed schedules."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import numpy as np
import pytest

import mst
from mst import order
from mst.kernels.parallel import runtime as parallel_runtime
from mst.kernels.parallel.ascending import ascending
from mst.kernels.parallel.compact import compact
from mst.kernels.parallel.keys import keys_at, words_of
from mst.kernels.parallel.parts import by_threads
from mst.kernels.parallel.radix import argsort
from mst.kernels.parallel.runtime import facts, new_tallies, refusal, touched_empty, workers
from mst.kernels.proof import linking
from mst.kernels.proof.reconstruction import edge_dtype, link_trees

WIDTHS = [width for width in (1, 2) if refusal(width) is None]

PACKAGE = Path(mst.__file__).parent


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_radix_sort_is_stable(width, dtype, rng):
    for size, highest in ((0, 1), (1, 1), (5_000, 3), (20_000, 2**31)):
        keys = rng.integers(0, highest, size).astype(dtype)
        with workers(width):
            ranked = argsort(keys, width, delay_seed=7)
        assert np.array_equal(ranked, np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_distinct_ids_are_sorted_and_equal_ones_counted(width, dtype, rng):
    for m, size in ((1, 0), (1, 1), (100, 100), (200_000, 70_000), (2**31, 5000)):
        ids = rng.choice(m, size, replace=False) if m < 2**30 else rng.permutation(size) * (m // 5000)
        ids = ids.astype(dtype)
        with workers(width):
            found, different = ascending(ids, m, width, delay_seed=7)
        assert different == size and np.array_equal(found, np.sort(ids))
        if size > 1:
            ids[0] = ids[-1]
            with workers(width):
                assert ascending(ids, m, width)[1] == size - 1


def tree_records(u, v) -> np.ndarray:
    """Records of edges that are linked in the order of their places."""
    edges = np.zeros(len(u), edge_dtype(np.dtype(np.uint32), len(u), np.dtype(np.int32)))
    edges["u"], edges["v"] = u, v
    return edges


@pytest.mark.parametrize("width", [width for width in (1, 2, 3, 4) if refusal(width) is None])
def test_threads_link_trees_as_one_core_does(width, rng, monkeypatch):
    monkeypatch.setattr(linking, "_SHORTEST", 100)
    n = 4000
    line, order_ = np.arange(1, n), rng.permutation(n - 1)
    shapes = {
        "growing path": (line - 1, line),
        "shuffled path": (line[order_] - 1, line[order_]),
        "star": (line[order_], np.zeros(n - 1, int)),
        "random tree": (line[order_], rng.integers(0, line)[order_]),
        "pairs of pairs": (line[order_] // 2, line[order_]),
        "no edges": (line[:0], line[:0]),
    }
    for (name, (u, v)), cycle in itertools.product(shapes.items(), (None, 0, 150, n - 1)):
        if len(u) and cycle is not None:
            # Whatever edge follows a spanning tree, or comes twice, closes a cycle.
            u, v = np.insert(u, cycle, u[cycle // 2]), np.insert(v, cycle, v[cycle // 2])
        one, several = tree_records(u, v), tree_records(u, v)
        links, links_by_threads = np.empty((2, n, 2), np.uint32)
        clusters, clusters_by_threads = np.zeros((2, len(u), 3), np.uint32)
        rank = link_trees(one, np.arange(n, dtype=np.uint32), links, clusters)
        with workers(width):
            found = linking.link_trees_by(width, several, links_by_threads, clusters_by_threads, delay_seed=5)
        assert found == rank and np.array_equal(links_by_threads, links), name
        assert np.array_equal(clusters_by_threads, clusters), name
        stop = len(u) if rank < 0 else rank
        assert np.array_equal(several[:stop], one[:stop]), name


@pytest.mark.parametrize("width", WIDTHS)
def test_parts_cover_a_range_once_in_order(width):
    for size, smallest in ((0, 1), (1, 1), (100, 7), (5000, 1024), (5000, 1)):
        with by_threads(width, smallest) as parts:
            ranges = parts(size, lambda first, last: (first, last))
            assert [i for first, last in ranges for i in range(first, last)] == list(range(size))
            assert len(ranges) == 1 or min(last - first for first, last in ranges) >= smallest
            with pytest.raises(ZeroDivisionError):
                parts(5000, lambda first, last: 1 // 0)


@pytest.mark.parametrize("width", WIDTHS)
def test_compaction_keeps_the_order(width, rng):
    bits = rng.random(64 * 300) < 0.3
    mask = np.packbits(bits, bitorder="little").view(np.uint64)
    with workers(width):
        assert np.array_equal(compact(mask, width, 7, new_tallies(width, 5)), np.flatnonzero(bits))


@pytest.mark.parametrize(
    "weights",
    [
        np.array([3, -2, 0, 2**31 - 1, -(2**31)], np.int32),
        np.array([3, -2, 2**40, -(2**62)], np.int64),
        np.array([2**40, 2**40 + 5, 2**40 + 2], np.int64),
        np.array([0.5, -0.0, 0.0, -np.inf, np.inf, -1.5], np.float32),
        np.array([0.1, -0.0, 0.0, -1e300, 1e300], np.float64),
        np.array([0.5, -0.0, 0.0, -2.0], np.float64),
    ],
)
def test_keys_are_those_of_the_order(weights):
    words, kind = words_of(weights, 1)
    expected = order.keys(weights)
    found = keys_at(words, kind, np.arange(len(weights)), 1)
    assert found.dtype == expected.dtype
    assert np.array_equal(np.argsort(found, kind="stable"), np.argsort(expected, kind="stable"))
    assert np.array_equal(found[:, None] == found, weights[:, None] == weights)


def test_runtime_facts_name_the_pinned_layer():
    assert facts()["layer"] == "omp"


def test_pages_are_touched_within_an_array_and_nowhere_else():
    around = np.ones(6 << 20, np.uint8)
    raw = around[5_000:-7_000]
    with workers(2):
        parallel_runtime._touch(2, raw, -raw.ctypes.data % (1 << 21), new_tallies(2))
    touched = 5_000 + np.flatnonzero(raw == 0)
    assert around[:5_000].all() and around[-7_000:].all()
    pages = (around.ctypes.data + touched) // 4096
    first, last = around.ctypes.data + 5_000, around.ctypes.data + around.size - 7_001
    assert set(pages) >= set(range(first // 4096 + 1, last // 4096))


@pytest.mark.parametrize(
    ("width", "used", "rows"), [(2, None, 400_000), (2, 300_000, 300_000), (2, 10, 0), (1, None, 0)]
)
def test_likely_used_pages_are_touched_where_workers_write_side_by_side(width, used, rows, monkeypatch):
    sizes = [0]
    monkeypatch.setattr(parallel_runtime, "_touch", lambda width, raw, head, tallies: sizes.append(raw.size))
    array = touched_empty((400_000, 2), np.uint64, width, new_tallies(width), used)
    assert array.shape == (400_000, 2) and sizes[-1] == rows * 16


def test_no_parallel_kernel_stores_through_an_attribute():
    """Numba 0.68 drops ``edges.a[i] = x`` inside a prange as dead code, without an error."""
    dropped = []
    for file in sorted(PACKAGE.rglob("*.py")):
        for function in ast.walk(ast.parse(file.read_text())):
            if isinstance(function, ast.FunctionDef) and any(
                map(is_inlined_or_parallel, function.decorator_list)
            ):
                dropped += [f"{file.name}:{line}" for line in stores_through_attributes(function)]
    assert dropped == []


def is_inlined_or_parallel(decorator):
    options = {k.arg: k.value for k in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    return "parallel" in options or "inline" in options


def stores_through_attributes(function):
    """Return the lines of a function's syntax tree that store to an element of an attribute."""
    return [
        node.lineno
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Attribute)
    ]


def test_stores_through_attributes_are_found():
    source = "@njit(parallel=True)\ndef f(t):\n    t.a[0], x = 1, t.b[0]\n    x[1] = 2\n"
    (function,) = ast.parse(source).body
    assert is_inlined_or_parallel(function.decorator_list[0])
    assert stores_through_attributes(function) == [3]
