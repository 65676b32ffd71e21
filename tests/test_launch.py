"""Calls by address: workers by the thread pool, and compiled functions without a copy in their caller."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from llvmlite import ir
from numba.core import types

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import refusal, workers
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.jit import intrinsic, njit
from mst.kernels.primitives.out_of_line import call


@njit
def count(worker, calls, weight):
    fetch_add(calls, worker, weight)


@njit
def count_all(width, calls, weight):
    run(width, count, calls, weight)


@njit
def allocate(worker, sizes, calls):
    fetch_add(calls, worker, np.int64(1))
    calls[worker] += np.empty(sizes[worker], np.uint8).size > 2**60


@njit
def allocate_all(width, sizes, calls):
    run(width, allocate, sizes, calls)


@njit
def root_of(x):
    if x < 0:
        raise ValueError("negative")
    return x**0.5


@njit
def call_root_of(x):
    return call(root_of, x)


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


class Nested(NamedTuple):
    pair: Pair
    number: int
    array: np.ndarray


@intrinsic
def owner(typing_context, array):
    """Return the address of the object that counts the references of an array."""

    def generate(context, builder, signature, values):
        meminfo = context.make_array(signature.args[0])(context, builder, values[0]).meminfo
        return builder.ptrtoint(meminfo, ir.IntType(64))

    return types.int64(array), generate


@njit
def note_owners(worker, found, array, nested, equal):
    found[worker, 0] = owner(array)
    found[worker, 1] = owner(nested.array)
    found[worker, 2] = owner(nested.pair.first) | owner(nested.pair.second)
    found[worker, 3] = owner(equal[0]) | owner(equal[1][2:])


@njit
def note_all_owners(width, found, array, nested, equal):
    run(width, note_owners, found, array, nested, equal)
    return owner(array)


@pytest.mark.parametrize("width", [1, 2, 5])
def test_workers_share_no_count_of_references(width):
    array, wide = np.arange(5), np.arange(6.0).reshape(2, 3)
    found = np.ones((width, 4), np.int64)
    with workers(1 if refusal(2) else 2):
        counted = note_all_owners(width, found, array, Nested(Pair(array, wide), 7, wide), (array, array))
    assert counted and not found.any()


@pytest.mark.parametrize("width", [1, 2, 5])
def test_every_worker_is_called_once(width):
    calls = np.zeros(8, np.int64)
    with workers(1 if refusal(2) else 2):
        for _ in range(100):
            count_all(width, calls, np.int64(3))
    assert calls.tolist() == [300] * width + [0] * (8 - width)


def test_memory_that_a_worker_lacks_is_an_error_of_the_caller():
    calls = np.zeros(2, np.int64)
    with workers(1), pytest.raises(MemoryError, match="a worker ran out of memory"):
        allocate_all(2, np.array([1, 2**62], np.int64), calls)
    assert calls.tolist() == [1, 1]


@pytest.mark.parametrize("x", [4, 2.25])
def test_call_returns_the_value_of_any_specialisation(x):
    assert call_root_of(x) == x**0.5


def test_call_passes_errors_on():
    with pytest.raises(ValueError, match="negative"):
        call_root_of(-1.0)
