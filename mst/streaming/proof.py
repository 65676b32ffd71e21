"""Proves the forest of a stream by a second pass: every edge is compared with the heaviest one on its path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from mst import order
from mst.cores import cores_for
from mst.formats.ids import Ids
from mst.graph import frozen
from mst.kernels.parallel.pool import Pool
from mst.kernels.primitives.radix import records, sorted_records
from mst.kernels.proof.path_maximum import EdgeList
from mst.kernels.proof.reconstruction import (
    edge_dtype,
    find_root_paths,
    link_trees,
    put_in_order,
    root_path_dtype,
)
from mst.kernels.streaming.filter import keep_open
from mst.kernels.streaming.paths import first_below_path
from mst.progress import step
from mst.proof import Proof, described, not_minimum, not_spanning
from mst.rounding import converted
from mst.streaming.batches import Batch, EdgeSemaphore, ResultsAhead, batches_of, slices
from mst.streaming.filter import NO_FILTER, Filter, Threads, filter_of
from mst.streaming.forest import StreamForest
from mst.units import count

_SLICE, _AHEAD = 1 << 18, 2


def prove_batches(forest: StreamForest, batches: Any, *, width: int = 1, ids: Ids | None = None) -> Proof:
    """Prove that a forest is the minimum spanning forest of a stream, from its batches alone.

    This is `mst.proof.prove` for streams. The edges of the forest must also have the same ends and weights as at their
    positions in the stream. Memory is about 110 bytes per vertex, and a few batches.

    Parameters
    ----------
    forest : StreamForest
    batches : iterable, or Arrow dataset
        The same stream again; see `mst.streaming.forest_of_batches`.
    width : int
        Threads for comparing edges.
    ids : range or numpy.ndarray, shape (n,), optional
        Names of the vertices, for the reason of a failure.

    Returns
    -------
    Proof
        Of grade ``identical``. If it failed, `details` hold the witness.

    Raises
    ------
    InputError
        A batch is invalid.
    InputError, UnsupportedError
        `width` is less than 1, or above the number of usable cores.

    Examples
    --------
    >>> import dataclasses
    >>> import mst
    >>> from mst.streaming import prove_batches
    >>> batches = [([0, 1], [1, 2], [5, 7]), ([2], [0], [6])]
    >>> forest = mst.minimum_spanning_forest(batches)
    >>> prove_batches(forest, batches).ok
    True
    >>> wrong = dataclasses.replace(forest, w=forest.w + 1)
    >>> prove_batches(wrong, batches).reason
    'edge 0 is 0–1 of weight 6 in the forest, but 0–1 of weight 5 in the stream'
    """
    started, width = perf_counter(), cores_for(width)
    names = range(forest.n) if ids is None else ids
    facts: dict[str, Any] = dict(forest_edges=len(forest), components=forest.components, weight=forest.weight)
    with step("preparing the proof"):
        reason, witness, paths = _paths(forest, names)
    m = 0
    if not reason:
        with step("comparing the stream with the forest") as working:
            for part in _checked(forest, names, paths, batches_of(batches), width):
                reason, witness, m = part.reason, part.witness, m + part.m
                working.update(f"{count(m)} edges compared with the forest")
                if reason:
                    break
    if not reason and m != forest.m:
        reason = f"the stream has {m:,} edges, but the forest is that of a stream of {forest.m:,}"
    seconds = perf_counter() - started
    return Proof(not reason, "identical", reason, forest.n, m, **facts, seconds=seconds, details=witness)


_Paths = tuple[np.ndarray, np.ndarray, np.ndarray]


def _paths(forest: StreamForest, names: Ids) -> tuple[str, dict[str, Any], _Paths]:
    """Return why the edges are not a forest, and a witness; or an empty reason, and the structures of its paths.

    These are the ranked records, the links and the root paths of `mst.kernels.proof.reconstruction`.
    """
    ids, unsigned = forest.edge_ids, np.dtype(f"u{forest.u.itemsize}")
    none = (np.empty(0), np.empty(0), np.empty(0))
    if len(ids) and (ids[0] < 0 or ids[-1] >= forest.m or (np.diff(ids) <= 0).any()):
        return f"the ids of the forest's edges are not ascending numbers from 0 to {forest.m - 1}", {}, none
    for ends in (forest.u, forest.v):
        if len(ids) and not (ends.min() >= 0 and ends.max() < forest.n):
            return f"the forest has edges to vertices outside 0 … {forest.n - 1}", {}, none
    if (forest.w != forest.w).any():
        return "the forest has edges whose weight is NaN, which cannot be ordered", {}, none
    words, places = sorted_records(*records(order.keys(forest.w)))
    edges = np.empty(len(ids), edge_dtype(unsigned, forest.m, forest.w.dtype))
    for field, column in (("u", forest.u), ("v", forest.v), ("weight", forest.w), ("id", ids)):
        edges[field] = column
    ranked = np.empty_like(edges)
    if put_in_order(edges, words, places, ranked) < 0:
        raise AssertionError(f"sorting the weights of {forest!r} failed: report this as a bug in mst")
    del edges, words, places
    links = np.empty((forest.n, 2), unsigned)
    cycle = link_trees(ranked, np.arange(forest.n, dtype=unsigned), links, np.empty((0, 3), unsigned))
    if cycle >= 0:
        edge = int(ranked[cycle]["id"])
        return f"{_of_forest(forest, names, edge)} closes a cycle", {"edge": edge}, none
    root_paths = np.empty(forest.n, root_path_dtype(unsigned, forest.w.dtype))
    find_root_paths(ranked, root_paths)
    return "", {}, (ranked, links, root_paths)


class _Checked(NamedTuple):
    """Why a slice of the stream contradicts the forest (or an empty reason), the witness, and the slice's edges."""

    reason: str
    witness: dict[str, Any]
    m: int

    def __len__(self) -> int:
        return 0  # its edges are not kept


