"""Jucele GPU (Vasconcellos, Cáceres, Mongelli, Song): a reimplementation from its published descriptions.

Like the original, it solves connected graphs only. By default it works like the published program: it allocates the
arrays of a contraction in every round, and labels spread along the strut's edges by one step per launch. The other
choices of ``allocate`` and ``components`` are improvements of ours. The kernels are in ``jucele.cu``.
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
    options=dict(
        allocate=dict(
            default="round",
            choices=("round", "once"),
            help="arrays of the contraction: from the driver in every round, or once before the solve",
        ),
        components=dict(
            default="labels",
            choices=("labels", "jumping"),
            help="components of the strut: by labels that spread along its edges, or by pointer jumping",
        ),
    ),
    requires=("cupy",),
    limits=dict(n=2_147_483_647, m=2_147_483_646),
)

SOURCE = "jucele.cu"
BLOCK = 64
KERNELS = (
    "find_lightest",
    "mark_strut",
    "count_zero_differences",
    "list_strut",
    "spread_labels",
    "hook_vertices",
    "jump_pointers",
    "label_roots",
    "relabel_edges",
)
ARGUMENT = argument_dtype(
    (
        "u",
        "v",
        "keys",
        "ends0",
        "ends1",
        "lightest",
        "degree",
        "strut",
        "component",
        "new_label",
        "chosen",
        "zero_differences",
        "changed",
        "arrivals",
    ),
    ("n", "m", "from_input", "side"),
)


def skip(facts: Facts, *, width: int, **options: Any) -> str | None:
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if facts.components is not None and facts.components > 1:
        return f"it takes connected graphs only, and this one has {facts.components:,} components"
    return None


def prepare(graph: Graph | DeviceGraph, *, width: int, **options: Any) -> port.Problem:
    """Return the problem with the unchanged edge list."""
    inputs = edge_inputs(graph)
    return port.problem_of(graph, inputs["keys"], inputs, options)


def layout(p: port.Problem) -> memory.Layout:
    """Return the workspace of a problem: name to (dtype, elements)."""
    per_edge = dict.fromkeys(("ends0", "ends1", "degree"), (np.uint32, p.m))
    fixed = {
        "lightest": (np.uint32, p.n),
        **per_edge,
        "chosen": (np.uint8, p.m),
        "zero_differences": (np.uint32, 1),
    }
    return fixed if p.options["allocate"] == "round" else fixed | layout_of_contraction(p.n)


def layout_of_contraction(n: int) -> memory.Layout:
    """Return the arrays that the contraction of `n` vertices needs."""
    return {
        "arrivals": (np.uint32, 1),
        "strut": (np.uint64, n),
        "component": (np.uint32, n),
        "changed": (np.uint32, 1),
        "new_label": (np.uint32, n),
    }


def program(p: port.Problem) -> Program:
    """Return the variant of the source that a problem needs."""
    return Program(SOURCE, KERNELS, ARGUMENT, dict(KEY_BITS=p.key_bits), BLOCK)


def transfer(problem: port.Problem) -> port.Problem:
    """Copy inputs to the device, and allocate the workspace there."""
    on_device = port.on_device("jucele-cuda", problem, program(problem), layout(problem))
    if problem.options["allocate"] == "round":
        memory.ensure_free(
            memory.layout_bytes(layout_of_contraction(problem.n)), port.purpose("jucele-cuda", problem)
        )
    return on_device


def solve(problem: port.Problem) -> port.Result:
    """Find struts and contract them until one zero difference is left (Fallin et al., section 2)."""
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
    """Choose the lightest edge of each of `n` vertices; return the number of edges chosen by both ends."""
    device.fill("lightest", 0xFF, n)
    for side in (0, 1):
        device.argument["side"] = side
        device.launch("find_lightest", p.m)
    device.launch("mark_strut", n)
    device.fill("zero_differences", 0)
    device.launch("count_zero_differences", p.m)
    return device.read("zero_differences")


def contract(p: port.Problem, device: Any, n: int) -> int:
    """Relabel the strut's components and the ends of the edges; return the number of components."""
    by_round = layout_of_contraction(n) if p.options["allocate"] == "round" else {}
    device.allocate(by_round)
    if p.options["components"] == "labels":
        device.fill("arrivals", 0)
        device.launch("list_strut", n)
        repeat(device, "spread_labels", n)
    else:
        device.launch("hook_vertices", n)
        repeat(device, "jump_pointers", n)
    device.fill("arrivals", 0)
    device.launch("label_roots", n)
    device.launch("relabel_edges", p.m)
    components = device.read("arrivals")
    device.release(by_round)
    return components


def repeat(device: Any, kernel: str, size: int) -> None:
    """Launch a kernel until it changes nothing."""
    changed = True
    while changed:
        device.fill("changed", 0)
        device.launch(kernel, size)
        changed = device.read("changed") > 0


collect = port.collect
edge_ids = port.edge_ids
counters = port.counters
device_bytes = port.device_bytes


def phases(problem: port.Problem) -> dict[str, float]:
    """Return seconds per step."""
    names = dict(find_lightest="lightest", mark_strut="strut", count_zero_differences="strut")
    by_labels = problem.options["components"] == "labels"
    steps = ("list_strut", "spread_labels") if by_labels else ("hook_vertices", "jump_pointers")
    names |= dict.fromkeys((*steps, "label_roots"), "components") | dict(relabel_edges="contract")
    if problem.options["allocate"] == "round":
        names |= dict(allocate="allocate")
    return phase_seconds(problem, solve, names)
