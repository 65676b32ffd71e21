"""Scatters selected edges into records, arranged by batch: the step between `select` and `join`.

`storage` is any of `mst.kernels.filter_boruvka.parallel.storage`, `records` any of
`mst.kernels.filter_boruvka.parallel.records`, `schedule` a `mst.kernels.parallel.runtime.Schedule`.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.parallel.records import prefetch_edge, put
from mst.kernels.filter_boruvka.parallel.select import BLOCK
from mst.kernels.filter_boruvka.parallel.storage import advance_row, edge_at, find_row
from mst.kernels.parallel.keys import key_of
from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call

_AHEAD = 32


@njit
def first_places(counts):
    """Turn counts into places, by batch and then chunk.

    Parameters
    ----------
    counts : numpy.ndarray of int64, shape (chunks, batches)
        The number of edges of each chunk in each batch; overwritten with the place of the first of them.

    Returns
    -------
    starts : numpy.ndarray of int64, shape (batches + 1,)
        The place at which each batch begins, and the end.
    """
    chunks, batches = counts.shape
    starts, place = np.zeros(batches + 1, np.int64), np.zeros(batches, np.int64)
    # Row by row, since other cores have just written the rows.
    for chunk in range(chunks):
        for batch in range(batches):
            starts[batch + 1] += counts[chunk, batch]
    for batch in range(batches):
        starts[batch + 1] += starts[batch]
        place[batch] = starts[batch]
    for chunk in range(chunks):
        for batch in range(batches):
            counts[chunk, batch], place[batch] = place[batch], place[batch] + counts[chunk, batch]
    return starts


@njit
def _place_at(places, i):
    """Return place `i` of `SelectedPlaces.places`, or `i` itself if that is None."""
    if places is None:
        return np.uint64(i)
    return np.uint64(places[i])


@njit
def scatter_chunk(first, last, storage, selected, next_places, records, to):
    """Write records of the selected edges ``first … last - 1`` to the next places of their batches.

    `selected` is a `select.SelectedPlaces`; `next_places`, int64 (batches,), advance; `to`, int64 (BLOCK,), is scratch
    space.
    """
    if first == last:
        return
    places, batch = selected.places, selected.batch
    row = find_row(storage, _place_at(places, first))
    for block in range(first, last, BLOCK):
        size = min(BLOCK, last - block)
        # Places are found first: a store whose address depends on a load would delay the loads after it.
        for i in range(size):
            b = batch[block + i]
            to[i] = next_places[b]
            next_places[b] += 1
        for i in range(size):
            prefetch_edge(records, to[min(i + _AHEAD, size - 1)])
            place = _place_at(places, block + i)
            row = advance_row(storage, place, row)
            a, b, e = edge_at(storage, place, row)
            put(records, to[i], a, b, key_of(storage.words[place], storage.kind), e)


@njit
def scatter(schedule, storage, selected, records):
    """Write all selected edges to `records`, by batch; ``selected.counts`` must be places from `first_places`."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _scatter_worker, schedule, storage, selected, records)


@njit
def _scatter_worker(worker, schedule, storage, selected, records):
    """One worker of `scatter`."""
    width, grain, tallies = schedule
    begins, ends, next_places = selected.begins, selected.ends, selected.counts
    to = np.empty(BLOCK, np.int64)
    first, last = next_chunk(tallies, worker, width, grain, storage.words.size)
    while first < last:
        chunk = first // grain
        places = next_places[chunk]
        call(scatter_chunk, begins[chunk], ends[chunk], storage, selected, places, records, to)
        first, last = next_chunk(tallies, worker, width, grain, storage.words.size)