def _checked(
    forest: StreamForest, names: Ids, paths: _Paths, batches: Iterator[Batch], width: int
) -> Iterator[_Checked]:
    """Yield the result of checking each slice of the stream."""

    def check(part: Batch, start: int) -> _Checked:
        return _Checked(*(_contradiction(forest, names, paths, known, part, start) or ("", {})), len(part.w))

    with Pool(width) as pool:
        known = _strict(filter_of(*forest.edges(), forest.n, forest.m, Threads(pool, width)))
        parts, space = slices(batches, 0, lambda: _SLICE), EdgeSemaphore(_AHEAD * width * _SLICE)
        with closing(ResultsAhead(pool, check, parts, space, {"read": 0.0})) as ahead:
            yield from ahead


def _strict(known: Filter) -> Filter:
    """Return a filter that drops only edges heavier than the path between their ends, not those of equal weight."""
    bounds = known.bounds
    if bounds is None:
        return NO_FILTER
    if bounds.dtype.kind == "f":
        with np.errstate(all="ignore"):  # the largest number is followed by infinity
            above = np.nextafter(bounds, bounds.dtype.type(np.inf))
    else:
        above = bounds + (bounds < np.iinfo(bounds.dtype).max).astype(bounds.dtype)
    return known._replace(bounds=above) if above[-1] > bounds[-1] else NO_FILTER


def _contradiction(
    forest: StreamForest, names: Ids, paths: _Paths, known: Filter, part: Batch, start: int
) -> tuple[str, dict[str, Any]] | None:
    """Return why a slice of the stream contradicts the forest, and a witness, or None."""
    for ends in (part.u, part.v):
        outside = (ends < 0) | (ends >= forest.n)
        if outside.any():
            edge = start + (row := int(np.argmax(outside)))
            reason = f"edge {edge} has the end {ends[row]}, but the forest has {forest.n:,} vertices"
            return reason, {"edge": edge}
    stored, changed = converted(part.w, forest.w.dtype if len(forest) else part.w.dtype)
    w = frozen(stored)
    changed |= w != w
    if changed.any():
        edge = start + (row := int(np.argmax(changed)))
        return f"edge {edge} has weight {part.w[row]}, which {w.dtype} cannot represent", {"edge": edge}
    first, last = np.searchsorted(forest.edge_ids, (start, start + len(w)))
    places = forest.edge_ids[first:last] - start
    same = (part.u[places] == forest.u[first:last]) & (part.v[places] == forest.v[first:last])
    same &= w[places] == forest.w[first:last]
    if not same.all():
        at = int(np.argmin(same))
        row, edge = int(places[at]), start + int(places[at])
        here = f"{names[part.u[row]]}–{names[part.v[row]]} of weight {w[row]}"
        u, v, weight = (column[first + at] for column in forest.edges())
        there = f"{names[u]}–{names[v]} of weight {weight}"
        return f"edge {edge} is {there} in the forest, but {here} in the stream", {"edge": edge}
    return _violation(forest, names, paths, known, part._replace(w=w), start)


def _violation(
    forest: StreamForest, names: Ids, paths: _Paths, known: Filter, part: Batch, start: int
) -> tuple[str, dict[str, Any]] | None:
    """Return the reason and witness of the first edge that is before the heaviest on its path, or joins two trees."""
    # Edges that the filter drops are heavier than a path between their ends.
    u, v = (frozen(ends.astype(f"u{forest.u.itemsize}", copy=False)) for ends in (part.u, part.v))
    open_rows = np.empty(len(part.w), np.uint32)
    bounds = known.bounds_as(part.w.dtype)
    kept, _, _ = keep_open(u, v, part.w, bounds, known.marked, known.joined, open_rows)
    open_rows = open_rows[:kept]
    edges = EdgeList(*(frozen(column[open_rows]) for column in (u, v, part.w)))
    at, rank = first_below_path(edges, open_rows + np.int64(start), *paths)
    if at < 0:
        return None
    row = int(open_rows[at])
    edge, weight = start + row, part.w[row]
    named = described(edge, names[part.u[row]], names[part.v[row]], weight)
    if rank >= len(paths[0]):
        return not_spanning(named), {"edge": edge}
    heaviest = int(paths[0][rank]["id"])
    lighter = weight < paths[0][rank]["weight"]
    reason = not_minimum(named, _of_forest(forest, names, heaviest), lighter=lighter)
    return reason, {"edge": edge, "path_maximum": heaviest}


def _of_forest(forest: StreamForest, names: Ids, edge: int) -> str:
    at = int(np.searchsorted(forest.edge_ids, edge))
    return described(edge, names[forest.u[at]], names[forest.v[at]], forest.w[at])
