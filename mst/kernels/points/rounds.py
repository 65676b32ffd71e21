"""Borůvka's rounds over points: in each, every component takes its least edge to another component.

An edge weighs the largest of the squared distance of its ends and their core distances, and edges compare by (weight,
distance, smaller point, larger point). Every point keeps a *candidate*, an edge to another component, which is *exact*
once it is known to be the least. Candidates come from the list of nearest neighbours as long as that leads out of the
component, and then from a search of the k-d tree, which is left out where a lower bound shows that it cannot lower the
*limit*, the least weight that any point of the component has found in this round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import LIVE, next_chunk, reset_queue
from mst.kernels.points.kd_tree import leaf_block
from mst.kernels.points.lanes import (
    LEAF,
    box_distances,
    exclude,
    first_lane,
    greatest,
    keep_apart,
    least,
    lower_beyond,
    node_distance,
    point_distances,
)
from mst.kernels.primitives.atomics import fetch_add, load, write_min
from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.sequential import find

EXHAUSTED = -2
"""The other end of a point whose list has been read to its end, and which has no candidate."""


class Lists(NamedTuple):
    """The nearest neighbours, and core distances.

    Attributes
    ----------
    places, distances : numpy.ndarray, shape (n, k)
        From `mst.kernels.points.neighbours.find_neighbours`.
    core : numpy.ndarray of float64, shape (n,)
        Squared core distance of the point at each place.
    node_core : numpy.ndarray of float64, shape (nodes,)
        The least of a node of the k-d tree.
    """

    places: np.ndarray
    distances: np.ndarray
    core: np.ndarray
    node_core: np.ndarray


class Candidates(NamedTuple):
    """The state of each point, by place.

    Attributes
    ----------
    weights, distances : numpy.ndarray of float64, shape (n,)
        Of the candidate; squared.
    ends : numpy.ndarray of int32, shape (n,)
        Its other end; -1 before the list is read, and `EXHAUSTED`.
    exact : numpy.ndarray of bool, shape (n,)
        Whether it is the least edge of the point that leaves the component.
    bounds : numpy.ndarray of float64, shape (n,)
        A lower bound on the weights of all other edges that leave it, but those of the list.
    skip : numpy.ndarray of int32, shape (n,)
        Entries of the list, from the front, that are inside the component.
    dormant : numpy.ndarray of bool, shape (blocks,)
        Whether no point of the block has a candidate or a list to be read.
    block_bounds : numpy.ndarray of float64, shape (blocks,)
        The least of `bounds` in a block, or less.
    """

    weights: np.ndarray
    distances: np.ndarray
    ends: np.ndarray
    exact: np.ndarray
    bounds: np.ndarray
    skip: np.ndarray
    dormant: np.ndarray
    block_bounds: np.ndarray


class Components(NamedTuple):
    """The components.

    Attributes
    ----------
    of : numpy.ndarray of int32, shape (n,)
        The component of each place: the place of one of its points. Its memory goes on to the end of a block.
    of_node : numpy.ndarray of int32, shape (nodes,)
        That of all points of a node, -1 if there are several, -2 if there are no points.
    limits : numpy.ndarray of uint64, shape (n,)
        The limit of each component: the bits of a float64, whose order is that of the numbers.
    """

    of: np.ndarray
    of_node: np.ndarray
    limits: np.ndarray


class Edges(NamedTuple):
    """Edges of the tree.

    Attributes
    ----------
    a, b : numpy.ndarray of int32, shape (n - 1,)
        Places.
    weights : numpy.ndarray of float64, shape (n - 1,)
        Squared.
    """

    a: np.ndarray
    b: np.ndarray
    weights: np.ndarray


def candidates(lists: Lists) -> Candidates:
    """Return the state before the first round."""
    n = len(lists.core)
    radius = np.maximum(lists.core, lists.distances[:, -1])
    floats, ints, blocks = np.empty((2, n)), np.zeros((2, n), np.int32), -(-n // LEAF)
    awake = np.zeros(blocks, np.bool_), np.zeros(blocks)
    return Candidates(floats[0], floats[1], ints[0] - 1, np.zeros(n, np.bool_), radius, ints[1], *awake)


@njit
def least_of_nodes(core, levels, node_core):
    """Write the least core distance of each node to `node_core`, as in `Lists`; infinite where it has no points."""
    leaves, blocks = 1 << levels, (core.size + LEAF - 1) // LEAF
    for leaf in range(leaves):
        b = leaf_block(leaf, levels, blocks)
        least = np.inf
        if b >= 0:
            for p in range(b * LEAF, min((b + 1) * LEAF, core.size)):
                least = min(least, core[p])
        node_core[leaves + leaf] = least
    for node in range(leaves - 1, 0, -1):
        node_core[node] = min(node_core[2 * node], node_core[2 * node + 1])


@njit
def as_float(bits):
    """Return the float64 of some bits."""
    return np.uint64(bits).view(np.float64)


@njit
def as_bits(number):
    """Return the bits of a float64 of at least 0."""
    return np.float64(number).view(np.uint64)


@njit
def choose_nearest(schedule, lists, candidates, choices):
    """Do what all steps before `join` do in a first round where every point is a component and no core distance counts.

    The least edge of a point leads to its nearest neighbour, of several to the first of them.
    """
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _nearest_worker, schedule, lists, candidates, choices)


@njit
def _nearest_worker(worker, schedule, lists, candidates, choices):
    """One worker of `choose_nearest`."""
    width, grain, tallies = schedule
    places, distances, _, _ = lists
    weights, apart, ends, _, _, skip, _, _ = candidates
    first, last = next_chunk(tallies, worker, width, grain, choices.size)
    while first < last:
        for p in range(first, last):
            weights[p] = apart[p] = distances[p, 0]
            # `join` puts the neighbour in the component.
            ends[p], skip[p], choices[p] = places[p, 0], 1, p
        first, last = next_chunk(tallies, worker, width, grain, choices.size)


@njit
def read_lists(schedule, lists, candidates, components):
    """Renew the candidates that are no longer edges to other components, from the lists, and lower the limits."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _lists_worker, schedule, lists, candidates, components)


