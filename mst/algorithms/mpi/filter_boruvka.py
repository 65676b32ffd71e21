"""Filter-Borůvka by message passing: ours.

1. Every rank reads its slice of the edge list, and no more.
2. *Local sparsification*: the ranks of a host find the forest of the host's edges in shared memory (`_host`), or,
   where they share none, each rank the forest of its own edges, if these are many more than the vertices. Only
   edges of such a forest can be in the whole graph's. On one host this is all.
3. What is left is joined by Borůvka's rounds, the lightest edges first, then those of the others that still join
   two trees. Labels are *replicated* (`_spread`): one packed reduction of the lightest edges over the components
   that are left, and one of the links between them; or *distributed* over the ranks (`_distributed`), once a copy
   of all labels on every rank, and reductions of them, cost more than asking for those that are needed.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mst.algorithms._laps import Lap, LapsOfRanks, no_lap
from mst.algorithms.mpi._distributed import Distributed
from mst.algorithms.mpi._host import Host
from mst.algorithms.mpi._spread import Replicated, Rows, between, chosen, everything, rows_of, sample
from mst.algorithms.sequential import filter_boruvka
from mst.graph import Graph
from mst.kernels.mpi.exchange import gather, reduced

ALGORITHM = dict(
    id="filter-boruvka-mpi",
    paradigm="mpi",
    paper="ours",
    title="Filter-Borůvka, MPI",
    input="edges",
    options=dict(
        scheme=dict(
            default="auto",
            choices=("auto", "replicated", "distributed"),
            help="labels on every rank, or spread over the ranks; auto: on every rank if there are at most 64",
        ),
        share=dict(default=True, help="ranks of one host join their edges in shared memory first"),
        sparsify=dict(
            default="auto",
            choices=("auto", "on", "off"),
            help="without shared memory: reduce a rank's edges to their forest first; auto: if they are many",
        ),
    ),
    requires=("numba", "mpi4py"),
    limits=dict(n=2_147_483_647),
)

MANY = 4
"""Edges per vertex on a rank from which on its own forest is found first."""

LIGHT = 2.0
"""Light edges per vertex; up to twice as many edges are not filtered."""

SMALL = 1 << 15
"""Edges on a host up to which the ranks do not meet in shared memory: they would wait more than work."""

MOST_REPLICATED = 64
"""Ranks up to which labels are replicated."""


@dataclass
class Problem:
    """A rank's rows, the communicators, and the options; the rows of a single rank are the graph."""

    comm: Any
    rows: Rows
    options: dict[str, Any]
    alone: Any = None
    host: Host | None = None
    hosts: int = 1


@dataclass
class Result:
    """Edge ids that this rank has found, and what was counted on the way."""

    edge_ids: np.ndarray
    counters: dict[str, Any] = field(default_factory=dict)


def skip(facts, *, width, **options):
    if facts.m // width >= 2**31:
        return f"{facts.m // width:,} edges a rank are above the limit of 2³¹: give more ranks"
    return None


def prepare(part, *, comm, **options):
    graph = Graph(part.n, part.u, part.v, part.w, trusted=True)
    if comm.size == 1:
        rows = Rows(part.n, part.m, 0, part.u, part.v, part.w, 0)
        return Problem(comm, rows, options, filter_boruvka.prepare(graph, width=1, filter=True, input="edges"))
    problem = Problem(comm, rows_of(part, comm), options, hosts=comm.size)
    if options["share"]:
        problem.host, problem.hosts = _host_of(problem)
    many = len(part.w) > MANY * part.n if options["sparsify"] == "auto" else options["sparsify"] == "on"
    if problem.host is None and many:
        problem.alone = filter_boruvka.prepare(graph, width=1, filter=True, input="edges")
    return problem


