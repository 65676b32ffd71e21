"""Borůvka with labels that are spread over the ranks, in the manner of KaMSTa.

Sanders and Schimek, "Engineering Massively Parallel MST Algorithms" (IPDPS 2023, arXiv 2302.12199), §4: every
component belongs to one rank, which has all edges that leave it. A round picks the lightest at each component at
home, finds the roots of the trees that these make by doubling, asks the owners for the new labels of the other
ends (*ghosts*), renames roots to ``0 … k - 1``, sends every edge to the new owners of its ends, and drops all but
the lightest of parallel ones. Few components are left to the rounds with replicated labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mst.algorithms.mpi._laps import Lap, no_lap
from mst.algorithms.mpi._spread import Edges, Replicated, Rows, between
from mst.edge_slice import bounds as parts
from mst.kernels import spread_boruvka as kernels
from mst.kernels.mpi_exchange import exchange, lookup, reduced

FEW = 2048
"""So many components per rank are left to replicated labels."""

_LOW = np.uint64(2**32 - 1)


class Distributed:
    """Labels of vertices ``0 … n - 1``, each on the rank that owns the vertex; `wide` is whether ids lie beside.

    `lap` is called after each phase with its name.
    """

    def __init__(self, comm: Any, n: int, wide: bool, lap: Lap = no_lap):
        self.comm, self.n, self.k, self.wide, self.lap = comm, n, n, wide, lap
        self.vertices = parts(n, comm.size)
        self.label = np.arange(*self.vertices[comm.rank : comm.rank + 2])
        self.found: list[np.ndarray] = []
        self.rounds = self.ghosts = self.arcs_sent = 0

    def labels_of(self, x: np.ndarray) -> np.ndarray:
        """Return the labels of vertices, wherever they are."""
        return lookup(self.comm, self.label, self.vertices, x)

    def still_open(self, rows: Rows, low: tuple, high: tuple) -> Edges:
        """Return the edges above `low` and up to `high` that join two trees, ends replaced by labels."""
        edges = between(rows, low, high)
        a, b = map(self.labels_of, ends_of(edges.ends))
        ends = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
        return _chosen(edges._replace(ends=ends), a != b)

    def join(self, edges: Edges, *, last: bool) -> None:
        """Join edges, given by labels, to the forest; labels follow unless these edges are the `last`."""
        comm = self.comm
        while self.k > FEW * comm.size and reduced(comm, edges.count):
            edges = self._round(edges, last)
        base = Replicated(comm, self.k, self.wide, self.lap)
        base.join(edges, last=last)
        self.found.append(base.forest)
        self.rounds += base.rounds
        if not last:
            self.label, self.k = base.label[self.label].astype(np.int64), base.k

    def _round(self, edges: Edges, last: bool) -> Edges:
        comm, owned = self.comm, parts(self.k, self.comm.size)
        first, stop = owned[comm.rank : comm.rank + 2]
        arcs = self._deal(edges)
        self.lap("deal")
        best = np.full(stop - first, -1, np.int64)
        kernels.lightest_arcs(*arcs, first, best)
        above = np.arange(first, stop)
        has = best >= 0
        above[has] = arcs.ends[best[has]] >> np.uint64(32)
        self.lap("lightest")
        # The end that both chose the same edge at: the smaller stays a root.
        back = lookup(comm, above, owned, above)
        mutual = (back == np.arange(first, stop)) & has
        root = mutual & (np.arange(first, stop) < above)
        self.found.append(_ids(arcs, best[has & ~root]))
        above[root] = np.arange(first, stop)[root]
        # Every edge lies on the owners of both its ends: the one with the smaller end passes it on.
        arcs = _chosen(arcs, (arcs.ends & _LOW) < (arcs.ends >> np.uint64(32)))
        while True:
            further = lookup(comm, above, owned, above)
            moved = reduced(comm, int((further != above).any()), "MAX")
            above = further
            if not moved:
                break
        self.lap("double")
        is_root = above == np.arange(first, stop)
        counts = np.array([is_root.sum()], np.int64)
        before = np.empty(comm.size, np.int64)
        comm.Allgather(counts, before)
        fresh = np.cumsum(is_root) - 1 + int(before[: comm.rank].sum())
        number = lookup(comm, fresh, owned, above)
        ghosts = lookup(comm, number, owned, (arcs.ends >> np.uint64(32)).astype(np.int64))
        self.ghosts += arcs.count
        if not last:
            self.label = lookup(comm, number, owned, self.label)
        self.lap("rename")
        self.k = int(before.sum())
        self.rounds += 1
        kept = _without_parallels(arcs.first(kernels.rename(*arcs, number, first, ghosts)))
        self.lap("contract")
        return kept

    def _deal(self, edges: Edges) -> Edges:
        """Send each edge to the owners of both its ends; return what came as arcs, with this rank's end below."""
        arcs = 2 * edges.count
        dealt = Edges(
            np.empty(arcs, np.uint64), np.empty(arcs, np.uint64), np.empty(2 * len(edges.ids), np.uint64)
        )
        counts = np.zeros(self.comm.size, np.int64)
        kernels.deal(*edges, self.k, counts, *dealt)
        self.arcs_sent += arcs
        ends, words = (exchange(self.comm, column, counts)[0] for column in dealt[:2])
        return Edges(ends, words, exchange(self.comm, dealt.ids, counts)[0] if self.wide else dealt.ids)

    def counters(self) -> dict[str, int]:
        """Return how many rounds there were, labels this rank asked for, and directed edges it sent."""
        sizes = dict(ghosts=self.ghosts, arcs_sent=self.arcs_sent, vertex_bytes=self.label.nbytes)
        return dict(rounds=self.rounds, **sizes)

    @property
    def forest(self) -> np.ndarray:
        """Edge ids that this rank has found."""
        return np.concatenate(self.found) if self.found else np.empty(0, np.int64)


def ends_of(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both ends of edges, as int64."""
    return (ends & np.uint64(2**32 - 1)).astype(np.int64), (ends >> np.uint64(32)).astype(np.int64)


def _order(edges: Edges) -> tuple[np.ndarray, ...]:
    """Return the keys of `numpy.lexsort` that put edges in the order by (weight, edge id)."""
    return (edges.ids, edges.words) if len(edges.ids) else (edges.words,)


def _chosen(edges: Edges, which: np.ndarray) -> Edges:
    """Return copies of some edges."""
    return Edges(edges.ends[which], edges.words[which], edges.ids[which] if len(edges.ids) else edges.ids)


def _ids(edges: Edges, places: np.ndarray) -> np.ndarray:
    if len(edges.ids):
        return edges.ids[places].astype(np.int64)
    return (edges.words[places] & np.uint64(2**32 - 1)).astype(np.int64)


def _without_parallels(edges: Edges) -> Edges:
    """Return the lightest edge of each pair of ends."""
    order = np.lexsort((*_order(edges), edges.ends))
    kept = order[np.flatnonzero(np.diff(edges.ends[order], prepend=kernels.NOTHING))]
    return _chosen(edges, kept)
