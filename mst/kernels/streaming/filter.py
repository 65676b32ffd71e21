"""The filter of a stream: drops edges that close a cycle with lighter edges of the forest so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.bitmap import get_bit
from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.concurrent import unite

_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Joined(NamedTuple):
    """The trees that the lightest edges of a forest form.

    Attributes
    ----------
    label : numpy.ndarray of uint32 or uint64, shape (n,)
        The root of each vertex's tree.
    in_giant : numpy.ndarray of uint64, shape (⌈n / 64⌉,)
        Bitmap of the vertices of the largest tree.
    """

    label: np.ndarray
    in_giant: np.ndarray


@njit(nogil=True)
def join_light(u, v, w, highest, parent):
    """Join the ends of the edges of weight `highest` or less; several threads may do so for several slices.

    Parameters
    ----------
    u, v : numpy.ndarray of uint32 or uint64, shape (k,)
    w : numpy.ndarray of any weight dtype, shape (k,)
    highest : scalar of the same dtype
    parent : numpy.ndarray of uint32 or uint64, shape (n,)
        The union-find (`mst.kernels.union_find.concurrent`); overwritten.
    """
    for e in range(np.uint64(u.size)):
        if w[e] <= highest:
            unite(parent, u[e], v[e])


@njit(nogil=True)
def keep_open(u, v, w, highest, joined, places):
    """Find the edges that may belong to the forest: light ones, and heavy ones between two trees of the light ones.

    The edges come after all those of the forest, so that one as heavy as `highest` is above the forest's of that
    weight. Edges with an end of n or more are kept, self-loops dropped.

    Parameters
    ----------
    u, v : numpy.ndarray of uint32 or uint64, shape (k,)
    w : numpy.ndarray of any weight dtype, shape (k,)
    highest : scalar of the same dtype
        The weight up to which the edges of the forest are joined.
    joined : Joined
    places : numpy.ndarray of uint32, shape (k,)
        Overwritten: the places of the edges to keep, ascending.

    Returns
    -------
    kept : int
        How many edges are kept.
    largest : int
        The largest end, as uint64; 0 if there are no edges.
    unordered : int
        How many weights are NaN.
    """
    label, in_giant = joined
    n = np.uint64(label.size)
    kept = largest = unordered = _ZERO
    # Without a branch that depends on an edge: it would be mispredicted.
    last = n - min(n, _ONE)
    for e in range(np.uint64(u.size)):
        x, y = np.uint64(u[e]), np.uint64(v[e])
        largest = max(largest, x, y)
        unordered += np.uint64(w[e] != w[e])
        is_open = (w[e] < highest) | (max(x, y) >= n)
        if n > _ZERO:
            is_open |= get_bit(in_giant, min(x, last)) & get_bit(in_giant, min(y, last)) == _ZERO
        places[kept] = e
        kept += np.uint64(is_open & (x != y))
    if n == _ZERO:
        return np.int64(kept), largest, np.int64(unordered)
    candidates, kept = kept, _ZERO
    for j in range(candidates):
        e = places[j]
        x, y = np.uint64(u[e]), np.uint64(v[e])
        is_open = (w[e] < highest) | (max(x, y) >= n)
        is_open |= label[min(x, last)] != label[min(y, last)]
        places[kept] = e
        kept += np.uint64(is_open)
    return np.int64(kept), largest, np.int64(unordered)
