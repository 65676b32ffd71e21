"""A step of `mst.kernels.points.rounds`: a component that fills a node gets a limit from an edge to its sibling."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.runtime import next_chunk
from mst.kernels.points.kd_tree import LEVELS_EACH, leaf_block
from mst.kernels.points.lanes import (
    LEAF,
    box_distances,
    first_lane,
    keep_apart,
    lanes_within,
    least,
    node_distance,
    point_distances,
)
from mst.kernels.points.state import as_float, lower
from mst.kernels.primitives.atomics import load
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call


@njit
def limits_worker(worker, schedule, tree, lists, components):
    """One worker of this step: it lowers the limits of components in parts of the tree."""
    width, _, tallies = schedule
    parts = 1 << max(tree.levels - LEVELS_EACH, 0)
    first, last = next_chunk(tallies, worker, width, 1, parts)
    while first < last:
        call(lower_limits, parts + first, 1 << tree.levels, width == 1, tree, lists, components)
        first, last = next_chunk(tallies, worker, width, 1, parts)


@njit
def lower_limits(top, end, alone, tree, lists, components):
    """Lower the limit of each component that fills a node below `top` by an edge from that node to its sibling.

    Without such a limit, the tree would be searched for most points of the component before one with a short edge is
    found. The nodes from `end` on, which is the first node of a level, are left out.
    """
    of_node = components.of_node
    scratch, nodes, size = np.empty((3, LEAF)), np.empty(tree.levels + 2, np.int64), 0
    node = top
    while of_node[top] == -1:
        own = of_node[node]
        if own == -1 and 2 * node < end:
            nodes[size] = 2 * node + 1
            size += 1
            node *= 2
            continue
        if own >= 0 and of_node[node ^ 1] != -2:
            _lower_limit(node, node ^ 1, alone, tree, lists, components, scratch)
        if size == 0:
            return
        size -= 1
        node = nodes[size]


@njit
def _lower_limit(a, b, alone, tree, lists, components, scratch):
    """Lower the limit of the component of node `a` by an edge to node `b`, of the same level, if a short one is found.

    The search descends from the two nodes to their nearest children, and takes the point of the first leaf that is
    nearest to the box of the second. `scratch` is float64 (3, LEAF).
    """
    blocks, boxes, _, levels = tree
    of, of_node, limits = components
    leaves, near, bound, cores = 1 << levels, scratch[0], scratch[1], scratch[2]
    own = of_node[a]
    limit = as_float(load(limits, own))
    apart = node_distance(boxes, a, b)
    while a < leaves and apart < limit:
        apart, pair = np.inf, 0
        for i in range(4):
            c, d = 2 * a + (i >> 1), 2 * b + (i & 1)
            if of_node[d] != own and node_distance(boxes, c, d) < apart:
                apart, pair = node_distance(boxes, c, d), i
        a, b = 2 * a + (pair >> 1), 2 * b + (pair & 1)
    if apart >= limit:
        return
    block, other = (
        leaf_block(a - leaves, levels, blocks.shape[0]),
        leaf_block(b - leaves, levels, blocks.shape[0]),
    )
    box_distances(blocks, block, boxes, b, bound)
    p, start = block * LEAF + first_lane(lanes_within(bound, least(bound))), other * LEAF
    point_distances(blocks, other, p, near)
    for j in range(LEAF):
        cores[j] = lists.core[min(start + j, of.size - 1)]
    keep_apart(near, of, start, own, cores, lists.core[p])
    weight = least(near)
    q = start + first_lane(lanes_within(near, weight))
    # The edge leaves both components.
    lower(limits, own, weight, alone)
    lower(limits, of[q], weight, alone)
