"""One rank's share of `mst.kernels.filter_boruvka.parallel_batches`, where workers are ranks and arrays lie in
shared memory."""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.batch_edges import put
from mst.kernels.filter_boruvka.parallel_batches import place_at
from mst.kernels.filter_boruvka.parallel_select import BLOCK, bit
from mst.kernels.parallel.keys import key_of
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch

_AHEAD = 32
_ONE = np.uint64(1)


@njit
def keep_open(source, kind, ids, low, low_place, inside, kept):
    """Copy the edges above (`low`, `low_place`) that do not lie inside a bitmap to `kept`; return how many.

    Parameters
    ----------
    source : tuple of numpy.ndarray
        Words and both ends, by place (`mst.kernels.filter_boruvka.parallel_select`).
    ids : numpy.ndarray of uint32, or None
        What the places are known by, if by another number.
    kept : tuple of numpy.ndarray
        Words, both ends and numbers, in the order of `source`, which they may take the place of. Space for one
        more is needed.
    """
    words, u, v = source
    kept_words, kept_u, kept_v, kept_ids = kept
    picked = np.empty(BLOCK + 1, np.uint64)
    count = np.uint64(0)
    for block in range(np.uint64(0), np.uint64(words.size), np.uint64(BLOCK)):
        # Ends first and keys of the few that are left, as where edges are picked.
        size = np.uint64(0)
        for e in range(block, min(block + np.uint64(BLOCK), np.uint64(words.size))):
            picked[size] = e
            size += (bit(inside, u[e]) & bit(inside, v[e])) ^ _ONE
        for i in range(size):
            e = picked[i]
            word = words[e]
            kept_words[count], kept_u[count], kept_v[count] = word, u[e], v[e]
            kept_ids[count] = e if ids is None else ids[e]
            key = key_of(word, kind)
            count += np.uint64((key > low) | ((key == low) & (np.int64(e) > low_place)))
    return np.int64(count)


@njit
def scatter(source, kind, ids, places, batch, next_places, start, edges):
    """Write the edges at `places`, or all, to the next places of their batches.

    What is known as `i` has the id ``start + i``.
    """
    words, u, v = source
    to = np.empty(BLOCK, np.int64)
    for block in range(0, batch.size, BLOCK):
        size = min(BLOCK, batch.size - block)
        # Places first: a store whose address waits for a load would hold up the loads behind it.
        for i in range(size):
            b = batch[block + i]
            to[i] = next_places[b]
            next_places[b] += 1
        for i in range(size):
            far = to[min(i + _AHEAD, size - 1)]
            prefetch(edges[0], far)
            prefetch(edges[-1], far)
            place = place_at(places, block + i)
            row = np.int64(place) if ids is None else np.int64(ids[place])
            put(edges, to[i], u[place], v[place], key_of(words[place], kind), start + row)
