"""Joins edges of one block to the block's forest: in batches of ascending weight, or one by one if rows are in order.

`mst.kernels.filter_boruvka.parallel.blocks.solving` calls `join` for each set of edges that it selects; the package
explains blocks, numbers and frozen trees.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.filter_boruvka.sequential import scatter
from mst.kernels.filter_boruvka.sequential.join import batch_ends, sort_by_key
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.keys import key_at
from mst.kernels.primitives.out_of_line import call
from mst.kernels.primitives.prefetch import prefetch_to_write
from mst.kernels.primitives.radix import sort_words
from mst.kernels.union_find.sequential import find, fourth_ancestor, unite

_AHEAD, _BLOCK, _CONFLICTS, _DRAWS = np.uint64(32), 1024, 1, 64
_HALF, _LOW, _ZERO, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(0), np.uint64(1)


class Block(NamedTuple):
    """The vertices ``start … stop - 1``, int64, and `first`, uint32, the number of vertex `start` within the block.

    `at_once` says whether all edges of the block are light, so that all are joined at once.
    """

    start: int
    stop: int
    first: np.unsignedinteger
    at_once: bool


class Forest(NamedTuple):
    """The forest of a block.

    Attributes
    ----------
    parent : numpy.ndarray of uint32, shape (first + stop - start,)
        A union-find over the numbers of a `Block`, whose fields give the shape.
    edges : numpy.ndarray of uint32, of the same shape
        Edge ids, written from the front; kernels may write one more than they keep.
    deferred : numpy.ndarray of uint32, shape (k + 1,)
        Ids of deferred edges, written likewise.
    across : numpy.ndarray of uint32, shape (first,)
        A union-find over the roots of frozen trees, joined by the deferred edges of earlier batches. An edge within one
        of its trees closes a cycle of lighter edges.
    state : numpy.ndarray of int64, shape (3,)
        The number that becomes the root of the next frozen tree; how many batches in a row closed cycles; and 1 if
        vertices are numbered upwards, -1 if downwards.
    records : numpy.ndarray of uint64, shape (k, 2)
        Scratch space.
    """

    parent: np.ndarray
    edges: np.ndarray
    deferred: np.ndarray
    across: np.ndarray
    state: np.ndarray
    records: np.ndarray


class _Batch(NamedTuple):
    """Roots of both ends and ids of the edges of one batch, and the same of its edges between frozen trees.

    All arrays are uint32 of one length.
    """

    a: np.ndarray
    b: np.ndarray
    ids: np.ndarray
    frozen_a: np.ndarray
    frozen_b: np.ndarray
    frozen_ids: np.ndarray


@njit(inline="always")
def number_of(x, block):
    """Return the number, uint64, that vertex `x`, uint32, has in a block: 0 if it is outside."""
    start, stop, first, _ = block
    at = np.uint64(x) - np.uint64(start)
    return at + np.uint64(first) if at < np.uint64(stop - start) else _ZERO


@njit(inline="always")
def numbering(block, step):
    """Return `base`, uint64, such that ``base + step * x`` is the number of vertex `x`; `step` is 1 or -1, int64."""
    return np.uint64(np.int64(block.first) - step * (block.start if step > 0 else block.stop - 1))


@njit
def sorted_pairs(words, places):
    """Return `words`, uint64 (k,), stably sorted, and `places`, uint32 (k,), in that order; both are overwritten."""
    spare_words, spare_places = np.empty_like(words), np.empty_like(places)
    if call(sort_words, words, places, np.int64(0), np.int64(words.size), spare_words, spare_places):
        return spare_words, spare_places
    return words, places


@njit
def join(edges, block, codes, largest_level, forest, size, held):
    """Join the edges of `codes` to the forest of a block, and defer others; return the new `size` and `held`.

    All edges of later calls must be heavier. `largest_level`, int64, is not below the level of any code. The codes are
    overwritten.
    """
    count = np.int64(codes.size)
    if count == 0:
        return size, held
    direction = np.int64(0)
    if call(_follow_places, edges.u, block, codes):
        direction = call(_direction, edges.keys, codes)
    if direction != 0:
        return call(_join_rows, edges, block, codes, direction, forest, size, held)
    batch = max(np.int64(8), np.int64((forest.parent.size - size) ** (1 / 3)))
    bits = max(np.int64(0), _bit_length(largest_level) - max(np.int64(1), _bit_length(count // batch)))
    shift = np.uint64(32 + bits)
    buckets = np.zeros((largest_level >> bits) + 1, np.uint32)
    in_large = call(scatter.count_codes, codes, count, shift, 8 * batch, buckets)
    if in_large > count // 16 and bits > 0:
        finer = call(scatter.refine_buckets, codes, count, shift, buckets, np.uint64(batch))
        shift, buckets = np.uint64(32), np.zeros(finer, np.uint32)
        in_large = call(scatter.count_codes, codes, count, shift, 8 * batch, buckets)
    settled = np.zeros(buckets.size, np.bool_)
    if in_large > count // 16:
        settled = call(scatter.settled_buckets, codes, count, shift, edges.keys, buckets.size)
    records = forest.records[:count]
    call(_scatter, edges, block, codes, shift, buckets, records)
    smallest, largest = max(np.int64(4), batch // 2), 16 * batch
    if in_large:
        call(scatter.sort_large_buckets, records, buckets, largest, settled, edges.keys)
    ends, in_order = call(batch_ends, buckets, smallest, largest)
    return call(_join_batches, records, ends, in_order, edges.keys, block, forest, size, held)


@njit
def _follow_places(u, block, codes):
    """Return whether the first ends of consecutive edges of `codes` are mostly near each other."""
    near, step = np.int64(0), max(np.int64(1), codes.size // _DRAWS)
    reach, looks = (block.stop - block.start) // 16, np.int64(0)
    for j in range(1, codes.size, step):
        near += abs(np.int64(u[codes[j] & _LOW]) - np.int64(u[codes[j - 1] & _LOW])) <= reach
        looks += 1
    return 2 * near >= looks


@njit
def _direction(keys, codes):
    """Return 1 if ids and keys of the edges ascend, -1 if ids ascend and keys descend, else 0: an int64.

    If keys descend, each run of equal keys in `codes` is reversed, so that (key, id) descends.
    """
    rises = falls = ties = np.int64(0)
    before = codes[0] & _LOW
    key = key_at(keys, before)
    for j in range(1, codes.size):
        e = codes[j] & _LOW
        at = key_at(keys, e)
        rises += at > key
        falls += at < key
        ties += at == key
        if (e < before) | ((rises > 0) & (falls > 0)):
            return np.int64(0)
        before, key = e, at
    if falls == 0:
        return np.int64(1)
    if ties > 0:
        call(_reverse_runs, keys, codes)
    return np.int64(-1)


@njit
def _reverse_runs(keys, codes):
    """Reverse each run of equal keys in `codes`."""
    start = np.int64(0)
    while start < codes.size:
        key, stop = key_at(keys, codes[start] & _LOW), start + 1
        while stop < codes.size and key_at(keys, codes[stop] & _LOW) == key:
            stop += 1
        for i in range((stop - start) // 2):
            codes[start + i], codes[stop - 1 - i] = codes[stop - 1 - i], codes[start + i]
        start = stop


@njit
def _join_rows(edges, block, codes, direction, forest, size, held):
    """Join the edges of `codes` one by one, as `join` does, since each batch of sorted edges would close cycles.

    `direction`, 1 or -1, is from `_direction`.
    """
    (u, v, _), first, state = edges, block.first, forest.state
    parent, taken, deferred, across = forest.parent, forest.edges, forest.deferred, forest.across
    start, size_of_block = np.uint64(block.start), np.uint64(block.stop - block.start)
    if block.at_once:
        # Vertices are numbered in the direction of the edges, so that the growing tree keeps its root.
        state[2] = direction
    base, step = numbering(block, state[2]), np.uint64(state[2])
    j = np.int64(0 if direction > 0 else codes.size - 1)
    for _ in range(codes.size):
        e = codes[np.uint64(j)] & _LOW
        j += direction
        # Mostly both ends are roots, or their parents are the same root, and no search is needed.
        a, b = np.uint64(u[e]), np.uint64(v[e])
        x = parent[base + step * a if a - start < size_of_block else _ZERO]
        y = parent[base + step * b if b - start < size_of_block else _ZERO]
        if x == y:
            continue
        x, y = find(parent, x), find(parent, y)
        x, y = max(x, y), min(x, y)
        if x != y and x >= first:
            if y == 0:
                parent[x] = state[0]
                state[0] += 1
            else:
                parent[x] = y
                taken[size] = np.uint32(e)
                size += 1
        elif x != y and y > 0 and unite(across, x, y):
            deferred[held] = np.uint32(e)
            held += 1
    return size, held


@njit
def _bit_length(x):
    """Return the number of bits of `x`, int64, without leading zeros."""
    bits = np.int64(0)
    while x >> bits:
        bits += 1
    return bits


@njit
def _scatter(edges, block, codes, shift, buckets, records):
    """Write a record of each code, with the ends' numbers in the block, into its bucket; stable.

    The bucket of a code is ``code >> shift``. `buckets`, uint32, advance from the starts of buckets to their ends;
    `records` is uint64 of shape (k, 2).
    """
    u, v, _ = edges
    place = np.empty(_BLOCK, np.uint32)
    for start in range(0, codes.size, _BLOCK):
        size = min(_BLOCK, codes.size - start)
        for j in range(size):
            b = codes[start + j] >> shift
            place[j] = buckets[b]
            buckets[b] = np.uint32(place[j] + np.uint32(1))
        for j in range(size):
            prefetch_to_write(records, place[min(j + np.int64(_AHEAD), size - 1)])
            code = codes[start + j]
            e = code & _LOW
            records[place[j], 0] = number_of(u[e], block) | (number_of(v[e], block) << _HALF)
            records[place[j], 1] = code


@njit(inline="always")
def _may_be_deferred(across, x, y):
    """Return whether an edge between the frozen trees with roots `x` and `y`, uint32, may have to be deferred.

    It need not be if one of them is the outside, or if deferred edges already connect them.
    """
    return (min(x, y) > 0) & (find(across, x) != find(across, y))


@njit
def _defer(keys, forest, batch, count, held):
    """Of a batch's first `count` edges between frozen trees, defer those that join two trees of `across`, in order.

    Returns the new `held`.
    """
    across, deferred = forest.across, forest.deferred
    _, _, _, a, b, ids = batch
    direction, order = call(_in_order, keys, ids, count)
    for j in range(count):
        i = _at(order, direction, j, count)
        if unite(across, a[i], b[i]):
            deferred[held] = ids[i]
            held += 1
    return held


@njit
def _in_order(keys, ids, count):
    """Return 1 or -1, int64, if the first `count` of `ids`, uint32, ascend or descend by (key, id), else 0.

    Also return the places of these ids in order, uint32 (count,), or an empty array if they ascend or descend.
    """
    rises = falls = np.int64(0)
    if count > 1:
        before, key = ids[0], key_at(keys, ids[0])
        for i in range(1, count):
            e, at = ids[i], key_at(keys, ids[i])
            rise = (at > key) | ((at == key) & (e > before))
            rises += rise
            falls += not rise
            before, key = e, at
    order = np.empty(count if rises > 0 and falls > 0 else 0, np.uint32)
    if order.size:
        call(sort_by_key, keys, ids, order)
    return np.int64(falls == 0) - np.int64(rises == 0 and falls > 0), order


@njit(inline="always")
def _at(order, direction, j, count):
    """Return the place of edge `j` in order, of `count` edges; `direction` and `order` are from `_in_order`."""
    if direction == 0:
        return np.int64(order[j])
    return j if direction > 0 else count - 1 - j


@njit
def _join_batches(records, ends, in_order, keys, block, forest, size, held):
    """Join the records, batch by batch, to the forest of a block; return the new `size` and `held`.

    `ends` and `in_order` are from `mst.kernels.filter_boruvka.sequential.join.batch_ends`.
    """
    # Unpacked once: each access to an array in a tuple changes its reference count.
    parent, edges, _, across, state, _ = forest
    longest = start = np.int64(0)
    for stop in ends:
        longest, start = max(longest, stop - start), stop
    root_a, root_b = np.empty(longest, np.uint32), np.empty(longest, np.uint32)
    a, b, ids = np.empty_like(root_a), np.empty_like(root_a), np.empty_like(root_a)
    arrays = _Batch(a, b, ids, np.empty_like(a), np.empty_like(a), np.empty_like(a))
    # Unsigned: a signed index might count from the end of an array. Two words are a record.
    words, at, first = records.reshape(-1), _ZERO, block.first
    last = np.uint64(words.size - 2)
    for end in range(ends.size):
        count = np.uint64(ends[end]) - (at >> _ONE)
        for i in range(count):
            far = words[min(at + ((i + _AHEAD) << _ONE), last)]
            prefetch_to_write(parent, far & _LOW)
            prefetch_to_write(parent, far >> _HALF)
            pair = words[at + (i << _ONE)]
            root_a[i] = fourth_ancestor(parent, pair & _LOW)
            root_b[i] = fourth_ancestor(parent, pair >> _HALF)
        kept = apart = _ZERO
        for i in range(count):
            x, y = root_a[i], root_b[i]
            if (parent[x] != x) | (parent[y] != y):
                x, y = find(parent, x), find(parent, y)
                root_a[i], root_b[i] = x, y
            a[kept], b[kept], ids[kept] = x, y, np.uint32(words[at + (i << _ONE) | _ONE])
            apart += np.uint64(x != y)
            kept += np.uint64((x != y) & (max(x, y) >= first))
        frozen = np.int64(0)
        if kept < apart:
            # In a second loop: a branch for these few edges in the loop above would be mispredicted for the others.
            for i in range(count):
                x, y = root_a[i], root_b[i]
                if (x != y) & (max(x, y) < first):
                    e = np.uint32(words[at + (i << _ONE) | _ONE])
                    frozen = call(_add_between_frozen, across, x, y, e, arrays, frozen)
        at += count << _ONE
        if in_order[end]:
            for i in range(kept):
                x, y = find(parent, a[i]), find(parent, b[i])
                x, y = max(x, y), min(x, y)
                if (x != y) & (x >= first):
                    if y > 0:
                        parent[x] = y
                        edges[np.uint64(size)] = ids[i]
                        size += 1
                    else:
                        parent[x] = state[0]
                        state[0] += 1
                elif x != y:
                    frozen = call(_add_between_frozen, across, x, y, ids[i], arrays, frozen)
        else:
            before, root, closed = size, state[0], state[1] > _CONFLICTS
            if not closed:
                for i in range(kept):
                    x, y = find(parent, a[i]), find(parent, b[i])
                    x, y = max(x, y), min(x, y)
                    if (x == y) | (x < first):
                        for j in range(i):
                            parent[a[j]], parent[b[j]] = a[j], b[j]
                        closed = True
                        break
                    if y > 0:
                        parent[x] = y
                        edges[np.uint64(size)] = ids[i]
                        size += 1
                    else:
                        parent[x] = root
                        root += 1
            if closed:
                size, frozen = call(_join_in_order, keys, block, forest, before, arrays, np.int64(kept), frozen)
            else:
                state[0], state[1] = root, 0
        if frozen:
            held = call(_defer, keys, forest, arrays, frozen, held)
    return size, held


@njit
def _add_between_frozen(across, x, y, e, batch, count):
    """Append edge `e` between frozen trees `x` and `y`, all uint32, to a batch's first `count`, if `_may_be_deferred`.

    Returns the new `count`, int64.
    """
    batch.frozen_a[count], batch.frozen_b[count], batch.frozen_ids[count] = x, y, e
    return count + np.int64(_may_be_deferred(across, x, y))


@njit
def _join_in_order(keys, block, forest, size, batch, count, frozen):
    """Join the first `count` edges of a batch in the order of (key, id); return the new `size` and `frozen`.

    Edges between frozen trees are appended to the first `frozen` such edges of the batch.
    """
    parent, edges, _, across, state, _ = forest
    first = block.first
    a, b, ids, frozen_a, frozen_b, frozen_ids = batch
    linked = np.int64(0)
    direction, order = call(_in_order, keys, ids, count)
    for j in range(count):
        i = _at(order, direction, j, count)
        x, y = find(parent, a[i]), find(parent, b[i])
        x, y = max(x, y), min(x, y)
        if x != y and x >= first:
            linked += 1
            if y == 0:
                parent[x] = state[0]
                state[0] += 1
            else:
                parent[x] = y
                edges[size] = ids[i]
                size += 1
        elif x != y and _may_be_deferred(across, x, y):
            frozen_a[frozen], frozen_b[frozen], frozen_ids[frozen] = x, y, ids[i]
            frozen += 1
    state[1] = state[1] + 1 if linked < count else 0
    return size, frozen
