"""Concurrent union-find, in three versions.

`unite` links the larger root below the smaller one by compare-and-swap; `unite_by_priority` links the root of lower
priority below the other. Parents are always smaller than their children, or of higher priority, so no interleaving of
threads makes a cycle. `find` serves both. `parent` is a signed or unsigned integer array of 32 or 64 bits and shape
(n,); vertices, `x` and `y`, are of any integer dtype.

`rank_find` and `rank_link` are the wait-free functions of Anderson and Woll ("Wait-free Parallel Algorithms for the
Union-Find Problem", STOC 1991, §3), which link by rank; rank and parent share a 64-bit word, so that one
compare-and-swap checks both. `words` is an array of uint64, of shape (n,), from `ranked_forest`.

In all versions, a linked vertex never becomes a root again, and parents only ever change to ancestors. All functions
may be called by many threads at the same time; another thread may have linked a root by the time it is returned.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.atomics import compare_and_swap, load, store
from mst.kernels.primitives.hashing import multiplicative_hash
from mst.kernels.primitives.jit import njit

# -- roots by index or priority ---------------------------------------------------------------------------------


@njit
def root(parent, x):
    """Return the vertex that was the root of `x` at some moment during the call, without changing any parent."""
    p = load(parent, x)
    while p != x:
        x = p
        p = load(parent, x)
    return x


@njit
def find(parent, x):
    """Return the vertex that was the root of `x` at some moment during the call, with path splitting.

    ``parent[x] == x`` marks a root. Release stores suffice, without compare-and-swap: a store never writes to a root,
    so it undoes no link, and of two concurrent stores, each writes an ancestor.
    """
    p = load(parent, x)
    while p != x:
        grandparent = load(parent, p)
        if grandparent != p:
            store(parent, x, grandparent)
        x, p = p, grandparent
    return x


@njit
def unite(parent, x, y):
    """Join the trees of `x` and `y`; return True if they were apart and this call joined them."""
    while True:
        x, y = find(parent, x), find(parent, y)
        if x == y:
            return False
        if x < y:
            x, y = y, x
        if compare_and_swap(parent, x, x, y) == x:
            return True


@njit(inline="always")
def in_order_of_priority(x, y):
    """Return two different vertices as uint64, the one of lower priority first.

    A vertex whose number has fewer bits has the higher priority, since hubs and parents often have small numbers.
    Numbers of equal length are in a fixed random order, so that links of consecutive vertices make no long chain
    (Jayanti and Tarjan, "A Randomized Concurrent Algorithm for Disjoint Set Union", PODC 2016), and a large tree mostly
    keeps its root.
    """
    x, y = np.uint64(x), np.uint64(y)
    # Computed without a branch, which would be mispredicted.
    different = x ^ y
    fewer_bits = (different > (x & y)) & (x < y)
    earlier = (different <= (x & y)) & (multiplicative_hash(x) > multiplicative_hash(y))
    swap = different * np.uint64(fewer_bits | earlier)
    return x ^ swap, y ^ swap


@njit
def unite_by_priority(parent, x, y):
    """Join the trees of `x` and `y`, the root of lower priority below the other; return True if this call joined them.

    `in_order_of_priority` compares roots.
    """
    while True:
        x, y = find(parent, x), find(parent, y)
        if x == y:
            return False
        low, high = in_order_of_priority(x, y)
        if compare_and_swap(parent, low, low, high) == low:
            return True


# -- wait-free, by rank -----------------------------------------------------------------------------------------

_PARENT_BITS = np.uint64(48)
_PARENT = np.uint64((1 << 48) - 1)
_NEXT_RANK = np.uint64(1 << 48)


def ranked_forest(n: int) -> np.ndarray:
    """Return `n` single-vertex trees of rank 0, as words of 16 bits of rank above 48 bits of parent."""
    return np.arange(n, dtype=np.uint64)


@njit
def rank_find(words, x):
    """Return the vertex, int64, that was the root of `x` at some moment during the call, in O(log n) steps.

    Paths are split, by compare-and-swap.
    """
    x = np.uint64(x)
    word = load(words, x)
    while word & _PARENT != x:
        parent = word & _PARENT
        above = load(words, parent)
        if above & _PARENT != parent:
            # Fails only if another thread has changed the parent of x to a higher ancestor already.
            compare_and_swap(words, x, word, (word & ~_PARENT) | (above & _PARENT))
        x, word = parent, above
    return np.int64(x)


@njit
def rank_root(words, x):
    """Return the vertex, int64, that was the root of `x` at some moment during the call; changes no parent."""
    x = np.uint64(x)
    word = load(words, x)
    while word & _PARENT != x:
        x = word & _PARENT
        word = load(words, x)
    return np.int64(x)


@njit
def rank_link(words, x, y):
    """Link the root of lower rank below the other; return whether it was linked.

    `x` and `y`, int64, are two vertices that were roots when they were found. If their ranks are equal, the smaller
    vertex is linked, and the rank of the other one is raised. False means that another thread was first to link the
    root of lower rank, or to raise its rank: the caller must find both roots again.
    """
    low, high = load(words, x), load(words, y)
    rank_low, rank_high = low >> _PARENT_BITS, high >> _PARENT_BITS
    if rank_low > rank_high or (rank_low == rank_high and x > y):
        x, y = y, x
        rank_low, rank_high = rank_high, rank_low
    root = (rank_low << _PARENT_BITS) | np.uint64(x)
    if compare_and_swap(words, x, root, (rank_low << _PARENT_BITS) | np.uint64(y)) != root:
        return False
    if rank_low == rank_high:
        root = (rank_high << _PARENT_BITS) | np.uint64(y)
        compare_and_swap(words, y, root, root + _NEXT_RANK)
    return True
