"""Filter-Borůvka by the ranks of one host, with trees in shared memory; each rank reads its own rows.

The method is that of `mst.algorithms.threads.filter_boruvka_threads` with ranks in place of threads: all ranks together
join one batch of edges after another, in ascending weight, to trees in shared memory
(`mst.kernels.filter_boruvka.parallel.join`). A rank selects light edges from its own rows only and writes them to
shared memory, ordered by batch, from which any rank may take them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mst.algorithms._filter_boruvka.rounds import Progress, Round, Sampled, next_round
from mst.algorithms._laps import Lap, no_lap
from mst.algorithms.mpi._spread import Slice, everything, sample_own
from mst.graph import frozen
from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.parallel import join, scatter, select, trees
from mst.kernels.filter_boruvka.parallel.records import AnyRecords, new_records
from mst.kernels.filter_boruvka.parallel.sample import Draws
from mst.kernels.filter_boruvka.parallel.storage import CopiedEdges, EdgeList
from mst.kernels.filter_boruvka.policy import MOST_BATCHES, RANKS, Policy
from mst.kernels.filter_boruvka.sequential.trees import giant_label
from mst.kernels.mpi.exchange import reduced
from mst.kernels.mpi.shared_memory import shared_scratch
from mst.kernels.parallel.runtime import FOREST, new_tallies
from mst.kernels.primitives.scratch import Scratch


@dataclass
class Host:
    """The ranks of one host, with their rows and shared memory.

    Attributes
    ----------
    comm : mpi4py.MPI.Intracomm
        All ranks of the host.
    edges : Slice
        This rank's edges.
    policy : Policy
    delay_seed : int
        Seed of delays in tests, see `mst.kernels.parallel.runtime.new_tallies`.
    """

    comm: Any
    edges: Slice
    policy: Policy = RANKS
    delay_seed: int = 0
    batches: int = field(default=0, init=False)
    light: int = field(default=0, init=False)
    lap: Lap = field(default=no_lap, init=False)
    rows: EdgeList | CopiedEdges = field(init=False)
    progress: Progress = field(init=False)
    copy: CopiedEdges | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        edges, comm = self.edges, self.comm
        self.size = reduced(comm, edges.size)
        self.scratch, self.own = shared_scratch(comm), Scratch()
        # Allocated here so that a solve finds memory whose pages have been touched.
        self._take_shared()
        self._gathered("counts", np.zeros(MOST_BATCHES + 1, np.int64))
        self._gathered("hits", np.zeros(2, np.int64))
        self._space_for_hits(rules.draw_count(self.size, 1, comm.size) + comm.size)
        light = rules.light_edges(self.size, edges.n, self.policy)
        whole = rules.takes_all(light, self.size, self.policy)
        self._records(self.size if whole else min(self.size, int(light * 1.1) + 64 * comm.size))

    def solve(self, lap: Lap = no_lap) -> np.ndarray:
        """Return the edge ids of the forest of the host's edges, in shared memory that the next call reuses.

        `lap` is called after each phase with its name.
        """
        self._begin(lap)
        progress = self.progress
        while progress.unfinished:
            following = next_round(progress, self._sample())
            if progress.in_giant is None:
                # Only after a filter: the share of heavy edges that it kept shows whether another one pays off.
                progress.heavy = progress.size
            lap("sample")
            self._join(*self._scatter(following))
            progress.end_round(following)
            if progress.unfinished:
                self._find_giant()
                if progress.has_giant:
                    self._copy_edges_outside()
        return self.forest[: self.tallies[FOREST]]

    def _begin(self, lap: Lap) -> None:
        """Make every vertex a tree and read this rank's rows."""
        comm, n = self.comm, self.edges.n
        self.lap, self.batches, self.light, self.rows = lap, 0, 0, self.edges.rows
        self._take_shared()
        trees.make_singletons(self.parent, *_share_of(comm, n))
        if comm.rank == 0:
            self.tallies[:] = new_tallies(comm.size, self.delay_seed)
        comm.Barrier()
        low, high = everything(self.edges)
        size = self.size
        self.progress = Progress(
            n, comm.size, self.policy, high, low, size=size, heavy=size, missing=n - 1, parent=self.parent
        )
        lap("init")

    def _take_shared(self) -> None:
        """Allocate the arrays that all ranks of the host write."""
        take, n, m = self.scratch.take, self.edges.n, self.edges.m
        self.tallies = take("tallies", len(new_tallies(self.comm.size)), np.int64)
        self.state = take("state", len(join.new_state(self.comm.size)), np.int64)
        self.parent = take("parent", n, np.uint32)
        self.forest = take("forest", max(min(n - 1, self.size), 0), np.int32 if m < 2**31 else np.int64)
        self.in_giant = take("inside", -(-n // 64), np.uint64)

    def _records(self, size: int) -> AnyRecords:
        key_type = self.edges.rows.words.dtype
        return new_records(size, np.int32, key_type, self.edges.m, self.scratch.numbered("edges"))

    def _sample(self) -> Sampled:
        """Return a sample as `mst.algorithms.mpi._spread.sample` does, exchanged through shared memory."""
        p = self.progress
        count = rules.draw_count(p.size, p.trees, p.width)
        draws = Draws(*p.low, p.parent if p.flat else p.parent[:0], count, p.trees)
        keys, ids, drawn = sample_own(self.rows, p.size, draws)
        hits, draws_of_all = self._gathered("hits", np.array([len(keys), drawn])).T
        last = np.cumsum(hits)
        own = slice(last[self.comm.rank] - len(keys), last[self.comm.rank])
        all_keys, all_ids = self._space_for_hits(int(last[-1]))
        all_keys[own], all_ids[own] = keys, ids
        self.comm.Barrier()
        return Sampled(all_keys, all_ids, p.size * len(all_keys) / max(int(draws_of_all.sum()), 1))

    def _space_for_hits(self, size: int) -> tuple[np.ndarray, np.ndarray]:
        take = self.scratch.take
        return take("sampled keys", size, self.edges.rows.words.dtype), take("sampled ids", size, np.int64)

    def _gathered(self, name: str, row: np.ndarray) -> np.ndarray:
        """Return the rows of all ranks in the shared array `name`, which may change after the next barrier."""
        table = self.scratch.take(name, (self.comm.size, len(row)), row.dtype)
        table[self.comm.rank] = row
        self.comm.Barrier()
        return table

    def _scatter(self, following: Round) -> tuple[AnyRecords, np.ndarray]:
        """Return the edges of a round in shared memory, ordered by batch, and the starts of the batches."""
        rows, p, own = self.rows, self.progress, self.own
        size, bounds = len(rows.words), select.bounds_of(following.keys, following.ids)
        counts, batch = np.zeros(len(bounds.keys) + 1, np.int64), own.take("batch", size, np.uint8)
        none = np.empty(0, np.int64)
        selected = select.SelectedPlaces(None, batch, none, none, counts)
        if not p.flat and following.high == p.highest:
            select.assign_batches(0, size, rows, bounds, batch, counts)
        else:
            places, picked = own.take("places", size, np.uint32), np.empty(select.BLOCK + 1, np.uint64)
            chunk = select.SelectedChunk(places, batch, counts)
            selected = selected._replace(places=places)
            size = select.select_chunk(0, size, rows, p.wanted(following), bounds, chunk, picked)
        self.lap("select")
        next_places = self._gathered("counts", counts).copy()
        starts = scatter.first_places(next_places)
        records = self._records(int(starts[-1]))
        self.lap("place")
        to, next_of_rank = np.empty(select.BLOCK, np.int64), next_places[self.comm.rank]
        scatter.scatter_chunk(0, size, rows, selected, next_of_rank, records, to)
        self.lap("scatter")
        return records, starts

    def _join(self, records: AnyRecords, starts: np.ndarray) -> None:
        """Join the records to the forest, one batch after another."""
        comm, p = self.comm, self.progress
        batches = join.batches_of(starts, np.zeros(len(starts) - 1, np.bool_), p.width)
        count = len(batches.any_order)
        joined = join.Joined(
            self.scratch.take("parts", (int(batches.chunks[-1]), 3), np.int64),
            self.scratch.take("surplus", count, np.int64),
            self.scratch.take("parallel", count, np.int64),
        )
        if comm.rank == 0:
            joined.closing[:] = joined.parallel[:] = 0
            join.open_first_phase(self.state, p.width, batches.chunks)
        comm.Barrier()
        # Every rank must look at the records before any rank moves one.
        forest = join.Forest(p.parent, self.forest, p.is_contended(records))
        comm.Barrier()
        shared = join.Shared(self.state, self.tallies)
        join.work(comm.rank, p.width, shared, batches, records, joined, forest)
        comm.Barrier()
        size = int(starts[-1])
        self.batches += count
        self.light += size
        p.missing = p.n - 1 - int(self.tallies[FOREST])
        # No rank may start the next round before all have read the result of this one.
        comm.Barrier()
        self.lap("join")

    def _find_giant(self) -> None:
        """Make the root of each vertex its parent, and mark the vertices of the tree that is largest in a sample."""
        comm, p = self.comm, self.progress
        trees.flatten_chunk(p.parent, *_share_of(comm, p.n))
        comm.Barrier()
        giant, p.giant_share = giant_label(p.parent)
        trees.mark_giant_chunk(p.parent, giant, *_share_of(comm, len(self.in_giant)), self.in_giant)
        comm.Barrier()
        p.flat, p.in_giant = True, self.in_giant
        self.lap("giant")

    def _copy_edges_outside(self) -> None:
        """Replace the rows by a copy of the remaining edges with an end outside the giant tree."""
        rows, own, p = self.rows, self.edges.rows, self.progress
        if self.copy is None:
            self.copy = select.new_copy(own, len(own.words) + 1, len(own.words))
        everything_left = Round(p.highest, own.words[:0], np.empty(0, np.int64), False, 0, 0)
        counted = np.zeros(select.SELECTED + 1, np.int64)
        select.copy_outside_serially(rows, p.wanted(everything_left), self.copy, counted)
        count = int(counted[select.SELECTED])
        self.rows, p.size = self.copy.resized(count, frozen), reduced(self.comm, count)
        p.in_giant = None
        self.lap("filter")


def _share_of(comm: Any, size: int) -> tuple[int, int]:
    """Return the bounds ``first, stop`` of this rank's share of ``0 … size - 1``."""
    return size * comm.rank // comm.size, size * (comm.rank + 1) // comm.size
