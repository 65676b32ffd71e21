"""MPI collectives for arrays of any length, sent in chunks if one call cannot count their elements.

Before version 4, MPI counts elements and buffer offsets in 31 bits. Every function here makes calls of at most `CHUNK`
elements, accepts arrays of one or two dimensions, and packs rows that are not contiguous. All ranks must call; a rank
without data passes an empty array. mpi4py is imported on the first call.

``comm`` is an ``mpi4py.MPI.Comm``; ``operation`` is the name of an ``mpi4py.MPI.Op``; tests pass ``chunk`` to replace
`CHUNK`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mst.kernels.primitives.radix import sorted_records

CHUNK = 1 << 28
"""The largest number of elements in one call, over all ranks."""

_HALF = np.uint64(32)


def allreduce(comm: Any, array: np.ndarray, operation: str = "MIN", *, chunk: int | None = None) -> np.ndarray:
    """Overwrite `array`, of the same shape (k,) on all ranks, with its element-wise reduction over ranks; return it."""
    if comm.size > 1:
        from mpi4py import MPI

        step = chunk or CHUNK
        for first in range(0, len(array), step):
            comm.Allreduce(MPI.IN_PLACE, array[first : first + step], getattr(MPI, operation))
    return array


def reduced(comm: Any, value: int, operation: str = "SUM") -> int:
    """Reduce one integer from each rank; return the result on every rank."""
    return int(allreduce(comm, np.array([value], np.int64), operation)[0])


def broadcast(comm: Any, array: np.ndarray, root: int, *, chunk: int | None = None) -> np.ndarray:
    """Overwrite `array` on every rank with rank `root`'s, of the same shape (k,) and dtype; return it."""
    if comm.size > 1:
        step = chunk or CHUNK
        for first in range(0, len(array), step):
            comm.Bcast(array[first : first + step], root)
    return array


