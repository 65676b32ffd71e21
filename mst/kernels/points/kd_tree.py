"""A balanced k-d tree of points, whose leaves are blocks of `LEAF` points.

Points are numbered by *place*, in the order of the leaves: block `b` has the places from ``b * LEAF`` on. Nodes are in
the order of a heap: node `i` has the children ``2 i`` and ``2 i + 1``, the root is 1, and the last of all levels has
the leaves, of one block or none.

All distances are squared, and sums of squares are taken in the order of the dimensions: a bound from a box, rounded as
it is, is never above the distance of a point in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import Schedule, next_chunk, reset_queue
from mst.kernels.points.lanes import LEAF
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call

_SAMPLE = 32
_TIES = 3
# The lowest levels, whose nodes are split in a copy of their points, and those above, that are split in another one.
_LOCAL, _COPIED = 9, 3


class KdTree(NamedTuple):
    """The tree.

    Attributes
    ----------
    blocks : numpy.ndarray of float64, shape (blocks, dimensions, LEAF)
        Coordinates; the rest of the last block is infinite.
    boxes : numpy.ndarray of float64, shape (nodes, 2, dimensions)
        The least and the greatest coordinates of each node; infinite and minus infinite where it has no points.
    points : numpy.ndarray of int32, shape (n,)
        The point at each place. Its memory goes on to the end of a block.
    levels : int
        Levels of inner nodes.
    """

    blocks: np.ndarray
    boxes: np.ndarray
    points: np.ndarray
    levels: int


def build(coordinates: np.ndarray, schedule: Schedule) -> KdTree:
    """Build the tree: nodes are split at the median of the dimension in which a sample of their points spreads most.

    Parameters
    ----------
    coordinates : numpy.ndarray of float64, shape (n, dimensions)
        Finite; n is at least 1.
    schedule : mst.kernels.parallel.runtime.Schedule
        Of grain 1. The caller has set the width.
    """
    n, dimensions = coordinates.shape
    blocks = -(-n // LEAF)
    levels = (blocks - 1).bit_length()
    middle = max(levels - _LOCAL, 0)
    # At least four pieces of work for each worker.
    top = min(max(middle - _COPIED, (4 * schedule.width - 1).bit_length() if schedule.width > 1 else 0), middle)
    points, keys = np.arange(blocks * LEAF, dtype=np.int32)[:n], np.empty(n if top else 0)
    for level in range(top):
        _split_level(schedule, level, blocks, coordinates, points, keys)
    tree = KdTree(np.empty((blocks, dimensions, LEAF)), np.empty((2 << levels, 2, dimensions)), points, levels)
    _split_parts(schedule, top, middle, coordinates, tree)
    _join_boxes(tree.boxes, 1 << levels)
    return tree


@njit
def leaf_block(leaf, levels, blocks):
    """Return the block of a leaf, counted from 0 among all leaves, or -1 if it has none."""
    block = (leaf * blocks) >> levels
    return block if ((leaf + 1) * blocks) >> levels > block else -1


@njit
def _split_level(schedule, level, blocks, coordinates, points, keys):
    """Split all nodes of a level: move the points of each half to its side.

    `coordinates` are as in `build`; `points`, int32 (n,), is overwritten; `keys`, float64 (n,), is scratch space.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _split_worker, schedule, level, blocks, coordinates, points, keys)


@njit
def _split_worker(worker, schedule, level, blocks, coordinates, points, keys):
    """One worker of `_split_level`."""
    width, grain, tallies = schedule
    nodes = 1 << level
    first, last = next_chunk(tallies, worker, width, grain, nodes)
    while first < last:
        for node in range(first, last):
            call(_split, node, level, blocks, 0, coordinates, points, keys)
        first, last = next_chunk(tallies, worker, width, grain, nodes)


