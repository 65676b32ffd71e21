"""Kruskal as in textbooks and the papers' baselines: a comparison sort of whole edges, and union by rank.

`mst.algorithms.sequential.kruskal` calls these with ``sort="comparison"`` or ``union="rank"``. In the kernels, `edges`
are records from `whole_edges`, of shape (m,); `key` and `id` have the dtypes of the fields with these names.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.prefetch import prefetch, prefetch_to_write
from mst.kernels.primitives.radix import id_at
from mst.kernels.union_find.sequential import unite, unite_by_rank

_FEW = 16
_ENDS_AHEAD, _PARENTS_AHEAD = np.uint64(24), np.uint64(12)
_ONE = np.uint64(1)


def whole_edges(keys: np.ndarray, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return records of key, id and both ends, shape (m,): 16 bytes each if all four fields have 32 bits.

    `keys` are uint32 or uint64, `u` and `v` int32 or int64, all of shape (m,).

    Examples
    --------
    >>> import numpy as np
    >>> from mst.kernels.sequential.plain_kruskal import sort_edges, whole_edges
    >>> edges = whole_edges(np.array([7, 5], np.uint32), np.array([0, 1]), np.array([1, 2]))
    >>> sort_edges(edges)
    >>> edges["id"].tolist()
    [1, 0]
    """
    unsigned = np.dtype(f"u{u.itemsize}")
    id_dtype = np.uint32 if len(u) <= 2**32 else np.uint64
    fields = [("key", keys.dtype), ("id", id_dtype), ("u", unsigned), ("v", unsigned)]
    edges = np.empty(len(u), np.dtype(fields, align=True))
    edges["key"], edges["id"], edges["u"], edges["v"] = keys, np.arange(len(u)), u, v
    return edges


@njit(inline="always")
def _read(edges, i):
    """Return the fields of edge `i`: key, id and both ends."""
    edge = edges[i]
    return edge.key, edge.id, edge.u, edge.v


@njit(inline="always")
def _write(edges, i, fields):
    """Write the fields of edge `i`, a tuple from `_read`."""
    edge = edges[i]
    edge.key, edge.id, edge.u, edge.v = fields


@njit(inline="always")
def _swap(edges, i, j):
    """Exchange edges `i` and `j`."""
    one, other = _read(edges, i), _read(edges, j)
    _write(edges, i, other)
    _write(edges, j, one)


@njit(inline="always")
def _precedes(edges, i, key, id):
    """Return whether edge `i` comes before (`key`, `id`) in the order."""
    edge = edges[i]
    return edge.key < key or (edge.key == key and edge.id < id)


@njit
def sort_edges(edges):
    """Sort edges by key and id in place.

    Introsort (Musser 1997), as in common ``std::sort``: quicksort with median of three, heapsort for
    ranges that quicksort has split too often, and one final insertion sort.
    """
    levels = 0
    while edges.size >> levels > 0:
        levels += 1
    _sort_roughly(edges, 2 * levels)
    for i in range(_ONE, np.uint64(edges.size)):
        fields = _read(edges, i)
        j = np.uint64(i)
        while j > 0 and not _precedes(edges, j - _ONE, fields[0], fields[1]):
            _write(edges, j, _read(edges, j - _ONE))
            j -= _ONE
        _write(edges, j, fields)


@njit
def _sort_roughly(edges, splits):
    """Move each edge into the range of at most 16 places to which it belongs in order.

    A range that has been split `splits` times is sorted by heapsort instead of splitting it again.
    """
    pending = [(0, edges.size, splits)]
    while len(pending) > 0:
        start, stop, splits = pending.pop()
        while stop - start > _FEW:
            if splits == 0:
                _heapsort(edges, start, stop)
                break
            splits -= 1
            middle = _split(edges, start, stop)
            pending.append((middle, stop, splits))
            stop = middle


