"""The algorithm of Gallager, Humblet and Spira, vertices dealt to ranks.

R. G. Gallager, P. A. Humblet and P. M. Spira, "A distributed algorithm for minimum-weight spanning trees", ACM
TOPLAS 5(1), 1983: every vertex is a state machine that knows only its edges. Shou and He, "Parallel MST" (15-418,
2023), §3.4, deal vertex x to rank x mod p, which plays all of its vertices; their three optimisations are the options
`queue`, `lookup` and `basic`. Their future work, shortcuts inside a rank, is `contract`: fragments that vertices of
one rank form by themselves start as one node.

Theirs ends when a timer expires. Here messages travel in supersteps, packed by destination, and the run is over
after one in which no rank has sent any: counted, not guessed. Components of a forest halt each by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mst.algorithms.mpi._spread import between, everything, rows_of
from mst.errors import UnsupportedError
from mst.kernels.mpi import ghs as kernels
from mst.kernels.mpi.exchange import allreduce, by_rank, exchange, gather, reduced
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
            default="vertex", choices=("vertex", "rank"), help="where messages wait that come too early"
        ),
        lookup=dict(default="map", choices=("map", "linear"), help="find the edge that a message came by"),
        basic=dict(
            default="ordered", choices=("ordered", "linear"), help="find a vertex's lightest basic edge"
        ),
        contract=dict(default=False, help="join fragments inside a rank first (not in the paper)"),
    ),
    requires=("numba", "mpi4py"),
    limits=dict(n=2_147_483_647),
)


_LOW = np.uint64(2**32 - 1)


@dataclass
class Arcs:
    """This rank's arcs: every edge from each end that is dealt to it; `source` counts the rank's own vertices."""

    source: np.ndarray
    target: np.ndarray
    words: np.ndarray
    ids: np.ndarray


@dataclass
class Problem:
    """The rank's arcs, its nodes' slots unless contraction comes first, and the options."""

    comm: Any
    nodes: int
    arcs: Arcs
    options: dict[str, Any]
    slots: tuple[np.ndarray, np.ndarray] | None


@dataclass
class Result:
    """Edge ids found by this rank, messages by kind, and what else was counted."""

    edge_ids: np.ndarray
    messages: np.ndarray
    supersteps: int
    contracted: int


def prepare(part, *, comm, **options):
    arcs = deal(part, comm)
    nodes = len(range(comm.rank, part.n, comm.size))
    problem = Problem(comm, nodes, arcs, options, None)
    if not options["contract"]:
        problem.slots = slots_of(problem, arcs, np.arange(nodes))
    return problem


def solve(problem):
    made, taken = problem.slots, np.empty(0, np.int64)
    if made is None:
        arcs, node, taken = contracted(problem)
        made = slots_of(problem, arcs, node)
    slots, messages, supersteps = run(problem, *made)
    branch = slots["id"][slots["state"] == kernels.BRANCH]
    return Result(np.concatenate([taken, branch]), messages, supersteps, len(taken))


def collect(problem, result):
    # Both ends of a branch know of it, perhaps on two ranks.
    return np.unique(gather(problem.comm, result.edge_ids))


def counters(problem, result):
    """Return the messages of all ranks by kind, supersteps, what contraction found, and how long paths are."""
    comm = problem.comm
    messages = allreduce(comm, result.messages.copy(), "SUM").tolist()
    return dict(
        messages=sum(messages),
        **{f"messages_{kind}": count for kind, count in zip(kernels.KINDS, messages)},
        supersteps=result.supersteps,
        contracted=reduced(comm, result.contracted),
        rank_arcs=reduced(comm, len(problem.arcs.ids), "MAX"),
        longest_path=longest_path(problem, result),
    )


def longest_path(problem, result) -> int:
    """Return the edges of the longest path of the forest: how far a broadcast may have to go, hop by hop."""
    comm, arcs = problem.comm, problem.arcs
    branch = np.isin(arcs.ids, result.edge_ids)
    columns = arcs.ids, arcs.source * comm.size + comm.rank, arcs.target
    edges = gather(comm, np.stack([column[branch] for column in columns], axis=1))
    n = reduced(comm, problem.nodes)
    # Each edge comes from both its ends.
    _, once = np.unique(edges[:, 0], return_index=True)
    return reduced(comm, tree_paths.longest_path(n, *edges[once, 1:].T) if comm.rank == 0 else 0)


def deal(part, comm) -> Arcs:
    """Send every edge of the slice to the ranks of both its ends."""
    rows = rows_of(part, comm)
    edges = between(rows, *everything(rows))
    a, b = (edges.ends & _LOW).astype(np.int64), (edges.ends >> np.uint64(32)).astype(np.int64)
    ids = (edges.ids if len(edges.ids) else edges.words & _LOW).astype(np.int64)
    source, target = np.concatenate([a, b]), np.concatenate([b, a])
    order, counts = by_rank(source % comm.size, comm.size)
    columns = source, target, np.tile(edges.words.view(np.int64), 2), np.tile(ids, 2)
    arcs, _ = exchange(comm, np.stack(columns, axis=1)[order], counts)
    if len(arcs) >= 2**31:
        raise UnsupportedError(f"rank {comm.rank} got {len(arcs):,} ends of edges, above 2³¹: give more ranks")
    source, target, words, ids = arcs.T.copy()
    return Arcs(source // comm.size, target, words.view(np.uint64), ids)


def slots_of(problem: Problem, arcs: Arcs, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where the slots of each node begin, and the slots; vertex `x` of this rank is node ``node[x]``."""
    comm, options = problem.comm, problem.options
    owner = node[arcs.source]
    weight = (arcs.words,) if options["basic"] == "ordered" else ()
    order = order_by(arcs.ids, *weight, owner)
    ids, at = arcs.ids[order], owner[order]
    offsets = np.searchsorted(at, np.arange(problem.nodes + 1))
    # Each end tells the other which slot (or node) it has; sorted by edge and end, what came in fits one to one.
    source, target = arcs.source[order] * comm.size + comm.rank, arcs.target[order]
    address = at if options["lookup"] == "linear" else np.arange(len(order))
    places, counts = by_rank(target % comm.size, comm.size)
    sent = np.stack([2 * ids + (target > source), address], axis=1)[places]
    told, incoming = exchange(comm, sent, counts)
    fits = np.empty(len(order), order.dtype)
    fits[order_by(2 * ids + (source > target))] = order_by(told[:, 0])
    slots = kernels.in_lines(len(order), kernels.SLOT)
    slots["node"], slots["id"], slots["word"] = at, ids, arcs.words[order]
    slots["peer"], slots["peer_rank"] = told[fits, 1], np.repeat(np.arange(comm.size), incoming)[fits]
    return offsets, slots


