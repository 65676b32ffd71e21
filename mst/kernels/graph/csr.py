"""Builds symmetric compressed sparse rows from an edge list, by counting sort.

A slot of a row is three values in separate arrays: once the rows outgrow the caches, six cache lines are fetched and
written back for each edge. Slots of large graphs are therefore scattered to blocks of neighbouring rows first, as
records with consecutive writes to each block; then each block is sorted in cache. A third of the blocks is processed at
a time, so that their scratch space is reused and needs no new pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.jit import njit

_CACHED = 24 << 20
"""Rows of up to this many bytes are sorted faster in one go."""
_BLOCK_SLOTS = 1 << 17
_GROUPS = 3


class Rows(NamedTuple):
    """The slots of all rows, one row after the other.

    Attributes
    ----------
    neighbours : numpy.ndarray of int32 or int64, shape (slots,)
    weights : numpy.ndarray of any weight dtype, shape (slots,)
    edge_ids : numpy.ndarray of int32 or int64, shape (slots,)
    """

    neighbours: np.ndarray
    weights: np.ndarray
    edge_ids: np.ndarray


class Blocks(NamedTuple):
    """Blocks ``first … last - 1``; a block is the rows of ``2**shift`` vertices.

    Attributes
    ----------
    shift, first, last : numpy.uint64
    base : numpy.int64
        The first slot of the first block.
    """

    shift: np.uint64
    first: np.uint64
    last: np.uint64
    base: np.int64


def build_csr(n: int, u: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return ``(offsets, neighbours, weights, edge_ids)``, as `mst.graph.CSR` describes them.

    Slots of a row ascend by edge id; self-loops are omitted.

    Parameters
    ----------
    n : int
        Vertices.
    u, v : numpy.ndarray of int32 or int64, shape (m,)
    w : numpy.ndarray, shape (m,)

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.graph.csr import build_csr
    >>> offsets, neighbours, *_ = build_csr(3, np.array([0, 1]), np.array([1, 2]), np.array([4, 5]))
    >>> offsets.tolist(), neighbours.tolist()
    ([0, 1, 3, 4], [1, 0, 2, 1])
    """
    edge_type = np.dtype(np.int32 if len(u) < 2**31 else np.int64)
    slot_bytes = u.dtype.itemsize + w.dtype.itemsize + edge_type.itemsize
    if 2 * len(u) * slot_bytes > _CACHED:
        return _by_blocks(n, u, v, w, edge_type)
    # Allocated here and not in compiled code: numpy requests huge pages, without which every pass over the
    # slots takes half as long again.
    offsets = np.zeros(n + 1, np.int64)
    rows = _empty_rows(_count(u, v, offsets), u, w, edge_type)
    _fill(u, v, w, offsets, rows)
    return offsets, *rows


def _empty_rows(slots: int, u: np.ndarray, w: np.ndarray, edge_type: np.dtype) -> Rows:
    """Return uninitialised rows with the dtypes of `u` and `w`, and `edge_type` for edge ids."""
    return Rows(np.empty(slots, u.dtype), np.empty(slots, w.dtype), np.empty(slots, edge_type))


# -- rows that fit the caches -----------------------------------------------------------------------------------


@njit
def _count(u, v, offsets):
    """Write the first slot of row `x` to ``offsets[x + 1]``; return the number of slots.

    `offsets` is int64 of shape (n + 1,), zero at first; `u` and `v` are as in `build_csr`.
    """
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
def _fill(u, v, w, offsets, rows):
    """Fill `rows`; `offsets`, from `_count`, becomes the offsets of the CSR: each entry moves to the end of its row.

    `u`, `v` and `w` are as in `build_csr`.
    """
    neighbours, weights, edge_ids = rows
    for e in range(u.size):
        a, b = u[e], v[e]
        if a != b:
            i, j = offsets[a + 1], offsets[b + 1]
            offsets[a + 1], offsets[b + 1] = i + 1, j + 1
            neighbours[i], weights[i], edge_ids[i] = b, w[e], e
            neighbours[j], weights[j], edge_ids[j] = a, w[e], e


# -- larger rows, block by block --------------------------------------------------------------------------------


