"""Filter-Borůvka by message passing: ours.

1. Every rank reads only its slice of the edge list.
2. *Local sparsification*: the ranks of a host find the forest of the host's edges in shared memory (`_host`), or,
   without it, each rank finds the forest of its own edges if they far outnumber the vertices. Only edges
   of such a forest can be in the whole graph's. On one host the solve ends here.
3. The remaining edges are joined by Borůvka rounds, the lightest edges first, then the others that still
   join two trees. Labels are *replicated* (`_spread`): one packed reduction of the lightest edges over the remaining
   components, and one of the links between them; or *distributed* over the ranks (`_distributed`) if copying and
   reducing all labels on every rank would cost more than requesting the labels needed.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mst.algorithms._laps import Lap, LapsOfRanks, no_lap
from mst.algorithms.mpi._distributed import Distributed
from mst.algorithms.mpi._host import Host
from mst.algorithms.mpi._spread import Replicated, Slice, at_rows, between, everything, sample, slice_of
from mst.algorithms.sequential import filter_boruvka
from mst.edge_slice import EdgeSlice
from mst.facts import Facts
from mst.graph import Graph
from mst.kernels.filter_boruvka.parallel.sample import Draws
from mst.kernels.filter_boruvka.parallel.storage import EdgeList
from mst.kernels.filter_boruvka.policy import HOSTS
from mst.kernels.mpi.exchange import gather, reduced
from mst.kernels.parallel.keys import KEYS

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
"""From this many edges per vertex on, a rank first finds the forest of its own edges."""

SMALL = 1 << 15
"""Up to this many edges on a host, its ranks do not use shared memory: they would wait more than work."""

MOST_REPLICATED = 64
"""Up to this many ranks, labels are replicated."""

_SAMPLES = 16_384


@dataclass
class Problem:
    """A rank's rows, the communicators, and the options.

    `alone` solves the rank's own edges (a single rank's are the graph), `host` those of all ranks of the host.
    `hosts` is the number of parties that sparsify their edges.
    """

    comm: Any
    edges: Slice
    options: dict[str, Any]
    alone: filter_boruvka.Problem | None = None
    host: Host | None = None
    hosts: int = 1


@dataclass
class Result:
    """Edge ids found by this rank, and the counters of the solve."""

    edge_ids: np.ndarray
    counters: dict[str, Any] = field(default_factory=dict)


def skip(facts: Facts, *, width: int, **options: Any) -> str | None:
    if facts.m // width >= 2**31:
        return f"{facts.m // width:,} edges a rank are above the limit of 2³¹: give more ranks"
    return None


def prepare(part: EdgeSlice, *, comm: Any, **options: Any) -> Problem:
    graph = Graph(part.n, part.u, part.v, part.w, trusted=True)
    if comm.size == 1:
        alone = filter_boruvka.prepare(graph, width=1, filter=True, input="edges")
        # Weights are not converted to words: nothing here reads words.
        return Problem(comm, Slice(part.n, part.m, EdgeList(part.w, KEYS, part.u, part.v)), options, alone)
    problem = Problem(comm, slice_of(part, comm), options, hosts=comm.size)
    if options["share"]:
        problem.host, problem.hosts = _host_of(problem)
    many = len(part.w) > MANY * part.n if options["sparsify"] == "auto" else options["sparsify"] == "on"
    if problem.host is None and many:
        problem.alone = filter_boruvka.prepare(graph, width=1, filter=True, input="edges")
    return problem


def solve(problem: Problem, lap: Lap = no_lap) -> Result:
    """Return the edges found by this rank; `lap` is called after each phase with its name."""
    comm, edges, host = problem.comm, problem.edges, problem.host
    if comm.size == 1 and problem.alone is not None:
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
        start = edges.rows.start
        own = forest[(forest >= start) & (forest < start + edges.size)] - start
    elif problem.alone is not None:
        own = filter_boruvka.solve(problem.alone).edge_ids
        lap("sparsify")
    scheme = problem.options["scheme"]
    if scheme == "auto":
        scheme = "replicated" if comm.size <= MOST_REPLICATED else "distributed"
    trees = (Replicated if scheme == "replicated" else Distributed)(comm, edges.n, not edges.packed, lap)
    some_lack_forests = reduced(comm, int(own is None), "MAX")
    if own is None or some_lack_forests:
        kept = filtered_join(comm, edges, trees)
    else:
        kept = join_own(edges, own, trees)
    return Result(trees.forest, dict(scheme=scheme, kept=kept, **trees.counters()))


def join_own(edges: Slice, own: np.ndarray, trees: Replicated | Distributed) -> int:
    """Join the forests of the hosts' or ranks' edges; return how many of the resulting edges are this rank's."""
    found = at_rows(edges, own)
    trees.lap("select")
    trees.join(found, last=True)
    return len(own)


def filtered_join(comm: Any, edges: Slice, trees: Replicated | Distributed) -> int:
    """Join the light edges, then the others that still join two trees; return how many of these are this rank's."""
    low, top = everything(edges)
    total, light_edges = reduced(comm, edges.size), HOSTS.light * edges.n
    if total <= light_edges / HOSTS.take_all:
        everywhere = between(edges, low, top)
        trees.lap("select")
        trees.join(everywhere, last=True)
        return 0
    drawn = sample(comm, edges, total, Draws(*low, np.empty(0, np.uint32), _SAMPLES, 1))
    keys, ids = drawn.bounds(np.array([light_edges / total]))
    split = keys[0], int(ids[0])
    trees.lap("sample")
    light = between(edges, low, split)
    trees.lap("select")
    trees.join(light, last=False)
    heavy = trees.between_trees(edges, split, top)
    trees.lap("filter")
    kept = heavy.size
    trees.join(heavy, last=True)
    return kept


def collect(problem: Problem, result: Result) -> np.ndarray:
    if problem.comm.size == 1:
        return result.edge_ids
    return gather(problem.comm, result.edge_ids.astype(np.int64))


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    """Return counters and sizes: the largest and the sum over ranks, and the memory that one host's ranks share."""
    comm, mine = problem.comm, problem.edges.bytes
    held = dict(
        rank_edges=reduced(comm, problem.edges.size, "MAX"),
        rank_bytes=reduced(comm, mine, "MAX"),
        all_ranks_bytes=reduced(comm, mine),
        hosts=problem.hosts,
    )
    return {**result.counters, **held}


def phases(problem: Problem) -> dict[str, float]:
    laps = LapsOfRanks(problem.comm)
    solve(problem, laps)
    return laps.seconds


def _host_of(problem: Problem) -> tuple[Host | None, int]:
    """Return the ranks of this host if they share memory, and how many parties sparsify their edges."""
    comm = problem.comm
    node = _node_of(comm)
    hosts = reduced(comm, int(node.rank == 0))
    host = None
    if hosts < comm.size and reduced(comm, problem.edges.size) > SMALL * hosts:
        with contextlib.suppress(OSError):
            host = Host(node, problem.edges)
    shared = reduced(comm, int(host is not None), "MIN")
    return (host, hosts) if shared else (None, comm.size)


def _node_of(comm: Any) -> Any:
    """Return the communicator of this host's ranks: `comm` itself if these are all, since each takes memory."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank)
    if node.size < comm.size:
        return node
    node.Free()
    return comm
