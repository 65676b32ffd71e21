"""Concurrent union-find: the same partition as a sequential one, every join won exactly once."""

from __future__ import annotations

import numpy as np
import pytest
from numba import prange

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


@njit(parallel=True)
def by_index(forest, u, v, width):
    won = np.zeros(width, np.int64)
    for worker in prange(width):
        won[worker] = some_by_index(forest, u, v, worker, width)
    return won.sum()


@njit(parallel=True)
def by_priority(forest, u, v, width):
    won = np.zeros(width, np.int64)
    for worker in prange(width):
        won[worker] = some_by_priority(forest, u, v, worker, width)
    return won.sum()


@njit(parallel=True)
def by_rank(forest, u, v, width):
    won = np.zeros(width, np.int64)
    for worker in prange(width):
        won[worker] = some_by_rank(forest, u, v, worker, width)
    return won.sum()


@njit(parallel=True)
def broken(forest, u, v, width):
    won = np.zeros(width, np.int64)
    for worker in prange(width):
        won[worker] = some_broken(forest, u, v, worker, width)
    return won.sum()


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


def test_concurrent_unions_by_index_join_every_component(rng):
    for n, u, v in inputs(rng):
        expected = components(n, u, v)
        for width in (1, 2):
            forest = np.arange(n)
            with workers(width):
                won = by_index(forest, u, v, width)
            assert won == n - len(np.unique(expected))
            assert [find(forest, x) for x in range(n)] == expected.tolist()


def test_concurrent_unions_by_priority_join_every_component(rng):
    for n, u, v in inputs(rng):
        expected = components(n, u, v)
        for width in (1, 2):
            forest = np.arange(n, dtype=np.uint32)
            with workers(width):
                won = by_priority(forest, u.astype(np.uint32), v.astype(np.uint32), width)
            roots = np.array([find(forest, np.uint32(x)) for x in range(n)])
            assert won == n - len(np.unique(expected)) == n - len(np.unique(roots))
            assert len(np.unique(np.stack([roots, expected]), axis=1).T) == len(np.unique(expected))


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


def test_concurrent_unions_by_rank_join_every_component(rng):
    for n, u, v in inputs(rng):
        expected = components(n, u, v)
        forest = ranked_forest(n)
        with workers(2):
            won = by_rank(forest, u, v, 2)
        roots = np.array([rank_find(forest, x) for x in range(n)])
        assert won == n - len(np.unique(expected)) == n - len(np.unique(roots))
        assert len(np.unique(np.stack([roots, expected]), axis=1).T) == len(np.unique(expected))


@pytest.mark.alone
def test_plain_writes_lose_joins(rng):
    n = 50_000
    u, v = rng.integers(0, n, 4 * n), rng.integers(0, 50, 4 * n)
    expected = n - len(np.unique(components(n, u, v)))

    def wrong():
        forest = np.arange(n)
        with workers(2):
            return broken(forest, u, v, 2) != expected

    assert any(wrong() for _ in range(400))
