"""The kernels, arrays and single argument of a solve on the device, all referred to by name.

A kernel takes one struct by value: addresses of arrays, then 32-bit numbers. An algorithm's `solve` refers to kernels
and arrays only by name, so that tests can replace this device with an emulated one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.cuda.device import memory
from mst.kernels.cuda import loader


class Program(NamedTuple):
    """One variant of a CUDA source: its kernels, the dtype of their argument, its macros, and threads per block."""

    source: str
    kernels: tuple[str, ...]
    argument: np.dtype
    macros: dict[str, int]
    block: int


def argument_dtype(pointers: Iterable[str], numbers: Iterable[str]) -> np.dtype:
    """Return the dtype of a kernel's argument: addresses (uint64), then numbers (uint32)."""
    return np.dtype([(name, np.uint64) for name in pointers] + [(name, np.uint32) for name in numbers])


def argument_of(dtype: np.dtype, addresses: Mapping[str, int]) -> np.ndarray:
    """Return a kernel's argument, shape (1,), with the addresses for which it has fields, and zeros elsewhere."""
    argument = np.zeros(1, dtype)
    for name, address in addresses.items():
        if name in (dtype.names or ()):
            argument[name] = address
    return argument


class Device:
    """The kernels of a program, their arrays and their argument.

    Parameters
    ----------
    program : Program
    arrays : dict of str to cupy.ndarray
        Inputs and workspace.

    Attributes
    ----------
    argument : numpy.ndarray, shape (1,)
        Holds the address of each array in the field of the same name; a solve sets its numbers between launches.
    launched : collections.Counter of str
        Launches of each kernel so far.
    """

    def __init__(self, program: Program, arrays: dict[str, Any]):
        import cupy

        self._runtime = cupy.cuda.runtime
        self._stream = cupy.cuda.get_current_stream
        self.arrays = arrays
        self.block = program.block
        module = loader.module(program.source, program.macros)
        self._kernels = {name: module.get_function(name) for name in program.kernels}
        self.argument = argument_of(program.argument, {name: array.data.ptr for name, array in arrays.items()})
        self._word = memory.pinned(1)
        self.launched: Counter[str] = Counter()

    def address(self, name: str) -> int:
        """Return the address of an array."""
        return self.arrays[name].data.ptr

    def launch(self, kernel: str, size: int, *, blocks: int = 0) -> None:
        """Run a kernel with one thread for each of `size` items, or with the given number of blocks."""
        grid = blocks or -(-size // self.block)
        if grid:
            self._kernels[kernel]((grid,), (self.block,), (self.argument,))
            self.launched[kernel] += 1

    def allocate(self, layout: memory.Layout) -> None:
        """Add uninitialised arrays from the driver, not CuPy's pool, for programs that allocate during a solve."""
        for name, (dtype, length) in layout.items():
            self.arrays[name] = memory.from_driver(dtype, length)
            self.argument[name] = self.address(name)

    def release(self, names: Iterable[str]) -> None:
        """Free arrays from `allocate`, after all earlier launches have ended."""
        for name in names:
            del self.arrays[name]

    def fill(self, name: str, byte: int, length: int | None = None) -> None:
        """Set all bytes of an array, or of its first `length` elements."""
        array = self.arrays[name]
        size = array.nbytes if length is None else array.itemsize * length
        if size:
            array.data.memset_async(byte, size)

    def copy(self, source: str, target: str, length: int) -> None:
        """Copy the first `length` elements of one array to another."""
        if length:
            there, here = self.arrays[target], self.arrays[source]
            there.data.copy_from_device_async(here.data, here.itemsize * length)

    def read(self, name: str, index: int = 0) -> int:
        """Return the 32-bit word at `index` of an array, after all earlier launches have ended."""
        stream, kind = self._stream(), self._runtime.memcpyDeviceToHost
        self._runtime.memcpyAsync(self._word.ctypes.data, self.address(name) + 4 * index, 4, kind, stream.ptr)
        stream.synchronize()
        return int(self._word[0])

    def get(self, name: str, length: int) -> np.ndarray:
        """Return a copy on the host of an array's first `length` elements."""
        return self.arrays[name][:length].get()

    def put(self, name: str, values: np.ndarray) -> None:
        """Overwrite an array's first elements from the host."""
        self.arrays[name][: len(values)].set(values)

    def occupancy(self, kernel: str) -> float:
        """Return the share of a multiprocessor's threads that the kernel's registers and shared memory permit."""
        import cupy
        from cupy.cuda import driver

        pointer = self._kernels[kernel].kernel.ptr
        blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(pointer, self.block, 0)
        return blocks * self.block / cupy.cuda.Device().attributes["MaxThreadsPerMultiProcessor"]

    def resident_blocks(self, kernel: str) -> int:
        """Return how many blocks of a kernel the device can hold at once."""
        return round(self.occupancy(kernel) * self.resident_threads() / self.block)

    def resident_threads(self) -> int:
        """Return how many threads the device can hold at once."""
        import cupy

        attributes = cupy.cuda.Device().attributes
        return attributes["MaxThreadsPerMultiProcessor"] * attributes["MultiProcessorCount"]
