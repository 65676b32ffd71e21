"""Borůvka's algorithm over an edge list with a filter: Bhargava and Zaia's ParlayLib program.

S. Bhargava and J. Zaia, "Parallelizing Minimum Spanning Tree Using Borůvka's Algorithm in Parlaylib and CUDA", 15-618
final project (CMU, 2024), *Approach* and *Synchronization*; a reimplementation, not their program. Each round finds
the cheapest edge of every component by compare-and-swap, joins along those, counting once what is the cheapest of
both ends, and replaces ends by components, dropping self-edges or not.

They report three bugs of their own. All are kept as tests (`tests/test_published_failures.py`), and made right here:

- *Ties.* Equal edges were ordered by their ends, which are components after the first round: parallel edges are then
  equal, and two components may choose two of them, which is a cycle. Ties go by place in the edge list here, as
  theirs did in the end; filtering keeps the order of ids, so places say what ids would.
- *Grandparent-linking* together with their union made loops, and they fell back on a find that writes nothing. Linking
  is sound if it writes only where the grandparent differs from the parent. Without that test, a find that read a
  root writes "this is a root" back after another thread has hung it under another tree, and undoes that union.
  Links go from the larger root to the smaller one, by compare-and-swap; theirs went from the first end to the second.
- *A failed exchange* overwrites, in C++, the value that it expects. Their union compares with that value before it
  tries again, and after one failure no root ever has it: a loop without end that compare-before-swap makes rare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.kernels.parallel.compact import starts
from mst.kernels.parallel.runtime import FOREST, grain_for, new_counters, refusal, workers
from mst.kernels.primitives.packed_edges import pack
from mst.kernels.threads import cheapest as kernel

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

_WAYS = {"plain": kernel.PLAIN, "grandparent": kernel.GRANDPARENT, "splitting": kernel.SPLITTING}


@dataclass(frozen=True)
class Problem:
    """The edge list, and how to run on it."""

    n: int
    edges: tuple[np.ndarray, ...]
    width: int
    filter: bool
    find: int
    compare: bool


def prepare(graph, *, width, filter, find, compare):
    if reason := refusal(width):
        raise UnsupportedError(reason)
    words, ids = pack(order.keys(graph.w), np.arange(graph.m))
    return Problem(graph.n, (graph.u.copy(), graph.v.copy(), words, ids), width, filter, _WAYS[find], compare)


def solve(problem):
    return _solve(problem)


def collect(problem, result):
    return result[0]


def counters(problem, result):
    _, edges, components = result
    return {"rounds": len(edges), "edges by round": edges, "components by round": components}


def _solve(problem, smallest=1024, delay_seed=0):
    """Return the forest's edge ids, and how many edges and components each round began with."""
    width = max(1, min(problem.width, len(problem.edges[0]) // smallest))
    with workers(width):
        return _rounds(problem, width, smallest, delay_seed)


def _rounds(problem, width, smallest, delay_seed):
    n, edges = problem.n, problem.edges
    size = len(edges[0])
    shared = new_counters(width, delay_seed)
    parent = np.arange(n, dtype=edges[0].dtype)
    forest = np.empty(max(n - 1, 0), np.int64)
    spare = [tuple(np.empty_like(part) for part in edges) for _ in range(2 if problem.filter else 1)]
    vertex_grain = grain_for(n, width, smallest=smallest, largest=1 << 14)
    edges_by_round, components_by_round = [], []
    before = -1
    while size and before < shared[FOREST]:
        before = int(shared[FOREST])
        edges_by_round.append(size)
        components_by_round.append(n - before)
        grain = grain_for(size, width, smallest=max(smallest, 64), largest=1 << 14, multiple=64)
        a, b, words, ids = edges
        cheapest = np.full(n, -1, np.int32 if size < 2**31 else np.int64)
        kernel.find_cheapest(width, grain, size, a, b, words, cheapest, problem.compare, shared)
        kernel.unite_cheapest(
            width, vertex_grain, a, b, words, ids, cheapest, parent, problem.find, forest, shared
        )
        mask, counts = np.empty(-(-size // 64), np.uint64), np.empty(-(-size // grain), np.int64)
        # The input stays as it is: its ends are mapped into the arrays that are filled last.
        mapped = spare[-1][:2] if a is problem.edges[0] else (a, b)
        kernel.contract(width, grain, size, a, b, *mapped, parent, problem.find, mask, counts, shared)
        if problem.filter:
            kernel.keep(width, grain, size, mask, starts(counts), *mapped, words, ids, *spare[0], shared)
            edges, size = spare[0], int(counts.sum())
            spare.reverse()
        else:
            edges = (*mapped, words, ids)
    return forest[: shared[FOREST]], edges_by_round, components_by_round
