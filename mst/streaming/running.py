"""The running forest of a stream: its edges, the edges added since, and the filter for later ones."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from time import perf_counter
from typing import NamedTuple

import numpy as np

from mst.errors import InputError
from mst.forest import Forest
from mst.graph import Graph, frozen
from mst.kernels.parallel.pool import Future
from mst.kernels.primitives.recycled import empty
from mst.kernels.streaming.filter import gather, keep_open, survey
from mst.streaming.batches import Batch
from mst.streaming.checkpoint import Columns, State
from mst.streaming.filter import Filter, Sample, Threads, filter_of
from mst.streaming.memory import Budget

_SLICE = 1 << 20
_ROWS_PER_VERTEX, _SMALLEST_TABLE = 4, 1 << 22

_SAMPLED, _SAMPLES = 512, 16
"""The sample of a slice has one in this many of its edges, and this many of the latest samples are kept."""

_USELESS, _TRIED = 1 / 2, 8
"""After a filter that kept more than this share of edges, the next has a single level, except once in so many times."""


class Kept(NamedTuple):
    """The edges of a slice that the filter has kept.

    Attributes
    ----------
    columns : Columns
        The kept edges.
    n : int
        One more than the largest end in the slice.
    read : int
        Number of edges in the slice.
    sample : Sample
        Some of the slice's edges.
    filter : Filter
        The filter that was used.
    """

    columns: Columns
    n: int
    read: int
    sample: Sample
    filter: Filter

    def __len__(self) -> int:
        return len(self.columns.u)


class Limit(NamedTuple):
    """The largest number of vertices that a stream may have.

    Attributes
    ----------
    n : int
    budget : Budget, optional
        The memory budget that sets the limit; None if the caller gave the number of vertices.
    """

    n: int
    budget: Budget | None


class _Places(threading.local):
    """An array for each thread, reused so that the system need not clear its pages for each slice."""

    array = np.empty(0, np.uint32)


_places = _Places()

_NO_IDS = frozen(np.empty(0, np.int64))


def keep(batch: Batch, start: int, filter: Filter, limit: Limit) -> Kept:
    """Return the edges of a batch that may be in the forest; the batch begins at position `start` in the stream.

    Raises
    ------
    InputError
        An end is negative or not below the limit, or a weight is NaN.
    """
    if filter.bounds is None:
        largest, unordered = survey(*_unsigned(batch.u, batch.v), batch.w)
        columns = Columns(batch.u, batch.v, batch.w, np.arange(start, start + len(batch.w)))
    else:
        w = _comparable(batch.w, filter)
        places, largest, unordered = _open_edges(batch.u, batch.v, w, filter)
        columns = Columns(*gather(batch.u, batch.v, w, _NO_IDS, start, places))
    # Read as unsigned integers, negative ends are the largest.
    signed = np.iinfo(batch.u.dtype).max + 1
    if largest >= min(limit.n, signed) or unordered:
        raise _fault(batch, limit)
    sample = Sample(*(column[::_SAMPLED].copy() for column in batch[:3]))
    return Kept(columns, int(largest) + 1 if len(batch.w) else 0, len(batch.w), sample, filter)


def keep_again(kept: Kept, filter: Filter) -> Kept:
    """Return which of the edges that an earlier filter kept a later filter keeps, too."""
    if kept.filter is filter or not len(kept):
        return kept
    u, v, w, ids = map(frozen, kept.columns)
    places, _, _ = _open_edges(u, v, _comparable(w, filter), filter)
    columns = Columns(*gather(u, v, w, ids, 0, places))
    return Kept(columns, kept.n, kept.read, kept.sample, filter)


def _comparable(w: np.ndarray, filter: Filter) -> np.ndarray:
    """Return weights in the narrowest dtype that also holds the bounds of a filter."""
    if filter.bounds is None:
        return w
    return frozen(w.astype(np.promote_types(w.dtype, filter.bounds.dtype), copy=False))


def _open_edges(u: np.ndarray, v: np.ndarray, w: np.ndarray, filter: Filter) -> tuple[np.ndarray, int, int]:
    """Return the positions of edges to keep, the largest end of all edges, and the number of NaN weights.

    The positions, uint32, are valid until the same thread calls again.
    """
    if len(_places.array) < len(u):
        _places.array = np.empty(len(u), np.uint32)
    bounds = filter.bounds_as(w.dtype)
    kept, largest, unordered = keep_open(
        *_unsigned(u, v), w, bounds, filter.marked, filter.joined, _places.array
    )
    return _places.array[:kept], largest, unordered


def _unsigned(u: np.ndarray, v: np.ndarray) -> Iterator[np.ndarray]:
    """Return read-only views of both columns of ends, int32 or int64, as unsigned integers of the same size."""
    return (frozen(ids.view(f"u{ids.itemsize}")) for ids in (u, v))


def _copy(columns: Iterable[np.ndarray], target: Iterable[np.ndarray]) -> None:
    for values, column in zip(columns, target):
        column[:] = values


def _take(column: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    column.take(places, out=values[: len(places)], mode="clip")  # other modes copy once more


def _copy_column(values: np.ndarray, target: np.ndarray) -> None:
    target[:] = values[: len(target)]


def _fault(batch: Batch, limit: Limit) -> InputError:
    """Return the error for the first illegal edge."""
    nan = batch.w != batch.w
    wrong = [(ends < 0) | (ends >= limit.n) for ends in (batch.u, batch.v)]
    row = int(np.argmax(wrong[0] | wrong[1] | nan))
    if nan[row]:
        return batch.fault(row, "w is NaN, which cannot be ordered: drop that edge or replace its weight")
    field, end = ("u", batch.u[row]) if wrong[0][row] else ("v", batch.v[row])
    if limit.budget is None:
        problem = (
            f"is not a vertex: ids run from 0 to {limit.n - 1} (n = {limit.n}); raise n or compact the ids"
        )
    elif end < 0:
        problem = "is not a vertex: ids run from 0; shift or compact the ids"
    else:
        enough = limit.budget.amount_for(int(max(batch.u.max(), batch.v.max())) + 1)
        problem = (
            f"is above the {limit.n:,} vertices that fit into memory: raise the limit to {enough} or more, or compact "
            "the ids"
        )
    return batch.fault(row, f"{field} = {end} {problem}")


class RunningForest:
    """A table of edges: the forest after the last solve, then the edges added since.

    Edges are in the order of their ids, so breaking ties by position in the table breaks them by id.

    Parameters
    ----------
    solve : callable
        ``solve(graph)`` returns the `mst.Forest` of a graph in memory.
    budget : Budget
    threads : Threads
    n : int, optional
        The vertex count; by default, it grows with the largest end.
    least_n : int, optional
        The least vertex count, as for `mst.formats.base.RawStream`.

    Attributes
    ----------
    n : int
        Number of vertices so far.
    seen : int
        Number of edges read so far.
    size, forest : int
        Number of edges in the table, and of its first edges that are the forest of the last solve.
    limit : Limit
        The bound that the ends of edges must be below.
    looped : numpy.ndarray of bool, shape (limit.n,) or (0,)
        Which vertices have self-loops; empty without `least_n`.
    seconds : dict of str to float
        As for `mst.streaming.StreamForest`.
    algorithm : str
        Id of the algorithm of the last solve.
    """

    def __init__(
        self,
        solve: Callable[[Graph], Forest],
        budget: Budget,
        threads: Threads,
        n: int | None = None,
        least_n: int | None = None,
    ):
        self._solve, self.budget, self.threads = solve, budget, threads
        self.limit = Limit(budget.most_vertices, budget) if n is None else Limit(n, None)
        self.n = (least_n or 0) if n is None else n
        # As in the table below, only the pages that are written take memory.
        self.looped = np.zeros(0 if least_n is None else self.limit.n, np.bool_)
        self.seen = self.size = self.forest = 0
        self.algorithm, self.seconds = "", dict.fromkeys(("read", "filter", "solve", "trees"), 0.0)
        rows = budget.rows(self.n)
        types = (np.int32, np.int32, np.int32, np.int64)
        self._columns = [np.empty(rows, dtype) for dtype in types]
        self._typed = False
        self._copies: list[Future] = []
        self._samples: deque[Sample] = deque(maxlen=_SAMPLES)
        self._filters = self._read = self._kept = 0

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the time spent in the context to a part of `seconds`."""
        started = perf_counter()
        try:
            yield
        finally:
            self.seconds[part] += perf_counter() - started

    def columns(self) -> Columns:
        """Return the ends, weights and ids of the table's edges."""
        self._finish_copies()
        return Columns(*(column[: self.size] for column in self._columns))

    def add(self, kept: Kept) -> None:
        """Append edges; threads may still be copying them after the return.

        Raises
        ------
        OutOfMemoryError
            The table cannot hold them.
        """
        self.n = max(self.n, kept.n)
        if self.size + len(kept) > self.budget.rows(self.n):
            raise self.budget.refusal(self.n)
        self._fit_types(kept)
        end = self.size + len(kept)
        target = [column[self.size : end] for column in self._columns]
        self._copies = [copy for copy in self._copies if not copy.done()]
        self._copies.append(self.threads.pool.submit(_copy, kept.columns, target))
        self.size = end
        self.seen += kept.read
        self._samples.append(kept.sample)
        self._read, self._kept = self._read + kept.read, self._kept + len(kept)

    def _fit_types(self, kept: Kept) -> None:
        """Widen the columns to hold new ends and weights."""
        wanted = np.dtype(np.int32 if self.n < 2**31 else np.int64)
        weights = kept.columns.w.dtype
        if self._typed:
            weights = np.promote_types(weights, self._columns[2].dtype)
        types = [wanted, wanted, weights]
        self._typed = True
        for i, dtype in enumerate(types):
            if self._columns[i].dtype != dtype:
                self._finish_copies()
                wider = np.empty(len(self._columns[i]), dtype)
                wider[: self.size] = self._columns[i][: self.size]
                self._columns[i] = wider

    @property
    def weight_type(self) -> np.dtype | None:
        """The dtype of the weights; None before the first edges."""
        return self._columns[2].dtype if self._typed else None

    def restore(self, state: State) -> None:
        """Continue with the forest of an earlier pass."""
        self.n, self.seen, self.size = state.n, state.seen, len(state.columns.u)
        self.forest, self._typed = self.size, self.size > 0
        if self.size > self.budget.rows(self.n):
            raise self.budget.refusal(self.n)
        for i, values in enumerate(state.columns):
            if values.dtype != self._columns[i].dtype:
                self._columns[i] = np.empty(len(self._columns[i]), values.dtype)
            self._columns[i][: self.size] = values

    def has_space(self, kept: Kept) -> bool:
        """Return whether these edges fit into the table, and the table is not yet worth solving before adding them."""
        n = max(self.n, kept.n)
        return self.size + len(kept) <= min(self.budget.rows(n), max(_ROWS_PER_VERTEX * n, _SMALLEST_TABLE))

    def reduce(self) -> None:
        """Replace the table's edges by their forest."""
        if self.size == self.forest:
            return
        u, v, w, _ = (frozen(column) for column in self.columns())
        with self.timed("solve"):
            found = self._solve(Graph(self.n, u, v, w, trusted=True))
            self.algorithm, self.forest = found.algorithm, len(found.edge_ids)
            self.size = self.forest
            for column in self._columns:
                self._compact(column, found.edge_ids)

    def _compact(self, column: np.ndarray, places: np.ndarray) -> None:
        """Move the values of a column at ascending positions, shape (k,), to its first k entries."""
        pool, width = self.threads
        buffers = [empty(_SLICE, column.dtype) for _ in range(width)]
        for first in range(0, len(places), width * _SLICE):
            starts = range(first, min(first + width * _SLICE, len(places)), _SLICE)
            # Values only move towards the front: those read later lie behind the positions overwritten now.
            pool.map(_take, repeat(column), (places[i : i + _SLICE] for i in starts), buffers)
            pool.map(_copy_column, buffers, (column[i : min(i + _SLICE, len(places))] for i in starts))

    def take(self) -> Columns:
        """Return the columns cut to the edges in the table; no more edges can be added."""
        self._finish_copies()
        for column in self._columns:
            column.resize(self.size, refcheck=False)
        return Columns(*self._columns)

    def _finish_copies(self) -> None:
        for copy in self._copies:
            copy.result()
        self._copies = []

    def filter(self) -> Filter:
        """Return the filter of the forest of the last solve."""
        u, v, w, _ = (column[: self.forest] for column in self._columns)
        # In a stream sorted by vertex, or by descending weight, a filter drops few edges: a single level is as good.
        is_useful = self._kept < _USELESS * self._read or self._filters < 2 or self._filters % _TRIED == 0
        self._filters, self._read, self._kept = self._filters + 1, 0, 0
        with self.timed("trees"):
            samples = self._samples if is_useful else ()
            return filter_of(u, v, w, self.n, self.seen, self.threads, samples, levels=is_useful)
