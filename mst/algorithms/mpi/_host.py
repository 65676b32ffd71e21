"""Filter-Borůvka by the ranks of one host: shared trees, every rank its own rows.

The method of `mst.algorithms.threads.filter_boruvka_threads`, with ranks for threads: batches of ascending weight,
each joined by all ranks at once to trees in shared memory (`mst.kernels.filter_boruvka.parallel_join`). A rank
reads its own rows
only. What it finds light goes to shared memory, batch by batch, where any rank may take it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mst.algorithms._laps import Lap, no_lap
from mst.algorithms.mpi._spread import Rows, Sampled, everything, local, places_up_to, sample_own
from mst.algorithms.threads.filter_boruvka_threads import (
    GIANT,
    Tuning,
    batch_count,
    crowded,
    draws,
    exact,
    light_count,
    useful,
)
from mst.graph import frozen
from mst.kernels.filter_boruvka import parallel_batches as batches
from mst.kernels.filter_boruvka import parallel_join
from mst.kernels.filter_boruvka.batch_edges import new_edges
from mst.kernels.filter_boruvka.filter import giant_label
from mst.kernels.filter_boruvka.parallel_select import BLOCK
from mst.kernels.mpi import node_batches
from mst.kernels.mpi.exchange import reduced
from mst.kernels.mpi.shared_memory import shared_scratch
from mst.kernels.parallel.runtime import FOREST, new_counters
from mst.kernels.primitives.scratch import Scratch

PART = 200_000
"""Rows that a rank reads in the time that a part takes whatever its size: samples, bounds, and waiting for others."""


@dataclass
class Host:
    """The ranks of one host, their rows, and what they share."""

    comm: Any
    rows: Rows
    tuning: Tuning = field(default_factory=Tuning)
    kept: tuple[np.ndarray, ...] | None = None

    def __post_init__(self):
        rows, comm = self.rows, self.comm
        self.m = reduced(comm, len(rows.words))
        self.scratch, self.own = shared_scratch(comm), Scratch()
        self.size = max(min(rows.n - 1, self.m), 0)
        # Taken now, so that solving finds pages that have been touched.
        self._share()
        # As many batches as a byte tells apart.
        self._shown("counts", np.zeros(256, np.int64))
        self._shown("hits", np.zeros(2, np.int64))
        self._room_for_hits(draws(self.m, 1, comm.size) + comm.size)
        light = light_count(self.m, rows.n, self.tuning)
        whole = self._few(self.m, light)
        self._edges(self.m if whole else min(self.m, int(light * 1.1) + 64 * comm.size))

    def solve(self, lap: Lap = no_lap) -> np.ndarray:
        """Return the edge ids of the forest of the host's edges, in shared memory that the next call reuses.

        `lap` is called after each phase with its name.
        """
        self.lap = lap
        self._share()
        n, comm = self.rows.n, self.comm
        first, last = _share_of(comm, n)
        parallel_join.plant(self.parent, first, last)
        if comm.rank == 0:
            self.counters[:] = new_counters(comm.size, self.tuning.delay_seed)
        comm.Barrier()
        lap("init")
        low, top = everything(self.rows)
        roots, inside, rows, m, share = None, None, self.rows, self.m, 0.0
        self.heavy = m
        self.batches, self.light, self.left = 0, 0, n - 1
        while m and self.left > 0 and low != top:
            high, bounds, rare = self._plan(rows, m, low, top, roots)
            if inside is None:
                # Not before: what the filter left of all heavy edges says whether another one is of use.
                self.heavy = m
            lap("sample")
            closed = batches.Closed(inside, self.parent, exact(inside, share))
            self._join(*self._batches(rows, low, high, rare, closed, bounds))
            low = high
            if self.left > 0 and low != top:
                roots, (inside, share) = self.parent, self._inside_giant()
                lap("giant")
                if share > GIANT:
                    rows, m = self._open(rows, low, inside)
                    inside = None
                    lap("filter")
        return self.forest[: self.counters[FOREST]]

    def _share(self) -> None:
        take, n = self.scratch.take, self.rows.n
        self.counters = take("counters", len(new_counters(self.comm.size)), np.int64)
        self.state = take("state", len(parallel_join.new_state(self.comm.size)), np.int64)
        self.parent = take("parent", n, np.uint32)
        self.forest = take("forest", self.size, np.int32 if self.rows.m < 2**31 else np.int64)
        self.inside = take("inside", -(-n // 64), np.uint64)

    def _edges(self, size: int) -> tuple[np.ndarray, ...]:
        return new_edges(size, np.int32, self.rows.words.dtype, self.rows.m, self.scratch.numbered("edges"))

    def _few(self, edges: float, light: float) -> bool:
        """Return whether so many edges, the first to be joined, are not worth a filter."""
        return edges < light * self.tuning.filter_above / self.tuning.light

    def _plan(self, rows, m, low, top, roots):
        """Return up to which (key, id) the next part goes, the bounds between batches, and if it is a small part."""
        t, trees, width = self.tuning, self.left + 1, self.comm.size
        drawn = self._sample(rows, m, low, roots, draws(m, trees, width), trees)
        if len(drawn.keys) == 0:
            return top, (np.empty(0, rows.words.dtype), np.empty(0, np.int64)), True
        light = light_count(drawn.edges, trees, t)
        if roots is None:
            whole = self._few(drawn.edges, light)
        else:
            later = (drawn.edges - light) * useful(drawn.edges, self.heavy)
            whole = later * t.rescan < m + 2 * rows.n + PART * width
        share = 1.0 if whole else light / drawn.edges
        count = batch_count(drawn.edges * share, trees, width, t)
        keys, ids = drawn.bounds(np.arange(1, count + (not whole)) * (share / count))
        if whole:
            return top, (keys, ids), False
        return (keys[-1], int(ids[-1])), (keys[:-1], ids[:-1]), light * 128 < m

    def _sample(self, rows, m, low, labels, wanted, seed) -> Sampled:
        """Return what `mst.algorithms.mpi._spread.sample` does, by way of shared memory."""
        keys, ids, drawn = sample_own(rows, m, low, labels, wanted, seed)
        hits, draws_of_all = self._shown("hits", np.array([len(keys), drawn])).T
        last = np.cumsum(hits)
        own = slice(last[self.comm.rank] - len(keys), last[self.comm.rank])
        all_keys, all_ids = self._room_for_hits(int(last[-1]))
        all_keys[own], all_ids[own] = keys, ids
        self.comm.Barrier()
        return Sampled(all_keys, all_ids, m * len(all_keys) / max(int(draws_of_all.sum()), 1))

    def _room_for_hits(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        take = self.scratch.take
        return take("sampled keys", size, self.rows.words.dtype), take("sampled ids", size, np.int64)

    def _shown(self, name: str, row: np.ndarray) -> np.ndarray:
        """Return the rows that all ranks show under a name, in shared memory; after another barrier they may change."""
        board = self.scratch.take(name, (self.comm.size, len(row)), row.dtype)
        board[self.comm.rank] = row
        self.comm.Barrier()
        return board

    def _batches(self, rows, low, high, rare, closed, bounds):
        """Put the edges above `low`, at most `high`, into shared memory; return them and where batches begin."""
        comm, (keys, ids) = self.comm, bounds
        source, size, counts = rows.source, len(rows.words), np.zeros(len(keys) + 1, np.int64)
        batch, places = self.own.take("batch", size, np.uint8), None
        bounds = batches.bounds_of(keys, places_up_to(rows, ids))
        if (low, high) == everything(rows):
            batches.number_range(0, size, source, rows.kind, bounds, batch, counts)
        else:
            places, picked = self.own.take("places", size, np.uint32), np.empty(BLOCK + 1, np.uint64)
            part = batches.Part(*local(rows, low), *local(rows, high))
            selected = batches.sort_out_range(
                0, size, source, rows.kind, part, rare, closed, bounds, places, batch, counts, picked
            )
            places, batch = places[:selected], batch[:selected]
        self.lap("select")
        next_places = self._shown("counts", counts).copy()
        starts = batches.prefix(next_places)
        edges = self._edges(int(starts[-1]))
        self.lap("place")
        node_batches.scatter(
            source, rows.kind, rows.ids, places, batch, next_places[comm.rank], rows.start, edges
        )
        self.lap("scatter")
        return edges, starts

    def _join(self, edges, starts) -> None:
        comm, width = self.comm, self.comm.size
        starts, loose = parallel_join.without_empty(starts, np.zeros(len(starts) - 1, np.bool_))
        lengths, chunks = parallel_join.chunked(starts, width)
        parts = self.scratch.take("parts", (int(chunks[-1]), 3), np.int64)
        surplus = self.scratch.take("surplus", len(loose), np.int64)
        if comm.rank == 0:
            surplus[:] = 0
            parallel_join.begin(self.state, width, chunks)
        comm.Barrier()
        parallel_join.work(
            comm.rank, width, self.state, starts, lengths, chunks, loose, edges, parts, surplus,
            self.parent, crowded(self.rows.n, width, self.tuning), self.forest, self.counters,
        )  # fmt: skip
        comm.Barrier()
        self.batches += len(loose)
        self.light += int(starts[-1])
        self.heavy -= int(starts[-1])
        self.left = self.rows.n - 1 - int(self.counters[FOREST])
        # Nobody may start on the next part before all have read how this one ended.
        comm.Barrier()
        self.lap("join")

    def _open(self, rows, low, inside) -> tuple[Rows, int]:
        """Return those of a rank's rows above `low` that do not lie inside a tree, and how many all ranks have."""
        if self.kept is None:
            own = self.rows
            types = own.words.dtype, own.u.dtype, own.v.dtype, np.dtype(np.uint32)
            self.kept = tuple(np.empty(len(own.words) + 1, dtype) for dtype in types)
        count = node_batches.keep_open(rows.source, rows.kind, rows.ids, *local(rows, low), inside, self.kept)
        words, u, v, ids = (frozen(column[:count]) for column in self.kept)
        return rows._replace(words=words, u=u, v=v, ids=ids), reduced(self.comm, count)

    def _inside_giant(self):
        """Return the bitmap of the vertices in (what a sample takes for) the largest tree, and about their share.

        All vertices point at their roots.
        """
        comm = self.comm
        parallel_join.flatten(self.parent, *_share_of(comm, self.rows.n))
        comm.Barrier()
        giant, share = giant_label(self.parent)
        parallel_join.mark(self.parent, giant, *_share_of(comm, len(self.inside)), self.inside)
        comm.Barrier()
        return self.inside, share


def _share_of(comm: Any, size: int) -> tuple[int, int]:
    return size * comm.rank // comm.size, size * (comm.rank + 1) // comm.size
