"""Random trees: recursive trees, whose edges can be computed independently of each other, and uniform trees.

In a random recursive tree, the vertices have random ranks (a seeded permutation), and the parent of the vertex of
rank r ≥ 1 has a rank drawn uniformly below r. The depth is about e·ln n.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.primitives.hashing import below, hash1, permuted, unpermuted
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.pairs import DROPPED, packed

_ZERO = np.uint64(0)
_S32 = np.uint64(32)
_LOW32 = np.uint64(0xFFFFFFFF)


@njit
def _parent_rank(key, rank):
    """Return the rank of the parent of the vertex of rank ``rank ≥ 1``; `key`, ranks and result are uint64."""
    return below(hash1(key, rank), rank)


@njit(parallel=True)
def fill_tree(pairs, ranks, key):
    """Write the edges of a random recursive tree; row `i` joins the vertex of rank ``i + 1`` to its parent.

    Parameters
    ----------
    pairs : array of uint64, shape (n - 1,)
        Output: packed pairs.
    ranks : Permutation
        Maps rank to vertex.
    key : uint64
        Key of the random stream.
    """
    for i in prange(pairs.size):
        rank = np.uint64(i + 1)
        pairs[i] = packed(permuted(ranks, rank), permuted(ranks, _parent_rank(key, rank)))


@njit
def in_tree(pair, ranks, key):
    """Return whether a packed pair (uint64) is an edge of the tree that `fill_tree` writes for `ranks` and `key`."""
    a, b = unpermuted(ranks, pair >> _S32), unpermuted(ranks, pair & _LOW32)
    low, high = min(a, b), max(a, b)
    return high != _ZERO and _parent_rank(key, high) == low


@njit(parallel=True)
def erase_tree(pairs, ranks, key):
    """Replace the edges of the tree among some pairs by DROPPED.

    Parameters
    ----------
    pairs : array of uint64, shape (m,)
        Packed pairs; modified in place.
    ranks, key
        As for `fill_tree`.
    """
    for i in prange(pairs.size):
        if pairs[i] != DROPPED and in_tree(pairs[i], ranks, key):
            pairs[i] = DROPPED


@njit
def fill_prufer(pairs, n, key):
    """Write the tree of a random Prüfer sequence: every labelled tree of `n` vertices is equally likely.

    The smallest leaf is either the vertex that just became a leaf, or at the pointer, which only moves forward.

    Parameters
    ----------
    pairs : array of uint64, shape (n - 1,)
        Output: packed pairs.
    n : int
    key : uint64
        Key of the random stream.
    """
    if n < 2:
        return
    sequence = np.empty(n - 2, np.int64)
    degree = np.ones(n, np.int32)
    for i in range(n - 2):
        sequence[i] = below(hash1(key, i), np.uint64(n))
        degree[sequence[i]] += 1
    pointer = 0
    while degree[pointer] != 1:
        pointer += 1
    leaf = pointer
    for i in range(n - 2):
        inner = sequence[i]
        pairs[i] = packed(leaf, inner)
        degree[inner] -= 1
        if degree[inner] == 1 and inner < pointer:
            leaf = inner
        else:
            pointer += 1
            while degree[pointer] != 1:
                pointer += 1
            leaf = pointer
    pairs[n - 2] = packed(leaf, n - 1)
