"""A step of `mst.kernels.points.rounds`: candidates are read from the lists of nearest neighbours."""

from __future__ import annotations

import numpy as np

from mst.kernels.parallel.runtime import next_chunk
from mst.kernels.points.lanes import LEAF, first_lane
from mst.kernels.points.state import lower
from mst.kernels.primitives.jit import njit
from mst.kernels.primitives.out_of_line import call


@njit
def lists_worker(worker, schedule, plain, lists, candidates, components):
    """One worker of this step: it replaces candidates that lie within a component, from the lists."""
    width, grain, tallies = schedule
    n = components.of.size
    first, last = next_chunk(tallies, worker, width, grain, n)
    while first < last:
        call(read_lists, first, last, width == 1, plain, lists, candidates, components)
        first, last = next_chunk(tallies, worker, width, grain, n)


@njit
def read_lists(first, last, alone, plain, lists, candidates, components):
    """Update the candidates of the places ``first … last - 1`` and lower the limits; `first` begins a block."""
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
            component, q = of[p], ends[p]
            if q < 0 or of[q] == component:
                exact, q = False, np.int32(-1)
                if plain and listed < LEAF:
                    # Without a branch for each neighbour, which would be mispredicted.
                    outside = 1 << listed
                    for i in range(listed):
                        outside |= np.int64(of[places[p, i]] != component) << i
                    i = first_lane(outside)
                    if i < listed:
                        weights[p], q, exact = distances[p, i], places[p, i], True
                else:
                    weight, distance = np.inf, np.inf
                    for i in range(listed):
                        other, d = places[p, i], distances[p, i]
                        # Later neighbours have no smaller weight, and are no nearer.
                        if other < 0 or max(d, core[p]) >= weight:
                            break
                        w = max(d, core[p], core[other])
                        if of[other] != component and (w < weight or (w == weight and d < distance)):
                            weight, distance, q = w, d, other
                    weights[p], apart[p] = weight, distance
                    # Points beyond the list come after its last one in the order of (distance, point).
                    radius = max(core[p], distances[p, -1])
                    exact = q >= 0 and (weight <= radius or weight < bounds[p])
                ends[p] = q
                unsure = unsure & ~lane if exact else unsure | lane
            if q >= 0:
                lower(limits, component, weights[p], alone)
            else:
                left ^= lane
        awake[block], inexact[block] = left, unsure
