"""Joins rows that are already sorted by weight in their order, while other threads drop edges that close cycles."""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.parallel.blocks.division import Edges
from mst.kernels.filter_boruvka.policy import Policy
from mst.kernels.filter_boruvka.sequential.in_order import direction
from mst.kernels.parallel.runtime import Schedule
from mst.kernels.primitives.keys import keys_at

_FIRST, _SLOTS = 256, 4


def join_if_in_order(
    schedule: Schedule, edges: Edges, parent: np.ndarray, forest: np.ndarray, policy: Policy
) -> int | None:
    """Write the forest of rows sorted by weight; None if they are not, or other ways are expected to be faster.

    Returns how many edges were left for one worker at a time to join. Every vertex is its own tree in `parent`, and
    `forest` is int32 of shape (n - 1,); ``tallies[FOREST]`` is the number of its edges.
    """
    m, n, width, grain = len(edges.u), len(parent), schedule.width, policy.range
    if not rules.joins_in_order(m, n, width, policy):
        return None
    # Rows in no order mostly show it at once.
    if direction(edges.keys._replace(words=edges.keys.words[:_FIRST])) == 0:
        return None
    first, last = keys_at(edges.keys, np.array((0, m - 1)))
    step = 1 if first <= last else -1
    # Most graphs need no code for this.
    from mst.kernels.filter_boruvka.parallel import in_order

    if not in_order.are_in_order(schedule, edges.keys, step):
        return None
    starts, sizes = in_order.cut_into_ranges(edges.keys, step, grain)
    ranges = in_order.new_ranges(starts, sizes, grain, _SLOTS * width)
    in_order.join_in_order(
        width, ranges, edges.keys, edges.u, edges.v, step, parent, forest, n - 1, schedule.tallies
    )
    return int(ranges.counts[ranges.counts > 0].sum())
