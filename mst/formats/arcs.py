"""Adjacency formats list an edge from both ends: arrays of arcs become edges, each once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.errors import FormatError, InputError
from mst.formats.base import Notes, RawGraph
from mst.graph import Graph


class Edges(NamedTuple):
    """Edges made of arcs: `mirrored` arcs were the other end of another one, None where arcs do not pair up."""

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray | None
    mirrored: int | None


def paired(u: np.ndarray, v: np.ndarray, w: np.ndarray | None) -> Edges:
    """Return each edge once when every arc a→b has a twin b→a of the same weight, else every arc.

    Self-loops stay as they are.
    """
    backward = u > v
    mirrored = int(np.count_nonzero(backward))
    if 2 * mirrored != np.count_nonzero(u != v) or balanced(u, v, w):
        return Edges(u, v, w, None)
    forward = ~backward
    return Edges(u[forward], v[forward], None if w is None else w[forward], mirrored)


def balanced(u: np.ndarray, v: np.ndarray, w: np.ndarray | None) -> int:
    """Return a sum that is 0 (mod 2⁶⁴) when every arc has its twin; sums of parts add up."""
    from mst.kernels.io.adjacency import pairing_checksum

    if w is None:
        return int(pairing_checksum(u, v, np.empty(0, np.uint64), np.uint64(0)))
    width = 8 * w.dtype.itemsize
    negative_zero = 1 << (width - 1) if w.dtype.kind == "f" else 0
    return int(pairing_checksum(u, v, w.view(f"u{w.dtype.itemsize}"), np.uint64(negative_zero)))


def raw_graph(
    path, format: str, n: int, u: np.ndarray, v: np.ndarray, w: np.ndarray | None, declared_m: int | None = None
) -> RawGraph:
    """Return the graph of all arcs of a file, ends checked."""
    check_ends(path, n, u, v)
    edges = paired(u, v, w)
    both = edges.mirrored is not None
    notes = Notes(len(u), n, declared_m, "both" if both else "arcs", edges.mirrored or 0)
    return RawGraph(n, edges.u, edges.v, edges.w, None, format, notes)


def check_ends(path, n: int, *columns: np.ndarray) -> None:
    """Refuse vertex ids outside ``0 … n - 1``."""
    for column in columns:
        if column.size and (column.min() < 0 or column.max() >= n):
            at = int(np.argmax((column < 0) | (column >= n)))
            raise FormatError(path, f"entry {at:,} names vertex {column[at]}, outside 0 … {n - 1}")


def check_offsets(path, offsets: np.ndarray, arcs: int) -> None:
    """Refuse row offsets that do not climb from 0 to `arcs`."""
    if offsets.size and (offsets[0] != 0 or offsets[-1] != arcs or (offsets[1:] < offsets[:-1]).any()):
        raise FormatError(path, f"the offsets of the rows do not climb from 0 to {arcs:,}: the file is damaged")


def integer_weights(graph: Graph, dtype: type, title: str) -> np.ndarray:
    """Return the weights as `dtype`, or refuse those that are not whole or do not fit.

    Raises
    ------
    InputError
        Names the edge.
    """
    limits = np.iinfo(dtype)
    with np.errstate(invalid="ignore"):
        wrong = ~((graph.w >= limits.min) & (graph.w <= limits.max)) | (np.floor(graph.w) != graph.w)
        # The largest int64 is no float64: 2⁶³ passes the comparison above.
        wrong |= (graph.w.dtype.kind == "f") & (graph.w >= 2.0 ** (8 * np.dtype(dtype).itemsize - 1))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(
            f"{title} files hold {limits.dtype} weights, and w[{at}] = {graph.w[at]}: "
            "scale or rank the weights, or write another format"
        )
    return graph.w.astype(dtype)
