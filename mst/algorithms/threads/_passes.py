"""Filter-Borůvka of one core with its passes over all edges shared by several threads."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mst.algorithms._laps import Lap, no_lap
from mst.algorithms.sequential.filter_boruvka import (
    Candidates,
    EdgeList,
    Forest,
    Result,
    choose_light,
    cut_light,
    share_between_trees,
)
from mst.graph import Graph
from mst.kernels.filter_boruvka.parallel import passes
from mst.kernels.filter_boruvka.policy import ONE_CORE
from mst.kernels.filter_boruvka.sequential import select
from mst.kernels.filter_boruvka.sequential.sample import Split, Window
from mst.kernels.filter_boruvka.sequential.trees import giant_label, mark_outside
from mst.kernels.parallel.runtime import workers
from mst.kernels.primitives.keys import lazy_keys

_ALL = np.uint32(2**32 - 1)


def solve_sharing_passes(graph: Graph, width: int, lap: Lap = no_lap) -> Result:
    """Return the forest of a graph that is narrow enough for one core's Filter-Borůvka, found in the same steps."""
    with workers(width):
        return _grow(graph, _SharedEdges(graph, width), lap)


def _grow(graph: Graph, edges: _SharedEdges, lap: Lap) -> Result:
    """As `mst.algorithms.sequential.filter_boruvka.grow`."""
    forest = Forest(graph, edges.keys_by_id, lap)
    if edges.m == 0:
        return forest.result()
    split, light_window, heavy_window = choose_light(edges, forest.missing, True)
    lap("sample")
    light = edges.light(split, light_window)
    lap("select light")
    forest.join(light, light_window.largest_level)
    del light
    if split is None or forest.missing == 0:
        return forest.result()
    forest.flatten()
    rest = edges.heavy(split, heavy_window, forest.parent)
    forest.counters["open"] = rest.size
    share_left = rest.size / max(edges.m - forest.counters["light"], 1)
    lap("select heavy")
    while rest.size and forest.missing:
        at_once = edges.at_once if share_left > ONE_CORE.max_kept_share else 0
        lightest, largest_level, others = cut_light(rest, heavy_window.largest_level, forest.missing, at_once)
        lap("cut")
        forest.join(edges.shared(lightest.codes, lightest.size), largest_level)
        del lightest
        rest = edges.shared(others.codes, others.size)
        if rest.size:
            forest.flatten()
            before, rest = rest.size, rest.between_trees(forest.parent)
            share_left = rest.size / before
            lap("keep open")
    return forest.result()


@dataclass(frozen=True)
class _SharedCandidates(Candidates):
    """Candidates that `width` workers count and scatter."""

    width: int
    places: list[np.ndarray] = field(default_factory=list)

    def count_buckets(self, shift: np.uint64, large: int, starts: np.ndarray) -> int:
        self.places[:] = [np.empty((self.width, len(starts)), np.uint32)]
        return passes.count_codes(self.width, self.codes, self.size, shift, large, self.places[0], starts)

    def scatter(self, shift: np.uint64, buckets: np.ndarray, records: np.ndarray) -> None:
        passes.scatter(self.width, self.ends, self.codes, self.size, shift, self.places[0], records)
        buckets[:] = self.places[0][-1]

    def between_trees(self, label: np.ndarray) -> _SharedCandidates:
        count = passes.keep_between_trees(self.width, self.ends, self.codes, self.size, label)
        return _SharedCandidates(self.codes, self.ends, int(count), self.width)


class _SharedEdges(EdgeList):
    """An edge list that `width` workers read."""

    def __init__(self, graph: Graph, width: int) -> None:
        super().__init__(graph, lazy_keys(graph.w))
        self.width = width

    def light(self, split: Split | None, window: Window) -> _SharedCandidates:
        codes: np.ndarray = np.empty(self.m, np.uint64)
        if split is None:
            passes.select_all(self.width, self.keys, window, codes)
            return self.shared(codes, self.m)
        return self.shared(codes, passes.select_light(self.width, self.keys, split, window, codes))

    def heavy(self, split: Split, window: Window, label: np.ndarray) -> _SharedCandidates:
        codes = np.empty(self.m, np.uint64)
        giant, share = giant_label(label)
        if share > ONE_CORE.giant:
            outside = mark_outside(label, giant)
        elif share_between_trees(self.ends.u, self.ends.v, label, split) > ONE_CORE.max_kept_share:
            outside = np.full(len(label) // 32 + 1, _ALL, np.uint32)
        else:
            outside = np.empty(0, np.uint32)
        trees = select.Trees(label, outside)
        count = passes.select_heavy(self.width, self.keys, split, self.ends, trees, window, codes)
        return self.shared(codes, count)

    def shared(self, codes: np.ndarray, count: int) -> _SharedCandidates:
        """Return the first `count` of these codes as candidates."""
        return _SharedCandidates(codes, self.ends, int(count), self.width)
