"""Connectivity of packed pairs, by union-find."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.sequential import find

_S32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)


@njit
def _join(parent, pair):
    """Unite the ends of a pair under the smaller root; tell whether they were apart."""
    a, b = find(parent, np.int64(pair >> _S32)), find(parent, np.int64(pair & _LOW32))
    if a == b:
        return False
    parent[max(a, b)] = min(a, b)
    return True


@njit
def is_connected(n, pairs):
    """True when the pairs connect all of `n` vertices; no vertex and one vertex are connected."""
    parent = np.arange(n)
    components = n
    for pair in pairs:
        if components <= 1:
            return True
        components -= _join(parent, pair)
    return components <= 1


@njit
def keep_connected(n, pairs, m):
    """Of pairs that connect `n` vertices, move `m` to the front that still do; their order stays.

    Kept are the pairs that join two components when taken one by one, and the first of the others.
    """
    parent = np.arange(n)
    spare = m - (n - 1)
    kept = 0
    for pair in pairs:
        if _join(parent, pair):
            keep = True
        else:
            keep = spare > 0
            spare -= keep
        if keep:
            pairs[kept] = pair
            kept += 1
