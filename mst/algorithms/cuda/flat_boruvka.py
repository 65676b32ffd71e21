"""Borůvka with flattened component trees on one GPU (Bhargava and Zaia, CUDA version), from the page's text: a port.

The defaults are what its authors kept: flattened trees, flattening as a kernel of its own, each edge once, sorted by
its first vertex, a chunk per block that its threads walk interleaved, and the check of the other component's choice
against counting an edge twice. Kernels: ``flat_boruvka.cu``.
"""

from __future__ import annotations

import numpy as np

from mst.algorithms.cuda import _engine as engines

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
            help="reset and flatten in a kernel of their own, or merged into the other two",
        ),
        edges=dict(
            default="once",
            choices=("once", "both"),
            help="each edge once, or both ways so that it offers to its first end only",
        ),
        order=dict(
            default="sorted", choices=("sorted", "shuffled"), help="edges by first vertex, or at random"
        ),
        walk=dict(
            default="interleaved",
            choices=("interleaved", "contiguous"),
            help="how threads share their block's chunk",
        ),
        check=dict(
            default="cheapest",
            choices=("cheapest", "flag"),
            help="against counting an edge twice: look at the other component's choice, or take a flag",
        ),
        blocks=dict(
            default=0, min=0, max=65_536, help="blocks of a launch; 0: four times what the device holds"
        ),
    ),
    requires=("cupy",),
    limits=dict(n=2_147_483_647, m=2_147_483_646),
)

SOURCE = "flat_boruvka.cu"
BLOCK = 512
FILLINGS = 4  # of the device by one launch: short chunks keep the blocks that run together close in the list
SEED = 1
LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"
STALLED = "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"
PROFILED = (LATENCY, STALLED)
_POINTERS = ("edges", "contracted", "ids", "parent", "sets", "cheapest0", "cheapest1", "chosen", "merged")
STRUCT = engines.arguments(_POINTERS, ("n", "length", "round", "identity"))


def skip(facts, *, width, edges, **options):
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if edges == "both" and facts.m >= 2**31 - 2**20:
        return f"2m = {2 * facts.m:,} directed edges do not fit 32 bits: use edges=once"
    return None


def prepare(graph, *, width, **options):
    """Order the edge list as asked; a place is an edge id unless that moved an edge."""
    given = engines.edge_inputs(graph)
    problem = engines.problem_of(graph, given, options)
    array = _module_of(given["u"])
    u, v, keys, ids = given["u"], given["v"], given["keys"], None
    if options["edges"] == "both":
        u, v, keys = array.concatenate((u, v)), array.concatenate((v, u)), array.concatenate((keys, keys))
        ids = array.tile(array.arange(graph.m, dtype=np.uint32), 2)
    places = _places(array, u, options["order"])
    if places is not None:
        u, v, keys = u[places], v[places], keys[places]
        ids = places.astype(np.uint32) if ids is None else ids[places]
    problem.inputs = {"edges": _packed(array, u, v, keys)}
    if ids is not None:
        problem.inputs["ids"] = ids
    return problem


def _places(array, first, order):
    """Return the permutation into the order asked for, or None where the list has it."""
    if order == "shuffled":
        return array.random.RandomState(SEED).permutation(len(first))
    if len(first) < 2 or bool((first[1:] >= first[:-1]).all()):
        return None
    if array is np:
        return np.argsort(first, kind="stable")
    return array.argsort(first)


def _packed(array, u, v, keys):
    """Return edges one after another as (first, second, key): 12 bytes each with 32-bit keys, 16 with 64-bit ones."""
    words = 2 + keys.dtype.itemsize // 4
    packed = array.empty((len(u), words), np.uint32)
    packed[:, 0], packed[:, 1] = u, v
    packed[:, 2:] = keys.view(np.uint32).reshape(len(u), words - 2)
    return packed.reshape(-1)


def _module_of(values):
    if isinstance(values, np.ndarray):
        return np
    import cupy

    return cupy


def length_of(p):
    """Return how many edges the list has."""
    return len(p.inputs["edges"]) // (2 + p.bits // 32)