def _by_blocks(
    n: int, u: np.ndarray, v: np.ndarray, w: np.ndarray, edge_type: np.dtype
) -> tuple[np.ndarray, ...]:
    """Return the result of `build_csr`, for rows larger than the caches."""
    shift = np.uint64(max(n * _BLOCK_SLOTS // (2 * len(u)), 1).bit_length() - 1)
    starts = np.zeros(((n - 1) >> int(shift)) + 2, np.int64)
    _count_blocks(u, v, shift, starts[1:])
    np.cumsum(starts, out=starts)
    slots, blocks = starts[-1], len(starts) - 1
    offsets, rows = np.zeros(n + 1, np.int64), _empty_rows(slots, u, w, edge_type)

    cuts = np.searchsorted(starts[:-1], slots * np.arange(_GROUPS + 1) // _GROUPS)
    cuts[-1] = blocks
    scattered = np.empty(
        np.diff(starts[cuts]).max() + 1,
        [("vertex", u.dtype), ("neighbour", u.dtype), ("weight", w.dtype), ("edge", edge_type)],
    )
    ends = starts[:-1].copy()
    for first, last in zip(cuts[:-1].astype(np.uint64), cuts[1:].astype(np.uint64), strict=True):
        if first < last:
            group = Blocks(shift, first, last, starts[first])
            _scatter(u, v, w, group, ends, scattered)
            _sort_blocks(scattered, group, starts, offsets, rows)
    return offsets, *rows


@njit
def _count_blocks(u, v, shift, sizes):
    """Add the number of slots of each block to `sizes`, int64 of shape (blocks,), zero at first.

    `u` and `v` are as in `build_csr`, `shift` is that of `Blocks`.
    """
    for e in range(u.size):
        a, b = u[e], v[e]
        slot = np.int64(a != b)
        sizes[np.uint64(a) >> shift] += slot
        sizes[np.uint64(b) >> shift] += slot


@njit
def _scatter(u, v, w, blocks, ends, scattered):
    """Write the slots of some blocks to `scattered`, block by block, in one pass over all edges.

    Parameters
    ----------
    u, v, w : numpy.ndarray
        As in `build_csr`.
    blocks : Blocks
    ends : numpy.ndarray of int64, shape (all blocks,)
        The current end of each block, in slots of all blocks; overwritten.
    scattered : numpy.ndarray of records (vertex, neighbour, weight, edge), shape (slots of these blocks + 1,)
        Overwritten.
    """
    for e in range(u.size):
        a, b = u[e], v[e]
        _append(scattered, ends, blocks, a, b, w[e], e)
        _append(scattered, ends, blocks, b, a, w[e], e)


@njit(inline="always")
def _append(scattered, ends, blocks, vertex, neighbour, weight, edge):
    """Append a slot to its vertex's block, if that is one of `blocks` and the edge is not a self-loop.

    The first three arguments are as for `_scatter`, the others are the fields of the slot.
    """
    # Slots of other blocks go to a final place that is never read: a branch would be mispredicted.
    block = np.uint64(vertex) >> blocks.shift
    wanted = (block - blocks.first < blocks.last - blocks.first) & (vertex != neighbour)
    end = ends[block]
    ends[block] = end + wanted
    slot = scattered[end - blocks.base if wanted else scattered.size - 1]
    slot.vertex, slot.neighbour, slot.weight, slot.edge = vertex, neighbour, weight, edge


@njit
def _sort_blocks(scattered, blocks, starts, offsets, rows):
    """Sort the slots of some blocks into their rows, and write the end of row `x` to ``offsets[x + 1]``.

    Parameters
    ----------
    scattered : numpy.ndarray of records
        From `_scatter`.
    blocks : Blocks
    starts : numpy.ndarray of int64, shape (all blocks + 1,)
        The first slot of each block.
    offsets : numpy.ndarray of int64, shape (n + 1,)
        0 at the entries of these rows; overwritten there.
    rows : Rows
        Overwritten.
    """
    shift, first, last, base = blocks
    neighbours, weights, edge_ids = rows
    for block in range(first, last):
        begin, end = starts[block] - base, starts[block + 1] - base
        for k in range(begin, end):
            offsets[np.int64(scattered[k].vertex) + 1] += 1
        start, row = starts[block], np.int64(block) << np.int64(shift)
        for x in range(row, min(row + (np.int64(1) << np.int64(shift)), offsets.size - 1)):
            size = offsets[x + 1]
            offsets[x + 1] = start
            start += size
        for k in range(begin, end):
            slot = scattered[k]
            row = np.int64(slot.vertex) + 1
            place = offsets[row]
            offsets[row] = place + 1
            neighbours[place], weights[place], edge_ids[place] = slot.neighbour, slot.weight, slot.edge
