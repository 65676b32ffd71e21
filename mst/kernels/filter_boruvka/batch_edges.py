"""Edges on their way through batches: tuples of arrays, one layout per width of their parts.

====================== ==================================================================================
``(records,)``         rows ``u | v << 32, key << 32 | id``: 32-bit keys, 16 bytes an edge, side by side
``(ends, keys, ids)``  ends ``u | v << 32``: 64-bit keys, 20 bytes
``(u, v, keys, ids)``  64 bits each, from 2³¹ vertices or 2³² edges on
====================== ==================================================================================

The top bit of the second end is no part of it: it says that the edge is out of the forest (`drop`).
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.radix import sort_words

_HALF = np.uint64(32)
_OUT, _END32, _END64 = np.uint64(1 << 63), np.uint64(0x7FFFFFFF), np.uint64((1 << 63) - 1)


def new_edges(size: int, vertex_type, key_type, ids: int, empty=np.empty) -> tuple[np.ndarray, ...]:
    """Return room for `size` edges, in the layout that fits vertices, keys and `ids` edge ids.

    `empty` makes arrays of a shape and dtype.
    """
    if np.dtype(vertex_type).itemsize == 8 or ids > 2**32:
        return tuple(empty(size, np.uint64) for _ in range(4))
    if np.dtype(key_type).itemsize == 8:
        return empty(size, np.uint64), empty(size, np.uint64), empty(size, np.uint32)
    return (empty((size, 2), np.uint64),)


def _compiled_only(*arguments):
    raise NotImplementedError("for compiled code only")


def ends_at(edges, i):
    """Return both ends of edge `i`."""
    return _compiled_only()


def id_at(edges, i):
    """Return the edge id of edge `i`."""
    return _compiled_only()


def put(edges, i, a, b, key, e):
    """Write edge `i`."""
    return _compiled_only()


def move(edges, i, j, a, b):
    """Write edge `j`: edge `i` with the ends `a` and `b`."""
    return _compiled_only()


def swap(edges, i, j):
    """Exchange edges `i` and `j`."""
    return _compiled_only()


def drop(edges, i, out):
    """Say whether edge `i` is out of the forest."""
    return _compiled_only()


def dropped(edges, i):
    """Return whether edge `i` is out of the forest."""
    return _compiled_only()


def in_order(edges, places, spare, words, spare_words):
    """Return the places of edges by the order, (key, id), in `places` or `spare`; the others are overwritten, too.

    All have one length; `places` and `spare` are of int64, the others of uint64.
    """
    return _compiled_only()


@overload(ends_at, inline="always")
def _ends_at(edges, i):
    if len(edges) == 4:
        return lambda edges, i: (edges[0][i], edges[1][i] & _END64)

    def ends_at(edges, i):
        pair = _pair(edges, i)
        return np.uint32(pair), np.uint32((pair >> _HALF) & _END32)

    return ends_at


def _pair(edges, i):
    return _compiled_only()


@overload(_pair, inline="always")
def _pair_compiled(edges, i):
    if len(edges) == 1:
        return lambda edges, i: edges[0][i, 0]
    return lambda edges, i: edges[0][i]


@overload(id_at, inline="always")
def _id_at(edges, i):
    if len(edges) == 1:
        return lambda edges, i: np.int64(np.uint32(edges[0][i, 1]))
    if len(edges) == 3:
        return lambda edges, i: np.int64(edges[2][i])
    return lambda edges, i: np.int64(edges[3][i])


@overload(put, inline="always")
def _put(edges, i, a, b, key, e):
    if len(edges) == 4:

        def put(edges, i, a, b, key, e):
            edges[0][i], edges[1][i], edges[2][i], edges[3][i] = a, b, key, e

    elif len(edges) == 3:

        def put(edges, i, a, b, key, e):
            edges[0][i] = np.uint64(np.uint32(a)) | (np.uint64(b) << _HALF)
            edges[1][i], edges[2][i] = key, e

    else:

        def put(edges, i, a, b, key, e):
            edges[0][i, 0] = np.uint64(np.uint32(a)) | (np.uint64(b) << _HALF)
            edges[0][i, 1] = (np.uint64(key) << _HALF) | np.uint64(e)

    return put


@overload(move, inline="always")
def _move(edges, i, j, a, b):
    if len(edges) == 4:

        def move(edges, i, j, a, b):
            edges[0][j], edges[1][j] = a, b
            edges[2][j], edges[3][j] = edges[2][i], edges[3][i]

    elif len(edges) == 3:

        def move(edges, i, j, a, b):
            edges[0][j] = np.uint64(a) | (np.uint64(b) << _HALF)
            edges[1][j], edges[2][j] = edges[1][i], edges[2][i]

    else:

        def move(edges, i, j, a, b):
            edges[0][j, 0] = np.uint64(a) | (np.uint64(b) << _HALF)
            edges[0][j, 1] = edges[0][i, 1]

    return move


@overload(swap, inline="always")
def _swap(edges, i, j):
    if len(edges) == 4:

        def swap(edges, i, j):
            _exchange(edges[0], i, j)
            _exchange(edges[1], i, j)
            _exchange(edges[2], i, j)
            _exchange(edges[3], i, j)

    elif len(edges) == 3:

        def swap(edges, i, j):
            _exchange(edges[0], i, j)
            _exchange(edges[1], i, j)
            _exchange(edges[2], i, j)

    else:

        def swap(edges, i, j):
            _exchange(edges[0][:, 0], i, j)
            _exchange(edges[0][:, 1], i, j)

    return swap


@njit(inline="always")
def _exchange(values, i, j):
    values[i], values[j] = values[j], values[i]


@overload(drop, inline="always")
def _drop(edges, i, out):
    if len(edges) == 4:

        def drop(edges, i, out):
            end = edges[1][i] & _END64
            edges[1][i] = end | _OUT if out else end

    elif len(edges) == 3:

        def drop(edges, i, out):
            pair = edges[0][i] & _END64
            edges[0][i] = pair | _OUT if out else pair

    else:

        def drop(edges, i, out):
            pair = edges[0][i, 0] & _END64
            edges[0][i, 0] = pair | _OUT if out else pair

    return drop


@overload(dropped, inline="always")
def _dropped(edges, i):
    if len(edges) == 4:
        return lambda edges, i: edges[1][i] >> np.uint64(63) != 0
    return lambda edges, i: _pair(edges, i) >> np.uint64(63) != 0


@overload(in_order)
def _in_order(edges, places, spare, words, spare_words):
    if len(edges) == 1:
        return lambda edges, places, spare, words, spare_words: _sorted_by(
            edges[0][:, 1], places, spare, words, spare_words
        )[0]
    k, e = len(edges) - 2, len(edges) - 1

    def in_order(edges, places, spare, words, spare_words):
        # By id, then by key, which leaves those of one key as they are.
        by_id, free = _sorted_by(edges[e], places, spare, words, spare_words)
        return _sorted_by(edges[k], by_id, free, words, spare_words)[0]

    return in_order


@njit
def _sorted_by(values, places, spare, words, spare_words):
    """Return the places by their values, and whichever of `places` and `spare` they are not in."""
    for i in range(places.size):
        words[i] = values[places[i]]
    if sort_words(words, places, 0, places.size, spare_words, spare):
        return spare, places
    return places, spare
