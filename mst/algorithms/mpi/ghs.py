"""The algorithm of Gallager, Humblet and Spira, its vertices distributed over ranks.

R. G. Gallager, P. A. Humblet and P. M. Spira, "A distributed algorithm for minimum-weight spanning trees", ACM
TOPLAS 5(1), 1983: every vertex is a state machine that knows only its own edges. Shou and He, "Parallel Minimum
Spanning Tree" (15-418 final project, CMU), §3.4, assign vertex x to rank x mod p; each rank runs all of its vertices.
Their three optimisations are the options `queue`, `lookup` and `basic`. Shortcuts within a rank, which they suggest as
future work, are the option `contract`: a fragment found by one rank from its own edges starts as one node.

There are three differences from their program. It ends when a timer expires; here messages travel in supersteps, and
the run ends after a superstep in which no rank has sent a message. It sends messages one by one (``MPI_Isend``), and
rank 0 partitions the graph, as the options ``send="single", partition="root"`` do here; by default, all messages to a
rank are packed into one, and every rank sends the edges of its own slice. On an unconnected graph, each component halts
by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.mpi._spread import between, everything, slice_of
from mst.arrays import distinct_values
from mst.edge_slice import EdgeSlice
from mst.errors import UnsupportedError
from mst.kernels.mpi import ghs as kernels
from mst.kernels.mpi.exchange import allreduce, exchange, exchange_singly, gather, order_by_rank, reduced
from mst.kernels.primitives import radix
from mst.kernels.proof import tree_paths

ALGORITHM = dict(
    id="ghs-mpi",
    paradigm="mpi",
    paper="shou-he",
    title="Gallager–Humblet–Spira",
    input="edges",
    options=dict(
        queue=dict(
            default="vertex",
            choices=("vertex", "rank"),
            help="messages that arrive too early wait at their vertex, or in the rank's queue",
        ),
        lookup=dict(
            default="map",
            choices=("map", "linear"),
            help="find the edge of a message by a map, or by linear search",
        ),
        basic=dict(
            default="ordered",
            choices=("ordered", "linear"),
            help="find a vertex's lightest basic edge by a cursor, or by linear search",
        ),
        send=dict(
            default="packed",
            choices=("packed", "single"),
            help="messages between ranks: combined per destination, or one by one (the paper)",
        ),
        partition=dict(
            default="slices",
            choices=("slices", "root"),
            help="every rank sends the edges of its slice to their ranks, or rank 0 sends all (the paper)",
        ),
        contract=dict(default=False, help="unite fragments inside a rank first (not in the paper)"),
    ),
    requires=("numba", "mpi4py"),
    limits=dict(n=2_147_483_647),
)


_LOW = np.uint64(2**32 - 1)


@dataclass
class Arcs:
    """This rank's arcs; an arc is an edge as seen from an end on this rank.

    Attributes
    ----------
    source : numpy.ndarray of int64, shape (arcs,)
        The end on this rank, numbered within the rank's vertices.
    target : numpy.ndarray of int64, shape (arcs,)
        The other end, as a vertex of the graph.
    words : numpy.ndarray of uint64, shape (arcs,)
    ids : numpy.ndarray of int64, shape (arcs,)
        The edges' weights, as (word, edge id).
    """

    source: np.ndarray
    target: np.ndarray
    words: np.ndarray
    ids: np.ndarray


class Slots(NamedTuple):
    """The slots of this rank's nodes.

    Attributes
    ----------
    offsets : numpy.ndarray of int64, shape (nodes + 1,)
        Node `x` has the slots ``offsets[x] … offsets[x + 1] - 1``.
    records : numpy.ndarray of `mst.kernels.mpi.ghs.SLOT`
    """

    offsets: np.ndarray
    records: np.ndarray


@dataclass
class Problem:
    """A rank's arcs, the options, and the slots of its nodes, or None if `solve` contracts fragments first."""

    comm: Any
    nodes: int
    arcs: Arcs
    options: dict[str, Any]
    slots: Slots | None


