"""One core's Filter-Borůvka, with the passes over all edges shared by several threads.

`filter-boruvka-threads` hands graphs to this; the kernels are in `mst.kernels.filter_boruvka.parallel.passes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mst.algorithms._laps import Lap, no_lap
from mst.algorithms.sequential.filter_boruvka import Candidates, EdgeListSource, Result, grow
from mst.graph import Graph
from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.parallel import passes
from mst.kernels.filter_boruvka.parallel.blocks.division import Edges
from mst.kernels.filter_boruvka.parallel.lightest import lightest_by_worker
from mst.kernels.filter_boruvka.sequential import join
from mst.kernels.filter_boruvka.sequential.sample import Split, Window
from mst.kernels.parallel.runtime import workers
from mst.kernels.primitives.keys import LazyKeys, lazy_keys
from mst.kernels.primitives.recycled import empty

_FEW = 1 << 14
"""Up to this many edges of a round are processed by one worker alone: no other would be awake in time."""


def solve_sharing_passes(graph: Graph, width: int, lap: Lap = no_lap) -> Result:
    """Return the forest of a graph of fewer than `NARROW` vertices and edges, in the steps of one core."""
    with workers(width):
        return grow(graph, _SharedEdges(graph, width), True, lap)


@dataclass(frozen=True)
class _SharedCandidates(Candidates):
    """Candidates that `width` workers count, scatter and join; `count_buckets` leaves `counts` for `join`."""

    width: int
    counts: list[np.ndarray] = field(default_factory=list, init=False)

    def count_buckets(self, shift: np.uint64, large: int, starts: np.ndarray) -> int:
        if self.size < _FEW:
            return super().count_buckets(shift, large, starts)
        self.counts[:] = [np.empty((self.width, len(starts)), np.uint32)]
        return passes.count_codes(self.width, self.codes, self.size, shift, large, self.counts[0], starts)

    def settled_buckets(self, shift: np.uint64, keys: LazyKeys, buckets: int) -> np.ndarray:
        if self.size < _FEW:
            return super().settled_buckets(shift, keys, buckets)
        return passes.settled_buckets(self.width, self.codes, self.size, shift, keys, buckets)

    def join(
        self, cut: join.Buckets, keys: LazyKeys, forest: join.Forest, size: int, lap: Lap
    ) -> tuple[int, int, int]:
        if self.size < _FEW:
            return super().join(cut, keys, forest, size, lap)
        records, counts = empty((self.size, 2), np.uint64), self.counts[0]
        passes.scatter(self.width, self.ends, self.codes, self.size, cut.shift, counts, records)
        cut = cut._replace(starts=counts[-1])
        lap("scatter")
        lowest = passes.lowest_vertices(self.width, self.ends, self.codes[: self.size])
        taken = empty(len(forest.parent), np.uint32)
        return passes.join(self.width, records, cut, lowest, taken, keys, forest, size)

    def between_trees(self, label: np.ndarray) -> Candidates:
        if self.size < _FEW:
            return super().between_trees(label)
        count = passes.keep_between_trees(self.width, self.ends, self.codes, self.size, label)
        return replace(self, size=int(count))


class _SharedEdges(EdgeListSource):
    """An edge list that `width` workers read."""

    def __init__(self, graph: Graph, width: int) -> None:
        super().__init__(graph, lazy_keys(graph.w))
        self.width = width

    def lightest(self, label: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        if not rules.has_row_per_worker(self.m, n, self.width):
            return super().lightest(label, n)
        least, edge = empty((self.width, n), self.keys.words.dtype), empty((self.width, n), np.uint32)
        lightest_by_worker(self.width, Edges(self.ends.u, self.ends.v, self.keys), label, least, edge)
        return least[0], edge[0]

    def light(self, split: Split | None, window: Window) -> _SharedCandidates:
        codes = empty(self.m, np.uint64)
        if split is None:
            passes.select_all(self.width, self.keys, window, codes)
            return self._candidates(codes, self.m)
        return self._candidates(codes, passes.select_light(self.width, self.keys, split, window, codes))

    def heavy(self, split: Split, window: Window, label: np.ndarray) -> _SharedCandidates:
        codes, trees = empty(self.m, np.uint64), self._trees(split, label)
        count = passes.select_heavy(self.width, self.keys, split, self.ends, trees, window, codes)
        return self._candidates(codes, count)

    def _candidates(self, codes: np.ndarray, count: int) -> _SharedCandidates:
        return _SharedCandidates(codes, self.ends, int(count), self.width)
