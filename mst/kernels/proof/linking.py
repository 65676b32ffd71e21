"""The Kruskal reconstruction tree by many threads.

Links depend on each other, so the first worker makes all of them, in order. Most of the work is the search for roots,
which the other workers do for the edges that follow. A root that they find may have been linked by the time its edge's
turn comes, and is then a few steps from the root. Meanwhile, only the first worker writes to `links` and `clusters`,
and all read `links`; a range of `ranked` is written by one worker, and `seen` by any.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import grain_for, new_tallies, next_chunk, reset_queue
from mst.kernels.primitives.atomics import load, store
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write

_WINDOWS, _SHORTEST, _LONGEST = 32, 1 << 12, 1 << 16
_AHEAD, _ROOTS_AHEAD = np.uint64(16), np.uint64(8)
_ONE, _TWO = np.uint64(1), np.uint64(2)


def link_trees_by(
    width: int, ranked: np.ndarray, links: np.ndarray, clusters: np.ndarray, delay_seed: int = 0
) -> int:
    """Build the reconstruction tree as `mst.kernels.proof.reconstruction.link_trees` does, by `width` threads.

    The caller has entered `mst.kernels.parallel.runtime.workers`.

    Parameters
    ----------
    width : int
    ranked, links, clusters : numpy.ndarray
        As for `link_trees`. The ends of edges after one that closes a cycle may also be overwritten.
    delay_seed : int
        As for `mst.kernels.parallel.runtime.new_tallies`.

    Returns
    -------
    int
        Rank of the first edge that closes a cycle, or -1; no edge after it was linked.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.parallel.runtime import workers
    >>> from mst.kernels.proof.linking import link_trees_by
    >>> from mst.kernels.proof.reconstruction import edge_dtype
    >>> ranked = np.array([(0, 1, 5, 0), (1, 2, 6, 1)], edge_dtype(np.dtype("u4"), 2, np.dtype("i4")))
    >>> links = np.empty((3, 2), np.uint32)
    >>> with workers(1):
    ...     link_trees_by(1, ranked, links, np.empty((0, 3), np.uint32)), links.tolist()
    (-1, [[1, 0], [4, 5], [1, 1]])
    """
    window = min(max(len(ranked) // _WINDOWS, _SHORTEST), _LONGEST)
    grain = grain_for(window, width, smallest=64, largest=window)
    seen = np.empty(len(links), links.dtype)
    flat, tallies = links.reshape(-1), new_tallies(width, delay_seed)
    return int(_link(width, grain, window, ranked, seen, flat, clusters, tallies))


@njit
def _link(width, grain, window, ranked, seen, links, clusters, tallies):
    """Return the result of `link_trees_by`.

    `seen`, of the dtype of `links` and shape (n,), is overwritten by a vertex on the path from each one to its root;
    `links` is of shape (2 n,), and `window` is the number of ranks that are linked between two barriers. The other
    arguments are as for `link_trees_by`, or the fields of a `mst.kernels.parallel.runtime.Schedule`.
    """
    reset_queue(tallies, width)
    run(width, _start_worker, width, seen, links, tallies)
    cycle = np.full(1, -1)
    for first in range(-window, ranked.size, window):
        middle, last = first + window, min(first + 2 * window, ranked.size)
        reset_queue(tallies, width)
        ranks = max(first, 0), min(middle, last), last
        run(width, _link_worker, width, grain, ranks, ranked, seen, links, clusters, cycle, tallies)
        if cycle[0] >= 0:
            break
    return cycle[0]


@njit
def _start_worker(worker, width, seen, links, tallies):
    """One worker of the first step of `_link`: it makes every vertex a root."""
    n = np.uint64(seen.size)
    first, last = next_chunk(tallies, worker, width, _LONGEST, seen.size)
    while first < last:
        for x in range(np.uint64(first), np.uint64(last)):
            seen[x] = links[_TWO * x] = x
            links[_TWO * x + _ONE] = n
        first, last = next_chunk(tallies, worker, width, _LONGEST, seen.size)


@njit
def _link_worker(worker, width, grain, ranks, ranked, seen, links, clusters, cycle, tallies):
    """One worker of `_link`: the first links ``ranks[0] … ranks[1] - 1``, all search for roots up to ``ranks[2]``.

    The first also writes the result of its `_link_in_order` to `cycle`, int64 (1,).
    """
    first, middle, last = ranks
    if worker == 0:
        cycle[0] = _link_in_order(ranked, links, clusters, np.uint64(first), np.uint64(middle))
    start, stop = next_chunk(tallies, worker, width, grain, last - middle)
    while start < stop:
        _approach_roots(ranked, seen, links, np.uint64(middle + start), np.uint64(middle + stop))
        start, stop = next_chunk(tallies, worker, width, grain, last - middle)


@njit
def _approach_roots(ranked, seen, links, first, last):
    """Replace the ends of ranks ``first … last - 1``, uint64, by their roots at some moment during the call."""
    for rank in range(first, last):
        ahead = min(rank + _AHEAD, last - _ONE)
        prefetch_to_write(seen, ranked[ahead].u)
        prefetch_to_write(seen, ranked[ahead].v)
        ahead = min(rank + _ROOTS_AHEAD, last - _ONE)
        prefetch(links, _TWO * np.uint64(load(seen, ranked[ahead].u)))
        prefetch(links, _TWO * np.uint64(load(seen, ranked[ahead].v)))
        u, v = np.uint64(ranked[rank].u), np.uint64(ranked[rank].v)
        a, b = _root(links, np.uint64(load(seen, u))), _root(links, np.uint64(load(seen, v)))
        store(seen, u, a)
        store(seen, v, b)
        ranked[rank].u = a
        ranked[rank].v = b


@njit(inline="always")
def _root(links, x):
    """Return the vertex, a uint64, that was the root of `x`, a uint64, at some moment during the call."""
    n = np.uint64(links.size) // _TWO
    while np.uint64(load(links, _TWO * x + _ONE)) < n:
        x = np.uint64(load(links, _TWO * x))
    return x


@njit
def _link_in_order(ranked, links, clusters, first, last):
    """Link ranks ``first … last - 1``, uint64, whose ends are near their roots; return the first that closes a cycle.

    That is -1 if none does.
    """
    n, keeping = np.uint64(links.size) // _TWO, clusters.size > 0
    for rank in range(first, last):
        ahead = min(rank + _AHEAD, last - _ONE)
        prefetch_to_write(links, _TWO * np.uint64(ranked[ahead].u))
        prefetch_to_write(links, _TWO * np.uint64(ranked[ahead].v))
        a, b = _root(links, np.uint64(ranked[rank].u)), _root(links, np.uint64(ranked[rank].v))
        if a == b:
            return np.int64(rank)
        size_a, size_b = np.uint64(links[_TWO * a + _ONE]), np.uint64(links[_TWO * b + _ONE])
        if size_a > size_b:
            a, b = b, a
        total = size_a + size_b - (n - _ONE)
        if keeping:
            clusters[rank, 0] = links[_TWO * b]
            clusters[rank, 1] = links[_TWO * a]
            clusters[rank, 2] = total - (n - _ONE)
        links[_TWO * b] = n + rank
        store(links, _TWO * b + _ONE, total)
        store(links, _TWO * a, b)
        store(links, _TWO * a + _ONE, rank)  # last: a worker that sees it sees the parent
        ranked[rank].u = a
        ranked[rank].v = b
    return np.int64(-1)
