"""The loops of Borůvka's algorithm over adjacency rows: what Shou and He propose as future work (§4.3, §4.4).

A vertex looks through its own row alone, so that only the minimum of a whole row meets those of other vertices in
an atomic minimum, and rows drop inner edges without tickets. Minima and marks are those of
`mst.kernels.threads.edge_boruvka`.
"""

from __future__ import annotations

from numba import prange

from mst.kernels.parallel.runtime import LIVE, next_chunk, reset_queue
from mst.kernels.primitives.atomics import fetch_add, load, lower
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.packed_edges import edge_id, lighter
from mst.kernels.threads.edge_boruvka import find_set, is_least, join, reset


@njit(parallel=True)
def scan_rows(
    width, chunk, begins, ends, row, row_words, row_ids, kept, kept_words, kept_ids, home, pick, compress, sets,
    least, counters,
):  # fmt: skip
    """Drop the inner edges of every row, find its lightest and lower the minimum of its root by it.

    Parameters
    ----------
    begins, ends : numpy.ndarray of int64, shape (n,)
        Row `x` is ``begins[x] … ends[x] - 1``; its end moves down.
    row, row_words, row_ids, kept, kept_words, kept_ids : numpy.ndarray, shape (slots,)
        Other ends and words of the slots, read and written; both may be the same arrays.
    home, pick : numpy.ndarray, shape (n,)
        Written for rows that are not empty: the root, and the lightest slot.

    Returns
    -------
    int
        Slots that are left.
    """
    reset_queue(counters, width)
    counters[LIVE] = 0
    for worker in prange(width):
        total = 0
        first, last = next_chunk(counters, worker, width, chunk, begins.size)
        while first < last:
            for x in range(first, last):
                if begins[x] == ends[x]:
                    continue
                mine = find_set(sets, x, compress)
                place = best = begins[x]
                for i in range(begins[x], ends[x]):
                    other = find_set(sets, row[i], compress)
                    if other != mine:
                        kept[place], kept_words[place] = other, row_words[i]
                        if row_ids.size:
                            kept_ids[place] = row_ids[i]
                        if lighter(kept_words, kept_ids, place, best):
                            best = place
                        place += 1
                total += place - begins[x]
                ends[x], home[x], pick[x] = place, mine, best
                if place > begins[x]:
                    lower(least, mine, kept_words[best])
            first, last = next_chunk(counters, worker, width, chunk, begins.size)
        fetch_add(counters, LIVE, total)
    return counters[LIVE]


@njit(parallel=True)
def break_row_ties(width, chunk, begins, ends, words, ids, home, pick, least, least_id, counters):
    """Of the rows whose lightest word is their root's minimum, keep the smallest id."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, begins.size)
        while first < last:
            for x in range(first, last):
                if begins[x] < ends[x] and load(least, home[x]) == words[pick[x]]:
                    lower(least_id, home[x], ids[pick[x]])
            first, last = next_chunk(counters, worker, width, chunk, begins.size)


@njit(parallel=True)
def unite_rows(
    width, chunk, begins, ends, row, words, ids, home, pick, least, least_id, both, compress, sets, in_forest,
    counters,
):  # fmt: skip
    """Join the trees of every row's lightest edge that is the minimum of its root, or of both roots; mark it."""
    reset_queue(counters, width)
    packed = ids.size == 0
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, begins.size)
        while first < last:
            for x in range(first, last):
                if begins[x] < ends[x]:
                    i = pick[x]
                    e = edge_id(words, ids, i)
                    if is_least(least, least_id, home[x], words[i], e, packed) and (
                        not both or is_least(least, least_id, row[i], words[i], e, packed)
                    ):
                        join(sets, home[x], row[i], compress)
                        in_forest[e] = 1
            first, last = next_chunk(counters, worker, width, chunk, begins.size)


@njit(parallel=True)
def reset_rows(width, chunk, begins, ends, home, least, least_id, packed, counters):
    """Forget the minima of the roots of all rows."""
    reset_queue(counters, width)
    for worker in prange(width):
        first, last = next_chunk(counters, worker, width, chunk, begins.size)
        while first < last:
            for x in range(first, last):
                if begins[x] < ends[x]:
                    reset(least, least_id, home[x], packed)
            first, last = next_chunk(counters, worker, width, chunk, begins.size)