@njit
def _split(edges, start, stop):
    """Partition the edges ``start … stop - 1``, at least four, by the median of three; return the second part's start.

    Both parts have fewer edges than the range, and no edge of the first part comes after one of the second.
    """
    start, stop = np.uint64(start), np.uint64(stop)  # numba would check signed indices for negative ones
    one, two, three = start + _ONE, (start + stop) >> _ONE, stop - _ONE
    if _precedes(edges, two, edges[one].key, edges[one].id):
        one, two = two, one
    if _precedes(edges, three, edges[two].key, edges[two].id):
        two = one if _precedes(edges, three, edges[one].key, edges[one].id) else three
    _swap(edges, start, two)
    # The other two of the three edges stop the searches below at the ends of the range.
    key, id = edges[start].key, edges[start].id
    i, j = start + _ONE, stop - _ONE
    while True:
        while _precedes(edges, i, key, id):
            i += _ONE
        while edges[j].key > key or (edges[j].key == key and edges[j].id > id):
            j -= _ONE
        if i >= j:
            return np.int64(i)
        _swap(edges, i, j)
        i += _ONE
        j -= _ONE


@njit
def _heapsort(edges, start, stop):
    """Sort the edges ``start … stop - 1`` by a heap whose root is the last edge in order."""
    size = stop - start
    for i in range(size // 2 - 1, -1, -1):
        _sift_down(edges, start, i, size)
    for left in range(size - 1, 0, -1):
        _swap(edges, start, start + left)
        _sift_down(edges, start, 0, left)


@njit
def _sift_down(edges, start, i, size):
    """Restore the heap of `size` edges from `start` on, in which only edge `i` may come before its children."""
    fields = _read(edges, start + i)
    child = 2 * i + 1
    while child < size:
        if child + 1 < size:
            next_to_it = edges[start + child + 1]
            if _precedes(edges, start + child, next_to_it.key, next_to_it.id):
                child += 1
        if _precedes(edges, start + child, fields[0], fields[1]):
            break
        _write(edges, start + i, _read(edges, start + child))
        i, child = child, 2 * child + 1
    _write(edges, start + i, fields)


@njit(inline="always")
def _join(parent, rank, x, y):
    """Join the trees of `x` and `y`, by `rank` unless it is empty; return whether they were apart."""
    return unite_by_rank(parent, rank, x, y) if rank.size > 0 else unite(parent, x, y)


@njit
def add_edges(growth, rank, edges, prefetching):
    """Add each edge that joins two trees, in the order given; return the size of the forest.

    Parameters
    ----------
    growth : mst.kernels.sequential.kruskal.Growth
        The forest, without edges yet; its edges are written.
    rank : numpy.ndarray of uint8, shape (n,) or (0,)
        Zeros, for unions by rank; or empty, for unions by index.
    edges : numpy.ndarray, shape (m,)
        Sorted records of `whole_edges`.
    prefetching : bool
        Whether cache lines of the union-find are loaded ahead.
    """
    parent, _, _, forest = growth
    size, last = 0, np.uint64(edges.size - 1)
    for i in range(np.uint64(edges.size)):
        if prefetching:
            ahead = edges[min(i + _PARENTS_AHEAD, last)]
            prefetch_to_write(parent, ahead.u)
            prefetch_to_write(parent, ahead.v)
        edge = edges[i]
        if _join(parent, rank, edge.u, edge.v):
            forest[size] = edge.id
            size += 1
    return size


@njit
def add_ids(growth, rank, records, prefetching):
    """Add the edge of each record that joins two trees, in the order given; return the size of the forest.

    `records` are sorted `mst.kernels.primitives.radix.Records`, and the ends are those of `growth`; `growth`, `rank`
    and `prefetching` are as for `add_edges`.
    """
    parent, u, v, forest = growth
    words, ids = records
    size, last = 0, np.uint64(words.size - 1)
    for i in range(np.uint64(words.size)):
        if prefetching:
            e = id_at(words, ids, min(i + _ENDS_AHEAD, last))
            prefetch(u, e)
            prefetch(v, e)
            e = id_at(words, ids, min(i + _PARENTS_AHEAD, last))
            prefetch_to_write(parent, u[e])
            prefetch_to_write(parent, v[e])
        e = id_at(words, ids, i)
        if _join(parent, rank, u[e], v[e]):
            forest[size] = e
            size += 1
    return size