def exchange(
    comm: Any,
    rows: np.ndarray,
    counts: np.ndarray,
    *,
    incoming: np.ndarray | None = None,
    limit: int | None = None,
    chunk: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Send the first ``counts[0]`` rows to rank 0, the next ``counts[1]`` to rank 1, and so on.

    Parameters
    ----------
    rows : numpy.ndarray, shape (sum of counts,) or (sum of counts, columns)
        With the same dtype and columns on all ranks.
    counts : numpy.ndarray of int64, shape (ranks,)
    incoming : numpy.ndarray of int64, shape (ranks,), optional
        The number of rows that each rank sends to this one. Pass it on all ranks or on none.
    limit : int, optional
        An upper bound on the rows that any rank sends or receives, equal on all ranks. It can save a reduction.

    Returns
    -------
    received : numpy.ndarray
        The received rows, in order of the sending ranks.
    incoming : numpy.ndarray of int64, shape (ranks,)
        The number of rows received from each rank.
    """
    counts = np.ascontiguousarray(counts, np.int64)
    if comm.size == 1:
        return rows, counts
    if incoming is None:
        incoming = np.empty_like(counts)
        comm.Alltoall(counts, incoming)
    columns = int(np.prod(rows.shape[1:]))
    received = np.empty((int(incoming.sum()), *rows.shape[1:]), rows.dtype)
    most = (chunk or CHUNK) if limit is None else limit * columns
    if limit is None or most > (chunk or CHUNK):
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


def exchange_singly(comm: Any, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Send rows to ranks as `exchange` does, but each row in a nonblocking message of its own.

    Parameters
    ----------
    rows : numpy.ndarray, shape (sum of counts, columns)
    counts : numpy.ndarray of int64, shape (ranks,)

    Returns
    -------
    numpy.ndarray
        The received rows in order of arrival; rows from the same rank keep their order.
    """
    if comm.size == 1:
        return rows
    from mpi4py import MPI

    counts, incoming = np.ascontiguousarray(counts, np.int64), np.empty(comm.size, np.int64)
    comm.Alltoall(counts, incoming)
    rows = np.ascontiguousarray(rows)
    to = np.repeat(np.arange(comm.size), counts).tolist()
    requests = [comm.Isend(row, rank) for row, rank in zip(rows, to, strict=True)]
    received = np.empty((int(incoming.sum()), *rows.shape[1:]), rows.dtype)
    for row in received:
        comm.Recv(row, MPI.ANY_SOURCE)
    MPI.Request.Waitall(requests)
    return received


def gather(comm: Any, rows: np.ndarray, *, chunk: int | None = None) -> np.ndarray:
    """Return the rows of all ranks, in order of ranks, on rank 0; return no rows on other ranks."""
    counts = np.zeros(comm.size, np.int64)
    counts[0] = len(rows)
    return exchange(comm, rows, counts, chunk=chunk)[0]


def allgather(comm: Any, rows: np.ndarray, *, chunk: int | None = None) -> np.ndarray:
    """Return the rows of all ranks, in order of ranks, on every rank."""
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
        of_rank = everything[at : at + count]
        if rank == comm.rank:
            of_rank[:] = rows
        broadcast(comm, of_rank.reshape(-1), rank, chunk=chunk)
    return everything


def order_by_rank(ranks: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the stable permutation that sorts rows by target rank, and the number of rows for each of `size` ranks.

    `ranks` is int of shape (k,) and gives the target of each row. The permutation is int64 of shape (k,), the counts
    are int64 of shape (size,).
    """
    return np.argsort(ranks, kind="stable"), np.bincount(ranks, minlength=size).astype(np.int64)


def pieces(comm: Any, counts: np.ndarray, most: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Divide an exchange into pieces in which no rank sends more than `most` rows to any other.

    Parameters
    ----------
    counts : numpy.ndarray of int64, shape (ranks,)
        The number of rows for each rank; rows are sorted by target rank.
    most : int
        Equal on all ranks.

    Yields
    ------
    begins, out : numpy.ndarray of int64, shape (ranks,)
        For each target rank, the first row of the piece and the number of rows. All ranks yield equally often.
    """
    begins = _starts(counts)
    for first in range(0, reduced(comm, int(counts.max()), "MAX"), most):
        yield begins + np.minimum(first, counts), np.clip(counts - first, 0, most)


def lookup_sorted(
    comm: Any, table: np.ndarray, bounds: np.ndarray, wanted: np.ndarray, most: int
) -> np.ndarray:
    """Return the entries `wanted` of a table distributed over the ranks.

    Parameters
    ----------
    table : numpy.ndarray, shape (entries of this rank,)
        This rank's entries ``bounds[rank] … bounds[rank + 1] - 1``.
    bounds : numpy.ndarray of int64, shape (ranks + 1,)
    wanted : numpy.ndarray of an integer dtype, shape (k,)
        Ascending.
    most : int
        The largest number of entries that a rank requests from another at a time, equal on all ranks.
    """
    if comm.size == 1:
        return table[wanted]
    answers, limit = np.empty(len(wanted), table.dtype), most * comm.size
    # Without equal dtypes, numpy would copy `wanted` to a common one.
    counts = np.diff(np.searchsorted(wanted, bounds.astype(wanted.dtype)))
    for begins, out in pieces(comm, counts, most):
        spans = [slice(at, at + size) for at, size in zip(begins, out)]
        queries, asked = exchange(comm, np.concatenate([wanted[span] for span in spans]), out, limit=limit)
        queries -= queries.dtype.type(bounds[comm.rank])
        entries, _ = exchange(comm, table[queries], asked, incoming=out, limit=limit)
        for span, at in zip(spans, _starts(out)):
            answers[span] = entries[at : at + span.stop - span.start]
    return answers


def lookup(comm: Any, table: np.ndarray, bounds: np.ndarray, wanted: np.ndarray, at_once: int) -> np.ndarray:
    """Return the entries `wanted`, in any order, of a table distributed over the ranks as for `lookup_sorted`.

    `wanted` is int of shape (k,). Entries are requested `at_once` at a time, a number equal on all ranks, and without
    duplicates; so working memory is proportional to `at_once` for any `wanted`.
    """
    if comm.size == 1:
        return table[wanted]
    answers = np.empty(len(wanted), table.dtype)
    most = max(1, 2 * at_once // comm.size)
    for first in range(0, reduced(comm, len(wanted), "MAX"), at_once):
        some = wanted[first : first + at_once]
        words = some.astype(np.uint64)
        words <<= _HALF
        words |= np.arange(len(words), dtype=np.uint64)
        words, _ = sorted_records(words, words[:0])
        places = words.astype(np.uint32)
        words >>= _HALF
        fresh = np.ones(len(words), np.bool_)
        np.not_equal(words[1:], words[:-1], out=fresh[1:])
        entries = lookup_sorted(comm, table, bounds, words[fresh].astype(np.uint32), most)
        answers[first : first + at_once][places] = entries[np.cumsum(fresh, dtype=np.uint32) - np.uint32(1)]
    return answers


def _starts(counts: np.ndarray) -> np.ndarray:
    """Return the exclusive prefix sum of `counts`, with its shape and dtype."""
    return np.cumsum(counts) - counts
