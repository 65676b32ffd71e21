"""Core distances of the points and nodes of a k-d tree, from the lists of nearest neighbours."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.points.kd_tree import leaf_block
from mst.kernels.points.lanes import LEAF
from mst.kernels.primitives.jit import njit


@njit
def core_distances(schedule, tree, counts, samples, lists):
    """Write the core distances of places and nodes to `lists`: infinity for nodes without points.

    `schedule` is a `Schedule`, `tree` a `KdTree`, `lists` is a `mst.kernels.points.state.Lists`. `counts`, int32 (n,),
    says how many points have the coordinates of each, or is empty if all counts are 1. A core distance is the
    distance to the `samples`-th nearest point, counting the point itself; at least ``samples - 1`` are listed.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _core_worker, schedule, tree, counts, samples, lists)
    node_core = lists.node_core
    for node in range((1 << tree.levels) - 1, 0, -1):
        node_core[node] = min(node_core[2 * node], node_core[2 * node + 1])


@njit
def _core_worker(worker, schedule, tree, counts, samples, lists):
    """One worker of `core_distances`."""
    width, _, tallies = schedule
    blocks, _, points, levels = tree
    places, distances, core, node_core = lists
    leaves = 1 << levels
    first, last = next_chunk(tallies, worker, width, 64, leaves)
    while first < last:
        for leaf in range(first, last):
            b, least_core = leaf_block(leaf, levels, blocks.shape[0]), np.inf
            if b >= 0:
                for p in range(b * LEAF, min((b + 1) * LEAF, core.size)):
                    if counts.size == 0:
                        core[p] = distances[p, samples - 2]
                    else:
                        reached, i = counts[points[p]], 0
                        core[p] = 0.0
                        while reached < samples:
                            core[p] = distances[p, i]
                            reached += counts[points[places[p, i]]]
                            i += 1
                    least_core = min(least_core, core[p])
            node_core[leaves + leaf] = least_core
        first, last = next_chunk(tallies, worker, width, 64, leaves)
