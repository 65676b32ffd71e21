"""Filter-Borůvka on one core: light edges in batches, then only the heavy ones that they leave open.

1. A sample of the weights tells which edges are light: somewhat more than there are vertices (`LIGHT`).
2. The light edges are joined as by Kruskal, though not one by one and not sorted: scattered into buckets of
   ascending weight, and joined a bucket at a time (`mst.kernels.filter_boruvka.batches`). This is what takes
   the place of
   Borůvka's rounds, whose contractions pay on many cores; on one, a tree edge costs less this way.
3. By now most vertices are in one giant tree. A heavy edge inside it closes a cycle whose other edges are all
   light, so only edges with an end outside can belong to the forest: a bitmap of a bit per vertex, which fits
   the second-level cache, sifts the heavy edges. Of compressed sparse rows, the giant's rows are not even read.
4. What is left open is solved in the same way, its lightest first, until it is about as few as the trees.

The filter is that of Filter-Kruskal (Osipov, Sanders and Singler, ALENEX 2009), taken where it is cheapest; the
threshold by sampling is in ECL-MST, too (Fallin et al., SC 2023, §3.3). What each step costs, and what else was
tried, is in docs/performance.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mst.algorithms._laps import Lap, Laps, no_lap
from mst.graph import frozen
from mst.kernels.filter_boruvka import batches, filter_rows
from mst.kernels.filter_boruvka import filter as edge_filter
from mst.kernels.filter_boruvka.filter import Ends, Sample, Split, Window, stratified
from mst.kernels.primitives.keys import LazyKeys, lazy_keys

ALGORITHM = dict(
    id="filter-boruvka",
    paradigm="sequential",
    paper="ours",
    title="Filter-Borůvka",
    input="edges",
    options=dict(
        filter=dict(default=True, help="join the lightest edges first and filter the others by that forest"),
        input=dict(default="edges", choices=("edges", "csr"), help="read the edge list, or symmetric CSR"),
    ),
    requires=("numba",),
)

LIGHT = 1.3
"""Light edges per tree that is left; more where edges are so many that reading them again costs more."""

NEARLY_ALL = 0.75
"""Above this share of light edges it is cheaper to take all edges as light."""

GIANT = 0.25
"""Share of the vertices from which on a tree is worth a bitmap."""

USELESS = 0.8
"""Share of the edges that a filter leaves open above which no further one is tried: weights follow communities."""

FEW = 4096
"""So many open edges are joined without further filtering."""

CROWDED = 1 / 8
"""Share of the edges in one of 64 equal ranges of keys from which on buckets must be fitted to the keys."""

NARROW = 2**31
"""Graphs of as many vertices or edges take the generic path: records of the batches hold 32-bit ids."""

_ALL = np.uint32(2**32 - 1)


class Problem(NamedTuple):
    """A graph, where light and heavy edges are found (None: on the generic path), and the option `filter`."""

    graph: Any
    source: Any
    filtering: bool


class Candidates(NamedTuple):
    """Tags of edges, where to find their ends, and how many of them count."""

    tags: np.ndarray
    ends: Ends
    count: int

    def open(self, label: np.ndarray) -> Candidates:
        """Return those whose ends differ in `label`, in place of all."""
        return self._replace(count=edge_filter.keep_open(self.ends, self.tags, self.count, label))

    def count_buckets(self, shift, crowd: int, bounds: np.ndarray) -> int:
        """Make `bounds` the start of each bucket; return how many tags are in buckets of more than `crowd`."""
        return batches.count_tags(self.tags, self.count, shift, crowd, bounds)

    def scatter(self, shift, bounds: np.ndarray, records: np.ndarray) -> None:
        """Write a record of each edge into its bucket."""
        batches.scatter(self.ends, self.tags, self.count, shift, bounds, records)


class AllRows(NamedTuple):
    """All edges of compressed sparse rows in a window of keys, scattered from where they lie: no tag is written."""

    rows: Rows
    window: Window

    @property
    def count(self) -> int:
        return self.rows.m

    def count_buckets(self, shift, crowd: int, bounds: np.ndarray) -> int:
        """As of `Candidates`."""
        return filter_rows.count_slots(self.rows.keys, self.window, shift, crowd, bounds)

    def scatter(self, shift, bounds: np.ndarray, records: np.ndarray) -> None:
        """As of `Candidates`."""
        filter_rows.scatter_slots(*self.rows.starts(), *self.rows.slots, self.window, shift, bounds, records)


@dataclass
class Result:
    """Edge ids, and what was counted on the way."""

    edge_ids: np.ndarray
    counters: dict[str, Any]


def prepare(graph, *, width, filter, input):
    if max(graph.n, graph.m) >= NARROW:
        return Problem(graph, None, filter)
    return Problem(graph, EdgeList(graph, lazy_keys(graph.w)) if input == "edges" else Rows(graph), filter)


def solve(problem, lap: Lap = no_lap):
    """Return the forest; `lap` is called after each phase with its name."""
    graph, source, filtering = problem
    if source is None:
        from mst.algorithms.sequential._lazy_kruskal import lazy_kruskal, workspace

        return Result(lazy_kruskal(*workspace(graph), 16_384, 63, filtering), {})
    return grow(graph, source, filtering, lap)


def collect(problem, result):
    return result.edge_ids


def counters(problem, result):
    return result.counters


def phases(problem):
    laps = Laps()
    solve(problem, laps)
    return laps.seconds


def grow(graph, source, filtering: bool, lap: Lap) -> Result:
    """Return the forest of the edges of `source`, whose keys need not be the graph's weights."""
    forest = Growing(graph, source.keys_by_id, lap)
    if source.m == 0:
        return forest.result()
    split, window, rest = choose_light(source, forest.left, filtering)
    lap("sample")
    light = source.light(split, window)
    lap("select light")
    forest.join(light, window.largest_rank)
    del light
    if split is None or forest.left == 0:
        return forest.result()
    forest.flatten()
    still_open = source.heavy(split, rest, forest.parent)
    forest.counters["open"] = still_open.count
    # Where all weights are equal, nothing may be heavy.
    left_open = still_open.count / max(source.m - forest.counters["light"], 1)
    lap("select heavy")
    while still_open.count and forest.left:
        at_once = source.at_once if left_open > USELESS else 0
        light, largest_rank, still_open = cut_light(still_open, rest.largest_rank, forest.left, at_once)
        lap("cut")
        forest.join(light, largest_rank)
        del light
        if still_open.count:
            forest.flatten()
            before, still_open = still_open.count, still_open.open(forest.parent)
            left_open = still_open.count / before
            lap("keep open")
    return forest.result()


