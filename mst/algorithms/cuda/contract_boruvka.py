"""Borůvka with contraction on one GPU: ports of Sousa, Mariano and Proença ("UMinho GPU") and Biagiotti's GPU-u, GPU-e.

All three are written from Biagiotti's report (section IV). The default options are UMinho GPU; ``memory=unified`` is
GPU-u; ``memory=unified, work=edge, scan=host`` is GPU-e. ``minimum=segmented`` is Biagiotti's suggestion for future
work. Ties in weight are broken by edge id, not by the smaller end. The kernels are in ``contract_boruvka.cu``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mst.algorithms.cuda.device import memory, port
from mst.algorithms.cuda.device.graph import row_inputs
from mst.algorithms.cuda.device.launch import Device, Program, argument_dtype
from mst.algorithms.cuda.device.timing import phase_seconds

if TYPE_CHECKING:
    from mst.algorithms.cuda.device.graph import DeviceGraph
    from mst.facts import Facts
    from mst.graph import Graph

ALGORITHM = dict(
    id="contract-boruvka-cuda",
    paradigm="cuda",
    paper="biagiotti",
    title="Borůvka with contraction, one GPU (port)",
    input="csr",
    options=dict(
        memory=dict(
            default="device",
            choices=("device", "unified"),
            help="memory for graph and workspace; unified memory never exceeds the card's free memory",
        ),
        work=dict(
            default="vertex",
            choices=("vertex", "edge"),
            help="threads that count and move slots: one per vertex, or one per slot, which searches for its row",
        ),
        scan=dict(
            default="device", choices=("device", "host"), help="side that scans the sums of the scan's tiles"
        ),
        minimum=dict(
            default="vertex",
            choices=("vertex", "segmented"),
            help="candidates by a loop per vertex, or by a segmented scan over slots (future work)",
        ),
        block=dict(default=512, choices=(64, 128, 256, 512, 1024), help="threads per block"),
    ),
    requires=("cupy",),
    limits=dict(n=2_147_483_646, m=2_147_483_646),
)

SOURCE = "contract_boruvka.cu"
SCAN_ITEMS = 4  # elements per thread, as in scan.cuh
ROWS = ("offsets", "neighbours", "keys", "ids")
_PER_VERTEX = ("candidates", "colours", "new_labels", "leaving", "next_slot")
ARGUMENT = argument_dtype(
    (*ROWS, *(f"next_{name}" for name in ROWS), *_PER_VERTEX, "chosen", "changed", "scanned", "tile_sums"),
    ("n", "slots", "length", "tiles"),
)
KERNELS = (
    "find_candidates",
    "find_candidates_segmented",
    "remove_mirrors",
    "initialise_colours",
    "propagate_colours",
    "flag_roots",
    "count_slots",
    "count_slots_by_edge",
    "insert_slots",
    "insert_slots_by_edge",
    "scan_tiles",
    "scan_sums",
    "add_sums",
)


def skip(facts: Facts, *, width: int, **options: Any) -> str | None:
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if facts.m >= 2**31 - 2**20:
        return f"2m = {2 * facts.m:,} slots do not fit 32 bits"
    return None


def prepare(graph: Graph | DeviceGraph, *, width: int, **options: Any) -> port.Problem:
    """Build rows."""
    inputs = row_inputs(graph)
    return port.problem_of(graph, inputs["keys"], inputs, options)


def layout(p: port.Problem) -> memory.Layout:
    """Return a problem's workspace: two sets of rows, which rounds write in turn, and the arrays of a round."""
    key = np.uint32 if p.key_bits == 32 else np.uint64
    work: memory.Layout = dict.fromkeys(_PER_VERTEX, (np.uint32, p.n + 1))
    for turn in ("a", "b"):
        work[f"{turn}_offsets"] = (np.uint32, p.n + 1)
        work[f"{turn}_neighbours"] = (np.uint32, p.slots)
        work[f"{turn}_keys"] = (key, p.slots)
        work[f"{turn}_ids"] = (np.uint32, p.slots)
    tiles = -(-(p.n + 1) // (SCAN_ITEMS * 64))
    return {**work, "chosen": (np.uint8, p.m), "changed": (np.uint32, 1), "tile_sums": (np.uint32, tiles + 1)}


def program(p: port.Problem) -> Program:
    """Return the variant of the source a problem needs."""
    return Program(SOURCE, KERNELS, ARGUMENT, dict(KEY_BITS=p.key_bits), p.options["block"])


def transfer(problem: port.Problem) -> port.Problem:
    """Copy inputs to the device and allocate the workspace, both in the kind of memory that the options choose."""
    p = problem
    unified = p.options["memory"] == "unified"
    allocate = memory.in_unified_memory if unified else memory.in_device_memory
    arrays = allocate(layout(p), p.inputs, port.purpose("contract-boruvka-cuda", p))
    p.device = Device(program(p), arrays)
    return p


def solve(problem: port.Problem) -> port.Result:
    """Run rounds that contract every tree to a vertex until no slot is left (Biagiotti, section IV)."""
    p, device, g = problem, problem.device, problem.device.argument
    device.fill("chosen", 0)
    _read_rows(device, "")
    n, slots, turn = p.n, p.slots, "a"
    vertices: list[int] = []
    all_slots: list[int] = []
    colourings = 0
    while slots:
        vertices.append(n)
        all_slots.append(slots)
        g["n"], g["slots"] = n, slots
        _write_rows(device, turn)
        choose_candidates(p, device, n, slots)
        colourings += colour(device, n)
        device.launch("flag_roots", n)
        roots = scan(p, device, "new_labels", n)
        slots = contract(p, device, Contraction(n, slots, roots, f"{turn}_offsets"))
        _read_rows(device, f"{turn}_")
        n, turn = roots, "b" if turn == "a" else "a"
    counters = dict(rounds=len(vertices), vertices=vertices, slots=all_slots, colourings=colourings)
    return port.Result(device.arrays["chosen"], counters)


def _read_rows(device: Any, prefix: str) -> None:
    """Make the next round read its rows from the arrays whose names begin with `prefix`."""
    for name in ROWS:
        device.argument[name] = device.address(prefix + name)


def _write_rows(device: Any, turn: str) -> None:
    """Make this round write its rows to the set of arrays named by `turn`."""
    for name in ROWS:
        device.argument[f"next_{name}"] = device.address(f"{turn}_{name}")


def choose_candidates(p: port.Problem, device: Any, n: int, slots: int) -> None:
    """Steps 1 and 2: find each vertex's lightest slot, and drop one of two slots of the same edge."""
    if p.options["minimum"] == "segmented":
        device.fill("candidates", 0xFF, n)
        device.launch("find_candidates_segmented", slots)
    else:
        device.launch("find_candidates", n)
    device.launch("remove_mirrors", n)


def colour(device: Any, n: int) -> int:
    """Step 3: give every vertex the colour of its root; return the number of launches until nothing changed."""
    device.launch("initialise_colours", n)
    launches, changed = 0, True
    while changed:
        device.fill("changed", 0)
        device.launch("propagate_colours", n)
        launches, changed = launches + 1, device.read("changed") > 0
    return launches


class Contraction(NamedTuple):
    """The numbers of vertices, slots and roots of a round, and the name of the next round's offsets."""

    n: int
    slots: int
    roots: int
    next_offsets: str


def contract(p: port.Problem, device: Any, c: Contraction) -> int:
    """Step 5: count and scan degrees, and copy slots between components; return the number of these slots."""
    by_edge = p.options["work"] == "edge"
    suffix, size = ("_by_edge", c.slots) if by_edge else ("", c.n)
    device.fill(c.next_offsets, 0, c.roots + 1)
    device.launch(f"count_slots{suffix}", size)
    leaving = scan(p, device, c.next_offsets, c.roots + 1)
    if leaving:
        device.copy(c.next_offsets, "next_slot", c.roots)
        device.launch(f"insert_slots{suffix}", size)
    return leaving


def scan(p: port.Problem, device: Any, name: str, length: int) -> int:
    """Replace an array's first elements by their exclusive prefix sums; return the total."""
    g = device.argument
    tiles = -(-length // (SCAN_ITEMS * device.block))
    g["scanned"], g["length"], g["tiles"] = device.address(name), length, tiles
    device.launch("scan_tiles", -(-length // SCAN_ITEMS))
    if p.options["scan"] == "host":
        sums = np.cumsum(device.get("tile_sums", tiles), dtype=np.uint32)
        device.put("tile_sums", np.concatenate((np.zeros(1, np.uint32), sums)))
        total = int(sums[-1])
    else:
        device.launch("scan_sums", 1)
        total = device.read("tile_sums", tiles)
    device.launch("add_sums", -(-length // SCAN_ITEMS))
    return total


collect = port.collect
edge_ids = port.edge_ids


def counters(problem: port.Problem, result: port.Result) -> dict[str, Any]:
    """Return the counters of the solve, and the theoretical occupancy of each kernel by round."""
    report = occupancy(problem, result.counters)
    return result.counters | {f"theoretical_occupancy_{name}": shares for name, shares in report.items()}


device_bytes = port.device_bytes


def phases(problem: port.Problem) -> dict[str, float]:
    """Return seconds per step of the method."""
    names = dict(find_candidates="candidates", find_candidates_segmented="candidates")
    names |= dict(remove_mirrors="mirrors", initialise_colours="colours", propagate_colours="colours")
    names |= dict.fromkeys(("flag_roots", "scan_tiles", "scan_sums", "add_sums"), "scans")
    names |= dict(count_slots="degrees", count_slots_by_edge="degrees")
    names |= dict(insert_slots="insertion", insert_slots_by_edge="insertion")
    return phase_seconds(problem, solve, names)


def used_kernels(p: port.Problem) -> tuple[str, ...]:
    """Return the kernels selected by the options."""
    other = {
        "find_candidates" + ("" if p.options["minimum"] == "segmented" else "_segmented"),
        "count_slots" + ("" if p.options["work"] == "edge" else "_by_edge"),
        "insert_slots" + ("" if p.options["work"] == "edge" else "_by_edge"),
    }
    return tuple(name for name in KERNELS if name not in other)


def occupancy(problem: port.Problem, counters: dict[str, Any]) -> dict[str, list[float]]:
    """Return the theoretical occupancy of each kernel in each round, limited by registers and by launched threads.

    Parameters
    ----------
    counters : dict
        Counters of a solve.

    Returns
    -------
    dict of str to list of float
        For each kernel, its share of the card's resident warps in each round. A run with ``measure: {profile: true}``
        counts the achieved occupancy.
    """
    most = problem.device.resident_threads()
    rounds = list(zip(counters["vertices"], counters["slots"], strict=True))
    report = {}
    for name in used_kernels(problem):
        if name.startswith(("scan", "add")):
            continue
        limit = problem.device.occupancy(name)
        by_slot = name.endswith(("_by_edge", "_segmented"))
        report[name] = [min(limit, (slots if by_slot else n) / most) for n, slots in rounds]
    return report
