"""Edge-centric Borůvka on one GPU (Shou and He, section 3.2), a port written from the report's text.

Listing 5 is their first version (``worklist=off, compression=on``). Listing 6 without path compression is their final
version, the default here. ``minimum=vertex`` is their future work. ``edge_boruvka.cu`` has the kernels and lists the
differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
            help="minima taken by each edge at both ends, or by each vertex over its row (future work)",
        ),
    ),
    requires=("cupy",),
    limits=dict(n=2_147_483_647, m=2_147_483_646),
)

SOURCE = "edge_boruvka.cu"
ARGUMENT = argument_dtype(
    (
        "u",
        "v",
        "keys",
        "offsets",
        "neighbours",
        "row_keys",
        "row_ids",
        "sets",
        "minimum",
        "minimum_id",
        "chosen",
        "worklist0",
        "worklist1",
        "key_low0",
        "key_low1",
        "appended",
    ),
    ("n", "length", "source", "from_input"),
)


def skip(facts: Facts, *, width: int, **options: Any) -> str | None:
    return None if width == 1 else f"it runs on one GPU, not on {width}"


def prepare(graph: Graph | DeviceGraph, *, width: int, **options: Any) -> port.Problem:
    """Return the problem with the unchanged edge list; for minima by vertex, also with rows."""
    inputs = edge_inputs(graph)
    if options["minimum"] == "vertex":
        rows = row_inputs(graph)
        inputs |= {"offsets": rows["offsets"], "neighbours": rows["neighbours"]}
        inputs |= {"row_keys": rows["keys"], "row_ids": rows["ids"]}
    return port.problem_of(graph, inputs["keys"], inputs, options)


def layout(p: port.Problem) -> memory.Layout:
    """Return the workspace of a problem: name to (dtype, elements)."""
    wide = p.key_bits == 64
    entries = p.n if p.options["minimum"] == "vertex" else p.m
    return {
        "sets": (np.uint64, p.n),
        "minimum": (np.uint64, p.n),
        "minimum_id": (np.uint32, p.n if wide else 0),
        "chosen": (np.uint8, p.m),
        "worklist0": (np.uint32, 4 * entries),
        "worklist1": (np.uint32, 4 * entries),
        "key_low0": (np.uint32, entries if wide else 0),
        "key_low1": (np.uint32, entries if wide else 0),
        "appended": (np.uint32, 1),
    }


def program(p: port.Problem) -> Program:
    """Return the variant of the source that a problem needs."""
    macros = dict(
        KEY_BITS=p.key_bits,
        WORKLIST=int(p.options["worklist"]),
        COMPRESSION=int(p.options["compression"]),
        BY_VERTEX=int(p.options["minimum"] == "vertex"),
    )
    kernels: tuple[str, ...] = ("initialise", "minimise", "minimise_ids", "unite")
    kernels += ("reset_minima",) if is_fused(p) else ("remap", "filter")
    return Program(SOURCE, kernels, ARGUMENT, macros, p.options["block"])


def is_fused(p: port.Problem) -> bool:
    """Return whether the minimum pass also filters, as in all versions except the first (Listing 5)."""
    return p.options["worklist"] or p.options["minimum"] == "vertex"


def transfer(problem: port.Problem) -> port.Problem:
    """Copy inputs to the device, and allocate the workspace there."""
    return port.on_device("edge-boruvka-cuda", problem, program(problem), layout(problem))


def solve(problem: port.Problem) -> port.Result:
    """Run rounds of minimise, unite and filter over a worklist (section 3.2)."""
    p, device, g = problem, problem.device, problem.device.argument
    g["n"], g["source"], g["from_input"] = p.n, 0, 1
    device.fill("chosen", 0)
    lengths: list[int] = []
    launches = 0
    if p.m:
        device.launch("initialise", p.n)
        before = device.launched.total()
        for length in rounds_of(p)(p, device):
            lengths.append(length)
            launches = device.launched.total() - before
    counters = dict(rounds=len(lengths), launches=launches, lengths=lengths)
    return port.Result(device.arrays["chosen"], counters)


Rounds = Callable[[port.Problem, Any], Iterator[int]]
"""Yields the worklist's length at the end of each round."""


def rounds_of(p: port.Problem) -> Rounds:
    """Return the function for the rounds of the version that the options choose."""
    if p.options["minimum"] == "vertex":
        return vertex_rounds
    return worklist_rounds if p.options["worklist"] else first_version_rounds


def worklist_rounds(p: port.Problem, device: Any) -> Iterator[int]:
    """Listing 6: three launches per round, and one at the end that finds the worklist empty."""
    length = p.m
    while length := _minimise_to_other_list(device, length):
        _unite(p, device, length)
        device.launch("reset_minima", length)
        yield length


def first_version_rounds(p: port.Problem, device: Any) -> Iterator[int]:
    """Listing 5: four launches per round."""
    g, length = device.argument, p.m
    while length:
        g["length"] = length
        device.launch("minimise", length)
        _unite(p, device, length)
        device.launch("remap", length)
        g["from_input"] = 0
        device.fill("appended", 0)
        device.launch("filter", length)
        g["source"] = 1 - g["source"]
        yield length
        length = device.read("appended")


def vertex_rounds(p: port.Problem, device: Any) -> Iterator[int]:
    """Section 4.3: minima by rows. The worklist holds vertices; without it, every round visits all vertices."""
    length = p.n
    while found := _minimise_to_other_list(device, length, keep_length=not p.options["worklist"]):
        length = found if p.options["worklist"] else p.n
        _unite(p, device, length)
        device.launch("reset_minima", length)
        yield length


def _minimise_to_other_list(device: Any, length: int, keep_length: bool = False) -> int:
    """Run the minimum pass and swap the lists; return the counter `appended`, which is the length of the new worklist.

    With `keep_length`, the list has `length` entries and the counter tells whether any vertex has an edge left.
    """
    g = device.argument
    g["length"] = length
    device.fill("appended", 0)
    device.launch("minimise", length)
    g["source"], g["from_input"] = 1 - g["source"], 0
    found = device.read("appended")
    g["length"] = length if keep_length else found
    return found


def _unite(p: port.Problem, device: Any, length: int) -> None:
    if p.key_bits == 64:
        device.launch("minimise_ids", length)
    device.launch("unite", length)


collect = port.collect
edge_ids = port.edge_ids
counters = port.counters
device_bytes = port.device_bytes


def phases(problem: port.Problem) -> dict[str, float]:
    """Return seconds per part of the algorithm, divided as in the tables of sections 3.2 and 4.3.

    With a worklist, the filter is in ``minimum``.
    """
    names = dict(minimise="minimum", minimise_ids="minimum", unite="union", remap="remap", reset_minima="remap")
    if not is_fused(problem):
        names["filter"] = "filter"
    return phase_seconds(problem, solve, names)
