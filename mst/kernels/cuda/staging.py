"""Copies between pageable memory and the device through page-locked buffers, by many host threads.

The threads call CUDA driver functions from compiled code, so that none waits for the Python interpreter. Addresses,
contexts, streams and events are int64; ``width`` is the number of workers, and ``worker`` the number of one of them.
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
from mst.kernels.primitives.atomics import fetch_add, load, store
from mst.kernels.primitives.bitmap import (
    count_ones,
    count_trailing_zeros,
    write_positions_of_ones,
)
from mst.kernels.primitives.jit import njit


class Lanes(NamedTuple):
    """Page-locked buffers, two per worker, and the streams of copies.

    Attributes
    ----------
    context : int
        The device's context.
    buffers : numpy.ndarray of uint32, shape (workers, 2, k)
    addresses, events : numpy.ndarray of int64, shape (workers, 2)
        Address of each buffer, and an event that marks the end of the last copy from it.
    streams : numpy.ndarray of int64, shape (workers,)
        Streams of copies to the host.
    there, before : int
        The stream of copies to the device, and the event after which copies to the host begin.
    state : numpy.ndarray of int64, shape (32,)
        State of the current copy: at `ERROR` the number of the driver error that ended it, or 0; and the number of
        pieces taken so far.
    """

    context: int
    buffers: np.ndarray
    addresses: np.ndarray
    events: np.ndarray
    streams: np.ndarray
    there: int
    before: int
    state: np.ndarray


ERROR, _TAKEN = 0, 16


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
    """Make the driver's functions known to compiled code; call it before a kernel here is compiled or loaded."""
    try:
        llvm.load_library_permanently("libcuda.so.1")
    except RuntimeError as error:
        raise DependencyError(f"CUDA's driver cannot be loaded: {error}") from None


@njit
def upload(width, lanes, pieces, words):
    """Start copies of pieces of arrays to the device, in order; return once all have been passed to the driver.

    Parameters
    ----------
    width : int
        Workers.
    lanes : Lanes
    pieces : numpy.ndarray of int64, shape (k, 4)
        For each piece, its address on the host, its address on the device, its bytes on the device, at most the size of
        a buffer, and -1. To copy only the lower halves of elements of `words`, the last number is the array's index in
        `words`, and the first one is the index of the piece's first element.
    words : tuple of two numpy.ndarray of uint64, shape (k,), read-only

    Returns
    -------
    numpy.uint64
        The largest element of `words` that was copied, or 0.
    """
    tops = np.zeros(width, np.uint64)
    lanes.state[:] = 0
    run(width, _upload_worker, lanes, pieces, words, tops)
    return tops.max()


@njit
def _upload_worker(worker, lanes, pieces, words, tops):
    """Copy pieces as one worker of `upload`; write the largest word to ``tops[worker]``."""
    turn, top, error = 0, np.uint64(0), _set_context(lanes.context)
    i = fetch_add(lanes.state, _TAKEN, 1)
    while i < len(pieces) and not error and not load(lanes.state, ERROR):
        source, target, size, halved = pieces[i]
        error = _event_synchronize(lanes.events[worker, turn])
        if halved < 0:
            _memcpy(lanes.addresses[worker, turn], source, size)
        else:
            given, buffer = words[halved][source : source + size // 4], lanes.buffers[worker, turn]
            for k in range(np.uint64(given.size)):
                top = max(top, given[k])
                buffer[k] = np.uint32(given[k])
        error = error or _to_device(target, lanes.addresses[worker, turn], size, lanes.there)
        error = error or _event_record(lanes.events[worker, turn], lanes.there)
        turn = 1 - turn
        i = fetch_add(lanes.state, _TAKEN, 1)
    if error:
        store(lanes.state, ERROR, error)
    tops[worker] = top


@njit
def positions_of_ones(width, bits, out):
    """Write the numbers of the set bits to `out` in ascending order, by `width` workers.

    Parameters
    ----------
    width : int
    bits : numpy.ndarray of uint64, shape (words,)
    out : numpy.ndarray of int64, shape (k,)
        As many elements as bits are set.
    """
    ends = np.full(width, out.size)
    if width > 1:
        run(width, _count_ones, width, bits, ends)
        ends[:] = np.cumsum(ends)
    run(width, _write_positions, width, bits, ends, out)


@njit
def _count_ones(worker, width, bits, counts):
    """Write the number of set bits in a worker's share to ``counts[worker]``; `counts` is int64 of shape (width,)."""
    count = 0
    for word in bits[bits.size * worker // width : bits.size * (worker + 1) // width]:
        count += count_ones(word)
    counts[worker] = count


@njit
def _write_positions(worker, width, bits, ends, out):
    """Write the numbers of the set bits in a worker's share to `out`.

    The share's places in `out` end before ``ends[worker]`` and begin where the previous share's end; `ends` is int64 of
    shape (width,).
    """
    at, end = ends[worker - 1] if worker else 0, ends[worker]
    for i in range(bits.size * worker // width, bits.size * (worker + 1) // width):
        word, last = bits[i], at + count_ones(bits[i])
        if last + 3 > end:
            at = write_positions_of_ones(word, 64 * i, out, at)
        # Four at a time, for fewer branches that depend on bits; the next word overwrites up to three surplus ones.
        while at < last:
            for k in range(np.uint64(at), np.uint64(at) + np.uint64(4)):
                out[k] = 64 * i + count_trailing_zeros(word)
                word &= word - np.uint64(1)
            at += 4
        at = last


@njit
def download(schedule, lanes, source, out):
    """Copy words from the device, converted to the dtype of `out`.

    Parameters
    ----------
    schedule : Schedule
        Its grain, in words, is at most the size of a buffer.
    lanes : Lanes
    source : int
        Address of uint32 words on the device.
    out : numpy.ndarray of int64 or uint32, shape (k,)
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _download_worker, schedule, lanes, source, out)


@njit
def _download_worker(worker, schedule, lanes, source, out):
    """Copy chunks of the schedule as one worker of `download`."""
    width, grain, tallies = schedule
    stream, words = lanes.streams[worker], lanes.buffers[worker, 0]
    error = _set_context(lanes.context) or _stream_wait_event(stream, lanes.before, 0)
    first, last = next_chunk(tallies, worker, width, grain, out.size)
    while first < last and not error and not load(lanes.state, ERROR):
        error = _to_host(lanes.addresses[worker, 0], source + 4 * first, 4 * (last - first), stream)
        error = error or _stream_synchronize(stream)
        piece = out[first:last]
        for i in range(piece.size):
            piece[i] = words[i]
        first, last = next_chunk(tallies, worker, width, grain, out.size)
    if error:
        store(lanes.state, ERROR, error)
