"""Kruskal's algorithm for sparse matrices of few entries: one call turns a matrix into the matrix of its forest.

Each call of compiled code or of NumPy takes a microsecond or more, so several calls would take longer than solving such
a matrix.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import LazyKeys, fits_float32, key_at
from mst.kernels.primitives.radix import id_at, sort_words
from mst.kernels.union_find.sequential import unite

_HALF = np.uint64(32)
_TOP_32, _TOP_64 = np.uint32(1 << 31), np.uint64(1 << 63)
_REST_32, _REST_64 = np.uint32((1 << 31) - 1), np.uint64((1 << 63) - 1)


@njit
def forest_of_rows(offsets, columns, weights, keep_zeros):
    """Return the minimum spanning forest of a square matrix in compressed sparse rows, by (weight, place).

    Parameters
    ----------
    offsets : numpy.ndarray of int32, shape (n + 1,), read-only
    columns : numpy.ndarray of int32, shape (k,), read-only
    weights : numpy.ndarray of float64, shape (k,), read-only
    keep_zeros : bool
        Whether edges of weight zero are returned.

    Returns
    -------
    offsets, columns, weights : numpy.ndarray
        The matrix of the forest, with the dtypes given; all are empty if the arrays given do not describe a square
        matrix, or if a weight is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.graph import frozen
    >>> from mst.kernels.sequential.kruskal_rows import forest_of_rows
    >>> offsets, columns = frozen(np.array([0, 2, 3, 3], np.int32)), frozen(np.array([1, 2, 2], np.int32))
    >>> [part.tolist() for part in forest_of_rows(offsets, columns, frozen(np.array([5.0, 7.0, 6.0])), False)]
    [[0, 1, 2, 2], [1, 2], [5.0, 6.0]]
    """
    n, rows = offsets.size - 1, np.empty(columns.size, np.uint32)
    if not _write_rows(offsets, columns, weights, rows):
        return offsets[:0].copy(), columns[:0].copy(), weights[:0].copy()
    words, ids = _records(weights[: offsets[n]])
    spare_words, spare_ids = np.empty_like(words), np.empty_like(ids)
    if sort_words(words, ids, 0, words.size, spare_words, spare_ids):
        words, ids = spare_words, spare_ids
    parent, kept = np.empty(n, np.uint32), np.zeros(columns.size, np.bool_)
    for x in range(n):
        parent[x] = x
    missing, size = n - 1, 0
    for i in range(np.uint64(words.size)):
        if missing == 0:
            break
        e = id_at(words, ids, i)
        if unite(parent, rows[e], np.uint32(columns[e])):
            missing -= 1
            kept[e] = keep_zeros or weights[e] != 0
            size += kept[e]
    return _entries(offsets, columns, weights, kept, size)


@njit
def _write_rows(offsets, columns, weights, rows):
    """Write the row of each entry to `rows`, uint32 (k,); return False if the matrix is not square or has a NaN."""
    n = offsets.size - 1
    if offsets[0] != 0:
        return False
    for row in range(n):
        start, stop = offsets[row], offsets[row + 1]
        if not start <= stop <= columns.size:
            return False
        for k in range(start, stop):
            if not 0 <= columns[k] < n or weights[k] != weights[k]:
                return False
            rows[k] = row
    return True


@njit
def _records(weights):
    """Return the words and ids of the `mst.kernels.primitives.radix.Records` of `weights`, float64 (k,)."""
    words = np.empty(weights.size, np.uint64)
    if fits_float32(weights):
        narrow = LazyKeys(weights.astype(np.float32).view(np.uint32), _TOP_32, _REST_32)
        for i in range(np.uint64(words.size)):
            words[i] = np.uint64(key_at(narrow, i)) << _HALF | i
        return words, np.empty(0, np.uint32)
    wide = LazyKeys(weights.view(np.uint64), _TOP_64, _REST_64)
    for i in range(words.size):
        words[i] = key_at(wide, i)
    return words, np.arange(words.size).astype(np.uint32)


@njit
def _entries(offsets, columns, weights, kept, size):
    """Return offsets, columns and weights of the `size` entries at which `kept`, bool of shape (k,), is True."""
    new_offsets = np.empty_like(offsets)
    new_columns, new_weights = np.empty(size, columns.dtype), np.empty(size, weights.dtype)
    new_offsets[0] = to = 0
    for row in range(offsets.size - 1):
        for k in range(offsets[row], offsets[row + 1]):
            if kept[k]:
                new_columns[to], new_weights[to] = columns[k], weights[k]
                to += 1
        new_offsets[row + 1] = to
    return new_offsets, new_columns, new_weights
