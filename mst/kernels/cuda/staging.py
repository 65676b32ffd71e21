"""Copies between ordinary memory and the device through page-locked buffers, by many threads of the host.

The threads call the functions of CUDA's driver from compiled code, so that none of them waits for Python's interpreter.
Addresses, and the driver's contexts, streams and events, are int64 here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numba  # noqa: F401
import numpy as np
from numba.core import types

from mst.errors import DependencyError
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.atomics import load, store
from mst.kernels.primitives.jit import njit

_PAGE = 512
"""Numbers of 64 bits in a page of memory."""


class Lanes(NamedTuple):
    """Page-locked buffers, two for each worker, and the worker's stream.

    Attributes
    ----------
    context : int
        The device's.
    buffers : numpy.ndarray of uint32, shape (workers, 2, k)
    addresses, events : numpy.ndarray of int64, shape (workers, 2)
        Address of each buffer, and an event for the last copy from it.
    streams : numpy.ndarray of int64, shape (workers,)
    before : int
        An event; a copy begins after it.
    errors : numpy.ndarray of int64, shape (1,)
        Zero; the number of the driver's error is written there, and ends the copy.
    """

    context: int
    buffers: np.ndarray
    addresses: np.ndarray
    events: np.ndarray
    streams: np.ndarray
    before: int
    errors: np.ndarray


def _from_c(name: str, arguments: int) -> Any:
    """Return a C function that takes addresses or sizes and returns an int32, for compiled code."""
    return types.ExternalFunction(name, types.int32(*[types.int64] * arguments))


_set_context = _from_c("cuCtxSetCurrent", 1)
_stream_wait_event = _from_c("cuStreamWaitEvent", 3)
_stream_synchronize = _from_c("cuStreamSynchronize", 1)
_event_record = _from_c("cuEventRecord", 2)
_event_synchronize = _from_c("cuEventSynchronize", 1)
_to_device = _from_c("cuMemcpyHtoDAsync_v2", 4)
_to_host = _from_c("cuMemcpyDtoHAsync_v2", 4)
_memcpy = _from_c("memcpy", 3)


def find_driver() -> None:
    """Make the driver's functions known to compiled code: before a kernel of this module is compiled or loaded."""
    try:
        llvm.load_library_permanently("libcuda.so.1")
    except RuntimeError as error:
        raise DependencyError(f"CUDA's driver cannot be loaded: {error}") from None


@njit
def _start_copy(lanes, worker, turn, target, size):
    """Start the copy of a worker's buffer to the device; return the driver's error, or 0."""
    stream = lanes.streams[worker]
    error = _to_device(target, lanes.addresses[worker, turn], size, stream)
    return error or _event_record(lanes.events[worker, turn], stream)


@njit
def upload(schedule, lanes, pieces, room):
    """Copy pieces of arrays to the device; return when all are there.

    Parameters
    ----------
    schedule : Schedule
        Of grain 1.
    lanes : Lanes
    pieces : numpy.ndarray of int64, shape (k, 3)
        Address on the host, address on the device, bytes: no more than a buffer has.
    room : numpy.ndarray of int64, shape (k,)
        Written to later on. The system clears its pages now, while the last copies are under way.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _upload_worker, schedule, lanes, pieces, room)


@njit
def _upload_worker(worker, schedule, lanes, pieces, room):
    """One worker of `upload`."""
    width, grain, tallies = schedule
    stream, turn = lanes.streams[worker], 0
    error = _set_context(lanes.context) or _stream_wait_event(stream, lanes.before, 0)
    first, last = next_chunk(tallies, worker, width, grain, len(pieces))
    while first < last and not error and not load(lanes.errors, 0):
        error = _event_synchronize(lanes.events[worker, turn])
        _memcpy(lanes.addresses[worker, turn], pieces[first, 0], pieces[first, 2])
        error = error or _start_copy(lanes, worker, turn, pieces[first, 1], pieces[first, 2])
        turn = 1 - turn
        first, last = next_chunk(tallies, worker, width, grain, len(pieces))
    for i in range(room.size * worker // width, room.size * (worker + 1) // width, _PAGE):
        room[i] = 0
    error = _stream_synchronize(stream) or error
    if error:
        store(lanes.errors, 0, error)


@njit
def upload_halves(schedule, lanes, words, target, tops):
    """Copy the lower halves of words to the device; return when all are there.

    Parameters
    ----------
    schedule : Schedule
        Its grain, in words, is no more than a buffer has.
    lanes
        As of `upload`.
    words : numpy.ndarray of uint64, shape (m,), read-only
    target : int
        Address on the device, of uint32.
    tops : numpy.ndarray of uint64, shape (workers,)
        Zero; the largest word that each worker has read is written there.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _upload_halves_worker, schedule, lanes, words, target, tops)


@njit
def _upload_halves_worker(worker, schedule, lanes, words, target, tops):
    """One worker of `upload_halves`."""
    width, grain, tallies = schedule
    stream, turn, top = lanes.streams[worker], 0, np.uint64(0)
    error = _set_context(lanes.context) or _stream_wait_event(stream, lanes.before, 0)
    first, last = next_chunk(tallies, worker, width, grain, words.size)
    while first < last and not error and not load(lanes.errors, 0):
        error = _event_synchronize(lanes.events[worker, turn])
        buffer, piece = lanes.buffers[worker, turn], words[first:last]
        for i in range(np.uint64(piece.size)):
            top = max(top, piece[i])
            buffer[i] = np.uint32(piece[i])
        error = error or _start_copy(lanes, worker, turn, target + 4 * first, 4 * piece.size)
        turn = 1 - turn
        first, last = next_chunk(tallies, worker, width, grain, words.size)
    tops[worker] = top
    error = _stream_synchronize(stream) or error
    if error:
        store(lanes.errors, 0, error)


@njit
def download(schedule, lanes, source, out):
    """Copy words from the device as numbers of another dtype.

    Parameters
    ----------
    schedule : Schedule
        Its grain, in words, is no more than a buffer has.
    lanes
        As of `upload`.
    source : int
        Address on the device, of uint32.
    out : numpy.ndarray of int64 or uint32, shape (k,)
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _download_worker, schedule, lanes, source, out)


@njit
def _download_worker(worker, schedule, lanes, source, out):
    """One worker of `download`."""
    width, grain, tallies = schedule
    stream, words = lanes.streams[worker], lanes.buffers[worker, 0]
    error = _set_context(lanes.context) or _stream_wait_event(stream, lanes.before, 0)
    first, last = next_chunk(tallies, worker, width, grain, out.size)
    while first < last and not error and not load(lanes.errors, 0):
        error = _to_host(lanes.addresses[worker, 0], source + 4 * first, 4 * (last - first), stream)
        error = error or _stream_synchronize(stream)
        piece = out[first:last]
        for i in range(piece.size):
            piece[i] = words[i]
        first, last = next_chunk(tallies, worker, width, grain, out.size)
    if error:
        store(lanes.errors, 0, error)
