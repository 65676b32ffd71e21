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
from mst.kernels.primitives.jit import njit

LEAF = 16
_SAMPLE = 64
# Neither changes how sums are rounded.
_NO_NAN = {"nnan", "nsz"}


class KdTree(NamedTuple):
    """The tree.

    Attributes
    ----------
    blocks : numpy.ndarray of float64, shape (blocks, dimensions, LEAF)
        Coordinates; the rest of the last block is infinite.
    boxes : numpy.ndarray of float64, shape (nodes, 2, dimensions)
        The least and the greatest coordinates of each node; infinite and minus infinite where it has no points.
    points : numpy.ndarray of int32, shape (n,)
        The point at each place.
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
    points, keys = np.arange(n, dtype=np.int32), np.empty(n)
    for level in range(levels):
        _split_level(schedule, level, blocks, coordinates, points, keys)
    tree = KdTree(np.empty((blocks, dimensions, LEAF)), np.empty((2 << levels, 2, dimensions)), points, levels)
    tree.boxes[:, 0], tree.boxes[:, 1] = np.inf, -np.inf
    _fill_blocks(schedule, coordinates, tree)
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

    `coordinates` are as in `build`; `points`, int32 (n,), is overwritten, and `keys`, float64 (n,), is scratch space.
    """
    reset_queue(schedule.counters, schedule.width)
    run(schedule.width, _split_worker, schedule, level, blocks, coordinates, points, keys)


@njit
def _split_worker(worker, schedule, level, blocks, coordinates, points, keys):
    """One worker of `_split_level`."""
    width, grain, counters = schedule
    nodes = 1 << level
    first, last = next_chunk(counters, worker, width, grain, nodes)
    while first < last:
        for node in range(first, last):
            start = ((node * blocks) >> level) * LEAF
            stop = min((((node + 1) * blocks) >> level) * LEAF, points.size)
            middle = (((2 * node + 1) * blocks) >> (level + 1)) * LEAF
            if start < middle < stop:
                dimension = _widest(coordinates, points, start, stop)
                for i in range(start, stop):
                    keys[i] = coordinates[points[i], dimension]
                _select(keys, points, start, stop, middle)
        first, last = next_chunk(counters, worker, width, grain, nodes)


@njit
def _widest(coordinates, points, start, stop):
    """Return the dimension in which a sample of the points at places ``start … stop - 1`` spreads most."""
    step = max((stop - start) // _SAMPLE, 1)
    widest, best = -1.0, 0
    for k in range(coordinates.shape[1]):
        low = high = coordinates[points[start], k]
        for i in range(start + step, stop, step):
            x = coordinates[points[i], k]
            low, high = min(low, x), max(high, x)
        if high - low > widest:
            widest, best = high - low, k
    return best


@njit
def _select(keys, points, start, stop, middle):
    """Move the smallest keys of the places ``start … stop - 1``, with their points, before place `middle`."""
    low, high = start, stop - 1
    while low < high:
        a, b, c = keys[low], keys[(low + high) >> 1], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                points[i], points[j] = points[j], points[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit
def _fill_blocks(schedule, coordinates, tree):
    """Write the coordinates and the boxes of all leaves; `coordinates` are as in `build`."""
    reset_queue(schedule.counters, schedule.width)
    run(schedule.width, _fill_worker, schedule, coordinates, tree)


@njit
def _fill_worker(worker, schedule, coordinates, tree):
    """One worker of `_fill_blocks`."""
    width, _, counters = schedule
    blocks, boxes, points, levels = tree
    leaves = 1 << levels
    first, last = next_chunk(counters, worker, width, 64, leaves)
    while first < last:
        for leaf in range(first, last):
            b = leaf_block(leaf, levels, blocks.shape[0])
            if b < 0:
                continue
            node = leaves + leaf
            for j in range(LEAF):
                place = b * LEAF + j
                for k in range(blocks.shape[1]):
                    if place < points.size:
                        x = coordinates[points[place], k]
                        boxes[node, 0, k] = min(boxes[node, 0, k], x)
                        boxes[node, 1, k] = max(boxes[node, 1, k], x)
                        blocks[b, k, j] = x
                    else:
                        blocks[b, k, j] = np.inf
        first, last = next_chunk(counters, worker, width, 64, leaves)


@njit
def _join_boxes(boxes, leaves):
    """Write the boxes of the inner nodes from those of the leaves."""
    for node in range(leaves - 1, 0, -1):
        for k in range(boxes.shape[2]):
            boxes[node, 0, k] = min(boxes[2 * node, 0, k], boxes[2 * node + 1, 0, k])
            boxes[node, 1, k] = max(boxes[2 * node, 1, k], boxes[2 * node + 1, 1, k])


@njit(fastmath=_NO_NAN)
def box_distance(boxes, node, x):
    """Return a lower bound on the distance of the point `x`, float64 (dimensions,), to those of a node."""
    total = 0.0
    for k in range(x.size):
        # Without a branch, which would be mispredicted.
        apart = max(boxes[node, 0, k] - x[k], x[k] - boxes[node, 1, k], 0.0)
        total += apart * apart
    return total


@njit(fastmath=_NO_NAN)
def children_distances(boxes, left, x):
    """Return the results of `box_distance` for the node `left` and the one after it: two sums at a time."""
    to_left = to_right = 0.0
    for k in range(x.size):
        a = max(boxes[left, 0, k] - x[k], x[k] - boxes[left, 1, k], 0.0)
        b = max(boxes[left + 1, 0, k] - x[k], x[k] - boxes[left + 1, 1, k], 0.0)
        to_left += a * a
        to_right += b * b
    return to_left, to_right


@njit(fastmath=_NO_NAN)
def block_distances(blocks, b, x, distances):
    """Write the distances of the point `x` to those of block `b` to `distances`, float64 (LEAF,)."""
    for j in range(LEAF):
        distances[j] = 0.0
    for k in range(x.size):
        for j in range(LEAF):
            apart = blocks[b, k, j] - x[k]
            distances[j] += apart * apart
