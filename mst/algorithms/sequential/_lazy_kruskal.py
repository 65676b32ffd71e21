"""Kruskal's algorithm sorting no more than necessary: the kernels of qKruskal and Filter-Kruskal."""

from __future__ import annotations

import numpy as np

from mst import order
from mst.graph import Graph
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.radix import Records, records, sort_words
from mst.kernels.sequential.kruskal import Growth, add_in_order, drop_cycle_edges, empty_growth
from mst.kernels.sequential.partition import partition, sampled_quantile


def workspace(graph: Graph, keys: np.ndarray | None = None) -> tuple[Growth, Records, Records]:
    """Return the first arguments of the kernels below: a forest without edges, all records, and scratch space.

    `keys`, uint32 or uint64 of shape (m,), are by default the keys of the graph's weights.
    """
    unsorted = records(order.keys(graph.w) if keys is None else keys)
    return empty_growth(graph.n, graph.u, graph.v), unsorted, unsorted.empty()


@njit
def lazy_kruskal(growth, records, spare, cutoff, sample, filtering):
    """Return the forest: quicksort from the left, and join each range once it is sorted, until one tree is left.

    Parameters
    ----------
    growth : mst.kernels.sequential.kruskal.Growth
        Must have no edges yet; overwritten.
    records, spare : mst.kernels.primitives.radix.Records
        Records of all edges, and scratch space of the same size; both are overwritten.
    cutoff : int
        Ranges of at most this many records are sorted.
    sample : int
        The number of records that are sampled to choose a pivot.
    filtering : bool
        Whether edges inside a tree are removed from a heavier part before it is sorted.

    Returns
    -------
    numpy.ndarray of int32 or int64, shape (k,)
        Ids of the forest's edges.
    """
    # Pending ranges, the lightest on top; each level of the recursion adds at most one.
    pending = [(0, records.words.size, False)]
    size = 0
    while len(pending) > 0 and size < growth.parent.size - 1:
        start, stop, heavy = pending.pop()
        if heavy and filtering:
            stop = drop_cycle_edges(growth, records, start, stop)
        if stop - start <= cutoff:
            size = _sort_and_add(growth, records, spare, start, stop, size)
            continue
        pivot = sampled_quantile(records.words, start, stop, (stop - start) // 2, sample)
        middle = partition(records, start, stop, pivot, spare)
        if middle == stop:
            # No record is heavier than the pivot: split off those equal to it, which are in order already.
            if pivot > 0:
                middle = partition(records, start, stop, pivot - np.uint64(1), spare)
            if pivot == 0 or middle == start:
                size = add_in_order(growth, records, start, stop, size)
                continue
        pending.append((middle, stop, True))
        pending.append((start, middle, False))
    return growth.forest[:size]


@njit
def prefix_kruskal(growth, records, spare, prefix, sample):
    """Return the forest: Kruskal over about the `prefix` lightest edges, then over the others that join two trees.

    The other parameters and the result are as for `lazy_kruskal`.
    """
    m = records.words.size
    middle = m
    if prefix < m:
        pivot = sampled_quantile(records.words, 0, m, prefix, sample)
        middle = partition(records, 0, m, pivot, spare)
    size = _sort_and_add(growth, records, spare, 0, middle, 0)
    if size < growth.parent.size - 1:
        stop = drop_cycle_edges(growth, records, middle, m)
        size = _sort_and_add(growth, records, spare, middle, stop, size)
    return growth.forest[:size]


@njit
def _sort_and_add(growth, records, spare, start, stop, size):
    """Sort the records ``start … stop - 1``, and add their edges to a forest of `size` edges; return its new size."""
    if sort_words(records.words, records.ids, start, stop, spare.words, spare.ids):
        return add_in_order(growth, spare, 0, stop - start, size)
    return add_in_order(growth, records, start, stop, size)