@njit
def _lists_worker(worker, schedule, lists, candidates, components):
    """One worker of `read_lists`."""
    width, grain, tallies = schedule
    places, distances, core, _ = lists
    weights, apart, ends, exact, bounds, skip, dormant, _ = candidates
    of, _, limits = components
    first, last = next_chunk(tallies, worker, width, grain, of.size)
    while first < last:
        for start in range(first, last, LEAF):
            if dormant[start // LEAF]:
                continue
            awake = False
            for p in range(start, min(start + LEAF, last)):
                own, q = of[p], ends[p]
                if q == EXHAUSTED:
                    continue
                if q < 0 or of[q] == own:
                    weight, distance, q = np.inf, np.inf, EXHAUSTED
                    i = skip[p]
                    while i < places.shape[1] and places[p, i] >= 0 and of[places[p, i]] == own:
                        i += 1
                    skip[p] = i
                    while i < places.shape[1] and places[p, i] >= 0:
                        other = places[p, i]
                        d = distances[p, i]
                        if max(d, core[p]) > weight:
                            break
                        w = max(d, core[p], core[other])
                        if of[other] != own and (w < weight or (w == weight and d < distance)):
                            weight, distance, q = w, d, other
                        i += 1
                    weights[p], apart[p], ends[p] = weight, distance, q
                    # Points beyond the list come after its last one by (distance, point).
                    radius = max(core[p], distances[p, -1])
                    exact[p] = q >= 0 and (weight <= radius or weight < bounds[p])
                if q >= 0:
                    awake = True
                    write_min(limits, own, as_bits(weights[p]))
            dormant[start // LEAF] = not awake
        first, last = next_chunk(tallies, worker, width, grain, of.size)


@njit
def search_tree(schedule, tree, lists, candidates, components):
    """Search the k-d tree for the points whose candidate is not exact and may be above the least edge."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _search_worker, schedule, tree, lists, candidates, components)


@njit
def _search_worker(worker, schedule, tree, lists, candidates, components):
    """One worker of `search_tree`: it goes through the tree once for all these points of a leaf."""
    width, _, tallies = schedule
    blocks, boxes, points, levels = tree
    _, _, core, node_core = lists
    weights, _, ends, exact, bounds, _, dormant, block_bounds = candidates
    of, of_node, limits = components
    leaves = 1 << levels
    near, bound, limit, rest = np.empty(LEAF), np.empty(LEAF), np.empty(LEAF), np.empty(LEAF)
    own_core = np.zeros(LEAF)
    nodes, node_bounds = np.empty(levels + 2, np.int64), np.empty(levels + 2)
    first, last = next_chunk(tallies, worker, width, 64, leaves)
    while first < last:
        for leaf in range(first, last):
            block = leaf_block(leaf, levels, blocks.shape[0])
            if block < 0:
                continue
            home, start = leaves + leaf, block * LEAF
            own = of_node[home]
            if own >= 0 and dormant[block] and block_bounds[block] > as_float(load(limits, own)):
                continue
            # Of all points that are searched for: their component, -3 if there are several, and their least core.
            common, home_core, block_bound = -2, np.inf, np.inf
            for j in range(LEAF):
                limit[j] = -1.0
                p = start + j
                if p < of.size:
                    block_bound = min(block_bound, bounds[p])
                if p < of.size and not exact[p]:
                    least_of_own = as_float(load(limits, of[p]))
                    if bounds[p] <= least_of_own:
                        limit[j], rest[j] = min(weights[p], least_of_own), np.inf
                        own_core[j] = core[p]
                        home_core = min(home_core, core[p])
                        common = of[p] if common == -2 or common == of[p] else -3
            block_bounds[block] = block_bound
            if common == -2:
                continue
            highest, pruned = greatest(limit), np.inf
            ancestor, node, size = home, home, 0
            while True:
                # `node` is the next to be searched, or 0.
                while 0 < node < leaves:
                    left, right = 2 * node, 2 * node + 1
                    to_left, to_right = np.inf, np.inf
                    if of_node[left] != common:
                        to_left = max(node_distance(boxes, home, left), home_core, node_core[left])
                    if of_node[right] != common:
                        to_right = max(node_distance(boxes, home, right), home_core, node_core[right])
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
                            if max(to_node, core[p]) <= limit[j]:
                                to_node = _renew(p, b, near, points, core, candidates)
                                write_min(limits, of[p], as_bits(weights[p]))
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
                    # From the leaf upwards: the nearest points come first.
                    node = ancestor ^ 1
                    ancestor >>= 1
                    to_node = np.inf
                    if of_node[node] != common:
                        to_node = max(node_distance(boxes, home, node), home_core, node_core[node])
                    if to_node > highest or to_node == np.inf:
                        pruned = min(pruned, to_node)
                        node = 0
                else:
                    break
            for j in range(LEAF):
                if limit[j] >= 0:
                    p = start + j
                    exact[p] = ends[p] >= 0 and weights[p] <= as_float(load(limits, of[p]))
                    bounds[p] = weights[p] if exact[p] else max(bounds[p], min(rest[j], pruned))
                    dormant[block] &= ends[p] < 0
        first, last = next_chunk(tallies, worker, width, 64, leaves)


@njit
def _renew(p, b, near, points, core, candidates):
    """Renew the candidate of place `p` by block `b`, of which `near`, float64 (LEAF,), has the distances.

    They are infinite for the candidate so far and for points of the same component. Returns the least weight of those
    edges that are not the candidate.
    """
    weights, apart, ends, _, _, _, _, _ = candidates
    weight, distance, q, rest = weights[p], apart[p], ends[p], np.inf
    for j in range(LEAF):
        d, other = near[j], b * LEAF + j
        if d == np.inf:
            continue
        w = max(d, core[p], core[other])
        if w < weight or (
            w == weight and (d < distance or (d == distance and q >= 0 and points[other] < points[q]))
        ):
            rest = min(rest, weight)
            weight, distance, q = w, d, other
        else:
            rest = min(rest, w)
    weights[p], apart[p], ends[p] = weight, distance, q
    return rest


@njit
def collect_least(schedule, candidates, components, found):
    """Write the places whose candidates weigh as little as the limits to `found`, int32 (n,); return how many."""
    tallies = schedule.tallies
    tallies[LIVE] = 0
    reset_queue(tallies, schedule.width)
    run(schedule.width, _collect_worker, schedule, candidates, components, found)
    return tallies[LIVE]


@njit
def _collect_worker(worker, schedule, candidates, components, found):
    """One worker of `collect_least`."""
    width, grain, tallies = schedule
    weights, _, ends, _, _, _, dormant, _ = candidates
    of, _, limits = components
    mine = np.empty(grain, np.int32)
    first, last = next_chunk(tallies, worker, width, grain, of.size)
    while first < last:
        size = 0
        for block_start in range(first, last, LEAF):
            if dormant[block_start // LEAF]:
                continue
            for p in range(block_start, min(block_start + LEAF, last)):
                mine[size] = p
                size += ends[p] >= 0 and as_bits(weights[p]) == limits[of[p]]
        start = fetch_add(tallies, LIVE, size)
        for i in range(size):
            found[start + i] = mine[i]
        first, last = next_chunk(tallies, worker, width, grain, of.size)


@njit
def choose(found, points, candidates, components, choices):
    """Write the place of the least candidate of each component to `choices`, int32 (n,), filled with -1 before.

    `found` is from `collect_least`, and `points`, int32 (n,), of the k-d tree.
    """
    _, apart, ends, _, _, _, _, _ = candidates
    of, _, _ = components
    for p in found:
        own = of[p]
        other = choices[own]
        if other < 0 or apart[p] < apart[other]:
            choices[own] = p
        elif apart[p] == apart[other]:
            a, b = points[p], points[ends[p]]
            c, d = points[other], points[ends[other]]
            if min(a, b) < min(c, d) or (min(a, b) == min(c, d) and max(a, b) < max(c, d)):
                choices[own] = p


@njit
def join(roots, choices, candidates, components, parent, edges, size):
    """Join the components by their chosen edges; set their limits to infinity.

    Parameters
    ----------
    roots : numpy.ndarray of int32, shape (components,)
        The components, ascending; those that remain are moved to the front.
    choices : numpy.ndarray of int32, shape (n,)
        From `choose`; filled with -1 afterwards.
    candidates : Candidates
    components : Components
    parent : numpy.ndarray of int32, shape (n,)
        Union-find of the components.
    edges : Edges
        The new ones are written from `size` on.
    size : int
        Edges so far.

    Returns
    -------
    int
        The number of components.
    """
    weights, _, ends, _, _, _, _, _ = candidates
    of, _, limits = components
    infinite = as_bits(np.inf)
    a_places, b_places, edge_weights = edges
    for root in roots:
        p = choices[root]
        choices[root] = -1
        if p >= 0:
            a, b = find(parent, root), find(parent, of[ends[p]])
            if a != b:
                parent[max(a, b)] = min(a, b)
                a_places[size], b_places[size], edge_weights[size] = p, ends[p], weights[p]
                size += 1
    count = 0
    for root in roots:
        if parent[root] == root:
            roots[count] = root
            limits[root] = infinite
            count += 1
    return count


@njit
def relabel(schedule, parent, levels, components):
    """Set the component of every place and node after `join`."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _relabel_worker, schedule, parent, levels, components)
    of_node = components.of_node
    for node in range((1 << levels) - 1, 0, -1):
        left, right = of_node[2 * node], of_node[2 * node + 1]
        if left == right or right == -2:
            of_node[node] = left
        else:
            of_node[node] = right if left == -2 else -1


@njit
def _relabel_worker(worker, schedule, parent, levels, components):
    """One worker of `relabel`."""
    width, _, tallies = schedule
    of, of_node, _ = components
    leaves, blocks = 1 << levels, (of.size + LEAF - 1) // LEAF
    first, last = next_chunk(tallies, worker, width, 256, leaves)
    while first < last:
        for leaf in range(first, last):
            known = of_node[leaves + leaf]
            if known >= 0 and parent[known] == known:
                continue
            b = leaf_block(leaf, levels, blocks)
            of_node[leaves + leaf] = -2
            if b < 0:
                continue
            for p in range(b * LEAF, min((b + 1) * LEAF, of.size)):
                root = of[p]
                while parent[root] != root:
                    root = parent[root]
                of[p] = root
                if p == b * LEAF:
                    of_node[leaves + leaf] = root
                elif of_node[leaves + leaf] != root:
                    of_node[leaves + leaf] = -1
        first, last = next_chunk(tallies, worker, width, 256, leaves)