@njit
def _split(node, level, blocks, origin, coordinates, points, keys):
    """Split a node of a level, counted from 0 there; `points` and `keys` are those of the places from `origin` on.

    The last bits of a key hold its point: only keys are moved, and no two are equal.
    """
    start = ((node * blocks) >> level) * LEAF - origin
    stop = min((((node + 1) * blocks) >> level) * LEAF - origin, points.size)
    middle = (((2 * node + 1) * blocks) >> (level + 1)) * LEAF - origin
    if not start < middle < stop:
        return
    last = 1
    while last < coordinates.shape[0]:
        last *= 2
    last -= 1
    bits = keys.view(np.int64)
    low, high = start, stop
    for _ in range(coordinates.shape[1]):
        dimension, least = _widest(coordinates, points, low, high)
        for i in range(low, high):
            # Differences keep more bits than coordinates far from zero.
            keys[i] = coordinates[points[i], dimension] - least
            bits[i] = bits[i] & ~last | points[i]
        split = np.float64(_select(keys, low, high, middle)).view(np.int64) & ~last
        for i in range(low, high):
            points[i] = bits[i] & last
        equal = 0
        for i in range(low, high, max((high - low) // _SAMPLE, 1)):
            equal += bits[i] & ~last == split
        if equal < _TIES:
            return
        # Points of one coordinate would be split by their numbers, both halves as wide as all: split by another one.
        low, high = _gather(bits, points, last, split, low, high, middle)
        if low == middle:
            return


@njit
def _gather(bits, points, last, split, low, high, middle):
    """Move the points whose key without its `last` bits is `split` to both sides of `middle`; return their range."""
    first = middle
    for i in range(middle - 1, low - 1, -1):
        if bits[i] & ~last == split:
            first -= 1
            points[i], points[first] = points[first], points[i]
            bits[i], bits[first] = bits[first], bits[i]
    end = middle
    for i in range(middle, high):
        if bits[i] & ~last == split:
            points[i], points[end] = points[end], points[i]
            bits[i], bits[end] = bits[end], bits[i]
            end += 1
    return first, end


@njit
def _split_parts(schedule, top, middle, coordinates, tree):
    """Split all nodes from the level `top` on, and write all blocks and the boxes of all leaves.

    The points below a node of that level are copied, and again below a node of the level `middle`: what is split is in
    cache.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _parts_worker, schedule, top, middle, coordinates, tree)


@njit
def _parts_worker(worker, schedule, top, middle, coordinates, tree):
    """One worker of `_split_parts`."""
    width, grain, tallies = schedule
    blocks, _, points, levels = tree
    between, below, dimensions = middle - top, levels - middle, coordinates.shape[1]
    large = ((blocks.shape[0] >> top) + 1) * LEAF if between > 0 else 0
    small = ((blocks.shape[0] >> middle) + 1) * LEAF
    above, copied = np.empty((large, dimensions)), np.empty((small, dimensions))
    all_above, order, spare = np.empty(large, np.int32), np.empty(small, np.int32), np.empty(small, np.int32)
    keys, moved = np.empty(max(large, small)), np.empty(large, np.int32)
    first, last = next_chunk(tallies, worker, width, grain, 1 << top)
    while first < last:
        for node in range(first, last):
            origin = ((node * blocks.shape[0]) >> top) * LEAF
            stop = min((((node + 1) * blocks.shape[0]) >> top) * LEAF, points.size)
            given, rows = coordinates, points[origin:stop]
            if between > 0:
                given, rows = above, all_above[: stop - origin]
                _copy(coordinates, points[origin:stop], above, rows)
                for level in range(between):
                    for inner in range(node << level, (node + 1) << level):
                        call(_split, inner, top + level, blocks.shape[0], origin, above, rows, keys)
                for i in range(rows.size):
                    moved[i] = points[origin + rows[i]]
                for i in range(rows.size):
                    points[origin + i] = moved[i]
            for part in range(node << between, (node + 1) << between):
                start = ((part * blocks.shape[0]) >> middle) * LEAF
                end = min((((part + 1) * blocks.shape[0]) >> middle) * LEAF, points.size)
                _copy(given, rows[start - origin : end - origin], copied, order)
                call(
                    _split_part,
                    part,
                    middle,
                    below,
                    start,
                    end,
                    copied,
                    order[: end - start],
                    spare,
                    keys,
                    tree,
                )
        first, last = next_chunk(tallies, worker, width, grain, 1 << top)


@njit
def _copy(coordinates, points, copied, order):
    """Copy the coordinates of some points to the front of `copied`; write their places there to `order`."""
    for i in range(points.size):
        order[i] = i
        for k in range(copied.shape[1]):
            copied[i, k] = coordinates[points[i], k]


@njit
def _split_part(part, middle, below, start, end, copied, order, ids, keys, tree):
    """Split all nodes below one of the level `middle`, and write its blocks and the boxes of its leaves.

    Its points, at the places ``start … end - 1``, have the coordinates `copied` in the order of these places; `order`,
    int32 (end - start,), has the numbers from 0 on, and `ids` and `keys` are scratch space.
    """
    blocks, _, points, _ = tree
    for level in range(below):
        for node in range(part << level, (part + 1) << level):
            call(_split, node, middle + level, blocks.shape[0], start, copied, order, keys)
    for leaf in range(part << below, (part + 1) << below):
        _fill_leaf(leaf, start, copied, order, tree)
    for i in range(order.size):
        ids[i] = points[start + order[i]]
    for i in range(order.size):
        points[start + i] = ids[i]


@njit
def _fill_leaf(leaf, origin, coordinates, points, tree):
    """Write the block and the box of a leaf; `points` are those of the places from `origin` on."""
    blocks, boxes, _, levels = tree
    node, b = (1 << levels) + leaf, leaf_block(leaf, levels, blocks.shape[0])
    for k in range(blocks.shape[1]):
        low, high = np.inf, -np.inf
        if b >= 0:
            for j in range(LEAF):
                i = b * LEAF + j - origin
                if i < points.size:
                    x = coordinates[points[i], k]
                    low, high = min(low, x), max(high, x)
                    blocks[b, k, j] = x
                else:
                    blocks[b, k, j] = np.inf
        boxes[node, 0, k], boxes[node, 1, k] = low, high


@njit
def _widest(coordinates, points, start, stop):
    """Return the dimension in which a sample of the points at ``start … stop - 1`` spreads most, and its least."""
    step = max((stop - start) // _SAMPLE, 1)
    widest, best, least = -1.0, 0, 0.0
    for k in range(coordinates.shape[1]):
        low = high = coordinates[points[start], k]
        for i in range(start + step, stop, step):
            x = coordinates[points[i], k]
            low, high = min(low, x), max(high, x)
        if high - low > widest:
            widest, best, least = high - low, k, low
    return best, least


@njit
def _select(keys, start, stop, middle):
    """Move the smallest keys of the places ``start … stop - 1`` before place `middle`; return the least of the rest."""
    low, high = start, stop
    while high - low > 1:
        pivot = _pivot(keys, low, high)
        place = _partition(keys, low, high, pivot)
        if middle < place:
            high = place
        elif middle > place:
            low = place
        else:
            return pivot
    return keys[middle]


@njit
def _pivot(keys, low, high):
    """Return the second of three keys of the places ``low … high - 1``, or the greater one of two: not the least."""
    a, b, c = keys[low], keys[(low + high) >> 1], keys[high - 1]
    return max(a, b) if high - low == 2 else max(min(a, b), min(max(a, b), c))


@njit
def _partition(keys, low, high, pivot):
    """Move the keys less than `pivot` to the front of ``low … high - 1``; return their end."""
    # Unsigned indices need no test of their sign.
    place = np.uint64(low)
    for i in range(np.uint64(low), np.uint64(high)):
        # Without a branch, which would be mispredicted.
        key = keys[i]
        keys[i], keys[place] = keys[place], key
        place += np.uint64(key < pivot)
    return np.int64(place)


@njit
def _join_boxes(boxes, leaves):
    """Write the boxes of the inner nodes from those of the leaves."""
    for node in range(leaves - 1, 0, -1):
        for k in range(boxes.shape[2]):
            boxes[node, 0, k] = min(boxes[2 * node, 0, k], boxes[2 * node + 1, 0, k])
            boxes[node, 1, k] = max(boxes[2 * node, 1, k], boxes[2 * node + 1, 1, k])
