"""Kruskal that sorts only as far as it must: the common ground of qKruskal and Filter-Kruskal."""

from __future__ import annotations

import numpy as np

from mst import order
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.radix import records, sort_words
from mst.kernels.sequential.kruskal import drop_inner, take
from mst.kernels.sequential.partition import sampled_quantile, split


def workspace(graph, keys=None):
    """Return what the kernels below take: vertices, ends, records (of the weights' keys), and room for sorting."""
    unsigned = np.dtype(f"u{graph.u.itemsize}")
    words, ids = records(order.keys(graph.w) if keys is None else keys)
    spare = np.empty_like(words), np.empty_like(ids)
    parent = np.arange(graph.n, dtype=unsigned)
    forest = np.empty(max(min(graph.n - 1, graph.m), 0), np.int32 if graph.m < 2**31 else np.int64)
    return parent, graph.u.view(unsigned), graph.v.view(unsigned), words, ids, *spare, forest


@njit
def lazy_kruskal(parent, u, v, words, ids, spare_words, spare_ids, forest, cutoff, sample, filtering):
    """Quicksort the records from the left, feeding Kruskal; stop once the tree is complete.

    With `filtering`, a heavier part is first rid of edges whose ends already lie in one tree.
    """
    # Ranges still to do, the lightest on top; each level of the recursion leaves at most one behind.
    pending = [(0, words.size, False)]
    size = 0
    while len(pending) > 0 and size < parent.size - 1:
        start, stop, heavy = pending.pop()
        if heavy and filtering:
            stop = drop_inner(parent, u, v, words, ids, start, stop)
        if stop - start <= cutoff:
            size = _sort_and_take(parent, u, v, words, ids, start, stop, spare_words, spare_ids, forest, size)
            continue
        pivot = sampled_quantile(words, start, stop, (stop - start) // 2, sample)
        middle = split(words, ids, start, stop, pivot, spare_words, spare_ids)
        if middle == stop:
            # The pivot is the heaviest: what is below it comes first, and its equals are in order already.
            if pivot > 0:
                middle = split(words, ids, start, stop, pivot - np.uint64(1), spare_words, spare_ids)
            if pivot == 0 or middle == start:
                size = take(parent, u, v, words, ids, start, stop, forest, size)
                continue
        pending.append((middle, stop, True))
        pending.append((start, middle, False))
    return forest[:size]


@njit
def prefix_kruskal(parent, u, v, words, ids, spare_words, spare_ids, forest, prefix, sample):
    """Kruskal over about the `prefix` lightest edges, then over those of the rest that join two trees."""
    m = words.size
    middle = m
    if prefix < m:
        pivot = sampled_quantile(words, 0, m, prefix, sample)
        middle = split(words, ids, 0, m, pivot, spare_words, spare_ids)
    size = _sort_and_take(parent, u, v, words, ids, 0, middle, spare_words, spare_ids, forest, 0)
    if size < parent.size - 1:
        stop = drop_inner(parent, u, v, words, ids, middle, m)
        size = _sort_and_take(parent, u, v, words, ids, middle, stop, spare_words, spare_ids, forest, size)
    return forest[:size]


@njit
def _sort_and_take(parent, u, v, words, ids, start, stop, spare_words, spare_ids, forest, size):
    if sort_words(words, ids, start, stop, spare_words, spare_ids):
        return take(parent, u, v, spare_words, spare_ids, 0, stop - start, forest, size)
    return take(parent, u, v, words, ids, start, stop, forest, size)
