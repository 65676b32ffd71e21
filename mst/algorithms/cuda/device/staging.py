"""Copies between arrays of the host and of the device through page-locked buffers, by several threads of the host.

The driver copies from ordinary memory by one thread. Here several threads fill page-locked buffers, from which the
device's copy engine reads at the speed of the bus; the buffers are kept for the next graph.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from typing import Any, NamedTuple

import numpy as np

WORKERS = 12  # one thread copies some 10 GB/s, and the bus takes 55
CHUNK = 1 << 22  # bytes of a buffer; each worker has two
SMALLEST = 1 << 20  # bytes of a piece of a smaller copy; one thread copies no more than that


class Piece(NamedTuple):
    """A part of an array on the host, and the address on the device of the same elements, of type `dtype`."""

    host: np.ndarray
    address: int
    dtype: np.dtype


class Lane(NamedTuple):
    """Two page-locked buffers (uint8), an event for the last copy of each, and a stream: of one worker."""

    stream: Any
    buffers: tuple[np.ndarray, np.ndarray]
    events: tuple[Any, Any]


def upload(arrays: Iterable[tuple[np.ndarray, Any]]) -> None:
    """Copy contiguous arrays of the host to arrays of the device of the same lengths.

    Kernels that are launched on the current stream afterwards find the elements there. Where the device's array has
    another dtype, elements are converted as by `numpy.ndarray.astype`.
    """
    _staging().run(_upload, list(arrays))


def download(array: Any, dtype: Any) -> np.ndarray:
    """Return a copy of a device array, of another integer dtype, on the host."""
    host = np.empty(len(array), dtype)
    _staging().run(_download, [(host, array)])
    return host


def _pieces(arrays: list[tuple[np.ndarray, Any]], workers: int) -> list[Piece]:
    """Return the arrays in pieces that fit a buffer, and that keep all workers busy."""
    size = sum(host.nbytes for host, _ in arrays)
    most = min(CHUNK, max(SMALLEST, size // (2 * workers)))
    pieces = []
    for host, there in arrays:
        dtype = np.dtype(there.dtype)
        step = most // max(dtype.itemsize, host.itemsize)
        for first in range(0, len(host), step):
            pieces.append(Piece(host[first : first + step], there.data.ptr + first * dtype.itemsize, dtype))
    return pieces


def _upload(lane: Lane, turn: int, piece: Piece) -> None:
    """Start the copy of a piece to the device, once the buffer is free."""
    import cupy

    runtime, size = cupy.cuda.runtime, len(piece.host) * piece.dtype.itemsize
    lane.events[turn].synchronize()
    buffer = lane.buffers[turn][:size].view(piece.dtype)
    np.copyto(buffer, piece.host, casting="unsafe")
    kind = runtime.memcpyHostToDevice
    runtime.memcpyAsync(piece.address, buffer.ctypes.data, size, kind, lane.stream.ptr)
    lane.events[turn].record(lane.stream)


def _download(lane: Lane, turn: int, piece: Piece) -> None:
    """Copy a piece to the host."""
    import cupy

    runtime, size = cupy.cuda.runtime, len(piece.host) * piece.dtype.itemsize
    buffer = lane.buffers[turn][:size].view(piece.dtype)
    kind = runtime.memcpyDeviceToHost
    runtime.memcpyAsync(buffer.ctypes.data, piece.address, size, kind, lane.stream.ptr)
    lane.stream.synchronize()
    np.copyto(piece.host, buffer, casting="unsafe")


class _Staging:
    """The workers of a device and their buffers."""

    def __init__(self, device: int, workers: int):
        import cupy

        self._cupy, self._device = cupy, device
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="mst-staging")
        self._lock = threading.Lock()
        self._lanes = [self._lane() for _ in range(workers)]

    def _lane(self) -> Lane:
        cuda = self._cupy.cuda
        memory = [cuda.alloc_pinned_memory(CHUNK) for _ in range(2)]
        first, second = (np.frombuffer(block, np.uint8, CHUNK) for block in memory)
        stream = cuda.Stream(non_blocking=True)
        return Lane(stream, (first, second), (cuda.Event(disable_timing=True), cuda.Event(disable_timing=True)))

    def run(self, copy: Callable[[Lane, int, Piece], None], arrays: list[tuple[np.ndarray, Any]]) -> None:
        """Copy all arrays, after all that was started on the current stream, and before all that will be."""
        pieces = _pieces(arrays, len(self._lanes))
        current = self._cupy.cuda.get_current_stream()
        before = current.record()
        size = sum(host.nbytes for host, _ in arrays)
        workers = 1 if size <= SMALLEST else min(len(self._lanes), len(pieces))
        lanes, remaining = self._lanes[:workers], iter(pieces)
        with self._lock:
            if workers == 1:
                self._work(lanes[0], before, remaining, copy)
            else:
                started = [self._pool.submit(self._work, lane, before, remaining, copy) for lane in lanes]
                try:
                    for future in started:
                        future.result()
                finally:  # no worker may write to arrays that an interruption frees
                    _exhaust(remaining)
                    wait(started)
            for lane in lanes:
                current.wait_event(lane.stream.record())

    def _work(
        self, lane: Lane, before: Any, remaining: Iterator[Piece], copy: Callable[[Lane, int, Piece], None]
    ) -> None:
        with self._cupy.cuda.Device(self._device):
            lane.stream.wait_event(before)
            try:
                for number, piece in enumerate(remaining):
                    copy(lane, number & 1, piece)
            finally:
                _exhaust(remaining)  # after an error, the others stop too


def _exhaust(remaining: Iterator[Piece]) -> None:
    for _ in remaining:
        pass


@cache
def _of_device(device: int) -> _Staging:
    return _Staging(device, min(WORKERS, len(os.sched_getaffinity(0))))


def _staging() -> _Staging:
    import cupy

    return _of_device(int(cupy.cuda.runtime.getDevice()))
