"""The filter that a forest provides for other edges: the trees that its lightest edges form."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from mst.graph import frozen
from mst.kernels.filter_boruvka.parallel import trees
from mst.kernels.filter_boruvka.sequential.sample import stratified
from mst.kernels.filter_boruvka.sequential.trees import longest_run
from mst.kernels.parallel.pool import Pool
from mst.kernels.parallel.runtime import Schedule, new_tallies, workers
from mst.kernels.primitives.recycled import empty
from mst.kernels.streaming.filter import (
    OUTSIDE,
    Joined,
    join_edges,
    mark_up_to,
    roots_of,
    set_level,
    sort_by_level,
)

_SLICE, _SLICES = 1 << 17, 8
"""Fewest vertices or edges that a thread takes at a time, and how often each thread does so if there are many."""

_FEWEST, _FACTOR = 0.01, 2.0
"""Share of the forest's edges up to the first level, and the factor by which later levels have more or omit fewer."""

_LAST_LEFT_OUT = 1 / 16
"""Vertices that the last level leaves out, among as many vertices as there are edges per vertex."""

_LARGEST_GROUPS, _SMALL_BITMAP, _LARGE_BITMAP = 4, 1 << 17, 1 << 23
"""Bits of the largest group size of a bitmap; bits of a bitmap that fits the L1 cache among other data, and the L2."""

_MORE_OPEN, _MORE_OPEN_LARGE = 1 / 100, 1 / 20
"""Share of the edges that may become open if that halves the space of a bitmap, or of a large one."""

_LEAST_INSIDE = 1 / 32
"""Share of the edges that the largest tree has to connect to be worth a level."""


class Threads(NamedTuple):
    """The pool of threads that filter slices and copy columns, and their number."""

    pool: Pool
    width: int


class Filter(NamedTuple):
    """The criterion for dropping an edge of the stream.

    Attributes
    ----------
    bounds : numpy.ndarray of the weights' dtype, shape (levels,), or None
        The weight up to which the edges of the forest were joined at each level; None before the first solve.
    marked : int
        The level of the bitmap in `joined`.
    joined : Joined
        The trees that they form; of no vertices, so that every edge is kept, before the first solve.
    """

    bounds: np.ndarray | None
    marked: int
    joined: Joined

    def bounds_as(self, dtype: np.dtype) -> np.ndarray:
        """Return the bounds as weights of a wider dtype, shape (levels,); one zero if there are none yet."""
        return frozen(np.zeros(1, dtype) if self.bounds is None else self.bounds.astype(dtype, copy=False))


class Sample(NamedTuple):
    """Some edges of the stream, in its order.

    Attributes
    ----------
    u, v, w : numpy.ndarray, shape (k,)
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray


NO_FILTER = Filter(
    None, 0, Joined(np.empty(0, np.uint32), np.empty(0, np.uint8), np.zeros(1, np.uint64), np.uint64(0))
)


def filter_of(
    u: np.ndarray,
    v: np.ndarray,
    w: np.ndarray,
    n: int,
    seen: int,
    threads: Threads,
    sample: Iterable[Sample] = (),
    *,
    levels: bool = True,
) -> Filter:
    """Return the filter of a forest.

    Parameters
    ----------
    u, v : numpy.ndarray of int32 or int64, shape (k,)
        Ends of its edges.
    w : numpy.ndarray of any weight dtype, shape (k,)
        Their weights.
    n, seen : int
        Vertices, and edges of the stream whose forest it is.
    threads : Threads
    sample : iterable of Sample
        Edges of the stream like those to come, for the choice of the levels.
    levels : bool
        Whether to have more levels than the last one.
    """
    if not len(w):
        return NO_FILTER
    vertex_type, (pool, width) = np.dtype(f"u{u.itemsize}"), threads
    tallies = new_tallies(width)
    with workers(width):
        label = trees.new_parents(n, vertex_type, width, tallies, empty)
    joined = repeat(frozen(u.view(vertex_type))), repeat(frozen(v.view(vertex_type))), repeat(label)
    one, other = (column.astype(vertex_type) for column in _pairs(sample, n))
    member, level = one[:1], empty(n, np.uint8)
    level[:] = OUTSIDE
    highest, bounds = bounds_of_levels(w, n, seen)[0 if levels else -1 :], w[:0]
    places, starts = _by_level(threads, frozen(w), highest, vertex_type)
    for i, bound in enumerate(highest):
        parts = (places[row[i] : row[i + 1]] for row in starts)
        pool.map(join_edges, parts, *joined)
        roots, others = roots_of(label, one), roots_of(label, other)
        ordered = np.sort(roots)
        giant = ordered[longest_run(ordered)[0]]
        if roots_of(label, member)[0] != giant:
            # Another tree is the largest now.
            member, bounds = one[roots == giant][:1], bounds[:0]
            level[:] = OUTSIDE
        connected = np.mean((roots == giant) & (others == giant))
        if connected >= _LEAST_INSIDE or bound == highest[-1]:
            _over_slices(threads, set_level, n, label, giant, np.uint8(len(bounds)), level)
            bounds = np.append(bounds, bound)
    with workers(width):
        trees.flatten(Schedule(width, 4096, tallies), label)
    marked, shift = best_bitmap(bounds, level, sample)
    in_giant = empty(-(-n // (64 << shift)), np.uint64)
    _over_slices(threads, mark_up_to, len(in_giant), level, np.uint8(marked), np.uint64(shift), in_giant)
    return Filter(frozen(bounds), marked, Joined(label, level, in_giant, np.uint64(shift)))


def _by_level(
    threads: Threads, w: np.ndarray, bounds: np.ndarray, dtype: np.dtype
) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of edges, those of each slice by level, and for each slice where the levels start.

    Places are uint32 or uint64, shape (k,), starts int64, shape (slices, levels + 2): see `sort_by_level`.
    """
    firsts = _slices(len(w), threads.width)
    places, starts = empty(len(w), dtype), np.empty((len(firsts), len(bounds) + 2), np.int64)

    def sort(first: int, row: np.ndarray) -> None:
        sort_by_level(first, min(first + firsts.step, len(w)), w, bounds, places, row)

    threads.pool.map(sort, firsts, starts)
    return places, starts


