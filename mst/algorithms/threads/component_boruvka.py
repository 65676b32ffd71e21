"""Borůvka's algorithm over components, in two lock-free phases: Lonestar's, for many cores.

A reimplementation from the description in the ECL-MST paper (§2) and in the documentation of Lonestar (the Galois
system's benchmarks: rounds of a *find* and a *union* phase over rows sorted by weight); it is not their program, and
proves nothing about it. Each vertex offers its lightest outgoing edge to its component; the vertices whose edge was
taken then merge components through the union-find. No graph is rebuilt. Light edges go first: edges beyond a limit,
which begins at a fifth of the range of weights and doubles, wait in a list of their own.

Sorting the rows is initialisation, as there. The range is that of the order-preserving keys, so that negative weights
and floats have one too; ties go by edge id.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.kernels.graph.csr import build_csr
from mst.kernels.parallel.runtime import FOREST, LIVE, grain_for, new_counters, refusal, workers
from mst.kernels.primitives.packed_edges import pack
from mst.kernels.primitives.radix import argsort
from mst.kernels.threads import lightest as kernel

ALGORITHM = dict(
    id="component-boruvka",
    paradigm="threads",
    paper="fallin",
    title="Borůvka over components (Lonestar CPU, reimplemented)",
    input="csr",
    requires=("numba",),
)

_TOP = 2**64 - 1


@dataclass(frozen=True)
class Problem:
    """The CSR with sorted rows, and how many threads run on it."""

    csr: tuple[np.ndarray, ...]
    range: tuple[int, int]
    width: int


def prepare(graph, *, width):
    if reason := refusal(width):
        raise UnsupportedError(reason)
    keys = order.keys(graph.w)
    lightest_first = argsort(keys)
    # Rows are filled in the order of the edges given.
    u, v, keys = graph.u[lightest_first], graph.v[lightest_first], keys[lightest_first]
    offsets, neighbours, slot_keys, places = build_csr(graph.n, u, v, keys)
    words, ids = pack(slot_keys, lightest_first[places])
    lowest, highest = (int(words.min()), int(words.max())) if len(words) else (0, 0)
    return Problem((offsets, neighbours, words, ids), (lowest, highest), width)


def solve(problem):
    return _solve(problem)


def collect(problem, result):
    return result[0]


def counters(problem, result):
    return {"rounds": len(result[1]), "vertices by round": result[1]}


def _solve(problem, smallest=256, delay_seed=0):
    """Return the forest's edge ids, and how many vertices were on the worklist in each round."""
    offsets, neighbours, words, ids = problem.csr
    n = len(offsets) - 1
    width = max(1, min(problem.width, n // smallest))
    shared = new_counters(width, delay_seed)
    parent = np.arange(n, dtype=neighbours.dtype)
    cursors, lightest = offsets[:-1].copy(), np.full(n, -1, np.int64)
    forest = np.empty(max(n - 1, 0), np.int64)
    current, following, pending = (np.empty(n, neighbours.dtype) for _ in range(3))
    sizes = []

    def find(size, limit):
        grain = grain_for(size, width, smallest=16, largest=1 << 12)
        kernel.find_lightest(
            width, grain, size, current, *problem.csr, cursors, np.uint64(limit), parent, lightest, following,
            pending, shared,
        )  # fmt: skip
        return int(shared[LIVE])

    def merge(size):
        grain = grain_for(size, width, smallest=16, largest=1 << 12)
        kernel.merge(
            width, grain, size, current, neighbours, words, ids, cursors, parent, lightest, forest, shared
        )

    with workers(width):
        current[:] = np.arange(n)
        size = find(n, _TOP)
        lowest, highest = problem.range
        step = (highest - lowest) // 5 + 1
        while size:
            while size:
                sizes.append(size)
                current, following = following, current
                merge(size)
                size = find(size, min(lowest + step, _TOP))
            size, shared[kernel.PENDING] = int(shared[kernel.PENDING]), 0
            following, pending = pending, following
            step *= 2
    return forest[: shared[FOREST]], sizes