@dataclass
class Result:
    """Edge ids found by this rank, and its counters.

    The counters are messages sent by kind, supersteps, the largest number of hops of an initiate message, and edges
    contracted inside the rank.
    """

    edge_ids: np.ndarray
    messages: np.ndarray
    supersteps: int
    hops: int
    contracted: int


def prepare(part: EdgeSlice, *, comm: Any, **options: Any) -> Problem:
    arcs = distribute(part, comm, from_root=options["partition"] == "root")
    nodes = len(range(comm.rank, part.n, comm.size))
    problem = Problem(comm, nodes, arcs, options, None)
    if not options["contract"]:
        problem.slots = slots_of(problem, arcs, np.arange(nodes))
    return problem


def solve(problem: Problem) -> Result:
    slots, taken = problem.slots, np.empty(0, np.int64)
    if slots is None:
        arcs, node, taken = contracted(problem)
        slots = slots_of(problem, arcs, node)
    records, mailbox, supersteps = run(problem, slots)
    branch = records["id"][records["state"] == kernels.BRANCH]
    hops = kernels.most_hops(mailbox)
    return Result(np.concatenate([taken, branch]), mailbox.counts, supersteps, hops, len(taken))


def collect(problem: Problem, result: Result) -> np.ndarray:
    # A branch is listed at both of its ends, which may be on different ranks.
    return distinct_values(gather(problem.comm, result.edge_ids))


def counters(problem: Problem, result: Result) -> dict[str, int]:
    """Return counters over all ranks: messages by kind, supersteps, hops, contracted edges, arcs and longest path."""
    comm = problem.comm
    messages = allreduce(comm, result.messages.copy(), "SUM").tolist()
    return dict(
        messages=sum(messages),
        **{f"messages_{kind}": count for kind, count in zip(kernels.KINDS, messages)},
        supersteps=result.supersteps,
        broadcast_hops=reduced(comm, result.hops, "MAX"),
        contracted=reduced(comm, result.contracted),
        rank_arcs=reduced(comm, len(problem.arcs.ids), "MAX"),
        longest_path=longest_path(problem, result),
    )


def longest_path(problem: Problem, result: Result) -> int:
    """Return the number of edges on the forest's longest path, an upper bound on the hops of a broadcast."""
    comm, arcs = problem.comm, problem.arcs
    branch = np.isin(arcs.ids, result.edge_ids)
    columns = arcs.ids, arcs.source * comm.size + comm.rank, arcs.target
    edges = gather(comm, np.stack([column[branch] for column in columns], axis=1))
    n = reduced(comm, problem.nodes)
    # Each edge was gathered from both of its ends.
    _, once = np.unique(edges[:, 0], return_index=True)
    return reduced(comm, tree_paths.longest_path(n, *edges[once, 1:].T) if comm.rank == 0 else 0)