def order_by(*columns: np.ndarray) -> np.ndarray:
    """Return the order of rows by columns of numbers from 0 on, the last of which counts first."""
    order = radix.argsort(columns[0].astype(np.uint64))
    for column in columns[1:]:
        order = order[radix.argsort(column.astype(np.uint64)[order])]
    return order


def contracted(problem: Problem) -> tuple[Arcs, np.ndarray, np.ndarray]:
    """Return the arcs that leave fragments inside this rank, each vertex's fragment, and the fragments' edge ids."""
    arcs, comm = problem.arcs, problem.comm
    inner, near = arcs.target % comm.size == comm.rank, arcs.target // comm.size
    node, taken = np.arange(problem.nodes), np.empty(problem.nodes, np.int64)
    count = kernels.contract(arcs.source, near, inner, arcs.words, arcs.ids, node, taken)
    kept = ~inner
    kept[inner] = node[arcs.source[inner]] != node[near[inner]]
    return Arcs(arcs.source[kept], arcs.target[kept], arcs.words[kept], arcs.ids[kept]), node, taken[:count]


def run(problem: Problem, offsets: np.ndarray, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Play all nodes until no message is left anywhere; return slots, messages by kind, and supersteps."""
    comm, options = problem.comm, problem.options
    how = kernels.How(
        comm.rank,
        options["basic"] == "ordered",
        options["lookup"] == "linear",
        options["queue"] == "vertex",
    )
    nodes, post = kernels.new_nodes(offsets), kernels.new_post()
    slots, given = kernels.in_lines(len(slots), kernels.SLOT), slots
    slots[:] = given
    waiting, following = post.queue.copy(), np.empty(len(post.queue), np.int64)
    post = kernels.wake_all(nodes, slots, post, how)
    supersteps = 0
    while True:
        post, waiting, following = kernels.work_off(nodes, slots, post, how, waiting, following)
        supersteps += 1
        out = kernels.take_out(post)
        if not reduced(comm, len(out)):
            return slots, post.counts, supersteps
        order, counts = by_rank(out["to"], comm.size)
        words = out[order].view(np.uint64).reshape(len(out), kernels.MESSAGE.itemsize // 8)
        arrived, _ = exchange(comm, words, counts)
        post = kernels.bring_in(post, arrived.reshape(-1).view(kernels.MESSAGE))
