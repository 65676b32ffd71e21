"""Sequential union-find over a parent array, int or unsigned of shape (n,); roots point to themselves. For one thread.

Roots are linked by index: the larger one becomes a child of the smaller. Parents thus have smaller indices than their
children, and with path halving, paths stay short on every real graph that was measured.
"""

from __future__ import annotations

from mst.kernels.primitives.jit import njit


@njit(inline="always")
def find(parent, x):
    """Return the root of `x`; every other vertex on the path is linked to its grandparent (path halving)."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@njit(inline="always")
def fourth_ancestor(parent, x):
    """Return the fourth ancestor of `x`, or the root if that is nearer, and make it the parent of `x`.

    It is nearly always the root, and is found without a branch, so that many look-ups overlap.
    """
    ancestor = parent[parent[parent[parent[x]]]]
    parent[x] = ancestor
    return ancestor


@njit(inline="always")
def unite(parent, x, y):
    """Join the trees of `x` and `y`, the larger root below the smaller; return whether they were apart."""
    x, y = find(parent, x), find(parent, y)
    if x == y:
        return False
    parent[max(x, y)] = min(x, y)
    return True
