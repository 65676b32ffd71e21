"""Edges that are spread over ranks, and the rounds that join them while every rank keeps all labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst.algorithms._laps import Lap, no_lap
from mst.graph import frozen
from mst.kernels.filter_boruvka.parallel_filter import mark_range
from mst.kernels.filter_boruvka.parallel_sample import quantiles, sample_edges
from mst.kernels.mpi import spread_boruvka as kernels
from mst.kernels.mpi.exchange import allgather, allreduce, reduced
from mst.kernels.parallel.keys import FLOATS, INTEGERS, KEYS
from mst.kernels.primitives.keys import extremes, fits_float32, offset_keys, plain_keys

_NO_IDS = np.empty(0, np.uint64)
_NO_LABELS = np.empty(0, np.uint32)


class Rows(NamedTuple):
    """A rank's rows with the weights as words that `mst.kernels.parallel.keys.key_of` turns into keys.

    Row `i` has the edge id ``start + i``; of a selection of rows, ``start + ids[i]``, and these ascend.
    """

    n: int
    m: int
    start: int
    u: np.ndarray
    v: np.ndarray
    words: np.ndarray
    kind: int
    ids: np.ndarray | None = None

    @property
    def source(self) -> tuple[np.ndarray, ...]:
        """The arrays that edges are read from: see `mst.kernels.filter_boruvka.parallel_select`."""
        return self.words, self.u, self.v

    @property
    def packed(self) -> bool:
        """Whether a key and an edge id fit 64 bits."""
        return self.words.itemsize == 4 and self.m <= 2**32

    @property
    def bytes(self) -> int:
        return self.u.nbytes + self.v.nbytes + self.words.nbytes


class Edges(NamedTuple):
    """Edges as in `mst.kernels.mpi.spread_boruvka`."""

    ends: np.ndarray
    words: np.ndarray
    ids: np.ndarray

    def first(self, count: int) -> Edges:
        return Edges(self.ends[:count], self.words[:count], self.ids[:count])

    @property
    def count(self) -> int:
        return len(self.words)

    @property
    def bytes(self) -> int:
        return self.ends.nbytes + self.words.nbytes + self.ids.nbytes


def rows_of(part: Any, comm: Any) -> Rows:
    """Return a slice's rows; 64-bit weights get 32-bit keys if those of *all* ranks fit."""
    w = part.w
    if w.itemsize == 4:
        words, kind = w.view(np.uint32), INTEGERS if w.dtype.kind == "i" else FLOATS
    elif w.dtype.kind == "i":
        # Where a rank has no rows, its extremes must not count.
        none = np.iinfo(np.int64).max, np.iinfo(np.int64).min
        low, high = map(int, extremes(w) if len(w) else none)
        low, high = reduced(comm, low, "MIN"), reduced(comm, high, "MAX")
        if high - low < 2**32:
            words, kind = offset_keys(w, np.int64(low)), KEYS
        else:
            words, kind = w.view(np.uint64), INTEGERS
    elif reduced(comm, int(fits_float32(w)), "MIN"):
        words, kind = plain_keys(w.astype(np.float32)), KEYS
    else:
        words, kind = w.view(np.uint64), FLOATS
    return Rows(part.n, part.m, part.start, part.u, part.v, frozen(words), kind)


def everything(rows: Rows) -> tuple[Any, Any]:
    """Return the bounds (key, local row) below and above all edges, for `between`."""
    key = rows.words.dtype.type
    return (key(0), -1), (~key(0), 2**62)


def places_up_to(rows: Rows, ids: Any) -> Any:
    """Return the last of a rank's places whose edge ids are not above `ids`; below 0 if there is none."""
    at = np.asarray(ids, np.int64) - rows.start
    if rows.ids is None:
        return at
    wanted = np.clip(at, 0, 2**32 - 1).astype(np.uint32)
    return np.where(at < 0, -1, np.searchsorted(rows.ids, wanted, side="right") - 1)


def local(rows: Rows, bound: tuple) -> tuple:
    """Return a bound by (key, edge id) as one by (key, place on this rank)."""
    return bound[0], int(places_up_to(rows, bound[1]))


