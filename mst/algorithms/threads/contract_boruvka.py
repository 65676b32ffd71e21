"""Borůvka's algorithm by vertex, contracting the graph every round: UMinho's, for many cores.

A reimplementation from the description of C. da Silva Sousa, A. Mariano and A. Proença, "A Generic and Highly
Efficient Parallel Variant of Boruvka's Algorithm" (PDP 2015), as Biagiotti (*GPU implementation*) and the ECL-MST paper
(§2) retell it; it is not their program, and proves nothing about it. Every round: each vertex chooses its lightest
edge; of two that chose the same one, one becomes a root (*remove mirrored edges*); colors spread from the roots
until they stay (*propagation*); colors are numbered, degrees counted and scanned, and the edges between colors
inserted into a new CSR, parallel ones included.

Theirs breaks ties by the smaller other end; here the edge id decides. The scan of the degrees is done by one thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.kernels.parallel.compact import starts
from mst.kernels.parallel.runtime import FOREST, grain_for, new_counters, refusal, workers
from mst.kernels.primitives.packed_edges import pack
from mst.kernels.threads import contract as kernel

ALGORITHM = dict(
    id="contract-boruvka",
    paradigm="threads",
    paper="fallin",
    title="Borůvka by contraction (UMinho CPU, reimplemented)",
    input="csr",
    requires=("numba",),
)


@dataclass(frozen=True)
class Problem:
    """The CSR, and how many threads run on it."""

    csr: tuple[np.ndarray, ...]
    width: int


def prepare(graph, *, width):
    if reason := refusal(width):
        raise UnsupportedError(reason)
    csr = graph.csr()
    words, ids = pack(order.keys(csr.weights), csr.edge_ids)
    return Problem((csr.offsets.copy(), csr.neighbours.copy(), words, ids), width)


def solve(problem):
    return _solve(problem)


def collect(problem, result):
    return result[0]


def counters(problem, result):
    _, vertices, slots = result
    return {"rounds": len(vertices), "vertices by round": vertices, "slots by round": slots}


def _solve(problem, smallest=256, delay_seed=0):
    """Return the forest's edge ids, and how many supervertices and slots each round began with."""
    offsets, neighbours, *_ = problem.csr
    width = max(1, min(problem.width, len(neighbours) // (4 * smallest)))
    shared = new_counters(width, delay_seed)
    forest = np.empty(max(len(offsets) - 2, 0), np.int64)
    vertices, slots = [], []
    graph = problem.csr
    with workers(width):
        while len(graph[1]):
            vertices.append(len(graph[0]) - 1)
            slots.append(len(graph[1]))
            colors = _join(graph, forest, width, smallest, shared)
            graph = _contracted(graph, colors, width, smallest, shared)
    return forest[: shared[FOREST]], vertices, slots


def _join(graph, forest, width, smallest, shared):
    """Append every vertex's lightest edge to the forest and return the colors of the trees that they make."""
    n, index = len(graph[0]) - 1, graph[1].dtype
    grain = grain_for(n, width, smallest=smallest, largest=1 << 12)
    lightest, colors = np.empty(n, np.int64), np.empty(n, index)
    kernel.choose_lightest(width, grain, *graph, lightest, colors, shared)
    kernel.remove_mirrors(width, grain, *graph, lightest, colors, forest, shared)
    while kernel.propagate_colors(width, grain, colors, shared):
        pass
    return colors


def _contracted(graph, colors, width, smallest, shared):
    """Return the graph whose vertices are the colors."""
    offsets, neighbours, words, ids = graph
    n = len(colors)
    grain = grain_for(n, width, smallest=smallest, largest=1 << 12)
    counts, names = np.empty(-(-n // grain), np.int64), np.empty_like(colors)
    kernel.count_colors(width, grain, colors, counts, shared)
    kernel.number_colors(width, grain, colors, starts(counts), names, shared)
    supervertices = int(counts.sum())
    kept, degrees = np.empty(n, np.int64), np.zeros(supervertices, np.int64)
    kernel.count_slots(width, grain, offsets, neighbours, colors, names, kept, degrees, shared)
    new_offsets = np.empty(supervertices + 1, np.int64)
    kernel.prefix(degrees, new_offsets)
    size = int(new_offsets[-1])
    out = (
        np.empty(size, neighbours.dtype),
        np.empty(size, np.uint64),
        np.empty(size if len(ids) else 0, np.int64),
    )
    kernel.insert_slots(
        width, grain, offsets, neighbours, words, ids, colors, names, kept, degrees, *out, shared
    )
    return new_offsets, *out
