"""A (1 + ε)-approximate forest on many cores: `filter-boruvka-threads` with the rounded weights of `bucket`.

Edges of equal rounded weight may be taken in any order: in a batch of such edges, edges that close a cycle are dropped
(`any_order` in `mst.kernels.filter_boruvka.parallel.join`). The schedule decides which edges are taken, so two runs may
return different forests, of equal rounded weight and within the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.algorithms._buckets import exact_in_float64, mantissa_bits, refuse_negative
from mst.algorithms.threads.filter_boruvka_threads import Options, Result, edge_list, solve_storage
from mst.errors import UnsupportedError
from mst.facts import Facts
from mst.graph import Graph
from mst.kernels.parallel.runtime import grain_for, new_tallies, refusal, workers
from mst.kernels.threads.buckets import bucket_numbers_by_threads

ALGORITHM = dict(
    id="bucket-threads",
    paradigm="threads",
    title="Buckets, threads",
    input="edges",
    options=dict(
        epsilon=dict(default=0.25, min=1e-3, help="forest weight ≤ (1 + ε) · optimum, guaranteed"),
    ),
    exact=False,
    ties="any",
    requires=("numba",),
)


class Problem(NamedTuple):
    """A graph, the number of mantissa bits that rounded weights keep, and the width."""

    graph: Graph
    bits: int
    width: int


def skip(facts: Facts, *, width: int, epsilon: float) -> str | None:
    if facts.weight_min is not None and facts.weight_min < 0:
        return f"its bound needs weights ≥ 0, and the lightest is {facts.weight_min}"
    return None


def prepare(graph: Graph, *, width: int, epsilon: float) -> Problem:
    if reason := refusal(width):
        raise UnsupportedError(reason)
    refuse_negative("bucket-threads", graph.w)
    return Problem(graph, mantissa_bits(epsilon), width)


def solve(problem: Problem) -> Result:
    return solve_rounded(problem, Options(ties_in_any_order=True))


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, int]:
    return result.counters


def solve_rounded(problem: Problem, options: Options) -> Result:
    """Return the forest of the rounded weights."""
    graph, bits, width = problem
    return solve_storage(graph, edge_list(graph, rounded(graph.w, bits, width)), width, options)


def rounded(weights: np.ndarray, bits: int, width: int) -> np.ndarray:
    """Return the bucket of each weight, uint32 (`mst.kernels.primitives.buckets.bucket_numbers`)."""
    numbers: np.ndarray = np.empty(len(weights), np.uint32)
    grain = grain_for(len(weights), width, smallest=1 << 12, largest=1 << 16)
    with workers(width):
        bucket_numbers_by_threads(
            width, grain, exact_in_float64(weights), 52 - bits, numbers, new_tallies(width)
        )
    return numbers