def mark(rows: Rows, low: tuple, high: tuple) -> tuple[np.ndarray, int]:
    """Return a bitmap of the rows above `low` and up to `high`, bounds by (key, edge id), and their number."""
    mask, flags = np.empty(-(-len(rows.words) // 64), np.uint64), np.empty(64, np.uint8)
    bounds = *local(rows, low), *local(rows, high)
    return mask, mark_range(0, len(rows.words), rows.words, rows.kind, *bounds, mask, flags)


def between(rows: Rows, low: tuple, high: tuple, label: np.ndarray = _NO_LABELS) -> Edges:
    """Return the edges above `low` and up to `high` that join different labels, ends replaced by labels."""
    mask, count = mark(rows, low, high)
    edges = room(count, rows.packed)
    count = kernels.gather_marked(mask, rows.words, rows.kind, rows.u, rows.v, label, rows.start, *edges)
    return edges.first(count)


def chosen(rows: Rows, places: np.ndarray) -> Edges:
    """Return the edges at some of a rank's rows."""
    bits = np.zeros(-(-len(rows.words) // 64) * 64, np.bool_)
    bits[places] = True
    mask = np.packbits(bits, bitorder="little").view(np.uint64)
    edges = room(len(places), rows.packed)
    count = kernels.gather_marked(mask, rows.words, rows.kind, rows.u, rows.v, _NO_LABELS, rows.start, *edges)
    return edges.first(count)


def room(count: int, packed: bool) -> Edges:
    """Return room for `count` edges, and one: kernels write ahead of what they keep."""
    ids = _NO_IDS if packed else np.empty(count + 1, np.uint64)
    return Edges(np.empty(count + 1, np.uint64), np.empty(count + 1, np.uint64), ids)


class Sampled(NamedTuple):
    """Keys and ids of a sample of all ranks' edges, by id, and how many edges it stands for."""

    keys: np.ndarray
    ids: np.ndarray
    edges: float

    def bounds(self, fractions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return keys and edge ids, in pairs, that about each of `fractions` of the edges do not exceed."""
        return quantiles(self.keys, self.ids, fractions)


def sample_own(
    rows: Rows, m: int, low: tuple, labels: Any, wanted: int, seed: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw a rank's share of `wanted` of `m` edges; return the keys and ids of hits, and how often it drew.

    A hit is an edge above `low` that joins different labels.
    """
    if not len(rows.words):
        return np.empty(0, rows.words.dtype), np.empty(0, np.int64), 0
    size = max(1, min(wanted * len(rows.words) // max(m, 1), len(rows.words)))
    keys, places = sample_edges(rows.source, rows.kind, *local(rows, low), labels, size, seed)
    ids = places if rows.ids is None else rows.ids[places].astype(np.int64)
    return keys, ids + rows.start, size


def sample(comm: Any, rows: Rows, m: int, low: tuple, labels: Any, wanted: int, seed: int) -> Sampled:
    """Sample the edges above `low` that join different labels; `m` edges lie on the ranks of `comm`."""
    keys, ids, drawn = sample_own(rows, m, low, labels, wanted, seed)
    drawn = reduced(comm, drawn)
    keys, ids = allgather(comm, keys), allgather(comm, ids)
    return Sampled(keys, ids, m * len(keys) / max(drawn, 1))


class Replicated:
    """Labels of ``0 … n - 1`` on every rank, and the edges that the ranks have found to be in the forest.

    `wide` is whether ids lie beside the edges' words: a rank without edges could not tell. `lap` is called after
    each phase with its name.
    """

    def __init__(self, comm: Any, n: int, wide: bool, lap: Lap = no_lap):
        self.comm, self.n, self.k, self.wide, self.lap = comm, n, n, wide, lap
        self.label = np.arange(n, dtype=np.uint32)
        self.found: list[np.ndarray] = []
        self.rounds = 0
        self.reduced_bytes = 0

    def join(self, edges: Edges, *, last: bool) -> None:
        """Join edges, given by labels, to the forest; labels follow unless these edges are the `last`."""
        comm, k, lap = self.comm, self.k, self.lap
        while k > 1 and reduced(comm, edges.count):
            best, best_id = self._lightest(edges, k)
            above, taken = np.full(k, kernels.NONE, np.uint32), np.empty(min(edges.count, k), np.uint64)
            count = kernels.hook(*edges, best, best_id, above, taken)
            self.found.append(taken[:count].astype(np.int64))
            lap("hook")
            allreduce(comm, above)
            lap("reduce")
            k = kernels.number_roots(above, best, best_id, not last)
            edges = edges.first(kernels.relabel(*edges, above))
            if not last:
                kernels.compose(self.label, above)
            lap("relabel")
            self.rounds += 1
            self.reduced_bytes += best.nbytes + best_id.nbytes + above.nbytes
        self.k = k

    def _lightest(self, edges: Edges, k: int) -> tuple[np.ndarray, np.ndarray]:
        best = np.full(k, kernels.NOTHING, np.uint64)
        kernels.offer_words(edges.ends, edges.words, best)
        self.lap("lightest")
        allreduce(self.comm, best)
        self.lap("reduce")
        best_id = np.full(k if self.wide else 0, kernels.NOTHING, np.uint64)
        if self.wide:
            kernels.offer_ids(*edges, best, best_id)
            self.lap("lightest")
            allreduce(self.comm, best_id)
            self.lap("reduce")
        return best, best_id

    def still_open(self, rows: Rows, low: tuple, high: tuple) -> Edges:
        """Return the edges above `low` and up to `high` that join two trees, ends replaced by labels."""
        return between(rows, low, high, self.label)

    def counters(self) -> dict[str, int]:
        """Return how many rounds there were, and the bytes that each rank put into reductions."""
        return dict(rounds=self.rounds, reduced_bytes=self.reduced_bytes, vertex_bytes=self.label.nbytes)

    @property
    def forest(self) -> np.ndarray:
        """Edge ids that this rank has found."""
        return np.concatenate(self.found) if self.found else np.empty(0, np.int64)
