"""Thresholds from samples: how light an edge must be to be among the lightest so many."""

from __future__ import annotations

import numpy as np

from mst.kernels.jit import njit
from mst.kernels.parallel_keys import key_of
from mst.kernels.parallel_select import edge_at, row_near
from mst.kernels.radix import argsort

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit
def stratum_draw(i, size, samples, seed):
    """Return a pseudo-random position within the `i`-th of `samples` equal strata of ``0 … size - 1``."""
    first, last = i * size // samples, (i + 1) * size // samples
    x = (np.uint64(i) + np.uint64(seed) * _GOLDEN) * _GOLDEN
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    x ^= x >> np.uint64(32)
    return first + np.int64(x % np.uint64(max(last - first, 1)))


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
    hits = 0
    for i in range(samples):
        place = stratum_draw(i, source[0].size, samples, seed)
        key = key_of(source[0][place], kind)
        a, b, e = edge_at(source, place, row_near(source, place))
        apart = True
        if labels is not None:
            apart = labels[a] != labels[b]
        keys[hits], ids[hits] = key, e
        hits += apart & ((key > low) | ((key == low) & (e > low_id)))
    return keys[:hits], ids[:hits]


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
