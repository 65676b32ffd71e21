"""Sequential union-find over a parent array; roots point to themselves."""

from __future__ import annotations

from mst.kernels.primitives.jit import njit


@njit(inline="always")
def find(parent, x):
    """Return the root of `x`; every other vertex on the path is moved to its grandparent (path halving)."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@njit(inline="always")
def fourth_ancestor(parent, x):
    """Return the fourth ancestor of `x`, or the root if that is nearer, and make it the parent of `x`.

    That is nearly always the root, and takes no branch, so that many look-ups overlap.
    """
    above = parent[parent[parent[parent[x]]]]
    parent[x] = above
    return above
