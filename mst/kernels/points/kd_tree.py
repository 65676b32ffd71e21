"""A balanced k-d tree of points, whose leaves are blocks of `LEAF` points.

Points are numbered by *place*, in the order of the leaves: block `b` has the places from ``b * LEAF`` on. Nodes are in
heap order: the root is node 1, node `i` has the children ``2 i`` and ``2 i + 1``, and the leaves, of one block or none
each, are the last level.

All distances are squared, and squares are summed in the order of the dimensions, so that a lower bound from a box is
never above the distance of a point in the box, even after rounding.

In the functions, `coordinates`, `points`, `keys` and `blocks` are as in `mst.kernels.points.splits`, `tree` is a
`KdTree`, and `schedule` a `Schedule`; levels, nodes, leaves and places are int.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import Schedule, next_chunk, reset_queue, touched_empty
from mst.kernels.points.lanes import LEAF
from mst.kernels.points.splits import Plan, bounds_of, last_bits, split_level, split_range
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call

LEVELS_EACH = 8
"""Levels of the part of the tree that a thread takes at a time when it traverses nodes."""

# The lowest levels, whose nodes are split in a small copy of their points, and those above, split in a larger copy.
_LOCAL, _COPIED = 9, 3
# The fewest levels that a worker splits as one piece of work.
_FEWEST_LEVELS = 3


class KdTree(NamedTuple):
    """A k-d tree.

    Attributes
    ----------
    blocks : numpy.ndarray of float64, shape (blocks, dimensions, LEAF)
        Coordinates of the points; infinite in the lanes of the last block that have no point.
    boxes : numpy.ndarray of float64, shape (nodes, 2, dimensions)
        The smallest and largest coordinates of each node; infinity and minus infinity if it has no points.
    points : numpy.ndarray of int32, shape (n,)
        The point at each place. Its memory extends to the end of the last block.
    levels : int
        Levels of inner nodes.
    """

    blocks: np.ndarray
    boxes: np.ndarray
    points: np.ndarray
    levels: int


def build(coordinates: np.ndarray, schedule: Schedule) -> KdTree:
    """Build the tree: nodes are split at the median of the dimension in which a sample of their points varies most.

    Parameters
    ----------
    coordinates : numpy.ndarray of float64, shape (n, dimensions)
        Finite; n is at least 1.
    schedule : mst.kernels.parallel.runtime.Schedule
        With grain 1; the caller has entered `mst.kernels.parallel.runtime.workers`.
    """
    n, dimensions = coordinates.shape
    width, _, tallies = schedule
    blocks = -(-n // LEAF)
    levels = (blocks - 1).bit_length()
    top = max(levels - _LOCAL - _COPIED, 0)
    if width > 1:
        # At least four pieces of work for each worker.
        top = max(top, min((4 * width - 1).bit_length(), levels - _FEWEST_LEVELS))
    middle = max(levels - _LOCAL, top)
    keys, spare = (touched_empty(n if top else 0, np.float64, width, tallies) for _ in range(2))
    plan = Plan(np.empty(1 << top, np.int64), np.empty((1 << top, 3)))
    for level in range(top):
        counts = np.empty((-(-4 * width >> level) << level, 3), np.int64)
        split_level(schedule, level, blocks, coordinates, keys, spare, plan, counts)
        keys, spare = spare, keys
    del spare
    tree = KdTree(
        touched_empty((blocks, dimensions, LEAF), np.float64, width, tallies),
        np.empty((2 << levels, 2, dimensions)),
        touched_empty(blocks * LEAF, np.int32, width, tallies)[:n],
        levels,
    )
    _split_parts(schedule, top, middle, coordinates, keys, tree)
    _join_boxes(tree.boxes, 1, top)
    return tree


@njit
def leaf_block(leaf, levels, blocks):
    """Return the block of a leaf, counted from 0 among all leaves, or -1 if it has none."""
    block = (leaf * blocks) >> levels
    return block if ((leaf + 1) * blocks) >> levels > block else -1


@njit
def _split(node, level, blocks, origin, coordinates, points, keys):
    """Split a node, counted from 0 within its level; `points` and `keys` begin at the place `origin`."""
    start, middle, stop = bounds_of(node, level, blocks, origin, points.size)
    if start < middle < stop:
        call(split_range, start, middle, stop, coordinates, points, keys)


@njit
def _split_parts(schedule, top, middle, coordinates, keys, tree):
    """Split all nodes from the level `top` on, and write all blocks and the boxes of all nodes from that level on.

    Unless `top` is 0, the last bits of `keys`, float64 (n,), hold the points. The points below a node of that level are
    copied, and so are those below a node of the level `middle`, so that the points being split are in cache.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _parts_worker, schedule, top, middle, coordinates, keys, tree)


