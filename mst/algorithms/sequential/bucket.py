"""A (1 + ε)-approximate forest by one counting sort into buckets of nearly equal weights, then Kruskal's scan.

Edges of one bucket differ by a factor of at most 1 + ε and are taken in the order of their ids. With every
weight rounded down to its bucket's lower bound the scan is an exact Kruskal, so its forest's rounded weight is
at most that of the optimal forest, and its true weight at most 1 + ε times as much.
"""

from __future__ import annotations

import math

import numpy as np

from mst.errors import UnsupportedError
from mst.kernels.jit import njit
from mst.kernels.union_find import find

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
    negative = np.flatnonzero(graph.w < 0)[:1]
    if len(negative):
        row = int(negative[0])
        raise UnsupportedError(
            f"bucket does not take this graph: w[{row}] = {graph.w[row]} is negative, and a factor of 1 + ε "
            "bounds nothing then; use an exact algorithm"
        )
    return graph, mantissa_bits(epsilon)


def solve(problem):
    graph, bits = problem
    id_dtype = np.int32 if graph.m < 2**31 else np.int64
    return approximate(graph.n, graph.u, graph.v, rounded_down(graph.w), np.int64(52 - bits), id_dtype(0))


def collect(problem, result):
    return result


def mantissa_bits(epsilon):
    """Return how many leading bits of a mantissa a bucket must fix so that its weights are within 1 + ε.

    Buckets span a factor below 1 + 2⁻ᵇ, and for negative b below 2^(2⁻ᵇ).
    """
    bits = -8
    while (1 + 2.0**-bits if bits >= 0 else 2.0**2.0**-bits) > 1 + epsilon:
        bits += 1
    return bits


def rounded_down(weights):
    """Return integers above 2⁵³ without the bits that float64 would round, possibly upwards, away."""
    if weights.dtype == np.int64 and len(weights) and weights.max() > 2**53:
        return np.where(weights > 2**53, weights & ~np.int64(2047), weights)
    return weights


@njit
def approximate(n, u, v, weights, shift, id_zero):
    """Counting sort by bucket, then Kruskal's scan."""
    m = weights.size
    if m == 0:
        return np.empty(0, np.dtype(type(id_zero)))
    low = high = bucket_of(weights[0], shift)
    for i in range(m):
        b = bucket_of(weights[i], shift)
        low, high = min(low, b), max(high, b)
    cursor = np.zeros(high - low + 2, np.int64)
    for i in range(m):
        cursor[bucket_of(weights[i], shift) - low + 1] += 1
    for b in range(1, cursor.size):
        cursor[b] += cursor[b - 1]
    ranked = np.empty(m, np.dtype(type(id_zero)))
    for i in range(m):
        b = bucket_of(weights[i], shift) - low
        ranked[cursor[b]] = i
        cursor[b] += 1
    parent = np.arange(n, dtype=u.dtype)
    forest = np.empty(max(n - 1, 0), ranked.dtype)
    size = 0
    for e in ranked:
        a, b = find(parent, u[e]), find(parent, v[e])
        if a != b:
            parent[max(a, b)] = min(a, b)
            forest[size] = e
            size += 1
            if size == n - 1:
                break
    return forest[:size]


_SUBNORMAL_SCALE = math.ldexp(1.0, 52)
_ONE_EXPONENT = np.int64(1 << 52)
_INFINITY = np.int64(0x7FF << 52)


@njit(inline="always")
def bucket_of(weight, shift):
    """Return the leading bits of a non-negative weight; zero and infinity have buckets of their own.

    Subnormal weights are scaled into the normal range first, which their exponent remembers.
    """
    x = np.float64(weight)
    if x == 0:
        return np.int64(0)
    if x == np.inf:
        return np.int64(2) + ((_INFINITY + 52 * _ONE_EXPONENT) >> shift)
    if x < 2.2250738585072014e-308:
        return np.int64(1) + (np.float64(x * _SUBNORMAL_SCALE).view(np.int64) >> shift)
    return np.int64(1) + ((np.float64(x).view(np.int64) + 52 * _ONE_EXPONENT) >> shift)
