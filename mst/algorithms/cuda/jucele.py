"""Jucele GPU (Vasconcellos, Cáceres, Mongelli, Song): a reimplementation from its published descriptions.

For connected graphs only, as the original. Kernels: ``jucele.cu``.
"""

from __future__ import annotations

import numpy as np

from mst.algorithms.cuda import _engine as engines

ALGORITHM = dict(
    id="jucele-cuda",
    paradigm="cuda",
    paper="fallin",
    title="Jucele GPU (reimplementation)",
    input="edges",
    requires=("cupy",),
    limits=dict(n=2_147_483_647, m=2_147_483_646),
)

SOURCE = "jucele.cu"
BLOCK = 256
KERNELS = (
    "find_lightest",
    "mark_strut",
    "count_zero_differences",
    "start_components",
    "shorten_components",
    "number_components",
    "contract_edges",
)
ZERO_DIFFERENCES, CHANGED, VERTICES = range(3)
_POINTERS = (
    "u",
    "v",
    "keys",
    "ends0",
    "ends1",
    "lightest",
    "degree",
    "component",
    "number",
    "chosen",
    "counters",
)
STRUCT = engines.arguments(_POINTERS, ("n", "m", "first", "second"))


def skip(facts, *, width):
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if facts.components is not None and facts.components > 1:
        return f"it takes connected graphs only, and this one has {facts.components:,} components"
    return None


def prepare(graph, *, width):
    return engines.problem_of(graph, engines.edge_inputs(graph), {})


def layout(p):
    """Return the workspace of a problem: name to (dtype, length)."""
    per_vertex = dict.fromkeys(("lightest", "component", "number"), (np.uint32, p.n))
    per_edge = dict.fromkeys(("ends0", "ends1", "degree"), (np.uint32, p.m))
    return {**per_vertex, **per_edge, "chosen": (np.uint8, p.m), "counters": (np.uint32, 3)}


def transfer(problem):
    p = problem
    arrays = engines.unmanaged(layout(p), p.inputs, f"jucele-cuda of n = {p.n:,}, m = {p.m:,}")
    p.engine = engines.Engine(SOURCE, KERNELS, STRUCT, arrays, block=BLOCK, KEY_BITS=p.bits)
    return p


def solve(problem):
    p, engine, g = problem, problem.engine, problem.engine.arguments
    engine.fill("chosen", 0)
    engine.fill("degree", 0)
    g["m"], g["first"] = p.m, 1
    n, vertices = p.n, []
    while n > 1:
        vertices.append(n)
        g["n"] = n
        strut(p, engine, n)
        left = engine.read("counters", ZERO_DIFFERENCES)
        if left == 1:
            break
        if left == 0:
            engines.refuse_unconnected("jucele-cuda")
        n = contract(p, engine, n)
        if n != left:
            engines.refuse_unconnected("jucele-cuda")
        g["first"] = 0
    return engines.Result(engine.arrays["chosen"], dict(rounds=len(vertices), vertices=vertices))


def strut(p, engine, n):
    """Choose every vertex's lightest edge, and count the edges that both ends chose."""
    engine.fill("lightest", 0xFF, n)
    for second in (0, 1):
        engine.arguments["second"] = second
        engine.launch("find_lightest", p.m)
    engine.launch("mark_strut", n)
    engine.fill("counters", 0)
    engine.launch("count_zero_differences", p.m)


def contract(p, engine, n):
    """Give the strut's components numbers, and the edges these for ends; return how many there are."""
    engine.launch("start_components", n)
    changed = True
    while changed:
        engine.fill("counters", 0)
        engine.launch("shorten_components", n)
        changed = engine.read("counters", CHANGED) > 0
    engine.launch("number_components", n)
    engine.launch("contract_edges", p.m)
    return engine.read("counters", VERTICES)


collect = engines.collect
edge_ids = engines.edge_ids
counters = engines.counters
device_bytes = engines.device_bytes


def phases(problem):
    """Seconds per step."""
    names = dict(find_lightest="lightest", mark_strut="strut", count_zero_differences="strut")
    names |= dict.fromkeys(("start_components", "shorten_components", "number_components"), "components")
    names |= dict(contract_edges="contract")
    return engines.phases(problem, solve, names)
