"""A computation's own large arrays, kept by name from one run of it to the next.

New pages are cleared by the system at their first touch, while threads wait for it, and taken back at the end of every
run. The ranks of a host (`mst.kernels.mpi.shared_memory`) and the GPU's engines keep theirs as long as a problem, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np


class Room:
    """Named arrays, replaced by larger ones when need be. What is taken under a name ends what was taken before.

    Examples
    --------
    >>> from mst.kernels.primitives.scratch import Room
    >>> room = Room()
    >>> first = room.take("keys", 100, "uint64")
    >>> again = room.take("keys", (20, 2), "uint32")
    >>> again.shape, first.ctypes.data == again.ctypes.data
    ((20, 2), True)
    """

    def __init__(self, empty: Callable[..., np.ndarray] = np.empty) -> None:
        self._empty = empty
        self._kept: dict[str, np.ndarray] = {}

    def take(
        self, name: str, shape: int | tuple[int, ...], dtype, empty: Callable[..., np.ndarray] | None = None
    ) -> np.ndarray:
        """Return the array of a name, with what happens to be in it.

        `empty` makes one of a shape and dtype, in place of what makes all others of this room.
        """
        rows, *others = shape if isinstance(shape, tuple) else (int(shape),)
        size = math.prod((rows, *others)) * np.dtype(dtype).itemsize
        if name not in self._kept or self._kept[name].nbytes < size:
            # Not both at once; and what has grown may grow again.
            more = rows // 4 if self._kept.pop(name, None) is not None else 0
            self._kept[name] = (empty or self._empty)((rows + more, *others), dtype).reshape(-1).view(np.uint8)
        return self._kept[name][:size].view(dtype).reshape(rows, *others)

    def several(self, name: str, empty: Callable[..., np.ndarray] | None = None) -> Callable[..., np.ndarray]:
        """Return what stands in for `numpy.empty` where arrays are made that go by one name, one after the other."""
        numbers = itertools.count()
        return lambda shape, dtype: self.take(f"{name} {next(numbers)}", shape, dtype, empty)

    @property
    def bytes(self) -> int:
        """Size of all arrays."""
        return sum(array.nbytes for array in self._kept.values())


@contextmanager
def lent(rooms: list[Room]) -> Iterator[Room]:
    """Take a room out of `rooms`, a new one if all of them are in use, and put it back in the end.

    Examples
    --------
    >>> from mst.kernels.primitives.scratch import lent
    >>> rooms = []
    >>> with lent(rooms) as one, lent(rooms) as other:
    ...     one is other
    False
    >>> len(rooms)
    2
    """
    try:
        room = rooms.pop()
    except IndexError:
        room = Room()
    try:
        yield room
    finally:
        rooms.append(room)
