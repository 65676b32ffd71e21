"""Jucele GPU (Vasconcellos, Cáceres, Mongelli, Song): a reimplementation from its published descriptions.

For connected graphs only, as the original. Kernels: ``jucele.cu``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mst.algorithms.cuda.device import memory, port
from mst.algorithms.cuda.device.graph import edge_inputs
from mst.algorithms.cuda.device.launch import Program, argument_dtype
from mst.algorithms.cuda.device.timing import phase_seconds

if TYPE_CHECKING:
    from mst.algorithms.cuda.device.graph import DeviceGraph
    from mst.facts import Facts
    from mst.graph import Graph

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
    "hook_vertices",
    "jump_pointers",
    "label_roots",
    "relabel_edges",
)
ZERO_DIFFERENCES, CHANGED, VERTICES = range(3)
ARGUMENT = argument_dtype(
    (
        "u",
        "v",
        "keys",
        "ends0",
        "ends1",
        "lightest",
        "degree",
        "component",
        "new_label",
        "chosen",
        "counters",
    ),
    ("n", "m", "from_input", "side"),
)


def skip(facts: Facts, *, width: int) -> str | None:
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if facts.components is not None and facts.components > 1:
        return f"it takes connected graphs only, and this one has {facts.components:,} components"
    return None


def prepare(graph: Graph | DeviceGraph, *, width: int) -> port.Problem:
    """Take the edge list as it is."""
    inputs = edge_inputs(graph)
    return port.problem_of(graph, inputs["keys"], inputs, {})


def layout(p: port.Problem) -> memory.Layout:
    """Return the workspace of a problem: name to (dtype, elements)."""
    per_vertex = dict.fromkeys(("lightest", "component", "new_label"), (np.uint32, p.n))
    per_edge = dict.fromkeys(("ends0", "ends1", "degree"), (np.uint32, p.m))
    return {**per_vertex, **per_edge, "chosen": (np.uint8, p.m), "counters": (np.uint32, 3)}


def program(p: port.Problem) -> Program:
    """Return the variant of the source that a problem needs."""
    return Program(SOURCE, KERNELS, ARGUMENT, dict(KEY_BITS=p.key_bits), BLOCK)


def transfer(problem: port.Problem) -> port.Problem:
    """Copy inputs to the device, and allocate the workspace there."""
    return port.on_device("jucele-cuda", problem, program(problem), layout(problem))


def solve(problem: port.Problem) -> port.Result:
    """Rounds of a strut and its contraction until one zero difference is left (Fallin et al., section 2)."""
    p, device, g = problem, problem.device, problem.device.argument
    device.fill("chosen", 0)
    device.fill("degree", 0)
    g["m"], g["from_input"] = p.m, 1
    n = p.n
    vertices: list[int] = []
    while n > 1:
        vertices.append(n)
        g["n"] = n
        zero_differences = strut(p, device, n)
        if zero_differences == 1:
            break
        if zero_differences == 0:
            port.refuse_unconnected("jucele-cuda")
        n = contract(p, device, n)
        if n != zero_differences:
            port.refuse_unconnected("jucele-cuda")
        g["from_input"] = 0
    return port.Result(device.arrays["chosen"], dict(rounds=len(vertices), vertices=vertices))


def strut(p: port.Problem, device: Any, n: int) -> int:
    """Choose the lightest edge of each of n vertices; return how many edges both ends chose."""
    device.fill("lightest", 0xFF, n)
    for side in (0, 1):
        device.argument["side"] = side
        device.launch("find_lightest", p.m)
    device.launch("mark_strut", n)
    device.fill("counters", 0)
    device.launch("count_zero_differences", p.m)
    return device.read("counters", ZERO_DIFFERENCES)


def contract(p: port.Problem, device: Any, n: int) -> int:
    """Relabel the strut's components and the ends of the edges; return the number of components."""
    device.launch("hook_vertices", n)
    changed = True
    while changed:
        device.fill("counters", 0)
        device.launch("jump_pointers", n)
        changed = device.read("counters", CHANGED) > 0
    device.launch("label_roots", n)
    device.launch("relabel_edges", p.m)
    return device.read("counters", VERTICES)


collect = port.collect
edge_ids = port.edge_ids
counters = port.counters
device_bytes = port.device_bytes


def phases(problem: port.Problem) -> dict[str, float]:
    """Seconds per step."""
    names = dict(find_lightest="lightest", mark_strut="strut", count_zero_differences="strut")
    names |= dict.fromkeys(("hook_vertices", "jump_pointers", "label_roots"), "components")
    names |= dict(relabel_edges="contract")
    return phase_seconds(problem, solve, names)
