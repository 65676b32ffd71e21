"""Edge-centric Borůvka on one GPU (Shou and He, section 3.2), written from the report's text: a port.

Listing 5 is the first version (``worklist=off, compression=on``), Listing 6 without path compression the final one,
the default. ``minimum=vertex`` is its future work. Kernels and the differences: ``edge_boruvka.cu``.
"""

from __future__ import annotations

import numpy as np

from mst.algorithms.cuda import _engine as engines

ALGORITHM = dict(
    id="edge-boruvka-cuda",
    paradigm="cuda",
    paper="shou-he",
    title="Edge-centric Borůvka, one GPU (port)",
    input="edges",
    options=dict(
        worklist=dict(default=True, help="fuse the filter with the minimum pass (optimization 2)"),
        compression=dict(default=False, help="compress paths in the wait-free finds (off: optimization 3)"),
        block=dict(default=512, choices=(64, 128, 256, 512, 1024), help="threads per block (optimization 1)"),
        minimum=dict(
            default="edge",
            choices=("edge", "vertex"),
            help="who takes minima: each edge at both ends, or each vertex over its row (future work)",
        ),
    ),
    requires=("cupy",),
    limits=dict(n=2_147_483_647, m=2_147_483_646),
)

SOURCE = "edge_boruvka.cu"
_POINTERS = ("u", "v", "edge_keys", "offsets", "neighbours", "row_keys", "row_ids", "sets", "minimum")
_POINTERS += ("minimum_id", "chosen", "entries0", "entries1", "low0", "low1", "counters")
STRUCT = engines.arguments(_POINTERS, ("n", "length", "from", "first"))


def skip(facts, *, width, **options):
    return None if width == 1 else f"it runs on one GPU, not on {width}"


def prepare(graph, *, width, **options):
    inputs = engines.edge_inputs(graph)
    inputs["edge_keys"] = inputs["keys"]
    if options["minimum"] == "vertex":
        rows = engines.row_inputs(graph)
        inputs |= {"offsets": rows["offsets"], "neighbours": rows["neighbours"]}
        inputs |= {"row_keys": rows["keys"], "row_ids": rows["ids"]}
    problem = engines.problem_of(graph, inputs, options)
    del inputs["keys"]
    return problem


def layout(p):
    """Return the workspace of a problem: name to (dtype, length)."""
    wide = p.bits == 64
    entries = p.n if p.options["minimum"] == "vertex" else p.m
    return {
        "sets": (np.uint64, p.n),
        "minimum": (np.uint64, p.n),
        "minimum_id": (np.uint32, p.n if wide else 0),
        "chosen": (np.uint8, p.m),
        "entries0": (np.uint32, 4 * entries),
        "entries1": (np.uint32, 4 * entries),
        "low0": (np.uint32, entries if wide else 0),
        "low1": (np.uint32, entries if wide else 0),
        "counters": (np.uint32, 1),
    }


def macros(p):
    """Return the variant of the source that a problem needs."""
    return dict(
        KEY_BITS=p.bits,
        WORKLIST=int(p.options["worklist"]),
        COMPRESSION=int(p.options["compression"]),
        BY_VERTEX=int(p.options["minimum"] == "vertex"),
    )


def kernels(p):
    """Return the names of its kernels."""
    names = ("initialise", "minimise", "minimise_ids", "unite")
    fused = p.options["worklist"] or p.options["minimum"] == "vertex"
    return (*names, "reset") if fused else (*names, "remap", "filter")


def transfer(problem):
    p = problem
    arrays = engines.unmanaged(layout(p), p.inputs, f"edge-boruvka-cuda of n = {p.n:,}, m = {p.m:,}")
    block = p.options["block"]
    p.engine = engines.Engine(SOURCE, kernels(p), STRUCT, arrays, block=block, **macros(p))
    return p


def solve(problem):
    p, engine = problem, problem.engine
    engine.arguments["n"], engine.arguments["from"], engine.arguments["first"] = p.n, 0, 1
    engine.fill("chosen", 0)
    lengths = []
    if p.m:
        engine.launch("initialise", p.n)
        if p.options["minimum"] == "vertex":
            lengths = vertex_rounds(p, engine)
        elif p.options["worklist"]:
            lengths = worklist_rounds(p, engine)
        else:
            lengths = first_version_rounds(p, engine)
    fused = p.options["worklist"] or p.options["minimum"] == "vertex"
    launches = len(lengths) * ((3 if fused else 4) + (p.bits == 64))
    counters = dict(rounds=len(lengths), launches=launches, lengths=lengths)
    return engines.Result(engine.arrays["chosen"], counters)


def worklist_rounds(p, engine):
    """Listing 6: three launches a round."""
    length, lengths = p.m, []
    while length := _minimise_to_other_list(engine, length):
        lengths.append(length)
        _unite(p, engine, length)
        engine.launch("reset", length)
    return lengths


def first_version_rounds(p, engine):
    """Listing 5: four launches a round."""
    g, length, lengths = engine.arguments, p.m, []
    while length:
        lengths.append(length)
        g["length"] = length
        engine.launch("minimise", length)
        _unite(p, engine, length)
        engine.launch("remap", length)
        g["first"] = 0
        engine.fill("counters", 0)
        engine.launch("filter", length)
        g["from"] = 1 - g["from"]
        length = engine.read("counters")
    return lengths


def vertex_rounds(p, engine):
    """Minima by rows; the worklist holds vertices, all of them in every round when it is off."""
    length, lengths = p.n, []
    while found := _minimise_to_other_list(engine, length, keep=not p.options["worklist"]):
        length = found if p.options["worklist"] else p.n
        lengths.append(length)
        _unite(p, engine, length)
        engine.launch("reset", length)
    return lengths


def _minimise_to_other_list(engine, length, keep=False):
    """Return the length of the new list, which the next steps read; `keep`: it is as long as the old one."""
    g = engine.arguments
    g["length"] = length
    engine.fill("counters", 0)
    engine.launch("minimise", length)
    g["from"], g["first"] = 1 - g["from"], 0
    found = engine.read("counters")
    g["length"] = length if keep else found
    return found


def _unite(p, engine, length):
    if p.bits == 64:
        engine.launch("minimise_ids", length)
    engine.launch("unite", length)


collect = engines.collect
edge_ids = engines.edge_ids
counters = engines.counters
device_bytes = engines.device_bytes


def phases(problem):
    """Seconds per part of the algorithm, as the report's tables of sections 3.2 and 4.3 list them.

    With a worklist, the filter is in ``minimum``.
    """
    names = dict(minimise="minimum", minimise_ids="minimum", unite="union", remap="remap", reset="remap")
    if "filter" in kernels(problem):
        names["filter"] = "filter"
    return engines.phases(problem, solve, names)
