"""Matches a forest file with the file of its graph, edge by edge: ends and weights must be exactly the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mst.formats.base import RawGraph
from mst.formats.ids import end_of, ids_of, vertices_of
from mst.graph import frozen
from mst.rounding import converted


@dataclass(frozen=True, eq=False)
class Match:
    """The edges of a forest, found in its graph.

    Attributes
    ----------
    graph, forest : RawGraph
    ends : tuple of two numpy.ndarray of int64, shape (forest.m,)
        The graph's vertices that are the ends of the forest's edges; -1 for an unknown vertex.
    ids : numpy.ndarray of int64, shape (forest.m,)
        The id of the graph's first edge with the same ends and weight; -1 if there is none.
    same : numpy.ndarray of int64, shape (forest.m,)
        The first row of the forest with an equal edge.
    """

    graph: RawGraph
    forest: RawGraph
    ends: tuple[np.ndarray, np.ndarray]
    ids: np.ndarray
    same: np.ndarray

    @property
    def wrong(self) -> np.ndarray:
        """Rows of the forest that are not in the graph, or repeat an earlier row: int64, ascending."""
        return np.flatnonzero((self.ids < 0) | (self.same != np.arange(len(self.same))))

    def mismatches(self) -> Iterator[str]:
        """Yield a line about each edge of the forest that is not in the graph, or repeats another."""
        if self.graph.base and len(self.wrong) and not len(_numbered(self.graph, self.forest).wrong):
            yield (
                f"the graph counts its vertices from {self.graph.base}, and has all edges of the forest only if the "
                f"forest counts them from 0: add {self.graph.base} to each, or write the forest with mst solve"
            )
            return
        if _count_differs(self.graph, self.forest):
            yield f"the forest file declares {self.forest.n:,} vertices, the graph has {self.graph.n:,}"
        rows, (a, b), w = self.wrong, self.ends, self.forest.w
        none, nothing = np.zeros(self.graph.m, np.uint32), np.zeros(len(rows), np.uint32)
        there, _ = _found(self.graph, none, _searched(a, b)[rows], b[rows], nothing)
        for row, first, place in zip(rows.tolist(), self.same[rows].tolist(), there.tolist()):
            names = [_name(self.forest, ends[row]) for ends in (self.forest.u, self.forest.v)]
            weight = "" if w is None else f" of weight {w[row]}"
            edge = f"edge {row + 1:,} of the forest, {{{names[0]}, {names[1]}}}{weight}, "
            unknown = [name for name, vertex in zip(names, (a[row], b[row])) if vertex < 0]
            if unknown:
                yield f"{edge}is not in the graph, which has no vertex {' and no vertex '.join(unknown)}"
            elif self.ids[row] >= 0:
                yield f"{edge}repeats edge {first + 1:,}"
            elif place < 0:
                yield f"{edge}is not in the graph, which has no edge between these ends"
            elif self.graph.w is None or w is None:
                yield f"{edge}is not in the graph: only one of the two files has weights"
            else:
                yield f"{edge}is not in the graph, where an edge between these ends has weight {self.graph.w[place]}"


def match(graph: RawGraph, forest: RawGraph) -> Match:
    """Find the edges of a forest in its graph, in linear time.

    A forest file that declares its number of vertices numbers them as `mst.formats.read` numbers the graph's. An edge
    list without a vertex count, and any edge list if the graph's ids count from 1 or above, uses the ids in the graph's
    file. If those have gaps, a list may instead number the vertices from 0; if they count from 0, from 1.

    Parameters
    ----------
    graph, forest : RawGraph
        Weights are equal if they are the same number, in any dtypes; -0.0 equals 0.0. If the graph has no weights, the
        forest's weights may be 1.

    Returns
    -------
    Match

    Examples
    --------
    >>> import numpy as np
    >>> from mst.formats.base import FileSummary, RawGraph
    >>> from mst.formats.forest_file import match
    >>> ends, summary = np.array([[0, 1, 2], [1, 2, 0]], np.int32), FileSummary(3, 3)
    >>> graph = RawGraph(3, *ends, np.array([5, 7, 6]), None, "headed", summary)
    >>> forest = RawGraph(3, *ends[:, 1:], np.array([7.0, 6.5]), None, "headed", summary)
    >>> match(graph, forest).ids.tolist(), list(match(graph, forest).mismatches())
    ([1, -1], ['edge 2 of the forest, {2, 0} of weight 6.5, is not in the graph, where an edge between these ends has \
weight 6'])
    """
    candidates = [_match(graph, forest, ends) for ends in _ends(graph, forest)]
    return min(candidates, key=lambda one: len(one.wrong))


def _match(graph: RawGraph, forest: RawGraph, ends: tuple[np.ndarray, np.ndarray]) -> Match:
    wanted, exact = _as_dtype(forest, graph.w)
    u = np.where(exact, _searched(*ends), -1)
    known = _bits(graph.w, graph.m), _bits(wanted, forest.m)
    ids, same = _found(graph, known[0], u, ends[1], known[1])
    return Match(graph, forest, ends, ids, same)


def _numbered(graph: RawGraph, forest: RawGraph) -> Match:
    """Find the edges of a forest that numbers the vertices from 0."""
    return _match(graph, forest, _within(graph, _written(forest)))


def _found(graph: RawGraph, bits: np.ndarray, *wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Call `mst.kernels.io.match.find_edges`, which is compiled for read-only arrays."""
    from mst.kernels.io.match import find_edges

    return find_edges(*map(frozen, (graph.u, graph.v, bits, *wanted)))


