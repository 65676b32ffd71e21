"""What Durbhakula's two algorithms share: rounds in which owners find minima, then join along them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.kernels.parallel.runtime import FOREST, new_counters, refusal, workers
from mst.kernels.primitives.packed_edges import pack
from mst.kernels.threads import owners as kernel


@dataclass(frozen=True)
class Problem:
    """The input, and how to run on it."""

    n: int
    u: np.ndarray
    v: np.ndarray
    words: np.ndarray
    ids: np.ndarray
    width: int
    locking: bool
    staggered: bool
    covered: bool


def prepare(graph, *, width, locking, staggered, covered):
    if reason := refusal(width):
        raise UnsupportedError(reason)
    words, ids = pack(order.keys(graph.w), np.arange(graph.m))
    return Problem(graph.n, graph.u, graph.v, words, ids, width, locking, staggered, covered)


def solve(problem):
    """Return the forest's edge ids, the number of rounds, and how many unions were given up for another's."""
    with workers(problem.width):
        return _rounds(problem)


def collect(problem, result):
    return result[0]


def counters(problem, result):
    _, rounds, failed = result
    visits = rounds * problem.width * len(problem.u)
    return {"rounds": rounds, "edge visits": visits, "failed unions": failed}


def _rounds(problem):
    n, m, width = problem.n, len(problem.u), problem.width
    parent = np.arange(n, dtype=problem.u.dtype)
    owner = (np.arange(n, dtype=np.int64) * width // max(n, 1)).astype(np.int32)
    minimum = np.empty(n, np.int32 if m < 2**31 else np.int64)
    covered = np.zeros(m if problem.covered else 0, np.uint8)
    permissions = np.full(n if problem.locking else 0, kernel.FREE, np.int32)
    forest = np.empty(max(n - 1, 0), np.int64)
    shared = new_counters(width)
    rounds, before = 0, -1
    # Not "until one component is left", which on a forest is never: until nothing joins any more.
    while before < shared[FOREST]:
        before = shared[FOREST]
        kernel.find_minima(
            width, problem.u, problem.v, problem.words, problem.ids, parent, owner, minimum, covered,
            problem.staggered,
        )  # fmt: skip
        kernel.unite_minima(
            width, problem.u, problem.v, parent, owner, minimum, covered, permissions, forest, shared
        )
        rounds += 1
    return forest[: shared[FOREST]], rounds - 1, int(shared[kernel.FAILED])