def _over_slices(threads: Threads, function: Callable[..., None], size: int, *arguments: Any) -> None:
    """Call ``function(first, last, *arguments)`` for slices of 0 … `size`."""
    firsts = _slices(size, threads.width)
    threads.pool.map(lambda first: function(first, min(first + firsts.step, size), *arguments), firsts)


def _slices(size: int, width: int) -> range:
    """Return where slices of 0 … `size` begin; its step is their size."""
    return range(0, size, max(size // (_SLICES * width), _SLICE))


def _pairs(sample: Iterable[Sample], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the sampled edges below `n`; without any, those of loops at a sample of the vertices.

    Two arrays of int64, of one length.
    """
    some = stratified(n, 512)
    u, v = (np.concatenate([np.asarray(part[i], np.int64) for part in sample] or [some]) for i in (0, 1))
    known = (u < n) & (v < n)
    return (u[known], v[known]) if known.any() else (some, some)


def bounds_of_levels(w: np.ndarray, n: int, seen: int) -> np.ndarray:
    """Return the weights up to which the edges of a forest are joined for the levels of a filter, ascending.

    The lower a bound is, the more edges of the stream are heavier; the higher, the more of these have both ends in one
    tree. In a random graph with ``k`` edges per vertex so far, a single level that joins ``x`` of them leaves
    ``x / k + 2 exp(-2 x)`` of the edges open, which is least if a share of ``1 / 4 k`` of the vertices, and about as
    many edges of the forest, are left out. The last level leaves out a quarter of that; the first ones are for graphs
    most of whose edges are within a core. The result has the dtype of `w`, the weights of the forest.
    """
    sample = np.sort(w[:: max(len(w) // 65_536, 1)])
    last = min(_LAST_LEFT_OUT * n / max(seen, n) * (n / max(len(w), 1)), 0.5)
    joined = np.geomspace(_FEWEST, 0.5, 1 + math.ceil(math.log(0.5 / _FEWEST, _FACTOR)))
    left_out = np.geomspace(0.5, last, 1 + math.ceil(math.log(0.5 / last, _FACTOR)))
    shares = np.concatenate([joined[:-1], 1 - left_out])
    return np.unique(sample[np.maximum((len(sample) * shares).astype(np.int64) - 1, 0)])


def best_bitmap(bounds: np.ndarray, level: np.ndarray, sample: Iterable[Sample]) -> tuple[int, int]:
    """Return the level whose bitmap drops most of the edges of a sample, and the binary logarithm of its groups' size.

    Groups are doubled as long as few more edges become open and the bitmap takes much of a cache. Without a
    sample, it is the last level, and each vertex has a bit.
    """
    parts = [(part, (part[0] < len(level)) & (part[1] < len(level))) for part in sample]
    if not any(known.any() for _, known in parts):
        return len(bounds) - 1, 0
    u, v, w = (np.concatenate([part[i][known] for part, known in parts]) for i in range(3))
    after = np.searchsorted(bounds, w, "right")
    best, most = (0, 0), 0
    for shift in range(_LARGEST_GROUPS + 1):
        lowest = np.maximum(*(_highest_of_groups(level, ends, shift) for ends in (u, v)))
        dropped = lowest < after
        changes = np.bincount(lowest[dropped], minlength=256) - np.bincount(after[dropped], minlength=256)
        drops = np.cumsum(changes)[: len(bounds)]
        more = _MORE_OPEN if len(level) >> shift < _LARGE_BITMAP else _MORE_OPEN_LARGE
        if shift and drops.max() < most - len(w) * more:
            break
        best, most = (len(bounds) - 1 - int(np.argmax(drops[::-1])), shift), drops.max()
        if len(level) >> shift <= _SMALL_BITMAP:
            break
    return best


def _highest_of_groups(level: np.ndarray, vertices: np.ndarray, shift: int) -> np.ndarray:
    """Return the highest level, uint8, in the group of ``2 ** shift`` vertices of each of `vertices`, shape (k,)."""
    members = (vertices.astype(np.int64) >> shift << shift)[:, None] + np.arange(1 << shift)
    return level[np.minimum(members, len(level) - 1)].max(axis=1)
