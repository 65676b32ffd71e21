"""Storages of edges: an edge list, symmetric compressed sparse rows, or edges copied from either.

Threads and ranks sample, select and scatter the edges of a storage. An edge has a *place* in its storage: its index in
an edge list, or its slot in the row of one of its ends. Kernels are compiled for each of the three types, and read
edges through the functions below, whose `place` and `row` are int. `words` are the weights' bits, which
`mst.kernels.parallel.keys.key_of` converts to keys according to `kind`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba  # noqa: F401
import numpy as np
from numba.extending import overload


class EdgeList(NamedTuple):
    """Consecutive rows of an edge list: all rows, or those of a rank.

    Attributes
    ----------
    words : numpy.ndarray of uint32 or uint64, shape (k,)
    kind : int
    u, v : numpy.ndarray of int32 or int64, shape (k,)
    start : int
        The edge id of the first row.
    """

    words: np.ndarray
    kind: int
    u: np.ndarray
    v: np.ndarray
    start: int = 0


class Rows(NamedTuple):
    """Symmetric compressed sparse rows of m edges without loops.

    Attributes
    ----------
    words : numpy.ndarray of uint32 or uint64, shape (2 m,)
    kind : int
    neighbours : numpy.ndarray of int32 or int64, shape (2 m,)
    ids : numpy.ndarray of int32 or int64, shape (2 m,)
        Edge ids.
    offsets : numpy.ndarray of int64, shape (n + 1,)
    """

    words: np.ndarray
    kind: int
    neighbours: np.ndarray
    ids: np.ndarray
    offsets: np.ndarray


class CopiedEdges(NamedTuple):
    """Edges copied from another storage, in any order.

    Attributes
    ----------
    words : numpy.ndarray of uint32 or uint64, shape (k,)
    kind : int
    u, v : numpy.ndarray of int32 or int64, shape (k,)
    rows : numpy.ndarray of uint32 or int64, shape (k,)
        Edge ids minus `start`.
    start : int
    """

    words: np.ndarray
    kind: int
    u: np.ndarray
    v: np.ndarray
    rows: np.ndarray
    start: int = 0

    def resized(
        self, size: int, change: Callable[[np.ndarray], np.ndarray] = lambda array: array
    ) -> CopiedEdges:
        """Return the first `size` edges; `change` is applied to each column."""
        columns = (change(column[:size]) for column in (self.words, self.u, self.v, self.rows))
        words, u, v, rows = columns
        return CopiedEdges(words, self.kind, u, v, rows, self.start)


Storage = EdgeList | Rows | CopiedEdges


def has_rows(storage: Any) -> bool:
    """Return whether a storage, or numba's type of one, is `Rows`."""
    return getattr(storage, "instance_class", type(storage)) is Rows


def edge_count(storage: Storage) -> int:
    """Return the number of edges: half the number of slots for `Rows`."""
    return len(storage.words) // 2 if has_rows(storage) else len(storage.words)


def vertex_type(storage: Storage) -> np.dtype:
    """Return the dtype of the ends."""
    return (storage.neighbours if isinstance(storage, Rows) else storage.u).dtype


def _compiled_only() -> Any:
    raise NotImplementedError("for compiled code only")


def find_row(storage, place):
    """Return the row of a place, int64, by bisection; it is 0 in an edge list and in copied edges."""
    return _compiled_only()


def advance_row(storage, place, row):
    """Return the row of a place by stepping from `row`, which is not after it."""
    return _compiled_only()


def edge_at(storage, place, row):
    """Return both ends and the id, int64, of the edge at a place in `row`; for the id alone, `row` may be 0."""
    return _compiled_only()


@overload(find_row, inline="always")
def _find_row(storage, place):
    if not has_rows(storage):
        return lambda storage, place: np.int64(0)
    return lambda storage, place: np.int64(np.searchsorted(storage.offsets, place, side="right") - 1)


@overload(advance_row, inline="always")
def _advance_row(storage, place, row):
    if not has_rows(storage):
        return lambda storage, place, row: row

    def advance_row(storage, place, row):
        while storage.offsets[row + 1] <= place:
            row += 1
        return row

    return advance_row


@overload(edge_at, inline="always")
def _edge_at(storage, place, row):
    if has_rows(storage):
        return lambda storage, place, row: (row, storage.neighbours[place], np.int64(storage.ids[place]))
    if storage.instance_class is CopiedEdges:
        return lambda storage, place, row: (
            storage.u[place],
            storage.v[place],
            np.int64(storage.rows[place]) + storage.start,
        )
    return lambda storage, place, row: (storage.u[place], storage.v[place], np.int64(place) + storage.start)
