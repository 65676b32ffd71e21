"""Degrees of an edge list."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit


@njit
def degrees(n, u, v):
    """Return the degree of each of `n` vertices: int64, shape (n,); a self-loop counts twice.

    `u` and `v`, int32 or int64 of shape (m,), are the ends of the edges.
    """
    out = np.zeros(n, np.int64)
    for e in range(u.size):
        out[u[e]] += 1
        out[v[e]] += 1
    return out
