"""Joins rows that are already sorted by weight, in order, while other threads drop edges that close cycles."""

from __future__ import annotations

import numpy as np

from mst.algorithms._filter_boruvka.rounds import Bound
from mst.kernels.filter_boruvka.parallel.blocks.division import Edges
from mst.kernels.filter_boruvka.policy import Policy
from mst.kernels.filter_boruvka.sequential.in_order import direction
from mst.kernels.parallel.runtime import Schedule
from mst.kernels.primitives.keys import keys_at

_FIRST, _SLOTS = 256, 2
"""The number of first rows that are tested alone, and of ranges per worker that are filtered ahead of the join."""


def order_of(width: int, edges: Edges, tallies: np.ndarray) -> int:
    """Return 1 or -1 if one or more rows ascend or descend by weight, else 0."""
    m = len(edges.u)
    # The first rows mostly show if there is no order.
    if direction(edges.keys._replace(words=edges.keys.words[:_FIRST])) == 0:
        return 0
    first, last = keys_at(edges.keys, np.array((0, m - 1)))
    step = 1 if first <= last else -1
    # Imported here, since most graphs do not need this code.
    from mst.kernels.filter_boruvka.parallel.in_order import are_in_order

    return step if are_in_order(Schedule(width, 1 << 14, tallies), edges.keys, step) else 0


def join_in_order(
    width: int,
    edges: Edges,
    step: int,
    parent: np.ndarray,
    forest: np.ndarray,
    tallies: np.ndarray,
    policy: Policy,
) -> int:
    """Write the forest of rows in the order of `step`; return how many edges the workers did not drop before joining.

    Every vertex is a separate tree in `parent`. `forest` is int32 of shape (n - 1,), and ``tallies[FOREST]`` becomes
    the number of edges in it.
    """
    from mst.kernels.filter_boruvka.parallel import in_order

    starts, sizes = in_order.cut_into_ranges(edges.keys, step, policy.range)
    ranges = in_order.new_ranges(starts, sizes, policy.range, _SLOTS * width)
    missing = len(parent) - 1
    in_order.join_in_order(width, ranges, edges.keys, edges.u, edges.v, step, parent, forest, missing, tallies)
    return int(ranges.counts[ranges.counts > 0].sum())


def rows_between(edges: Edges, step: int, low: Bound, high: Bound) -> tuple[int, int]:
    """Return the first, and the end, of those rows in the order of `step` that are above `low` and at most `high`."""
    from mst.kernels.filter_boruvka.parallel import in_order

    return in_order.rows_between(edges.keys, step, *low, *high)
