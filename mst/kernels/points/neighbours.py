"""The nearest neighbours of all points of a k-d tree, in the order of (distance, point)."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.points.kd_tree import leaf_block
from mst.kernels.points.lanes import (
    LEAF,
    ROW,
    box_distances,
    first_lane,
    greatest,
    insert,
    lanes_within,
    node_distance,
    order_points,
    point_distances,
    rank,
    rank_ties,
)
from mst.kernels.primitives.jit import njit

_FAR = np.finfo(np.float64).max
"""The limit of a point that has no neighbours yet: it accepts any at a finite distance."""


@njit
def find_neighbours(schedule, tree, places, distances):
    """Find the nearest neighbours of every point, other than itself.

    Parameters
    ----------
    schedule : mst.kernels.parallel.runtime.Schedule
        A chunk is `grain` leaves.
    tree : mst.kernels.points.kd_tree.KdTree
    places : numpy.ndarray of int32, shape (n, k)
        Overwritten by the neighbours' places, nearest first; -1 where there is no neighbour.
    distances : numpy.ndarray of float64, shape (n, k)
        Overwritten by the squared distances; infinite where there is no neighbour. The memory of both arrays extends
        for another `mst.kernels.points.lanes.ROW` items.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _neighbours_worker, schedule, tree, places, distances)


@njit
def _neighbours_worker(worker, schedule, tree, places, distances):
    """One worker of `find_neighbours`: it traverses the tree once for all points of a leaf."""
    width, grain, tallies = schedule
    blocks, boxes, points, levels = tree
    leaves = 1 << levels
    near, to_box, radius = np.empty(LEAF), np.empty(LEAF), np.empty(LEAF)
    ranks, order = np.empty(LEAF, np.int32), np.empty(LEAF, np.int32)
    short = places.shape[1] <= ROW
    nodes, bounds = np.empty(levels + 2, np.int64), np.empty(levels + 2)
    first, last = next_chunk(tallies, worker, width, grain, leaves)
    while first < last:
        for leaf in range(first, last):
            own = leaf_block(leaf, levels, blocks.shape[0])
            if own < 0:
                continue
            home = leaves + leaf
            radius[:] = -1.0
            _find_in_leaf(own, blocks, points, places, distances, radius, near, ranks, order)
            limit = greatest(radius)
            # From the leaf upwards, so that the nearest points come first.
            ancestor = home
            while ancestor > 1:
                nodes[0], size = ancestor ^ 1, 1
                bounds[0] = node_distance(boxes, home, ancestor ^ 1)
                ancestor >>= 1
                while size > 0:
                    size -= 1
                    node = nodes[size]
                    if bounds[size] > limit:
                        continue
                    while node < leaves:
                        left = node_distance(boxes, home, 2 * node)
                        right = node_distance(boxes, home, 2 * node + 1)
                        node = 2 * node + (right < left)
                        nodes[size], bounds[size] = node ^ 1, max(left, right)
                        size += bounds[size] <= limit
                        if min(left, right) > limit:
                            break
                    else:
                        b = leaf_block(node - leaves, levels, blocks.shape[0])
                        if b < 0:
                            continue
                        box_distances(blocks, own, boxes, node, to_box)
                        lanes = lanes_within(to_box, radius)
                        while lanes != 0:
                            j = first_lane(lanes)
                            lanes &= lanes - 1
                            place = own * LEAF + j
                            point_distances(blocks, b, place, near)
                            hits = lanes_within(near, radius[j])
                            if hits != 0:
                                if short:
                                    radius[j] = min(
                                        insert(hits, near, b, points, distances, places, place), _FAR
                                    )
                                else:
                                    _insert(hits, near, b, points, places[place], distances[place])
                                    radius[j] = min(distances[place, -1], _FAR)
                        limit = greatest(radius)
        first, last = next_chunk(tallies, worker, width, grain, leaves)


@njit(inline="always")
def _find_in_leaf(own, blocks, points, places, distances, radius, near, ranks, order):
    """For each point of a block, write its neighbours in the block, and the radius in which others may be nearer.

    `places` and `distances` are as for `find_neighbours`; `blocks` and `points` are fields of the k-d tree. `radius`,
    float64 (LEAF,), is overwritten; `near`, like it, and `ranks` and `order`, int32 (LEAF,), are scratch space.
    """
    listed = min(places.shape[1], LEAF - 1)
    # Whether two distances in the leaf may be equal.
    tied = False
    for place in range(own * LEAF, min((own + 1) * LEAF, points.size)):
        point_distances(blocks, own, place, near)
        near[place - own * LEAF] = np.inf
        lanes, filled = np.int64(0), listed
        if not tied:
            lanes = rank(near, ranks, listed)
            if lanes == 0:
                tied = True
                order_points(points, own * LEAF, order)
        if tied:
            lanes, filled = rank_ties(near, order, ranks, listed), 0
        for i in range(filled, places.shape[1]):
            places[place, i], distances[place, i] = -1, np.inf
        while lanes != 0:
            j = first_lane(lanes)
            lanes &= lanes - 1
            places[place, ranks[j]], distances[place, ranks[j]] = own * LEAF + j, near[j]
        radius[place - own * LEAF] = min(distances[place, -1], _FAR)


@njit
def _insert(lanes, near, b, points, found, found_distances):
    """Insert a set of lanes of block `b`, at the distances `near`, float64 (LEAF,), into the neighbours of a point.

    The neighbours, sorted, are `found`, places, int32 (k,), and `found_distances`, float64 (k,).
    """
    last = found.size - 1
    while lanes != 0:
        j = first_lane(lanes)
        lanes &= lanes - 1
        distance = near[j]
        if distance <= found_distances[last]:
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
