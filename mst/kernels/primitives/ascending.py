"""Sorts distinct edge ids by a bitmap of all edges, which also finds repeated ids."""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.bitmap import count_ones, count_trailing_zeros, write_positions_of_ones, zeroed
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.recycled import empty

_ZERO, _ONE, _6, _63, _64 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(64)

_CHECKED = np.uint64(1024)
"""Number of ids that are compared before testing whether all of them ascend."""

_AT_ONCE = 6
"""Ids written per test for the end of a word; those beyond its last bit are overwritten by the next word's ids."""


def ascending(ids: np.ndarray, m: int) -> tuple[np.ndarray, int]:
    """Return distinct ids in ascending order, and how many of them differ.

    Time and memory grow with ``m / 64``, so there should be at least about `m` / 100 ids.

    Parameters
    ----------
    ids : numpy.ndarray of uint32 or uint64, shape (k,)
    m : int

    Returns
    -------
    ids : numpy.ndarray of int64, shape (k,)
        Valid only if all differ and are below `m`.
    different : int
        -1 if some are not below `m`.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.primitives.ascending import ascending
    >>> ascending(np.array([70, 3, 64], np.uint32), 100)
    (array([ 3, 64, 70]), 3)
    """
    out = empty(len(ids), np.int64)
    return out, _write_below(ids, m, zeroed(m), out)


@njit
def _write_below(ids, m, words, out):
    """Write `ids` to `out`, ascending; return how many of them differ, or -1 if some are not below `m`.

    `ids`, uint32 or uint64, and `out`, int64, have the shape (k,); `words`, uint64 (⌈m / 64⌉,), is zero.
    """
    if ids.size == 0:
        return 0
    largest, last = ids.dtype.type(0), np.uint64(ids.size - 1)
    for i in range(np.uint64(ids.size)):
        largest = max(largest, ids[i])
    if np.uint64(largest) >= np.uint64(m):
        return -1
    # The ids of a forest come in this order if the graph's rows are sorted by weight.
    if _ascend(ids, _ZERO, _ONE):
        for i in range(np.uint64(ids.size)):
            out[i] = ids[i]
        return ids.size
    if _ascend(ids, _ONE, _ZERO):
        for i in range(np.uint64(ids.size)):
            out[i] = ids[last - i]
        return ids.size
    return write_ascending(ids, words, _ZERO, out)


@njit
def _ascend(ids, lower, upper):
    """Return whether ``ids[i + lower] < ids[i + upper]`` in all of `ids`, uint32 or uint64 of shape (k,).

    With 0 and 1, uint64, this is whether they ascend; with 1 and 0, whether they descend.
    """
    for block in range(_ZERO, np.uint64(ids.size - 1), _CHECKED):
        ascend = True
        for i in range(block, min(block + _CHECKED, np.uint64(ids.size - 1))):
            ascend &= ids[i + lower] < ids[i + upper]
        if not ascend:
            return False
    return True


@njit
def write_ascending(ids, words, base, out):
    """Write the distinct `ids` to `out`, ascending; return how many there are.

    Parameters
    ----------
    ids : numpy.ndarray of uint32 or uint64, shape (k,)
        Each at least `base`, and below ``base + 64 * words.size``.
    words : numpy.ndarray of uint64, shape (w,)
        Scratch space; zero before and after.
    base : numpy.uint64
        A multiple of 64.
    out : numpy.ndarray of int64, shape (k,)
    """
    fours = ids.size & ~3
    for k in range(0, fours, 4):
        # A store whose address depends on a load delays the loads after it, so four ids come first.
        a, b = np.uint64(ids[k]) - base, np.uint64(ids[k + 1]) - base
        c, d = np.uint64(ids[k + 2]) - base, np.uint64(ids[k + 3]) - base
        words[a >> _6] |= _ONE << (a & _63)
        words[b >> _6] |= _ONE << (b & _63)
        words[c >> _6] |= _ONE << (c & _63)
        words[d >> _6] |= _ONE << (d & _63)
    for k in range(fours, ids.size):
        a = np.uint64(ids[k]) - base
        words[a >> _6] |= _ONE << (a & _63)
    at, j = _ZERO, _ZERO
    while j < np.uint64(words.size) and at + _64 + np.uint64(_AT_ONCE) <= np.uint64(out.size):
        if words[j]:
            # The end of a loop over just the word's ids would nearly always be mispredicted.
            word, first, end = words[j], np.int64(base + _64 * j), at + np.uint64(count_ones(words[j]))
            while at < end:
                for _ in range(_AT_ONCE):
                    out[at] = first + count_trailing_zeros(word)
                    at += _ONE
                    word &= word - _ONE
            at = end
            words[j] = _ZERO
        j += _ONE
    written = np.int64(at)
    while j < np.uint64(words.size):
        if words[j]:
            written = write_positions_of_ones(words[j], np.int64(base + _64 * j), out, written)
            words[j] = _ZERO
        j += _ONE
    return written
