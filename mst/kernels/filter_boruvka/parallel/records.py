"""Records of the edges in batches: the ends, which joining replaces by roots, the key and the id.

`scatter` writes the records, `join` and `drop_cycle_edges` process them. The top bit of the second end marks a dropped
edge (`set_dropped`). In the functions, `records` has any of the three types; `i` and `j` are places in it, int; ends,
`a` and `b`, and keys are unsigned integers of 32 or 64 bits; `e` is an edge id, int.

Functions that store are compiled as calls, not inlined into the caller's source: numba would drop a store through an
attribute inside a `prange` as dead code (`mst.kernels.parallel.runtime`). LLVM still inlines them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numba  # noqa: F401
import numpy as np
from numba.extending import overload

from mst.arrays import distinct_values
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch
from mst.kernels.primitives.radix import sort_words

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_LINE32, _LINE64 = np.uint64(4), np.uint64(3)
"""Binary logarithms of the number of parents per cache line."""

_OUT, _END32, _END64 = np.uint64(1 << 63), np.uint64(0x7FFFFFFF), np.uint64((1 << 63) - 1)


class PackedRecords(NamedTuple):
    """Edges of 32-bit keys, 16 bytes each in one array.

    Attributes
    ----------
    rows : numpy.ndarray of uint64, shape (k, 2)
        ``a | b << 32`` and ``key << 32 | id``.
    """

    rows: np.ndarray


class Records(NamedTuple):
    """Edges of 64-bit keys, 20 bytes each in three arrays.

    Attributes
    ----------
    ends : numpy.ndarray of uint64, shape (k,)
        ``a | b << 32``.
    keys : numpy.ndarray of uint64, shape (k,)
    ids : numpy.ndarray of uint32, shape (k,)
    """

    ends: np.ndarray
    keys: np.ndarray
    ids: np.ndarray


class WideRecords(NamedTuple):
    """Edges of graphs with at least 2³¹ vertices or 2³² edges: uint64 arrays of shape (k,)."""

    a: np.ndarray
    b: np.ndarray
    keys: np.ndarray
    ids: np.ndarray


AnyRecords = PackedRecords | Records | WideRecords


def new_records(
    size: int, vertex_type: Any, key_type: Any, ids: int, empty: Callable[..., np.ndarray] = np.empty
) -> AnyRecords:
    """Return uninitialised records of `size` edges, of a type that fits vertices, keys and edge ids below `ids`.

    `empty` allocates arrays, given a shape and dtype.
    """
    if np.dtype(vertex_type).itemsize == 8 or ids > 2**32:
        return WideRecords(*(empty(size, np.uint64) for _ in range(4)))
    if np.dtype(key_type).itemsize == 8:
        return Records(empty(size, np.uint64), empty(size, np.uint64), empty(size, np.uint32))
    return PackedRecords(empty((size, 2), np.uint64))


def share_on_equal_lines(records: AnyRecords, size: int = 1024) -> float:
    """Return the share of the ends of about `size` edges whose parents share a cache line with an earlier one's.

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.filter_boruvka.parallel.records import Records, share_on_equal_lines
    >>> star, none = np.arange(1000, dtype=np.uint64) << np.uint64(36), np.empty(0, np.uint64)
    >>> share_on_equal_lines(Records(star, none, none))
    0.5
    """
    some = slice(None, None, max(1, len(records[0]) // size))
    if isinstance(records, WideRecords):
        ends = np.concatenate((records.a[some], records.b[some] & _END64)) >> _LINE64
    else:
        pairs = (records.rows[:, 0] if isinstance(records, PackedRecords) else records.ends)[some]
        ends = np.concatenate((pairs & _LOW, (pairs >> _HALF) & _END32)) >> _LINE32
    return 1 - len(distinct_values(ends)) / max(len(ends), 1)


def _compiled_only() -> Any:
    raise NotImplementedError("for compiled code only")


def ends_at(records, i):
    """Return both ends of edge `i`, without the mark of a dropped edge."""
    return _compiled_only()


def id_at(records, i):
    """Return the edge id of edge `i`, an int64."""
    return _compiled_only()


def put(records, i, a, b, key, e):
    """Write edge `i`, not dropped: ends `a` and `b`, `key` and id `e`."""
    return _compiled_only()


def prefetch_edge(records, i):
    """Prefetch the cache lines of edge `i`."""
    return _compiled_only()


def move(records, i, j, a, b):
    """Copy the key and id of edge `i` to place `j`, with `a` and `b` as ends."""
    return _compiled_only()


def swap(records, i, j):
    """Exchange edges `i` and `j`."""
    return _compiled_only()


def set_dropped(records, i, out):
    """Mark edge `i` as dropped if `out`, else as not dropped."""
    return _compiled_only()


def is_dropped(records, i):
    """Return whether edge `i` is marked as dropped."""
    return _compiled_only()


def is_lighter(records, i, j):
    """Return whether edge `i` precedes edge `j` by (key, id)."""
    return _compiled_only()


def in_order(records, places, spare, words, spare_words):
    """Sort `places` by the (key, id) of the edges there; return the sorted array, which is `places` or `spare`.

    All four arrays are overwritten and have one length; `places` and `spare` are int64, the others uint64.
    """
    return _compiled_only()


@overload(ends_at, inline="always")
def _ends_at(records, i):
    if records.instance_class is WideRecords:
        return lambda records, i: (records.a[i], records.b[i] & _END64)

    def ends_at(records, i):
        pair = _pair(records, i)
        return np.uint32(pair), np.uint32((pair >> _HALF) & _END32)

    return ends_at


def _pair(records, i):
    """Return both ends of edge `i` and the mark as one uint64; not for `WideRecords`."""
    return _compiled_only()


@overload(_pair, inline="always")
def _pair_compiled(records, i):
    if records.instance_class is PackedRecords:
        return lambda records, i: records.rows[i, 0]
    return lambda records, i: records.ends[i]


@overload(id_at, inline="always")
def _id_at(records, i):
    if records.instance_class is PackedRecords:
        return lambda records, i: np.int64(np.uint32(records.rows[i, 1]))
    return lambda records, i: np.int64(records.ids[i])


@overload(put)
def _put(records, i, a, b, key, e):
    if records.instance_class is WideRecords:

        def put(records, i, a, b, key, e):
            records.a[i], records.b[i], records.keys[i], records.ids[i] = a, b, key, e

    elif records.instance_class is Records:

        def put(records, i, a, b, key, e):
            records.ends[i] = np.uint64(np.uint32(a)) | (np.uint64(b) << _HALF)
            records.keys[i], records.ids[i] = key, e

    else:

        def put(records, i, a, b, key, e):
            records.rows[i, 0] = np.uint64(np.uint32(a)) | (np.uint64(b) << _HALF)
            records.rows[i, 1] = (np.uint64(key) << _HALF) | np.uint64(e)

    return put


@overload(prefetch_edge, inline="always")
def _prefetch_edge(records, i):
    if records.instance_class is PackedRecords:
        return lambda records, i: prefetch(records.rows, i)
    if records.instance_class is Records:

        def prefetch_edge(records, i):
            prefetch(records.ends, i)
            prefetch(records.ids, i)

    else:

        def prefetch_edge(records, i):
            prefetch(records.a, i)
            prefetch(records.ids, i)

    return prefetch_edge


@overload(move)
def _move(records, i, j, a, b):
    if records.instance_class is WideRecords:

        def move(records, i, j, a, b):
            records.a[j], records.b[j] = a, b
            records.keys[j], records.ids[j] = records.keys[i], records.ids[i]

    elif records.instance_class is Records:

        def move(records, i, j, a, b):
            records.ends[j] = np.uint64(a) | (np.uint64(b) << _HALF)
            records.keys[j], records.ids[j] = records.keys[i], records.ids[i]

    else:

        def move(records, i, j, a, b):
            records.rows[j, 0] = np.uint64(a) | (np.uint64(b) << _HALF)
            records.rows[j, 1] = records.rows[i, 1]

    return move


@overload(swap)
def _swap(records, i, j):
    if records.instance_class is WideRecords:

        def swap(records, i, j):
            _exchange(records.a, i, j)
            _exchange(records.b, i, j)
            _exchange(records.keys, i, j)
            _exchange(records.ids, i, j)

    elif records.instance_class is Records:

        def swap(records, i, j):
            _exchange(records.ends, i, j)
            _exchange(records.keys, i, j)
            _exchange(records.ids, i, j)

    else:

        def swap(records, i, j):
            _exchange(records.rows[:, 0], i, j)
            _exchange(records.rows[:, 1], i, j)

    return swap


@njit(inline="always")
def _exchange(values, i, j):
    """Exchange elements `i` and `j` of `values`, of any dtype and shape (k,)."""
    values[i], values[j] = values[j], values[i]


@overload(set_dropped)
def _set_dropped(records, i, out):
    if records.instance_class is WideRecords:

        def set_dropped(records, i, out):
            end = records.b[i] & _END64
            records.b[i] = end | _OUT if out else end

    elif records.instance_class is Records:

        def set_dropped(records, i, out):
            pair = records.ends[i] & _END64
            records.ends[i] = pair | _OUT if out else pair

    else:

        def set_dropped(records, i, out):
            pair = records.rows[i, 0] & _END64
            records.rows[i, 0] = pair | _OUT if out else pair

    return set_dropped


@overload(is_dropped, inline="always")
def _is_dropped(records, i):
    if records.instance_class is WideRecords:
        return lambda records, i: records.b[i] >> np.uint64(63) != 0
    return lambda records, i: _pair(records, i) >> np.uint64(63) != 0


@overload(is_lighter, inline="always")
def _is_lighter(records, i, j):
    if records.instance_class is PackedRecords:
        return lambda records, i, j: records.rows[i, 1] < records.rows[j, 1]

    def is_lighter(records, i, j):
        key, other = records.keys[i], records.keys[j]
        return key < other or (key == other and records.ids[i] < records.ids[j])

    return is_lighter


@overload(in_order)
def _in_order(records, places, spare, words, spare_words):
    if records.instance_class is PackedRecords:
        return lambda records, places, spare, words, spare_words: _sorted_by(
            records.rows[:, 1], places, spare, words, spare_words
        )[0]

    def in_order(records, places, spare, words, spare_words):
        # Sorted by id, and then stably by key.
        by_id, free = _sorted_by(records.ids, places, spare, words, spare_words)
        return _sorted_by(records.keys, by_id, free, words, spare_words)[0]

    return in_order


@njit
def _sorted_by(values, places, spare, words, spare_words):
    """Sort `places` by their `values`; return first the sorted array, then the other of `places` and `spare`.

    `values`, by place, is uint32 or uint64; the other arrays are as for `in_order`.
    """
    for i in range(places.size):
        words[i] = values[places[i]]
    if call(sort_words, words, places, 0, places.size, spare_words, spare):
        return spare, places
    return places, spare
