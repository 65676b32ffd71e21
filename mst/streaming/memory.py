"""The memory that a stream may take, and how many edges its table may hold within it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import NamedTuple

from mst.errors import InputError, OutOfMemoryError
from mst.kernels.primitives.recycled import release
from mst.limits import free_memory, most_memory
from mst.units import counted, size

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_MOST = 2**57
"""More bytes than any processor addresses."""

_TEXT = re.compile(r"((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)

_ROW_BYTES = 44
"""Bytes for an edge in the table: 20 or 24 for itself, the rest for a solve (a batch, a place, a record, a key)."""

_VERTEX_BYTES = 38
"""Bytes for a vertex: the labels and levels of two filters, the parents of a solve, and its result."""

_PROOF_BYTES = 110
"""Bytes for a vertex in a proof: the forest, its records in order, and paths."""

_CODE_BYTES = 300 * 2**20
"""Bytes for machine code and libraries that are loaded on the way."""

_AHEAD_BYTES, _LARGEST_SLICE, _SMALLEST_SLICE = 32, 1 << 18, 1 << 14
"""Bytes of an edge that waits to be filtered, or to be added to the table; bounds on the edges of a slice."""

_LARGER_SLICES = 4
"""The factor by which slices grow if there are many vertices."""

_SLICES_AHEAD = 3
"""The fewest slices per thread that may wait."""

_BATCHES_AHEAD = 1
"""Batches besides those that are decoded or wait for that: the one that is cut into slices."""

_LEEWAY_BYTES = 16 * 2**20
"""Bytes by which the next process may take more than this one for the same."""


def parse_memory(text: int | str) -> int:
    """Return bytes from a number, or a text such as ``8G`` or ``1,020 MiB``; the units are powers of 1024.

    Raises
    ------
    InputError
        Neither, or not above zero.

    Examples
    --------
    >>> from mst.streaming.memory import parse_memory
    >>> parse_memory("1.5K"), parse_memory("8GiB"), parse_memory("1,020 MiB"), parse_memory(512)
    (1536, 8589934592, 1069547520, 512)
    """
    found = _TEXT.fullmatch(str(text).strip())
    amount = float(found[1].replace(",", "")) * _UNITS[found[2].upper()] if found else 0
    if not 1 <= amount <= _MOST:
        raise InputError(f"memory must be a number of bytes or a string such as 8G, got {text!r}")
    return int(amount)


def require_memory(memory: int | str, n: int) -> None:
    """Raise an `OutOfMemoryError` if a proof for `n` vertices takes more than `memory`."""
    least = _CODE_BYTES + _PROOF_BYTES * n
    if parse_memory(memory) < least:
        needed = size(_rounded_up(least))
        raise OutOfMemoryError(
            f"a proof for {n:,} vertices needs {needed} of memory, but {memory} is allowed: raise the limit, or "
            "leave it out for a list whose ids have gaps, which is then read as a whole"
        )


def decoders(memory: int | None, width: int, batch: int) -> int:
    """Return how many of `width` threads decode batches of so many bytes, within an eighth of the memory."""
    return width if memory is None else max(min(width, memory // 8 // max(batch, 1)), 1)


class Budget(NamedTuple):
    """Bytes that a stream may take.

    Attributes
    ----------
    memory : int
        Total.
    free : int
        Those left for the table and the vertices; negative if the rest does not fit.
    slice : int
        Edges that a thread filters at a time if there are few vertices.
    least_ahead, most_ahead : int
        Bounds on the edges that wait to be filtered, or to be added to the table.
    within : callable
        ``within(memory)`` returns the budget of the same process within another total.
    """

    memory: int
    free: int
    slice: int
    least_ahead: int
    most_ahead: int
    within: Callable[[int], Budget]

    @classmethod
    def of(cls, memory: int | str | None, width: int, batch: int = 0) -> Budget:
        """Return the budget of a process that already uses some memory, and filters with `width` threads.

        `batch` is the number of bytes that each batch takes while a file is decoded.
        """
        import psutil

        release()
        taken = psutil.Process().memory_info().rss

        def within(given: int, limit: int | None) -> Budget:
            reading = (decoders(limit, width, batch) + _BATCHES_AHEAD) * batch
            free = given - taken - _CODE_BYTES - reading
            slices = _SLICES_AHEAD * width
            rows = min(max(free // 4 // (slices * _AHEAD_BYTES), _SMALLEST_SLICE), _LARGEST_SLICE)
            ahead = max(slices * rows, free // 8 // _AHEAD_BYTES)
            return cls(
                given, free - ahead * _AHEAD_BYTES, rows, slices * rows, ahead, lambda more: within(more, more)
            )

        if memory is None:
            # Half of the machine's: in the rest, the system caches the pages that are read.
            return within(min(psutil.virtual_memory().available // 2, free_memory()) + taken, None)
        limit = parse_memory(memory)
        return within(min(limit, most_memory()), limit)

    def rows(self, n: int) -> int:
        """Return how many edges the table may hold besides the arrays of `n` vertices; negative if these do not fit."""
        return (self.free - _VERTEX_BYTES * n) // _ROW_BYTES

    def ahead(self, n: int) -> int:
        """Return how many edges may wait to be filtered, or to be added to the table.

        Threads read and filter them during a solve. During the first one, no filter drops any: hence no more edges
        than vertices, so that few more solves follow.
        """
        return min(max(self.least_ahead, n), self.most_ahead)

    def slice_for(self, n: int) -> int:
        """Return how many edges a thread filters at a time.

        With more edges, threads wait for Python's lock less often; but until there is a forest of the first edges, as
        many as there are vertices should be enough.
        """
        times = min(n, self.most_ahead) // self.least_ahead
        return self.slice * min(max(times, 1), _LARGER_SLICES)

    def refusal(self, n: int) -> OutOfMemoryError:
        """Return the error for `n` vertices that do not fit, or for a process that does not even without any."""
        vertices = counted(n, "vertex", "vertices") if n else "the vertices"
        return OutOfMemoryError(
            f"{size(self.memory)} of memory is too little: the process, its code, reading and {vertices} need at least "
            f"{self.amount_for(n)}; raise the limit, or number the vertices from 0 without gaps"
        )

    def amount_for(self, n: int) -> str:
        """Return an amount of memory that is enough for `n` vertices, as text."""
        # With more memory, more edges and batches wait, so that less than what is added is left.
        budget = self
        while (lacking := _bytes_for(n, budget.slice) + _LEEWAY_BYTES - budget.free) > 0:
            budget = self.within(_rounded_up(budget.memory + lacking))
        return size(budget.memory)

    @property
    def most_vertices(self) -> int:
        """The number of vertices that fit; negative if the rest does not."""
        one = _VERTEX_BYTES + _ROW_BYTES
        return min(self.free // (one + _ROW_BYTES), (self.free - _ROW_BYTES * self.slice) // one)


def _bytes_for(n: int, slice: int) -> int:
    """Return the bytes of `n` vertices and of a table for a forest and as many edges again, or a slice."""
    return _VERTEX_BYTES * n + _ROW_BYTES * (n + max(n, slice))


def _rounded_up(amount: int) -> int:
    """Return an amount of memory that is not less, and is written with three digits."""
    unit = 2**30 if amount > 999 * 2**20 else 2**20
    step = unit / 100 * 10 ** (len(str(amount // unit)) - 1)
    return math.ceil(math.ceil(amount / step) * step)
