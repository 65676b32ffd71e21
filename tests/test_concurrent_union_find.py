"""Concurrent union-find: the same partition as a sequential one, every join won exactly once."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from mst.kernels.parallel.runtime import refusal, workers
from mst.kernels.primitives.atomics import store
from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.concurrent import (
    find,
    in_order_of_priority,
    rank_find,
    rank_link,
    ranked_forest,
    unite,
    unite_by_priority,
)

pytestmark = pytest.mark.skipif(refusal(2) is not None, reason="needs two threads")


@njit
def some_by_index(forest, u, v, first, step):
    won = 0
    for i in range(first, u.size, step):
        won += unite(forest, u[i], v[i])
    return won


@njit
def some_by_priority(forest, u, v, first, step):
    won = 0
    for i in range(first, u.size, step):
        won += unite_by_priority(forest, u[i], v[i])
    return won


@njit
def some_by_rank(forest, u, v, first, step):
    won = 0
    for i in range(first, u.size, step):
        x, y = rank_find(forest, u[i]), rank_find(forest, v[i])
        while x != y and not rank_link(forest, x, y):
            x, y = rank_find(forest, x), rank_find(forest, y)
        won += x != y
    return won


@njit
def some_broken(forest, u, v, first, step):
    """As `some_by_index`, but roots are linked by a plain write."""
    won = 0
    for i in range(first, u.size, step):
        x, y = find(forest, u[i]), find(forest, v[i])
        if x != y:
            store(forest, max(x, y), min(x, y))
            won += 1
    return won


def by_workers(some):
    """Return a function that lets workers unite some of the edges each, and returns how many joins they won."""

    @numba.njit(parallel=True)
    def unite_all(forest, u, v, width):
        won = np.zeros(width, np.int64)
        for worker in numba.prange(width):
            won[worker] = some(forest, u, v, worker, width)
        return won.sum()

    return unite_all


def components(n, u, v):
    parent = list(range(n))

    def root(x):
        while parent[x] != x:
            parent[x] = x = parent[parent[x]]
        return x

    for a, b in zip(u.tolist(), v.tolist()):
        a, b = root(a), root(b)
        parent[max(a, b)] = min(a, b)
    return np.array([root(x) for x in range(n)])


def inputs(rng):
    n, m = 300, 2_000
    yield n, rng.integers(0, n, m), rng.integers(0, n, m)
    yield n, np.arange(n - 1), np.arange(1, n)
    yield n, np.arange(n - 1)[::-1].copy(), np.arange(1, n)[::-1].copy()
    yield n, np.zeros(n - 1, np.int64), np.arange(1, n)


@pytest.mark.parametrize(
    "some,forest_of,root,ends",
    [
        (some_by_index, np.arange, find, np.int64),
        (some_by_priority, lambda n: np.arange(n, dtype=np.uint32), find, np.uint32),
        (some_by_rank, ranked_forest, rank_find, np.int64),
    ],
    ids=["index", "priority", "rank"],
)
def test_concurrent_unions_join_every_component(some, forest_of, root, ends, rng):
    unite_all = by_workers(some)
    for n, u, v in inputs(rng):
        expected = components(n, u, v)
        for width in (1, 2):
            forest = forest_of(n)
            with workers(width):
                won = unite_all(forest, u.astype(ends), v.astype(ends), width)
            roots = np.array([root(forest, ends(x)) for x in range(n)])
            assert won == n - len(np.unique(expected)) == n - len(np.unique(roots))
            assert len(np.unique(np.stack([roots, expected]), axis=1).T) == len(np.unique(expected))
            if some is some_by_index:
                assert np.array_equal(roots, expected)


@njit
def chain(parent):
    """Link consecutive vertices, the last ones first, as roots; return the longest path to a root before the end."""
    steps = 0
    for x in range(parent.size - 2, -1, -1):
        root = np.int64(x + 1)
        length = 0
        while parent[root] != root:
            root = parent[root]
            length += 1
        steps = max(steps, length)
        low, high = in_order_of_priority(x, root)
        parent[low] = high
    return steps


def test_priorities_order_all_vertices_and_make_no_long_chain(rng):
    numbers = np.concatenate([np.arange(40), rng.integers(0, 2**31, 200), 2 ** np.arange(31)])
    for x in numbers:
        before = [int(in_order_of_priority(x, y)[0]) == y for y in np.unique(numbers) if y != x]
        after = [int(in_order_of_priority(y, x)[0]) == y for y in np.unique(numbers) if y != x]
        assert before == after
    distinct = np.unique(numbers)
    lower = sorted(
        distinct, key=lambda x: sum(int(in_order_of_priority(x, y)[0]) == x for y in distinct if y != x)
    )
    assert all(int(in_order_of_priority(x, y)[0]) == y for i, x in enumerate(lower) for y in lower[i + 1 :])
    assert all(a.bit_length() <= b.bit_length() for a, b in zip(map(int, lower), map(int, lower[1:])))
    assert chain(np.arange(100_000)) < 100


@pytest.mark.alone
def test_plain_writes_lose_joins(rng):
    n = 50_000
    u, v = rng.integers(0, n, 4 * n), rng.integers(0, 50, 4 * n)
    expected = n - len(np.unique(components(n, u, v)))

    broken = by_workers(some_broken)

    def wrong():
        forest = np.arange(n)
        with workers(2):
            return broken(forest, u, v, 2) != expected

    assert any(wrong() for _ in range(400))
