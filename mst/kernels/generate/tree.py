"""Random recursive trees, in closed form: any edge of the tree is told without the others.

Vertices have random ranks (a seeded permutation), and the vertex of rank r ≥ 1 hangs on that of a rank drawn
uniformly below r: the random recursive tree, of depth about e·ln n.
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
def _parent(key, rank):
    return below(hash1(key, rank), rank)


@njit(parallel=True)
def fill_tree(pairs, ranks, key):
    """Write the tree's edges: row `i` hangs the vertex of rank ``i + 1``; `ranks` maps rank to vertex."""
    for i in prange(pairs.size):
        rank = np.uint64(i + 1)
        pairs[i] = packed(permuted(ranks, rank), permuted(ranks, _parent(key, rank)))


@njit
def in_tree(pair, ranks, key):
    """True when the pair is an edge of the tree that `fill_tree` writes."""
    a, b = unpermuted(ranks, pair >> _S32), unpermuted(ranks, pair & _LOW32)
    low, high = min(a, b), max(a, b)
    return high != _ZERO and _parent(key, high) == low


@njit(parallel=True)
def erase_tree(pairs, ranks, key):
    """Overwrite the edges of the tree by DROPPED."""
    for i in prange(pairs.size):
        if pairs[i] != DROPPED and in_tree(pairs[i], ranks, key):
            pairs[i] = DROPPED


@njit
def fill_prufer(pairs, n, key):
    """Write the tree of a random Prüfer sequence: every labelled tree of `n` vertices is equally likely.

    The pointer only moves forward: the smallest leaf is at the pointer, or is the vertex just cut loose.
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
