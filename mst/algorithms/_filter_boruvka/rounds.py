"""The rounds of Filter-Borůvka with many workers: which edges each round joins, decided from a sample.

A round takes the lightest of the remaining edges that may still join two trees, slightly more edges than there are
trees. The drivers of threads and ranks sample, select, scatter and join; they take these decisions from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mst.arrays import distinct_values
from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.parallel.records import AnyRecords, share_on_equal_lines
from mst.kernels.filter_boruvka.parallel.sample import quantiles
from mst.kernels.filter_boruvka.parallel.select import Wanted
from mst.kernels.filter_boruvka.policy import MOST_BATCHES, SELECTIVE, Policy

Bound = tuple[Any, int]
"""A key and an edge id: edges compare by (key, id)."""


class Sampled(NamedTuple):
    """A sample of the remaining edges that join two trees.

    Attributes
    ----------
    keys : numpy.ndarray of uint32 or uint64, shape (hits,)
    ids : numpy.ndarray of int64, shape (hits,)
    edges : float
        The number of edges that the sample represents.
    """

    keys: np.ndarray
    ids: np.ndarray
    edges: float

    def bounds(self, fractions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the (key, edge id) at about each of `fractions` of the edges in order."""
        return quantiles(self.keys, self.ids, fractions)


class Round(NamedTuple):
    """The edges that a round joins.

    Attributes
    ----------
    high : Bound
        The last edge that the round may take.
    keys, ids : numpy.ndarray, shape (batches - 1,)
        Bounds between batches.
    selective : bool
        Whether the round selects few of the edges that it reads.
    edges, remaining : int
        About how many edges the round joins, and how many edges join two trees before it.
    """

    high: Bound
    keys: np.ndarray
    ids: np.ndarray
    selective: bool
    edges: int
    remaining: int


@dataclass
class Progress:
    """The progress of a computation.

    Attributes
    ----------
    n : int
        Number of vertices.
    width : int
        Number of workers.
    policy : Policy
    highest : Bound
        A bound above all edges.
    low : Bound
        The last edge of earlier rounds.
    size : int
        Number of edges that a round reads.
    heavy : int
        Number of edges kept by the last filter and not yet joined.
    missing : int
        Number of edges that a spanning tree still lacks.
    parent : numpy.ndarray of uint32 or uint64, shape (n,)
    in_giant : numpy.ndarray of uint64, shape (⌈n / 64⌉,), or None
        Bitmap of the largest tree's vertices; None before the first round, and once edges within it are filtered out.
    giant_share : float
        Approximate share of the vertices that are in the largest tree.
    flat : bool
        Whether every vertex points at its root; true from the second round on.
    """

    n: int
    width: int
    policy: Policy
    highest: Bound
    low: Bound
    size: int
    heavy: int
    missing: int
    parent: np.ndarray
    in_giant: np.ndarray | None = None
    giant_share: float = 0.0
    flat: bool = False

    @property
    def unfinished(self) -> bool:
        return self.size > 0 and self.missing > 0 and self.low != self.highest

    @property
    def trees(self) -> int:
        """The number of trees, if the graph is connected."""
        return self.missing + 1

    @property
    def has_giant(self) -> bool:
        """Whether most vertices are in one tree, so that edges outside it are worth copying."""
        return self.giant_share > self.policy.giant

    def end_round(self, following: Round) -> None:
        """Record that a round has been joined."""
        self.low, self.heavy = following.high, following.remaining - following.edges

    def is_contended(self, records: AnyRecords) -> bool:
        """Return whether workers that join these records often need the same cache lines of parents."""
        if self.width == 1:
            return False
        few = self.n < self.policy.contended * self.width
        return few or share_on_equal_lines(records) > self.policy.crowded

    def wanted(self, following: Round) -> Wanted:
        """Return the edges that a round selects."""
        # Without a giant tree, the bitmap of the largest tree shows few edges to be inside, so roots are compared. The
        # exception is weights that depend on communities: light edges have joined some of these and left others open.
        all_open = not self.has_giant and following.remaining > self.policy.max_kept_share * self.heavy
        compare_roots = self.in_giant is not None and not self.has_giant and not all_open
        in_giant = np.empty(0, np.uint64) if self.in_giant is None or all_open else self.in_giant
        return Wanted(*self.low, *following.high, following.selective, in_giant, self.parent, compare_roots)


def lowest_bound(key_type: Any) -> Bound:
    """Return the bound below all edges."""
    return key_type(0), -1


def highest_bound(key_type: Any, last_id: int) -> Bound:
    """Return the bound above all edges."""
    return ~key_type(0), last_id


def next_round(progress: Progress, sampled: Sampled, *, light: float = 0, every_key: bool = False) -> Round:
    """Return the next round: all remaining edges, or the light ones, about `light` if that is not 0.

    With `every_key`, each batch has a single key if there are few enough keys.
    """
    p, policy = progress, progress.policy
    if len(sampled.keys) == 0:
        none = np.empty(0, p.highest[0].dtype), np.empty(0, np.int64)
        return Round(p.highest, *none, selective=True, edges=0, remaining=0)
    whole = False
    if not light:
        light = rules.light_edges(sampled.edges, p.trees, policy)
        if not p.flat:
            whole = rules.takes_all(light, sampled.edges, policy)
        else:
            spared = (sampled.edges - light) * rules.expected_drop_share(sampled.edges, p.heavy)
            whole = spared * policy.reads_per_join < p.size + 2 * p.n + policy.round_cost * p.width
    share = 1.0 if whole else light / sampled.edges
    count = rules.batch_count(sampled.edges * share, p.trees, p.width, policy)
    keys, ids = sampled.bounds(np.arange(1, count + (not whole)) * (share / count))
    high, selective = p.highest, False
    if not whole:
        high, selective = (keys[-1], int(ids[-1])), light * SELECTIVE < p.size
        keys, ids = keys[:-1], ids[:-1]
    if every_key:
        keys, ids = with_every_key(keys, ids, sampled.keys[sampled.keys < high[0]], p.highest[1])
    return Round(high, keys, ids, selective, int(sampled.edges * share), int(sampled.edges))


def with_every_key(
    bound_keys: np.ndarray, bound_ids: np.ndarray, keys: np.ndarray, last_id: int, most: int = MOST_BATCHES
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds and another one after each of `keys`, so that each batch has a single key.

    If there would be more than `most` bounds, the given ones are returned.
    """
    distinct = distinct_values(keys)
    all_keys = np.append(bound_keys, distinct)
    all_ids = np.append(bound_ids, np.full(len(distinct), last_id))
    if len(all_keys) > most:
        return bound_keys, bound_ids
    permutation = np.lexsort((all_ids, all_keys))
    return all_keys[permutation], all_ids[permutation]


def single_key_batches(keys: np.ndarray, ids: np.ndarray, last_id: int) -> np.ndarray:
    """Return which batches between these bounds hold a single key, so that their edges may be taken in any order.

    The bounds must be exact, and `last_id` is the id of those that `with_every_key` has added.
    """
    single = np.zeros(len(keys) + 1, np.bool_)
    step = np.diff(keys)
    single[1:-1] = (step == 0) | ((step == 1) & (ids[:-1] == last_id))
    return single
