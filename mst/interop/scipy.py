"""The implementation of `mst.csgraph`: the forest of a matrix, as SciPy's own function returns it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import mst
from mst.advice import first
from mst.errors import InputError, names_missing
from mst.graph import WEIGHT_DTYPES, frozen, largest_word
from mst.interop.inputs import checked_rows, rows_of

_FEW = 1 << 13
"""The most entries of a matrix that a single call of compiled code solves."""

_SAVED = 3e-5
"""Seconds that the single call saves, on one core of an EPYC."""

_NEARLY_ZERO = 1e-8
"""Floats up to this magnitude count as zero in a dense matrix, as in SciPy, which calls `numpy.ma.masked_values`."""

_INDEX, _WEIGHT = np.dtype(np.int32), np.dtype(np.float64)
_WIDE_INDEX, _LARGEST = np.dtype(np.int64), np.iinfo(np.int32).max


class ShapeError(InputError, ValueError):
    """The matrix is not square, or damaged; also a ValueError, since SciPy raises one."""


class DtypeError(InputError, TypeError):
    """The entries are not real numbers; also a TypeError, since SciPy raises one."""


@names_missing("scipy")
def minimum_spanning_tree(
    csgraph: Any,
    overwrite: bool = False,
    *,
    keep_zeros: bool = False,
    keep_dtype: bool = False,
    algorithm: str = "auto",
    threads: int | None = None,
) -> Any:
    """Return a minimum spanning tree of an undirected graph, or a forest if it is not connected.

    It accepts the same inputs as SciPy's function and returns the same result. In a dense matrix, zero (for floats,
    any magnitude up to 1e-8), infinity, NaN and masked elements are not edges. In a sparse array, a stored zero is an
    edge of weight zero, which can be part of the tree but is only stored in the result with `keep_zeros`. Among equal
    weights, the first in row order is kept. Indices may have 64 bits. The arrays of a CSR array are not copied, unless
    weights have to become float64, or 64-bit indices 32-bit ones.

    Parameters
    ----------
    csgraph : array_like or sparse array or matrix, shape (n, n)
        Entry (i, j) or (j, i) is the weight of the edge between i and j; if both exist, the smaller one counts.
    overwrite : bool
        For compatibility with SciPy, which may then overwrite the input to save a copy; ignored.
    keep_zeros : bool
        Store edges of weight zero in the result. SciPy drops them, so that the result may be disconnected.
    keep_dtype : bool
        Keep the dtype of the weights (except float16, which becomes float32). SciPy converts them to float64, which
        rounds large integers and doubles the memory of float32.
    algorithm : str
        The id of an exact algorithm from ``mst list``, or ``"auto"``.
    threads : int, optional
        Cores that may be used (default: all).

    Returns
    -------
    scipy.sparse.csr_array or csr_matrix, shape (n, n)
        The tree in float64, or in the given dtype with `keep_dtype`: a ``csr_matrix`` if `csgraph` is a matrix, sparse
        or dense. Entries keep their positions in `csgraph`.

    Raises
    ------
    ShapeError
        The input is not two-dimensional or not square, or the arrays of a sparse matrix are inconsistent; also a
        ValueError.
    DtypeError
        The entries are not real numbers; also a TypeError.
    ConfigError
        There is no such algorithm.
    UnsupportedError, DependencyError
        The algorithm does not support this graph, or a package that it needs is not installed.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from mst.csgraph import minimum_spanning_tree
    >>> tree = minimum_spanning_tree(csr_array([[0, 2, 0], [3, 0, 4], [0, 0, 0]]), algorithm="kruskal")
    >>> tree.toarray().tolist()
    [[0.0, 2.0, 0.0], [0.0, 0.0, 4.0], [0.0, 0.0, 0.0]]
    >>> zeros = csr_array(([0, 3], ([0, 1], [1, 2])), shape=(3, 3))
    >>> minimum_spanning_tree(zeros, keep_zeros=True, keep_dtype=True).data.tolist()
    [0, 3]
    """
    free = isinstance(algorithm, str) and algorithm == "auto" and threads is None
    # Before all checks, since this single call also checks the arrays.
    if free and (tree := _tree_of_few(csgraph, keep_zeros)) is not None:
        return tree
    matrix = _as_csr(csgraph, keep_dtype)
    if free and matrix is not csgraph and (tree := _tree_of_few(matrix, keep_zeros)) is not None:
        return tree
    n, columns, data = matrix.shape[0], matrix.indices, matrix.data
    index = np.int32 if max(n, len(data)) < 2**31 else np.int64
    columns = columns.astype(np.int32 if n < 2**31 else np.int64, copy=False)
    rows = rows_of(matrix).astype(columns.dtype, copy=False)
    weights = _weights(data)
    # The format is checked, and there is no NaN; but weights may have any dtype.
    checked = weights.dtype in WEIGHT_DTYPES and columns.flags.c_contiguous and weights.flags.c_contiguous
    graph = mst.Graph(n, rows, columns, weights, trusted=checked)
    ids = mst.minimum_spanning_forest(graph, algorithm=algorithm, threads=threads).edge_ids
    kept = ids if keep_zeros else ids[data[ids] != 0]
    offsets = np.zeros(n + 1, index)
    np.cumsum(np.bincount(rows[kept], minlength=n), out=offsets[1:])
    return type(matrix)((data[kept], columns[kept].astype(index, copy=False), offsets), shape=(n, n))


def _tree_of_few(matrix: Any, keep_zeros: bool) -> Any:
    """Return the tree of a CSR matrix of few entries and the usual dtypes, by one call of compiled code.

    Return None for any other input, for damaged arrays and NaN, and as long as loading the code does not pay.
    """
    if not isinstance(matrix, _csr_classes()):
        return None
    shape, offsets, columns, weights = matrix.shape, matrix.indptr, matrix.indices, matrix.data
    n = shape[0]
    usual = (
        shape == (n, n)
        and offsets.shape == (n + 1,)
        and columns.shape == weights.shape
        and weights.ndim == 1
        and weights.size <= _FEW
        and weights.dtype == _WEIGHT
        and offsets.flags.c_contiguous
        and columns.flags.c_contiguous
        and weights.flags.c_contiguous
    )
    if not (usual and first.compiled_code_pays(_SAVED)):
        return None
    offsets, columns = _narrow(offsets), _narrow(columns)
    if offsets is None or columns is None:
        return None
    kernel = _forest_of_rows()
    offsets, columns, weights = kernel(frozen(offsets), frozen(columns), frozen(weights), bool(keep_zeros))
    return type(matrix)((weights, columns, offsets), shape=shape) if len(offsets) else None


def _narrow(indices: np.ndarray) -> np.ndarray | None:
    """Return int32 or int64 indices as int32; None if they have another dtype or do not fit."""
    if indices.dtype == _INDEX:
        return indices
    # Read as unsigned integers, negative indices are the largest.
    fits = indices.dtype == _WIDE_INDEX and (
        not indices.size or largest_word(indices.view(np.uint64)) <= _LARGEST
    )
    return indices.astype(_INDEX) if fits else None


# Cached, since even an import statement takes longer than solving for a few entries.
@cache
def _csr_classes() -> tuple[Any, ...]:
    from scipy.sparse import csr_array, csr_matrix

    return csr_array, csr_matrix


@cache
def _forest_of_rows() -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]:
    from mst.kernels.sequential.kruskal_rows import forest_of_rows

    return forest_of_rows


def _as_csr(csgraph: Any, keep_dtype: bool) -> Any:
    """Return the CSR form of an input of SciPy's function, sharing arrays with it if possible."""
    from scipy.sparse import issparse

    if not issparse(csgraph):
        csgraph = _as_dense(csgraph)
    shape = csgraph.shape
    if len(shape) != 2:
        raise ShapeError(f"the matrix of a graph must have two dimensions, got shape {shape}")
    if shape[0] != shape[1]:
        raise ShapeError(f"the matrix of a graph must be square, got shape {shape}")
    if csgraph.dtype.kind not in "biuf":
        raise DtypeError(f"the matrix of a graph must hold real numbers, got dtype {csgraph.dtype}")
    if issparse(csgraph):
        try:
            matrix = checked_rows(csgraph)
        except ValueError as error:
            raise ShapeError(f"the {csgraph.format} matrix is damaged: {error}") from error
        return matrix if keep_dtype else matrix.astype(np.float64, copy=False)
    return _csr_of_dense(csgraph, keep_dtype)


