"""Renumbers sparse vertex ids to ``0 … n - 1``, in ascending order."""

from __future__ import annotations

import numpy as np

from mst.arrays import first_of_runs
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.radix import argsort


def compact_ids(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Relabel the ends of edges by their rank among the ids in use.

    Parameters
    ----------
    u, v : numpy.ndarray of int32 or int64, shape (m,)
        Ids of at least 0.

    Returns
    -------
    ids : numpy.ndarray of int64, shape (n,)
        The ids in use, ascending.
    u, v : numpy.ndarray of int32, or int64 if n ≥ 2³¹, shape (m,)
        The ends as places in `ids`.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.graph.relabel import compact_ids
    >>> ids, u, v = compact_ids(np.array([7, 9]), np.array([9, 3]))
    >>> ids.tolist(), u.tolist(), v.tolist()
    ([3, 7, 9], [1, 2], [2, 0])
    """
    if u.size == 0:
        return np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32)
    span = max(int(u.max()), int(v.max())) + 1
    if span <= 8 * u.size + 1024:
        used = _mark(span, u, v)
        ids = np.flatnonzero(used)
        ranks: np.ndarray = np.cumsum(used, dtype=np.int32 if len(ids) < 2**31 else np.int64)
        ranks -= 1
        return ids, ranks[u], ranks[v]
    ends = np.concatenate([u, v])
    places = argsort(ends.view(f"u{ends.itemsize}"))
    ends = ends[places]
    first = first_of_runs(ends)
    ids = ends[first].astype(np.int64, copy=False)
    dtype = np.int32 if len(ids) < 2**31 else np.int64
    ranks = np.empty(ends.size, dtype)
    ranks[places] = np.cumsum(first, dtype=dtype) - 1
    return ids, ranks[: u.size], ranks[u.size :]


@njit
def _mark(span, u, v):
    """Return whether each of the ids below `span` occurs in `u` or `v`, int of shape (m,): bool, shape (span,)."""
    used = np.zeros(span, np.bool_)
    for i in range(u.size):
        used[u[i]] = True
        used[v[i]] = True
    return used
