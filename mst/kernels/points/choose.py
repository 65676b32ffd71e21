"""A step of `mst.kernels.points.rounds`: each component chooses the lightest candidate of its points."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.runtime import next_chunk
from mst.kernels.points.lanes import LEAF, first_lane
from mst.kernels.points.state import as_bits
from mst.kernels.primitives.atomics import compare_and_swap, load
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call


@njit
def choose_worker(worker, schedule, tree, candidates, components, choices):
    """One worker of this step: it chooses the lightest candidate of each component."""
    width, grain, tallies = schedule
    n = components.of.size
    found = np.empty(grain, np.int32)
    first, last = next_chunk(tallies, worker, width, grain, n)
    while first < last:
        size = call(collect, first, last, candidates, components, found)
        call(choose, found[:size], width == 1, tree.points, candidates, components, choices)
        first, last = next_chunk(tallies, worker, width, grain, n)


@njit
def collect(first, last, candidates, components, found):
    """Write the places of ``first … last - 1`` whose candidate weighs as much as its component's limit to `found`.

    Place `first` begins a block, and `found` is int32. Returns the number of places written.
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
def choose(found, alone, points, candidates, components, choices):
    """Choose the lightest candidate of each component at the places `found`, int32 of shape (k,).

    `points` is a field of the k-d tree.
    """
    _, apart, ends, _, _, _ = candidates
    of, _, _ = components
    for p in found:
        component = of[p]
        other = load(choices, component)
        while other < 0 or _is_before(p, other, apart, ends, points):
            if alone:
                choices[component] = p
                break
            seen = compare_and_swap(choices, component, other, p)
            if seen == other:
                break
            other = seen


@njit
def _is_before(p, other, apart, ends, points):
    """Return whether the candidate of place `p` comes before the one of place `other`, which weighs the same.

    `apart` are the distances of `Candidates`, and `ends` their ends; `points` is as for `choose`.
    """
    if apart[p] != apart[other]:
        return apart[p] < apart[other]
    a, b = points[p], points[ends[p]]
    c, d = points[other], points[ends[other]]
    return min(a, b) < min(c, d) or (min(a, b) == min(c, d) and max(a, b) < max(c, d))
