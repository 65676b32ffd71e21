"""Gunrock's minimum spanning tree: a reimplementation from its published descriptions.

For connected graphs only, as the original. Kernels: ``gunrock.cu``.
"""

from __future__ import annotations

import numpy as np

from mst.algorithms.cuda import _engine as engines

ALGORITHM = dict(
    id="gunrock-cuda",
    paradigm="cuda",
    paper="fallin",
    title="Gunrock (reimplementation)",
    input="csr",
    requires=("cupy",),
    limits=dict(n=2_147_483_646, m=2_147_483_646),
)

SOURCE = "gunrock.cu"
BLOCK = 256
KERNELS = ("initialise", "minimum_weights", "minimum_edges", "add_edges", "jump_pointers")
FRONTIER, ADDED = range(2)
_POINTERS = ("u", "v", "offsets", "neighbours", "keys", "ids")
_POINTERS += ("roots", "new_roots", "weight", "edge", "frontier", "chosen", "counters")
STRUCT = engines.arguments(_POINTERS, ("n", "slots", "length", "unused"))


def skip(facts, *, width):
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if facts.components is not None and facts.components > 1:
        return f"it takes connected graphs only, and this one has {facts.components:,} components"
    if facts.m >= 2**31 - 2**20:
        return f"2m = {2 * facts.m:,} slots do not fit 32 bits"
    return None


def prepare(graph, *, width):
    ends = engines.edge_inputs(graph)
    rows = engines.row_inputs(graph)
    return engines.problem_of(graph, {"u": ends["u"], "v": ends["v"], **rows}, {})


def layout(p):
    """Return the workspace of a problem: name to (dtype, length)."""
    return {
        **dict.fromkeys(("roots", "new_roots", "edge"), (np.uint32, p.n)),
        "weight": (np.uint32 if p.bits == 32 else np.uint64, p.n),
        "frontier": (np.uint32, p.slots // 2),
        "chosen": (np.uint8, p.m),
        "counters": (np.uint32, 2),
    }


def transfer(problem):
    p = problem
    arrays = engines.unmanaged(layout(p), p.inputs, f"gunrock-cuda of n = {p.n:,}, m = {p.m:,}")
    p.engine = engines.Engine(SOURCE, KERNELS, STRUCT, arrays, block=BLOCK, KEY_BITS=p.bits)
    return p


def solve(problem):
    p, engine, g = problem, problem.engine, problem.engine.arguments
    g["n"], g["slots"] = p.n, p.slots
    engine.fill("chosen", 0)
    engine.launch("initialise", p.n)
    supervertices, per_round, frontiers = p.n, [], []
    while supervertices > 1:
        per_round.append(supervertices)
        engine.fill("weight", 0xFF)
        engine.fill("edge", 0xFF)
        engine.fill("counters", 0)
        engine.launch("minimum_weights", p.slots)
        g["length"] = frontier = engine.read("counters", FRONTIER)
        frontiers.append(frontier)
        engine.launch("minimum_edges", frontier)
        engine.launch("add_edges", p.n)
        added = engine.read("counters", ADDED)
        if added == 0:
            engines.refuse_unconnected("gunrock-cuda")
        engine.launch("jump_pointers", p.n)
        supervertices -= added
    counters = dict(rounds=len(per_round), supervertices=per_round, frontiers=frontiers)
    return engines.Result(engine.arrays["chosen"], counters)


collect = engines.collect
edge_ids = engines.edge_ids
counters = engines.counters
device_bytes = engines.device_bytes


def phases(problem):
    """Seconds per step."""
    names = dict(minimum_weights="weights", minimum_edges="edges", add_edges="add", jump_pointers="roots")
    return engines.phases(problem, solve, names)
