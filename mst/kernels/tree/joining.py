"""Bottlenecks of many pairs of vertices, in the reconstruction tree of a forest, by many threads."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import grain_for, new_tallies, next_chunk, reset_queue
from mst.kernels.primitives.jit import njit
from mst.kernels.proof.reconstruction import find_joining_ranks

_BLOCK = 1024


def joining_ranks(links: np.ndarray, x: np.ndarray, y: np.ndarray, width: int) -> np.ndarray:
    """Return the rank of the edge that joined each pair of vertices.

    Parameters
    ----------
    links : numpy.ndarray of uint32 or uint64, shape (n, 2)
        From `mst.kernels.proof.reconstruction.link_trees`.
    x, y : numpy.ndarray of the same dtype, shape (k,)
    width : int
        Threads; the caller has set them, if several (`mst.kernels.parallel.runtime.workers`).

    Returns
    -------
    numpy.ndarray of uint64, shape (k,)
        n or more without a path, and for a vertex with itself.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.tree.joining import joining_ranks
    >>> links = np.array([[1, 0], [1, 4], [1, 1]], np.uint32)
    >>> joining_ranks(links, np.array([0, 2], np.uint32), np.array([1, 0], np.uint32), 1)
    array([0, 1], dtype=uint64)
    """
    ranks = np.empty(len(x), np.uint64)
    grain = grain_for(len(x), width, smallest=_BLOCK, largest=64 * _BLOCK, multiple=_BLOCK)
    _join(width, grain, links, x, y, ranks, new_tallies(width))
    return ranks


@njit
def _join(width, grain, links, x, y, ranks, tallies):
    """Write the result of `joining_ranks` to `ranks`, uint64 (k,)."""
    reset_queue(tallies, width)
    run(width, _join_worker, width, grain, links, x, y, ranks, tallies)


@njit
def _join_worker(worker, width, grain, links, x, y, ranks, tallies):
    """One worker of `_join`."""
    size = _BLOCK + 1
    a, b, pairs = np.empty(size, x.dtype), np.empty(size, x.dtype), np.empty(size, np.uint32)
    first, last = next_chunk(tallies, worker, width, grain, x.size)
    while first < last:
        for start in range(first, last, _BLOCK):
            count = min(last - start, _BLOCK)
            for j in range(count):
                a[j], b[j] = x[start + j], y[start + j]
            find_joining_ranks(links, a, b, count, pairs, ranks[start:])
            for j in range(start, start + count):
                if x[j] == y[j]:
                    ranks[j] = links.shape[0]
        first, last = next_chunk(tallies, worker, width, grain, x.size)
