"""A stand-in for CuPy: the device's memory is the host's, and kernels are emulated."""

from __future__ import annotations

import ctypes
from collections import Counter
from types import SimpleNamespace
from typing import ClassVar

import emulated
import numpy as np

from mst.algorithms.cuda import filter_boruvka
from mst.algorithms.cuda.device import keys


class Pointer:
    """A pointer to device memory."""

    def __init__(self, memory, offset=0):
        self.memory, self.ptr = memory, memory.ctypes.data + offset

    def __add__(self, offset):
        return Pointer(self.memory, self.ptr - self.memory.ctypes.data + offset)


class OnDevice:
    """An array on the device; `counts` counts CuPy's own operations."""

    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self, shape, dtype, data=None):
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if data is None:
            self.counts["allocations"] += 1
            data = Pointer(np.full(size, 0xEE, np.uint8))
        start = data.ptr - data.memory.ctypes.data
        self.data, self.array = data, data.memory[start : start + size].view(dtype).reshape(shape)

    @classmethod
    def of(cls, values):
        """Return a copy of an array on the device."""
        values = np.ascontiguousarray(values)
        return cls(values.shape, values.dtype, Pointer(values.flatten().view(np.uint8)))

    def _seen(self, array):
        return OnDevice(array.shape, array.dtype, self.data + (array.ctypes.data - self.array.ctypes.data))

    def _made(self, operation, array):
        self.counts[operation] += 1
        self.counts["allocations"] += 1
        return OnDevice.of(array)

    def __getattr__(self, name):
        if name in ("shape", "dtype", "ndim", "itemsize", "nbytes", "size"):
            return getattr(self.array, name)
        raise AttributeError(name)

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.data.ptr, False)}

    def __len__(self):
        return len(self.array)

    def __iter__(self):
        return map(self._seen, self.array)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._seen(self.array[index])
        return self.array[index.array if isinstance(index, OnDevice) else index]

    def view(self, dtype):
        return self._seen(self.array.view(dtype))

    def astype(self, dtype, copy=True):
        if self.dtype == dtype and not copy:
            return self
        return self._made("operations", self.array.astype(dtype))

    def copy(self):
        return self._made("copies", self.array)

    def get(self):
        return self.array.copy()

    def fill(self, value):
        self.counts["sets"] += 1
        self.array[...] = value

    def __lt__(self, other):
        return self.array < other

    def __ge__(self, other):
        return self.array >= other

    def min(self):
        return self.array.min()

    def max(self):
        return self.array.max()

    def sort(self):
        """Sort as CuPy does."""
        return self._made("operations", np.sort(self.array))


class Kernel:
    """An emulated kernel."""

    def __init__(self, folder, counts, source, name, macros):
        counts["kernels made"] += 1
        if source == keys.SOURCE:
            kernels = emulated.key_kernels(folder, macros["WEIGHT"], macros["KEY_BITS"], macros.get("WIDE", 0))
        elif source == filter_boruvka.SOURCE:
            kernels = emulated.filter_kernels(folder, macros["KEY_BITS"], 16, 2)
        else:
            kernels = emulated.mark_kernels(folder)
        self._kernels, self._name, self._counts = kernels, name, counts

    def launch(self, blocks, threads, arguments):
        self._counts["launches"] += 1
        self._kernels(self._name, min(blocks, 2), arguments.struct, 1)


def equip(cupy, folder):
    """Give a module of `test_cuda_staging.fake` all that calls use; return its kernels' class and its counts."""
    counts = OnDevice.counts = Counter()
    cuda, runtime, copied = cupy.cuda, cupy.cuda.runtime, cupy.cuda.runtime.memcpyAsync

    def counting(name, function):
        def counted(*given, **options):
            counts[name] += 1
            return function(*given, **options)

        return counted

    stream = SimpleNamespace(ptr=1, synchronize=counting("waits", lambda: None), wait_event=lambda event: None)
    cuda.get_current_stream = lambda: stream
    cuda.alloc = counting("allocations", lambda size: Pointer(np.full(size, 0xEE, np.uint8)))
    cuda.Memory = counting("allocations kept", lambda size: np.full(size, 0xEE, np.uint8))
    cuda.MemoryPointer = Pointer
    cuda.memory = SimpleNamespace(OutOfMemoryError=MemoryError)
    cuda.alloc_pinned_memory = counting("allocations of page-locked memory", bytearray)
    runtime.memcpyAsync = counting("copies", copied)
    runtime.memsetAsync = counting("sets", lambda at, byte, size, stream: ctypes.memset(at, byte, size))
    runtime.memcpyDeviceToHost, runtime.getDevice = 2, lambda: 0
    runtime.getDeviceCount, runtime.memGetInfo = lambda: 1, lambda: (0, 0)
    cupy.pool = SimpleNamespace(free_bytes=lambda: cupy.free, free_all_blocks=lambda: None)
    cupy.free, cupy.get_default_memory_pool = 10**12, lambda: cupy.pool
    cupy.ndarray = cupy.empty = OnDevice
    cupy.asarray = lambda array: array if isinstance(array, OnDevice) else OnDevice.of(array)
    cupy.ascontiguousarray, cupy.sort = cupy.asarray, OnDevice.sort
    cupy.argmax, cupy.isnan = np.argmax, lambda array: np.isnan(array.array)
    for name in ("int32", "int64", "uint32", "float32"):
        setattr(cupy, name, np.dtype(name))
    kernel = lambda source, name, macros, cooperative=False: Kernel(folder, counts, source, name, macros)  # noqa: E731
    return kernel, counts
