"""Copies between arrays of the host and of the device through page-locked buffers, by several threads of the host.

The driver copies from ordinary memory by one thread. Here several threads fill page-locked buffers, from which the
device's copy engine reads at the speed of the bus; the buffers are kept for the next graph.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np

from mst.graph import frozen

WORKERS = 12  # one thread copies some 10 GB/s, and the bus takes 55
# Bytes of a buffer: processors write longer copies around their caches, which the bus reads faster.
CHUNK = 1 << 21
SMALLEST = 1 << 18  # bytes of a piece of a smaller copy: waking a thread takes as long as copying them
NO_ROOM = np.empty(0, np.int64)


def upload(arrays: Iterable[tuple[np.ndarray, Any]], room: np.ndarray = NO_ROOM) -> None:
    """Copy contiguous arrays of the host to arrays of the device, of the same lengths and dtypes.

    It begins after all that was started on the current stream, and returns when all elements are there. Meanwhile the
    system clears the memory of `room`, an array of int64 that is written to later.
    """
    from mst.kernels.cuda import staging as kernels

    staging = _staging()
    pieces = _pieces([(host, there.data.ptr) for host, there in arrays], staging.workers)
    staging.run(kernels.upload, len(pieces), 1, pieces, room)


def upload_halves(words: np.ndarray, there: Any) -> int:
    """Copy the lower halves of `words`, uint64 (m,), to an array of the device of as many elements of 32 bits.

    As `upload`; returns the largest word, 0 if there are none.
    """
    from mst.kernels.cuda import staging as kernels

    staging = _staging()
    grain = _piece_bytes(4 * len(words), staging.workers) // 4
    tops = np.zeros(staging.workers, np.uint64)
    staging.run(kernels.upload_halves, -(-len(words) // grain), grain, frozen(words), there.data.ptr, tops)
    return int(tops.max())


def download(words: Any, dtype: Any = np.int64, *, room: np.ndarray = NO_ROOM) -> np.ndarray:
    """Return a copy of a device array of 32-bit words on the host, after all that was started on the stream.

    It begins `room`, of that dtype, if that is large enough and at most twice as large as needed.
    """
    from mst.kernels.cuda import staging as kernels

    staging = _staging()
    out = room[: len(words)] if len(words) <= len(room) <= 2 * len(words) else np.empty(len(words), dtype)
    grain = _piece_bytes(4 * len(words), staging.workers) // 4
    staging.run(kernels.download, -(-len(words) // grain), grain, words.data.ptr, out)
    return out


def download_array(array: Any) -> np.ndarray:
    """Return a copy of a device array, one-dimensional and of 32 or 64 bits an element, on the host."""
    return download(array.view(np.uint32), np.uint32).view(array.dtype)


def _piece_bytes(size: int, workers: int) -> int:
    """Return the bytes of a piece, a multiple of 8, that fits a buffer: one for each worker, or several."""
    return min(CHUNK, max(SMALLEST, size // workers // 8 * 8))


def _pieces(arrays: list[tuple[np.ndarray, int]], workers: int) -> np.ndarray:
    """Return the arrays in pieces, as `mst.kernels.cuda.staging.upload` takes them; with each, its address there."""
    step = _piece_bytes(sum(host.nbytes for host, _ in arrays), workers)
    tables = [np.empty((0, 3), np.int64)]
    for host, address in arrays:
        starts = np.arange(0, host.nbytes, step)
        sizes = np.minimum(step, host.nbytes - starts)
        tables.append(np.stack((starts + host.ctypes.data, starts + address, sizes), axis=1))
    return np.concatenate(tables)


class _Staging:
    """The workers of a device and their buffers."""

    def __init__(self, workers: int):
        import cupy

        from mst.kernels.cuda.staging import Lanes, find_driver

        find_driver()
        cuda = cupy.cuda
        self.workers, self._cupy, self._lock = workers, cupy, threading.Lock()
        self._memory = cuda.alloc_pinned_memory(2 * workers * CHUNK)
        self._streams = [cuda.Stream(non_blocking=True) for _ in range(workers)]
        self._events = [cuda.Event(disable_timing=True) for _ in range(2 * workers)]
        buffers = np.frombuffer(self._memory, np.uint32, workers * CHUNK // 2).reshape(workers, 2, -1)
        self._lanes = Lanes(
            cuda.driver.ctxGetCurrent(),
            buffers,
            (buffers.ctypes.data + CHUNK * np.arange(2 * workers)).reshape(workers, 2),
            np.array([event.ptr for event in self._events]).reshape(workers, 2),
            np.array([stream.ptr for stream in self._streams]),
            0,
            np.zeros(1, np.int64),
        )

    def run(self, kernel: Callable, pieces: int, grain: int, *arrays: Any) -> None:
        """Run a kernel of `mst.kernels.cuda.staging`, after all that was started on the current stream."""
        from mst.kernels.parallel.runtime import Schedule, new_tallies, workers
        from mst.kernels.primitives.forks import forked_after_use

        if not pieces:
            return
        width = 1 if forked_after_use() else min(self.workers, pieces)
        before = self._cupy.cuda.get_current_stream().record()
        with self._lock, workers(width):
            lanes = self._lanes._replace(before=before.ptr, errors=np.zeros(1, np.int64))
            kernel(Schedule(width, grain, new_tallies(width)), lanes, *arrays)
        if lanes.errors[0]:
            raise self._cupy.cuda.driver.CUDADriverError(int(lanes.errors[0]))


@cache
def _of_device(device: int) -> _Staging:
    from mst.kernels.parallel.runtime import launched

    return _Staging(min(WORKERS, len(os.sched_getaffinity(0)), launched()))


def _staging() -> _Staging:
    import cupy

    return _of_device(int(cupy.cuda.runtime.getDevice()))
