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
from mst.kernels.mpi_exchange import by_rank, exchange, lookup, reduced
from mst.kernels.spread_boruvka import NOTHING

FEW = 2048
"""So many components per rank are left to replicated labels."""


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
        return lookup(self.comm, self.label, self.vertices, x.astype(np.int64))

    def still_open(self, rows: Rows, low: tuple, high: tuple) -> Edges:
        """Return the edges above `low` and up to `high` that join two trees, ends replaced by labels."""
        edges = between(rows, low, high)
        a, b = ends_of(edges.ends)
        return _joined(self.labels_of(a), self.labels_of(b), edges)

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
        source, target, arcs = self._deal(edges, owned)
        self.lap("deal")
        best = _lightest(source - first, arcs, stop - first)
        above = np.arange(first, stop)
        has = best >= 0
        above[has] = target[best[has]]
        self.lap("lightest")
        # The end that both chose the same edge at: the smaller stays a root.
        back = lookup(comm, above, owned, above)
        mutual = (back == np.arange(first, stop)) & has
        root = mutual & (np.arange(first, stop) < above)
        self.found.append(_ids(arcs, best[has & ~root]))
        above[root] = np.arange(first, stop)[root]
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
        # Every edge lies on the owners of both its ends: the one with the smaller end passes it on.
        once = source < target
        mine, ghosts = number[source[once] - first], lookup(comm, number, owned, target[once])
        self.ghosts += int(once.sum())
        if not last:
            self.label = lookup(comm, number, owned, self.label)
        self.lap("rename")
        self.k = int(before.sum())
        self.rounds += 1
        kept = Edges(
            np.empty(once.sum(), np.uint64), arcs.words[once], arcs.ids[once] if len(arcs.ids) else arcs.ids
        )
        kept = _without_parallels(_joined(mine, ghosts, kept))
        self.lap("contract")
        return kept

    def _deal(self, edges: Edges, owned: np.ndarray) -> tuple[np.ndarray, np.ndarray, Edges]:
        """Send each edge to the owners of both its ends; return source, target and records of what came."""
        a, b = ends_of(edges.ends)
        source, target = np.concatenate([a, b]), np.concatenate([b, a])
        order, counts = by_rank(np.searchsorted(owned, source, side="right") - 1, self.comm.size)
        columns = [source, target, np.concatenate([edges.words] * 2).view(np.int64)]
        if self.wide:
            columns.append(np.concatenate([edges.ids] * 2).view(np.int64))
        arrived, _ = exchange(self.comm, np.stack(columns, axis=1)[order], counts)
        self.arcs_sent += len(order)
        rest = arrived[:, 2:].T.copy().view(np.uint64)
        ids = rest[1] if self.wide else edges.ids[:0]
        return arrived[:, 0].copy(), arrived[:, 1].copy(), Edges(edges.ends[:0], rest[0], ids)

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


def _lightest(source: np.ndarray, arcs: Edges, size: int) -> np.ndarray:
    """Return which of the arcs is the lightest of each source ``0 … size - 1``, or -1."""
    order = np.lexsort((*_order(arcs), source))
    first = np.flatnonzero(np.diff(source[order], prepend=-1))
    best = np.full(size, -1, np.int64)
    best[source[order[first]]] = order[first]
    return best


def _ids(edges: Edges, places: np.ndarray) -> np.ndarray:
    if len(edges.ids):
        return edges.ids[places].astype(np.int64)
    return (edges.words[places] & np.uint64(2**32 - 1)).astype(np.int64)


def _joined(a: np.ndarray, b: np.ndarray, edges: Edges) -> Edges:
    """Return the edges whose ends, now `a` and `b`, differ; the smaller end first."""
    apart = a != b
    a, b = np.minimum(a, b)[apart], np.maximum(a, b)[apart]
    ends = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
    return Edges(ends, edges.words[apart], edges.ids[apart] if len(edges.ids) else edges.ids)


def _without_parallels(edges: Edges) -> Edges:
    """Return the lightest edge of each pair of ends."""
    order = np.lexsort((*_order(edges), edges.ends))
    kept = order[np.flatnonzero(np.diff(edges.ends[order], prepend=NOTHING))]
    return Edges(edges.ends[kept], edges.words[kept], edges.ids[kept] if len(edges.ids) else edges.ids)
