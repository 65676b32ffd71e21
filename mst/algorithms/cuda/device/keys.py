"""Facts of an edge list on the device, and its weights' keys, computed by the kernels of ``edge_keys.cu``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from mst.algorithms.cuda.device import memory
from mst.algorithms.cuda.device.graph import DeviceGraph
from mst.algorithms.cuda.device.launch import argument_dtype
from mst.kernels.cuda import loader

SOURCE = "edge_keys.cu"
ARGUMENT = argument_dtype(("u", "v", "w", "facts", "keys"), ("m", "low", "low_high", "unused"))
WEIGHTS = ("int32", "int64", "float32", "float64")  # by the macro WEIGHT
FACTS = 6
BLOCK = 256
NOT_A_NUMBER, INEXACT = 1, 2


class Survey(NamedTuple):
    """Facts of an edge list.

    Attributes
    ----------
    largest_end : int
        Of all ends, read as unsigned.
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
        """The largest key as `keys` returns it."""
        return self.high if self.key_bits == 64 else self.high - self.low


@dataclass(frozen=True, eq=False)
class SurveyedGraph(DeviceGraph):
    """A graph on the device whose ends and weights were checked; `survey` is None if it has no edges."""

    survey: Survey | None = None


def survey_of(facts: np.ndarray, dtype: np.dtype) -> Survey:
    """Return the survey of weights of a dtype, from the words raised by ``survey_edges``."""
    end, least, most, least_float, most_float, flags = facts.tolist()
    bits = 8 * dtype.itemsize
    low, high = least ^ ((1 << bits) - 1), most
    if dtype == np.float64 and not flags & INEXACT:
        bits, low, high = 32, least_float ^ (2**32 - 1), most_float
    elif dtype == np.int64 and high - low < 2**32:
        bits = 32
    return Survey(end, bool(flags & NOT_A_NUMBER), bits, low, high)


class KeyKernels:
    """Launches the kernels for edge lists of a given length, at least 1, and weight dtype.

    An edge list is given by the addresses of its ends (int32 or uint32) and weights on the device.
    """

    def __init__(self, m: int, dtype: np.dtype):
        import cupy

        self._dtype, self._cuda, self._weight = dtype, cupy.cuda, WEIGHTS.index(dtype.name)
        self._device = cupy.cuda.runtime.getDevice()
        self._blocks = min(8 * memory.multiprocessors(self._device), -(-m // BLOCK))
        self._argument = np.zeros(1, ARGUMENT)
        self._argument["m"] = m
        self._arguments = loader.Arguments(self._argument)
        self._facts = memory.pinned(2 * FACTS).view(np.uint64)
        self._facts_here = self._facts.ctypes.data

    @classmethod
    def of(cls, graph: DeviceGraph) -> KeyKernels:
        """Return the kernels for the edge list of a graph on the device."""
        kernels = cls(graph.m, graph.w.dtype)
        kernels.take(*(array.data.ptr for array in (graph.u, graph.v, graph.w)))
        return kernels

    def take(self, u: int, v: int, w: int) -> None:
        """Set the edge list."""
        for name, address in (("u", u), ("v", v), ("w", w)):
            self._argument[name] = address

    def survey(self) -> Survey:
        """Return the facts of the edge list."""
        facts = self._cuda.alloc(8 * FACTS)
        self.start_survey(facts.ptr)
        return self.facts()

    def start_survey(self, facts: int) -> None:
        """Start a survey, with the address of `FACTS` words on the device; `facts` returns it."""
        runtime, stream = self._cuda.runtime, self._cuda.get_current_stream()
        runtime.memsetAsync(facts, 0, 8 * FACTS, stream.ptr)
        self._argument["facts"] = facts
        self._launch("survey_edges", 32)
        runtime.memcpyAsync(self._facts_here, facts, 8 * FACTS, runtime.memcpyDeviceToHost, stream.ptr)

    def facts(self) -> Survey:
        """Wait for a survey."""
        self._cuda.get_current_stream().synchronize()
        return survey_of(self._facts, self._dtype)

    def write_keys(self, survey: Survey, address: int) -> None:
        """Write the keys of the weights (uint32 or uint64); 32-bit keys begin at 0."""
        argument = self._argument
        argument["keys"], argument["low"], argument["low_high"] = address, survey.low % 2**32, survey.low >> 32
        self._launch("write_keys", survey.key_bits)

    def _launch(self, name: str, key_bits: int) -> None:
        _kernel(self._device, name, self._weight, key_bits).launch(self._blocks, BLOCK, self._arguments)


@cache
def _kernel(device: int, name: str, weight: int, key_bits: int) -> loader.Kernel:
    return loader.Kernel(SOURCE, name, {"WEIGHT": weight, "KEY_BITS": key_bits})
