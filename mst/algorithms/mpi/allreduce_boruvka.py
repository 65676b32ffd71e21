"""Borůvka with one reduction of the lightest edges a round: Shou and He's first approach by message passing.

Shou and He, "Parallel MST" (15-418, 2023), §3.4 and listing 8: every rank gets the whole graph and looks at the
edges j with j mod p = rank; an all-reduce finds the lightest edge of every component; all ranks join the same edges
in their own copy of the union-find. They gave it up since memory does not shrink with the number of ranks:
`counters` reports the bytes that a rank holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mst.algorithms._laps import Lap, LapsOfRanks, no_lap
from mst.algorithms.mpi._spread import Replicated, Slice, between, everything, slice_of
from mst.edge_slice import EdgeSlice
from mst.kernels.filter_boruvka.parallel.storage import EdgeList
from mst.kernels.mpi.exchange import allgather, gather, reduced
from mst.kernels.mpi.spread_boruvka import Edges

ALGORITHM = dict(
    id="allreduce-boruvka-mpi",
    paradigm="mpi",
    paper="shou-he",
    title="Borůvka with all-reduce",
    input="edges",
    requires=("numba", "mpi4py"),
    limits=dict(n=2_147_483_647),
)


@dataclass
class Problem:
    """The whole graph, on every rank, and those of its edges that are this rank's."""

    comm: Any
    graph: Slice
    edges: Edges


def prepare(part: EdgeSlice, *, comm: Any) -> Problem:
    own = slice_of(part, comm)
    words, u, v = (allgather(comm, column) for column in (own.rows.words, own.rows.u, own.rows.v))
    graph = Slice(own.n, own.m, EdgeList(words, own.rows.kind, u, v))
    everywhere = between(graph, *everything(graph))
    # A word's lower half is the id, unless ids have an array of their own.
    ids = everywhere.ids if len(everywhere.ids) else everywhere.words & np.uint64(2**32 - 1)
    return Problem(comm, graph, everywhere.chosen(ids % np.uint64(comm.size) == comm.rank))


def solve(problem: Problem, lap: Lap = no_lap) -> Replicated:
    """Return the trees; `lap` is called after each phase with its name."""
    trees = Replicated(problem.comm, problem.graph.n, not problem.graph.packed, lap)
    # The rounds drop edges inside components in place.
    edges = Edges(*(column.copy() for column in problem.edges))
    lap("init")
    trees.join(edges, last=True)
    return trees


def collect(problem: Problem, result: Replicated) -> np.ndarray:
    return gather(problem.comm, result.forest)


def phases(problem: Problem) -> dict[str, float]:
    laps = LapsOfRanks(problem.comm)
    solve(problem, laps)
    return laps.seconds


def counters(problem: Problem, result: Replicated) -> dict[str, int]:
    """Return rounds, bytes reduced, and the bytes that a rank holds: at every width those of the whole graph."""
    comm = problem.comm
    return dict(
        **result.counters(),
        graph_bytes_per_rank=reduced(comm, problem.graph.bytes, "MAX"),
        own_bytes_per_rank=reduced(comm, problem.edges.bytes, "MAX"),
        all_ranks_bytes=reduced(comm, problem.graph.bytes + problem.edges.bytes),
    )
