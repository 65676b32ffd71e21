"""Borůvka with one reduction of the lightest edges a round: Shou and He's first approach by message passing.

Shou and He, "Parallel MST" (15-418, 2023), §3.4 and listing 8: every rank gets the whole graph and looks at the
edges j with j mod p = rank; an all-reduce finds the lightest edge of every component; all ranks join the same edges
in their own copy of the union-find. They gave it up since memory does not shrink with the number of ranks:
`counters` says how much a rank holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mst.algorithms._laps import Lap, LapsOfRanks, no_lap
from mst.algorithms.mpi._spread import Edges, Replicated, Rows, between, everything, rows_of
from mst.kernels.mpi.exchange import allgather, gather, reduced

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
    graph: Rows
    edges: Edges


def prepare(part, *, comm):
    rows = rows_of(part, comm)
    u, v, words = (allgather(comm, column) for column in (rows.u, rows.v, rows.words))
    graph = rows._replace(start=0, u=u, v=v, words=words)
    everywhere = between(graph, *everything(graph))
    # A word's lower half is the id, unless ids lie beside it.
    ids = everywhere.ids if len(everywhere.ids) else everywhere.words & np.uint64(2**32 - 1)
    own = ids % np.uint64(comm.size) == comm.rank
    return Problem(comm, graph, Edges(*(column[own] if len(column) else column for column in everywhere)))


def solve(problem, lap: Lap = no_lap):
    """Return the trees; `lap` is called after each phase with its name."""
    trees = Replicated(problem.comm, problem.graph.n, not problem.graph.packed, lap)
    # The rounds drop edges inside components in place.
    edges = Edges(*(column.copy() for column in problem.edges))
    lap("init")
    trees.join(edges, last=True)
    return trees


def collect(problem, result):
    return gather(problem.comm, result.forest)


def phases(problem):
    laps = LapsOfRanks(problem.comm)
    solve(problem, laps)
    return laps.seconds


def counters(problem, result):
    """Return rounds, bytes reduced, and the bytes that a rank holds: at every width those of the whole graph."""
    comm = problem.comm
    return dict(
        **result.counters(),
        graph_bytes_per_rank=reduced(comm, problem.graph.bytes, "MAX"),
        own_bytes_per_rank=reduced(comm, problem.edges.bytes, "MAX"),
        all_ranks_bytes=reduced(comm, problem.graph.bytes + problem.edges.bytes),
    )
