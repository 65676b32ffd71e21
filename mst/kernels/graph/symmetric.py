"""Extracts the upper triangle of a symmetric matrix, without merging its two halves.

Rows are read in order, so for each j, the entries (i, j) with i < j come in the order in which row j holds their
counterparts (j, i), and a cursor in row j finds these in turn. Each thread has a range of rows and separate cursors.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import workers
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write

_CURSORS_AHEAD, _ENTRIES_AHEAD = 32, 16


def upper_triangle(
    offsets: np.ndarray, columns: np.ndarray, weights: np.ndarray, width: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return rows, columns and weights above the diagonal of a symmetric matrix, or None if it is not symmetric.

    Parameters
    ----------
    offsets : numpy.ndarray of int32 or int64, shape (n + 1,), read-only
        CSR form; ascending, from 0.
    columns : numpy.ndarray of int32 or int64, shape (k,), read-only
        From 0 to n - 1. A row whose columns do not strictly ascend counts as not symmetric.
    weights : numpy.ndarray of any weight dtype, shape (k,), read-only
        NaN counts as not symmetric.
    width : int
        Threads.

    Returns
    -------
    u, v : numpy.ndarray of int32, or int64 from 2³¹ rows on, shape (edges,)
        ``u < v``, ascending by (u, v).
    w : numpy.ndarray, shape (edges,)
        The dtype of `weights`; ``-0.0`` becomes ``0.0``.

    Notes
    -----
    Besides the result it needs up to eight bytes for each entry.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.graph import frozen
    >>> from mst.kernels.graph.symmetric import upper_triangle
    >>> matrix = [frozen(np.array(part)) for part in ([0, 1, 3, 4], [1, 0, 2, 1], [7, 7, 5, 5])]
    >>> [part.tolist() for part in upper_triangle(*matrix)]
    [[0, 1], [1, 2], [7, 5]]
    """
    n, entries = len(offsets) - 1, int(offsets[-1])
    # No more cursors than entries.
    width = max(1, min(width, entries // max(n, 1)))
    bounds = np.searchsorted(offsets, np.arange(width + 1) * entries // width).astype(np.int64)
    bounds[0], bounds[-1] = 0, n
    cursors = np.empty((width, n), np.int32 if entries < 2**31 else np.int64)
    counts = np.zeros((width, 2), np.int64)
    with workers(width):
        _place_cursors(width, bounds, offsets, columns, weights, cursors, counts)
        above, below = counts.sum(0)
        if above != below or counts.min(initial=0) < 0:
            return None
        ends = np.dtype(np.int32 if n < 2**31 else np.int64)
        u, v, w = np.empty(above, ends), np.empty(above, ends), np.empty(above, weights.dtype)
        symmetric = np.zeros(width, np.bool_)
        _copy_above(width, bounds, (offsets, columns, weights), cursors, counts, (u, v, w), symmetric)
    return (u, v, w) if symmetric.all() else None


@njit
def _place_cursors(width, bounds, offsets, columns, weights, cursors, counts):
    """In each row, place each worker's cursor at the first column among its rows; count entries off the diagonal.

    Parameters
    ----------
    width : int
    bounds : numpy.ndarray of int64, shape (width + 1,)
        The rows of each worker.
    offsets, columns, weights
        As for `upper_triangle`.
    cursors : numpy.ndarray of int32 or int64, shape (width, n)
        Written in each row by the worker of that row, for itself and for the workers of earlier rows.
    counts : numpy.ndarray of int64, shape (width, 2)
        Written: entries above and below the diagonal in the rows of a worker; -1 if the diagonal has NaN.
    """
    run(width, _place_worker, bounds, offsets, columns, weights, cursors, counts)


@njit
def _place_worker(worker, bounds, offsets, columns, weights, cursors, counts):
    """One worker of `_place_cursors`."""
    above = below = np.int64(0)
    for row in range(bounds[worker], bounds[worker + 1]):
        k, end = np.int64(offsets[row]), np.int64(offsets[row + 1])
        start = k
        for other in range(worker + 1):
            while k < end and columns[k] < bounds[other]:
                k += 1
            cursors[other, row] = k
        while k < end and columns[k] < row:
            k += 1
        below += k - start
        if k < end and columns[k] == row:
            if weights[k] != weights[k]:
                counts[worker, 0] = -1
                return
            k += 1
        above += end - k
    counts[worker, 0], counts[worker, 1] = above, below


@njit
def _copy_above(width, bounds, matrix, cursors, counts, edges, symmetric):
    """Copy the entries above the diagonal, and find the counterpart of each below it.

    Parameters
    ----------
    width, bounds, cursors, counts
        As for `_place_cursors`; cursors are moved past the counterparts.
    matrix : tuple
        ``offsets, columns, weights`` as for `upper_triangle`.
    edges : tuple
        ``u, v, w`` as returned by `upper_triangle`; written.
    symmetric : numpy.ndarray of bool, shape (width,)
        Written: whether each entry in the rows of a worker has a counterpart.
    """
    run(width, _copy_worker, bounds, matrix, cursors, counts, edges, symmetric)


@njit
def _copy_worker(worker, bounds, matrix, cursors, counts, edges, symmetric):
    """One worker of `_copy_above`."""
    offsets, columns, weights = matrix
    u, v, w = edges
    cursor, last = cursors[worker], np.int64(columns.size - 1)
    to = counts[:worker, 0].sum()
    for row in range(bounds[worker], bounds[worker + 1]):
        k, end = np.int64(cursor[row]), np.int64(offsets[row + 1])
        if k < end and columns[k] == row:
            k += 1
        before = np.int64(row)
        for entry in range(k, end):
            prefetch_to_write(cursor, columns[min(entry + _CURSORS_AHEAD, last)])
            at = cursor[columns[min(entry + _ENTRIES_AHEAD, last)]]
            prefetch(columns, at)
            prefetch(weights, at)
            column = columns[entry]
            at = cursor[column]
            # An entry that is not above the diagonal has no counterpart yet: a smaller row has not found it.
            if column <= before or at > last or columns[at] != row or weights[at] != weights[entry]:
                return
            cursor[column] = at + 1
            before = np.int64(column)
            u[to], v[to], w[to] = row, column, weights[entry] + weights.dtype.type(0)
            to += 1
    # A cursor past the end of its row took the next row's entry for a counterpart.
    for row in range(bounds[worker], offsets.size - 1):
        if cursor[row] > offsets[row + 1]:
            return
    symmetric[worker] = True