def _ends(graph: RawGraph, forest: RawGraph) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the ends of the forest's edges as vertices of the graph, -1 if unknown, for each possible numbering."""
    kept = _keeps_ids(graph, forest)
    if not (_names_vertices(graph, forest) or kept):
        yield _within(graph, (forest.u.astype(np.int64), forest.v.astype(np.int64)))
        return
    ends = _written(forest)
    if (ids := graph.ids) is not None:
        yield vertices_of(ends[0], ids), vertices_of(ends[1], ids)
        if graph.original_ids is not None and not kept:
            yield _within(graph, ends)
        return
    low, high = (min(map(np.min, ends)), max(map(np.max, ends))) if forest.m else (0, 0)
    # If an edge list counts from 0, its ids are the vertices, so the forest's cannot count from 1.
    from_one = low > 0 and graph.format != "edges"
    if not (from_one and high == graph.n):
        yield _within(graph, ends)
    if from_one:
        yield _within(graph, (ends[0] - 1, ends[1] - 1))


def _written(forest: RawGraph) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the forest's edges: the ids in an edge list, or the numbers of vertices in other formats."""
    u, v = forest.u.astype(np.int64), forest.v.astype(np.int64)
    ids = forest.ids if forest.format == "edges" else None
    return (u, v) if ids is None else (ids_of(u, ids), ids_of(v, ids))


def _names_vertices(graph: RawGraph, forest: RawGraph) -> bool:
    """Return whether a forest file names vertices by ids: an edge list, unless it and the graph's file may count."""
    is_declared = forest.original_ids is None and forest.summary.declared_n is not None
    return forest.format == "edges" and (graph.base > 0 or not is_declared)


def _count_differs(graph: RawGraph, forest: RawGraph) -> bool:
    """Return whether the forest file declares another number of vertices than the graph has."""
    declared = forest.summary.declared_n is not None
    return declared and forest.n != graph.n and not _keeps_ids(graph, forest)


def _keeps_ids(graph: RawGraph, forest: RawGraph) -> bool:
    """Return whether this is the forest of an edge list read in parts, which has all ids up to the largest."""
    from_one = forest.format == "edges" and forest.base
    return (
        graph.format == "edges" and not from_one and (ids := graph.ids) is not None and forest.n == end_of(ids)
    )


def _within(graph: RawGraph, ends: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    a, b = (np.where(column < graph.n, column, -1) for column in ends)
    return a, b


def _searched(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return `a`, but -1 where either end is unknown."""
    return np.where(b < 0, -1, a)


def _name(forest: RawGraph, vertex: np.integer) -> str:
    return str(int(vertex) + forest.base if forest.original_ids is None else forest.original_ids[vertex])


def _as_dtype(forest: RawGraph, like: np.ndarray | None) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the forest's weights in the graph's dtype, and which of them are exact in it."""
    w = forest.w
    if like is None and w is not None:
        return None, w == 1  # mst solve writes edges without weights like this
    if w is None or like is None:
        return None, np.full(forest.m, like is None)
    stored, changed = converted(w, like.dtype)
    return stored, ~changed


def _bits(w: np.ndarray | None, count: int) -> np.ndarray:
    """Return the bits of weights, with -0.0 as 0.0; zeros if there are no weights."""
    if w is None:
        return np.zeros(count, np.uint32)
    return (w + w.dtype.type(0) if w.dtype.kind == "f" else w).view(f"u{w.dtype.itemsize}")