def _as_dense(csgraph: Any) -> np.ndarray:
    if isinstance(csgraph, np.ndarray):
        return csgraph
    try:
        return np.asarray(csgraph)
    except (TypeError, ValueError) as error:
        raise ShapeError(
            f"the matrix of a graph must have rows of numbers, all of the same length: {error}"
        ) from error


def _csr_of_dense(dense: np.ndarray, keep_dtype: bool) -> Any:
    """Return the CSR form of a square dense or masked matrix, with an entry for each edge.

    SciPy's `csgraph_from_dense` and `csgraph_from_masked` find the same edges by way of a masked array.
    """
    values = np.asarray(dense)
    if isinstance(dense, np.ma.MaskedArray):
        edges = ~np.ma.getmaskarray(dense)
    elif values.dtype.kind == "f":
        edges = np.isfinite(values) & (np.abs(values) > _NEARLY_ZERO)
    else:
        edges = values != 0
    n = len(values)
    index = np.int32 if values.size < 2**31 else np.int64
    columns = np.broadcast_to(np.arange(n, dtype=index), (n, n))[edges]
    offsets = np.zeros(n + 1, index)
    np.cumsum(np.count_nonzero(edges, axis=1), out=offsets[1:])
    weights = values[edges]
    # SciPy's arrays cannot hold float16.
    dtype = np.float64 if not keep_dtype else np.float32 if values.dtype == np.float16 else values.dtype
    csr_array, csr_matrix = _csr_classes()
    container = csr_matrix if isinstance(dense, np.matrix) else csr_array
    return container((weights.astype(dtype, copy=False), columns, offsets), shape=(n, n))


def _weights(data: np.ndarray) -> np.ndarray:
    """Return the weights; if one is NaN, which SciPy sorts last, their ranks."""
    if data.dtype.kind != "f" or not len(data) or not np.isnan(data.min()):
        return data
    return np.unique(data, return_inverse=True)[1]
