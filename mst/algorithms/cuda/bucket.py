"""A (1 + ε)-approximate forest on one GPU: filter-Borůvka on weights rounded down to buckets.

Weights in a bucket differ by a factor of at most 1 + ε, so the exact forest of the rounded weights weighs at most 1 + ε
times the optimum. A bucket number has a dozen bits, so candidates hold the whole key and edge id and never tie.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mst.algorithms._buckets import exact_in_float64, mantissa_bits, refuse_negative
from mst.algorithms.cuda import filter_boruvka

if TYPE_CHECKING:
    from mst.algorithms.cuda.device.graph import DeviceGraph
    from mst.facts import Facts
    from mst.graph import Graph

ALGORITHM = dict(
    id="bucket-cuda",
    paradigm="cuda",
    title="Buckets (one GPU)",
    input="csr",
    options=dict(
        epsilon=dict(default=0.25, min=1e-3, help="forest weight ≤ (1 + ε) · optimum, guaranteed"),
        start=dict(
            default="csr",
            choices=("csr", "edges"),
            help="input of solve: rows and edge list, or the edge list alone",
        ),
    ),
    exact=False,
    requires=("cupy", "numba"),
    limits=dict(n=1_073_741_823, m=3_600_000_000),
)


def skip(facts: Facts, *, width: int, epsilon: float, start: str) -> str | None:
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if start == "csr" and facts.m >= 2**31 - 2**20:
        return f"2m = {2 * facts.m:,} slots do not fit 32 bits: use start=edges"
    if facts.weight_min is not None and facts.weight_min < 0:
        return f"its bound needs weights ≥ 0, and the lightest is {facts.weight_min}"
    return None


def prepare(graph: Graph | DeviceGraph, *, width: int, epsilon: float, start: str) -> filter_boruvka.Prepared:
    """Prepare filter-Borůvka with the buckets of the weights as keys."""
    refuse_negative("bucket-cuda", graph.w)
    keys = buckets(graph.w, mantissa_bits(epsilon))
    return filter_boruvka.prepared_with_keys(graph, keys, start, dict(factor=0.0, samples=4096, seed=1))


def buckets(weights: Any, bits: int) -> Any:
    """Return uint32 bucket numbers of weights ≥ 0, on host or device like them: the leading bits of their doubles."""
    if isinstance(weights, np.ndarray):
        doubles = exact_in_float64(weights).astype(np.float64)
    else:
        doubles = _doubles_below(weights)
    # Adding zero turns -0.0 into 0.0.
    return ((doubles + 0.0).view(np.uint64) >> np.uint64(52 - bits)).astype(np.uint32)


def _doubles_below(weights: Any) -> Any:
    """Return device weights as float64, integers above 2⁵³ rounded down."""
    import cupy

    if weights.dtype == np.int64:
        weights = cupy.where(weights > 2**53, weights & ~np.int64(2047), weights)
    return weights.astype(cupy.float64)


transfer = filter_boruvka.transfer
solve = filter_boruvka.solve
collect = filter_boruvka.collect
edge_ids = filter_boruvka.edge_ids
counters = filter_boruvka.counters
device_bytes = filter_boruvka.device_bytes
phases = filter_boruvka.phases
