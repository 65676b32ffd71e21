"""Arrays shared by all ranks of one host, in anonymous memory that other ranks open through ``/proc``.

MPI's own shared-memory windows lie in ``/dev/shm``, which containers often limit to 64 MB, and must be freed
collectively. These arrays may be as large as memory and are freed with the last reference on any rank.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
from typing import Any

import numpy as np

from mst.kernels.primitives.scratch import Scratch

_HUGE = 1 << 21
_MAP_FIXED, _MADV_COLLAPSE = 0x10, 25


def shared_array(comm: Any, size: int, dtype: Any) -> np.ndarray | None:
    """Return an array of zeros, shape (size,), shared by all ranks of `comm`, all on one host.

    Return None on every rank if some rank cannot open rank 0's memory, as across users or containers.
    """
    length = max(size, 1) * np.dtype(dtype).itemsize
    memory, descriptor = None, -1
    with contextlib.suppress(OSError):
        if comm.rank == 0:
            descriptor = os.memfd_create("mst")
            os.ftruncate(descriptor, length)
    owner, remote = comm.bcast((os.getpid(), descriptor))
    with contextlib.suppress(OSError):
        if comm.rank:
            descriptor = os.open(f"/proc/{owner}/fd/{remote}", os.O_RDWR)
        memory = _map(descriptor, length)
        pages = length // _HUGE
        _enlarge_pages(*memory, pages * comm.rank // comm.size, pages * (comm.rank + 1) // comm.size)
    seen = all(comm.allgather(memory is not None))
    if descriptor >= 0:
        os.close(descriptor)
    if not seen or memory is None:
        return None
    return np.frombuffer(memory[0], dtype, size, memory[1])


def _map(descriptor: int, length: int) -> tuple[mmap.mmap, int]:
    """Map a file into memory at the start of a huge page; return the enclosing mapping and the file's offset in it."""
    around = mmap.mmap(-1, length + _HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    address = np.frombuffer(around, np.uint8).ctypes.data
    head = -address % _HUGE
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    )
    flags, access = mmap.MAP_SHARED | _MAP_FIXED, mmap.PROT_READ | mmap.PROT_WRITE
    if libc.mmap(address + head, length, access, flags, descriptor, 0) != address + head:
        raise OSError(ctypes.get_errno(), "cannot map shared memory")
    return around, head


def _enlarge_pages(memory: mmap.mmap, head: int, first: int, last: int) -> None:
    """Turn the blocks ``first … last - 1``, each of a huge page's size, into huge pages near this rank, if possible.

    `memory` and `head` are from `_map`. By default Linux gives shared memory small pages; on request it merges the
    small pages of a block whose first page is in use.
    """
    with contextlib.suppress(OSError):
        for page in range(first, last):
            at = head + page * _HUGE
            memory[at] = 0
            memory.madvise(_MADV_COLLAPSE, at, _HUGE)


def shared_scratch(comm: Any) -> Scratch:
    """Return scratch space in shared memory, from which all ranks must take the same arrays in the same order.

    Its method `take` raises `OSError` on all ranks if they cannot share memory.
    """

    def shared(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        array = shared_array(comm, math.prod(shape), dtype)
        if array is None:
            raise OSError("the ranks of this host cannot share memory")
        return array.reshape(shape)

    return Scratch(shared)
