"""Finds the largest of many words in parallel, to check the columns of a graph and the coordinates of points.

The kernels' `width`, `grain` and `tallies` are those of a `mst.kernels.parallel.runtime.Schedule`; `words` are uint32
or uint64, of shape (m,), and `tops`, (chunks,), has their dtype.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import (
    grain_for,
    new_tallies,
    next_chunk,
    reset_queue,
    touched_empty,
    workers,
)
from mst.kernels.primitives.jit import njit

_CHUNK = 1 << 15


def largest(words: np.ndarray, mask: int, width: int) -> int:
    """Return the largest of ``words & mask``, 0 if there are none.

    Parameters
    ----------
    words : numpy.ndarray of uint32 or uint64, shape (m,), read-only
    mask : int
    width : int
        Threads.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.graph import frozen
    >>> from mst.kernels.parallel.extremes import largest
    >>> largest(frozen(np.array([5, 12], np.uint32)), 7, 1)
    5
    """
    grain = grain_for(words.size, width, smallest=_CHUNK, largest=32 * _CHUNK)
    tops = np.zeros(-(-words.size // grain), words.dtype)
    with workers(width):
        _largest(width, grain, words, words.dtype.type(mask), tops, new_tallies(width))
    return int(tops.max(initial=0))


def narrowed(words: np.ndarray, width: int) -> tuple[np.ndarray, int]:
    """Return the lower halves of `words`, uint64 (m,) and read-only, as uint32 (m,), and the largest of `words`."""
    grain = grain_for(words.size, width, smallest=_CHUNK, largest=32 * _CHUNK)
    tops, tallies = np.zeros(-(-words.size // grain), words.dtype), new_tallies(width)
    with workers(width):
        halves = touched_empty(words.size, np.uint32, width, tallies)
        _narrow(width, grain, words, halves, tops, tallies)
    return halves, int(tops.max(initial=0))


@njit
def _largest(width, grain, words, mask, tops, tallies):
    """Write the largest of ``words & mask`` in each chunk to `tops`; `mask` has the dtype of `words`."""
    reset_queue(tallies, width)
    run(width, _largest_worker, width, grain, words, mask, tops, tallies)


@njit
def _largest_worker(worker, width, grain, words, mask, tops, tallies):
    """One worker of `_largest`."""
    first, last = next_chunk(tallies, worker, width, grain, words.size)
    while first < last:
        top = words[first] & mask
        for i in range(np.uint64(first), np.uint64(last)):  # signed indices would prevent vectorisation
            top = max(top, words[i] & mask)
        tops[first // grain] = top
        first, last = next_chunk(tallies, worker, width, grain, words.size)


@njit
def _narrow(width, grain, words, halves, tops, tallies):
    """Write the lower halves of `words` to `halves`, uint32 (m,), and the largest of each chunk to `tops`."""
    reset_queue(tallies, width)
    run(width, _narrow_worker, width, grain, words, halves, tops, tallies)


@njit
def _narrow_worker(worker, width, grain, words, halves, tops, tallies):
    """One worker of `_narrow`."""
    first, last = next_chunk(tallies, worker, width, grain, words.size)
    while first < last:
        top = words[first]
        for i in range(np.uint64(first), np.uint64(last)):
            top = max(top, words[i])
            halves[i] = np.uint32(words[i])
        tops[first // grain] = top
        first, last = next_chunk(tallies, worker, width, grain, words.size)
