"""Bottlenecks of many pairs of vertices, in the reconstruction tree of a forest."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.proof.reconstruction import find_joining_ranks

_BLOCK = np.uint64(1024)
_ONE = np.uint64(1)


@njit(nogil=True)
def find_joining(first, last, x, y, links, of_ranks, otherwise, values):
    """Write a value for each of the pairs ``first … last - 1`` of vertices: the value of the edge that joined them.

    Parameters
    ----------
    first, last : int
        Several threads may call this at once, for disjoint ranges.
    x, y : numpy.ndarray of uint32 or uint64, shape (q,)
    links : numpy.ndarray of the same dtype, shape (n, 2)
        From `mst.kernels.proof.reconstruction.link_trees`.
    of_ranks : numpy.ndarray, shape (k,)
        The value of the edge of each rank.
    otherwise : numpy.ndarray, shape (2,)
        The values for a vertex with itself, and for two vertices without a path.
    values : numpy.ndarray of the same dtype, shape (q,)
        Overwritten.
    """
    size, last = _BLOCK + _ONE, np.uint64(last)
    a, b, pairs = np.empty(size, x.dtype), np.empty(size, x.dtype), np.empty(size, np.uint32)
    ranks = np.empty(size, np.uint64)
    for start in range(np.uint64(first), last, _BLOCK):
        count = min(last - start, _BLOCK)
        for j in range(count):
            a[j], b[j] = x[start + j], y[start + j]
        find_joining_ranks(links, a, b, count, pairs, ranks)
        for j in range(count):
            i, rank = start + j, ranks[j]
            if x[i] == y[i]:
                values[i] = otherwise[0]
            elif rank < np.uint64(of_ranks.size):
                values[i] = of_ranks[rank]
            else:
                values[i] = otherwise[1]
