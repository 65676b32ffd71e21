"""Borůvka with labels that are spread over the ranks, and edges that stay where they are.

After KaMSTa (Sanders and Schimek, "Engineering Massively Parallel MST Algorithms", IPDPS 2023, arXiv 2302.12199, §4),
where a label lies on one rank, and labels of other ends are asked for (*ghosts*). There edges are dealt out anew after
each round, by the order of their ends, as many to each rank. Here they never move: edges of a giant are on as many
ranks as its rows, and no rank has more of them than of rows. A round:

1. Every rank offers the owner of each component that its edges touch (its *names*) the lightest of these.
2. Owners keep the lightest offer, hang components by it, and find the roots by doubling.
3. Roots are numbered anew, owners and all ranks ask for the new names, and edges inside a component are dropped.

Offers and questions go in pieces (`mst.kernels.mpi.exchange.pieces`): nobody gets more at once than room is for.
Few components are left to the rounds with replicated labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mst.algorithms._laps import Lap, no_lap
from mst.algorithms.mpi._spread import Edges, Replicated, Rows, between
from mst.edge_slice import bounds as parts
from mst.kernels.mpi import spread_boruvka as kernels
from mst.kernels.mpi.exchange import ask, exchange, lookup, pieces, reduced
from mst.kernels.primitives.radix import sorted_records

FEW = 2048
"""Components per rank that are left to replicated labels, if not more in all than a rank's share of the vertices."""

ROOM = 1 << 12
"""Entries that are always sent at once; beyond, a quarter of the edges that a rank has."""

_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_EVERYWHERE = np.empty(0, np.uint32)


