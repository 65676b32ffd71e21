"""Radix sort of records, least significant digit first; stable, so records of equal keys keep their order.

A record is a uint64 *word* and an id. If both key and id have 32 bits, the word holds the key above and the id below,
and the array of ids is empty; if not, it holds the key alone. Either way, one compiled kernel serves every key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch_to_write

_FEW, _SOME = 64, 2048
_DIGIT, _SHORT_DIGIT = np.uint64(12), np.uint64(8)
_BLOCK = np.uint64(1024)
_AHEAD = np.uint64(16)
_ZERO, _ONE, _TWO, _THREE, _FOUR = np.arange(5, dtype=np.uint64)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Records(NamedTuple):
    """Words and ids.

    Attributes
    ----------
    words : numpy.ndarray of uint64, shape (m,)
    ids : numpy.ndarray of uint32 (int64 from 2³² records on), shape (0,) or (m,)
        Empty if the words hold the ids.
    """

    words: np.ndarray
    ids: np.ndarray

    def empty(self) -> Records:
        """Return uninitialised records of the same shapes and dtypes."""
        return Records(np.empty_like(self.words), np.empty_like(self.ids))


def records(keys: np.ndarray) -> Records:
    """Return records whose ids are their places in `keys`: uint32 or uint64, shape (m,).

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.primitives.radix import records, sorted_records
    >>> words, _ = sorted_records(*records(np.array([7, 5], np.uint32)))
    >>> (words & 0xFFFFFFFF).tolist()
    [1, 0]
    """
    packed = keys.itemsize == 4 and len(keys) <= 2**32
    words = np.empty(len(keys), np.uint64)
    _write_words(keys, packed, words)
    id_dtype = np.uint32 if len(keys) <= 2**32 else np.int64
    return Records(words, np.arange(0 if packed else len(keys), dtype=id_dtype))


@njit
def _write_words(keys, packed, words):
    """Write the word of each of `keys`, uint32 or uint64 (m,), to `words`, uint64 (m,): see `Records`.

    A word is the key with its place below it if `packed`, a bool, else the key alone.
    """
    for i in range(np.uint64(keys.size)):
        words[i] = (np.uint64(keys[i]) << _HALF) | i if packed else np.uint64(keys[i])


@njit(inline="always")
def id_at(words, ids, i):
    """Return the id of record `i`, a uint64; `words` and `ids` are as in `Records`."""
    return np.uint64(ids[i]) if ids.size > 0 else words[i] & _LOW


def argsort(keys: np.ndarray) -> np.ndarray:
    """Return the places of `keys`, uint32 or uint64 of shape (m,), in their stable ascending order.

    The places are int32, or int64 from 2³¹ keys on.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.primitives.radix import argsort
    >>> argsort(np.array([7, 5, 7, 0], np.uint32)).tolist()
    [3, 1, 0, 2]
    """
    words, ids = sorted_records(*records(keys))
    return (ids if len(ids) else words & _LOW).astype(np.int32 if len(keys) < 2**31 else np.int64)


def sorted_records(words: np.ndarray, ids: np.ndarray) -> Records:
    """Return records in order; the given arrays, fields of `Records`, are overwritten, and may be those returned."""
    given = Records(words, ids)
    spare = given.empty()
    return spare if sort_words(*given, 0, len(words), *spare) else given


@njit
def sort_words(words, ids, start, stop, spare_words, spare_ids):
    """Sort the records ``start … stop - 1`` by their keys.

    `words` and `ids` are as in `Records`, and so are `spare_words` and `spare_ids`, at least as long as the range; both
    are overwritten. Returns whether the result is in the spare arrays, from 0 on; if not, it is where the records were.
    Leading and trailing bits that all keys share cost nothing. If words hold the ids, these must ascend in the range:
    the stable order of the keys is then the order of the words.
    """
    start, m = np.uint64(start), np.uint64(stop - start)
    if m <= _FEW:
        _insertion_sort(words, ids, start, m)
        return False
    differing = _ZERO
    for i in range(start, start + m):
        differing |= words[i] ^ words[start]
    low = _ZERO if ids.size > 0 else _HALF
    while low < 64 and (differing >> low) & _ONE == 0:
        low += _ONE
    high = low
    while high < 64 and differing >> high != 0:
        high += _ONE
    # Each pass also reads all counts.
    digit = _SHORT_DIGIT if m <= _SOME else _DIGIT
    passes = (high - low + digit - _ONE) // digit
    if passes == 0:
        return False
    width = (high - low + passes - _ONE) // passes
    counts = np.empty(_ONE << width, np.uint64)
    records, spare, in_spare = Records(words, ids), Records(spare_words, spare_ids), False
    for p in range(passes):
        shift = low + p * width
        if in_spare:
            _sort_by_digit(spare, _ZERO, records, start, m, shift, counts)
        else:
            _sort_by_digit(records, start, spare, _ZERO, m, shift, counts)
        in_spare = not in_spare
    return in_spare


@njit
def _insertion_sort(words, ids, start, m):
    """Sort the `m` records from `start` on, both uint64, by their words, in place; stable."""
    for i in range(start + _ONE, start + m):
        word = words[i]
        e = id_at(words, ids, i)
        j = np.uint64(i)
        while j > start and words[j - _ONE] > word:
            words[j] = words[j - _ONE]
            if ids.size > 0:
                ids[j] = ids[j - _ONE]
            j -= _ONE
        words[j] = word
        if ids.size > 0:
            ids[j] = e


@njit
def _sort_by_digit(records, start, target, to, m, shift, counts):
    """Write `m` records from `start` on to `target` from `to` on, in the stable order of the digit at bit `shift`.

    `records` and `target` are `Records` that share no memory; `start`, `to`, `m` and `shift` are uint64. `counts`,
    uint64 of shape (2^b,) for digits of b bits, is overwritten.
    """
    words, ids = records
    target_words, target_ids = target
    mask = np.uint64(counts.size - 1)
    counts[:] = 0
    stop, fours = start + m, start + m - m % _FOUR
    # A store whose address depends on a load delays the loads after it, so four digits come first.
    for i in range(start, fours, _FOUR):
        a, b = (words[i] >> shift) & mask, (words[i + _ONE] >> shift) & mask
        c, d = (words[i + _TWO] >> shift) & mask, (words[i + _THREE] >> shift) & mask
        counts[a] += _ONE
        counts[b] += _ONE
        counts[c] += _ONE
        counts[d] += _ONE
    for i in range(fours, stop):
        counts[(words[i] >> shift) & mask] += _ONE
    running = to
    for b in range(counts.size):
        here = counts[b]
        counts[b] = running
        running += here
    places = np.empty(_BLOCK, np.uint64)
    for block in range(start, start + m, _BLOCK):
        size = min(_BLOCK, start + m - block)
        # Places first: a store whose address depends on a load would delay the loads after it.
        fours = size - size % _FOUR
        for j in range(_ZERO, fours, _FOUR):
            i = block + j
            a, b = (words[i] >> shift) & mask, (words[i + _ONE] >> shift) & mask
            c, d = (words[i + _TWO] >> shift) & mask, (words[i + _THREE] >> shift) & mask
            places[j] = counts[a]
            counts[a] += _ONE
            places[j + _ONE] = counts[b]
            counts[b] += _ONE
            places[j + _TWO] = counts[c]
            counts[c] += _ONE
            places[j + _THREE] = counts[d]
            counts[d] += _ONE
        for j in range(fours, size):
            b = (words[block + j] >> shift) & mask
            places[j] = counts[b]
            counts[b] += _ONE
        for j in range(size):
            prefetch_to_write(target_words, places[min(j + _AHEAD, size - _ONE)])
            target_words[places[j]] = words[block + j]
            if ids.size > 0:
                target_ids[places[j]] = ids[block + j]