def solve(problem, lap: Lap = no_lap):
    """Return what this rank has found; `lap` is called after each phase with its name."""
    comm, rows, host = problem.comm, problem.rows, problem.host
    if comm.size == 1:
        found = filter_boruvka.solve(problem.alone, lap)
        return Result(found.edge_ids, dict(scheme="alone", **found.counters))
    own = None
    if host is not None:
        forest = host.solve(lap)
        if problem.hosts == 1:
            counted = dict(
                scheme="shared", batches=host.batches, light=host.light, shared_bytes=host.scratch.bytes
            )
            return Result(forest if comm.rank == 0 else forest[:0], counted)
        own = forest[(forest >= rows.start) & (forest < rows.start + len(rows.words))] - rows.start
    elif problem.alone is not None:
        own = filter_boruvka.solve(problem.alone).edge_ids
        lap("sparsify")
    scheme = problem.options["scheme"]
    if scheme == "auto":
        scheme = "replicated" if comm.size <= MOST_REPLICATED else "distributed"
    trees = (Replicated if scheme == "replicated" else Distributed)(comm, rows.n, not rows.packed, lap)
    kept = (
        filtered_join(comm, rows, trees)
        if reduced(comm, int(own is None), "MAX")
        else join_own(rows, own, trees)
    )
    return Result(trees.forest, dict(scheme=scheme, kept=kept, **trees.counters()))


def join_own(rows, own, trees) -> int:
    """Join the forests that hosts or ranks have found of their edges; return how many edges of it are this rank's."""
    edges = chosen(rows, own)
    trees.lap("select")
    trees.join(edges, last=True)
    return len(own)


def filtered_join(comm, rows, trees) -> int:
    """Join the light edges, then those of the others that they leave open; return how many of these are this rank's."""
    low, top = everything(rows)
    total = reduced(comm, len(rows.words))
    if total <= 2 * LIGHT * rows.n:
        everywhere = between(rows, low, top)
        trees.lap("select")
        trees.join(everywhere, last=True)
        return 0
    drawn = sample(comm, rows, total, low, None, 16_384, 1)
    keys, ids = drawn.bounds(np.array([LIGHT * rows.n / total]))
    split = keys[0], int(ids[0])
    trees.lap("sample")
    light = between(rows, low, split)
    trees.lap("select")
    trees.join(light, last=False)
    still_open = trees.still_open(rows, split, top)
    trees.lap("filter")
    kept = still_open.count
    trees.join(still_open, last=True)
    return kept


def collect(problem, result):
    if problem.comm.size == 1:
        return result.edge_ids
    return gather(problem.comm, result.edge_ids.astype(np.int64))


def counters(problem, result):
    """Return what was counted, sizes included: of ranks the largest and the sum, of one host what its ranks share."""
    comm, mine = problem.comm, problem.rows.bytes
    held = dict(
        rank_edges=reduced(comm, len(problem.rows.words), "MAX"),
        rank_bytes=reduced(comm, mine, "MAX"),
        all_ranks_bytes=reduced(comm, mine),
        hosts=problem.hosts,
    )
    return {**result.counters, **held}


def phases(problem):
    laps = LapsOfRanks(problem.comm)
    solve(problem, laps)
    return laps.seconds


def _host_of(problem: Problem) -> tuple[Host | None, int]:
    """Return the ranks of this host if they share memory, and how many parts sparsify their edges."""
    comm = problem.comm
    node = _node_of(comm)
    hosts = reduced(comm, int(node.rank == 0))
    host = None
    if hosts < comm.size and reduced(comm, len(problem.rows.words)) > SMALL * hosts:
        with contextlib.suppress(OSError):
            host = Host(node, problem.rows)
    shared = reduced(comm, int(host is not None), "MIN")
    return (host, hosts) if shared else (None, comm.size)


def _node_of(comm: Any) -> Any:
    """Return the communicator of the ranks of this host: the same, if these are all, since each takes memory."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank)
    if node.size < comm.size:
        return node
    node.Free()
    return comm
