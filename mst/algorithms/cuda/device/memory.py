"""Workspaces in device or unified memory, described by a layout and refused if the card has too little memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from mst.errors import OutOfMemoryError

Layout = dict[str, tuple[Any, int]]  # name to (dtype, elements)


@cache
def multiprocessors(device: int) -> int:
    """Return a device's number of multiprocessors, without CuPy's read of all attributes, which takes 0.1 ms."""
    import cupy

    return int(cupy.cuda.Device(device).attributes["MultiProcessorCount"])


def layout_bytes(layout: Layout) -> int:
    """Return the bytes of a layout's arrays."""
    return sum(np.dtype(dtype).itemsize * length for dtype, length in layout.values())


def host_bytes(arrays: Mapping[str, Any]) -> int:
    """Return the total bytes of those of the arrays that are on the host."""
    return sum(array.nbytes for array in arrays.values() if isinstance(array, np.ndarray))


def gigabytes(size: int) -> str:
    """Return a number of bytes as text for a message."""
    return f"{size / 1e9:.3g} GB"


def ensure_free(needed: int, purpose: str) -> None:
    """Raise `OutOfMemoryError` unless `needed` bytes are free on the device, including those in CuPy's pool."""
    import cupy

    free = cupy.get_default_memory_pool().free_bytes()
    if needed > free:
        free += cupy.cuda.runtime.memGetInfo()[0]  # takes up to 0.07 ms
    if needed > free:
        raise OutOfMemoryError(
            f"{purpose} needs {gigabytes(needed)} ({needed:,} bytes) of device memory, "
            f"{gigabytes(free)} ({free:,} bytes) are free: use a GPU with more memory, or a CPU algorithm"
        )


class Places:
    """The positions of a layout's arrays in one block of device memory, in order, each at a multiple of 256 bytes.

    Attributes
    ----------
    starts : dict of str to int
    size : int
        Bytes of the block.
    """

    def __init__(self, layout: Layout):
        self.starts, self.size = {}, 0
        for name, (dtype, length) in layout.items():
            self.starts[name] = self.size
            self.size += -(-np.dtype(dtype).itemsize * length // 256) * 256

    def allocate(self, purpose: str) -> Any:
        """Return a `cupy.cuda.MemoryPointer` to an uninitialised block, or raise `OutOfMemoryError`."""
        import cupy

        ensure_free(self.size, purpose)
        try:
            return cupy.cuda.alloc(self.size)
        except cupy.cuda.memory.OutOfMemoryError:  # free memory is fragmented
            cupy.get_default_memory_pool().free_all_blocks()
            ensure_free(self.size, purpose)
            return cupy.cuda.alloc(self.size)


def allocate(layout: Layout, purpose: str) -> dict[str, Any]:
    """Return uninitialised device arrays of a layout, or raise `OutOfMemoryError`."""
    import cupy

    places = Places(layout)
    block = places.allocate(purpose)
    return {
        name: cupy.ndarray(length, dtype, block + places.starts[name])
        for name, (dtype, length) in layout.items()
    }


def in_device_memory(layout: Layout, inputs: Mapping[str, Any], purpose: str) -> dict[str, Any]:
    """Return inputs and workspace as device arrays."""
    import cupy

    ensure_free(host_bytes(inputs), purpose)
    arrays = {name: cupy.asarray(array) for name, array in inputs.items()}
    return arrays | allocate(layout, purpose)


def in_unified_memory(layout: Layout, inputs: Mapping[str, Any], purpose: str) -> dict[str, Any]:
    """Return inputs and workspace in unified memory; the host writes the inputs.

    Raises
    ------
    OutOfMemoryError
        They need more than the card's free memory. Thrashing between host and device can hang the card.
    """
    import cupy

    host = {name: a if isinstance(a, np.ndarray) else a.get() for name, a in inputs.items()}
    needed = layout_bytes(layout) + host_bytes(host)
    cupy.get_default_memory_pool().free_all_blocks()
    free = cupy.cuda.runtime.memGetInfo()[0]
    if needed > free:
        raise OutOfMemoryError(
            f"{purpose} needs {gigabytes(needed)} ({needed:,} bytes) of unified memory, and "
            f"{gigabytes(free)} ({free:,} bytes) are free on the card: use memory=device on a larger card"
        )
    arrays = {name: _unified(dtype, length) for name, (dtype, length) in layout.items()}
    for name, array in host.items():
        arrays[name] = _unified(array.dtype, len(array))
        _host_view(arrays[name])[:] = array
    return arrays


def _unified(dtype: Any, length: int) -> Any:
    import cupy

    dtype = np.dtype(dtype)
    memory = cupy.cuda.malloc_managed(max(dtype.itemsize * length, 1))
    return cupy.ndarray(length, dtype, memory)


def _host_view(array: Any) -> np.ndarray:
    """Return a view of a unified array for the host."""
    import ctypes

    raw = (ctypes.c_char * array.nbytes).from_address(array.data.ptr)
    return np.frombuffer(raw, array.dtype)


def from_driver(dtype: Any, length: int) -> Any:
    """Return an uninitialised device array that the driver allocates immediately and frees on deletion."""
    import cupy

    dtype = np.dtype(dtype)
    block = cupy.cuda.Memory(max(dtype.itemsize * length, 1))
    return cupy.ndarray(length, dtype, cupy.cuda.MemoryPointer(block, 0))


def pinned(words: int) -> np.ndarray:
    """Return page-locked host memory (uint32), which kernels can write and to which the device copies directly."""
    import cupy

    memory = cupy.cuda.alloc_pinned_memory(4 * words)
    return np.frombuffer(memory, np.uint32, words)
