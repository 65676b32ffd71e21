"""Random recursive trees, in closed form: any edge of the tree is told without the others.

Vertices have random ranks (a seeded permutation), and the vertex of rank r ≥ 1 hangs on that of a rank drawn
uniformly below r: the random recursive tree, of depth about e·ln n.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.hashing import below, hash1, permuted, unpermuted
from mst.kernels.jit import njit
from mst.kernels.pairs import NOTHING, packed

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
    """Overwrite the edges of the tree by NOTHING."""
    for i in prange(pairs.size):
        if in_tree(pairs[i], ranks, key):
            pairs[i] = NOTHING
