"""Atomic operations lose no update."""

from __future__ import annotations

import numpy as np
import pytest
from numba import prange

from mst.kernels.parallel.runtime import refusal, workers
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store_where, write_min
from mst.kernels.primitives.jit import njit

STEPS = 200_000
pytestmark = [pytest.mark.alone, pytest.mark.skipif(refusal(2) is not None, reason="needs two threads")]


@njit
def add_many(cell, steps):
    for _ in range(steps):
        fetch_add(cell, 0, 1)


@njit
def swap_many(cell, steps):
    for _ in range(steps):
        seen = load(cell, 0)
        while True:
            found = compare_and_swap(cell, 0, seen, seen + 1)
            if found == seen:
                break
            seen = found


@njit
def write_min_many(cell, steps, worker):
    for i in range(steps):
        write_min(cell, 0, 2 * (steps - i) + worker)


@njit(parallel=True)
def add_all(cell, width, steps):
    for _ in prange(width):
        add_many(cell, steps)


@njit(parallel=True)
def swap_all(cell, width, steps):
    for _ in prange(width):
        swap_many(cell, steps)


@njit(parallel=True)
def write_min_all(cell, width, steps):
    for worker in prange(width):
        write_min_many(cell, steps, worker)


def total(kernel, steps=STEPS):
    cell = np.zeros(1, np.int64)
    with workers(2):
        kernel(cell, 2, steps)
    return cell[0]


@pytest.mark.parametrize("kernel", [add_all, swap_all])
def test_no_update_is_lost(kernel):
    assert total(kernel) == 2 * STEPS


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_write_min_keeps_the_least_of_concurrent_values(dtype):
    cell = np.full(1, np.iinfo(dtype).max, dtype)
    with workers(2):
        write_min_all(cell, 2, 10_000)
    assert cell[0] == 2


@njit
def store_each(chosen, here, there, values):
    for i in range(chosen.size):
        store_where(chosen[i], here, i, there, chosen.size - 1 - i, values[i])


@pytest.mark.parametrize("dtype", [np.uint32, np.int64])
def test_store_where_writes_to_one_of_two_places(dtype):
    chosen = np.array([True, False, False, True, False])
    here, there = np.zeros(5, dtype), np.zeros(5, dtype)
    store_each(chosen, here, there, np.arange(1, 6).astype(dtype))
    assert here.tolist() == [1, 0, 0, 4, 0]
    assert there.tolist() == [5, 0, 3, 2, 0]
