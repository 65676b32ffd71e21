"""Symmetric compressed sparse rows from an edge list, by counting sort."""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit


def build_csr(n: int, u: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return ``(offsets, neighbours, weights, edge_ids)``; self-loops are left out.

    Slots of a row are in ascending edge id.
    """
    # Allocated here and not in compiled code: numpy asks for huge pages, without which every pass over the
    # slots is slower by a half.
    offsets = np.zeros(n + 1, np.int64)
    slots = _count(u, v, offsets)
    neighbours, weights = np.empty(slots, u.dtype), np.empty(slots, w.dtype)
    edge_ids = np.empty(slots, np.int32 if len(u) < 2**31 else np.int64)
    _fill(u, v, w, offsets, neighbours, weights, edge_ids)
    return offsets, neighbours, weights, edge_ids


@njit
def _count(u, v, offsets):
    """Make `offsets` the start of each row, one place to the right; return the number of slots."""
    n = offsets.size - 1
    for e in range(u.size):
        loop = u[e] == v[e]
        offsets[u[e]] += not loop
        offsets[v[e]] += not loop
    start = 0
    for x in range(n + 1):
        here = offsets[x]
        offsets[x] = start
        start += here
    for x in range(n, 0, -1):
        offsets[x] = offsets[x - 1]
    return start


@njit
def _fill(u, v, w, offsets, neighbours, weights, edge_ids):
    """Fill the rows; `offsets` moves on to where each row ends, that is to where the next one starts."""
    for e in range(u.size):
        a, b = u[e], v[e]
        if a != b:
            i, j = offsets[a + 1], offsets[b + 1]
            offsets[a + 1], offsets[b + 1] = i + 1, j + 1
            neighbours[i], weights[i], edge_ids[i] = b, w[e], e
            neighbours[j], weights[j], edge_ids[j] = a, w[e], e
