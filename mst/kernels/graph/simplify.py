"""Merging parallel edges: into a simple graph, or to the lightest of each pair.

`merge_edges` sorts twice by counting, by one end and by the other, and then passes over each run of equal pairs: a
least-significant-digit radix sort whose digits are the two ends (Cormen et al., "Introduction to Algorithms", section
8.3), linear for every degree distribution. Direction is kept as the sign of an end (``~x`` for an
arc from the larger to the smaller end), so it costs no memory.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit


@njit
def merge_edges(n, u, v, w):
    """Sort edges by (smaller end, larger end), drop self-loops, keep the smallest weight of each pair.

    Parameters
    ----------
    n : int
    u, v : numpy.ndarray of int32 or int64, shape (m,)
    w : numpy.ndarray of any weight dtype, shape (m,)

    Returns
    -------
    u, v, w : numpy.ndarray of the same dtypes, shape (k,)
        ``u < v``, ascending by (u, v), no pair twice. ``-0.0`` becomes ``0.0``.
    loops, reciprocal, parallel : int
        Rows dropped: self-loops; one for each pair with arcs both ways; the rest.

    Notes
    -----
    Besides input and result it needs two columns of ends and of weights, and n + 1 offsets.
    """
    low, weight, ends, loops = _sorted_by_larger_end(n, u, v, w)
    other, sorted_weight, ends = _sorted_by_smaller_end(low, weight, ends)
    # `low` and `weight` are free again.
    kept, reciprocal, parallel = _merge_runs(ends, other, sorted_weight, low, weight)
    return low[:kept], other[:kept], weight[:kept], loops, reciprocal, parallel


@njit(inline="always")
def _sorted_by_larger_end(n, u, v, w):
    """Return the signed smaller ends and the weights of edges, by the larger end, without self-loops.

    Returns
    -------
    low, weight : numpy.ndarray of the dtypes of the ends and the weights, shape (m - loops,)
    ends : numpy.ndarray of int64, shape (n + 1,)
        The edges of vertex `x` end before the place ``ends[x]``.
    loops : int
    """
    offsets = np.zeros(n + 1, np.int64)
    loops = 0
    for e in range(u.size):
        if u[e] == v[e]:
            loops += 1
        else:
            offsets[max(u[e], v[e]) + 1] += 1
    for x in range(n):
        offsets[x + 1] += offsets[x]
    low, weight = np.empty(u.size - loops, u.dtype), np.empty(u.size - loops, w.dtype)
    for e in range(u.size):
        a, b = u[e], v[e]
        if a != b:
            high = max(a, b)
            at = offsets[high]
            offsets[high] = at + 1
            low[at] = a if a < b else ~b
            weight[at] = w[e]
    return low, weight, offsets, loops


@njit(inline="always")
def _sorted_by_smaller_end(low, weight, ends):
    """Return the signed larger ends and the weights by smaller end, and where the vertices' edges end.

    Arguments and results are like the results of `_sorted_by_larger_end`.
    """
    n = ends.size - 1
    offsets = np.zeros(n + 1, np.int64)
    for e in range(low.size):
        offsets[_vertex(low[e]) + 1] += 1
    for x in range(n):
        offsets[x + 1] += offsets[x]
    other, sorted_weight = np.empty_like(low), np.empty_like(weight)
    e = 0
    for high in range(n):
        while e < ends[high]:
            x = _vertex(low[e])
            at = offsets[x]
            offsets[x] = at + 1
            other[at] = high if low[e] >= 0 else ~high
            sorted_weight[at] = weight[e]
            e += 1
    return other, sorted_weight, offsets


@njit(inline="always")
def _merge_runs(ends, other, sorted_weight, low, weight):
    """Write one edge of each run of equal pairs, with the smallest weight, to the front of `low`, `other` and `weight`.

    `ends`, `other` and `sorted_weight` are from `_sorted_by_smaller_end`. Returns the numbers of edges kept, of
    pairs with arcs both ways, and of all other edges.
    """
    kept = reciprocal = parallel = 0
    e = 0
    for x in range(ends.size - 1):
        end = ends[x]
        while e < end:
            y = _vertex(other[e])
            lightest = sorted_weight[e]
            first = other[e] >= 0
            both = False
            count = 0
            while e < end and _vertex(other[e]) == y:
                lightest = min(lightest, sorted_weight[e])
                both |= (other[e] >= 0) != first
                count += 1
                e += 1
            reciprocal += both
            parallel += count - 1 - both
            # `other` has been read up to `e`.
            low[kept], other[kept] = x, y
            weight[kept] = lightest + weight.dtype.type(0)
            kept += 1
    return kept, reciprocal, parallel


@njit
def _vertex(signed):
    """Return the vertex of a signed end, which is ``x`` or ``~x``."""
    return signed if signed >= 0 else ~signed


@njit
def lightest_of_parallel_edges(u, v, w, pairs, by_pair):
    """Return the id of the lightest edge of each pair of distinct ends, in order of pairs.

    Parameters
    ----------
    u, v : numpy.ndarray of int32 or int64, shape (m,)
    w : numpy.ndarray of any weight dtype, shape (m,)
    pairs : numpy.ndarray of uint64, shape (m,)
        Equal for parallel edges only.
    by_pair : numpy.ndarray of int, shape (m,)
        A stable order of `pairs`: of equally light parallel edges the smallest id is first and is kept.

    Returns
    -------
    numpy.ndarray of int64, shape (k,)
    """
    ids = np.empty(by_pair.size, np.int64)
    count = 0
    for e in by_pair:
        if u[e] == v[e]:
            continue
        if count == 0 or pairs[ids[count - 1]] != pairs[e]:
            ids[count] = e
            count += 1
        elif w[e] < w[ids[count - 1]]:
            ids[count - 1] = e
    return ids[:count]
