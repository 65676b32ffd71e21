"""The filter of `mst.streaming`: drops edges that close a cycle with lighter edges of the forest so far.

In the functions, `u` and `v` are uint32 or uint64, and `w` has any weight dtype; all three are of shape (k,). Several
threads may call a function that takes `first` and `last` at the same time, for disjoint ranges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.atomics import load, store
from mst.kernels.primitives.bitmap import count_ones, count_trailing_zeros, get_bit
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch
from mst.kernels.union_find.concurrent import find, unite

_ZERO, _ONE, _WORD, _WORDS = np.uint64(0), np.uint64(1), np.uint64(64), np.uint64(64)

_EDGES_AHEAD, _PARENTS_AHEAD, _GRANDPARENTS_AHEAD = np.uint64(32), np.uint64(16), np.uint64(8)
"""How many edges ahead an edge, the parents of its ends, and their grandparents are prefetched."""

_FEW = _WORDS * _WORD // np.uint64(2)
"""With more open edges in a block, nothing is prefetched: their ends are mostly neighbours, already in cache."""

_BLOCK = np.uint64(1024)
"""Vertices whose parents are prefetched before the first is read."""

OUTSIDE = np.uint8(255)
"""The level of a vertex that is in the largest tree at no level."""


class Joined(NamedTuple):
    """The trees that the lightest edges of a forest form, at several levels: each has a higher bound on their weight.

    Attributes
    ----------
    label : numpy.ndarray of uint32 or uint64, shape (n,)
        The root of each vertex's tree at the last level.
    level : numpy.ndarray of uint8, shape (n,)
        The first level at which a vertex is in the largest tree; `OUTSIDE` if there is none.
    in_giant : numpy.ndarray of uint64, shape (k,)
        Bitmap of the groups of ``2 ** shift`` consecutive vertices that are all in the largest tree at one of the
        levels; at least one word, even without vertices.
    shift : numpy.uint64
    """

    label: np.ndarray
    level: np.ndarray
    in_giant: np.ndarray
    shift: np.uint64


@njit(nogil=True)
def sort_by_level(first, last, w, bounds, places, starts):
    """Sort edges ``first … last - 1`` by the first level whose bound they do not exceed, then by place.

    Parameters
    ----------
    first, last : int
    w : numpy.ndarray of any weight dtype, shape (k,)
    bounds : numpy.ndarray of the same dtype, shape (levels,)
        Ascending; fewer than 255.
    places : numpy.ndarray of uint32 or uint64, shape (k,)
        Overwritten from `first` to ``last - 1``.
    starts : numpy.ndarray of int64, shape (levels + 2,)
        Overwritten: edges of level `i` are at ``places[starts[i] : starts[i + 1]]``, those above all bounds come last.
    """
    first, last = np.uint64(first), np.uint64(last)
    level = np.zeros(last - first, np.uint8)
    for i in range(bounds.size):
        # One bound at a time, so that vector instructions do the comparisons.
        for j in range(level.size):
            level[j] += np.uint8(w[first + np.uint64(j)] > bounds[i])
    starts[:] = 0
    for j in range(level.size):
        starts[level[j] + 1] += 1
    starts[0] = first
    for i in range(1, starts.size):
        starts[i] += starts[i - 1]
    ends = starts[:-1].copy()
    for j in range(level.size):
        places[ends[level[j]]] = first + np.uint64(j)
        ends[level[j]] += 1


@njit(nogil=True)
def join_edges(places, u, v, parent):
    """Join the ends of the edges at `places`; several threads may do so at once.

    Parameters
    ----------
    places : numpy.ndarray of uint32 or uint64, shape (j,)
    u, v : numpy.ndarray of uint32 or uint64, shape (k,)
    parent : numpy.ndarray of uint32 or uint64, shape (n,)
        The union-find (`mst.kernels.union_find.concurrent`); overwritten.
    """
    count = np.uint64(places.size)
    for i in range(count):
        # Neither edges nor parents are in order: the cache misses of several edges overlap.
        if i + _EDGES_AHEAD < count:
            e = places[i + _EDGES_AHEAD]
            prefetch(u, e)
            prefetch(v, e)
        if i + _PARENTS_AHEAD < count:
            e = places[i + _PARENTS_AHEAD]
            prefetch(parent, u[e])
            prefetch(parent, v[e])
        if i + _GRANDPARENTS_AHEAD < count:
            e = places[i + _GRANDPARENTS_AHEAD]
            prefetch(parent, load(parent, u[e]))
            prefetch(parent, load(parent, v[e]))
        e = places[i]
        unite(parent, u[e], v[e])


@njit(nogil=True)
def roots_of(parent, vertices):
    """Return the root of each of `vertices`, (k,) of the dtype of `parent`, which is as for `join_edges`."""
    roots = np.empty_like(vertices)
    for i in range(vertices.size):
        roots[i] = find(parent, vertices[i])
    return roots


@njit(nogil=True)
def set_level(first, last, parent, giant, number, level):
    """Set the level of the vertices in ``first … last - 1`` that are new in the tree with root `giant`.

    Parameters
    ----------
    first, last : int
    parent : numpy.ndarray of uint32 or uint64, shape (n,)
        The union-find; vertices are linked to their roots.
    giant : scalar of the same dtype
    number : numpy.uint8
        The level to set.
    level : numpy.ndarray of uint8, shape (n,)
        Overwritten for vertices whose level is `OUTSIDE`.
    """
    first, last = np.uint64(first), np.uint64(last)
    some = np.empty(_BLOCK, np.uint32)
    for begin in range(first, last, _BLOCK):
        count = _ZERO
        for x in range(begin, min(begin + _BLOCK, last)):
            some[count] = x - begin
            count += np.uint64(level[x] == OUTSIDE)
        for i in range(count):
            prefetch(parent, load(parent, begin + np.uint64(some[i])))
        for i in range(count):
            vertex = begin + np.uint64(some[i])
            root = load(parent, load(parent, load(parent, vertex)))
            if load(parent, root) != root:
                root = find(parent, root)
            store(parent, vertex, root)
            level[vertex] = number if root == giant else OUTSIDE


@njit(nogil=True)
def mark_up_to(first, last, level, number, shift, in_giant):
    """Write words ``first … last - 1`` of `in_giant`, a bitmap of the groups of ``2 ** shift`` vertices.

    A bit says whether all vertices of the group have at most the level `number`, a uint8. `level` and `shift` are as in
    `Joined`.
    """
    for word in range(first, last):
        bits = _ZERO
        for j in range(_WORD):
            vertex = (_WORD * np.uint64(word) + j) << shift
            highest = number if vertex < np.uint64(level.size) else OUTSIDE
            for x in range(vertex, min(vertex + (_ONE << shift), np.uint64(level.size))):
                highest = max(highest, level[x])
            bits |= np.uint64(highest <= number) << j
        in_giant[word] = bits


@njit(nogil=True)
def survey(u, v, w):
    """Return the largest end of some edges, a uint64, and how many of their weights are NaN, an int64."""
    largest, unordered = u.dtype.type(0), _ZERO
    for e in range(np.uint64(u.size)):
        largest = max(largest, u[e], v[e])
        unordered += np.uint64(w[e] != w[e])
    return np.uint64(largest), np.int64(unordered)


@njit(nogil=True)
def gather(u, v, w, ids, start, places):
    """Return the edges at `places`, uint32 (j,), as ``(u, v, w, ids)``, all of shape (j,).

    `ids` is int64 of shape (k,), or empty if the id of each edge is `start` plus its place.
    """
    count = np.uint64(places.size)
    ends, others, weights = np.empty(count, u.dtype), np.empty(count, v.dtype), np.empty(count, w.dtype)
    found = np.empty(count, np.int64)
    for i in range(count):
        e = np.uint64(places[i])
        ends[i], others[i], weights[i] = u[e], v[e], w[e]
        found[i] = ids[e] if ids.size else start + np.int64(e)
    return ends, others, weights, found


@njit(nogil=True)
def keep_open(u, v, w, bounds, marked, joined, places):
    """Find the edges that may belong to the forest: all except those whose ends are connected by lighter edges.

    The edges come after all forest edges, so an edge as heavy as a bound is above forest edges of that weight. The ends
    of an edge are connected at each level at which both are in the largest tree, and at the last level if they have the
    same label. Edges with an end of n or more are kept; self-loops are dropped.

    Parameters
    ----------
    u, v : numpy.ndarray of uint32 or uint64, shape (k,)
    w : numpy.ndarray of any weight dtype, shape (k,)
    bounds : numpy.ndarray of the same dtype, shape (levels,)
        The weight up to which forest edges are joined at each level; at least one.
    marked : int
        The level of the bitmap in `joined`, which drops most edges.
    joined : Joined
    places : numpy.ndarray of uint32, shape (k,)
        Overwritten: the places of the edges to keep, ascending.

    Returns
    -------
    kept : int
        Number of edges kept.
    largest : int
        The largest end, as uint64; 0 if there are no edges.
    unordered : int
        Number of NaN weights.
    """
    label, level, _, _ = joined
    n, levels = np.uint64(label.size), np.uint64(bounds.size)
    highest, last = bounds[marked], bounds[levels - _ONE]
    kept = largest = unordered = _ZERO
    words, some = np.empty(_WORDS, np.uint64), np.empty(_WORDS * _WORD, np.uint32)
    for begin in range(_ZERO, np.uint64(u.size), _WORDS * _WORD):
        end = min(begin + _WORDS * _WORD, np.uint64(u.size))
        # All words come first: a branch on one would delay looking up the bits of the next.
        count = _ZERO
        for first in range(begin, end, _WORD):
            word, far, nan = _possibly_open(u, v, w, first, min(first + _WORD, end), highest, joined)
            words[(first - begin) // _WORD] = word
            largest, unordered = max(largest, np.uint64(far)), unordered + nan
            count += np.uint64(count_ones(word))
        if count > _FEW:
            kept = _keep_of_many(
                u, v, w, bounds, joined, begin, words[: (end - begin + _WORD - _ONE) // _WORD], places, kept
            )
            continue
        # Levels and labels of few edges are rarely cached: all are requested before the first is read.
        count = _ZERO
        for first in range(begin, end, _WORD):
            word = words[(first - begin) // _WORD]
            while word:
                e = first + np.uint64(count_trailing_zeros(word))
                word &= word - _ONE
                prefetch(level, u[e])
                prefetch(level, v[e])
                some[count] = e
                count += _ONE
        count = _above_levels(u, v, w, bounds, level, some, count)
        for i in range(count):
            if w[some[i]] >= last:
                prefetch(label, u[some[i]])
                prefetch(label, v[some[i]])
        for i in range(count):
            e = np.uint64(some[i])
            x, y = np.uint64(u[e]), np.uint64(v[e])
            is_open = True
            if w[e] >= last and max(x, y) < n:
                is_open = label[x] != label[y]
            places[kept] = e
            kept += np.uint64(is_open)
    return np.int64(kept), largest, np.int64(unordered)


@njit(nogil=True)
def _above_levels(u, v, w, bounds, level, some, count):
    """Of the first `count` edges in `some`, keep those that the levels of their ends do not drop; return how many.

    `some`, uint32 of shape (k,), is overwritten; `level` is that of `Joined`, the others are as for `keep_open`.
    """
    n, levels = np.uint64(level.size), np.uint64(bounds.size)
    left = _ZERO
    for i in range(count):
        e = np.uint64(some[i])
        x, y = np.uint64(u[e]), np.uint64(v[e])
        is_open = max(x, y) >= n
        if not is_open:
            both = np.uint64(max(level[x], level[y]))
            is_open = (both >= levels) | (w[e] < bounds[min(both, levels - _ONE)])
        some[left] = e
        left += np.uint64(is_open)
    return left


@njit(nogil=True)
def _keep_of_many(u, v, w, bounds, joined, begin, words, places, kept):
    """Append the open edges among those with a bit in `words` to the first `kept` of `places`; return the new number.

    The ends of so many edges are usually neighbours, with levels and labels in cache. `words`, uint64 of shape (k,),
    has a bit for each edge from `begin` on; the others are as for `keep_open`.
    """
    label, level, _, _ = joined
    n, levels = np.uint64(label.size), np.uint64(bounds.size)
    last = bounds[levels - _ONE]
    for i in range(np.uint64(words.size)):
        word = words[i]
        while word:
            e = begin + _WORD * i + np.uint64(count_trailing_zeros(word))
            word &= word - _ONE
            x, y = np.uint64(u[e]), np.uint64(v[e])
            is_open = max(x, y) >= n
            if not is_open:
                both = np.uint64(max(level[x], level[y]))
                is_open = both >= levels or w[e] < bounds[both]
                if is_open and w[e] >= last:
                    is_open = label[x] != label[y]
            places[kept] = e
            kept += np.uint64(is_open)
    return kept


@njit(nogil=True)
def _possibly_open(u, v, w, first, end, highest, joined):
    """Test the edges ``first … end - 1``, up to 64, without branches or stores, so that the loop is vectorised.

    Returns
    -------
    word : uint64
        Bit j: edge ``first + j`` is not a self-loop, and is below `highest` or has an end outside the largest tree.
    largest : scalar of the ends' dtype
    unordered : uint64
    """
    n, in_giant, shift = np.uint64(joined.label.size), joined.in_giant, u.dtype.type(joined.shift)
    word = unordered = _ZERO
    largest = u.dtype.type(0)
    last = u.dtype.type(n - min(n, _ONE))
    for e in range(first, end):
        x, y = u[e], v[e]
        far = max(x, y)
        largest = max(largest, far)
        unordered += np.uint64(w[e] != w[e])
        is_open = (w[e] < highest) | (far > last) | (n == _ZERO)
        x_inside, y_inside = get_bit(in_giant, min(x, last) >> shift), get_bit(in_giant, min(y, last) >> shift)
        is_open |= x_inside & y_inside == _ZERO
        word |= np.uint64(is_open & (x != y)) << (e - first)
    return word, largest, unordered
