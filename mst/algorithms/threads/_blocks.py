"""Cuts a graph whose ids are local into a block of vertices for each worker.

`filter-boruvka-threads` uses this; `mst.kernels.filter_boruvka.parallel.blocks` solves the blocks.
"""

from __future__ import annotations

import numpy as np

from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.parallel.blocks.division import Cut, Edges
from mst.kernels.filter_boruvka.policy import ONE_CORE, Policy
from mst.kernels.filter_boruvka.sequential.sample import Sample, Split, stratified
from mst.kernels.primitives.keys import keys_at

_MOST_BLOCKS, _MOST_CELLS = 84, 4096
_FEW_DRAWS, _DRAWS, _DRAWS_EACH = 256, 1024, 256

_FEWEST_SCATTERED = 6_000_000
"""From this many edges on, two workers also take blocks whose rows are scattered: with 4 million edges, blocks took
longer than passes that workers share, with 8 million as long (``many-cores.md``, step 82)."""


def suits_two_workers(n: int, u: np.ndarray) -> bool:
    """Return whether two workers may gain by blocks: a block's rows follow one another, or there are many edges."""
    m = len(u)
    return m >= _FEWEST_SCATTERED or _adjoin(u, stratified(m, _FEW_DRAWS), np.uint32(-(-n // 2)))


def cut_into_blocks(n: int, edges: Edges, width: int, policy: Policy, at_vertices: bool = False) -> Cut | None:
    """Return blocks of about equally many edges, one for each of `width` workers, or None if blocks do not pay off.

    They do not if too many edges leave their block, or if the graph has so many edges, not sorted by weight, that a
    filter is faster. It has `n` vertices and at least one edge. `at_vertices` is as for `Cut`.
    """
    u, v, keys = edges
    m, blocks = len(u), min(width, _MOST_BLOCKS)
    # First a cheap check, which rejects most graphs whose ids are not local.
    places, size = stratified(m, _FEW_DRAWS), np.uint32(-(-n // blocks))
    if np.count_nonzero(u[places] // size != v[places] // size) > 2 * policy.leaving * len(places):
        return None
    most = rules.most_in_blocks(n, width, not _adjoin(u, places, size), policy)
    if m > most and not _in_order(keys_at(keys, places)):
        return None
    places = stratified(m, max(_DRAWS, _DRAWS_EACH * blocks))
    shift = np.uint32(max(0, int(n - 1).bit_length() - _MOST_CELLS.bit_length() + 1))
    a, b = u[places] >> shift, v[places] >> shift
    of_cell = _blocks_of_cells((n - 1 >> int(shift)) + 1, np.sort(np.minimum(a, b)), blocks)
    a, b = of_cell[a], of_cell[b]
    leaving = a != b
    if of_cell[-1] == 0 or np.count_nonzero(leaving) > policy.leaving * len(places):
        return None
    starts = np.append(np.flatnonzero(np.diff(of_cell.astype(np.int64), prepend=-1)) << int(shift), n)
    drawn = keys_at(keys, places)
    # Edges that leave their block count in the blocks of both ends.
    of_draw = np.concatenate((a, b[leaving]))
    draws = np.concatenate((np.arange(len(a)), np.flatnonzero(leaving)))[np.argsort(of_draw, kind="stable")]
    ends = np.cumsum(np.bincount(of_draw, minlength=len(starts) - 1)).tolist()
    # Rows sorted by weight are joined one by one, which is faster than a filter.
    in_order = _in_order(drawn)
    splits, windows, light_leaving = [], [], 0
    for first, end, trees in zip([0, *ends], ends, np.diff(starts).tolist()):
        here = draws[first:end] if first < end else np.arange(len(places))
        some = Sample(places[here], drawn[here], np.sort(drawn[here]), m * len(here) // len(places))
        wanted = rules.light_edges_by_density(some.population, trees, ONE_CORE)
        takes_all = in_order or rules.takes_all(wanted, some.population, ONE_CORE)
        if at_vertices:
            splits.append(Split(keys.words.dtype.type(0), 0, 0))
        else:
            splits.append(Split.of_all(keys, m) if takes_all else some.split(wanted))
        windows.append(some.window())
        light_leaving += int(np.count_nonzero(leaving[here] & (drawn[here] <= splits[-1].key)))
    # Each of these edges is counted in both blocks. Trees that freeze early do not matter if rows are sorted.
    if not in_order and light_leaving > 2 * rules.light_share_leaving(n, m, blocks, policy) * len(places):
        return None
    split_keys, split_ids = np.array([split.key for split in splits]), np.array([split.tie for split in splits])
    lows, highs, shifts = (np.array(column, drawn.dtype) for column in zip(*windows))
    return Cut(starts, np.uint64(shift), of_cell, split_keys, split_ids, lows, highs, shifts, at_vertices)


def _in_order(drawn: np.ndarray) -> bool:
    """Return whether sampled keys ascend or descend."""
    return bool((drawn[1:] >= drawn[:-1]).all() or (drawn[1:] <= drawn[:-1]).all())


def _adjoin(u: np.ndarray, places: np.ndarray, size: np.uint32) -> bool:
    """Return whether most rows at `places` are followed by a row of the same block of `size` vertices."""
    following = np.minimum(places + 1, len(u) - 1)
    return bool(np.count_nonzero(u[places] // size == u[following] // size) >= 7 * len(places) // 8)


def _blocks_of_cells(cells: int, drawn: np.ndarray, blocks: int) -> np.ndarray:
    """Return the block of each of `cells` cells of vertices, uint8, such that blocks have about equally many edges.

    `drawn` are the cells of a sample of the edges, ascending. There may be fewer blocks than `blocks`.
    """
    begins = np.zeros(cells, np.bool_)
    begins[drawn[np.arange(1, blocks) * len(drawn) // blocks]] = True
    begins[0] = False
    return np.cumsum(begins, dtype=np.uint8)
