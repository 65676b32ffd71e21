"""Thresholds from samples: the (key, id) that a given share of the edges does not exceed.

This is the first step of a round of Filter-Borůvka by threads or ranks.

In the functions, `storage` is any of `mst.kernels.filter_boruvka.parallel.storage`, `draws` a `Draws`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.parallel.storage import edge_at, find_row
from mst.kernels.parallel.keys import key_of
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import Schedule, next_chunk, reset_queue
from mst.kernels.primitives.hashing import short_hash
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch
from mst.kernels.primitives.radix import sort_words

_GRAIN, _BLOCK, _STRETCHES = 512, 64, 1024
_HALF = np.uint64(32)


class Draws(NamedTuple):
    """The parameters of a sample: a drawn edge is a *hit* if it is above (`low`, `low_id`) and joins two trees.

    Attributes
    ----------
    low : unsigned integer of the keys' width
    low_id : int
    roots : numpy.ndarray of an unsigned integer, shape (n,) or (0,)
        The root of each vertex; empty if every edge above the bound is a hit.
    size : int
        Number of draws.
    seed : int
    """

    low: np.unsignedinteger
    low_id: int
    roots: np.ndarray
    size: int
    seed: int


@njit
def draw(i, first, last, seed):
    """Return draw `i` of `seed`, a pseudo-random int64 in ``first … last - 1``; `first` if the range is empty."""
    # By a product, since a remainder would take as long as the rest of a draw.
    return first + np.int64(((short_hash(seed, i) >> _HALF) * np.uint64(last - first)) >> _HALF)


@njit
def _between_trees(storage, place, roots):
    """Return whether the edge at a place has ends with different `roots`, (n,); True if `roots` is empty."""
    if roots.size == 0:
        return True
    a, b, _ = edge_at(storage, place, find_row(storage, place))
    return roots[a] != roots[b]


@njit
def sample_chunk(begin, end, storage, draws, keys, ids):
    """Write keys and ids of the hits among the draws ``begin … end - 1``, from place `begin` on; return their end.

    `keys`, of the dtype of the words, and `ids`, int64, have shape (``draws.size``,).
    """
    hits, size, samples = begin, storage.words.size, draws.size
    low, low_id = draws.low, draws.low_id
    places = np.empty(_BLOCK, np.int64)
    # One edge is drawn from each of equal ranges. Bounds advance by addition: a division takes as long as a draw.
    each, more = size // samples, size % samples
    last, over = begin * size // samples, begin * size % samples
    for block in range(begin, end, _BLOCK):
        count = min(_BLOCK, end - block)
        for j in range(count):
            first, over = last, over + more
            carry = np.int64(over >= samples)
            last, over = last + each + carry, over - carry * samples
            places[j] = draw(block + j, first, last, draws.seed)
            prefetch(storage.words, places[j])
        for j in range(count):
            place = places[j]
            key = key_of(storage.words[place], storage.kind)
            e = edge_at(storage, place, 0)[2]
            keys[hits], ids[hits] = key, e
            hits += _between_trees(storage, place, draws.roots) & ((key > low) | ((key == low) & (e > low_id)))
    return hits


@njit
def sample_edges(storage, draws):
    """Sample the edges of a storage.

    Parameters
    ----------
    storage : EdgeList, Rows or CopiedEdges
    draws : Draws
        There must not be more draws than places.

    Returns
    -------
    keys : numpy.ndarray of uint32 or uint64, shape (hits,)
    ids : numpy.ndarray of int64, shape (hits,)
        ``hits / draws.size`` estimates the share of all places.
    """
    keys, ids = np.empty(draws.size, storage.words.dtype), np.empty(draws.size, np.int64)
    hits = call(sample_chunk, 0, draws.size, storage, draws, keys, ids)
    return keys[:hits], ids[:hits]


@njit
def sample_edges_parallel(width, storage, draws, tallies):
    """Do what `sample_edges` does by `width` workers, since each draw waits for memory.

    `tallies` is from `mst.kernels.parallel.runtime.new_tallies`.
    """
    samples = draws.size
    keys, ids = np.empty(samples, storage.words.dtype), np.empty(samples, np.int64)
    ends = np.empty((samples + _GRAIN - 1) // _GRAIN, np.int64)
    reset_queue(tallies, width)
    schedule = Schedule(width, _GRAIN, tallies)
    run(width, _sample_edges_parallel_worker, schedule, storage, draws, keys, ids, ends)
    hits = 0
    for chunk in range(ends.size):
        for i in range(chunk * _GRAIN, ends[chunk]):
            keys[hits], ids[hits] = keys[i], ids[i]
            hits += 1
    return keys[:hits], ids[:hits]


@njit
def _sample_edges_parallel_worker(worker, schedule, storage, draws, keys, ids, ends):
    """One worker of `sample_edges_parallel`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, draws.size)
    while first < last:
        ends[first // grain] = call(sample_chunk, first, last, storage, draws, keys, ids)
        first, last = next_chunk(tallies, worker, width, grain, draws.size)


@njit
def quantiles(keys, ids, fractions):
    """Return, for each of `fractions`, the (key, id) that about that share of a sample does not exceed.

    Ids break ties, so that edges of equal keys are divided as finely as others.

    Parameters
    ----------
    keys : numpy.ndarray of uint32 or uint64, shape (k,)
        The keys of a nonempty sample.
    ids : numpy.ndarray of int64, shape (k,)
    fractions : numpy.ndarray of float64, shape (q,)
        Ascending, 0 to 1.

    Returns
    -------
    keys, ids : numpy.ndarray of the given dtypes, shape (q,)
    """
    size = np.int64(keys.size)
    ranks = np.empty(fractions.size, np.int64)
    for i in range(ranks.size):
        ranks[i] = min(np.int64(fractions[i] * size), size - 1)
    count = ranks[-1] + 1 if ranks.size else 0
    places = np.empty(size, np.int64)
    if 4 * count < size:
        size = among_lightest(keys, count, places)
    else:
        for i in range(size):
            places[i] = i
    places, spare = places[:size], np.empty(size, np.int64)
    words, spare_words = np.empty(size, np.uint64), np.empty(size, np.uint64)
    descents = 0
    for i in range(1, size):
        descents += ids[places[i - 1]] > ids[places[i]]
    for by_key in range(np.int64(descents == 0), 2):
        for i in range(size):
            words[i] = keys[places[i]] if by_key else np.uint64(ids[places[i]])
        if call(sort_words, words, places, np.int64(0), size, spare_words, spare):
            places, spare = spare, places
    bound_keys, bound_ids = np.empty(ranks.size, keys.dtype), np.empty(ranks.size, np.int64)
    for i in range(ranks.size):
        bound_keys[i], bound_ids[i] = keys[places[ranks[i]]], ids[places[ranks[i]]]
    return bound_keys, bound_ids


@njit
def among_lightest(keys, count, places):
    """Write the places of at least the `count` smallest keys to `places`, ascending; return how many.

    Keys are counted in ranges of equal width, and the last range needed is included as a whole. `keys` is unsigned, of
    shape (k,), and `places` int64 of the same shape.
    """
    low, high, shift = keys[0], keys[0], np.uint64(0)
    for key in keys:
        low, high = min(low, key), max(high, key)
    while np.uint64(high - low) >> shift >= _STRETCHES:
        shift += np.uint64(1)
    held = np.zeros(_STRETCHES, np.int64)
    for key in keys:
        held[np.uint64(key - low) >> shift] += 1
    last, below = 0, held[0]
    while below < count:
        last += 1
        below += held[last]
    found = np.int64(0)
    for i in range(keys.size):
        places[found] = i
        found += np.uint64(keys[i] - low) >> shift <= np.uint64(last)
    return found