def layout(p):
    """Return the workspace of a problem: name to (dtype, length)."""
    wait_free, merged = p.options["union_find"] == "wait-free", p.options["flatten"] == "merged"
    return {
        "contracted": (np.uint32, length_of(p) * (2 + p.bits // 32)),
        "parent": (np.uint32, 0 if wait_free else p.n),
        "sets": (np.uint64, p.n if wait_free else 0),
        "cheapest0": (np.uint32, p.n),
        "cheapest1": (np.uint32, p.n if merged else 0),
        "chosen": (np.uint8, -(-p.m // 4) * 4),  # flags are taken in words
        "merged": (np.uint32, 1),
    }


def macros(p):
    """Return the variant of the source that a problem needs."""
    o = p.options
    return dict(
        KEY_BITS=p.bits,
        WAIT_FREE=int(o["union_find"] == "wait-free"),
        COMPRESSION=int(o["union_find"] == "wait-free"),
        MERGED=int(o["flatten"] == "merged"),
        BOTH_WAYS=int(o["edges"] == "both"),
        FLAG=int(o["check"] == "flag"),
        CONTIGUOUS=int(o["walk"] == "contiguous"),
    )


def kernels(p):
    """Return the names of its kernels."""
    names = ("initialise", "assign_cheapest", "update_mst")
    return names if p.options["flatten"] == "merged" else (*names, "prepare")


def transfer(problem):
    p = problem
    what = f"flat-boruvka-cuda of n = {p.n:,}, m = {p.m:,}"
    arrays = engines.unmanaged(layout(p), p.inputs, what)
    p.engine = engines.Engine(SOURCE, kernels(p), STRUCT, arrays, block=BLOCK, **macros(p))
    return p


def solve(problem):
    p, engine, g = problem, problem.engine, problem.engine.arguments
    blocks = p.options["blocks"] or FILLINGS * engine.filling_blocks("assign_cheapest")
    g["n"], g["length"], g["identity"] = p.n, length_of(p), int("ids" not in p.inputs)
    engine.fill("chosen", 0)
    engine.fill("merged", 0)
    rounds, merged = 0, []
    if p.n > 1 and p.m:
        engine.launch("initialise", p.n, blocks=blocks)
    while p.n > 1 and p.m and _goes_on(p, merged):
        g["round"] = rounds
        if rounds and p.options["flatten"] == "kernel":
            engine.launch("prepare", p.n, blocks=blocks)
        engine.launch("assign_cheapest", p.n, blocks=blocks)
        engine.launch("update_mst", p.n, blocks=blocks)
        merged.append(engine.read("merged"))
        rounds += 1
    return engines.Result(engine.arrays["chosen"], dict(rounds=rounds, merged=merged, blocks=blocks))


def _goes_on(p, merged):
    """Until the tree is complete; of a forest, until a round adds nothing."""
    if not merged:
        return True
    return merged[-1] < p.n - 1 and merged[-1] > (merged[-2] if len(merged) > 1 else 0)


collect = engines.collect
edge_ids = engines.edge_ids


def counters(problem, result):
    """What the solve counted, bytes per edge of the list, and where it is flattened the depth of the deepest tree."""
    p = problem
    told = dict(result.counters, bytes_per_edge=8 + p.bits // 8)
    flattened = p.options["union_find"] == "flattened" and p.options["flatten"] == "kernel"
    if flattened and told["rounds"]:
        p.engine.launch("prepare", p.n, blocks=told["blocks"])
        told["depth_after_flatten"] = depth(p.engine.arrays["parent"])
    return told


def depth(parent):
    """Return the longest path to a root."""
    steps, reached = 0, _module_of(parent).arange(len(parent), dtype=np.uint32)
    while bool((parent[reached] != reached).any()):
        steps, reached = steps + 1, parent[reached]
    return steps


device_bytes = engines.device_bytes


def phases(problem):
    """Seconds per kernel."""
    names = dict(assign_cheapest="assign cheapest", update_mst="update MST")
    if "prepare" in kernels(problem):
        names["prepare"] = "reset and flatten"
    return engines.phases(problem, solve, names)


def profiled(launches):
    """Cycles an instruction that a warp of `assign_cheapest` waits for memory in its worst launch, and their share."""
    cycles, waiting = (
        [value for kernel, metric, value in launches if (kernel, metric) == ("assign_cheapest", wanted)]
        for wanted in PROFILED
    )
    if not cycles or len(cycles) != len(waiting):
        return {}
    worst, stalled = max(zip(cycles, waiting, strict=True))
    return dict(stall_cycles=stalled, stalled_share=stalled / worst)
