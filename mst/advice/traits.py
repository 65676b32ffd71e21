"""Facts of a graph from a few of its edges; with n and m they decide between algorithms.

On a device, where solving small graphs takes long, degrees and weights are estimated from a hashed sample, so that
sorted, reversed or periodic rows do not bias it, and the same graph always has the same traits. Its size grows with the
root of n: that many edges hold some 32 pairs that share a vertex, for every m. In host memory that sample would cost
more than it gains: `weights_along_rows` looks at 128 weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np

from mst.rounding import converted

WEIGHTS = ("random", "wide", "few", "equal", "local")
"""Kinds of weights; see `Traits.weights`."""

ALONG_ROWS = ("random", "wide", "local")
"""Kinds of weights that algorithms in host memory tell apart; see `weights_along_rows`."""

DEGREES = ("even", "skewed")
"""Kinds of degrees; see `degrees_of`."""

SKEWED = 3.0
"""The skew at which a graph becomes skewed."""

FEW = 16
"""The most distinct weights that count as few."""

LOCAL = 0.5
"""The excess of near weights at a common end at which weights become local."""

_LEAST, _MOST = 128, 1 << 16
_FEWEST_PAIRS = 8
_LOOKS, _NEARER = 64, 0.8


@dataclass(frozen=True)
class Traits:
    """Facts estimated from a sample of edges.

    Attributes
    ----------
    skew : float
        Mean squared degree over the squared mean degree: 1 where all degrees are equal, 1 + 1/d in a uniform random
        graph of average degree d, n/4 in a star.
    weights : str
        *equal*: all are. *local*: edges at one vertex have nearly the same weight, as where it depends on
        position. *few*: no more than 16 distinct ones. *wide*: their keys take 64 bits (`mst.order.keys`). *random*:
        none of these. The first that holds, in this order.
    distinct : int
        Distinct weights in the sample.
    local : float
        How much more often edges at a common end are near in rank (within a thirty-second of all) than any two edges:
        0 for independent weights, 1 where the vertex decides.
    sampled : int
        Edges in the sample.
    along_rows : str
        `weights_along_rows`, in host memory.
    in_order : bool
        Whether all rows are in the order of their weights, or in its reverse: in host memory they are joined by
        separate code, whose times say nothing about other graphs. False for rows on a CUDA device.
    """

    skew: float
    weights: str
    distinct: int
    local: float
    sampled: int
    along_rows: str = ALONG_ROWS[0]
    in_order: bool = False


def traits_of(graph: Any) -> Traits:
    """Return the traits of a graph, in host memory or on a CUDA device.

    Parameters
    ----------
    graph : Graph or DeviceGraph

    Examples
    --------
    >>> from mst import Graph
    >>> from mst.advice.traits import traits_of
    >>> star = traits_of(Graph(101, [0] * 100, range(1, 101), range(100)))
    >>> round(star.skew), star.weights
    (26, 'random')
    """
    n, m = graph.n, graph.m
    if m == 0:
        return Traits(1.0, "equal", 0, 0.0, 0)
    from mst.kernels.graph.sampled_edges import shared_ends

    rows = sampled_rows(n, m)
    u, v, w = (_taken(array, rows) for array in (graph.u, graph.v, graph.w))
    places, k = w.argsort(), len(rows)
    ordered = w[places]
    differ = ordered[1:] != ordered[:-1]
    distinct = 1 + int(np.count_nonzero(differ))
    edges, pairs, compared, near, anywhere = shared_ends(rows, u, v, places, differ, max(k // 32, 1))
    local = 0.0
    if compared >= _FEWEST_PAIRS and anywhere < k:
        # How much more often than any two edges, taken half the sample apart.
        local = max((near / compared - anywhere / k) / (1 - anywhere / k), 0.0)
    kind, skew = _kind(ordered, distinct, local), _skew(n, m, edges, pairs)
    traits = Traits(skew, kind, distinct, round(local, 3), edges)
    if not isinstance(graph.w, np.ndarray):
        return traits
    return replace(traits, along_rows=weights_along_rows(graph.w), in_order=_are_in_order(graph.w))


def weights_along_rows(weights: np.ndarray) -> str:
    """Return the kind of weights in host memory, by 64 of them and those in the next rows.

    *wide*: keys take 64 bits. *local*: weights in the next rows are nearer than others, as where rows and weights
    follow positions or nearly all are equal, but not all rows are in the order of their weights, nor in its reverse.
    *random*: neither.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.advice.traits import weights_along_rows
    >>> hills = np.sin(np.arange(9000) / 100)
    >>> [weights_along_rows(w) for w in (hills, (99 * hills).astype(int), np.arange(9000))]
    ['wide', 'local', 'random']
    """
    if len(weights) < 2 * _LOOKS:
        return ALONG_ROWS[0]
    step = len(weights) // _LOOKS
    some = weights[: _LOOKS * step : step]
    drawn, following = some.tolist(), weights[1 : _LOOKS * step : step].tolist()
    if weights.dtype == np.float64 and converted(some, np.dtype(np.float32))[1].any():
        return "wide"
    if weights.dtype == np.int64 and max(drawn) - min(drawn) >= 2**32:
        return "wide"
    elsewhere = drawn[_LOOKS // 2 :] + drawn[: _LOOKS // 2]
    near = sum(abs(x - y) <= abs(x - z) for x, y, z in zip(drawn, following, elsewhere))
    return "local" if near > _NEARER * _LOOKS and not _are_in_order(weights) else "random"


def degrees_of(skew: float) -> str:
    """Return whether degrees of this skew are *even* or *skewed*: the one definition of both words.

    Examples
    --------
    >>> from mst.advice.traits import degrees_of
    >>> degrees_of(1.3), degrees_of(40.0)
    ('even', 'skewed')
    """
    return DEGREES[skew >= SKEWED]


def sample_size(n: int) -> int:
    """Return how many edges of a large graph are sampled."""
    return min(max(4 * isqrt(n), _LEAST), _MOST)


def sampled_rows(n: int, m: int) -> np.ndarray:
    """Return the rows of the sample, ascending: all of a small graph, else about 4√n hashed ones."""
    size = sample_size(n)
    if size >= m // 2:
        return np.arange(min(m, 2 * _MOST))
    from mst.kernels.graph.sampled_edges import hashed_rows

    rows = np.empty(size, np.int64)
    hashed_rows(m, rows)
    rows.sort()
    return rows


def _are_in_order(weights: np.ndarray) -> bool:
    from mst.kernels.filter_boruvka.sequential.in_order import direction
    from mst.kernels.primitives.keys import lazy_keys

    return direction(lazy_keys(weights)) != 0


def _taken(array: Any, rows: np.ndarray) -> np.ndarray:
    if isinstance(array, np.ndarray):
        return array[rows]
    import cupy

    return array[cupy.asarray(rows)].get()


def _skew(n: int, m: int, sampled: int, pairs: int) -> float:
    """Return the skew, from the number of pairs of sampled edges that share an end."""
    if sampled < 2:
        return 1.0
    all_pairs = pairs * (m * (m - 1)) / (sampled * (sampled - 1))
    # No graph has less than 1, but an estimate may.
    return max(1.0, round(n * (2 * all_pairs + 2 * m) / (2 * m) ** 2, 3))


def _kind(ordered: np.ndarray, distinct: int, local: float) -> str:
    if distinct == 1:
        return "equal"
    if local >= LOCAL:
        return "local"
    if distinct <= FEW:
        return "few"
    return "wide" if _is_wide(ordered) else "random"


def _is_wide(ordered: np.ndarray) -> bool:
    if ordered.dtype == np.int64:
        return int(ordered[-1]) - int(ordered[0]) >= 2**32
    if ordered.dtype == np.float64:
        with np.errstate(all="ignore"):
            return not np.array_equal(ordered.astype(np.float32), ordered)
    return False
