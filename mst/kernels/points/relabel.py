"""The last step of `mst.kernels.points.rounds`: places and nodes get the label of their component."""

from __future__ import annotations

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import next_chunk, reset_queue
from mst.kernels.points.kd_tree import LEVELS_EACH, leaf_block
from mst.kernels.points.lanes import LEAF
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call


@njit
def relabel(schedule, parent, levels, components):
    """Set the component of every place and node from `parent`, a field of `Joins`; `levels` is from the k-d tree."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _relabel_worker, schedule, parent, levels, components)
    relabel_nodes(1, max(levels - LEVELS_EACH, 0), components.of_node)


@njit
def _relabel_worker(worker, schedule, parent, levels, components):
    """One worker of `relabel`."""
    width, _, tallies = schedule
    top = max(levels - LEVELS_EACH, 0)
    below = levels - top
    part, end = next_chunk(tallies, worker, width, 1, 1 << top)
    while part < end:
        call(relabel_leaves, part << below, (part + 1) << below, parent, levels, components)
        relabel_nodes((1 << top) + part, below, components.of_node)
        part, end = next_chunk(tallies, worker, width, 1, 1 << top)


@njit
def relabel_leaves(first, last, parent, levels, components):
    """Set the component of the leaves ``first … last - 1`` and of their places; `parent` is a field of `Joins`."""
    of, of_node, _ = components
    leaves, blocks = 1 << levels, (of.size + LEAF - 1) // LEAF
    for leaf in range(first, last):
        b = leaf_block(leaf, levels, blocks)
        if b < 0:
            of_node[leaves + leaf] = -2
            continue
        known = of_node[leaves + leaf]
        start, stop = b * LEAF, min((b + 1) * LEAF, of.size)
        if known >= 0:
            root = parent[known]
            if root != known:
                for p in range(start, stop):
                    of[p] = root
                of_node[leaves + leaf] = root
            continue
        known = parent[of[start]]
        alike = True
        for p in range(start, stop):
            root = parent[of[p]]
            of[p] = root
            alike &= root == known
        of_node[leaves + leaf] = known if alike else -1


@njit
def relabel_nodes(top, below, of_node):
    """Set the component of the inner nodes at and below `top` from the leaves, `below` levels under it."""
    for level in range(below - 1, -1, -1):
        for node in range(top << level, (top + 1) << level):
            left, right = of_node[2 * node], of_node[2 * node + 1]
            if left == right or right == -2:
                of_node[node] = left
            else:
                of_node[node] = right if left == -2 else -1
