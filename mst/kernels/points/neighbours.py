"""The nearest neighbours of all points of a k-d tree, in the order of (distance, point)."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.points.kd_tree import LEAF, block_distances, children_distances, leaf_block
from mst.kernels.primitives.jit import njit


@njit
def find_neighbours(schedule, tree, places, distances):
    """Find the nearest neighbours of every point, other than itself.

    Parameters
    ----------
    schedule : mst.kernels.parallel.runtime.Schedule
        A chunk is `grain` blocks.
    tree : mst.kernels.points.kd_tree.KdTree
    places : numpy.ndarray of int32, shape (n, k)
        Overwritten by the neighbours' places, nearest first, -1 from the number of other points on.
    distances : numpy.ndarray of float64, shape (n, k)
        Overwritten by the squared distances; infinite where there is no neighbour.
    """
    reset_queue(schedule.counters, schedule.width)
    run(schedule.width, _neighbours_worker, schedule, tree, places, distances)


@njit
def _neighbours_worker(worker, schedule, tree, places, distances):
    """One worker of `find_neighbours`."""
    width, grain, counters = schedule
    blocks, boxes, points, levels = tree
    leaves = 1 << levels
    x, near = np.empty(blocks.shape[1]), np.empty(LEAF)
    nodes, bounds = np.empty(levels + 2, np.int64), np.empty(levels + 2)
    first, last = next_chunk(counters, worker, width, grain, blocks.shape[0])
    while first < last:
        for place in range(first * LEAF, min(last * LEAF, points.size)):
            own = place // LEAF
            for k in range(x.size):
                x[k] = blocks[own, k, place - own * LEAF]
            found, found_distances = places[place], distances[place]
            found[:] = -1
            found_distances[:] = np.inf
            block_distances(blocks, own, x, near)
            near[place - own * LEAF] = np.inf
            _insert(near, own, points, found, found_distances)
            nodes[0], bounds[0], size = 1, 0.0, 1
            while size > 0:
                size -= 1
                node = nodes[size]
                if bounds[size] > found_distances[-1]:
                    continue
                while node < leaves:
                    left, right = children_distances(boxes, 2 * node, x)
                    node = 2 * node + (right < left)
                    nodes[size], bounds[size] = node ^ 1, max(left, right)
                    size += bounds[size] <= found_distances[-1]
                    if min(left, right) > found_distances[-1]:
                        break
                else:
                    b = leaf_block(node - leaves, levels, blocks.shape[0])
                    if b >= 0 and b != own:
                        block_distances(blocks, b, x, near)
                        _insert(near, b, points, found, found_distances)
        first, last = next_chunk(counters, worker, width, grain, blocks.shape[0])


@njit
def _insert(near, b, points, found, found_distances):
    """Insert the points of block `b`, at the distances `near`, float64 (LEAF,), into sorted neighbours."""
    last = found.size - 1
    for j in range(LEAF):
        distance = near[j]
        if distance <= found_distances[last] and distance < np.inf:
            place = b * LEAF + j
            i = last
            if distance == found_distances[i] and points[place] > points[found[i]]:
                continue
            while i > 0 and (
                distance < found_distances[i - 1]
                or (distance == found_distances[i - 1] and points[place] < points[found[i - 1]])
            ):
                found_distances[i], found[i] = found_distances[i - 1], found[i - 1]
                i -= 1
            found_distances[i], found[i] = distance, place
