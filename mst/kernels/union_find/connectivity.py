"""Connected components and degrees of an edge list."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.sequential import find


@njit
def count_components(n, u, v):
    """Number of connected components, isolated vertices included."""
    parent = np.arange(n, dtype=u.dtype)
    components = n
    for e in range(u.size):
        a, b = find(parent, u[e]), find(parent, v[e])
        if a != b:
            # The smaller root wins: with halving, paths stay short on every real input seen so far.
            parent[max(a, b)] = min(a, b)
            components -= 1
            if components == 1:
                break
    return components


@njit
def degrees(n, u, v):
    """Degree of every vertex as int64; a self-loop counts twice."""
    out = np.zeros(n, np.int64)
    for e in range(u.size):
        out[u[e]] += 1
        out[v[e]] += 1
    return out
