"""A step of `mst.kernels.points.rounds`: the k-d tree is searched for points with inexact candidates."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.runtime import next_chunk
from mst.kernels.points.kd_tree import leaf_block
from mst.kernels.points.lanes import (
    LEAF,
    box_distances,
    exclude,
    first_lane,
    greatest,
    keep_apart,
    lanes_of_bounds,
    lanes_within,
    least,
    lower_beyond,
    node_distance,
    point_distances,
    raise_to,
)
from mst.kernels.points.state import as_float, lower
from mst.kernels.primitives.atomics import load
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call


@njit
def search_worker(worker, schedule, tree, lists, candidates, components):
    """One worker of this step: it searches the tree for edges of points whose candidates are not exact."""
    width, grain, tallies = schedule
    leaves, grain = 1 << tree.levels, grain // LEAF
    first, last = next_chunk(tallies, worker, width, grain, leaves)
    while first < last:
        call(search_leaves, first, last, width == 1, tree, lists, candidates, components)
        first, last = next_chunk(tallies, worker, width, grain, leaves)


@njit
def search_leaves(first, last, alone, tree, lists, candidates, components):
    """Search the tree for lighter edges of points of the leaves ``first … last - 1``, and update their candidates.

    A point takes part if its candidate is inexact and its lower bound is at most the limit of its component; the tree
    is traversed once for all such points of a leaf.
    """
    blocks, boxes, points, levels = tree
    _, _, core, node_core = lists
    weights, _, ends, _, _, _ = candidates
    of, of_node, limits = components
    leaves = 1 << levels
    near, bound, heavy = np.empty(LEAF), np.empty(LEAF), np.empty(LEAF)
    limit, rest, own_core = np.empty(LEAF), np.empty(LEAF), np.zeros(LEAF)
    nodes, node_bounds = np.empty(levels + 2, np.int64), np.empty(levels + 2)
    for leaf in range(first, last):
        block = leaf_block(leaf, levels, blocks.shape[0])
        home, start = leaves + leaf, block * LEAF
        if block < 0:
            continue
        searched, common, home_core = _begin_search(
            block, of_node[home], core, candidates, components, limit, rest, own_core
        )
        if searched == 0:
            continue
        highest, pruned = greatest(limit), np.inf
        ancestor, node, size = home, home, 0
        while True:
            # `node` is the next to be searched, or 0.
            while 0 < node < leaves:
                left, right = 2 * node, 2 * node + 1
                to_left = _bound_of(left, home, common, home_core, boxes, of_node, node_core)
                to_right = _bound_of(right, home, common, home_core, boxes, of_node, node_core)
                node, other = (right, left) if to_right < to_left else (left, right)
                farther, nearer = max(to_left, to_right), min(to_left, to_right)
                if farther > highest or farther == np.inf:
                    pruned = min(pruned, farther)
                else:
                    nodes[size], node_bounds[size] = other, farther
                    size += 1
                if nearer > highest or nearer == np.inf:
                    pruned = min(pruned, nearer)
                    node = 0
            if node > 0:
                b = leaf_block(node - leaves, levels, blocks.shape[0])
                if b >= 0 and of_node[node] != common:
                    box_distances(blocks, block, boxes, node, bound)
                    keep_apart(bound, of, start, of_node[node], own_core, node_core[node])
                    lanes = lower_beyond(rest, bound, limit)
                    while lanes != 0:
                        j = first_lane(lanes)
                        lanes &= lanes - 1
                        p = start + j
                        point_distances(blocks, b, p, near)
                        exclude(near, of, b * LEAF, of[p])
                        if ends[p] // LEAF == b:
                            near[ends[p] % LEAF] = np.inf
                        to_node = least(near)
                        if to_node < np.inf and max(to_node, core[p]) <= limit[j]:
                            to_node = _renew(p, b, near, heavy, points, core, candidates)
                            lower(limits, of[p], weights[p], alone)
                            limit[j] = min(weights[p], as_float(load(limits, of[p])))
                        rest[j] = min(rest[j], to_node)
                    highest = greatest(limit)
            if size > 0:
                size -= 1
                node = nodes[size]
                if node_bounds[size] > highest:
                    pruned = min(pruned, node_bounds[size])
                    node = 0
            elif ancestor > 1:
                # From the leaf upwards, so that the nearest points come first.
                node = ancestor ^ 1
                ancestor >>= 1
                to_node = _bound_of(node, home, common, home_core, boxes, of_node, node_core)
                if to_node > highest or to_node == np.inf:
                    pruned = min(pruned, to_node)
                    node = 0
            else:
                break
        _end_search(block, searched, rest, pruned, candidates, components)


@njit(inline="always")
def _bound_of(node, home, common, home_core, boxes, of_node, node_core):
    """Return the smallest possible weight of an edge from the leaf `home` to a node; infinity if that is in `common`.

    `boxes` are those of the k-d tree, `of_node` and `node_core` those of `Components` and `Lists`. `common` is the
    component of the points whose edges are searched, `home_core` the leaf's smallest core distance.
    """
    if of_node[node] == common:
        return np.inf
    return max(node_distance(boxes, home, node), home_core, node_core[node])


@njit(inline="always")
def _begin_search(block, own, core, candidates, components, limit, rest, own_core):
    """Find the points of a block for which the tree has to be searched, and prepare the search.

    `own` is the component of all points of the block, or less than 0. For the points found, `limit`, `rest` and
    `own_core`, float64 (LEAF,), are set to the largest weight that an edge may have to be useful, to infinity, and to
    their core distances; the limit of the other points is -1.

    Returns
    -------
    searched : int
        The lanes of these points, one bit each.
    common : int
        Their component, -3 if there are several.
    least_core : float
        Their smallest core distance.
    """
    weights, _, ends, bounds, _, inexact = candidates
    of, _, limits = components
    start, lanes = block * LEAF, inexact[block]
    common, least_core, searched = -2, np.inf, 0
    if own >= 0 and lanes != 0:
        lanes &= lanes_of_bounds(bounds, start, as_float(load(limits, own)))
    if lanes == 0:
        return searched, common, least_core
    for j in range(LEAF):
        limit[j] = -1.0
    while lanes != 0:
        lane = lanes & -lanes
        lanes ^= lane
        j = first_lane(lane)
        p = start + j
        component_limit = as_float(load(limits, of[p]))
        if bounds[p] <= component_limit:
            searched |= lane
            limit[j], rest[j] = min(weights[p] if ends[p] >= 0 else np.inf, component_limit), np.inf
            own_core[j] = core[p]
            least_core = min(least_core, core[p])
            common = of[p] if common == -2 or common == of[p] else -3
    return searched, common, least_core


@njit(inline="always")
def _end_search(block, searched, rest, pruned, candidates, components):
    """Store the results of a search for the lanes `searched` of a block.

    Edges that were seen, except the candidates, weigh at least `rest`, float64 (LEAF,); those to nodes that were left
    out weigh at least `pruned`.
    """
    weights, _, ends, bounds, awake, inexact = candidates
    of, _, limits = components
    unsure, found = inexact[block], awake[block]
    while searched != 0:
        lane = searched & -searched
        searched ^= lane
        j = first_lane(lane)
        p = block * LEAF + j
        exact = ends[p] >= 0 and weights[p] <= as_float(load(limits, of[p]))
        unsure = unsure & ~lane if exact else unsure
        found = found | lane if ends[p] >= 0 else found
        bounds[p] = weights[p] if exact else max(bounds[p], min(rest[j], pruned))
    awake[block], inexact[block] = found, unsure


@njit
def _renew(p, b, near, heavy, points, core, candidates):
    """Update the candidate of place `p` by the points of block `b`, at the distances `near`, float64 (LEAF,).

    Distances are infinite for the current candidate and for points of the same component; at least one is finite.
    `heavy`, float64 (LEAF,), is overwritten. Returns the smallest weight of the edges other than the new candidate.
    """
    weights, apart, ends, _, _, _ = candidates
    raise_to(near, core, b * LEAF, core[p], heavy)
    weight = least(heavy)
    lanes = lanes_within(heavy, weight)
    j = first_lane(lanes)
    lanes &= lanes - 1
    heavy[j] = np.inf
    rest = least(heavy)
    while lanes != 0:
        i = first_lane(lanes)
        lanes &= lanes - 1
        if near[i] < near[j] or (near[i] == near[j] and points[b * LEAF + i] < points[b * LEAF + j]):
            j = i
    q, other, distance = ends[p], b * LEAF + j, near[j]
    if q >= 0 and not (
        weight < weights[p]
        or (
            weight == weights[p]
            and (distance < apart[p] or (distance == apart[p] and points[other] < points[q]))
        )
    ):
        return weight
    if q >= 0:
        rest = min(rest, weights[p])
    weights[p], apart[p], ends[p] = weight, distance, other
    return rest
