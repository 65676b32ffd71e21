"""Borůvka's rounds over points: in each, every component chooses its lightest edge to another component.

The weight of an edge is the largest of the squared distance of its ends and their core distances, and edges compare by
(weight, distance, smaller point, larger point). Every point keeps a *candidate*, an edge to another component, which is
*exact* once it is known to be the point's lightest. Candidates come from the list of nearest neighbours as long as it
leads out of the component, and then from a search of the k-d tree. The search is skipped if a lower bound shows that it
cannot lower the *limit*, the smallest weight that any point of the component has found in this round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.launch import run
from mst.kernels.parallel.runtime import FOREST, LIVE, Schedule, next_chunk, reset_queue, touched_empty
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
from mst.kernels.primitives.atomics import compare_and_swap, fetch_add, load, write_min
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call
from mst.kernels.union_find.sequential import fourth_ancestor

_LEVELS_EACH = 8
"""Levels of the parts of the k-d tree that a thread takes at a time when it traverses nodes."""
_WORTH = 4
"""A part is finished once a round joins fewer than one in this many of its components."""


class Lists(NamedTuple):
    """The nearest neighbours, and core distances.

    Attributes
    ----------
    places, distances : numpy.ndarray, shape (n, k)
        From `mst.kernels.points.neighbours.find_neighbours`.
    core : numpy.ndarray of float64, shape (n,)
        Squared core distance of the point at each place. Its memory extends to the end of the last block.
    node_core : numpy.ndarray of float64, shape (nodes,)
        The smallest core distance in each node of the k-d tree.
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
        Squared weight and distance of the candidate; the same array if core distances do not count.
    ends : numpy.ndarray of int32, shape (n,)
        Its other end; -1 before the list is read, and if there is no candidate.
    bounds : numpy.ndarray of float64, shape (n,)
        A lower bound on the weights of all other edges that leave the component, except those of the list. Its memory
        extends to the end of the last block.
    awake : numpy.ndarray of int64, shape (blocks,)
        The points of a block that have a candidate or a list to be read, one bit each.
    inexact : numpy.ndarray of int64, shape (blocks,)
        The points whose candidate may not be their lightest edge that leaves the component, one bit each.
    """

    weights: np.ndarray
    distances: np.ndarray
    ends: np.ndarray
    bounds: np.ndarray
    awake: np.ndarray
    inexact: np.ndarray


class Components(NamedTuple):
    """The components.

    Attributes
    ----------
    of : numpy.ndarray of int32, shape (n,)
        The component of each place: the place of one of its points. Its memory extends to the end of the last block.
    of_node : numpy.ndarray of int32, shape (nodes,)
        The component of all points of a node; -1 if there are several, -2 if there are no points.
    limits : numpy.ndarray of uint64, shape (n,)
        The limit of each component, as the bits of a float64, which have the same order as the numbers.
    """

    of: np.ndarray
    of_node: np.ndarray
    limits: np.ndarray


class Joins(NamedTuple):
    """How components are joined.

    Attributes
    ----------
    parent : numpy.ndarray of int32, shape (n,)
        Union-find of the components, by the place of each.
    choices : numpy.ndarray of int32, shape (n,)
        The place of the lightest candidate of each component between two steps of a round, else -1.
    """

    parent: np.ndarray
    choices: np.ndarray


class State(NamedTuple):
    """Everything that the rounds change, except the edges.

    Attributes
    ----------
    candidates : Candidates
    components : Components
    joins : Joins
    roots, left : numpy.ndarray of int32, shape (n,)
        The components, and scratch space.
    """

    candidates: Candidates
    components: Components
    joins: Joins
    roots: np.ndarray
    left: np.ndarray


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


class _Part(NamedTuple):
    """A part of the k-d tree: the places ``first … last - 1``, all int.

    Its leaves are ``first_leaf … last_leaf - 1``, `below` levels under its top node.
    """

    first: int
    last: int
    first_leaf: int
    last_leaf: int
    node: int
    below: int


def allocate(lists: Lists, plain: bool, nodes: int, schedule: Schedule) -> State:
    """Return the state before the first round; `join_all` writes the rest of it.

    Parameters
    ----------
    lists : Lists
    plain : bool
        Whether core distances do not count.
    nodes : int
        Nodes of the k-d tree, plus one.
    schedule : mst.kernels.parallel.runtime.Schedule
    """
    n, width, tallies = len(lists.core), schedule.width, schedule.tallies
    blocks = -(-n // LEAF)

    def fresh(dtype: type, size: int = n) -> np.ndarray:
        return touched_empty(size, dtype, width, tallies)

    bounds, of = fresh(np.float64, blocks * LEAF), fresh(np.int32, blocks * LEAF)
    bounds[n:] = np.inf
    weights, lanes = fresh(np.float64), np.empty(blocks, np.int64)
    apart = weights if plain else fresh(np.float64)
    candidates = Candidates(weights, apart, fresh(np.int32), bounds[:n], lanes, np.empty_like(lanes))
    components = Components(of[:n], np.full(nodes, -1, np.int32), fresh(np.uint64))
    joins = Joins(fresh(np.int32), fresh(np.int32))
    return State(candidates, components, joins, fresh(np.int32), fresh(np.int32))


@njit
def join_all(schedule, plain, top, start, tree, lists, state, edges, size):
    """Join components by shortest edges until one is left.

    Parameters
    ----------
    schedule : mst.kernels.parallel.runtime.Schedule
        A chunk is `grain` places, whole blocks.
    plain : bool
        Whether core distances do not count.
    top : int
        The level of the k-d tree whose nodes are the parts that are joined first.
    start : numpy.ndarray of int32, shape (n,) or (0,)
        The components; if it is empty, every place is one, and parts are joined first.
    tree : mst.kernels.points.kd_tree.KdTree
    lists : Lists
    state : State
        From `allocate`; its roots are given unless `start` is empty.
    edges : Edges
        The first `size` are given, the others are overwritten.
    size : int
        Number of edges that are given.
    """
    width, _, tallies = schedule
    candidates, components, joins, roots, left = state
    reset_queue(tallies, width)
    run(width, _begin_worker, schedule, start, lists, candidates, components, joins)
    tallies[FOREST], tallies[LIVE] = size, 0
    if start.size == 0:
        reset_queue(tallies, width)
        run(width, _parts_worker, schedule, plain, top, tree, lists, state, edges)
    roots = roots[: start.size - size if start.size > 0 else tallies[LIVE]]
    relabel(schedule, joins.parent, tree.levels, components)
    while roots.size > 1:
        _choose_edges(schedule, plain, tree, lists, candidates, components, joins.choices)
        roots, left = _join_chosen(schedule, roots, left, candidates, components, joins, edges), roots
        relabel(schedule, joins.parent, tree.levels, components)


@njit
def _choose_edges(schedule, plain, tree, lists, candidates, components, choices):
    """Choose the lightest edge of every component to another one, by all workers."""
    width, _, tallies = schedule
    reset_queue(tallies, width)
    run(width, _lists_worker, schedule, plain, lists, candidates, components)
    reset_queue(tallies, width)
    run(width, _limits_worker, schedule, tree, lists, components)
    above = 1 << max(tree.levels - _LEVELS_EACH, 0)
    call(_lower_limits, 1, min(2 * above, 1 << tree.levels), True, tree, lists, components)
    reset_queue(tallies, width)
    run(width, _search_worker, schedule, tree, lists, candidates, components)
    reset_queue(tallies, width)
    run(width, _choose_worker, schedule, tree, candidates, components, choices)


@njit
def _join_chosen(schedule, roots, left, candidates, components, joins, edges):
    """Append the chosen edges to `edges`, and join components by them; return the remaining ones, in `left`."""
    width, grain, tallies = schedule
    few = Schedule(1 if roots.size <= grain else width, grain, tallies)
    tallies[LIVE] = 0
    reset_queue(tallies, width)
    run(few.width, _link_worker, few, roots, candidates, components, joins, edges)
    reset_queue(tallies, width)
    run(few.width, _settle_worker, few, roots, left, components, joins)
    return left[: tallies[LIVE]]


@njit
def _begin_worker(worker, schedule, start, lists, candidates, components, joins):
    """One worker of the first step of `join_all`: it writes the state before any list is read."""
    width, grain, tallies = schedule
    _, distances, core, _ = lists
    _, _, ends, bounds, awake, inexact = candidates
    of, _, limits = components
    parent, choices = joins
    infinite = as_bits(np.inf)
    first, last = next_chunk(tallies, worker, width, grain, of.size)
    while first < last:
        for p in range(first, last):
            of[p] = start[p] if start.size > 0 else p
            parent[p], choices[p], ends[p], limits[p] = p, -1, -1, infinite
            bounds[p] = max(core[p], distances[p, distances.shape[1] - 1])
        for block in range(first // LEAF, (last + LEAF - 1) // LEAF):
            lanes = (1 << min(LEAF, of.size - block * LEAF)) - 1
            awake[block], inexact[block] = lanes, lanes
        first, last = next_chunk(tallies, worker, width, grain, of.size)


@njit
def core_distances(schedule, tree, counts, samples, lists):
    """Write the core distances of places and nodes to `lists`; those of nodes without points are infinite.

    `counts`, int32 (n,), says how many points have the coordinates of each, or is empty if all counts are 1. There
    are at least ``samples - 1`` neighbours.
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


