"""The filter of a stream: drops edges that close a cycle with lighter edges of the forest so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.primitives.bitmap import count_trailing_zeros, get_bit
from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.concurrent import unite

_ZERO, _ONE, _WORD, _WORDS = np.uint64(0), np.uint64(1), np.uint64(64), np.uint64(64)


class Joined(NamedTuple):
    """The trees that the lightest edges of a forest form.

    Attributes
    ----------
    label : numpy.ndarray of uint32 or uint64, shape (n,)
        The root of each vertex's tree.
    in_giant : numpy.ndarray of uint64, shape (⌈n / 64⌉,)
        Bitmap of the vertices of the largest tree; at least one word, for no vertices, too.
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
    label = joined.label
    n = np.uint64(label.size)
    kept = largest = unordered = _ZERO
    words = np.empty(_WORDS, np.uint64)
    for begin in range(_ZERO, np.uint64(u.size), _WORDS * _WORD):
        end = min(begin + _WORDS * _WORD, np.uint64(u.size))
        # All words first: a branch on one would keep the next one's bits from being looked up meanwhile.
        for first in range(begin, end, _WORD):
            word, far, nan = _possibly_open(u, v, w, first, min(first + _WORD, end), highest, joined)
            words[(first - begin) // _WORD] = word
            largest, unordered = max(largest, np.uint64(far)), unordered + nan
        for first in range(begin, end, _WORD):
            word = words[(first - begin) // _WORD]
            while word:
                e = first + np.uint64(count_trailing_zeros(word))
                word &= word - _ONE
                is_open = w[e] < highest
                if not is_open:
                    x, y = np.uint64(u[e]), np.uint64(v[e])
                    is_open = max(x, y) >= n
                    if not is_open:
                        is_open = label[x] != label[y]
                places[kept] = e
                kept += np.uint64(is_open)
    return np.int64(kept), largest, np.int64(unordered)


@njit(nogil=True)
def _possibly_open(u, v, w, first, end, highest, joined):
    """Look at up to 64 edges without branches or stores, so that vector instructions do.

    Returns
    -------
    word : uint64
        Bit j says whether edge ``first + j`` is no self-loop, and is light or has an end outside the largest tree.
    largest : scalar of the ends' dtype
    unordered : uint64
    """
    n, in_giant = np.uint64(joined.label.size), joined.in_giant
    word = unordered = _ZERO
    largest = u.dtype.type(0)
    last = u.dtype.type(n - min(n, _ONE))
    for e in range(first, end):
        x, y = u[e], v[e]
        far = max(x, y)
        largest = max(largest, far)
        unordered += np.uint64(w[e] != w[e])
        is_open = (w[e] < highest) | (far > last) | (n == _ZERO)
        is_open |= get_bit(in_giant, min(x, last)) & get_bit(in_giant, min(y, last)) == _ZERO
        word |= np.uint64(is_open & (x != y)) << (e - first)
    return word, largest, unordered
