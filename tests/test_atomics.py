"""Atomic operations lose no update."""

from __future__ import annotations

import numba
import numpy as np
import pytest

from mst.kernels.parallel.runtime import refusal, workers
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, store_where, write_min
from mst.kernels.primitives.jit import njit

STEPS = 200_000
pytestmark = [pytest.mark.alone, pytest.mark.skipif(refusal(2) is not None, reason="needs two threads")]


@njit
def add_many(cell, steps, worker):
    for _ in range(steps):
        fetch_add(cell, 0, 1)


@njit
def swap_many(cell, steps, worker):
    for _ in range(steps):
        seen = load(cell, 0)
        while True:
            found = compare_and_swap(cell, 0, seen, seen + 1)
            if found == seen:
                break
            seen = found


@njit
def write_min_many(cells, steps, worker):
    for i in range(steps):
        write_min(cells, i, worker)


def by_two_workers(kernel, cells):
    """Let two workers run a kernel on cells at once."""

    @numba.njit(parallel=True)
    def run(cells):
        for worker in numba.prange(2):
            kernel(cells, STEPS, cells.dtype.type(worker))

    with workers(2):
        run(cells)
    return cells


@pytest.mark.parametrize("kernel", [add_many, swap_many])
def test_no_update_is_lost(kernel):
    assert by_two_workers(kernel, np.zeros(1, np.int64)) == 2 * STEPS


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_write_min_keeps_the_least_of_concurrent_values(dtype):
    assert not by_two_workers(write_min_many, np.full(STEPS, np.iinfo(dtype).max, dtype)).any()


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
