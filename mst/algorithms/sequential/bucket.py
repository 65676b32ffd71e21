"""A (1 + ε)-approximate forest: the exact forest of weights that are rounded down to a few leading bits.

Rounding down takes away at most a factor of 1 + ε. The forest that is minimal by rounded weights therefore
weighs, by true ones, at most 1 + ε times its rounded weight, which is at most that of the optimal forest.
Weights of 0 and of infinity stay what they are.
"""

from __future__ import annotations

import numpy as np

from mst.algorithms.sequential._lazy_kruskal import lazy_kruskal, workspace
from mst.algorithms.sequential.filter_boruvka import NARROW, EdgeList, Result, grow
from mst.errors import UnsupportedError
from mst.graph import frozen
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


def skip(facts, *, width, epsilon):
    if facts.weight_min is not None and facts.weight_min < 0:
        return f"its bound needs weights ≥ 0, and the lightest is {facts.weight_min}"
    return None


def prepare(graph, *, width, epsilon):
    refuse_negative("bucket", graph.w)
    return graph, mantissa_bits(epsilon)


def solve(problem):
    graph, bits = problem
    numbers = np.empty(graph.m, np.uint32)
    bucket_numbers(exact_in_float64(graph.w), 52 - bits, numbers)
    if max(graph.n, graph.m) >= NARROW:
        return Result(lazy_kruskal(*workspace(graph, numbers), 16_384, 63, True), {})
    keys = LazyKeys(frozen(numbers), np.uint32(0), np.uint32(0))
    return grow(graph, EdgeList(graph, keys), True, lambda phase: None)


def collect(problem, result):
    return result.edge_ids


def exact_in_float64(weights: np.ndarray) -> np.ndarray:
    """Return weights, of which integers above 2⁵³ lose the bits that float64 might round upwards."""
    if weights.dtype == np.int64 and len(weights) and weights.max() > 2**53:
        return np.where(weights > 2**53, weights & ~np.int64(2047), weights)
    return weights


def refuse_negative(algorithm, weights) -> None:
    """Raise the reason why `algorithm` does not take these weights, on the side where they are, if one is below 0."""
    if len(weights) and weights.min() < 0:
        row = int((weights < 0).argmax())
        raise UnsupportedError(
            f"{algorithm} does not take this graph: w[{row}] = {weights[row]} is negative, and a factor of 1 + ε "
            "bounds nothing then; use an exact algorithm"
        )


def mantissa_bits(epsilon: float) -> int:
    """Return how many leading bits of a float's mantissa a bucket must fix for its weights to be within 1 + ε.

    Weights of a bucket differ by a factor below 1 + 2⁻ᵇ, and for negative b below 2^(2⁻ᵇ).
    """
    bits = -8
    while (1 + 2.0**-bits if bits >= 0 else 2.0**2.0**-bits) > 1 + epsilon:
        bits += 1
    return bits
