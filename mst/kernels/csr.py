"""Symmetric compressed sparse rows from an edge list, by counting sort."""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit


def build_csr(n: int, u: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return ``(offsets, neighbours, weights, edge_ids)``; self-loops are left out.

    Slots of a row are in ascending edge id.
    """
    id_dtype = np.int32 if len(u) < 2**31 else np.int64
    return _build(n, u, v, w, id_dtype(0))


@njit
def _build(n, u, v, w, id_zero):
    offsets = np.zeros(n + 1, np.int64)
    for e in range(u.size):
        if u[e] != v[e]:
            offsets[u[e] + 1] += 1
            offsets[v[e] + 1] += 1
    for x in range(n):
        offsets[x + 1] += offsets[x]
    slots = offsets[n]
    neighbours = np.empty(slots, u.dtype)
    weights = np.empty(slots, w.dtype)
    edge_ids = np.empty(slots, type(id_zero))
    cursor = offsets[:n].copy()
    for e in range(u.size):
        a, b = u[e], v[e]
        if a != b:
            i, j = cursor[a], cursor[b]
            cursor[a] += 1
            cursor[b] += 1
            neighbours[i], weights[i], edge_ids[i] = b, w[e], e
            neighbours[j], weights[j], edge_ids[j] = a, w[e], e
    return offsets, neighbours, weights, edge_ids
