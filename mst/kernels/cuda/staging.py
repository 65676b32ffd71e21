"""Copies between pageable memory and the device through page-locked buffers, by many host threads.

The threads call CUDA driver functions from compiled code, so that none waits for the Python interpreter.
Addresses, and the driver's contexts, streams and events, are int64 here; `width` is the number of workers.
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
        The device's.
    buffers : numpy.ndarray of uint32, shape (workers, 2, k)
    addresses, events : numpy.ndarray of int64, shape (workers, 2)
        Address of each buffer, and an event for the last copy from it.
    streams : numpy.ndarray of int64, shape (workers,)
        Of copies to the host.
    there, before : int
        The stream of copies to the device, and an event; copies to the host begin after it.
    state : numpy.ndarray of int64, shape (32,)
        Of a copy: at `ERROR` the number of the driver's error, which ends it, or 0; the pieces taken.
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
    """Make the driver's functions known to compiled code: before a kernel of this module is compiled or loaded."""
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
        Address on the host, address on the device, bytes there, no more than a buffer has; and -1, or the number of the
        array in `words` of which the lower halves are copied: then the first word's index replaces its address.
    words : tuple of two numpy.ndarray of uint64, shape (k,), read-only

    Returns
    -------
    numpy.uint64
        The largest of the words.
    """
    tops = np.zeros(width, np.uint64)
    lanes.state[:] = 0
    run(width, _upload_worker, lanes, pieces, words, tops)
    return tops.max()


@njit
def _upload_worker(worker, lanes, pieces, words, tops):
    """One worker of `upload`."""
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
    """Write to `out` the numbers of the bits that are set, ascending, by `width` workers.

    Parameters
    ----------
    width : int
    bits : numpy.ndarray of uint64, shape (words,)
    out : numpy.ndarray of int64, shape (k,)
        Of as many elements as bits are set.
    """
    ends = np.full(width, out.size)
    if width > 1:
        run(width, _count_ones, width, bits, ends)
        ends[:] = np.cumsum(ends)
    run(width, _write_positions, width, bits, ends, out)


@njit
def _count_ones(worker, width, bits, counts):
    """One worker of `positions_of_ones`: it writes the number of set bits in its share to `counts`, int64 (width,)."""
    count = 0
    for word in bits[bits.size * worker // width : bits.size * (worker + 1) // width]:
        count += count_ones(word)
    counts[worker] = count


@njit
def _write_positions(worker, width, bits, ends, out):
    """One worker of `positions_of_ones`: it writes the numbers of the set bits in its share.

    These have the places up to ``ends[worker]``, int64 (width,), from the end of the share before.
    """
    at, end = ends[worker - 1] if worker else 0, ends[worker]
    for i in range(bits.size * worker // width, bits.size * (worker + 1) // width):
        word, last = bits[i], at + count_ones(bits[i])
        if last + 3 > end:
            at = write_positions_of_ones(word, 64 * i, out, at)
        # Four at a time, up to three too many, which the next word overwrites: fewer branches that depend on bits.
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
        Its grain, in words, is no more than a buffer has.
    lanes
        As for `upload`.
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
    while first < last and not error and not load(lanes.state, ERROR):
        error = _to_host(lanes.addresses[worker, 0], source + 4 * first, 4 * (last - first), stream)
        error = error or _stream_synchronize(stream)
        piece = out[first:last]
        for i in range(piece.size):
            piece[i] = words[i]
        first, last = next_chunk(tallies, worker, width, grain, out.size)
    if error:
        store(lanes.state, ERROR, error)
