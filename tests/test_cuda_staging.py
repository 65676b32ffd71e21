"""Staged copies between host and device, with a stand-in for CuPy whose device memory is the host's."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from mst.algorithms.cuda.device import staging


class Stream:
    """Runs what it is given at once, and counts."""

    ptr = 0

    def __init__(self, non_blocking=True):
        self.waited = 0

    def record(self):
        return Event()

    def wait_event(self, event):
        self.waited += 1

    def synchronize(self):
        pass


class Event:
    def __init__(self, disable_timing=False):
        pass

    def record(self, stream):
        pass

    def synchronize(self):
        pass


class Device:
    def __init__(self, number):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


class FakeCupy:
    def __init__(self, workers):
        self.current = Stream()
        self.copies = 0
        self.fails_at = None
        self.cuda = SimpleNamespace(
            Device=Device,
            Event=Event,
            Stream=Stream,
            alloc_pinned_memory=bytearray,
            get_current_stream=lambda: self.current,
            runtime=SimpleNamespace(memcpyHostToDevice=1, memcpyDeviceToHost=2, memcpyAsync=self.copy),
        )
        self._lock = threading.Lock()
        self.staging = staging._Staging.__new__(staging._Staging)

    def copy(self, target, source, size, kind, stream):
        with self._lock:
            self.copies += 1
            if self.copies == self.fails_at:
                raise RuntimeError("the device is gone")
        ctypes.memmove(target, source, size)


class There:
    """An array on the device."""

    def __init__(self, length, dtype):
        self.array = np.zeros(length, dtype)
        self.dtype = self.array.dtype
        self.data = SimpleNamespace(ptr=self.array.ctypes.data)

    def __len__(self):
        return len(self.array)


@pytest.fixture
def cupy(monkeypatch):
    fake = FakeCupy(4)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.setattr(staging, "CHUNK", 4096)
    monkeypatch.setattr(staging, "SMALLEST", 20_000)
    kept = staging._Staging(0, 4)
    monkeypatch.setattr(staging, "_staging", lambda: kept)
    return fake


@pytest.mark.parametrize("length", [0, 1, 1023, 1024, 1025, 50_000])
def test_staged_copies_are_whole_and_convert(cupy, length):
    rng = np.random.default_rng(length)
    ends, weights = rng.integers(0, 2**31, length), rng.random(length)
    narrow, same = There(length, np.int32), There(length, np.float64)
    staging.upload([(ends, narrow), (weights, same)])
    assert np.array_equal(narrow.array, ends.astype(np.int32)) and np.array_equal(same.array, weights)
    wide = staging.download(narrow, np.int64)
    assert wide.dtype == np.int64 and np.array_equal(wide, ends)
    # The stream of the caller waits for each worker's.
    assert cupy.current.waited == (8 if length == 50_000 else 2)


def test_after_an_error_no_worker_writes_any_more(cupy):
    cupy.fails_at = 3
    host, there = np.ones(500_000, np.int32), There(500_000, np.int32)
    with pytest.raises(RuntimeError, match="the device is gone"):
        staging.upload([(host, there)])
    copied = cupy.copies
    time.sleep(0.05)
    assert cupy.copies == copied < 100
    cupy.fails_at = None
    staging.upload([(host, there)])
    assert there.array.all()
