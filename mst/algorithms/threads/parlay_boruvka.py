"""Borůvka's algorithm over an edge list with a filter: Bhargava and Zaia's ParlayLib program.

S. Bhargava and J. Zaia, "Parallelizing Minimum Spanning Tree Using Borůvka's Algorithm in Parlaylib and CUDA", 15-618
final project (CMU, 2024), *Approach* and *Synchronization*. This is a reimplementation, not their program. Each round
finds the cheapest edge of every component by compare-and-swap, unites components along these edges (an edge that is the
cheapest of both ends counts once), replaces ends by components, and, with the option `filter`, drops self-edges.

They report three bugs in their program. Tests reproduce them (`tests/test_published_failures.py`); here they are fixed:

- *Ties.* Equal edges were ordered by their ends, which are components after the first round: parallel edges are then
  equal, and two components may choose two of them, which is a cycle. Ties go by position in the edge list here, as in
  their final version; filtering keeps the order of ids, so positions order edges as ids do.
- *Grandparent-linking* together with their union made loops, and they fell back on a find that writes nothing. It is
  correct if the find writes only where the grandparent differs from the parent. Without this test, a find that has
  read a root may write the root as its own parent after another thread has linked it, which undoes that union. Here
  links go from the larger root to the smaller one, by compare-and-swap; theirs went from the first end to the second.
- *A failed exchange* overwrites, in C++, the value that it expects. Their union compares with that value before it
  tries again, and after one failure no root ever has that value: an endless loop, which compare-before-swap makes rare.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.graph import Graph
from mst.kernels.parallel.compact import starts
from mst.kernels.parallel.runtime import FOREST, Schedule, grain_for, new_tallies, refusal, workers
from mst.kernels.primitives.packed_edges import PackedEdges, pack
from mst.kernels.threads import parlay_boruvka as kernel

ALGORITHM = dict(
    id="parlay-boruvka",
    paradigm="threads",
    paper="bhargava-zaia",
    title="Borůvka in ParlayLib's style (Bhargava–Zaia)",
    input="edges",
    options=dict(
        filter=dict(default=True, help="drop self-edges every round"),
        find=dict(
            default="plain",
            choices=("plain", "grandparent", "splitting"),
            help="write nothing; link every other vertex of the path, or every one, to its grandparent",
        ),
        compare=dict(default=True, help="compare once more before compare-and-swap"),
    ),
    requires=("numba",),
)

_VARIANTS = {"plain": kernel.PLAIN, "grandparent": kernel.GRANDPARENT, "splitting": kernel.SPLITTING}


class Problem(NamedTuple):
    """The edge list, the number of threads, and the options; `find` is one of the kernels' variants."""

    n: int
    edges: PackedEdges
    width: int
    filter: bool
    find: int
    compare: bool


class Result(NamedTuple):
    """Edge ids of the forest, and how many edges and components each round began with."""

    edge_ids: np.ndarray
    edges: list[int]
    components: list[int]


def prepare(graph: Graph, *, width: int, filter: bool, find: str, compare: bool) -> Problem:
    if reason := refusal(width):
        raise UnsupportedError(reason)
    words, ids = pack(order.keys(graph.w), np.arange(graph.m))
    edges = PackedEdges(graph.u.copy(), graph.v.copy(), words, ids)
    return Problem(graph.n, edges, width, filter, _VARIANTS[find], compare)


def solve(problem: Problem) -> Result:
    return solve_in_chunks(problem)


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    return {
        "rounds": len(result.edges),
        "edges by round": result.edges,
        "components by round": result.components,
    }


def solve_in_chunks(problem: Problem, smallest: int = 1024, delay_seed: int = 0) -> Result:
    """Solve with chunks of at least `smallest` edges; a delay seed perturbs the schedule."""
    width = max(1, min(problem.width, len(problem.edges.a) // smallest))
    with workers(width):
        return _rounds(problem, width, smallest, new_tallies(width, delay_seed))


def _rounds(problem: Problem, width: int, smallest: int, shared: np.ndarray) -> Result:
    n, edges, find = problem.n, problem.edges, problem.find
    size = len(edges.a)
    parent = np.arange(n, dtype=edges.a.dtype)
    forest = np.empty(max(n - 1, 0), np.int64)
    spare = [edges.empty() for _ in range(2 if problem.filter else 1)]
    over_vertices = Schedule(width, grain_for(n, width, smallest=smallest, largest=1 << 14), shared)
    edges_by_round: list[int] = []
    components_by_round: list[int] = []
    before = -1
    while size and before < shared[FOREST]:
        before = int(shared[FOREST])
        edges_by_round.append(size)
        components_by_round.append(n - before)
        grain = grain_for(size, width, smallest=max(smallest, 64), largest=1 << 14, multiple=64)
        over_edges = Schedule(width, grain, shared)
        cheapest = np.full(n, -1, np.int32 if size < 2**31 else np.int64)
        kernel.find_cheapest(over_edges, size, edges, cheapest, problem.compare)
        kernel.unite_cheapest(over_vertices, edges, cheapest, parent, find, forest)
        mask, counts = np.empty(-(-size // 64), np.uint64), np.empty(-(-size // grain), np.int64)
        # The input is not overwritten: its ends are relabelled into the arrays that are filled last.
        ends = (spare[-1] if edges is problem.edges else edges)[:2]
        kernel.relabel(over_edges, size, edges, ends, (parent, find), mask, counts)
        edges = PackedEdges(*ends, edges.words, edges.ids)
        if problem.filter:
            kernel.compact(over_edges, size, mask, starts(counts), edges, spare[0])
            edges, size = spare[0], int(counts.sum())
            spare.reverse()
    return Result(forest[: shared[FOREST]], edges_by_round, components_by_round)
