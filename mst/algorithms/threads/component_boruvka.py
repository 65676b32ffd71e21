"""Borůvka's algorithm over components, in two lock-free phases: Lonestar's algorithm for many cores.

This is a reimplementation from the descriptions in the ECL-MST paper (§2) and in the documentation of Lonestar, the
Galois system's benchmarks: rounds of a *find* and a *union* phase over rows sorted by weight. It is not their program,
and proves nothing about it. Each vertex offers its lightest edge that leaves its component as the lightest edge of the
component; the vertices whose edge is the minimum then merge components through the union-find. No graph is rebuilt.
Light edges go first: vertices whose next edge is beyond a limit, which begins at a fifth of the range of weights and
doubles, wait in a separate list.

Sorting the rows counts as initialisation, as in Lonestar. The limit applies to order-preserving keys rather than
weights, so that negative weights and floats have a range, too. Ties go by edge id.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.graph import Graph
from mst.kernels.graph.csr import build_csr
from mst.kernels.parallel.runtime import FOREST, LIVE, Schedule, grain_for, new_tallies, refusal, workers
from mst.kernels.primitives.packed_edges import PackedRows, pack
from mst.kernels.primitives.radix import argsort
from mst.kernels.threads import component_boruvka as kernel

ALGORITHM = dict(
    id="component-boruvka",
    paradigm="threads",
    paper="fallin",
    title="Borůvka over components (Lonestar CPU, reimplemented)",
    input="csr",
    requires=("numba",),
)

_TOP = 2**64 - 1


class Problem(NamedTuple):
    """Rows sorted by (weight, edge id), their least and greatest word, and the number of threads."""

    rows: PackedRows
    range: tuple[int, int]
    width: int


class Result(NamedTuple):
    """Edge ids of the forest, and how many vertices were on the worklist in each round."""

    edge_ids: np.ndarray
    vertices: list[int]


def prepare(graph: Graph, *, width: int) -> Problem:
    if reason := refusal(width):
        raise UnsupportedError(reason)
    keys = order.keys(graph.w)
    lightest_first = argsort(keys)
    # Rows are filled in the order of the edges given.
    u, v, keys = graph.u[lightest_first], graph.v[lightest_first], keys[lightest_first]
    offsets, neighbours, slot_keys, places = build_csr(graph.n, u, v, keys)
    words, ids = pack(slot_keys, lightest_first[places])
    lowest, highest = (int(words.min()), int(words.max())) if len(words) else (0, 0)
    return Problem(PackedRows(offsets, neighbours, words, ids), (lowest, highest), width)


def solve(problem: Problem) -> Result:
    return solve_in_chunks(problem)


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    return {"rounds": len(result.vertices), "vertices by round": result.vertices}


def solve_in_chunks(problem: Problem, smallest: int = 256, delay_seed: int = 0) -> Result:
    """Solve by at most one worker for `smallest` vertices; a delay seed perturbs the schedule."""
    rows = problem.rows
    n = len(rows.offsets) - 1
    width = max(1, min(problem.width, n // smallest))
    shared = new_tallies(width, delay_seed)
    state = kernel.State(
        cursors=rows.offsets[:-1].copy(),
        parent=np.arange(n, dtype=rows.neighbours.dtype),
        lightest=np.full(n, -1, np.int64),
    )
    forest = np.empty(max(n - 1, 0), np.int64)
    current, following, pending = (np.empty(n, rows.neighbours.dtype) for _ in range(3))
    sizes: list[int] = []

    def schedule(size: int) -> Schedule:
        return Schedule(width, grain_for(size, width, smallest=16, largest=1 << 12), shared)

    def find(size: int, limit: int) -> int:
        kernel.find_lightest(schedule(size), current[:size], rows, np.uint64(limit), state, following, pending)
        return int(shared[LIVE])

    with workers(width):
        current[:] = np.arange(n)
        size = find(n, _TOP)
        lowest, highest = problem.range
        step = (highest - lowest) // 5 + 1
        while size:
            while size:
                sizes.append(size)
                current, following = following, current
                kernel.merge(schedule(size), current[:size], rows, state, forest)
                size = find(size, min(lowest + step, _TOP))
            size, shared[kernel.PENDING] = int(shared[kernel.PENDING]), 0
            following, pending = pending, following
            step *= 2
    return Result(forest[: shared[FOREST]], sizes)
