"""Sequential union-find over a parent array: `find` with path halving; roots point to themselves."""

from __future__ import annotations

from mst.kernels.jit import njit


@njit(inline="always")
def find(parent, x):
    """Return the root of `x`; every other vertex on the path is moved to its grandparent."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x
