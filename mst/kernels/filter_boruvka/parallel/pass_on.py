"""Joins edges with an end in a range of vertices, and passes the others to the worker of the range below.

`mst.kernels.filter_boruvka.parallel.passes` calls this for every stage but the last. The range begins with the vertex
`lowest`. Roots are only linked below smaller numbers, so a tree lies within the vertices from `lowest` on until an edge
joins it to a vertex below, its *exit*. An edge between two trees without an exit, or between such a tree and a vertex
below, joins two trees whatever the trees below are. Only edges that lead below at both ends are passed on, with the
exits as ends. No worker waits for the result of another or accesses the parents of another worker's vertices.

As on one core (`mst.kernels.filter_boruvka.sequential.join`), a batch's edges are joined in any order. If each edge not
passed on links a root, they close no cycle, even if all vertices below were one. Otherwise the batch is joined again,
in the order of (key, id). Edges passed on stay in their batch.

In the functions, `parent` and `taken` are as for `pass_on`; `x` and `lowest` are uint32.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka.sequential.join import sort_by_key
from mst.kernels.primitives.atomics import load, store_where
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch_to_write

_HALF = np.uint64(32)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


@njit
def pass_on(records, ends, lowest, keys, parent, taken, size):
    """Join records that have an end from `lowest` on, batch by batch, and move the others that join trees to the front.

    Parameters
    ----------
    records : numpy.ndarray of uint64, shape (k, 2)
    ends : numpy.ndarray of int64, shape (batches,)
        The end of each batch; overwritten with the ends of the batches of records passed on.
    lowest : uint32
        The first vertex of the range.
    keys : LazyKeys
        By edge id.
    parent : numpy.ndarray of uint32, shape (n,)
    taken : numpy.ndarray of uint32, shape (n - lowest,)
        Ids of forest edges are written from `size` on.

    Returns
    -------
    size, conflicts : int
        The end of the forest edges in `taken`, and the number of batches that closed a cycle.
    """
    words, longest, start = records.reshape(-1), np.int64(0), np.int64(0)
    for stop in ends:
        longest, start = max(longest, stop - start), stop
    a, b, ids = np.empty(longest, np.uint32), np.empty(longest, np.uint32), np.empty(longest, np.uint32)
    held, conflicts = np.empty(2 * longest, np.uint64), np.int64(0)
    # Unsigned: a signed index might count from the end of an array. Two words are a record.
    first = out = _ZERO
    for batch in range(ends.size):
        length, count = np.uint64(ends[batch]) - (first >> _ONE), _ZERO
        for i in range(length):
            pair, word = words[first + (i << _ONE)], words[first + (i << _ONE) | _ONE]
            u, v = np.uint32(pair), np.uint32(pair >> _HALF)
            prefetch_to_write(parent, max(u, lowest))
            prefetch_to_write(parent, max(v, lowest))
            inside = max(u, v) >= lowest
            store_where(inside, held, count, words, out, pair)
            store_where(inside, held, count | _ONE, words, out | _ONE, word)
            count += np.uint64(inside) << _ONE
            out += np.uint64(not inside) << _ONE
        size_held, count = count >> _ONE, _ZERO
        for i in range(size_held):
            pair = held[i << _ONE]
            u, v = np.uint32(pair), np.uint32(pair >> _HALF)
            x, y = _second_ancestor(parent, u, lowest), _second_ancestor(parent, v, lowest)
            store_where(u >= lowest, parent, u, a, i, x)
            store_where(v >= lowest, parent, v, b, i, y)
            a[i], b[i] = x, y
        for i in range(size_held):
            x, y = a[i], b[i]
            if (_above(parent, x, lowest) != x) | (_above(parent, y, lowest) != y):
                x, y = _root(parent, x, lowest), _root(parent, y, lowest)
            x, y = max(x, y), min(x, y)
            apart, inside, pair = x != y, x >= lowest, np.uint64(y) | (np.uint64(x) << _HALF)
            word = held[i << _ONE | _ONE]
            store_where(inside, held, count, words, out, pair)
            store_where(inside, held, count | _ONE, words, out | _ONE, word)
            count += np.uint64(apart & inside) << _ONE
            out += np.uint64(apart & (not inside)) << _ONE
        first += length << _ONE
        linked = _ZERO
        while linked < count:
            y, x = np.uint32(held[linked]), np.uint32(held[linked] >> _HALF)
            if (parent[x] != x) | (_above(parent, y, lowest) != y):
                x, y = _root(parent, x, lowest), _root(parent, y, lowest)
                x, y = max(x, y), min(x, y)
                if (x == y) | (x < lowest):
                    break
            parent[x] = y
            taken[np.uint64(size) + (linked >> _ONE)] = np.uint32(held[linked | _ONE])
            linked += np.uint64(2)
        if linked == count:
            size += np.int64(count >> _ONE)
        else:
            for i in range(count >> _ONE):
                pair, ids[i] = held[i << _ONE], np.uint32(held[i << _ONE | _ONE])
                a[i], b[i] = np.uint32(pair >> _HALF), np.uint32(pair)
                if i << _ONE < linked:
                    parent[a[i]] = a[i]
                    if b[i] >= lowest:
                        parent[b[i]] = b[i]
            order = np.empty(np.int64(count >> _ONE), np.uint32)
            call(sort_by_key, keys, ids, order)
            size, out = call(_in_order, words, a, b, ids, order, lowest, parent, taken, size, out)
            conflicts += 1
        ends[batch] = np.int64(out >> _ONE)
    return size, conflicts


@njit(inline="always")
def _above(parent, x, lowest):
    """Return the parent of `x`, or `x` itself if it is below `lowest`, without a branch."""
    # Atomic, since the compiler would move an ordinary load into a branch, which would be mispredicted.
    above = load(parent, max(x, lowest))
    return above if x >= lowest else x


@njit(inline="always")
def _second_ancestor(parent, x, lowest):
    """Return the grandparent of `x`, or the first vertex on the way that is a root or below `lowest`."""
    return _above(parent, _above(parent, x, lowest), lowest)


@njit(inline="always")
def _root(parent, x, lowest):
    """Return the root of `x`, or the first vertex below `lowest` on the way; halves the path."""
    while x >= lowest and parent[x] != x:
        above = parent[x]
        if above >= lowest:
            above = parent[above]
            parent[x] = above
        x = above
    return x


@njit
def _in_order(words, a, b, ids, order, lowest, parent, taken, size, out):
    """Join the edges of a batch in `order`, one by one; return the new `size` and `out`.

    `words` are the words of all records; those of records passed on so far are before `out`, a uint64. `a`, `b` and
    `ids`, uint32 (k,), are the roots and ids of the edges, and `order`, uint32 (count,), their places in order.
    """
    for i in order:
        x, y = _root(parent, a[i], lowest), _root(parent, b[i], lowest)
        x, y = max(x, y), min(x, y)
        if x >= lowest and x != y:
            parent[x] = y
            taken[size] = ids[i]
            size += 1
        elif x != y:
            words[out], words[out | _ONE] = np.uint64(y) | (np.uint64(x) << _HALF), np.uint64(ids[i])
            out += np.uint64(2)
    return size, out
