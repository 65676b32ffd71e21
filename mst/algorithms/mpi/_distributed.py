"""Borůvka with labels distributed over the ranks, and edges that never move.

The method follows KaMSTa (Sanders and Schimek, "Engineering Massively Parallel MST Algorithms", IPDPS 2023, arXiv
2302.12199, §4): each label is stored on one rank, its owner, from which other ranks request it (*ghosts*). KaMSTa sorts
edges by their ends and redistributes them evenly after each round. Here every edge stays on the rank that has its row,
so no rank holds more edges than rows, even if one component is giant. A round takes three steps:

1. For each component that its edges touch, a rank offers its lightest edge there to the component's owner.
2. Owners keep the lightest offer, link their components across it, and find the roots by pointer doubling.
3. Roots get new numbers, ranks request the new numbers of the components that they use, and edges inside a component
   are dropped.

Offers and requests are sent in pieces (`mst.kernels.mpi.exchange.pieces`) to bound the memory that a rank receives at
once. Once few components are left, rounds with replicated labels take over.

A rank keeps a list of the components that its edges touch, its *names*; ends of edges are positions in this list.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst.algorithms._filter_boruvka.rounds import Bound
from mst.algorithms._laps import Lap, no_lap
from mst.algorithms.mpi._spread import Replicated, Slice, between
from mst.edge_slice import bounds as slice_bounds
from mst.kernels.mpi import spread_boruvka as kernels
from mst.kernels.mpi.exchange import exchange, lookup, lookup_sorted, pieces, reduced
from mst.kernels.mpi.spread_boruvka import Edges, Offered
from mst.kernels.primitives.radix import sorted_records

FEW = 2048
"""With at most this many components per rank, replicated labels take over; see `Distributed.few`."""

AT_ONCE = 1 << 12
"""The smallest limit on entries sent at once; it is raised to a quarter of the largest rank's edges."""

_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_ALL = np.empty(0, np.uint32)
"""Stands for all positions."""


class Named(NamedTuple):
    """Edges whose ends are positions in `names`, ascending components: uint32, shape (k,)."""

    edges: Edges
    names: np.ndarray


class Touched(NamedTuple):
    """Components that a rank's edges touch, uint32, ascending, and the position of each one's lightest edge, int32."""

    components: np.ndarray
    place: np.ndarray


class Hooked(NamedTuple):
    """The links of the `k` components that a rank owns, in one round.

    Attributes
    ----------
    parent : numpy.ndarray of uint32, shape (k,)
        Roots are their own parents: components without edges, and the smaller of two that chose the same edge.
    has_edges : numpy.ndarray of bool, shape (k,)
    ids : numpy.ndarray
        Edge ids of the links.
    """

    parent: np.ndarray
    has_edges: np.ndarray
    ids: np.ndarray