@njit
def as_float(bits):
    """Return the float64 that has these bits."""
    return np.uint64(bits).view(np.float64)


@njit
def as_bits(number):
    """Return the bits of a float64 that is at least 0."""
    return np.float64(number).view(np.uint64)


@njit
def _lower(limits, component, weight, alone):
    """Lower the limit of a component to a weight; `alone` says whether no other thread has points of it."""
    bits = as_bits(weight)
    if alone:
        limits[component] = min(limits[component], bits)
    else:
        write_min(limits, component, bits)


@njit
def _lists_worker(worker, schedule, plain, lists, candidates, components):
    """One worker of a step of `join_all`: it replaces candidates within components from the lists."""
    width, grain, tallies = schedule
    n = components.of.size
    first, last = next_chunk(tallies, worker, width, grain, n)
    while first < last:
        call(_read_lists, first, last, width == 1, plain, lists, candidates, components)
        first, last = next_chunk(tallies, worker, width, grain, n)


@njit
def _read_lists(first, last, alone, plain, lists, candidates, components):
    """Update the candidates of the places ``first … last - 1``, from the beginning of a block, and lower the limits."""
    places, distances, core, _ = lists
    weights, apart, ends, bounds, awake, inexact = candidates
    of, _, limits = components
    listed = places.shape[1]
    for block in range(first // LEAF, (last + LEAF - 1) // LEAF):
        lanes = awake[block]
        left, unsure = lanes, inexact[block]
        while lanes != 0:
            lane = lanes & -lanes
            lanes ^= lane
            p = block * LEAF + first_lane(lane)
            own, q = of[p], ends[p]
            if q < 0 or of[q] == own:
                exact, q = False, np.int32(-1)
                if plain and listed < LEAF:
                    # Without a branch for each neighbour, which would be mispredicted.
                    outside = 1 << listed
                    for i in range(listed):
                        outside |= np.int64(of[places[p, i]] != own) << i
                    i = first_lane(outside)
                    if i < listed:
                        weights[p], q, exact = distances[p, i], places[p, i], True
                else:
                    weight, distance = np.inf, np.inf
                    for i in range(listed):
                        other, d = places[p, i], distances[p, i]
                        # Later ones have no smaller weight, and are farther.
                        if other < 0 or max(d, core[p]) >= weight:
                            break
                        w = max(d, core[p], core[other])
                        if of[other] != own and (w < weight or (w == weight and d < distance)):
                            weight, distance, q = w, d, other
                    weights[p], apart[p] = weight, distance
                    # Points beyond the list come after its last one in the order of (distance, point).
                    radius = max(core[p], distances[p, -1])
                    exact = q >= 0 and (weight <= radius or weight < bounds[p])
                ends[p] = q
                unsure = unsure & ~lane if exact else unsure | lane
            if q >= 0:
                _lower(limits, own, weights[p], alone)
            else:
                left ^= lane
        awake[block], inexact[block] = left, unsure


@njit
def _limits_worker(worker, schedule, tree, lists, components):
    """One worker of a step of `join_all`: it lowers the limits of components in parts of the tree."""
    width, _, tallies = schedule
    parts = 1 << max(tree.levels - _LEVELS_EACH, 0)
    first, last = next_chunk(tallies, worker, width, 1, parts)
    while first < last:
        call(_lower_limits, parts + first, 1 << tree.levels, width == 1, tree, lists, components)
        first, last = next_chunk(tallies, worker, width, 1, parts)


@njit
def _lower_limits(top, end, alone, tree, lists, components):
    """Lower the limit of each component that fills a node below `top` by an edge from there to the sibling.

    Without this, the tree would be searched for most points of such a component before one that has a short edge. Nodes
    from `end` on, the first of a level, are left out. `alone` is as in `_lower`.
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
    """Lower the limit of the component of node `a` by an edge to a node of the same level, if a short one is found.

    It descends from the pair of nodes to their nearest children, and in a leaf takes the point that is nearest to the
    box of the other one. `scratch` is float64 (3, LEAF).
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
    _lower(limits, own, weight, alone)
    _lower(limits, of[q], weight, alone)


@njit
def _search_worker(worker, schedule, tree, lists, candidates, components):
    """One worker of a step of `join_all`: it searches the tree for edges of points whose candidates are not exact."""
    width, grain, tallies = schedule
    leaves, grain = 1 << tree.levels, grain // LEAF
    first, last = next_chunk(tallies, worker, width, grain, leaves)
    while first < last:
        call(_search_leaves, first, last, width == 1, tree, lists, candidates, components)
        first, last = next_chunk(tallies, worker, width, grain, leaves)


@njit
def _search_leaves(first, last, alone, tree, lists, candidates, components):
    """Search the tree for lighter edges of points of some leaves.

    These are the points whose candidate is inexact and whose lower bound is at most the limit; the tree is traversed
    once for all of them in a leaf.
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
                            _lower(limits, of[p], weights[p], alone)
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
    """Return the smallest possible weight of an edge from the leaf `home` to a node; infinity within `common`.

    `common` is the component of the points that are searched for, `home_core` the smallest core distance in the leaf.
    """
    if of_node[node] == common:
        return np.inf
    return max(node_distance(boxes, home, node), home_core, node_core[node])


@njit(inline="always")
def _begin_search(block, own, core, candidates, components, limit, rest, own_core):
    """Find the points of a block for which the tree has to be searched, and prepare the search.

    `own` is the component of all points of the block, or less than 0. For the points found, `limit`, `rest` and
    `own_core`, float64 (LEAF,), are set to the largest weight of an edge that is still of use, to infinity, and to
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
        least_of_own = as_float(load(limits, of[p]))
        if bounds[p] <= least_of_own:
            searched |= lane
            limit[j], rest[j] = min(weights[p] if ends[p] >= 0 else np.inf, least_of_own), np.inf
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

    These are infinite for the current candidate and for points of the same component; at least one is finite. `heavy`,
    float64 (LEAF,), is overwritten. Returns the smallest weight of those edges that are not the candidate.
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


@njit
def _choose_worker(worker, schedule, tree, candidates, components, choices):
    """One worker of a step of `join_all`: it chooses the lightest candidate of each component."""
    width, grain, tallies = schedule
    n = components.of.size
    found = np.empty(grain, np.int32)
    first, last = next_chunk(tallies, worker, width, grain, n)
    while first < last:
        size = call(_collect, first, last, candidates, components, found)
        call(_choose, found[:size], width == 1, tree.points, candidates, components, choices)
        first, last = next_chunk(tallies, worker, width, grain, n)


@njit
def _collect(first, last, candidates, components, found):
    """Write the places of ``first … last - 1`` whose candidate weighs as much as the limit to `found`, int32.

    Place `first` begins a block. Returns the number of places written.
    """
    weights, _, _, _, awake, _ = candidates
    of, _, limits = components
    size = 0
    for block in range(first // LEAF, (last + LEAF - 1) // LEAF):
        lanes = awake[block]
        while lanes != 0:
            p = block * LEAF + first_lane(lanes)
            lanes &= lanes - 1
            found[size] = p
            size += as_bits(weights[p]) == limits[of[p]]
    return size


@njit
def _choose(found, alone, points, candidates, components, choices):
    """Choose the lightest candidate of each component among those of the places `found`; `alone` is as in `_lower`."""
    _, apart, ends, _, _, _ = candidates
    of, _, _ = components
    for p in found:
        own = of[p]
        other = load(choices, own)
        while other < 0 or _is_before(p, other, apart, ends, points):
            if alone:
                choices[own] = p
                break
            seen = compare_and_swap(choices, own, other, p)
            if seen == other:
                break
            other = seen


@njit
def _is_before(p, other, apart, ends, points):
    """Return whether the candidate of place `p` comes before that of another place, which weighs the same."""
    if apart[p] != apart[other]:
        return apart[p] < apart[other]
    a, b = points[p], points[ends[p]]
    c, d = points[other], points[ends[other]]
    return min(a, b) < min(c, d) or (min(a, b) == min(c, d) and max(a, b) < max(c, d))


@njit
def _link(roots, candidates, components, joins, edges, size, first, last):
    """Write the chosen edges that lead to the places ``first … last - 1``, and the parents of their components.

    `edges` are written from `size` on. Returns their number afterwards.
    """
    weights, _, ends, _, _, _ = candidates
    of, _, _ = components
    parent, choices = joins
    a_places, b_places, edge_weights = edges
    for root in roots:
        p = choices[root]
        if p >= 0 and first <= ends[p] < last:
            q = ends[p]
            other = of[q]
            back = choices[other]
            # Two components that choose each other choose the same edge, since the order is total: there are no other
            # cycles, and one of the two stays a root.
            kept = (root > other) | (back < 0) | (of[ends[max(back, 0)]] != root)
            parent[root] = other if kept else root
            a_places[size], b_places[size], edge_weights[size] = p, q, weights[p]
            size += kept
    return size


@njit
def _settle(roots, components, joins):
    """Set the parent of components after `_link` to their root and their limit to infinity, and clear their choice.

    Roots are moved to the front. Returns their number.
    """
    limits = components.limits
    parent, choices = joins
    infinite = as_bits(np.inf)
    count = 0
    for root in roots:
        top = fourth_ancestor(parent, root)
        while parent[top] != top:
            top = parent[top]
        parent[root] = top
        choices[root] = -1
        limits[root] = infinite
        roots[count] = root
        count += top == root
    return count


@njit
def _link_worker(worker, schedule, roots, candidates, components, joins, edges):
    """One worker of a step of `join_all`: it appends the chosen edges of components to `edges`, and sets parents."""
    width, grain, tallies = schedule
    n = components.of.size
    linked = _empty_edges(grain)
    first, last = next_chunk(tallies, worker, width, grain, roots.size)
    while first < last:
        size = call(_link, roots[first:last], candidates, components, joins, linked, 0, 0, n)
        _append(linked, size, edges, tallies)
        first, last = next_chunk(tallies, worker, width, grain, roots.size)


@njit
def _settle_worker(worker, schedule, roots, left, components, joins):
    """One worker of a step of `join_all`: it finds the components' roots, and writes the remaining ones to `left`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, roots.size)
    while first < last:
        size = call(_settle, roots[first:last], components, joins)
        start = fetch_add(tallies, LIVE, size)
        for i in range(size):
            left[start + i] = roots[first + i]
        first, last = next_chunk(tallies, worker, width, grain, roots.size)


@njit
def _empty_edges(size):
    """Return uninitialised `Edges`."""
    return Edges(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size))


@njit
def _append(some, size, edges, tallies):
    """Append the first edges of `some` to `edges`, which has as many as the tallies count."""
    a_places, b_places, weights = edges
    start = fetch_add(tallies, FOREST, size)
    for i in range(size):
        a_places[start + i], b_places[start + i], weights[start + i] = some.a[i], some.b[i], some.weights[i]


@njit
def relabel(schedule, parent, levels, components):
    """Set the component of every place and node from the parents."""
    reset_queue(schedule.tallies, schedule.width)
    run(schedule.width, _relabel_worker, schedule, parent, levels, components)
    _relabel_nodes(1, max(levels - _LEVELS_EACH, 0), components.of_node)


@njit
def _relabel_worker(worker, schedule, parent, levels, components):
    """One worker of `relabel`."""
    width, _, tallies = schedule
    top = max(levels - _LEVELS_EACH, 0)
    below = levels - top
    part, end = next_chunk(tallies, worker, width, 1, 1 << top)
    while part < end:
        call(_relabel_leaves, part << below, (part + 1) << below, parent, levels, components)
        _relabel_nodes((1 << top) + part, below, components.of_node)
        part, end = next_chunk(tallies, worker, width, 1, 1 << top)


@njit
def _relabel_leaves(first, last, parent, levels, components):
    """Set the component of some leaves and their places."""
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
def _relabel_nodes(top, below, of_node):
    """Set the component of the inner nodes at and below `top` from that of the leaves, `below` levels under it."""
    for level in range(below - 1, -1, -1):
        for node in range(top << level, (top + 1) << level):
            left, right = of_node[2 * node], of_node[2 * node + 1]
            if left == right or right == -2:
                of_node[node] = left
            else:
                of_node[node] = right if left == -2 else -1


@njit
def _parts_worker(worker, schedule, plain, top, tree, lists, state, edges):
    """One worker of a step of `join_all`: it joins components of one point each by rounds within parts of the tree.

    The points of a part stay in cache. A component whose lightest edge leads out of the part waits for another one to
    join it, or for the rounds of the whole tree. The remaining components are written to the state's roots.
    """
    width, _, tallies = schedule
    largest = ((tree.blocks.shape[0] >> top) + 1) * LEAF
    all_roots, found = np.empty(largest, np.int32), np.empty(largest, np.int32)
    joined = _empty_edges(largest)
    number, end = next_chunk(tallies, worker, width, 1, 1 << top)
    while number < end:
        part = _part_at(number, top, tree)
        roots = all_roots[: part.last - part.first]
        for i in range(roots.size):
            roots[i] = part.first + i
        size, left = call(_join_part, part, plain, tree, lists, state, roots, found, joined)
        _append(joined, size, edges, tallies)
        start = fetch_add(tallies, LIVE, left)
        for i in range(left):
            state.roots[start + i] = roots[i]
        number, end = next_chunk(tallies, worker, width, 1, 1 << top)


@njit
def _part_at(number, top, tree):
    """Return the `_Part` whose top node has this number on level `top`."""
    blocks, below = tree.blocks.shape[0], tree.levels - top
    first = ((number * blocks) >> top) * LEAF
    last = min((((number + 1) * blocks) >> top) * LEAF, tree.points.size)
    return _Part(first, last, number << below, (number + 1) << below, (1 << top) + number, below)


@njit
def _join_part(part, plain, tree, lists, state, roots, found, joined):
    """Join the components `roots`, one point each, within a part, as long as a round joins enough of them.

    Returns the number of edges written to `joined`, and that of the remaining components, the first ones of `roots`.
    `found`, int32, is scratch space of at least the length of `roots`.
    """
    candidates, components, joins, _, _ = state
    first, last, first_leaf, last_leaf, node, below = part
    size, before = 0, 2 * _WORTH * roots.size
    while roots.size > 1 and _WORTH * (before - roots.size) >= before:
        before = roots.size
        if size > 0 or not plain:
            call(_read_lists, first, last, True, plain, lists, candidates, components)
            call(_lower_limits, node, 1 << tree.levels, True, tree, lists, components)
            call(_search_leaves, first_leaf, last_leaf, True, tree, lists, candidates, components)
            count = call(_collect, first, last, candidates, components, found)
            call(_choose, found[:count], True, tree.points, candidates, components, joins.choices)
        else:
            call(_choose_nearest, first, last, lists, candidates, joins.choices)
        size = call(_link, roots, candidates, components, joins, joined, size, first, last)
        roots = roots[: call(_settle, roots, components, joins)]
        call(_relabel_leaves, first_leaf, last_leaf, joins.parent, tree.levels, components)
        _relabel_nodes(node, below, components.of_node)
    return size, roots.size


@njit
def _choose_nearest(first, last, lists, candidates, choices):
    """Do the steps before `_link` in a first round in which every point is a component and core distances do not count.

    The lightest edge of a point leads to its nearest neighbour, or to the first of several equally near ones.
    """
    places, distances, _, _ = lists
    weights, _, ends, _, _, inexact = candidates
    for p in range(first, last):
        weights[p], ends[p], choices[p] = distances[p, 0], places[p, 0], p
    for block in range(first // LEAF, (last + LEAF - 1) // LEAF):
        inexact[block] = 0
