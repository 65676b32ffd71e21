"""Arrays that all ranks of one host see: anonymous shared memory, found through the host's ``/proc``.

MPI has windows of shared memory, too. They lie in ``/dev/shm``, which containers limit to 64 MB, and have to be
freed by all ranks together; these are as large as memory, and go when the last rank lets go of them.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from typing import Any

import numpy as np


def shared_array(comm: Any, size: int, dtype: Any) -> np.ndarray | None:
    """Return an array of zeros that all ranks of `comm`, which are on one host, write and read.

    None on every rank if one of them cannot see the first one's memory (another user, another container).
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
        memory = mmap.mmap(descriptor, length)
        memory.madvise(mmap.MADV_HUGEPAGE)
    seen = all(comm.allgather(memory is not None))
    if descriptor >= 0:
        os.close(descriptor)
    return np.frombuffer(memory, dtype, size) if seen and memory is not None else None


class SharedRoom:
    """Named shared arrays that are kept from one use to the next, and replaced by larger ones when need be."""

    def __init__(self, comm: Any):
        self.comm = comm
        self._kept: dict[str, np.ndarray] = {}

    def take(self, name: str, size: int, dtype: Any) -> np.ndarray:
        """Return `size` entries of the array of that name; all ranks ask for the same in the same order.

        Raises
        ------
        OSError
            On all ranks: there is no shared memory between them.
        """
        kept = self._kept.get(name)
        if kept is None or len(kept) < size or kept.dtype != dtype:
            kept = shared_array(self.comm, size + size // 4 if name in self._kept else size, dtype)
            if kept is None:
                raise OSError("the ranks of this host cannot share memory")
            self._kept[name] = kept
        return kept[:size]

    @property
    def bytes(self) -> int:
        """Size of all arrays, once per host."""
        return sum(array.nbytes for array in self._kept.values())
