"""Graphs from other libraries' objects: SciPy sparse arrays, networkx graphs, pandas and Arrow edge tables.

Objects are recognised by the modules of their classes, so that no library is imported in vain.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mst.cores import MANY
from mst.errors import InputError
from mst.formats.edges import WEIGHT_NAME
from mst.graph import WEIGHT_DTYPES, Graph, LabelledGraph, frozen, largest_word
from mst.interop.tables import from_table
from mst.rounding import refuse_rounded
from mst.simplify import are_few, simplify

_FEW_FOR_LOADED = 1 << 8
"""The most entries that NumPy merges faster than loaded code checks a matrix for symmetry."""


def convert(graph: Any, *, threads: int = 1) -> Graph | None:
    """Return the `Graph` of an object of a known library, or None for any other object.

    Parameters
    ----------
    graph : object
        A SciPy sparse array or matrix, a networkx graph, a pandas data frame, or any object that exports an Arrow
        stream. See `from_scipy`, `from_networkx` and `mst.interop.tables.from_table`.
    threads : int
        Threads for checking arrays and converting a sparse array.

    Returns
    -------
    Graph or None

    Raises
    ------
    InputError
        The object cannot be converted to a graph; see the same functions.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from mst.interop.inputs import convert
    >>> convert(csr_array([[0, 5], [0, 0]])).w.tolist(), convert("road.gr")
    ([5], None)
    """
    origins = {cls.__module__.split(".")[0] for cls in type(graph).__mro__}
    if "scipy" in origins and hasattr(graph, "tocoo"):
        return from_scipy(graph, threads=threads)
    if "networkx" in origins and hasattr(graph, "edges"):
        return from_networkx(graph)
    if ("pandas" in origins and hasattr(graph, "columns")) or hasattr(graph, "__arrow_c_stream__"):
        return from_table(graph, threads=threads)
    return None


def from_scipy(matrix: Any, *, threads: int = 1) -> Graph:
    """Return the graph of a square sparse array or matrix.

    Parameters
    ----------
    matrix : scipy.sparse array or matrix
        Entry (i, j) is the weight of edge i–j. As always in SciPy, values stored for the same entry are added up; use a
        `Graph` for parallel edges. Stored zeros are edges, except in the formats ``bsr`` and ``dia``, which pad
        with zeros. If both (i, j) and (j, i) are stored, the edge has the smaller weight, as in
        `scipy.sparse.csgraph.minimum_spanning_tree`. The diagonal is ignored.
    threads : int
        Threads to use, at most the number of usable cores.

    Returns
    -------
    Graph
        A simple graph with ``u < v``, sorted by (u, v), so ``forest.edges()`` returns the rows, columns and weights of
        the forest's entries. It shares the weights and columns of a large CSR array that already has this form.

    Raises
    ------
    InputError
        The matrix is damaged or not square, or holds complex numbers or NaN.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from mst.interop.inputs import from_scipy
    >>> graph = from_scipy(csr_array([[0, 2, 0], [3, 0, 4], [0, 0, 0]]))
    >>> graph.u.tolist(), graph.v.tolist(), graph.w.tolist()
    ([0, 1], [1, 2], [2, 4])
    """
    if not hasattr(matrix, "tocoo"):
        raise InputError(f"{type(matrix).__name__} is not a SciPy sparse array")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"the matrix of a graph must be square, got shape {matrix.shape}")
    given = matrix.format
    with _naming_damage(given):
        # The transpose has the same edges, and the transpose of a CSC array is a CSR array over the same memory.
        matrix = matrix.T if given == "csc" else matrix
        rows = checked_rows(matrix)
        if given in ("bsr", "dia"):
            rows.eliminate_zeros()
    # Waking threads takes longer than converting few entries.
    threads = threads if rows.nnz >= MANY else 1
    upper = _upper_triangle(rows, threads)
    if upper is None and not rows.has_canonical_format:
        rows = rows.copy() if rows is matrix else rows
        with _naming_damage(given):
            rows.sum_duplicates()
        upper = _upper_triangle(rows, threads)
    if upper is not None:
        return Graph(matrix.shape[0], *upper, trusted=True)
    graph = Graph(matrix.shape[0], rows_of(rows), rows.indices, rows.data, threads=threads)
    return simplify(graph, threads=threads)[0]


@contextmanager
def _naming_damage(given: str) -> Iterator[None]:
    """Turn SciPy's errors about the arrays of a matrix in the `given` format into `InputError`."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the {given} matrix is damaged, or has a dtype that SciPy cannot add up: {error}"
        ) from error


