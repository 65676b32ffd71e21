"""Symmetric compressed sparse rows from an edge list, by counting sort.

A slot of a row is three values, each written to a place of its own: six lines of memory an edge, fetched and
written back, once the rows outgrow the caches. Then slots are dealt first to blocks of neighbouring rows, which
only writes where it wrote before, and each block is sorted while it fits a cache. The blocks are done in a few
groups, since a dealt slot takes room, and room that is used again needs no new pages.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit

_CACHED = 24 << 20
"""Bytes of rows up to which sorting them in one go is faster."""
_BLOCK_SLOTS = 1 << 17
_GROUPS = 3


def build_csr(n: int, u: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return ``(offsets, neighbours, weights, edge_ids)``; self-loops are left out.

    Slots of a row are in ascending edge id.
    """
    edge_type = np.dtype(np.int32 if len(u) < 2**31 else np.int64)
    slot_bytes = u.dtype.itemsize + w.dtype.itemsize + edge_type.itemsize
    if 2 * len(u) * slot_bytes > _CACHED:
        return _by_blocks(n, u, v, w, edge_type)
    # Allocated here and not in compiled code: numpy asks for huge pages, without which every pass over the
    # slots is slower by a half.
    offsets = np.zeros(n + 1, np.int64)
    rows = _room(_count(u, v, offsets), u, w, edge_type)
    _fill(u, v, w, offsets, *rows)
    return offsets, *rows


def _room(slots, u, w, edge_type):
    return np.empty(slots, u.dtype), np.empty(slots, w.dtype), np.empty(slots, edge_type)


# -- rows that fit the caches -----------------------------------------------------------------------------------


@njit
def _count(u, v, offsets):
    """Make `offsets` the start of each row, one place to the right; return the number of slots."""
    n = offsets.size - 1
    for e in range(u.size):
        loop = u[e] == v[e]
        offsets[u[e]] += not loop
        offsets[v[e]] += not loop
    start = 0
    for x in range(n + 1):
        here = offsets[x]
        offsets[x] = start
        start += here
    for x in range(n, 0, -1):
        offsets[x] = offsets[x - 1]
    return start


@njit
def _fill(u, v, w, offsets, neighbours, weights, edge_ids):
    """Fill the rows; `offsets` moves on to where each row ends, that is to where the next one starts."""
    for e in range(u.size):
        a, b = u[e], v[e]
        if a != b:
            i, j = offsets[a + 1], offsets[b + 1]
            offsets[a + 1], offsets[b + 1] = i + 1, j + 1
            neighbours[i], weights[i], edge_ids[i] = b, w[e], e
            neighbours[j], weights[j], edge_ids[j] = a, w[e], e


# -- larger rows, block by block --------------------------------------------------------------------------------


def _by_blocks(n, u, v, w, edge_type):
    """Return what `build_csr` does; a block is the rows of ``2**shift`` vertices."""
    shift = np.uint64(max(n * _BLOCK_SLOTS // (2 * len(u)), 1).bit_length() - 1)
    starts = np.zeros(((n - 1) >> int(shift)) + 2, np.int64)
    _count_blocks(u, v, shift, starts[1:])
    np.cumsum(starts, out=starts)
    slots, blocks = starts[-1], len(starts) - 1
    offsets, rows = np.zeros(n + 1, np.int64), _room(slots, u, w, edge_type)

    cuts = np.searchsorted(starts[:-1], slots * np.arange(_GROUPS + 1) // _GROUPS)
    cuts[-1] = blocks
    dealt = np.empty(
        np.diff(starts[cuts]).max() + 1,
        [("vertex", u.dtype), ("neighbour", u.dtype), ("weight", w.dtype), ("edge", edge_type)],
    )
    ends = starts[:-1].copy()
    for first, last in zip(cuts[:-1].astype(np.uint64), cuts[1:].astype(np.uint64), strict=True):
        if first < last:
            _deal(u, v, w, shift, first, last, starts[first], ends, dealt)
            _sort_blocks(dealt, shift, first, last, starts, offsets, *rows)
    return offsets, *rows


@njit
def _count_blocks(u, v, shift, sizes):
    """Add to `sizes` how many slots each block has."""
    for e in range(u.size):
        a, b = u[e], v[e]
        slot = np.int64(a != b)
        sizes[np.uint64(a) >> shift] += slot
        sizes[np.uint64(b) >> shift] += slot


@njit
def _deal(u, v, w, shift, first, last, base, ends, dealt):
    """Append the slots of blocks ``first … last - 1`` to their blocks, whose ends are `ends`; `base` comes first."""
    for e in range(u.size):
        a, b = u[e], v[e]
        _append(dealt, ends, np.uint64(a) >> shift, first, last, base, a, b, w[e], e)
        _append(dealt, ends, np.uint64(b) >> shift, first, last, base, b, a, w[e], e)


@njit(inline="always")
def _append(dealt, ends, block, first, last, base, vertex, neighbour, weight, edge):
    # What is not asked for goes to a last place that nobody reads: a branch would be guessed wrong.
    asked = (block - first < last - first) & (vertex != neighbour)
    end = ends[block]
    ends[block] = end + asked
    slot = dealt[end - base if asked else dealt.size - 1]
    slot.vertex, slot.neighbour, slot.weight, slot.edge = vertex, neighbour, weight, edge


@njit
def _sort_blocks(dealt, shift, first, last, starts, offsets, neighbours, weights, edge_ids):
    """Sort the slots of blocks ``first … last - 1`` into their rows, whose ends go to `offsets`."""
    base = starts[first]
    for block in range(first, last):
        begin, end = starts[block] - base, starts[block + 1] - base
        for k in range(begin, end):
            offsets[np.int64(dealt[k].vertex) + 1] += 1
        start, row = starts[block], np.int64(block) << np.int64(shift)
        for x in range(row, min(row + (np.int64(1) << np.int64(shift)), offsets.size - 1)):
            size = offsets[x + 1]
            offsets[x + 1] = start
            start += size
        for k in range(begin, end):
            slot = dealt[k]
            row = np.int64(slot.vertex) + 1
            place = offsets[row]
            offsets[row] = place + 1
            neighbours[place], weights[place], edge_ids[place] = slot.neighbour, slot.weight, slot.edge
