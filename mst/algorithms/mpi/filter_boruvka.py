"""Filter-Borůvka by message passing, a method of ours.

1. Every rank reads only its slice of the edge list.
2. *Local sparsification*: the ranks of a host find the forest of the host's edges in shared memory (`_host`). Without
   shared memory, each rank finds the forest of its own edges if they far outnumber the vertices. The forest of the
   whole graph has only edges of these forests. On a single host the solve ends here.
3. Borůvka rounds join the remaining edges: the lightest edges first, then the others that still join two trees. Labels
   are *replicated* (`_spread`): a round reduces the lightest edges of the remaining components, then the links between
   them. Or labels are *distributed* over the ranks (`_distributed`), if reducing all labels on every rank would cost
   more than requesting the labels needed.
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
"""With more edges per vertex than this, a rank first finds the forest of its own edges."""

SMALL = 1 << 15
"""With at most this many edges per host, ranks do not use shared memory: they would wait more than work."""

MOST_REPLICATED = 64
"""With at most this many ranks, labels are replicated."""

_SAMPLES = 16_384


@dataclass
class Problem:
    """A rank's rows, the communicators, and the options.

    `alone` is the problem of the rank's own edges, which for a single rank is the whole graph; `host` is the problem of
    the edges of all ranks of the host. `hosts` is the number of hosts, or of ranks if these do not share memory.
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
        # Weights are not converted to words, because a single rank does not read words.
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
    """Join the forests of hosts or ranks; return the number of their edges on this rank.

    `own` holds the indices of these edges among the rank's rows.
    """
    found = at_rows(edges, own)
    trees.lap("select")
    trees.join(found, last=True)
    return len(own)


def filtered_join(comm: Any, edges: Slice, trees: Replicated | Distributed) -> int:
    """Join the light edges, then heavy edges that still join two trees; return the number of these on this rank."""
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
    """Return the solve's counters, the largest and the total size of the ranks' inputs, and the number of hosts."""
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
    """Return the ranks of this host and the number of hosts; or None and the number of ranks without shared memory."""
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
    """Return the communicator of this host's ranks: `comm` itself if all ranks are here, which saves its memory."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank)
    if node.size < comm.size:
        return node
    node.Free()
    return comm
