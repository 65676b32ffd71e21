"""Copies between host and device arrays through page-locked buffers, by several host threads.

The driver copies from pageable memory by a single thread. Here several threads fill page-locked buffers, which the
device's copy engine reads at the speed of the bus. The buffers are kept for the next graph.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mst.cores import usable_cores
from mst.graph import frozen

WORKERS = 16  # the most workers: one thread copies about 10 GB/s, and the bus takes 55
FEWER, LARGE = 12, 1 << 27  # copies of fewer bytes than LARGE have FEWER workers: waking more takes longer
# Bytes of a buffer: processors write longer copies around their caches, which the bus reads faster.
CHUNK = 1 << 21
SMALLEST = 1 << 18  # least bytes of a piece: waking a thread takes as long as copying them
ALONE = 1 << 21  # bytes that one thread copies before others are awake


def upload(arrays: Iterable[tuple[np.ndarray, Any]]) -> int:
    """Copy contiguous host arrays to device arrays of the same shapes, after all work already started.

    On return the host arrays may be changed, and later work on the current stream sees the copies. Of 64-bit elements
    that go to a 32-bit array, only the lower halves are copied; return the largest such element, read as unsigned, or 0
    if there are none.
    """
    columns = [
        Column(host.reshape(-1), there.data.ptr, host.itemsize > there.dtype.itemsize) for host, there in arrays
    ]
    return of_device().upload(columns)


def download(words: Any, dtype: Any = np.int64) -> np.ndarray:
    """Return a host copy of a device array of 32-bit words, after all work already started on the stream."""
    out = np.empty(len(words), dtype)
    of_device().download(words.data.ptr, out)
    return out


def download_array(array: Any) -> np.ndarray:
    """Return a host copy of a one-dimensional device array of 32- or 64-bit elements."""
    return download(array.view(np.uint32), np.uint32).view(array.dtype)


class Column(NamedTuple):
    """A contiguous one-dimensional array, its address on the device, and whether only lower halves are copied."""

    host: np.ndarray
    address: int
    halved: bool = False

    @property
    def size(self) -> int:
        """Bytes on the device."""
        return self.host.nbytes // (2 if self.halved else 1)


def _pieces(columns: list[Column], step: int) -> np.ndarray:
    """Divide columns into pieces of up to `step` bytes, the argument of `mst.kernels.cuda.staging.upload`."""
    tables, halves = [np.empty((0, 4), np.int64)], 0
    for column in columns:
        starts = np.arange(0, column.size, step)
        table = np.empty((len(starts), 4), np.int64)
        table[:, 0] = starts // 4 if column.halved else starts + column.host.ctypes.data
        table[:, 1] = starts + column.address
        table[:, 2] = np.minimum(step, column.size - starts)
        table[:, 3] = halves if column.halved else -1
        halves += column.halved
        tables.append(table)
    return np.concatenate(tables)


def _piece_bytes(size: int, workers: int) -> int:
    """Return the bytes of a piece, a multiple of 8 that fits a buffer, so that each worker has one or several."""
    return min(CHUNK, max(SMALLEST, size // workers // 8 * 8))


class Staging:
    """The workers of a device with their buffers and streams. Hold `lock` to use them over several calls."""

    def __init__(self, workers: int):
        import cupy

        from mst.kernels.cuda.staging import Lanes, find_driver

        find_driver()
        cuda = cupy.cuda
        self.workers, self.lock, self._cuda = workers, threading.RLock(), cuda
        memory = cuda.alloc_pinned_memory(2 * workers * CHUNK)
        self.pinned = np.frombuffer(memory, np.uint64, workers * CHUNK // 4)
        self._stream = cuda.Stream(non_blocking=True)
        self._before, self._drained = (cuda.Event(disable_timing=True) for _ in range(2))
        self._streams = [cuda.Stream(non_blocking=True) for _ in range(workers)]
        self._events = [cuda.Event(disable_timing=True) for _ in range(2 * workers)]
        buffers = self.pinned.view(np.uint32).reshape(workers, 2, -1)
        self._lanes = Lanes(
            cuda.driver.ctxGetCurrent(),
            buffers,
            (buffers.ctypes.data + CHUNK * np.arange(2 * workers)).reshape(workers, 2),
            np.array([event.ptr for event in self._events]).reshape(workers, 2),
            np.array([stream.ptr for stream in self._streams]),
            self._stream.ptr,
            self._before.ptr,
            np.zeros(32, np.int64),
        )

    def width(self, size: int) -> int:
        """Return the number of workers that copy `size` bytes; other parallel loops of a call use the same number.

        A loop with fewer workers would end the surplus threads, and the next wider loop would have to start new ones.
        """
        from mst.kernels.primitives.forks import forked_after_use

        return 1 if forked_after_use() else min(self.workers, WORKERS if size >= LARGE else FEWER)

    def upload(self, columns: list[Column]) -> int:
        """Copy columns as the function `upload` does."""
        size = sum(column.size for column in columns)
        with self.lock:
            self._drained.synchronize()
            if size <= min(ALONE, self.pinned.nbytes - 256 * len(columns)):
                return self._upload_alone(columns)
            return self._upload_by_workers(columns, size)

    def _upload_alone(self, columns: list[Column]) -> int:
        """Copy columns that fit in all buffers together, by the calling thread."""
        buffer, stream, runtime = (
            self.pinned.view(np.uint8),
            self._cuda.get_current_stream(),
            self._cuda.runtime,
        )
        here, top, start = self.pinned.ctypes.data, 0, 0
        for column in columns:
            there = buffer[start : start + column.size]
            if column.halved:
                words = column.host.view(np.uint64)
                top = max(top, int(words.max(initial=0)))
                np.copyto(there.view(np.uint32), words, casting="unsafe")
            else:
                there.view(column.host.dtype)[:] = column.host
            runtime.memcpyAsync(
                column.address, here + start, column.size, runtime.memcpyHostToDevice, stream.ptr
            )
            start += -(-column.size // 256) * 256
        self._drained.record(stream)
        return top

    def _upload_by_workers(self, columns: list[Column], size: int) -> int:
        from mst.kernels.cuda import staging as kernels
        from mst.kernels.parallel.runtime import workers

        width = self.width(size)
        words = [frozen(column.host.view(np.uint64)) for column in columns if column.halved]
        both = (*words, _NO_WORDS, _NO_WORDS)[:2]
        current = self._cuda.get_current_stream()
        self._before.record(current)
        self._stream.wait_event(self._before)
        with workers(width):
            top = kernels.upload(width, self._lanes, _pieces(columns, _piece_bytes(size, width)), both)
        self._drained.record(self._stream)
        current.wait_event(self._drained)
        self._check()
        return int(top)

    def download(self, address: int, out: np.ndarray) -> None:
        """Copy 32-bit words from the device to `out`, after all work already started on the current stream."""
        from mst.kernels.cuda import staging as kernels
        from mst.kernels.parallel.runtime import Schedule, new_tallies, workers

        if not len(out):
            return
        width = self.width(4 * len(out))
        grain = _piece_bytes(4 * len(out), width) // 4
        width = width if grain < len(out) else 1
        with self.lock, workers(width):
            self._drained.synchronize()
            self._before.record(self._cuda.get_current_stream())
            self._lanes.state[kernels.ERROR] = 0
            kernels.download(Schedule(width, grain, new_tallies(width)), self._lanes, address, out)
            self._check()

    def _check(self) -> None:
        """Raise an error if a driver error has ended the copy."""
        if error := int(self._lanes.state[0]):
            raise self._cuda.driver.CUDADriverError(error)


_NO_WORDS = frozen(np.empty(0, np.uint64))


@cache
def _of_device(device: int) -> Staging:
    from mst.kernels.parallel.runtime import launched

    return Staging(min(WORKERS, usable_cores(), launched()))


def of_device() -> Staging:
    """Return the staging of the current device."""
    import cupy

    return _of_device(int(cupy.cuda.runtime.getDevice()))
