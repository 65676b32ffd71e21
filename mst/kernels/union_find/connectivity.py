"""Connected components of edge lists and of packed pairs, by union-find."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.sequential import unite

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@njit
def count_components(n, u, v):
    """Return the number of connected components of `n` vertices, isolated ones included.

    `u` and `v`, int32 or int64 of shape (m,), are the ends of the edges.
    """
    parent = np.arange(n, dtype=u.dtype)
    components = n
    for e in range(u.size):
        if unite(parent, u[e], v[e]):
            components -= 1
            if components == 1:
                break
    return components


@njit
def is_connected(n, pairs):
    """Return whether the pairs connect all of `n` vertices; True for no vertex and for one.

    `pairs`, uint64 of shape (m,), are packed ends (`mst.kernels.primitives.pairs`).
    """
    parent = np.arange(n)
    components = n
    for pair in pairs:
        if components <= 1:
            return True
        components -= _unite_ends(parent, pair)
    return components <= 1


@njit
def keep_connected(n, pairs, m):
    """Move `m` of the pairs that connect `n` vertices to the front, in their order, such that these still connect them.

    These are the n - 1 pairs that join two components when taken one by one, and the first m - (n - 1) of the others;
    `m` is at least n - 1. `pairs`, packed ends as for `is_connected`, is overwritten.
    """
    parent = np.arange(n)
    spare = m - (n - 1)
    kept = 0
    for pair in pairs:
        if _unite_ends(parent, pair):
            keep = True
        else:
            keep = spare > 0
            spare -= keep
        if keep:
            pairs[kept] = pair
            kept += 1


@njit
def _unite_ends(parent, pair):
    """Join the trees of the ends of a packed pair in `parent`, int64 (n,); return whether they were apart."""
    return unite(parent, np.int64(pair >> _HALF), np.int64(pair & _LOW))
