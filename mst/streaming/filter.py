"""The filter that a forest provides for other edges: the trees that its lightest edges form."""

from __future__ import annotations

from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

from mst.graph import frozen
from mst.kernels.filter_boruvka.parallel import trees
from mst.kernels.filter_boruvka.sequential.trees import giant_label
from mst.kernels.parallel.runtime import Schedule, new_tallies, workers
from mst.kernels.streaming.filter import Joined, join_light

_SLICE = 1 << 20


class Threads(NamedTuple):
    """Threads that filter slices and copy columns, and how many they are."""

    pool: Executor
    width: int


class Filter(NamedTuple):
    """The criterion for dropping an edge of the stream.

    Attributes
    ----------
    highest : scalar of the weights' dtype, or None
        The weight up to which the edges of the forest were joined; None before the first solve.
    joined : Joined
        The trees that they form; of no vertices, so that every edge is kept, before the first solve.
    """

    highest: Any
    joined: Joined


NO_FILTER = Filter(None, Joined(np.empty(0, np.uint32), np.zeros(1, np.uint64)))


def filter_of(u: np.ndarray, v: np.ndarray, w: np.ndarray, n: int, seen: int, threads: Threads) -> Filter:
    """Return the filter of a forest.

    Parameters
    ----------
    u, v : numpy.ndarray of int32 or int64, shape (k,)
        Ends of its edges.
    w : numpy.ndarray of any weight dtype, shape (k,)
        Their weights.
    n, seen : int
        Vertices, and edges of the stream that it is the forest of.
    threads : Threads
    """
    if not len(w):
        return NO_FILTER
    vertex_type, (pool, width) = np.dtype(f"u{u.itemsize}"), threads
    highest, tallies = light_weight(w, n, seen), new_tallies(width)
    ends = frozen(u.view(vertex_type)), frozen(v.view(vertex_type)), frozen(w)
    parts = [slice(start, start + _SLICE) for start in range(0, len(w), _SLICE)]
    with workers(width):
        label = trees.new_parents(n, vertex_type, width, tallies)
        list(pool.map(lambda part: join_light(*(column[part] for column in ends), highest, label), parts))
        trees.flatten(Schedule(width, 4096, tallies), label)
        giant, _ = giant_label(label)
        in_giant = np.empty(-(-n // 64), np.uint64)
        trees.mark_giant(Schedule(width, 64, tallies), label, giant, in_giant)
    return Filter(highest, Joined(label, in_giant))


def light_weight(w: np.ndarray, n: int, seen: int) -> Any:
    """Return the weight up to which the edges of a forest should be joined for a filter.

    The lower it is, the more edges of the stream are heavier; the higher, the more of these have both ends in one tree.
    Of a random graph, with ``k = seen / n`` edges for each vertex so far, the filter keeps ``x / k + 2 exp(-2 x)`` of
    the edges if ``x`` of these ``k`` are light: least where the light edges leave a share of ``1 / 4 k`` of the
    vertices, and about as many edges of the forest, out.
    """
    sample = np.sort(w[:: max(len(w) // 65_536, 1)])
    left_out = n / (4 * max(seen, n)) * (n / max(len(w), 1))
    return sample[max(int(len(sample) * (1 - min(left_out, 1.0))) - 1, 0)]
