"""Parallel compaction: counts the elements to keep in each chunk, sums the counts, and writes each chunk to its place.

The result keeps the input's order at every width and schedule. The elements to keep are the set bits of a bitmap of
64-bit words, so the second pass repeats no test. The kernels' `width`, `grain` and `tallies` are those of a
`mst.kernels.parallel.runtime.Schedule`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.bitmap import count_ones, write_positions_of_ones
from mst.kernels.primitives.jit import njit


def starts(counts: np.ndarray) -> np.ndarray:
    """Return the place at which the output of each chunk begins: the exclusive prefix sum of `counts`.

    Both are int64, of shape (chunks,).
    """
    first = np.zeros(len(counts), np.int64)
    np.cumsum(counts[:-1], out=first[1:])
    return first


def compact(mask: np.ndarray, width: int, grain: int, tallies: np.ndarray, dtype: Any = np.int64) -> np.ndarray:
    """Return the ascending positions of the set bits of `mask`.

    Parameters
    ----------
    mask : numpy.ndarray of uint64, shape (words,)
        Bit `i` of word `j` stands for element ``64 * j + i``.
    width : int
        Threads; the caller has entered `mst.kernels.parallel.runtime.workers`.
    grain : int
        Words of `mask` per chunk.
    tallies : numpy.ndarray of int64, shape (80 + 16 * width,)
        From `mst.kernels.parallel.runtime.new_tallies`.
    dtype : dtype
        The dtype of the positions.

    Returns
    -------
    numpy.ndarray, shape (set bits,)

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.parallel.compact import compact
    >>> from mst.kernels.parallel.runtime import new_tallies, workers
    >>> with workers(1):
    ...     compact(np.array([5, 1], np.uint64), 1, 1, new_tallies(1)).tolist()
    [0, 2, 64]
    """
    counts = np.empty(-(-len(mask) // grain), np.int64)
    count_bits(width, grain, mask, counts, tallies)
    first = starts(counts)
    out = np.empty(int(counts.sum()), dtype)
    write_positions(width, grain, mask, first, out, tallies)
    return out


@njit
def count_bits(width, grain, mask, counts, tallies):
    """Set ``counts[c]`` to the number of set bits in chunk `c` of `mask`.

    `mask` is uint64 of shape (words,), `grain` words per chunk; `counts` is int64 of shape (chunks,).
    """
    reset_queue(tallies, width)
    run(width, _count_bits_worker, width, grain, mask, counts, tallies)


@njit
def _count_bits_worker(worker, width, grain, mask, counts, tallies):
    """One worker of `count_bits`."""
    first, last = next_chunk(tallies, worker, width, grain, mask.size)
    while first < last:
        total = 0
        for j in range(first, last):
            total += count_ones(mask[j])
        counts[first // grain] = total
        first, last = next_chunk(tallies, worker, width, grain, mask.size)


@njit
def write_positions(width, grain, mask, starts, out, tallies):
    """Write the ascending positions of the set bits of chunk `c` of `mask` from ``out[starts[c]]`` on.

    `mask` and `grain` are as for `count_bits`; `starts` is int64 of shape (chunks,), `out` int of shape (set bits,).
    """
    reset_queue(tallies, width)
    run(width, _write_positions_worker, width, grain, mask, starts, out, tallies)


@njit
def _write_positions_worker(worker, width, grain, mask, starts, out, tallies):
    """One worker of `write_positions`."""
    first, last = next_chunk(tallies, worker, width, grain, mask.size)
    while first < last:
        at = starts[first // grain]
        for j in range(first, last):
            at = write_positions_of_ones(mask[j], 64 * j, out, at)
        first, last = next_chunk(tallies, worker, width, grain, mask.size)