class Distributed:
    """Labels of vertices ``0 … n - 1``, each on the rank that owns the vertex; `wide` is whether ids lie beside.

    `lap` is called after each phase with its name.
    """

    def __init__(self, comm: Any, n: int, wide: bool, lap: Lap = no_lap):
        self.comm, self.n, self.k, self.wide, self.lap = comm, n, n, wide, lap
        self.vertices = parts(n, comm.size)
        # None while every vertex is its own label.
        self.label: np.ndarray | None = None
        self.room = ROOM
        self.found: list[np.ndarray] = []
        self.rounds = self.ghosts = self.offered = 0

    @property
    def few(self) -> int:
        """Components from which on labels are replicated: their arrays are no larger than a rank's share of others."""
        return min(FEW * self.comm.size, max(FEW, self.n // self.comm.size))

    def still_open(self, rows: Rows, low: tuple, high: tuple) -> Edges:
        """Return the edges above `low` and up to `high` that join two trees, ends replaced by labels."""
        size, count = len(rows.words), reduced(self.comm, len(rows.words), "MAX")
        self.room = max(ROOM, count // 4)
        # A few rows at a time: ends and answers take several times the room of rows.
        step = max(ROOM, count // 16)
        kept = []
        for first in range(0, count, step):
            at = min(first, size)
            u, v, words = (column[at : at + step] for column in (rows.u, rows.v, rows.words))
            kept.append(
                self._open(between(rows._replace(start=rows.start + at, u=u, v=v, words=words), low, high))
            )
        return Edges(*map(np.concatenate, zip(*kept))) if kept else between(rows, low, high)

    def _open(self, edges: Edges) -> Edges:
        if self.label is not None:
            halves = edges.ends.view(np.uint32)
            halves[:] = lookup(self.comm, self.label, self.vertices, halves, self.room)
        ends = edges.ends
        return _chosen(edges, ends & _LOW != ends >> _HALF)

    def join(self, edges: Edges, *, last: bool) -> None:
        """Join edges, given by labels, to the forest; labels follow unless these edges are the `last`."""
        comm = self.comm
        if self.k > self.few and reduced(comm, edges.count):
            self.room = max(ROOM, reduced(comm, edges.count, "MAX") // 4)
            edges, names = _named(edges)
            self.lap("name")
            while self.k > self.few and reduced(comm, edges.count):
                edges, names = self._round(edges, names, last)
            kernels.name(edges.ends, names)
        base = Replicated(comm, self.k, self.wide, self.lap)
        base.join(edges, last=last)
        self.found.append(base.forest)
        self.rounds += base.rounds
        if not last:
            first, stop = self.vertices[comm.rank : comm.rank + 2]
            self.label = base.label[first:stop].copy() if self.label is None else base.label[self.label]
        self.k = base.k

    def _round(self, edges: Edges, names: np.ndarray, last: bool) -> tuple[Edges, np.ndarray]:
        """Join each component to the one that its lightest edge leads to; return what edges and names are left."""
        comm, owned = self.comm, parts(self.k, self.comm.size)
        # Names whose edges have all been dropped are not asked for again.
        names = names if edges.count else names[:0]
        best = np.full(len(names), -1, np.int32)
        kernels.lightest(*edges, best)
        used = np.flatnonzero(best >= 0).astype(np.uint32) if (best < 0).any() else _EVERYWHERE
        asked, best = (names[used], best[used]) if len(used) else (names, best)
        self.lap("lightest")
        above, leaves, taken = self._hang(owned, edges, names, best, asked)
        del best
        self.found.append(taken)
        self.lap("offer")
        # Nobody asks for components that no edge leaves, unless vertices have them for labels.
        number = self._number(owned, above, leaves if last else np.ones_like(leaves))
        del above
        self.lap("rename")
        self.ghosts += len(asked)
        if not last:
            self.label = number if self.label is None else lookup(comm, number, owned, self.label, self.room)
        # Without a name here, what is sorted is let go before the next is made.
        most = max(1, 2 * self.room // comm.size)
        edges, names = _renamed(edges, names, _spots(ask(comm, number, owned, asked, most), used))
        self.rounds += 1
        self.lap("contract")
        return edges, names

    def _hang(
        self, owned: np.ndarray, edges: Edges, names: np.ndarray, best: np.ndarray, asked: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what each of this rank's components is hung under, which have edges, and the ids of those that hang.

        Roots are hung under themselves: components without edges, and of two that chose the same edge the smaller.
        """
        comm = self.comm
        first, stop = owned[comm.rank : comm.rank + 2]
        above, word, word_id = self._lightest_offers(owned, edges, names, best, asked)
        mine = np.arange(first, stop, dtype=np.uint32)
        leaves = above != kernels.NONE
        np.copyto(above, mine, where=~leaves)
        back = lookup(comm, above, owned, above, self.room)
        root = (back == mine) & (mine <= above)
        np.copyto(above, mine, where=root)
        # Words hold ids of 32 bits.
        return above, leaves, word_id[~root].astype(np.int64) if self.wide else word[~root].astype(np.uint32)

    def _lightest_offers(
        self, owned: np.ndarray, edges: Edges, names: np.ndarray, best: np.ndarray, asked: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the other end and the record of the lightest edge at each of this rank's components that has edges."""
        comm = self.comm
        first, stop = owned[comm.rank : comm.rank + 2]
        other = np.full(stop - first, kernels.NONE, np.uint32)
        word = np.empty(stop - first, np.uint64)
        word_id = np.empty(stop - first if self.wide else 0, np.uint64)
        counts = np.diff(np.searchsorted(asked, owned.astype(np.uint32)))
        most = max(1, self.room // comm.size)
        for begins, out in pieces(comm, counts, most):
            size = int(out.sum())
            offered = [np.empty(length, np.uint64) for length in (size, size, size if self.wide else 0)]
            kernels.offers(begins, out, asked, best, names, *edges, *offered)
            limit = most * comm.size
            pairs, incoming = exchange(comm, offered[0], out, limit=limit)
            came = [
                exchange(comm, rows, out, incoming=incoming, limit=limit)[0]
                for rows in offered[1 : 2 + self.wide]
            ]
            kernels.take_offers(
                pairs, came[0], came[1] if self.wide else offered[2], first, other, word, word_id
            )
            self.offered += size
        return other, word, word_id

    def _number(self, owned: np.ndarray, above: np.ndarray, counted: np.ndarray) -> np.ndarray:
        """Return for each of this rank's components the number of its root among those that are `counted`."""
        comm = self.comm
        first, stop = owned[comm.rank : comm.rank + 2]
        below = np.flatnonzero(above != np.arange(first, stop, dtype=np.uint32)).astype(np.uint32)
        moving = below
        while reduced(comm, len(moving), "MAX"):
            old = above[moving]
            new = lookup(comm, above, owned, old, self.room)
            above[moving] = new
            moving = moving[new != old]
        self.lap("double")
        numbered = counted.copy()
        numbered[below] = False
        before = np.empty(comm.size, np.int64)
        comm.Allgather(np.array([np.count_nonzero(numbered)], np.int64), before)
        fresh = np.cumsum(numbered, dtype=np.uint32)
        fresh -= numbered
        fresh += np.uint32(before[: comm.rank].sum())
        fresh[below] = lookup(comm, fresh, owned, above[below], self.room)
        self.k = int(before.sum())
        return fresh

    def counters(self) -> dict[str, int]:
        """Return how many rounds there were, labels this rank asked for, and edges that it offered to owners."""
        held = 0 if self.label is None else self.label.nbytes
        return dict(rounds=self.rounds, ghosts=self.ghosts, offered=self.offered, vertex_bytes=held)

    @property
    def forest(self) -> np.ndarray:
        """Edge ids that this rank has found."""
        return np.concatenate(self.found).astype(np.int64, copy=False) if self.found else np.empty(0, np.int64)


def _chosen(edges: Edges, which: np.ndarray) -> Edges:
    """Return copies of some edges."""
    return Edges(edges.ends[which], edges.words[which], edges.ids[which] if len(edges.ids) else edges.ids)


def _named(edges: Edges) -> tuple[Edges, np.ndarray]:
    """Return edges whose ends are places in the list of names, and the list, which ascends."""
    halves = edges.ends.view(np.uint32)
    spots = np.empty(len(halves), np.uint64)
    kernels.list_spots(halves, _EVERYWHERE, spots)
    spots, _ = sorted_records(spots, spots[:0])
    count = kernels.number_spots(spots, halves)
    return edges, spots[:count].astype(np.uint32)


def _spots(fresh: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Return fresh names above the places of the `used` old ones."""
    spots = np.empty(len(fresh), np.uint64)
    kernels.list_spots(fresh, used, spots)
    return spots


def _renamed(edges: Edges, names: np.ndarray, spots: np.ndarray) -> tuple[Edges, np.ndarray]:
    """Return the edges between two of the fresh names that `spots` give, and these names; `names` are overwritten."""
    spots, _ = sorted_records(spots, spots[:0])
    count = kernels.number_spots(spots, names)
    return edges.first(kernels.relabel(*edges, names)), spots[:count].astype(np.uint32)
