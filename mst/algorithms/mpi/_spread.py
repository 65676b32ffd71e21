"""Edges distributed over ranks, and Borůvka rounds over them in which every rank keeps all labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst.algorithms._filter_boruvka.rounds import Bound, Sampled, highest_bound, lowest_bound
from mst.algorithms._laps import Lap, no_lap
from mst.graph import frozen
from mst.kernels.filter_boruvka.parallel.key_range import KeyRange, mark_chunk
from mst.kernels.filter_boruvka.parallel.sample import Draws, sample_edges
from mst.kernels.filter_boruvka.parallel.storage import CopiedEdges, EdgeList
from mst.kernels.mpi import spread_boruvka as kernels
from mst.kernels.mpi.exchange import allgather, allreduce, reduced
from mst.kernels.mpi.spread_boruvka import Edges, Lightest
from mst.kernels.parallel.keys import FLOATS, INTEGERS, KEYS
from mst.kernels.primitives.keys import extremes, fits_float32, offset_keys, plain_keys

_NO_IDS = np.empty(0, np.uint64)
_NO_LABELS = np.empty(0, np.uint32)


class Slice(NamedTuple):
    """A rank's rows of the edge list.

    Attributes
    ----------
    n, m : int
        Vertices and edges of the whole graph.
    rows : EdgeList
    """

    n: int
    m: int
    rows: EdgeList

    @property
    def packed(self) -> bool:
        """Whether key and edge id fit in 64 bits."""
        return self.rows.words.itemsize == 4 and self.m <= 2**32

    @property
    def size(self) -> int:
        """Number of rows of this rank."""
        return len(self.rows.words)

    @property
    def bytes(self) -> int:
        return self.rows.u.nbytes + self.rows.v.nbytes + self.rows.words.nbytes

    def cut(self, first: int, last: int) -> Slice:
        """Return rows ``first … last - 1`` of the slice."""
        words, kind, u, v, start = self.rows
        rows = EdgeList(words[first:last], kind, u[first:last], v[first:last], start + first)
        return Slice(self.n, self.m, rows)


def slice_of(part: Any, comm: Any) -> Slice:
    """Return the `Slice` of an `EdgeSlice`; 64-bit weights get 32-bit keys if the weights of all ranks allow it."""
    w = part.w
    if w.itemsize == 4:
        words, kind = w.view(np.uint32), INTEGERS if w.dtype.kind == "i" else FLOATS
    elif w.dtype.kind == "i":
        # A rank without rows must not change the extremes of the others.
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
    return Slice(part.n, part.m, EdgeList(frozen(words), kind, part.u, part.v, part.start))


def everything(edges: Slice) -> tuple[Bound, Bound]:
    """Return a bound below all edges and a bound above all edges."""
    key = edges.rows.words.dtype.type
    return lowest_bound(key), highest_bound(key, 2**62)


def mark(edges: Slice, low: Bound, high: Bound) -> tuple[np.ndarray, int]:
    """Return a bitmap of the rows above `low` and up to `high`, and their number."""
    words, kind, start = edges.rows.words, edges.rows.kind, edges.rows.start
    mask: np.ndarray = np.empty(-(-len(words) // 64), np.uint64)
    key_range = KeyRange(low[0], low[1] - start, high[0], high[1] - start)
    return mask, mark_chunk(0, len(words), words, kind, key_range, mask, np.empty(64, np.uint8))


def between(edges: Slice, low: Bound, high: Bound, label: np.ndarray = _NO_LABELS) -> Edges:
    """Return the edges above `low` and up to `high` whose ends have different labels, with labels for ends.

    Without `label`, vertices are their own labels.
    """
    mask, count = mark(edges, low, high)
    found = empty_edges(count, edges.packed)
    return found.first(kernels.gather_marked(mask, edges.rows, label, found))


def at_rows(edges: Slice, places: np.ndarray) -> Edges:
    """Return the edges at `places`, indices of a rank's rows; self-loops are left out."""
    bits = np.zeros(-(-edges.size // 64) * 64, np.bool_)
    bits[places] = True
    mask = np.packbits(bits, bitorder="little").view(np.uint64)
    found = empty_edges(len(places), edges.packed)
    return found.first(kernels.gather_marked(mask, edges.rows, _NO_LABELS, found))


def empty_edges(count: int, packed: bool) -> Edges:
    """Return uninitialised space for `count` edges; if `packed`, words will hold the ids."""
    ids = _NO_IDS if packed else np.empty(count, np.uint64)
    return Edges(np.empty(count, np.uint64), np.empty(count, np.uint64), ids)


def sample_own(rows: EdgeList | CopiedEdges, size: int, draws: Draws) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw a rank's share of `draws`, which sample the `size` edges of all ranks.

    Return the keys and ids of the hits, and the number of edges drawn.
    """
    if not len(rows.words):
        return np.empty(0, rows.words.dtype), np.empty(0, np.int64), 0
    count = max(1, min(draws.size * len(rows.words) // max(size, 1), len(rows.words)))
    keys, ids = sample_edges(rows, draws._replace(size=count))
    return keys, ids, count


def sample(comm: Any, edges: Slice, size: int, draws: Draws) -> Sampled:
    """Return a sample of the `size` edges of all ranks, the same on every rank."""
    keys, ids, drawn = sample_own(edges.rows, size, draws)
    drawn = reduced(comm, drawn)
    keys, ids = allgather(comm, keys), allgather(comm, ids)
    return Sampled(keys, ids, size * len(keys) / max(drawn, 1))


class Replicated:
    """Labels of vertices ``0 … n - 1`` on every rank, and this rank's edges of the forest found so far.

    `wide` tells whether edges keep ids in a separate array, which a rank without edges could not infer. `lap` is called
    after each phase with its name.
    """

    def __init__(self, comm: Any, n: int, wide: bool, lap: Lap = no_lap) -> None:
        self.comm, self.n, self.k, self.wide, self.lap = comm, n, n, wide, lap
        self.label = np.arange(n, dtype=np.uint32)
        self.found: list[np.ndarray] = []
        self.rounds = 0
        self.reduced_bytes = 0

    def join(self, edges: Edges, *, last: bool) -> None:
        """Join edges, whose ends are labels, to the forest; update the labels unless these edges are the `last`."""
        comm, k, lap = self.comm, self.k, self.lap
        while k > 1 and reduced(comm, edges.size):
            lightest = self._lightest(edges, k)
            parent, taken = np.full(k, kernels.NONE, np.uint32), np.empty(min(edges.size, k), np.uint64)
            count = kernels.hook(edges, lightest, parent, taken)
            self.found.append(taken[:count].astype(np.int64))
            lap("hook")
            allreduce(comm, parent)
            lap("reduce")
            k = kernels.number_roots(parent, lightest, not last)
            edges = edges.first(kernels.relabel(edges, parent))
            if not last:
                kernels.compose(self.label, parent)
            lap("relabel")
            self.rounds += 1
            self.reduced_bytes += lightest.words.nbytes + lightest.ids.nbytes + parent.nbytes
        self.k = k

    def _lightest(self, edges: Edges, k: int) -> Lightest:
        """Return the lightest edge at each of `k` components over the edges of all ranks."""
        lightest = Lightest(
            np.full(k, kernels.NOTHING, np.uint64), np.full(k if self.wide else 0, kernels.NOTHING, np.uint64)
        )
        kernels.lower_words(edges, lightest.words)
        self.lap("lightest")
        allreduce(self.comm, lightest.words)
        self.lap("reduce")
        if self.wide:
            kernels.lower_ids(edges, lightest)
            self.lap("lightest")
            allreduce(self.comm, lightest.ids)
            self.lap("reduce")
        return lightest

    def between_trees(self, edges: Slice, low: Bound, high: Bound) -> Edges:
        """Return the edges above `low` and up to `high` that join two trees, with labels for ends."""
        return between(edges, low, high, self.label)

    def counters(self) -> dict[str, int]:
        """Return the rounds, the bytes that each rank contributed to reductions, and the bytes of its labels."""
        return dict(rounds=self.rounds, reduced_bytes=self.reduced_bytes, vertex_bytes=self.label.nbytes)

    @property
    def forest(self) -> np.ndarray:
        """Edge ids found by this rank."""
        return np.concatenate(self.found) if self.found else np.empty(0, np.int64)
