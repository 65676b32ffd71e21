"""Borůvka with contraction on one GPU: Sousa, Mariano, Proença ("UMinho GPU") and Biagiotti's GPU-u and GPU-e: ports.

Written from Biagiotti's report (section IV), which describes all three. The defaults are UMinho's; GPU-u is
``memory=unified``; GPU-e is ``memory=unified, work=edge, scan=host``. ``minimum=segmented`` is Biagiotti's future
work. Candidates of equal weight are told apart by edge id, not by the smaller end. Kernels: ``contract_boruvka.cu``.
"""

from __future__ import annotations

import numpy as np

from mst.algorithms.cuda import _engine as engines

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
            help="where graph and workspace lie; unified memory is never more than the card has free",
        ),
        work=dict(
            default="vertex",
            choices=("vertex", "edge"),
            help="who counts and moves slots: a thread per vertex, or per slot with a binary search for its row",
        ),
        scan=dict(default="device", choices=("device", "host"), help="who scans the sums of the scan's tiles"),
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
SCAN_ITEMS = 4
ROWS = ("offsets", "neighbours", "keys", "ids")
_WORK = ("candidates", "colours", "numbers", "kept", "places", "chosen", "changed", "values", "sums")
STRUCT = engines.arguments(
    (*ROWS, *(f"next_{name}" for name in ROWS), *_WORK), ("n", "slots", "length", "tiles")
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


def skip(facts, *, width, **options):
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if facts.m >= 2**31 - 2**20:
        return f"2m = {2 * facts.m:,} slots do not fit 32 bits"
    return None


def prepare(graph, *, width, **options):
    return engines.problem_of(graph, engines.row_inputs(graph), options)


def layout(p):
    """Return the workspace of a problem: rows that rounds read and write in turn, and what a round needs."""
    key = np.uint32 if p.bits == 32 else np.uint64
    work = dict.fromkeys(("candidates", "colours", "numbers", "kept", "places"), (np.uint32, p.n + 1))
    for turn in ("a", "b"):
        work[f"{turn}_offsets"] = (np.uint32, p.n + 1)
        work[f"{turn}_neighbours"] = (np.uint32, p.slots)
        work[f"{turn}_keys"] = (key, p.slots)
        work[f"{turn}_ids"] = (np.uint32, p.slots)
    tiles = -(-(p.n + 1) // (SCAN_ITEMS * 64))
    return {**work, "chosen": (np.uint8, p.m), "changed": (np.uint32, 1), "sums": (np.uint32, tiles + 1)}


def transfer(problem):
    p = problem
    what = f"contract-boruvka-cuda of n = {p.n:,}, m = {p.m:,}"
    place = engines.managed if p.options["memory"] == "unified" else engines.unmanaged
    arrays = place(layout(p), p.inputs, what)
    p.engine = engines.Engine(SOURCE, KERNELS, STRUCT, arrays, block=p.options["block"], KEY_BITS=p.bits)
    return p


def solve(problem):
    p, engine, g = problem, problem.engine, problem.engine.arguments
    engine.fill("chosen", 0)
    _read_rows(engine, "")
    n, slots, turn = p.n, p.slots, "a"
    vertices, all_slots, colourings = [], [], 0
    while slots:
        vertices.append(n)
        all_slots.append(slots)
        g["n"], g["slots"] = n, slots
        _write_rows(engine, turn)
        choose(p, engine, n, slots)
        colourings += colour(engine, n)
        engine.launch("flag_roots", n)
        roots = scan(p, engine, "numbers", n)
        slots = contract(p, engine, n, slots, roots, turn)
        _read_rows(engine, f"{turn}_")
        n, turn = roots, "b" if turn == "a" else "a"
    counters = dict(rounds=len(vertices), vertices=vertices, slots=all_slots, colourings=colourings)
    return engines.Result(engine.arrays["chosen"], counters)


def _read_rows(engine, prefix):
    for name in ROWS:
        engine.arguments[name] = engine.address(prefix + name)


def _write_rows(engine, turn):
    for name in ROWS:
        engine.arguments[f"next_{name}"] = engine.address(f"{turn}_{name}")


def choose(p, engine, n, slots):
    """Steps 1 and 2: each vertex's lightest slot, and mirrored ones out."""
    if p.options["minimum"] == "segmented":
        engine.fill("candidates", 0xFF, n)
        engine.launch("find_candidates_segmented", slots)
    else:
        engine.launch("find_candidates", n)
    engine.launch("remove_mirrors", n)


def colour(engine, n):
    """Step 3: every vertex gets the number of its tree's root; return the launches until nothing changed."""
    engine.launch("initialise_colours", n)
    launches, changed = 0, True
    while changed:
        engine.fill("changed", 0)
        engine.launch("propagate_colours", n)
        launches, changed = launches + 1, engine.read("changed") > 0
    return launches


def contract(p, engine, n, slots, roots, turn):
    """Step 5: degrees, their scan, and the slots between components; return how many there are."""
    degrees, suffix = f"{turn}_offsets", "_by_edge" if p.options["work"] == "edge" else ""
    size = slots if p.options["work"] == "edge" else n
    engine.fill(degrees, 0, roots + 1)
    engine.launch(f"count_slots{suffix}", size)
    kept = scan(p, engine, degrees, roots + 1)
    if kept:
        engine.copy(degrees, "places", roots)
        engine.launch(f"insert_slots{suffix}", size)
    return kept


def scan(p, engine, name, length):
    """Replace an array's first elements by the sums of those before them; return the sum of all."""
    g = engine.arguments
    tiles = -(-length // (SCAN_ITEMS * engine.block))
    g["values"], g["length"], g["tiles"] = engine.address(name), length, tiles
    engine.launch("scan_tiles", -(-length // SCAN_ITEMS))
    if p.options["scan"] == "host":
        sums = np.cumsum(engine.get("sums", tiles), dtype=np.uint32)
        engine.put("sums", np.concatenate((np.zeros(1, np.uint32), sums)))
        total = int(sums[-1])
    else:
        engine.launch("scan_sums", 1)
        total = engine.read("sums", tiles)
    engine.launch("add_sums", -(-length // SCAN_ITEMS))
    return total


collect = engines.collect
edge_ids = engines.edge_ids


def counters(problem, result):
    """What the solve counted, and the theoretical occupancy of each kernel by round."""
    report = occupancy(problem, result.counters)
    return result.counters | {f"theoretical_occupancy_{name}": shares for name, shares in report.items()}


device_bytes = engines.device_bytes


def phases(problem):
    """Seconds per step of the method."""
    names = dict(find_candidates="candidates", find_candidates_segmented="candidates")
    names |= dict(remove_mirrors="mirrors", initialise_colours="colours", propagate_colours="colours")
    names |= dict.fromkeys(("flag_roots", "scan_tiles", "scan_sums", "add_sums"), "scans")
    names |= dict(count_slots="degrees", count_slots_by_edge="degrees")
    names |= dict(insert_slots="insertion", insert_slots_by_edge="insertion")
    return engines.phases(problem, solve, names)


def used_kernels(p):
    """Return the kernels that the options choose."""
    other = {
        "find_candidates" + ("" if p.options["minimum"] == "segmented" else "_segmented"),
        "count_slots" + ("" if p.options["work"] == "edge" else "_by_edge"),
        "insert_slots" + ("" if p.options["work"] == "edge" else "_by_edge"),
    }
    return tuple(name for name in KERNELS if name not in other)


def occupancy(problem, counters):
    """Return the theoretical occupancy of each kernel, per round: what registers and the launched threads allow.

    Parameters
    ----------
    counters : dict
        What a solve counted.

    Returns
    -------
    dict of str to list of float
        Kernel to the share of the card's resident warps, one value a round. The achieved
        occupancy is among the counters of a run with ``measure: {profile: true}``.
    """
    most = problem.engine.resident_threads()
    rounds = list(zip(counters["vertices"], counters["slots"], strict=True))
    report = {}
    for name in used_kernels(problem):
        if name.startswith(("scan", "add")):
            continue
        limit = problem.engine.occupancy(name)
        by_slot = name.endswith(("_by_edge", "_segmented"))
        report[name] = [min(limit, (slots if by_slot else n) / most) for n, slots in rounds]
    return report
