"""The ids that a file gives to vertices ``0 … n - 1``: a range, which takes no memory, or an array."""

from __future__ import annotations

import numpy as np

Ids = range | np.ndarray
"""Ids in ascending order (int64), followed by a negative number for each vertex that has no id."""


def ids_of(vertices: np.ndarray, ids: Ids) -> np.ndarray:
    """Return the ids of vertices, shape (k,).

    >>> ids_of(np.array([0, 2]), range(1, 4)).tolist(), ids_of(np.array([0, 2]), np.array([7, 9, 20])).tolist()
    ([1, 3], [7, 20])
    """
    return vertices + np.int64(ids.start) if isinstance(ids, range) else ids[vertices]


def vertices_of(given: np.ndarray, ids: Ids) -> np.ndarray:
    """Return the vertices with the given ids, shape (k,); -1 for an id that no vertex has.

    >>> vertices_of(np.array([0, 3]), range(1, 4)).tolist()
    [-1, 2]
    >>> vertices_of(np.array([9, 8]), np.array([7, 9, -1, -2])).tolist()
    [1, -1]
    """
    if isinstance(ids, range):
        return np.where((given >= ids.start) & (given < ids.stop), given - ids.start, -1)
    known = ids[ids >= 0]
    places = np.minimum(np.searchsorted(known, given), max(len(known) - 1, 0))
    return np.where(known[places] == given, places, -1) if len(known) else np.full_like(given, -1)


def end_of(ids: Ids) -> int:
    """Return one more than the largest id."""
    return ids.stop if isinstance(ids, range) else 1 + int(ids.max())


def count_used(n: int, u: np.ndarray, v: np.ndarray) -> int:
    """Return how many of `n` vertices are ends of edges.

    >>> count_used(4, np.array([0, 3]), np.array([3, 3]))
    2
    """
    used = np.zeros(n, np.bool_)
    used[u] = used[v] = True
    return int(np.count_nonzero(used))
