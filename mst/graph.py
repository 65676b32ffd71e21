"""The graph: an immutable, weighted, undirected edge list, and its CSR form on demand."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mst.arrays import as_numpy, contiguous
from mst.cores import MANY
from mst.errors import InputError
from mst.rounding import refuse_rounded

WEIGHT_DTYPES = tuple(np.dtype(t) for t in (np.int32, np.int64, np.float32, np.float64))

_INT32, _INT64 = WEIGHT_DTYPES[:2]
_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}

# No processor addresses more bytes than this, and every algorithm needs some for each vertex.
_MOST_VERTICES = 2**57

_FEW = 1 << 14


@dataclass(frozen=True, eq=False)
class CSR:
    """Compressed sparse rows: both directions of every edge that is not a self-loop.

    Attributes
    ----------
    offsets : numpy.ndarray of int64, shape (n + 1,)
        The row of vertex `x` consists of the slots ``offsets[x] … offsets[x + 1] - 1``.
    neighbours : numpy.ndarray, shape (slots,)
        The other end of each slot's edge, in the dtype of `Graph.u`.
    weights : numpy.ndarray, shape (slots,)
        Its weight, in the dtype of `Graph.w`.
    edge_ids : numpy.ndarray of int32 (int64 from 2³¹ edges on), shape (slots,)
        Its id. Ids ascend within a row, so the first of the lightest slots in a row is also the row's minimum by
        (weight, edge id).
    """

    offsets: np.ndarray
    neighbours: np.ndarray
    weights: np.ndarray
    edge_ids: np.ndarray


@dataclass(frozen=True, eq=False, init=False)
class Graph:
    """An undirected, weighted multigraph as an edge list; an edge's id is its row.

    Arrays of the stored dtypes are not copied: do not modify them while the graph, or a forest of it, is in use.

    Parameters
    ----------
    n : int
        Number of vertices, named ``0 … n - 1``.
    u, v : array_like of int, shape (m,)
        Ends of each edge. Stored as int32, or int64 if ``n >= 2**31``. Self-loops and parallel edges are
        allowed.
    w : array_like, shape (m,)
        Weights. Stored as int32, int64, float32 or float64; smaller integers and booleans become int32,
        float16 becomes float32. Infinities are allowed, NaN is not.
    name : str
        Name for messages and tables.
    trusted : bool
        Skip all checks and conversions: the arrays are known to be valid and of the stored dtypes.
    threads : int
        Threads for checking large arrays, at most the number of usable cores.

    Raises
    ------
    InputError
        The lengths differ, an id lies outside ``0 … n - 1``, a weight is NaN, a value is masked, or none of the four
        dtypes represents the weights exactly. The message names the row where one is at fault.

    Examples
    --------
    >>> from mst import Graph
    >>> graph = Graph(3, [0, 1, 2], [1, 2, 0], [1.5, 2.5, 0.5])
    >>> graph.n, graph.m, graph.w.dtype.name
    (3, 3, 'float64')
    """

    n: int
    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    name: str

    def __init__(
        self, n: int, u: Any, v: Any, w: Any, *, name: str = "", trusted: bool = False, threads: int = 1
    ) -> None:
        if not trusted:
            n = vertex_count(n)
            u, v, w = _ends(u, n, "u", threads), _ends(v, n, "v", threads), _weights(w, threads)
            if not (len(u) == len(v) == len(w)):
                raise InputError(
                    f"u, v and w must have the same length, got {len(u)}, {len(v)} and {len(w)}: "
                    "give one row per edge"
                )
        self.__dict__.update(n=n, u=frozen(u), v=frozen(v), w=frozen(w), name=name)

    @property
    def m(self) -> int:
        """Number of edges (rows), self-loops and parallel edges included."""
        return len(self.w)

    def __repr__(self) -> str:
        name = f"{self.name!r}: " if self.name else ""
        return f"<Graph {name}n={self.n:,} m={self.m:,} weights {self.w.dtype}>"

    @cached_property
    def _csr(self) -> CSR:
        from mst.kernels.graph.csr import build_csr

        return CSR(*build_csr(self.n, self.u, self.v, self.w))

    def csr(self) -> CSR:
        """Return the symmetric CSR form, which is built by the first call and kept.

        Examples
        --------
        >>> from mst import Graph
        >>> Graph(3, [0, 1], [1, 2], [4, 5]).csr().neighbours.tolist()
        [1, 0, 2, 1]
        """
        return self._csr


@dataclass(frozen=True, eq=False, init=False, repr=False)
class LabelledGraph(Graph):
    """A graph whose vertices have labels.

    Attributes
    ----------
    labels : sequence of hashable, length n
        The label of each vertex.
    """

    labels: Sequence[Hashable]

    def __init__(self, labels: Sequence[Hashable], u: Any, v: Any, w: Any, **how: Any) -> None:
        super().__init__(len(labels), u, v, w, **how)
        self.__dict__["labels"] = labels


def columns_of(given: tuple) -> tuple:
    """Return the four values of a tuple ``(n, u, v, w)``.

    Raises
    ------
    InputError
        The tuple does not have four values, or `n` is a tuple or list.

    Examples
    --------
    >>> from mst.graph import columns_of
    >>> columns_of((3, [0, 1], [1, 2], [5, 7]))
    (3, [0, 1], [1, 2], [5, 7])
    """
    try:
        n, u, v, w = given
    except ValueError:
        first = ": put n, the number of vertices, first" if len(given) == 3 else ""
        raise InputError(f"a graph as a tuple must be (n, u, v, w), got {len(given)} values{first}") from None
    if isinstance(n, tuple | list):
        raise InputError(
            f"a graph as a tuple must be (n, u, v, w), but n is a {type(n).__name__}: give batches of edges as a list"
        )
    return n, u, v, w


def vertex_count(n: Any) -> int:
    """Return a vertex count as an int; raise `InputError` if it is not a whole number of at least 0."""
    try:
        count = int(n)
    except Exception:  # every library raises a different error
        count = -1
    if count < 0 or count != n:
        raise InputError(f"the vertex count must be an integer ≥ 0, got {n!r}")
    if count > _MOST_VERTICES:
        raise InputError(f"{count:,} vertices do not fit into any memory: number them from 0 without gaps")
    return count


def column(values: Any, field: str) -> np.ndarray:
    """Return one value per edge as a one-dimensional array of any dtype; raise `InputError` if that is impossible."""
    if type(values) is np.ndarray and values.ndim == 1:
        return values
    array = as_numpy(values, field)
    if array.ndim == 0 and array.dtype.kind in "OSU" and isinstance(values, Iterable):
        raise InputError(f"{field} must be an array or a list, got {type(values).__name__}: give list({field})")
    if array.ndim != 1:
        raise InputError(f"{field} must be one-dimensional, got shape {array.shape}")
    if type(values) is not np.ndarray and np.ma.is_masked(values):
        row = int(np.argmax(np.ma.getmaskarray(values)))
        raise InputError(f"{field}[{row}] is masked: drop that edge, or give it a value")
    return array


def _ends(ids: Any, n: int, field: str, threads: int) -> np.ndarray:
    array = column(ids, field)
    threads = threads if len(array) >= MANY else 1
    stored = _INT32 if n < 2**31 else _INT64
    if array.dtype != stored:
        array = _integers(array, n, field)
    if not array.flags.c_contiguous:
        array = contiguous(array, array.dtype, threads)
    # Negative ids are the largest when read as unsigned.
    words = array.view(_UNSIGNED[array.itemsize])
    if threads > 1 and words.itemsize == 8 and stored is _INT32:
        from mst.kernels.parallel.extremes import narrowed

        halves, largest = narrowed(frozen(words), threads)
        kept = halves.view(stored)
    else:
        largest = largest_word(words, threads) if array.size else -1
        # Ids below n have the same bits signed and unsigned.
        kept = array.view(stored) if array.itemsize == stored.itemsize else array
    if largest >= n:
        row = int(np.argmax((array < 0) | (array >= n)))
        remedy = "shift the ids" if array[row] < 0 else "raise n or compact the ids"
        raise InputError(
            f"{field}[{row}] = {array[row]} is not a vertex: ids run from 0 to {n - 1} (n = {n}); {remedy}"
        )
    return contiguous(kept, stored, threads)


def _integers(array: np.ndarray, n: int, field: str) -> np.ndarray:
    """Return ids as native integers, wide enough that no negative id read as unsigned is below `n`."""
    if array.size == 0:
        return array.astype(np.int32)
    dtype = array.dtype
    if dtype.kind == "f" and (missing := np.isnan(array)).any():
        raise InputError(f"{field}[{int(missing.argmax())}] is missing: drop that edge")
    if dtype.kind not in "iu":
        raise InputError(f"{field} must hold integers, got dtype {dtype}: convert the ids first")
    if dtype.kind == "i" and n > 1 << (8 * dtype.itemsize - 1):
        return array.astype(np.int64)
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def largest_word(words: np.ndarray, threads: int = 1) -> int:
    """Return the maximum of a contiguous array of unsigned integers, which must not be empty."""
    if threads == 1 or words.itemsize < 4:
        # For few words, argmax takes a third of the time of maximum.reduce.
        return words.item(words.argmax()) if len(words) < _FEW else int(np.maximum.reduce(words))
    from mst.kernels.parallel.extremes import largest

    return largest(frozen(words), 2 ** (8 * words.itemsize) - 1, threads)


def _weights(weights: Any, threads: int) -> np.ndarray:
    array = column(weights, "w")
    if isinstance(weights, list | tuple):
        refuse_rounded(weights, array, "w[{}]".format)
    threads = threads if len(array) >= MANY else 1
    array = contiguous(array, weight_dtype(array), threads)
    if array.dtype.kind == "f" and array.size and _has_nan(array, threads):
        row = int(np.argmax(np.isnan(array)))
        raise InputError(f"w[{row}] is NaN, which cannot be ordered: drop that edge or replace its weight")
    return array


def weight_dtype(array: np.ndarray) -> np.dtype:
    """Return which of `WEIGHT_DTYPES` weights are stored in; raise `InputError` if none represents them exactly."""
    dtype = array.dtype
    if dtype in WEIGHT_DTYPES:
        return dtype
    if array.size == 0:
        return _INT32 if dtype.kind in "iub" else np.dtype(np.float64)
    if dtype.kind == "b" or (dtype.kind in "iu" and dtype.itemsize < 4):
        return _INT32
    if dtype.kind == "u":
        if dtype.itemsize == 8 and int(array.max()) > np.iinfo(np.int64).max:
            row = int(np.argmax(array))
            raise InputError(f"w[{row}] = {array[row]} does not fit int64: scale the weights or use float64")
        return _INT64
    native = np.dtype(np.float32) if dtype.kind == "f" and dtype.itemsize == 2 else dtype.newbyteorder("=")
    if native not in WEIGHT_DTYPES:
        raise InputError(
            f"w has dtype {dtype}: convert it to numbers that int32, int64, float32 or float64 holds exactly"
        )
    return native


def _has_nan(array: np.ndarray, threads: int) -> bool:
    if threads == 1:
        # NaN counts as the maximum.
        return bool(np.isnan(array.item(array.argmax()) if len(array) < _FEW else np.maximum.reduce(array)))
    from mst.kernels.parallel.extremes import largest

    # A float is NaN if its bits other than the sign, read as an integer, exceed those of infinity.
    infinity = np.array([np.inf], array.dtype).view(f"u{array.itemsize}")
    bits = frozen(array).view(infinity.dtype)
    return largest(bits, 2 ** (8 * array.itemsize - 1) - 1, threads) > int(infinity[0])


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a read-only view; since all arrays of graphs are read-only, kernels are compiled for these alone.

    >>> import numpy as np
    >>> from mst.graph import frozen
    >>> frozen(np.arange(3)).flags.writeable
    False
    """
    view = array.view()
    view.setflags(write=False)
    return view
