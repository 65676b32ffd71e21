"""Collectives over arrays of any length: what one call cannot count is sent in chunks.

MPI before version 4 counts elements, and places in buffers, in 31 bits. Every function here cuts its work into
calls of at most `CHUNK` elements, packs what does not lie side by side, and takes one-dimensional arrays or rows of
a two-dimensional one. Ranks may pass nothing, but all of them must call. mpi4py is imported on the first call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CHUNK = 1 << 28
"""Most elements of one call, all ranks' parts together."""


def allreduce(comm: Any, array: np.ndarray, operation: str = "MIN", *, chunk: int | None = None) -> np.ndarray:
    """Reduce equally long arrays element by element, in place on every rank; return the array."""
    if comm.size > 1:
        from mpi4py import MPI

        step = chunk or CHUNK
        for first in range(0, len(array), step):
            comm.Allreduce(MPI.IN_PLACE, array[first : first + step], getattr(MPI, operation))
    return array


def reduced(comm: Any, value: int, operation: str = "SUM") -> int:
    """Return the reduction of one integer of each rank."""
    return int(allreduce(comm, np.array([value], np.int64), operation)[0])


def broadcast(comm: Any, array: np.ndarray, root: int, *, chunk: int | None = None) -> np.ndarray:
    """Send `array` of rank `root` to all others, which pass room for it."""
    if comm.size > 1:
        step = chunk or CHUNK
        for first in range(0, len(array), step):
            comm.Bcast(array[first : first + step], root)
    return array


def exchange(
    comm: Any, rows: np.ndarray, counts: np.ndarray, *, chunk: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Send the first ``counts[0]`` rows to rank 0, the next ``counts[1]`` to rank 1, and so on.

    Parameters
    ----------
    rows : numpy.ndarray, shape (sum of counts,) or (sum of counts, columns)
        Of one dtype and as many columns on all ranks.
    counts : numpy.ndarray of int64, shape (ranks,)

    Returns
    -------
    received : numpy.ndarray
        What came in, by source rank.
    incoming : numpy.ndarray of int64, shape (ranks,)
        How many rows of it came from each rank.
    """
    counts = np.ascontiguousarray(counts, np.int64)
    if comm.size == 1:
        return rows, counts
    incoming = np.empty_like(counts)
    comm.Alltoall(counts, incoming)
    columns = int(np.prod(rows.shape[1:]))
    received = np.empty((int(incoming.sum()), *rows.shape[1:]), rows.dtype)
    most = reduced(comm, max(len(rows), len(received)) * columns, "MAX")
    if most <= (chunk or CHUNK):
        rows = np.ascontiguousarray(rows)
        comm.Alltoallv([rows, counts * columns], [received, incoming * columns])
        return received, incoming
    step = max(1, (chunk or CHUNK) // (columns * comm.size))
    out_at, in_at = _starts(counts), _starts(incoming)
    for first in range(0, reduced(comm, int(counts.max()), "MAX"), step):
        out, coming = np.clip(counts - first, 0, step), np.clip(incoming - first, 0, step)
        packed = np.concatenate([rows[at + first :][:size] for at, size in zip(out_at, out)])
        arrived = np.empty((int(coming.sum()), *rows.shape[1:]), rows.dtype)
        comm.Alltoallv([packed, out * columns], [arrived, coming * columns])
        for at, begin, size in zip(in_at, _starts(coming), coming):
            received[at + first :][:size] = arrived[begin : begin + size]
    return received, incoming


def gather(comm: Any, rows: np.ndarray, *, chunk: int | None = None) -> np.ndarray:
    """Return the rows of all ranks, by rank, on rank 0, and none elsewhere."""
    counts = np.zeros(comm.size, np.int64)
    counts[0] = len(rows)
    return exchange(comm, rows, counts, chunk=chunk)[0]


def allgather(comm: Any, rows: np.ndarray, *, chunk: int | None = None) -> np.ndarray:
    """Return the rows of all ranks, by rank, on every rank."""
    if comm.size == 1:
        return rows
    counts = np.empty(comm.size, np.int64)
    comm.Allgather(np.array([len(rows)], np.int64), counts)
    columns = int(np.prod(rows.shape[1:]))
    everything = np.empty((int(counts.sum()), *rows.shape[1:]), rows.dtype)
    if everything.size <= (chunk or CHUNK):
        comm.Allgatherv(np.ascontiguousarray(rows), [everything, counts * columns])
        return everything
    for rank, (at, count) in enumerate(zip(_starts(counts), counts)):
        part = everything[at : at + count]
        if rank == comm.rank:
            part[:] = rows
        broadcast(comm, part.reshape(-1), rank, chunk=chunk)
    return everything


def by_rank(ranks: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the stable order of rows by the rank that they go to, and how many go to each of `size` ranks."""
    return np.argsort(ranks, kind="stable"), np.bincount(ranks, minlength=size).astype(np.int64)


def lookup(comm: Any, table: np.ndarray, bounds: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the entries `wanted` of a table that is spread over the ranks; each is asked for once.

    Parameters
    ----------
    table : numpy.ndarray
        This rank's entries ``bounds[rank] … bounds[rank + 1] - 1``.
    bounds : numpy.ndarray of int64, shape (ranks + 1,)
    wanted : numpy.ndarray of int64
    """
    distinct, places = np.unique(wanted, return_inverse=True)
    counts = np.diff(np.searchsorted(distinct, bounds))
    queries, asked = exchange(comm, distinct, counts)
    answers, _ = exchange(comm, table[queries - bounds[comm.rank]], asked)
    return answers[places]


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts) - counts
