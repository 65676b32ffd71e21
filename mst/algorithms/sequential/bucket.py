"""A (1 + ε)-approximate forest: the exact forest of weights that are rounded down to a few leading bits.

`mst.algorithms._buckets` explains why the bound holds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mst.algorithms._buckets import exact_in_float64, mantissa_bits, refuse_negative
from mst.algorithms.sequential._lazy_kruskal import lazy_kruskal, workspace
from mst.algorithms.sequential.filter_boruvka import NARROW, EdgeListSource, Result, grow
from mst.facts import Facts
from mst.graph import Graph, frozen
from mst.kernels.primitives.buckets import bucket_numbers
from mst.kernels.primitives.keys import LazyKeys

ALGORITHM = dict(
    id="bucket",
    paradigm="sequential",
    title="Buckets",
    input="edges",
    options=dict(
        epsilon=dict(default=0.25, min=1e-3, help="forest weight ≤ (1 + ε) · optimum, guaranteed"),
    ),
    exact=False,
    requires=("numba",),
)


class Problem(NamedTuple):
    """A graph, and the number of mantissa bits that rounded weights keep."""

    graph: Graph
    bits: int


def skip(facts: Facts, *, width: int, epsilon: float) -> str | None:
    if facts.weight_min is not None and facts.weight_min < 0:
        return f"its bound needs weights ≥ 0, and the lightest is {facts.weight_min}"
    return None


def prepare(graph: Graph, *, width: int, epsilon: float) -> Problem:
    refuse_negative("bucket", graph.w)
    return Problem(graph, mantissa_bits(epsilon))


def solve(problem: Problem) -> Result:
    graph, bits = problem
    numbers: np.ndarray = np.empty(graph.m, np.uint32)
    bucket_numbers(exact_in_float64(graph.w), 52 - bits, numbers)
    if max(graph.n, graph.m) >= NARROW:
        return Result(lazy_kruskal(*workspace(graph, numbers), 16_384, 63, True), {})
    keys = LazyKeys(frozen(numbers), np.uint32(0), np.uint32(0))
    return grow(graph, EdgeListSource(graph, keys), filtering=True)


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    return result.counters
