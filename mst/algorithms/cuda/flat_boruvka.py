"""Borůvka with flattened component trees on one GPU: a port of Bhargava and Zaia's CUDA version from their web page.

The defaults are the authors' choices: component trees flattened by a separate kernel; each edge listed once, sorted
by its first vertex; a chunk of the list per block, in which consecutive threads read consecutive edges; and a check of
the other component's choice, so that no edge counts twice. The kernels are in ``flat_boruvka.cu``.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    id="flat-boruvka-cuda",
    paradigm="cuda",
    paper="bhargava-zaia",
    title="Borůvka with flattened trees, one GPU (port)",
    input="edges",
    options=dict(
        union_find=dict(
            default="flattened",
            choices=("flattened", "wait-free"),
            help="trees of depth one after each round, or Anderson and Woll's",
        ),
        flatten=dict(
            default="kernel",
            choices=("kernel", "merged"),
            help="reset and flatten in a separate kernel, or merged into the other two",
        ),
        edges=dict(
            default="once",
            choices=("once", "both"),
            help="each edge once, or in both directions, each offered only to its first end",
        ),
        order=dict(
            default="sorted", choices=("sorted", "shuffled"), help="edges by first vertex, or at random"
        ),
        walk=dict(
            default="interleaved",
            choices=("interleaved", "contiguous"),
            help="how threads divide their block's chunk",
        ),
        check=dict(
            default="cheapest",
            choices=("cheapest", "flag"),
            help="how to avoid counting an edge twice: look at the other component's choice, or take a flag",
        ),
        blocks=dict(
            default=0,
            min=0,
            max=65_536,
            help="blocks of a launch; 0: four times the resident blocks of the device",
        ),
    ),
    requires=("cupy",),
    limits=dict(n=2_147_483_647, m=2_147_483_646),
)

SOURCE = "flat_boruvka.cu"
BLOCK = 512
BLOCKS_PER_RESIDENT = 4  # short chunks keep the blocks that run together close in the list
SEED = 1
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
STALLED = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"
PROFILED = (LATENCY, STALLED)
ARGUMENT = argument_dtype(
    ("edges", "relabelled", "ids", "parent", "sets", "cheapest0", "cheapest1", "chosen", "unions"),
    ("n", "length", "round", "ids_are_indices"),
)


def skip(facts: Facts, *, width: int, edges: str, **options: Any) -> str | None:
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if edges == "both" and facts.m >= 2**31 - 2**20:
        return f"2m = {2 * facts.m:,} directed edges do not fit 32 bits: use edges=once"
    return None


def prepare(graph: Graph | DeviceGraph, *, width: int, **options: Any) -> port.Problem:
    """Order the edge list as the options say; if this moves no edge, indices in the list serve as edge ids."""
    edges = edge_inputs(graph)
    xp = _array_module(edges["u"])
    u, v, keys, ids = edges["u"], edges["v"], edges["keys"], None
    if options["edges"] == "both":
        u, v, keys = xp.concatenate((u, v)), xp.concatenate((v, u)), xp.concatenate((keys, keys))
        ids = xp.tile(xp.arange(graph.m, dtype=np.uint32), 2)
    permutation = _permutation(xp, u, options["order"])
    if permutation is not None:
        u, v, keys = u[permutation], v[permutation], keys[permutation]
        ids = permutation.astype(np.uint32) if ids is None else ids[permutation]
    inputs = {"edges": _packed(xp, u, v, keys)}
    if ids is not None:
        inputs["ids"] = ids
    return port.problem_of(graph, keys, inputs, options)


def _permutation(xp: Any, first: Any, order: str) -> Any:
    """Return the permutation of the edges for the option `order`, or None if they are in this order already."""
    if order == "shuffled":
        return xp.random.RandomState(SEED).permutation(len(first))
    if len(first) < 2 or bool((first[1:] >= first[:-1]).all()):
        return None
    if xp is np:
        return np.argsort(first, kind="stable")
    return xp.argsort(first)


def _packed(xp: Any, u: Any, v: Any, keys: Any) -> Any:
    """Return the edges as consecutive records (first, second, key): 12 bytes each, or 16 with 64-bit keys."""
    words = 2 + keys.dtype.itemsize // 4
    packed = xp.empty((len(u), words), np.uint32)
    packed[:, 0], packed[:, 1] = u, v
    packed[:, 2:] = keys.view(np.uint32).reshape(len(u), words - 2)
    return packed.reshape(-1)


def _array_module(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return np
    import cupy

    return cupy


def length_of(p: port.Problem) -> int:
    """Return the number of entries of the list."""
    return len(p.inputs["edges"]) // (2 + p.key_bits // 32)


def layout(p: port.Problem) -> memory.Layout:
    """Return the workspace of a problem: name to (dtype, elements)."""
    wait_free, merged = p.options["union_find"] == "wait-free", p.options["flatten"] == "merged"
    return {
        "relabelled": (np.uint32, length_of(p) * (2 + p.key_bits // 32)),
        "parent": (np.uint32, 0 if wait_free else p.n),
        "sets": (np.uint64, p.n if wait_free else 0),
        "cheapest0": (np.uint32, p.n),
        "cheapest1": (np.uint32, p.n if merged else 0),
        "chosen": (np.uint8, -(-p.m // 4) * 4),  # flags are taken in words
        "unions": (np.uint32, 1),
    }


def program(p: port.Problem) -> Program:
    """Return the variant of the source that a problem needs."""
    o = p.options
    macros = dict(
        KEY_BITS=p.key_bits,
        WAIT_FREE=int(o["union_find"] == "wait-free"),
        COMPRESSION=int(o["union_find"] == "wait-free"),
        MERGED=int(o["flatten"] == "merged"),
        BOTH_WAYS=int(o["edges"] == "both"),
        FLAG=int(o["check"] == "flag"),
        CONTIGUOUS=int(o["walk"] == "contiguous"),
    )
    kernels: tuple[str, ...] = ("initialise", "assign_cheapest", "update_mst")
    if o["flatten"] == "kernel":
        kernels += ("prepare",)
    return Program(SOURCE, kernels, ARGUMENT, macros, BLOCK)


def transfer(problem: port.Problem) -> port.Problem:
    """Copy inputs to the device, and allocate the workspace there."""
    return port.on_device("flat-boruvka-cuda", problem, program(problem), layout(problem))


def solve(problem: port.Problem) -> port.Result:
    """Run rounds of prepare, assign cheapest and update MST (section Approach, CUDA)."""
    p, device, g = problem, problem.device, problem.device.argument
    blocks = p.options["blocks"] or BLOCKS_PER_RESIDENT * device.resident_blocks("assign_cheapest")
    g["n"], g["length"], g["ids_are_indices"] = p.n, length_of(p), int("ids" not in p.inputs)
    device.fill("chosen", 0)
    device.fill("unions", 0)
    rounds = 0
    unions: list[int] = []
    if p.n > 1 and p.m:
        device.launch("initialise", p.n, blocks=blocks)
    while p.n > 1 and p.m and _goes_on(p, unions):
        g["round"] = rounds
        if rounds and p.options["flatten"] == "kernel":
            device.launch("prepare", p.n, blocks=blocks)
        device.launch("assign_cheapest", p.n, blocks=blocks)
        device.launch("update_mst", p.n, blocks=blocks)
        unions.append(device.read("unions"))
        rounds += 1
    return port.Result(device.arrays["chosen"], dict(rounds=rounds, merged=unions, blocks=blocks))


def _goes_on(p: port.Problem, unions: list[int]) -> bool:
    """Return whether another round follows: the tree is incomplete, and the last round, if any, added an edge."""
    if not unions:
        return True
    return unions[-1] < p.n - 1 and unions[-1] > (unions[-2] if len(unions) > 1 else 0)


collect = port.collect
edge_ids = port.edge_ids


def counters(problem: port.Problem, result: port.Result) -> dict[str, Any]:
    """Return the counters of the solve, the bytes per edge, and for flattened trees the depth of the deepest one."""
    p = problem
    counted = dict(result.counters, bytes_per_edge=8 + p.key_bits // 8)
    flattened = p.options["union_find"] == "flattened" and p.options["flatten"] == "kernel"
    if flattened and counted["rounds"]:
        p.device.launch("prepare", p.n, blocks=counted["blocks"])
        counted["depth_after_flatten"] = depth(p.device.arrays["parent"])
    return counted


def depth(parent: Any) -> int:
    """Return the length of the longest path to a root in a forest given by parents."""
    steps, reached = 0, _array_module(parent).arange(len(parent), dtype=np.uint32)
    while bool((parent[reached] != reached).any()):
        steps, reached = steps + 1, parent[reached]
    return steps


device_bytes = port.device_bytes


def phases(problem: port.Problem) -> dict[str, float]:
    """Return seconds per kernel."""
    names = dict(assign_cheapest="assign cheapest", update_mst="update MST")
    if problem.options["flatten"] == "kernel":
        names["prepare"] = "reset and flatten"
    return phase_seconds(problem, solve, names)


def profiled(launches: Iterable[tuple[str, str, float]]) -> dict[str, float]:
    """Return the cycles per instruction that a warp of `assign_cheapest` waits for memory, and their share.

    Both are taken from the kernel's worst launch.

    Parameters
    ----------
    launches : iterable of (kernel, metric, value)
    """
    cycles, waiting = (
        [value for kernel, metric, value in launches if (kernel, metric) == ("assign_cheapest", wanted)]
        for wanted in PROFILED
    )
    if not cycles or len(cycles) != len(waiting):
        return {}
    worst, stalled = max(zip(cycles, waiting, strict=True))
    return dict(stall_cycles=stalled, stalled_share=stalled / worst)