@njit
def _parts_worker(worker, schedule, top, middle, coordinates, given_keys, tree):
    """One worker of `_split_parts`."""
    width, grain, tallies = schedule
    bits, point_mask = given_keys.view(np.int64), last_bits(coordinates.shape[0])
    blocks, _, points, levels = tree
    between, below, dimensions = middle - top, levels - middle, coordinates.shape[1]
    large = ((blocks.shape[0] >> top) + 1) * LEAF if between > 0 else 0
    small = ((blocks.shape[0] >> middle) + 1) * LEAF
    large_copy, small_copy = np.empty((large, dimensions)), np.empty((small, dimensions))
    large_order, small_order, spare = (
        np.empty(large, np.int32),
        np.empty(small, np.int32),
        np.empty(small, np.int32),
    )
    keys, moved = np.empty(max(large, small)), np.empty(large, np.int32)
    first, last = next_chunk(tallies, worker, width, grain, 1 << top)
    while first < last:
        for node in range(first, last):
            origin = ((node * blocks.shape[0]) >> top) * LEAF
            stop = min((((node + 1) * blocks.shape[0]) >> top) * LEAF, points.size)
            for i in range(origin, stop):
                points[i] = bits[i] & point_mask if bits.size > 0 else i
            source, rows = coordinates, points[origin:stop]
            if between > 0:
                source, rows = large_copy, large_order[: stop - origin]
                _copy(coordinates, points[origin:stop], large_copy, rows)
                for level in range(between):
                    for inner in range(node << level, (node + 1) << level):
                        _split(inner, top + level, blocks.shape[0], origin, large_copy, rows, keys)
                for i in range(rows.size):
                    moved[i] = points[origin + rows[i]]
                for i in range(rows.size):
                    points[origin + i] = moved[i]
            for part in range(node << between, (node + 1) << between):
                start = ((part * blocks.shape[0]) >> middle) * LEAF
                end = min((((part + 1) * blocks.shape[0]) >> middle) * LEAF, points.size)
                _copy(source, rows[start - origin : end - origin], small_copy, small_order)
                part_order = small_order[: end - start]
                call(_split_part, part, middle, below, start, small_copy, part_order, spare, keys, tree)
            _join_boxes(tree.boxes, (1 << top) + node, levels - top)
        first, last = next_chunk(tallies, worker, width, grain, 1 << top)


@njit
def _copy(coordinates, points, copied, order):
    """Copy the coordinates of `points` to the front of `copied`, and write the numbers from 0 on to `order`, int32."""
    for i in range(points.size):
        order[i] = i
        for k in range(copied.shape[1]):
            copied[i, k] = coordinates[points[i], k]


@njit
def _split_part(part, middle, below, start, copied, order, ids, keys, tree):
    """Split all nodes below node `part` of the level `middle`, and write its blocks and the boxes of its leaves.

    Its points, at the places from `start` on, have the coordinates `copied` in the order of these places; `order`,
    int32 (points,), has the numbers from 0 on; `ids`, int32, and `keys`, float64, of at least that length, are scratch
    space.
    """
    blocks, _, points, _ = tree
    for level in range(below):
        for node in range(part << level, (part + 1) << level):
            _split(node, middle + level, blocks.shape[0], start, copied, order, keys)
    for leaf in range(part << below, (part + 1) << below):
        _fill_leaf(leaf, start, copied, order, tree)
    for i in range(order.size):
        ids[i] = points[start + order[i]]
    for i in range(order.size):
        points[start + i] = ids[i]


@njit
def _fill_leaf(leaf, origin, coordinates, points, tree):
    """Write the block and the box of a leaf; `points` begins at the place `origin`."""
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
def _join_boxes(boxes, top, below):
    """Write the boxes of the inner nodes at and below node `top` from the boxes `below` levels under it."""
    for level in range(below - 1, -1, -1):
        for node in range(top << level, (top + 1) << level):
            for k in range(boxes.shape[2]):
                boxes[node, 0, k] = min(boxes[2 * node, 0, k], boxes[2 * node + 1, 0, k])
                boxes[node, 1, k] = max(boxes[2 * node, 1, k], boxes[2 * node + 1, 1, k])
