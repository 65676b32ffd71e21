"""Borůvka with one reduction of the lightest edges per round: Shou and He's first message-passing approach.

Shou and He, "Parallel Minimum Spanning Tree" (15-418 final project, CMU), §3.4 and listing 8: every rank has the whole
graph and examines the edges j with j mod p = rank; an all-reduce finds the lightest edge of every component; all ranks
join the same edges in their own copy of the union-find. The authors abandoned this approach because memory per rank
does not shrink with the number of ranks; `counters` reports the bytes that a rank holds.

``rounds="relabelled"`` is our improvement: a rank drops its edges inside components and keeps labels instead of the
union-find, at the cost of a second reduction per round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mst.algorithms._laps import Lap, LapsOfRanks, no_lap
from mst.algorithms.mpi._spread import Replicated, Slice, between, everything, slice_of
from mst.edge_slice import EdgeSlice
from mst.kernels.filter_boruvka.parallel.storage import EdgeList
from mst.kernels.mpi import replicated_boruvka as kernels
from mst.kernels.mpi.exchange import allgather, allreduce, gather, reduced
from mst.kernels.mpi.spread_boruvka import NOTHING, Edges, Lightest

ALGORITHM = dict(
    id="allreduce-boruvka-mpi",
    paradigm="mpi",
    paper="shou-he",
    title="Borůvka with all-reduce",
    input="edges",
    options=dict(
        rounds=dict(
            default="listing",
            choices=("listing", "relabelled"),
            help="look up the sets of all edges in every round, as listed, or relabel edges and drop inner ones",
        ),
    ),
    requires=("numba", "mpi4py"),
    limits=dict(n=2_147_483_647),
)


@dataclass
class Problem:
    """The whole graph, on every rank, and this rank's share of its edges."""

    comm: Any
    graph: Slice
    edges: Edges
    rounds: str


class Joined:
    """Listing 8: a union-find of all vertices, and the edges that united its sets; both are the same on all ranks."""

    def __init__(self, problem: Problem, lap: Lap) -> None:
        self.problem, self.lap, n = problem, lap, problem.graph.n
        self.parent, self.index = np.arange(n, dtype=np.uint32), np.arange(n, dtype=np.uint32)
        self.found: list[np.ndarray] = []
        self.rounds = self.reduced_bytes = 0

    def join(self) -> None:
        """Unite sets across their lightest edges until no edge joins two sets."""
        rows, k, joined = self.problem.graph.rows, self.problem.graph.n, 1
        while joined and k > 1:
            lightest = self._lightest(k)
            taken = np.empty(k, np.int64)
            joined = kernels.join(lightest, rows.u, rows.v, self.parent, taken)
            self.lap("hook")
            k = kernels.number_sets(self.parent, self.index)
            self.lap("relabel")
            if joined:
                self.found.append(taken[:joined])
                self.rounds += 1
                self.reduced_bytes += lightest.words.nbytes + lightest.ids.nbytes

    def _lightest(self, k: int) -> Lightest:
        """Return the lightest edge at each of `k` sets over the edges of all ranks."""
        comm, edges = self.problem.comm, self.problem.edges
        wide = 0 if self.problem.graph.packed else k
        lightest = Lightest(np.full(k, NOTHING, np.uint64), np.full(wide, NOTHING, np.uint64))
        kernels.lower_words(edges, self.parent, self.index, lightest.words)
        self.lap("lightest")
        allreduce(comm, lightest.words)
        self.lap("reduce")
        if wide:
            kernels.lower_ids(edges, self.parent, self.index, lightest)
            self.lap("lightest")
            allreduce(comm, lightest.ids)
            self.lap("reduce")
        return lightest

    def counters(self) -> dict[str, int]:
        """Return the rounds, the bytes that each rank contributed to reductions, and its bytes for vertices."""
        vertex_bytes = self.parent.nbytes + self.index.nbytes
        return dict(rounds=self.rounds, reduced_bytes=self.reduced_bytes, vertex_bytes=vertex_bytes)

    @property
    def forest(self) -> np.ndarray:
        """Edge ids of the forest on rank 0; empty on other ranks."""
        found = self.found if self.problem.comm.rank == 0 else []
        return np.concatenate(found) if found else np.empty(0, np.int64)


def prepare(part: EdgeSlice, *, comm: Any, rounds: str) -> Problem:
    own = slice_of(part, comm)
    words, u, v = (allgather(comm, column) for column in (own.rows.words, own.rows.u, own.rows.v))
    graph = Slice(own.n, own.m, EdgeList(words, own.rows.kind, u, v))
    everywhere = between(graph, *everything(graph))
    # A word's lower half is the id, unless ids are in a separate array.
    ids = everywhere.ids if len(everywhere.ids) else everywhere.words & np.uint64(2**32 - 1)
    return Problem(comm, graph, everywhere.chosen(ids % np.uint64(comm.size) == comm.rank), rounds)


def solve(problem: Problem, lap: Lap = no_lap) -> Joined | Replicated:
    """Return the trees; `lap` is called after each phase with its name."""
    if problem.rounds == "listing":
        joined = Joined(problem, lap)
        lap("init")
        joined.join()
        return joined
    trees = Replicated(problem.comm, problem.graph.n, not problem.graph.packed, lap)
    # The rounds drop edges inside components in place.
    edges = Edges(*(column.copy() for column in problem.edges))
    lap("init")
    trees.join(edges, last=True)
    return trees


def collect(problem: Problem, result: Joined | Replicated) -> np.ndarray:
    return gather(problem.comm, result.forest)


def phases(problem: Problem) -> dict[str, float]:
    laps = LapsOfRanks(problem.comm)
    solve(problem, laps)
    return laps.seconds


def counters(problem: Problem, result: Joined | Replicated) -> dict[str, int]:
    """Return rounds, bytes reduced, and the bytes a rank holds, which include the whole graph at every width."""
    comm = problem.comm
    return dict(
        **result.counters(),
        graph_bytes_per_rank=reduced(comm, problem.graph.bytes, "MAX"),
        own_bytes_per_rank=reduced(comm, problem.edges.bytes, "MAX"),
        all_ranks_bytes=reduced(comm, problem.graph.bytes + problem.edges.bytes),
    )
