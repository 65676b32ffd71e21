"""Large arrays that reuse the memory of earlier ones, while a computation is repeated, and from one call to the next.

The system clears the pages of a new array at their first touch. On a virtual machine whose free pages go back to its
host, the host has to find and clear them first, at a few tenths of a gigabyte a second.
"""

from __future__ import annotations

import math
import mmap
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

_LEAST, _PAGE = 1 << 25, 1 << 21
"""The size in bytes from which the C library never reuses freed memory, and the size of a huge page."""

_SPARE, _LOOSEST = 4, 4
"""A new block is larger than its array by one part in this many; a reused one may be this many times larger."""

_MORE = 1.25
"""Largest ratio of the memory held to the most that has been in use at once."""

_LARGE = 1 << 18
"""Vertices or edges from which memory is kept."""

MOST_KEPT = 1 << 29
"""The most bytes that are kept between calls."""


class _Memory:
    """Memory of arrays that no longer exist."""

    def __init__(self) -> None:
        self._left: list[mmap.mmap] = []
        self._bytes = self._most = 0
        self._used: set[mmap.mmap] = set()
        self._resting = False

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an uninitialised array: see the function `empty`."""
        size = math.prod(shape if isinstance(shape, tuple) else (shape,)) * np.dtype(dtype).itemsize
        if size < _LEAST:
            return np.empty(shape, dtype)
        memory = self._take(size)
        self._used.add(memory)
        lent = np.frombuffer(memory, np.uint8)
        # Called once neither this array nor any view of it exists: each view refers to it.
        weakref.finalize(lent, self._put_back, memory).atexit = False
        return lent[:size].view(dtype).reshape(shape)

    def _take(self, size: int) -> mmap.mmap:
        left = sorted(self._left, key=len)
        in_use = self._bytes - sum(map(len, left))
        fitting = [memory for memory in left if size <= len(memory) <= _LOOSEST * size]
        if fitting:
            self._left.remove(fitting[0])
            self._most = max(self._most, in_use + len(fitting[0]))
            return fitting[0]
        # Pages that are never touched cost nothing: the next array may be somewhat larger.
        size = ((size + size // _SPARE) // _PAGE + 1) * _PAGE
        self._most = max(self._most, in_use + size)
        # A block that has become too small goes back to the system.
        while left and self._bytes + size > _MORE * self._most:
            self._unmap(left.pop(0))
        try:
            memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise MemoryError(f"unable to allocate {size / 2**20:.0f} MiB") from error
        self._bytes += size
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
        return memory

    def _unmap(self, memory: mmap.mmap) -> None:
        self._left.remove(memory)
        self._used.discard(memory)
        self._bytes -= len(memory)

    def _put_back(self, memory: mmap.mmap) -> None:
        if self._resting:
            # Not kept: this may run in another thread, while a new call uses the kept memory.
            self._used.discard(memory)
            self._bytes -= len(memory)
        else:
            self._left.append(memory)

    def _offer(self, memory: mmap.mmap) -> None:
        """Let the system take the pages if it is short of memory; unmap memory that is not to be kept."""
        if memory not in self._used or sum(map(len, self._left)) > MOST_KEPT:
            self._unmap(memory)
            return
        try:
            memory.madvise(mmap.MADV_FREE)
        except OSError:  # pages that are locked, or a system that does not take them
            self._unmap(memory)

    def wake(self) -> None:
        """Prepare for a call, which may use the memory that the last one left."""
        self._resting, self._most = False, 0
        self._used.clear()

    def rest(self) -> None:
        """Keep memory that was used since `wake`, the smallest first; the rest goes back to the system."""
        self._resting = True
        for memory in sorted(self._left, key=lambda memory: (memory in self._used, -len(memory))):
            self._offer(memory)


class _Current(threading.local):
    """The blocks in use in a thread."""

    memory: _Memory | None = None


_current = _Current()


def empty(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return an uninitialised array; within `recycling`, it reuses the memory of this thread's earlier arrays."""
    memory = _current.memory
    return np.empty(shape, dtype) if memory is None else memory.empty(shape, dtype)


@contextmanager
def recycling(memory: _Memory | None = None) -> Iterator[None]:
    """Let arrays from `empty` in this thread reuse the memory of earlier ones that no longer exist.

    That memory is kept in `memory`, if given; otherwise it goes back to the system at the end.

    Examples
    --------
    >>> from mst.kernels.primitives.recycled import empty, recycling
    >>> with recycling():
    ...     place = empty(9_000_000, "uint64").ctypes.data
    ...     empty((8_000_000, 2), "uint32").ctypes.data == place
    True
    """
    before = _current.memory
    _current.memory = before or memory or _Memory()
    try:
        yield
    finally:
        _current.memory = before


_kept: list[_Memory] = []
"""The memory of the last call, unless another call uses it."""

if hasattr(os, "register_at_fork"):
    # A fork would copy pages that it writes to.
    os.register_at_fork(after_in_child=_kept.clear)


@contextmanager
def keeping() -> Iterator[None]:
    """Let arrays from `empty` in this thread reuse the memory that the last call left, unless within `recycling`.

    Up to `MOST_KEPT` bytes are kept. They count as used by this process, but if the system is short of memory, it takes
    them first. Of several concurrent calls, the last one to end leaves its memory.

    Examples
    --------
    >>> from mst.kernels.primitives.recycled import empty, keeping
    >>> with keeping():
    ...     place = empty(9_000_000, "uint64").ctypes.data
    >>> with keeping():
    ...     empty((8_000_000, 2), "uint32").ctypes.data == place
    True
    """
    if _current.memory is not None or not hasattr(mmap, "MADV_FREE"):
        yield
        return
    try:
        memory = _kept.pop()
    except IndexError:
        memory = _Memory()
        # glibc keeps freed memory for arrays up to the largest size that it has given back to the system.
        np.empty(_LEAST - _PAGE, np.uint8)
    memory.wake()
    try:
        with recycling(memory):
            yield
    finally:
        memory.rest()
        _kept[:] = [memory]


def keeping_if_large(size: int) -> AbstractContextManager[None]:
    """Return `keeping()` for a large graph; `size` is its number of vertices or of edges, whichever is larger."""
    return keeping() if size >= _LARGE else nullcontext()


def release() -> None:
    """Return the memory that is kept between calls to the system."""
    _kept.clear()
