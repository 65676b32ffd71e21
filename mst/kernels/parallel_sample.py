"""Thresholds from samples: how light an edge must be to be among the lightest so many."""

from __future__ import annotations

import numpy as np
from numba import prange

from mst.kernels.jit import njit
from mst.kernels.parallel_keys import key_of
from mst.kernels.parallel_runtime import claim, deal
from mst.kernels.parallel_select import edge_at, row_near
from mst.kernels.radix import argsort

_GRAIN = 512
_HALF = np.uint64(32)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit
def draw(i, first, last, seed):
    """Return a pseudo-random position in ``first … last - 1``, the `i`-th draw; `first` if that is empty."""
    x = (np.uint64(i) + np.uint64(seed) * _GOLDEN) * _GOLDEN
    x = (x ^ (x >> _HALF)) * np.uint64(0xD6E8FEB86659FD93)
    # A product in place of a remainder, which takes as long as the rest of a draw.
    return first + np.int64(((x >> _HALF) * np.uint64(last - first)) >> _HALF)


@njit
def sample_range(begin, end, source, kind, low, low_id, labels, samples, seed, keys, ids):
    """Write the hits among draws ``begin … end - 1`` of `sample_edges` from place `begin` on; return where they end."""
    hits = begin
    last = begin * source[0].size // samples
    for i in range(begin, end):
        # One draw from each of as many equal stretches.
        first, last = last, (i + 1) * source[0].size // samples
        place = draw(i, first, last, seed)
        key = key_of(source[0][place], kind)
        a, b, e = edge_at(source, place, row_near(source, place))
        apart = True
        if labels is not None:
            apart = labels[a] != labels[b]
        keys[hits], ids[hits] = key, e
        hits += apart & ((key > low) | ((key == low) & (e > low_id)))
    return hits


@njit
def sample_edges(source, kind, low, low_id, labels, samples, seed):
    """Sample the edges above (`low`, `low_id`) whose ends have different labels (if there are labels).

    Parameters
    ----------
    source : tuple of numpy.ndarray
        See `mst.kernels.parallel_select`.

    Returns
    -------
    keys, ids : numpy.ndarray, shape (hits,)
        Those among `samples` draws from all places; ``hits / samples`` estimates their share.
    """
    keys, ids = np.empty(samples, source[0].dtype), np.empty(samples, np.int64)
    hits = sample_range(0, samples, source, kind, low, low_id, labels, samples, seed, keys, ids)
    return keys[:hits], ids[:hits]


def sample_by_all(width, source, kind, low, low_id, labels, samples, seed, counters):
    """Return what `sample_edges` does, drawn by `width` workers: each draw waits for memory."""
    keys, ids = np.empty(samples, source[0].dtype), np.empty(samples, np.int64)
    ends = np.empty(-(-samples // _GRAIN), np.int64)
    _sample_all(width, source, kind, low, low_id, labels, samples, seed, keys, ids, ends, counters)
    hits = [slice(chunk * _GRAIN, end) for chunk, end in enumerate(ends)]
    return np.concatenate([keys[some] for some in hits]), np.concatenate([ids[some] for some in hits])


@njit(parallel=True)
def _sample_all(width, source, kind, low, low_id, labels, samples, seed, keys, ids, ends, counters):
    deal(counters, width)
    for worker in prange(width):
        first, last = claim(counters, worker, width, _GRAIN, samples)
        while first < last:
            ends[first // _GRAIN] = sample_range(
                first, last, source, kind, low, low_id, labels, samples, seed, keys, ids
            )
            first, last = claim(counters, worker, width, _GRAIN, samples)


def quantiles(keys: np.ndarray, ids: np.ndarray, fractions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the keys and ids that about each of `fractions` of a sample does not exceed.

    Ids break ties, so that many equal keys are divided too. The sample is not empty.
    """
    ranks = np.minimum((np.asarray(fractions) * len(keys)).astype(np.int64), len(keys) - 1)
    if (np.diff(ids) < 0).any():
        by_id = np.argsort(ids)
        keys, ids = keys[by_id], ids[by_id]
    at = argsort(keys)[ranks]
    return keys[at], ids[at]
