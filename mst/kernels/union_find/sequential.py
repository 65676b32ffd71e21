"""Sequential union-find over `parent`, signed or unsigned integers of shape (n,); roots are their own parents.

Roots are linked by index: the larger root becomes a child of the smaller. Parents thus have smaller indices than their
children, and with path halving, paths stay short on every real graph that was measured. The last two functions are the
textbook's alternative, union by rank with path compression, which the papers' baselines use.
"""

from __future__ import annotations

import numpy as np

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

    The fourth ancestor is nearly always the root, and is found without a branch, so that many look-ups overlap.
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


@njit(inline="always")
def find_compressing(parent, x):
    """Return the root of `x`, and link every vertex on the path to it (path compression)."""
    root = x
    while parent[root] != root:
        root = parent[root]
    while parent[x] != root:
        above = parent[x]
        parent[x] = root
        x = above
    return root


@njit(inline="always")
def unite_by_rank(parent, rank, x, y):
    """Join the trees of `x` and `y`, the root of lower `rank`, uint8 of shape (n,), below the other.

    Returns whether they were apart. These are the textbook's disjoint sets (Tarjan 1975).
    """
    x, y = find_compressing(parent, x), find_compressing(parent, y)
    if x == y:
        return False
    if rank[x] < rank[y]:
        x, y = y, x
    parent[y] = x
    if rank[x] == rank[y]:
        rank[x] += np.uint8(1)
    return True