class Distributed:
    """Labels of vertices ``0 … n - 1``, each on its vertex's owner.

    `wide`: whether ids are in a separate array. `lap` is called after each phase with its name.
    """

    def __init__(self, comm: Any, n: int, wide: bool, lap: Lap = no_lap) -> None:
        self.comm, self.n, self.k, self.wide, self.lap = comm, n, n, wide, lap
        self.vertices = slice_bounds(n, comm.size)
        # None while every vertex is its own label.
        self.label: np.ndarray | None = None
        self.at_once = AT_ONCE
        self.found: list[np.ndarray] = []
        self.rounds = self.ghosts = self.offered = 0

    @property
    def few(self) -> int:
        """The most components with replicated labels: `FEW` per rank, at most a rank's share of vertices or `FEW`."""
        return min(FEW * self.comm.size, max(FEW, self.n // self.comm.size))

    def between_trees(self, edges: Slice, low: Bound, high: Bound) -> Edges:
        """Return the edges above `low` and up to `high` that join two trees, ends replaced by labels."""
        most = reduced(self.comm, edges.size, "MAX")
        self.at_once = max(AT_ONCE, most // 4)
        # In steps, because ends and replies take several times the memory of the rows.
        step = max(AT_ONCE, most // 16)
        kept = []
        for first in range(0, most, step):
            at = min(first, edges.size)
            kept.append(self._labelled(between(edges.cut(at, min(at + step, edges.size)), low, high)))
        return Edges(*map(np.concatenate, zip(*kept))) if kept else between(edges, low, high)

    def _labelled(self, edges: Edges) -> Edges:
        """Return the edges whose ends have different labels, ends replaced by labels."""
        if self.label is not None:
            halves = edges.ends.view(np.uint32)
            halves[:] = lookup(self.comm, self.label, self.vertices, halves, self.at_once)
        ends = edges.ends
        return edges.chosen(ends & _LOW != ends >> _HALF)

    def join(self, edges: Edges, *, last: bool) -> None:
        """Join edges, given by labels, to the forest; update labels unless these edges are the `last`."""
        comm = self.comm
        if self.k > self.few and reduced(comm, edges.size):
            self.at_once = max(AT_ONCE, reduced(comm, edges.size, "MAX") // 4)
            named = _named(edges)
            self.lap("name")
            while self.k > self.few and reduced(comm, named.edges.size):
                named = self._round(named, last)
            edges = named.edges
            kernels.rename_ends(edges.ends, named.names)
            del named
        base = Replicated(comm, self.k, self.wide, self.lap)
        base.join(edges, last=last)
        self.found.append(base.forest)
        self.rounds += base.rounds
        if not last:
            first, stop = self.vertices[comm.rank : comm.rank + 2]
            self.label = base.label[first:stop].copy() if self.label is None else base.label[self.label]
        self.k = base.k

    def _round(self, named: Named, last: bool) -> Named:
        """Link each component across its lightest edge; return the remaining edges and their names."""
        comm, owned = self.comm, slice_bounds(self.k, self.comm.size)
        touched, used = _touched(named)
        self.lap("lightest")
        hooked = self._hook(owned, named, touched)
        asked = touched.components
        del touched
        self.found.append(hooked.ids)
        self.lap("offer")
        # Components without edges need numbers only if vertices are labelled, because no edge refers to them.
        number = self._number(
            owned, hooked.parent, hooked.has_edges if last else np.ones_like(hooked.has_edges)
        )
        del hooked
        self.lap("rename")
        self.ghosts += len(asked)
        if not last:
            self.label = number if self.label is None else lookup(comm, number, owned, self.label, self.at_once)
        most = max(1, 2 * self.at_once // comm.size)
        # Bound to no name, the packed values are freed before `_renamed` makes the next array.
        named = _renamed(named, _packed_values(lookup_sorted(comm, number, owned, asked, most), used))
        self.rounds += 1
        self.lap("contract")
        return named

    def _hook(self, owned: np.ndarray, named: Named, touched: Touched) -> Hooked:
        """Link each of this rank's components across the lightest edge that any rank offers for it."""
        comm = self.comm
        first, stop = owned[comm.rank : comm.rank + 2]
        parent, word, word_id = self._lightest_offers(owned, named, touched)
        mine = np.arange(first, stop, dtype=np.uint32)
        has_edges = parent != kernels.NONE
        np.copyto(parent, mine, where=~has_edges)
        back = lookup(comm, parent, owned, parent, self.at_once)
        root = (back == mine) & (mine <= parent)
        np.copyto(parent, mine, where=root)
        # Narrow words hold the id in the low 32 bits.
        ids = word_id[~root].astype(np.int64) if self.wide else word[~root].astype(np.uint32)
        return Hooked(parent, has_edges, ids)

    def _lightest_offers(self, owned: np.ndarray, named: Named, touched: Touched) -> Offered:
        """Return the lightest edge that any rank offers for each of this rank's components."""
        comm = self.comm
        first, stop = owned[comm.rank : comm.rank + 2]
        offered = Offered(
            np.full(stop - first, kernels.NONE, np.uint32),
            np.empty(stop - first, np.uint64),
            np.empty(stop - first if self.wide else 0, np.uint64),
        )
        counts = np.diff(np.searchsorted(touched.components, owned.astype(np.uint32)))
        most = max(1, self.at_once // comm.size)
        limit = most * comm.size
        for begins, out in pieces(comm, counts, most):
            size = int(out.sum())
            offers = Edges(*(np.empty(length, np.uint64) for length in (size, size, size if self.wide else 0)))
            kernels.write_offers(begins, out, *touched, named.names, named.edges, offers)
            ends, incoming = exchange(comm, offers.ends, out, limit=limit)
            words, _ = exchange(comm, offers.words, out, incoming=incoming, limit=limit)
            ids = offers.ids
            if self.wide:
                ids, _ = exchange(comm, ids, out, incoming=incoming, limit=limit)
            kernels.take_offers(Edges(ends, words, ids), first, offered)
            self.offered += size
        return offered

    def _number(self, owned: np.ndarray, parent: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """Return the new number of the root of each of this rank's components.

        `owned`, shape (ranks + 1,), bounds the components of each rank; `parent` is overwritten by roots; `counted`
        tells which roots get a number.
        """
        comm = self.comm
        first, stop = owned[comm.rank : comm.rank + 2]
        below = np.flatnonzero(parent != np.arange(first, stop, dtype=np.uint32)).astype(np.uint32)
        moving = below
        while reduced(comm, len(moving), "MAX"):
            old = parent[moving]
            new = lookup(comm, parent, owned, old, self.at_once)
            parent[moving] = new
            moving = moving[new != old]
        self.lap("double")
        numbered = counted.copy()
        numbered[below] = False
        before = np.empty(comm.size, np.int64)
        comm.Allgather(np.array([np.count_nonzero(numbered)], np.int64), before)
        fresh = np.cumsum(numbered, dtype=np.uint32)
        fresh -= numbered
        fresh += np.uint32(before[: comm.rank].sum())
        fresh[below] = lookup(comm, fresh, owned, parent[below], self.at_once)
        self.k = int(before.sum())
        return fresh

    def counters(self) -> dict[str, int]:
        """Return the rounds, the labels this rank requested, the edges it offered, and the bytes of its labels."""
        held = 0 if self.label is None else self.label.nbytes
        return dict(rounds=self.rounds, ghosts=self.ghosts, offered=self.offered, vertex_bytes=held)

    @property
    def forest(self) -> np.ndarray:
        """Edge ids found by this rank."""
        return np.concatenate(self.found).astype(np.int64, copy=False) if self.found else np.empty(0, np.int64)


def _touched(named: Named) -> tuple[Touched, np.ndarray]:
    """Return the components that edges touch, and their positions in `named.names`, or `_ALL` if all are touched."""
    # Names that no remaining edge uses are left out.
    names = named.names if named.edges.size else named.names[:0]
    place: np.ndarray = np.full(len(names), -1, np.int32)
    kernels.lightest_at_ends(named.edges, place)
    used = np.flatnonzero(place >= 0).astype(np.uint32) if (place < 0).any() else _ALL
    return (Touched(names[used], place[used]) if len(used) else Touched(names, place)), used


def _named(edges: Edges) -> Named:
    """Return the edges with positions in a list of names for ends, and this list; `edges` is overwritten."""
    halves = edges.ends.view(np.uint32)
    packed = _packed_values(halves, _ALL)
    packed, _ = sorted_records(packed, packed[:0])
    count = kernels.number_values(packed, halves)
    return Named(edges, packed[:count].astype(np.uint32))


def _packed_values(values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return ``values[i] << 32 | places[i]`` for all `i`, as uint64; the place is `i` if `places` is `_ALL`."""
    packed: np.ndarray = np.empty(len(values), np.uint64)
    kernels.pack_values(values, places, packed)
    return packed


def _renamed(named: Named, packed: np.ndarray) -> Named:
    """Rename the ends of edges; return the edges whose ends still differ, and the list of new names.

    `packed` holds ``new name << 32 | position of the old name``. The old names and edges are overwritten.
    """
    edges, names = named
    packed, _ = sorted_records(packed, packed[:0])
    count = kernels.number_values(packed, names)
    return Named(edges.first(kernels.relabel(edges, names)), packed[:count].astype(np.uint32))
