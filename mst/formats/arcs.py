"""Converts the arcs of adjacency formats, which list each edge from both ends, to edges that occur once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from mst.errors import FormatError, InputError
from mst.formats import plain
from mst.formats.base import FileSummary, RawGraph
from mst.graph import Graph


class MergedArcs(NamedTuple):
    """Edges made by merging each arc with its reverse.

    Attributes
    ----------
    u, v : numpy.ndarray of int, shape (m,)
    w : numpy.ndarray, shape (m,), or None
    mirrored : int or None
        Number of arcs dropped as the reverse of another; None if all were kept, because the arcs are not symmetric.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray | None
    mirrored: int | None

    def graph(self, format: str, n: int, rows: int, declared_m: int | None = None) -> RawGraph:
        """Return the graph of these edges, which were read from `rows` entries of a file."""
        direction = "arcs" if self.mirrored is None else "both"
        summary = FileSummary(rows, n, declared_m, direction, self.mirrored or 0)
        return RawGraph(n, self.u, self.v, self.w, None, format, summary)


def merge_reverse_arcs(u: np.ndarray, v: np.ndarray, w: np.ndarray | None) -> MergedArcs:
    """Return each edge once if every arc a→b has a reverse arc b→a of the same weight, else all arcs.

    Self-loops are kept.
    """
    backward = u > v
    mirrored = int(np.count_nonzero(backward))
    if 2 * mirrored != np.count_nonzero(u != v) or not are_symmetric(u, v, w):
        return MergedArcs(u, v, w, None)
    forward = ~backward
    return MergedArcs(u[forward], v[forward], None if w is None else w[forward], mirrored)


def are_symmetric(u: np.ndarray, v: np.ndarray, w: np.ndarray | None) -> bool:
    """Return whether every arc has a reverse arc of the same weight; large lists are checked by a checksum."""
    if not plain.is_worthwhile(u.nbytes):
        return asymmetry_checksum(u, v, w) % 2**64 == 0
    weights = [] if w is None else [w]
    one, other = np.lexsort((*weights, v, u)), np.lexsort((*weights, u, v))
    return all(np.array_equal(a[one], b[other]) for a, b in ((u, v), (v, u), *((w, w) for w in weights)))


def asymmetry_checksum(u: np.ndarray, v: np.ndarray, w: np.ndarray | None) -> int:
    """Return a checksum that is 0 (mod 2⁶⁴) if every arc has a reverse arc of the same weight.

    The checksum of a list is the sum of the checksums of its parts.
    """
    from mst.kernels.io import adjacency as kernel

    if w is None:
        return int(kernel.asymmetry_checksum(u, v, np.empty(0, np.uint64), np.uint64(0)))
    width = 8 * w.dtype.itemsize
    negative_zero = 1 << (width - 1) if w.dtype.kind == "f" else 0
    return int(kernel.asymmetry_checksum(u, v, w.view(f"u{w.dtype.itemsize}"), np.uint64(negative_zero)))


class Arcs(NamedTuple):
    """All arcs of a file: ends, counted from 0, and weights, if there are any; each of shape (arcs,)."""

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray | None


def graph_from_arcs(path: Path, format: str, n: int, arcs: Arcs, declared_m: int | None = None) -> RawGraph:
    """Return the graph of all arcs of a file; raise a `FormatError` if an end is not a vertex."""
    check_ends(path, n, arcs.u, arcs.v)
    return merge_reverse_arcs(*arcs).graph(format, n, len(arcs.u), declared_m)


def check_ends(path: Path, n: int, *columns: np.ndarray) -> None:
    """Raise a `FormatError` unless all vertex ids lie in ``0 … n - 1``."""
    for column in columns:
        if column.size and (column.min() < 0 or column.max() >= n):
            at = int(np.argmax((column < 0) | (column >= n)))
            raise FormatError(path, f"entry {at:,} names vertex {column[at]}, outside 0 … {n - 1}")


def check_offsets(path: Path, offsets: np.ndarray, arcs: int) -> None:
    """Raise a `FormatError` unless the row offsets ascend from 0 to `arcs`."""
    if offsets.size and (offsets[0] != 0 or offsets[-1] != arcs or (offsets[1:] < offsets[:-1]).any()):
        raise FormatError(path, f"the row offsets do not ascend from 0 to {arcs:,}: the file is damaged")


def integer_weights(graph: Graph, dtype: type[np.signedinteger], title: str) -> np.ndarray:
    """Return the weights as `dtype`.

    Parameters
    ----------
    graph : Graph
    dtype : type
        ``numpy.int32`` or ``numpy.int64``.
    title : str
        Name of the format to be written, for the error message.

    Returns
    -------
    numpy.ndarray of `dtype`, shape (m,)

    Raises
    ------
    InputError
        A weight is not an integer, or does not fit; the message names the first such edge.

    Examples
    --------
    >>> import numpy as np
    >>> from mst import Graph
    >>> integer_weights(Graph(2, [0], [1], [5.0]), np.int32, "ECL")
    array([5], dtype=int32)
    """
    limits = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        wrong = ~((graph.w >= limits.min) & (graph.w <= limits.max)) | (np.floor(graph.w) != graph.w)
        # As a float64, the largest int64 is rounded up to 2⁶³, so a weight of 2⁶³ passes the comparison above.
        wrong |= (graph.w.dtype.kind == "f") & (graph.w >= 2.0 ** (8 * np.dtype(dtype).itemsize - 1))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(
            f"{title} files hold {limits.dtype} weights, but w[{at}] = {graph.w[at]}: "
            "scale the weights to integers, rank them, or write another format"
        )
    return graph.w.astype(dtype)
