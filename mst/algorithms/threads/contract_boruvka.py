"""Borůvka's algorithm by vertex, contracting the graph every round: UMinho's algorithm for many cores.

This is a reimplementation from the description of C. da Silva Sousa, A. Mariano and A. Proença, "A Generic and Highly
Efficient Parallel Variant of Boruvka's Algorithm" (PDP 2015), as Biagiotti (*GPU implementation*) and the ECL-MST paper
(§2) describe it; it is not their program, and proves nothing about it. In every round each vertex chooses its lightest
edge; of two vertices that chose the same one, one becomes a root (*remove mirrored edges*); colours spread from
the roots until none changes (*propagation*); colours are numbered, degrees counted and scanned, and the edges between
colours inserted into new rows, parallel ones included.

Their program breaks ties by the smaller other end; here the edge id decides. One thread scans the degrees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.graph import Graph
from mst.kernels.parallel.compact import starts
from mst.kernels.parallel.runtime import FOREST, Schedule, grain_for, new_tallies, refusal, workers
from mst.kernels.primitives.packed_edges import PackedRows, pack
from mst.kernels.threads import contract_boruvka as kernel

ALGORITHM = dict(
    id="contract-boruvka",
    paradigm="threads",
    paper="fallin",
    title="Borůvka by contraction (UMinho CPU, reimplemented)",
    input="csr",
    requires=("numba",),
)


class Problem(NamedTuple):
    """The rows, and the number of threads."""

    rows: PackedRows
    width: int


class Result(NamedTuple):
    """Edge ids of the forest, and how many supervertices and slots each round began with."""

    edge_ids: np.ndarray
    vertices: list[int]
    slots: list[int]


def prepare(graph: Graph, *, width: int) -> Problem:
    if reason := refusal(width):
        raise UnsupportedError(reason)
    csr = graph.csr()
    words, ids = pack(order.keys(csr.weights), csr.edge_ids)
    return Problem(PackedRows(csr.offsets.copy(), csr.neighbours.copy(), words, ids), width)


def solve(problem: Problem) -> Result:
    return solve_in_chunks(problem)


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    return {
        "rounds": len(result.vertices),
        "vertices by round": result.vertices,
        "slots by round": result.slots,
    }


def solve_in_chunks(problem: Problem, smallest: int = 256, delay_seed: int = 0) -> Result:
    """Solve with chunks of at least `smallest` vertices; a delay seed perturbs the schedule."""
    rows = problem.rows
    width = max(1, min(problem.width, len(rows.neighbours) // (4 * smallest)))
    shared = new_tallies(width, delay_seed)
    forest = np.empty(max(len(rows.offsets) - 2, 0), np.int64)
    vertices: list[int] = []
    slots: list[int] = []
    with workers(width):
        while len(rows.neighbours):
            n = len(rows.offsets) - 1
            vertices.append(n)
            slots.append(len(rows.neighbours))
            schedule = Schedule(width, grain_for(n, width, smallest=smallest, largest=1 << 12), shared)
            colours = _merge(rows, forest, schedule)
            rows = _contract(rows, colours, schedule)
    return Result(forest[: shared[FOREST]], vertices, slots)


def _merge(rows: PackedRows, forest: np.ndarray, schedule: Schedule) -> np.ndarray:
    """Append every vertex's lightest edge to the forest and return the colours of the resulting trees."""
    n = len(rows.offsets) - 1
    lightest, colours = np.empty(n, np.int64), np.empty(n, rows.neighbours.dtype)
    kernel.choose_lightest(schedule, rows, lightest, colours)
    kernel.remove_mirrors(schedule, rows, lightest, colours, forest)
    while kernel.propagate_colours(schedule, colours):
        pass
    return colours


def _contract(rows: PackedRows, colours: np.ndarray, schedule: Schedule) -> PackedRows:
    """Return the contracted graph, with a vertex for each colour."""
    n = len(colours)
    counts, names = np.empty(-(-n // schedule.grain), np.int64), np.empty_like(colours)
    kernel.count_roots(schedule, colours, counts)
    kernel.number_roots(schedule, colours, starts(counts), names)
    supervertices = int(counts.sum())
    kept, degrees = np.empty(n, np.int64), np.zeros(supervertices, np.int64)
    kernel.count_slots(schedule, rows, colours, names, kept, degrees)
    offsets = np.empty(supervertices + 1, np.int64)
    kernel.prefix(degrees, offsets)
    size = int(offsets[-1])
    out = (
        np.empty(size, rows.neighbours.dtype),
        np.empty(size, np.uint64),
        np.empty(size if len(rows.ids) else 0, np.int64),
    )
    kernel.insert_slots(schedule, rows, colours, names, kept, degrees, out)
    return PackedRows(offsets, *out)
