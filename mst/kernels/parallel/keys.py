"""Order-preserving keys computed while reading: parallel passes read the bits of the weights themselves.

A pass that streams over weights is memory-bound, and a key costs two or three instructions: no array of keys
is written, except when 64-bit weights are narrowed to 32-bit keys. The kernels' `width`, `grain` and `tallies` are
those of a `mst.kernels.parallel.runtime.Schedule`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import Schedule, grain_for, new_tallies, next_chunk, reset_queue
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import extremes, fits_float32

KEYS, INTEGERS, FLOATS = 0, 1, 2
"""Kinds of words: keys, or the bits of signed integers or of floats."""

_TOP32, _TOP64 = np.uint32(1 << 31), np.uint64(1 << 63)


def words_of(weights: np.ndarray, width: int) -> tuple[np.ndarray, int]:
    """Return ``(words, kind)`` such that keys ``key_of(words[i], kind)`` are ordered like ``weights[i]``.

    Parameters
    ----------
    weights : numpy.ndarray, shape (m,)
        int32, int64, float32 or float64 without NaN; uint32 are already keys.
    width : int
        Threads; the caller has entered `mst.kernels.parallel.runtime.workers`.

    Returns
    -------
    words : numpy.ndarray of uint32 or uint64, shape (m,)
        32 bits if the order fits, by the same rule as `mst.order.keys`.
    kind : int
        Whether words are ``KEYS``, or bits of ``INTEGERS`` or ``FLOATS``.
    """
    if weights.dtype == np.uint32:
        return weights, KEYS
    if weights.dtype.itemsize == 4:
        return weights.view(np.uint32), INTEGERS if weights.dtype.kind == "i" else FLOATS
    grain = grain_for(weights.size, width, smallest=1 << 12, largest=1 << 16)
    tallies = new_tallies(width)
    chunks = -(-weights.size // grain)
    if weights.dtype.kind == "i":
        low, high = np.zeros(chunks, np.int64), np.zeros(chunks, np.int64)
        _extremes(width, grain, weights, low, high, tallies)
        lowest, highest = (int(low.min()), int(high.max())) if chunks else (0, 0)
        if highest - lowest >= 2**32:
            return weights.view(np.uint64), INTEGERS
        words = np.empty(weights.size, np.uint32)
        _offsets(width, grain, weights, lowest, words, tallies)
        return words, KEYS
    fits = np.zeros(chunks, np.bool_)
    _fit(width, grain, weights, fits, tallies)
    if not fits.all():
        return weights.view(np.uint64), FLOATS
    narrow = np.empty(weights.size, np.float32)
    _narrow(width, grain, weights, narrow, tallies)
    return narrow.view(np.uint32), FLOATS


def key_of(word: Any, kind: int) -> Any:
    """Return the key of a word, in its dtype; `word` and `kind` are from `words_of`.

    ``-0.0`` gets the key of ``0.0``.
    """
    raise NotImplementedError("for compiled code only")


@overload(key_of, inline="always")
def _key_of(word, kind):
    # numba widens 32-bit arithmetic to 64 bits, so every result is narrowed again.
    unsigned, top = (np.uint32, _TOP32) if word == types.uint32 else (np.uint64, _TOP64)

    def key_of(word, kind):
        if kind == KEYS:
            return word
        if kind == FLOATS:
            if word == top:  # -0.0
                return top
            if word & top:
                return unsigned(~word)
        return unsigned(word ^ top)

    return key_of


def keys_at(words: np.ndarray, kind: int, ids: np.ndarray, width: int) -> np.ndarray:
    """Return the keys of the edges `ids`, by `width` threads.

    Parameters
    ----------
    words, kind
        From `words_of`.
    ids : numpy.ndarray of int, shape (k,)
    width : int
        As for `words_of`.

    Returns
    -------
    numpy.ndarray of the dtype of `words`, shape (k,)
    """
    keys = np.empty(len(ids), words.dtype)
    grain = grain_for(len(ids), width, smallest=1 << 12, largest=1 << 16)
    _keys_at(Schedule(width, grain, new_tallies(width)), words, kind, ids, keys)
    return keys


@njit
def _keys_at(schedule, words, kind, ids, keys):
    """Write the keys of the edges `ids`, int (k,), to `keys`, (k,), of the dtype of `words`, (m,); see `words_of`."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _keys_at_worker, schedule, words, kind, ids, keys)


@njit
def _keys_at_worker(worker, schedule, words, kind, ids, keys):
    """One worker of `_keys_at`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, ids.size)
    while first < last:
        for i in range(first, last):
            keys[i] = key_of(words[ids[i]], kind)
        first, last = next_chunk(tallies, worker, width, grain, ids.size)


@njit
def _extremes(width, grain, weights, low, high, tallies):
    """Write the least and the greatest of each chunk of `weights`, (m,), to `low` and `high`, (chunks,); all int64."""
    reset_queue(tallies, width)
    run(width, _extremes_worker, width, grain, weights, low, high, tallies)


@njit
def _extremes_worker(worker, width, grain, weights, low, high, tallies):
    """One worker of `_extremes`."""
    first, last = next_chunk(tallies, worker, width, grain, weights.size)
    while first < last:
        low[first // grain], high[first // grain] = extremes(weights[first:last])
        first, last = next_chunk(tallies, worker, width, grain, weights.size)


@njit
def _offsets(width, grain, weights, lowest, words, tallies):
    """Write ``weights - lowest``, which fits, to `words`, uint32 (m,); `weights` are int64 (m,), `lowest` is int."""
    reset_queue(tallies, width)
    run(width, _offsets_worker, width, grain, weights, lowest, words, tallies)


@njit
def _offsets_worker(worker, width, grain, weights, lowest, words, tallies):
    """One worker of `_offsets`."""
    first, last = next_chunk(tallies, worker, width, grain, weights.size)
    while first < last:
        for i in range(first, last):
            words[i] = np.uint32(np.uint64(weights[i]) - np.uint64(lowest))
        first, last = next_chunk(tallies, worker, width, grain, weights.size)


@njit
def _fit(width, grain, weights, fits, tallies):
    """Write to `fits`, bool (chunks,), whether each chunk of `weights`, float64 (m,), is exact in float32."""
    reset_queue(tallies, width)
    run(width, _fit_worker, width, grain, weights, fits, tallies)


@njit
def _fit_worker(worker, width, grain, weights, fits, tallies):
    """One worker of `_fit`."""
    first, last = next_chunk(tallies, worker, width, grain, weights.size)
    while first < last:
        fits[first // grain] = fits_float32(weights[first:last])
        first, last = next_chunk(tallies, worker, width, grain, weights.size)


@njit
def _narrow(width, grain, weights, narrow, tallies):
    """Write `weights`, float64 (m,), to `narrow`, float32 (m,)."""
    reset_queue(tallies, width)
    run(width, _narrow_worker, width, grain, weights, narrow, tallies)


@njit
def _narrow_worker(worker, width, grain, weights, narrow, tallies):
    """One worker of `_narrow`."""
    first, last = next_chunk(tallies, worker, width, grain, weights.size)
    while first < last:
        for i in range(first, last):
            narrow[i] = np.float32(weights[i])
        first, last = next_chunk(tallies, worker, width, grain, weights.size)
