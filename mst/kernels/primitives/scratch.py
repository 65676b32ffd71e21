"""Scratch space: the large temporary arrays of a computation, kept by name from one run to the next.

The operating system clears new pages at their first touch, while threads wait for it, and takes them back at the end of
every run. The ranks of a host (`mst.kernels.mpi.shared_memory`) and the drivers of GPU code keep scratch space as long
as a problem, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mst.kernels.primitives import recycled


class Scratch:
    """Arrays by name, replaced by larger ones as needed. Taking a name again invalidates the array taken before.

    Examples
    --------
    >>> from mst.kernels.primitives.scratch import Scratch
    >>> scratch = Scratch()
    >>> first = scratch.take("keys", 100, "uint64")
    >>> again = scratch.take("keys", (20, 2), "uint32")
    >>> again.shape, first.ctypes.data == again.ctypes.data
    ((20, 2), True)
    """

    def __init__(self, empty: Callable[..., np.ndarray] = recycled.empty) -> None:
        self._empty = empty
        self._kept: dict[str, np.ndarray] = {}

    def take(
        self,
        name: str,
        shape: int | tuple[int, ...],
        dtype: Any,
        empty: Callable[..., np.ndarray] | None = None,
    ) -> np.ndarray:
        """Return the array of a name, uninitialised.

        `empty` allocates it, given a shape and dtype, in place of the allocator of this scratch space.
        """
        rows, *others = shape if isinstance(shape, tuple) else (int(shape),)
        size = math.prod((rows, *others)) * np.dtype(dtype).itemsize
        if name not in self._kept or self._kept[name].nbytes < size:
            # The old array is freed first. An array that has grown may grow again: it gets a quarter more.
            more = rows // 4 if self._kept.pop(name, None) is not None else 0
            self._kept[name] = (empty or self._empty)((rows + more, *others), dtype).reshape(-1).view(np.uint8)
        return self._kept[name][:size].view(dtype).reshape(rows, *others)

    def numbered(self, name: str, empty: Callable[..., np.ndarray] | None = None) -> Callable[..., np.ndarray]:
        """Return a stand-in for `numpy.empty` that takes arrays named ``name 0``, ``name 1``, …, call by call."""
        numbers = itertools.count()
        return lambda shape, dtype: self.take(f"{name} {next(numbers)}", shape, dtype, empty)

    @property
    def bytes(self) -> int:
        """Size of all arrays."""
        return sum(array.nbytes for array in self._kept.values())


@contextmanager
def borrowed(pool: list[Scratch]) -> Iterator[Scratch]:
    """Borrow scratch space from a pool, new if all is in use, and return it to the pool at the end.

    Examples
    --------
    >>> from mst.kernels.primitives.scratch import borrowed
    >>> pool = []
    >>> with borrowed(pool) as one, borrowed(pool) as other:
    ...     one is other
    False
    >>> len(pool)
    2
    """
    try:
        scratch = pool.pop()
    except IndexError:
        scratch = Scratch()
    try:
        yield scratch
    finally:
        pool.append(scratch)