def _upper_triangle(rows: Any, threads: int) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the upper triangle of a symmetric CSR array; None if it is not symmetric or has too few entries."""
    if are_few(rows.nnz, _FEW_FOR_LOADED):
        return None
    if rows.data.dtype not in WEIGHT_DTYPES or rows.indices.dtype not in (np.int32, np.int64):
        return None
    from mst.kernels.graph.symmetric import upper_triangle

    return upper_triangle(frozen(rows.indptr), frozen(rows.indices), frozen(rows.data), threads)


def checked_rows(matrix: Any) -> Any:
    """Return the CSR form of a square sparse matrix; raise SciPy's error if its arrays are inconsistent.

    SciPy's conversions do not check indices; its full check reads them twice, which takes longer than solving a small
    graph.
    """
    if matrix.format == "coo":
        if any(_has_outside(indices, matrix.shape[0]) for indices in matrix.coords):
            raise ValueError(f"indices must be >= 0 and < {matrix.shape[0]}")
    elif matrix.format in ("csc", "bsr"):
        _check_offsets(matrix)
    else:
        matrix = matrix.tocsr()
        _check_offsets(matrix)
    return matrix.tocsr()


def _check_offsets(matrix: Any) -> None:
    """Raise SciPy's error if the arrays of a square CSR, CSC or BSR matrix are inconsistent."""
    matrix.check_format(full_check=False)
    offsets, size = matrix.indptr, getattr(matrix, "blocksize", (1, 1))[1]
    # For few offsets, this takes a third of the time of `any`.
    descending = np.count_nonzero(offsets[1:] < offsets[:-1])
    if descending or _has_outside(matrix.indices, matrix.shape[0] // size):
        matrix.check_format()
    if descending:
        # SciPy does not check offsets if there seem to be no entries.
        raise ValueError("indptr must be a non-decreasing sequence")


def _has_outside(indices: np.ndarray, end: int) -> bool:
    """Return whether any index is negative or not below `end`."""
    # Read as unsigned integers, negative indices are the largest.
    words = indices.view(f"{indices.dtype.byteorder}u{indices.itemsize}")
    return len(words) > 0 and largest_word(words) >= end


def rows_of(matrix: Any) -> np.ndarray:
    """Return the row of each entry of a CSR matrix, in the dtype of its indices."""
    offsets = matrix.indptr
    return np.arange(matrix.shape[0], dtype=matrix.indices.dtype).repeat(offsets[1:] - offsets[:-1])


def from_networkx(graph: Any, *, weight: str = "weight") -> Graph:
    """Return the graph of a networkx graph, directed or undirected, with or without parallel edges.

    Parameters
    ----------
    graph : networkx.Graph or a related class
    weight : str
        The edge attribute with the weight; edges without it have weight 1, as in networkx. If no edge has it although
        an edge has a number under another usual name, such as ``cost`` or ``length``, the graph is refused.

    Returns
    -------
    Graph
        Vertex i is ``list(graph)[i]``, and edge e is ``list(graph.edges)[e]``. Nodes other than 0, 1, … become the
        vertices' labels.

    Raises
    ------
    InputError
        A weight is NaN or not a real number (the message names the edge), or the weights have another name.

    Examples
    --------
    >>> import networkx
    >>> import mst
    >>> graph = networkx.Graph()
    >>> graph.add_weighted_edges_from([("a", "b", 1.5), ("b", "c", 2.5), ("a", "c", 0.5)])
    >>> forest = mst.minimum_spanning_forest(graph)
    >>> edges = list(graph.edges)
    >>> [edges[e] for e in forest.edge_ids]
    [('a', 'b'), ('a', 'c')]
    """
    if not hasattr(graph, "edges"):
        raise InputError(f"{type(graph).__name__} is not a networkx graph")
    if not isinstance(weight, str):
        raise InputError(f"the name of the weight attribute must be a string, got {weight!r}")
    places = {node: i for i, node in enumerate(graph)}
    _refuse_other_weights(graph, weight)
    # `list` would ask the view itself for its length, which networkx finds by adding up all degrees.
    edges = list(iter(graph.edges(data=weight, default=1)))
    u = np.fromiter((places[a] for a, _, _ in edges), np.int64, len(edges))
    v = np.fromiter((places[b] for _, b, _ in edges), np.int64, len(edges))
    weights = _edge_weights(edges, weight)
    nodes, name = list(places), str(graph.name or "")
    if nodes == list(range(len(nodes))):
        return Graph(len(nodes), u, v, weights, name=name)
    return LabelledGraph(nodes, u, v, weights, name=name)


def _refuse_other_weights(graph: Any, attribute: str) -> None:
    """Raise `InputError` if no edge has the attribute, but one has a number under another usual name for weights."""
    if any(attribute in given for *_, given in graph.edges(data=True)):
        return
    for a, b, given in graph.edges(data=True):
        for name, value in given.items():
            if WEIGHT_NAME.fullmatch(str(name).lower()) and _is_real(value):
                raise InputError(
                    f"no edge has {attribute}, but edge {(a, b)} has {name}={value!r}: pass "
                    f"mst.interop.inputs.from_networkx(graph, weight={name!r}), or set {attribute} to 1 if every edge "
                    "weighs the same"
                )


def _edge_weights(edges: list, attribute: str) -> np.ndarray:
    if not edges:
        return np.empty(0, np.int32)
    for a, b, given in edges:
        if not _is_real(given):
            raise InputError(
                f"edge {(a, b)} has {attribute}={given!r}: weights must be real and fit int64 or float64"
            )
    given_weights = [given for _, _, given in edges]
    weights = np.asarray(given_weights)
    refuse_rounded(given_weights, weights, lambda row: f"edge {edges[row][:2]}")
    if (unordered := weights != weights).any():
        edge = edges[int(unordered.argmax())][:2]
        raise InputError(
            f"edge {edge} has {attribute}=NaN, which cannot be ordered: drop it or replace its weight"
        )
    return weights


def _is_real(weight: Any) -> bool:
    if type(weight) is float or (type(weight) is int and -(2**63) <= weight < 2**63):
        return True
    try:
        return np.asarray(weight).dtype.kind in "biuf" and np.ndim(weight) == 0
    except ValueError:
        return False