def distribute(part: EdgeSlice, comm: Any, *, from_root: bool) -> Arcs:
    """Send each edge to the ranks of its ends, directly or (`from_root`) through rank 0; return this rank's arcs."""
    own = slice_of(part, comm)
    edges = between(own, *everything(own))
    a, b = (edges.ends & _LOW).astype(np.int64), (edges.ends >> np.uint64(32)).astype(np.int64)
    ids = (edges.ids if len(edges.ids) else edges.words & _LOW).astype(np.int64)
    words = edges.words.view(np.int64)
    if from_root:
        a, b, words, ids = gather(comm, np.stack((a, b, words, ids), axis=1)).T
    source, target = np.concatenate([a, b]), np.concatenate([b, a])
    permutation, counts = order_by_rank(source % comm.size, comm.size)
    columns = source, target, np.tile(words, 2), np.tile(ids, 2)
    arcs, _ = exchange(comm, np.stack(columns, axis=1)[permutation], counts)
    if len(arcs) >= 2**31:
        raise UnsupportedError(f"rank {comm.rank} has {len(arcs):,} ends of edges, above 2³¹: use more ranks")
    source, target, words, ids = arcs.T.copy()
    return Arcs(source // comm.size, target, words.view(np.uint64), ids)


def slots_of(problem: Problem, arcs: Arcs, node: np.ndarray) -> Slots:
    """Return the slots of this rank's nodes; vertex `x` of this rank belongs to node ``node[x]``."""
    comm, options = problem.comm, problem.options
    owner = node[arcs.source]
    weight = (arcs.words,) if options["basic"] == "ordered" else ()
    permutation = order_by(arcs.ids, *weight, owner)
    ids, at = arcs.ids[permutation], owner[permutation]
    offsets = np.searchsorted(at, np.arange(problem.nodes + 1))
    # Each end sends its slot (or node) to the other end. Sorted by edge and end, sent and received rows correspond.
    source, target = arcs.source[permutation] * comm.size + comm.rank, arcs.target[permutation]
    address = at if options["lookup"] == "linear" else np.arange(len(permutation))
    places, counts = order_by_rank(target % comm.size, comm.size)
    sent = np.stack([2 * ids + (target > source), address], axis=1)[places]
    received, incoming = exchange(comm, sent, counts)
    match = np.empty(len(permutation), permutation.dtype)
    match[order_by(2 * ids + (source > target))] = order_by(received[:, 0])
    slots = kernels.aligned_records(len(permutation), kernels.SLOT)
    slots["node"], slots["id"], slots["word"] = at, ids, arcs.words[permutation]
    slots["peer"], slots["peer_rank"] = received[match, 1], np.repeat(np.arange(comm.size), incoming)[match]
    return Slots(offsets, slots)


def order_by(*columns: np.ndarray) -> np.ndarray:
    """Return the permutation that sorts rows by columns of non-negative integers; the last column is primary."""
    permutation = radix.argsort(columns[0].astype(np.uint64))
    for column in columns[1:]:
        permutation = permutation[radix.argsort(column.astype(np.uint64)[permutation])]
    return permutation


def contracted(problem: Problem) -> tuple[Arcs, np.ndarray, np.ndarray]:
    """Return the arcs that leave fragments inside this rank, each vertex's fragment, and the fragments' edge ids."""
    arcs, comm = problem.arcs, problem.comm
    inner, near = arcs.target % comm.size == comm.rank, arcs.target // comm.size
    node, taken = np.arange(problem.nodes), np.empty(problem.nodes, np.int64)
    count = kernels.contract(arcs.source, near, inner, arcs.words, arcs.ids, node, taken)
    kept = ~inner
    kept[inner] = node[arcs.source[inner]] != node[near[inner]]
    return Arcs(arcs.source[kept], arcs.target[kept], arcs.words[kept], arcs.ids[kept]), node, taken[:count]


def run(problem: Problem, given: Slots) -> tuple[np.ndarray, kernels.Mailbox, int]:
    """Run all nodes until no message is left on any rank; return slots, the empty mailbox and supersteps.

    Only a copy of `given` is changed.
    """
    comm = problem.comm
    options = kernels.Options(
        rank=comm.rank,
        ordered=problem.options["basic"] == "ordered",
        linear_lookup=problem.options["lookup"] == "linear",
        queue_by_node=problem.options["queue"] == "vertex",
    )
    nodes, mailbox = kernels.new_nodes(given.offsets), kernels.new_mailbox()
    slots = kernels.aligned_records(len(given.records), kernels.SLOT)
    slots[:] = given.records
    waiting, following = mailbox.queue.copy(), np.empty(len(mailbox.queue), np.int64)
    mailbox = kernels.wake_nodes(nodes, slots, mailbox, options)
    supersteps = 0
    while True:
        mailbox, waiting, following = kernels.process_messages(
            nodes, slots, mailbox, options, waiting, following
        )
        supersteps += 1
        out = kernels.take_outgoing(mailbox)
        if not reduced(comm, len(out)):
            return slots, mailbox, supersteps
        permutation, counts = order_by_rank(out["to"], comm.size)
        words = out[permutation].view(np.uint64).reshape(len(out), kernels.MESSAGE.itemsize // 8)
        if problem.options["send"] == "single":
            arrived = exchange_singly(comm, words, counts)
        else:
            arrived, _ = exchange(comm, words, counts)
        mailbox = kernels.add_arrived(mailbox, arrived.reshape(-1).view(kernels.MESSAGE))
