"""Two steps of `mst.kernels.points.rounds`: components are linked by the chosen edges, then find their roots."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.runtime import FOREST, LIVE, next_chunk
from mst.kernels.points.state import Edges, as_bits
from mst.kernels.primitives.atomics import fetch_add
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call
from mst.kernels.union_find.sequential import fourth_ancestor


@njit
def link_worker(worker, schedule, roots, candidates, components, joins, edges):
    """One worker of the first step: it appends the chosen edges of components to `edges`, and sets parents."""
    width, grain, tallies = schedule
    n = components.of.size
    linked = new_edges(grain)
    first, last = next_chunk(tallies, worker, width, grain, roots.size)
    while first < last:
        size = call(link, roots[first:last], candidates, components, joins, linked, 0, 0, n)
        append(linked, size, edges, tallies)
        first, last = next_chunk(tallies, worker, width, grain, roots.size)


@njit
def link(roots, candidates, components, joins, edges, size, first, last):
    """Write the chosen edges that lead to the places ``first … last - 1``, and the parents of their components.

    `roots`, int32 (k,), are some components; `edges`, an `Edges`, are written from `size` on. Returns how many
    edges there are then.
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
def settle_worker(worker, schedule, roots, left, components, joins):
    """One worker of the second step: it finds the components' roots, and writes the remaining ones to `left`."""
    width, grain, tallies = schedule
    first, last = next_chunk(tallies, worker, width, grain, roots.size)
    while first < last:
        size = call(settle, roots[first:last], components, joins)
        start = fetch_add(tallies, LIVE, size)
        for i in range(size):
            left[start + i] = roots[first + i]
        first, last = next_chunk(tallies, worker, width, grain, roots.size)


@njit
def settle(roots, components, joins):
    """After `link`, set the parent of some components to their root and their limit to infinity; clear their choice.

    `roots`, int32 (k,), are these components; those that are still roots are moved to the front. Returns their number.
    Several workers may call this for different `roots`: a parent that one replaces, and others read, is still an
    ancestor.
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
def new_edges(size):
    """Return `size` uninitialised `Edges`."""
    return Edges(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size))


@njit
def append(some, size, edges, tallies):
    """Append the first `size` of `some` to the ``tallies[FOREST]`` edges in `edges`; many threads may do so at once.

    `some` and `edges` are `Edges`.
    """
    a_places, b_places, weights = edges
    start = fetch_add(tallies, FOREST, size)
    for i in range(size):
        a_places[start + i], b_places[start + i], weights[start + i] = some.a[i], some.b[i], some.weights[i]
