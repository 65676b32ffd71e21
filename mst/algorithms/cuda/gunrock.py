"""Gunrock's minimum spanning tree: a reimplementation from its published descriptions.

Like the original, it solves connected graphs only. It allocates its workspace in every solve, as does the published
program, whose timed call sets up the problem again; ``allocate="once"`` is an improvement of ours. The kernels are in
``gunrock.cu``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mst.algorithms.cuda.device import memory, port
from mst.algorithms.cuda.device.graph import edge_inputs, row_inputs
from mst.algorithms.cuda.device.launch import Program, argument_dtype
from mst.algorithms.cuda.device.timing import phase_seconds

if TYPE_CHECKING:
    from mst.algorithms.cuda.device.graph import DeviceGraph
    from mst.facts import Facts
    from mst.graph import Graph

ALGORITHM = dict(
    id="gunrock-cuda",
    paradigm="cuda",
    paper="fallin",
    title="Gunrock (reimplementation)",
    input="csr",
    options=dict(
        allocate=dict(
            default="solve",
            choices=("solve", "once"),
            help="workspace: from the driver in every solve, or once before it",
        ),
    ),
    requires=("cupy",),
    limits=dict(n=2_147_483_646, m=2_147_483_646),
)

SOURCE = "gunrock.cu"
BLOCK = 256
KERNELS = ("initialise", "minimum_weights", "minimum_edges", "add_edges", "jump_pointers")
FRONTIER, ADDED = range(2)
ARGUMENT = argument_dtype(
    (
        "u",
        "v",
        "offsets",
        "neighbours",
        "keys",
        "ids",
        "roots",
        "new_roots",
        "minimum_key",
        "minimum_id",
        "frontier",
        "chosen",
        "counters",
    ),
    ("n", "slots", "frontier_length", "unused"),
)


def skip(facts: Facts, *, width: int, **options: Any) -> str | None:
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if facts.components is not None and facts.components > 1:
        return f"it takes connected graphs only, and this one has {facts.components:,} components"
    if facts.m >= 2**31 - 2**20:
        return f"2m = {2 * facts.m:,} slots do not fit 32 bits"
    return None


def prepare(graph: Graph | DeviceGraph, *, width: int, **options: Any) -> port.Problem:
    """Return the problem with the edge list and rows."""
    edges, rows = edge_inputs(graph), row_inputs(graph)
    return port.problem_of(graph, rows["keys"], {"u": edges["u"], "v": edges["v"], **rows}, options)


def layout(p: port.Problem) -> memory.Layout:
    """Return the workspace that is allocated before the solve: name to (dtype, elements)."""
    result = {"chosen": (np.uint8, p.m)}
    return result if p.options["allocate"] == "solve" else result | layout_of_solve(p)


def layout_of_solve(p: port.Problem) -> memory.Layout:
    """Return the workspace of a solve, without the result."""
    return {
        **dict.fromkeys(("roots", "new_roots", "minimum_id"), (np.uint32, p.n)),
        "minimum_key": (np.uint32 if p.key_bits == 32 else np.uint64, p.n),
        "frontier": (np.uint32, p.slots // 2),
        "counters": (np.uint32, 2),
    }


def program(p: port.Problem) -> Program:
    """Return the variant of the source that a problem needs."""
    return Program(SOURCE, KERNELS, ARGUMENT, dict(KEY_BITS=p.key_bits), BLOCK)


def transfer(problem: port.Problem) -> port.Problem:
    """Copy inputs to the device, and allocate the workspace there."""
    on_device = port.on_device("gunrock-cuda", problem, program(problem), layout(problem))
    if problem.options["allocate"] == "solve":
        memory.ensure_free(memory.layout_bytes(layout_of_solve(problem)), port.purpose("gunrock-cuda", problem))
    return on_device


def solve(problem: port.Problem) -> port.Result:
    """Run rounds over all edges until one supervertex is left (Fallin et al., section 2)."""
    p, device, g = problem, problem.device, problem.device.argument
    by_solve = layout_of_solve(p) if p.options["allocate"] == "solve" else {}
    device.allocate(by_solve)
    g["n"], g["slots"] = p.n, p.slots
    device.fill("chosen", 0)
    device.launch("initialise", p.n)
    supervertices = p.n
    per_round: list[int] = []
    frontiers: list[int] = []
    while supervertices > 1:
        per_round.append(supervertices)
        device.fill("minimum_key", 0xFF)
        device.fill("minimum_id", 0xFF)
        device.fill("counters", 0)
        device.launch("minimum_weights", p.slots)
        g["frontier_length"] = frontier = device.read("counters", FRONTIER)
        frontiers.append(frontier)
        device.launch("minimum_edges", frontier)
        device.launch("add_edges", p.n)
        added = device.read("counters", ADDED)
        if added == 0:
            port.refuse_unconnected("gunrock-cuda")
        device.launch("jump_pointers", p.n)
        supervertices -= added
    device.release(by_solve)
    counters = dict(rounds=len(per_round), supervertices=per_round, frontiers=frontiers)
    return port.Result(device.arrays["chosen"], counters)


collect = port.collect
edge_ids = port.edge_ids
counters = port.counters
device_bytes = port.device_bytes


def phases(problem: port.Problem) -> dict[str, float]:
    """Return seconds per step."""
    names = dict(minimum_weights="weights", minimum_edges="edges", add_edges="add", jump_pointers="roots")
    if problem.options["allocate"] == "solve":
        names |= dict(allocate="allocate")
    return phase_seconds(problem, solve, names)
