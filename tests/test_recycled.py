"""Large arrays in memory that earlier ones have left."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from mst.kernels.primitives import recycled
from mst.kernels.primitives.recycled import empty, recycling

SIZE = 1 << 23


def address(array):
    return array.ctypes.data


def test_memory_is_taken_again_once_no_view_is_left():
    with recycling():
        first = empty(SIZE, np.uint64)
        view = first.view(np.uint32).reshape(-1, 2)[5:, 0]
        place = address(first)
        del first
        view[:] = 7
        other = empty(SIZE, np.uint64)
        other[:] = 1
        assert (view == 7).all() and address(other) != place
        del view
        again = empty((SIZE // 2, 4), np.uint32)
        assert address(again) == place and again.shape == (SIZE // 2, 4) and again.dtype == np.uint32


@pytest.mark.parametrize(
    "size, same", [(SIZE * 9 // 8, True), (SIZE * 2, False), (SIZE // 2, True), (SIZE // 2 - 1, False)]
)
def test_memory_serves_arrays_of_about_its_size(size, same):
    with recycling():
        place = address(empty(SIZE, np.uint64))
        assert (address(empty(size, np.uint64)) == place) == same


def test_memory_that_became_too_small_goes_back_to_the_system():
    with recycling():
        for size in (SIZE, 2 * SIZE, 4 * SIZE):
            empty(size, np.uint64)
        assert [len(memory) // (8 * SIZE) for memory in recycled._current.memory._left] == [5]


def test_a_repeated_sequence_of_sizes_takes_no_new_memory():
    def repeat():
        first, second = empty(4 * SIZE, np.uint64), empty(SIZE, np.uint64)
        place = address(second)
        del second
        return {address(first), place, address(empty(SIZE // 2, np.uint64))}

    with recycling():
        assert repeat() == repeat()


def test_other_threads_and_later_arrays_take_no_part():
    with recycling():
        place = address(empty(SIZE, np.uint64))
        found = []
        other = threading.Thread(target=lambda: found.append(empty(SIZE, np.uint64)))
        other.start()
        other.join()
        assert found[0].base is None
        with recycling():
            assert address(empty(SIZE, np.uint64)) == place
    assert empty(SIZE, np.uint64).base is None
