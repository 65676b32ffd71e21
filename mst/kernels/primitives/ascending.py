"""Sorts distinct edge ids by a bitmap of all edges, which also finds ids that are not distinct."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.bitmap import write_positions_of_ones, zeroed
from mst.kernels.primitives.jit import njit

_ONE, _6, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


def ascending(ids: np.ndarray, m: int) -> tuple[np.ndarray, int]:
    """Return distinct ids in ascending order, and how many different ones there are.

    Time and memory grow with ``m / 64``, so there should be at least some hundredth of `m` ids.

    Parameters
    ----------
    ids : numpy.ndarray of uint32 or uint64, shape (k,)
    m : int

    Returns
    -------
    ids : numpy.ndarray of int64, shape (k,)
        Valid if all are different and below `m`.
    different : int
        -1 if some are not below `m`.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.primitives.ascending import ascending
    >>> ascending(np.array([70, 3, 64], np.uint32), 100)
    (array([ 3, 64, 70]), 3)
    """
    out = np.empty(len(ids), np.int64)
    return out, _write_below(ids, m, zeroed(m), out)


@njit
def _write_below(ids, m, words, out):
    """Return -1 if some of `ids` are not below `m`, else what `write_ascending` does with all of them."""
    largest = np.uint64(0)
    for e in ids:
        largest = max(largest, np.uint64(e))
    return write_ascending(ids, words, np.uint64(0), out) if largest < np.uint64(m) else -1


@njit
def write_ascending(ids, words, base, out):
    """Write the different `ids` to `out`, ascending; return how many there are.

    Parameters
    ----------
    ids : numpy.ndarray of uint32 or uint64, shape (k,)
        Each at least `base`, and below ``base + 64 * words.size``.
    words : numpy.ndarray of uint64
        Zero before and after.
    base : numpy.uint64
        A multiple of 64.
    out : numpy.ndarray of int64, shape (k,)
    """
    for e in ids:
        i = np.uint64(e) - base
        words[i >> _6] |= _ONE << (i & _63)
    at = 0
    for j in range(words.size):
        if words[j]:
            at = write_positions_of_ones(words[j], np.int64(base) + 64 * j, out, at)
            words[j] = np.uint64(0)
    return at
