"""Facts of an edge list on the device and the keys of its weights, found by the kernels of ``edge_keys.cu``."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.cuda.device import memory
from mst.algorithms.cuda.device.graph import DeviceGraph
from mst.algorithms.cuda.device.launch import argument_dtype
from mst.kernels.cuda import loader

SOURCE = "edge_keys.cu"
ARGUMENT = argument_dtype(("u", "v", "w", "wide_u", "wide_v", "facts", "keys", "low"), ("m", "unused"))
_PACKED = Struct("=8Q2I")  # the same: fields of arrays take a microsecond each
WEIGHTS = ("int32", "int64", "float32", "float64")  # by the macro WEIGHT
FACTS = 6
BLOCK = 256
NOT_A_NUMBER, INEXACT = 1, 2


class Survey(NamedTuple):
    """Facts of an edge list.

    Attributes
    ----------
    largest_end : int
        The largest end, read as unsigned.
    has_nan : bool
        Whether some weight is NaN.
    key_bits : int
        32 or 64: the width of the keys.
    low, high : int
        The least and the largest key, before the least is subtracted.
    """

    largest_end: int
    has_nan: bool
    key_bits: int
    low: int
    high: int

    @property
    def largest_key(self) -> int:
        """The largest key that `KeyKernels.write_keys` writes."""
        return self.high if self.key_bits == 64 else self.high - self.low


@dataclass(frozen=True, eq=False)
class SurveyedGraph(DeviceGraph):
    """A graph on the device with checked ends and weights; `survey` is None if it has no edges."""

    survey: Survey | None = None


def survey_of(facts: np.ndarray, dtype: np.dtype) -> Survey:
    """Return the survey of a graph with weights of a dtype, given the words that ``survey_edges`` raised."""
    end, least, most, least_float, most_float, flags = facts.tolist()
    bits = 8 * dtype.itemsize
    low, high = least ^ ((1 << bits) - 1), most
    if dtype == np.float64 and not flags & INEXACT:
        bits, low, high = 32, least_float ^ (2**32 - 1), most_float
    elif dtype == np.int64 and high - low < 2**32:
        bits = 32
    return Survey(end, bool(flags & NOT_A_NUMBER), bits, low, high)


class EdgeList(NamedTuple):
    """An edge list on the device: its length, at least 1; addresses of 32-bit ends and of weights; and their dtype."""

    m: int
    u: int
    v: int
    w: int
    dtype: np.dtype

    @classmethod
    def of(cls, u: Any, v: Any, w: Any) -> EdgeList:
        """Return the edge list held in CuPy arrays."""
        return cls(len(w), u.data.ptr, v.data.ptr, w.data.ptr, w.dtype)


class KeyKernels:
    """The kernels for a weight dtype on a device, and their state, which only one thread at a time may use."""

    def __init__(self, device: int, dtype: np.dtype):
        import cupy

        self._device, self._dtype, self._weight = device, dtype, WEIGHTS.index(dtype.name)
        self._cuda, self._lock = cupy.cuda, threading.Lock()
        self._most_blocks = 8 * memory.multiprocessors(device)
        self._argument = bytearray(ARGUMENT.itemsize)
        self._arguments = loader.Arguments(np.frombuffer(self._argument, ARGUMENT))
        self._facts = memory.pinned(2 * FACTS).view(np.uint64)
        self._kept = memory.from_driver(np.uint64, FACTS)
        self._places = self._facts.ctypes.data, self._kept.data.ptr

    def survey(self, edges: EdgeList, wide: Sequence[int] = (0, 0)) -> Survey:
        """Return the facts of an edge list; if `wide` has addresses of 64-bit ends, first narrow these into it."""
        runtime, stream, size = self._cuda.runtime, self._cuda.get_current_stream(), 8 * FACTS
        here, there = self._places
        with self._lock:
            runtime.memsetAsync(there, 0, size, stream.ptr)
            self._launch("survey_edges", 32, edges, *wide, there, 0, 0)
            runtime.memcpyAsync(here, there, size, runtime.memcpyDeviceToHost, stream.ptr)
            stream.synchronize()
            return survey_of(self._facts, self._dtype)

    def write_keys(self, edges: EdgeList, survey: Survey, address: int) -> None:
        """Write the keys of the weights (uint32 or uint64) to an address; 32-bit keys begin at 0."""
        with self._lock:
            self._launch("write_keys", survey.key_bits, edges, 0, 0, 0, address, survey.low)

    def _launch(self, name: str, key_bits: int, edges: EdgeList, wide_u: int, *fields: int) -> None:
        _PACKED.pack_into(self._argument, 0, edges.u, edges.v, edges.w, wide_u, *fields, edges.m, 0)
        kernel = _kernel(self._device, name, self._weight, key_bits, int(wide_u > 0))
        kernel.launch(min(self._most_blocks, -(-edges.m // BLOCK)), BLOCK, self._arguments)


def kernels_for(dtype: np.dtype) -> KeyKernels:
    """Return the kernels for weights of a dtype on the current device."""
    import cupy

    return _kernels(int(cupy.cuda.runtime.getDevice()), dtype)


@cache
def _kernels(device: int, dtype: np.dtype) -> KeyKernels:
    return KeyKernels(device, dtype)


@cache
def _kernel(device: int, name: str, weight: int, key_bits: int, wide: int) -> loader.Kernel:
    return loader.Kernel(SOURCE, name, {"WEIGHT": weight, "KEY_BITS": key_bits, "WIDE": wide})
