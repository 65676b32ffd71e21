"""Concurrent union-find, in two versions.

`find` and `unite` link the larger root below the smaller one by compare-and-swap: parents are always smaller than their
children, so no interleaving makes a cycle. `parent` is an array of int or unsigned, of 32 or 64 bits and shape (n,).

`rank_find` and `rank_link` are the wait-free ones of Anderson and Woll ("Wait-free Parallel Algorithms for the
Union-Find Problem", STOC 1991, §3), which link by rank; rank and parent share a 64-bit word, so that one
compare-and-swap checks both. `words` is an array of uint64, of shape (n,), from `ranked_forest`.

In both versions, a linked vertex never becomes a root again, and parents only ever change to ancestors. All functions
may be called by many threads at the same time. A root that one of them returns may have been linked meanwhile.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.atomics import compare_and_swap, load, store
from mst.kernels.primitives.jit import njit

# -- roots by index ---------------------------------------------------------------------------------------------


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

    ``parent[x] == x`` marks a root. Release stores suffice, without compare-and-swap: `x` is no root when they write to
    it, so that they undo no link, and both of two concurrent ones write an ancestor.
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


# -- wait-free, by rank -----------------------------------------------------------------------------------------

_PARENT_BITS = np.uint64(48)
_PARENT = np.uint64((1 << 48) - 1)
_NEXT_RANK = np.uint64(1 << 48)


def ranked_forest(n: int) -> np.ndarray:
    """Return `n` single-vertex trees of rank 0, as words of 16 bits of rank above 48 bits of parent."""
    return np.arange(n, dtype=np.uint64)


@njit
def rank_find(words, x):
    """Return the vertex, int64, that was the root of `x` at some moment during the call; O(log n) steps.

    With path splitting, by compare-and-swap.
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
    """Link the one of two roots that has the lower rank below the other; return whether it was linked.

    `x` and `y`, int64, are two vertices that were roots when they were found; of equal ranks the smaller vertex is
    linked, and the rank of the other one then goes up. False means that another thread has linked the lower one, or
    raised its rank, first: the caller finds both roots again.
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