def choose_light(source, trees: int, filtering: bool) -> tuple[Split | None, Window, Window]:
    """Return where light ends, or None if all edges are to be light, and the windows of light and of heavy keys."""
    wanted = int(LIGHT * (trees + 1) * max(1.0, source.m / (8 * (trees + 1))) ** 0.3)
    sample = source.sample(min(32_768, max(1024, 64 * source.m // wanted)))
    if not filtering or (wanted > NEARLY_ALL * source.m and source.takes_all):
        return None, sample.window(), sample.window()
    split = sample.split(min(wanted, source.at_once))
    return split, sample.window(high=split.key), sample.window(low=split.key)


def cut_light(candidates: Candidates, largest_rank: int, trees: int, at_once: int):
    """Return the lightest of the candidates, their largest rank, and the others.

    All of them are light if they are few, or not many more than the trees, or no more than `at_once`.
    """
    tags, ends, count = candidates
    wanted = max(int(LIGHT * trees), count // 4)
    none = Candidates(tags, ends, 0)
    if count <= max(FEW, 2 * wanted, at_once):
        return candidates, largest_rank, none
    ranks = np.sort(tags[stratified(count, 1024)] >> np.uint64(32))
    limit = ranks[len(ranks) * wanted // count]
    light, pairs = np.empty(count, np.uint64), np.empty(count if len(ends.pairs) else 0, np.uint64)
    moved = edge_filter.move_light(tags, ends.pairs, count, limit, light, pairs)
    return Candidates(light, ends._replace(pairs=pairs), moved), int(limit), none._replace(count=count - moved)


@dataclass
class Growing:
    """A forest that grows: a union-find over the vertices and the edges taken."""

    graph: Any
    keys: LazyKeys
    lap: Lap
    size: int = 0
    counters: dict[str, Any] = field(default_factory=lambda: dict(light=0, levels=0, conflicts=0))

    def __post_init__(self):
        n, m = self.graph.n, self.graph.m
        self.parent = np.arange(n, dtype=np.uint32)
        # One more than a forest can have: kernels write ahead of what they keep.
        self.edges = np.empty(max(min(n - 1, m), 0) + 1, np.uint32)

    @property
    def left(self) -> int:
        """How many edges a spanning tree still lacks."""
        return self.graph.n - 1 - self.size

    def join(self, candidates: Candidates | AllRows, largest_rank: int) -> None:
        """Take those of the candidates, all of them lighter than any edge still to come, that close no cycle."""
        count = candidates.count
        if count == 0:
            return
        batch = max(8, int(self.left ** (1 / 3)))
        bits = max(0, largest_rank.bit_length() - max(1, (count // batch).bit_length()))
        shift, bounds = np.uint64(32 + bits), np.zeros((largest_rank >> bits) + 1, np.uint32)
        crowded = candidates.count_buckets(shift, 8 * batch, bounds)
        if crowded > count // 16 and bits and isinstance(candidates, Candidates):
            buckets = batches.refine(candidates.tags, count, shift, bounds, batch)
            shift, bounds = np.uint64(32), np.zeros(buckets, np.uint32)
            crowded = candidates.count_buckets(shift, 8 * batch, bounds)
        self.lap("count")
        scattered = np.empty((count, 2), np.uint64)
        candidates.scatter(shift, bounds, scattered)
        self.lap("scatter")
        smallest, largest = max(4, batch // 2), 16 * batch
        if crowded:
            batches.put_in_order(scattered, bounds, largest, self.keys)
            self.lap("put in order")
        self.size, conflicts = batches.join(
            scattered, bounds, smallest, largest, self.keys, self.parent, self.edges, self.size
        )
        self.lap("join")
        self.counters["light"] += count
        self.counters["levels"] += 1
        self.counters["conflicts"] += conflicts

    def flatten(self) -> None:
        """Make every vertex's parent its root."""
        edge_filter.flatten(self.parent)
        self.lap("flatten")

    def result(self) -> Result:
        return Result(self.edges[: self.size], self.counters)


class EdgeList:
    """An edge list as a source of light and of heavy edges."""

    def __init__(self, graph, keys: LazyKeys):
        self.m = graph.m
        self.keys = self.keys_by_id = keys
        # Of 24 bytes a vertex and 16 an edge, the union-find takes 8 a vertex, and a light edge 24 bytes.
        self.at_once = 2 * (graph.n + graph.m) // 3
        self.u, self.v = graph.u.view(np.uint32), graph.v.view(np.uint32)
        self.ends = Ends(self.u, self.v, np.empty(0, np.uint64))

    @property
    def takes_all(self) -> bool:
        """Whether all edges may be light."""
        return self.m <= self.at_once

    def sample(self, size: int) -> Sample:
        places = stratified(self.m, size)
        return edge_filter.sample(self.keys, places, places, self.m)

    def light(self, split: Split | None, window: Window) -> Candidates:
        tags = np.empty(self.m, np.uint64)
        if split is None:
            return Candidates(tags, self.ends, edge_filter.select_all(self.keys, window, tags))
        return Candidates(tags, self.ends, edge_filter.select_light(self.keys, split, window, tags))

    def heavy(self, split: Split, window: Window, label: np.ndarray) -> Candidates:
        tags = np.empty(self.m, np.uint64)
        giant, share = edge_filter.giant_label(label)
        if share > GIANT:
            outside = edge_filter.mark_outside(label, giant)
        elif share_open(self.u, self.v, label, split) > USELESS:
            outside = np.full(len(label) // 32 + 1, _ALL, np.uint32)
        else:
            outside = np.empty(0, np.uint32)
        count = edge_filter.select_heavy(self.keys, split, self.u, self.v, label, outside, window, tags)
        return Candidates(tags, self.ends, count)


class Rows:
    """Symmetric compressed sparse rows as a source of light and of heavy edges."""

    def __init__(self, graph):
        csr = graph.csr()
        self.graph_m, self.m = graph.m, len(csr.weights) // 2
        # Of 24 bytes a vertex and 16 an edge, the union-find takes 8 a vertex and the rows' starts 4 and 2, which
        # an allocator may keep; a tagged edge takes 32 bytes, and tables of buckets a little.
        self.at_once = max(1, (6 * graph.n + 7 * self.m) // 17)
        self.offsets, self.keys = csr.offsets, lazy_keys(frozen(csr.weights))
        self.keys_by_id = lazy_keys(graph.w)
        self.neighbours, self.ids = csr.neighbours.view(np.uint32), csr.edge_ids.view(np.uint32)
        self.u, self.v = graph.u.view(np.uint32), graph.v.view(np.uint32)
        self.no_ends = frozen(np.empty(0, np.uint32))
        self.slots = self.neighbours, self.keys, self.ids
        self.spread = False

    @property
    def takes_all(self) -> bool:
        """As of `EdgeList`; without tags there is always room."""
        return self.spread or self.m <= self.at_once

    def sample(self, size: int) -> Sample:
        places = stratified(2 * self.m, size)
        sample = edge_filter.sample(self.keys, places, self.ids[places].astype(np.int64), self.m)
        self.spread = sample.densest() < CROWDED
        return sample

    def light(self, split: Split | None, window: Window) -> Candidates | AllRows:
        if split is None and self.spread:
            return AllRows(self, window)
        split = split or Split.of_all(self.keys, self.graph_m)
        if not edge_filter.is_rare(split, self.m):
            return self._of_all_rows(split, False, window)
        tags, ends = self._room()
        count = filter_rows.select_rare_slots(self.offsets, *self.slots, split, window, tags, ends.pairs)
        return Candidates(tags, ends, count)

    def heavy(self, split: Split, window: Window, label: np.ndarray) -> Candidates:
        giant, share = edge_filter.giant_label(label)
        if share <= GIANT:
            all_of_them = self._of_all_rows(split, True, window)
            useless = share_open(self.u, self.v, label, split) > USELESS
            return all_of_them if useless else all_of_them.open(label)
        tags, ends = self._room()
        rows = self.offsets, self.neighbours, self.keys, self.ids
        count = filter_rows.select_heavy_rows(*rows, split, label, giant, window, tags, ends.pairs)
        return Candidates(tags, ends, count)

    def starts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where rows start, marked slot by slot, and the rows that have slots."""
        starts, rows = np.zeros(2 * self.m + 1, np.uint8), np.empty(len(self.offsets), np.uint32)
        filter_rows.row_starts(self.offsets, starts, rows)
        return starts, rows

    def _of_all_rows(self, split: Split, heavy: bool, window: Window) -> Candidates:
        tags, ends = self._room()
        count = filter_rows.select_slots(*self.starts(), *self.slots, split, heavy, window, tags, ends.pairs)
        return Candidates(tags, ends, count)

    def _room(self):
        # One more than there are edges: kernels write ahead of what they keep.
        pairs = np.empty(self.m + 1, np.uint64)
        return np.empty(self.m + 1, np.uint64), Ends(self.no_ends, self.no_ends, pairs)


def share_open(u: np.ndarray, v: np.ndarray, label: np.ndarray, split: Split) -> float:
    """Return about which share of the heavy edges joins two trees; of the light ones none does."""
    places = stratified(len(u), 1024)
    joining = np.count_nonzero(label[u[places]] != label[v[places]])
    return joining / len(places) * len(u) / max(1, len(u) - split.about)
