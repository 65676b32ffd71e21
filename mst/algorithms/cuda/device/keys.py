"""Facts of an edge list on the device, and the keys of its weights, by the kernels of ``edge_keys.cu``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

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
        The least and the largest key, before the least one is subtracted.
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
    """Return the survey of weights of a dtype, from the words that ``survey_edges`` raised."""
    end, least, most, least_float, most_float, flags = facts.tolist()
    bits = 8 * dtype.itemsize
    low, high = least ^ ((1 << bits) - 1), most
    if dtype == np.float64 and not flags & INEXACT:
        bits, low, high = 32, least_float ^ (2**32 - 1), most_float
    elif dtype == np.int64 and high - low < 2**32:
        bits = 32
    return Survey(end, bool(flags & NOT_A_NUMBER), bits, low, high)


class KeyKernels:
    """Launches the kernels for one edge list on the device: ends (int32 or uint32) and weights, at least one edge."""

    def __init__(self, u: Any, v: Any, w: Any):
        self.u, self.v, self.w = u, v, w

    def survey(self) -> Survey:
        """Return the facts of the edge list."""
        import cupy

        facts = cupy.zeros(FACTS, cupy.uint64)
        self._launch("survey_edges", 32, facts=facts.data.ptr)
        host = memory.pinned(2 * FACTS).view(np.uint64)
        stream = cupy.cuda.get_current_stream()
        kind = cupy.cuda.runtime.memcpyDeviceToHost
        cupy.cuda.runtime.memcpyAsync(host.ctypes.data, facts.data.ptr, 8 * FACTS, kind, stream.ptr)
        stream.synchronize()
        return survey_of(host, self.w.dtype)

    def keys(self, survey: Survey) -> Any:
        """Return the keys of the weights (uint32 or uint64), of which 32-bit ones begin at 0."""
        import cupy

        keys = cupy.empty(len(self.w), f"uint{survey.key_bits}")
        low = survey.low
        self._launch("write_keys", survey.key_bits, keys=keys.data.ptr, low=low % 2**32, low_high=low >> 32)
        return keys

    def _launch(self, name: str, key_bits: int, **fields: int) -> None:
        import cupy

        macros = {"WEIGHT": WEIGHTS.index(self.w.dtype.name), "KEY_BITS": key_bits}
        argument = np.zeros(1, ARGUMENT)
        argument["m"] = len(self.w)
        for field, array in (("u", self.u), ("v", self.v), ("w", self.w)):
            argument[field] = array.data.ptr
        for field, value in fields.items():
            argument[field] = value
        device = cupy.cuda.runtime.getDevice()
        blocks = min(8 * memory.multiprocessors(device), -(-len(self.w) // BLOCK))
        kernel = _kernel(device, name, tuple(macros.items()))
        kernel.launch(blocks, BLOCK, loader.Arguments(argument))


@cache
def _kernel(device: int, name: str, macros: tuple[tuple[str, int], ...]) -> loader.Kernel:
    return loader.Kernel(SOURCE, name, dict(macros))
