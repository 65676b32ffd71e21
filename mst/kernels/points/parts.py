"""Borůvka's rounds within parts of the k-d tree, each by one worker, before the rounds of the whole tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst.kernels.parallel.runtime import LIVE, next_chunk
from mst.kernels.points.choose import choose, collect
from mst.kernels.points.lanes import LEAF
from mst.kernels.points.limits import lower_limits
from mst.kernels.points.link import append, link, new_edges, settle
from mst.kernels.points.lists import read_lists
from mst.kernels.points.relabel import relabel_leaves, relabel_nodes
from mst.kernels.points.search import search_leaves
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call

_WORTH = 4
"""A part is finished once a round joins fewer than one in this many of its components."""


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


@njit
def parts_worker(worker, schedule, plain, top, tree, lists, state, edges):
    """One worker of the first step: it joins points by rounds within parts of the tree, the nodes of level `top`.

    The points of a part stay in cache. A component whose lightest edge leads out of the part waits for another one to
    join it, or for the rounds of the whole tree. The remaining components are written to the state's roots.
    """
    width, _, tallies = schedule
    largest = ((tree.blocks.shape[0] >> top) + 1) * LEAF
    all_roots, found = np.empty(largest, np.int32), np.empty(largest, np.int32)
    joined = new_edges(largest)
    number, end = next_chunk(tallies, worker, width, 1, 1 << top)
    while number < end:
        part = _part_at(number, top, tree)
        roots = all_roots[: part.last - part.first]
        for i in range(roots.size):
            roots[i] = part.first + i
        size, left = call(_join_part, part, plain, tree, lists, state, roots, found, joined)
        append(joined, size, edges, tallies)
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

    `part` is a `_Part`, and `roots` is int32 (k,); `found`, int32 and at least as long, is scratch space. Returns
    how many edges were written to `joined`, an `Edges`, and how many components remain, at the front of `roots`.
    """
    candidates, components, joins, _, _ = state
    first, last, first_leaf, last_leaf, node, below = part
    size, before = 0, 2 * _WORTH * roots.size
    while roots.size > 1 and _WORTH * (before - roots.size) >= before:
        before = roots.size
        if size > 0 or not plain:
            call(read_lists, first, last, True, plain, lists, candidates, components)
            call(lower_limits, node, 1 << tree.levels, True, tree, lists, components)
            call(search_leaves, first_leaf, last_leaf, True, tree, lists, candidates, components)
            count = call(collect, first, last, candidates, components, found)
            call(choose, found[:count], True, tree.points, candidates, components, joins.choices)
        else:
            call(_choose_nearest, first, last, lists, candidates, joins.choices)
        size = call(link, roots, candidates, components, joins, joined, size, first, last)
        roots = roots[: call(settle, roots, components, joins)]
        call(relabel_leaves, first_leaf, last_leaf, joins.parent, tree.levels, components)
        relabel_nodes(node, below, components.of_node)
    return size, roots.size


@njit
def _choose_nearest(first, last, lists, candidates, choices):
    """Choose edges in a first round in which every point is a component and core distances do not count.

    The lightest edge of a point leads to its nearest neighbour, or to the first of several equally near ones.
    """
    places, distances, _, _ = lists
    weights, _, ends, _, _, inexact = candidates
    for p in range(first, last):
        weights[p], ends[p], choices[p] = distances[p, 0], places[p, 0], p
    for block in range(first // LEAF, (last + LEAF - 1) // LEAF):
        inexact[block] = 0
