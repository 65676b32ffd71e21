"""Drops edges that close cycles with edges in nearby rows before the first round, if weights follow rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mst.kernels.filter_boruvka.policy import Policy
from mst.kernels.filter_boruvka.sequential.sample import stratified
from mst.kernels.primitives.keys import LazyKeys, keys_at

_DRAWS, _APART, _TRIED = 256, 7, 2


def rows_left_by_tiles(
    n: int,
    u: np.ndarray,
    v: np.ndarray,
    keys: LazyKeys,
    width: int,
    policy: Policy,
    *,
    unless: Callable[[], bool] | None = None,
) -> np.ndarray | None:
    """Return the rows that may be in the forest, ascending, uint32; None if tiles are not expected to pay off.

    `unless` is called if tiles seem to pay off; None is also returned if it returns true. `u` and `v` are uint32; the
    caller has set `width` threads (`mst.kernels.parallel.runtime.workers`).
    """
    m = len(u)
    if policy.left_by_tiles < 1:
        few = m < policy.fewest_for_tiles * n or m < policy.tile * width
        if few or not _follow_rows(n, u, v, keys, policy) or (unless and unless()):
            return None
    # Imported here, since most graphs do not need this code.
    from mst.kernels.filter_boruvka.parallel.tiles import filter_tiles
    from mst.kernels.parallel.compact import compact
    from mst.kernels.parallel.runtime import LIVE, Schedule, new_tallies

    tallies = new_tallies(width)
    schedule, mask = Schedule(width, policy.tile, tallies), np.empty(-(-m // 64), np.uint64)
    step = max(1, -(-m // policy.tile) // (_TRIED * width))
    filter_tiles(schedule, u, v, keys, step, mask)
    if tallies[LIVE] * step > policy.left_by_tiles * m:
        return None
    if step > 1:
        filter_tiles(schedule, u, v, keys, 1, mask)
    return compact(mask, width, policy.tile // 64, tallies, np.uint32)


def _follow_rows(n: int, u: np.ndarray, v: np.ndarray, keys: LazyKeys, policy: Policy) -> bool:
    """Return whether most edges connect nearby ids, and weights follow rows that are not sorted by weight."""
    places = stratified(len(u) - _APART, _DRAWS)
    reach = 2 * policy.tile * n // len(u)
    if np.count_nonzero(np.abs(u[places].astype(np.int64) - v[places]) <= reach) < len(places) // 2:
        return False
    drawn, later = keys_at(keys, places), keys_at(keys, places + _APART)
    if (drawn <= later).all() or (drawn >= later).all():
        return False
    limit = np.sort(drawn)[int(min(0.5, policy.light * n / len(u)) * len(places))]
    light = drawn <= limit
    share = np.count_nonzero(light) / len(places)
    both = np.count_nonzero(light & (later <= limit)) / len(places)
    return bool(both > (share**2 + share) / 2)
