"""Staged copies between host and device, with a stand-in for CUDA's driver whose device memory is the host's."""

from __future__ import annotations

import sys
from ctypes import memmove
from types import SimpleNamespace
from unittest.mock import Mock

import llvmlite.binding as llvm
import numba
import numpy as np
import pytest
from numba.core import types
from stand_in import OnDevice

from mst.algorithms.cuda.device import staging
from mst.bench.machine import this_machine
from mst.kernels.cuda import staging as kernels
from mst.kernels.parallel.runtime import workers

pytestmark = pytest.mark.skipif(
    bool(this_machine().gpus), reason="would replace the driver of tests on the GPU"
)
STATE = np.zeros(2, np.int64)  # copies so far, and the number of the first copy that fails
INTS = types.int64
memcpy = types.ExternalFunction("memcpy", INTS(INTS, INTS, INTS))
STATE_AT = STATE.ctypes.data


def handle(**options):
    """Return a stream or an event."""
    return Mock(ptr=1)


def copied(target, source, size, kind, stream):
    """Copy as the runtime does."""
    memmove(target, source, size)


@pytest.fixture(scope="module")
def driver():
    """Functions of the driver that do their work at once; from copy number ``STATE[1]`` on, if not 0, they fail."""

    @numba.njit
    def copy(target, source, size):
        state = numba.carray(address_as_pointer(STATE_AT), 2, np.int64)
        state[0] += 1  # two workers can lose a count, or both pass one by
        memcpy(target, source, size)
        return np.int32(700) if state[0] >= state[1] > 0 else np.int32(0)

    @numba.cfunc(types.int32(INTS, INTS, INTS, INTS))
    def copied(target, source, size, stream):
        return copy(target, source, size)

    @numba.cfunc(types.int32(INTS, INTS, INTS))
    def nothing(a, b, c):
        return 0

    for name in ("cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"):
        llvm.add_symbol(name, copied.address)
    for name in (
        "cuCtxSetCurrent",
        "cuStreamWaitEvent",
        "cuStreamSynchronize",
        "cuEventRecord",
        "cuEventSynchronize",
    ):
        llvm.add_symbol(name, nothing.address)
    return copied, nothing


@numba.extending.intrinsic
def address_as_pointer(typing_context, address):
    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.return_type)
        return builder.inttoptr(arguments[0], kind)

    return types.CPointer(types.int64)(address), generate


@pytest.fixture(params=[(1, 0), (2, 0), (2, 4096)], ids=str)
def fake(driver, monkeypatch, request):
    """Replace the device; its staging has so many workers, and so many bytes are copied by one thread alone."""
    workers, alone = request.param
    cuda = SimpleNamespace(
        alloc_pinned_memory=bytearray,
        Stream=handle,
        Event=handle,
        get_current_stream=handle,
        driver=SimpleNamespace(ctxGetCurrent=lambda: 1, CUDADriverError=RuntimeError),
        runtime=SimpleNamespace(memcpyAsync=copied, memcpyHostToDevice=1),
    )
    cupy = SimpleNamespace(cuda=cuda)
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(kernels, "find_driver", lambda: None)
    monkeypatch.setattr(staging, "CHUNK", 4096)
    monkeypatch.setattr(staging, "SMALLEST", 512)
    monkeypatch.setattr(staging, "ALONE", alone)
    kept = staging.Staging(workers)
    monkeypatch.setattr(staging, "of_device", lambda: kept)
    STATE[:] = 0
    return cupy


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 1023, 1024, 1025, 50_000])
def test_staged_copies_are_whole(fake, length):
    rng = np.random.default_rng(length)
    ends, weights = rng.integers(0, 2**31, length).astype(np.int32), rng.random(length)
    ids, floats = OnDevice(length, np.int32), OnDevice(length, np.float64)
    wide, halves = rng.integers(0, 2**64, length, dtype=np.uint64), OnDevice(length, np.int32)
    assert staging.upload([(ends, ids), (weights, floats)]) == 0
    assert staging.upload([(weights, floats), (wide, halves)]) == wide.max(initial=0)
    assert np.array_equal(ids.array, ends) and np.array_equal(floats.array, weights)
    assert np.array_equal(halves.array.view(np.uint32), wide.astype(np.uint32))
    words = OnDevice(length, np.uint32)
    words.array[:] = rng.integers(0, 2**32, length, dtype=np.uint32)
    wide = staging.download(words)
    assert wide.dtype == np.int64 and np.array_equal(wide, words.array)
    assert np.array_equal(staging.download_array(floats), weights)


@pytest.mark.parametrize("length", [3, 50_000])
def test_arrays_of_two_dimensions_are_copied(fake, length):
    points, there = np.random.default_rng(0).random((length, 2)), OnDevice(2 * length, np.float64)
    staging.upload([(points, there)])
    assert np.array_equal(there.array, points.reshape(-1))


def test_an_error_of_the_driver_ends_the_copy(fake):
    STATE[1] = 3
    host, there = np.ones(500_000, np.int32), OnDevice(500_000, np.int32)
    with pytest.raises(RuntimeError, match="700"):
        staging.upload([(host, there)])
    assert there.array[-1] != 1
    for copy in (staging.download, lambda there: staging.upload([(np.ones(len(there), np.uint64), there)])):
        STATE[0] = 0
        with pytest.raises(RuntimeError, match="700"):
            copy(there)
    STATE[:2] = 0
    staging.upload([(host, there)])
    assert there.array.all()


@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("share", [0, 0.001, 0.06, 0.3, 1])
@pytest.mark.parametrize("words", [0, 1, 2, 63, 1000])
def test_positions_of_ones_are_those_of_numpy(words, share, width):
    rng = np.random.default_rng(words)
    ones = rng.random(64 * words) < share
    bits, wanted = np.packbits(ones, bitorder="little").view(np.uint64), np.flatnonzero(ones)
    out = np.full(len(wanted) + 4, -1)
    with workers(width):
        kernels.positions_of_ones(width, bits, out[: len(wanted)])
    assert np.array_equal(out[:-4], wanted) and (out[-4:] == -1).all()
