"""Filter-Borůvka on one core: light edges in batches, then only the heavy ones that still join two trees.

1. A sample of the weights decides which edges are light: slightly more edges than there are vertices
   (`mst.kernels.filter_boruvka.policy`).
2. The light edges are joined as in Kruskal's algorithm, but without sorting them: they are scattered into buckets of
   ascending weight and joined one bucket at a time (`mst.kernels.filter_boruvka.sequential.join`). On one core, a tree
   edge costs less this way than in Borůvka's rounds, whose contractions pay off on many cores.
3. By now most vertices are in one giant tree. A heavy edge inside it closes a cycle whose other edges are all
   light, so only edges with an end outside can belong to the forest. A bitmap with one bit per vertex, which fits in
   the L2 cache, filters the heavy edges. In compressed sparse rows, the giant's rows are not even read.
   In a dense graph, nearly all edges may still join two trees. If most vertices are still apart, each tree then
   joins its lightest edge, as in a round of Borůvka's algorithm. If few trees are left, such as clusters, the edges up
   to the weight that joins all trees of the sample are joined, or further rounds of Borůvka's algorithm follow.
4. The remaining edges are joined in the same way, lightest first, until about as few are left as there are trees.
   If the filter drops hardly any edges and many batches closed cycles, as may happen if weights follow rows, the edges
   are sorted instead.

If a sample shows that weights follow vertices, as the greater of two heights does, a round of Borůvka's algorithm
replaces steps 1 and 2: it joins the lightest edge at each vertex (`mst.kernels.filter_boruvka.sequential.lightest`).

Rows that are already sorted by weight, ascending or descending, are joined one by one instead
(`mst.kernels.filter_boruvka.sequential.in_order`). If they are nearly sorted, edges that close cycles within a
range of rows are dropped first (`mst.kernels.filter_boruvka.parallel.tiles`).

The filter is that of Filter-Kruskal (Osipov, Sanders and Singler, ALENEX 2009), applied where it is cheapest; ECL-MST
also finds the threshold by sampling (Fallin et al., SC 2023, §3.3). docs/design-notes/one-core.md has the cost of each
step and other variants that were tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mst.algorithms._filter_boruvka.tiles import rows_left_by_tiles
from mst.algorithms._laps import Lap, Laps, no_lap
from mst.graph import Graph, frozen
from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.policy import ONE_CORE
from mst.kernels.filter_boruvka.sequential import exact, in_order, join, lightest, scatter, select, select_rows
from mst.kernels.filter_boruvka.sequential.sample import Sample, Split, Window, is_selective, sample, stratified
from mst.kernels.filter_boruvka.sequential.trees import flatten, giant_label, joining_count, mark_outside
from mst.kernels.primitives.keys import LazyKeys, lazy_keys
from mst.kernels.primitives.radix import Records, sort_words
from mst.kernels.primitives.recycled import empty
from mst.kernels.sequential.kruskal import Growth, add_in_order

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

NARROW = 2**31
"""Graphs of this many vertices or edges take the generic path: records of the batches hold 32-bit ids."""

_ALL = np.uint32(2**32 - 1)
_FEW_DRAWS = 2048


@dataclass
class Problem:
    """A graph, the source of its light and heavy edges or None on the generic path, and whether to filter."""

    graph: Graph
    edges: EdgeListSource | RowSource | None
    filtering: bool


class EdgesToJoin:
    """Edges to join next, as records in buckets."""

    size: int

    def settled_buckets(self, shift: np.uint64, keys: LazyKeys, buckets: int) -> np.ndarray:
        """Return which buckets are known to be in order once the edges are scattered: bool of shape (buckets,)."""
        return np.zeros(buckets, np.bool_)

    def scatter(self, shift: np.uint64, buckets: np.ndarray, records: np.ndarray) -> None:
        """Write a record of each edge into its bucket; `buckets` advance from the starts to the ends."""
        raise NotImplementedError

    def join(
        self, cut: join.Buckets, keys: LazyKeys, forest: join.Forest, size: int, lap: Lap
    ) -> tuple[int, int, int]:
        """Join the edges to a forest of `size` edges; return its size, the batches, and those that closed a cycle."""
        records = empty((self.size, 2), np.uint64)
        self.scatter(cut.shift, cut.starts, records)
        lap("scatter")
        if cut.uneven:
            scatter.sort_large_buckets(records, cut.starts, cut.largest, cut.settled, keys)
            lap("put in order")
        return join.join(records, cut.starts, cut.smallest, cut.largest, keys, forest, size)


@dataclass(frozen=True)
class Candidates(EdgesToJoin):
    """Edges that may be in the forest: the first `size` codes, and the arrays with their ends.

    Attributes
    ----------
    codes : numpy.ndarray of uint64
        See `mst.kernels.filter_boruvka.sequential.select`.
    ends : Ends
    size : int
    """

    codes: np.ndarray
    ends: select.Ends
    size: int

    def between_trees(self, label: np.ndarray) -> Candidates:
        """Return the edges whose ends differ in `label`; overwrites the others."""
        return replace(self, size=select.keep_between_trees(self.ends, self.codes, self.size, label))

    def count_buckets(self, shift: np.uint64, large: int, starts: np.ndarray) -> int:
        """Write the start of each bucket; return how many edges are in buckets of more than `large`."""
        return scatter.count_codes(self.codes, self.size, shift, large, starts)

    def settled_buckets(self, shift: np.uint64, keys: LazyKeys, buckets: int) -> np.ndarray:
        return scatter.settled_buckets(self.codes, self.size, shift, keys, buckets)

    def scatter(self, shift: np.uint64, buckets: np.ndarray, records: np.ndarray) -> None:
        scatter.scatter(self.ends, self.codes, self.size, shift, buckets, records)


@dataclass(frozen=True)
class AllRows(EdgesToJoin):
    """All edges of compressed sparse rows in a window of keys, scattered directly from the rows: no code is written."""

    rows: RowSource
    window: Window

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.rows.m

    def count_buckets(self, shift: np.uint64, large: int, starts: np.ndarray) -> int:
        """Write the start of each bucket; return how many edges are in buckets of more than `large`."""
        return select_rows.count_slots(self.rows.keys, self.window, shift, large, starts)

    def scatter(self, shift: np.uint64, buckets: np.ndarray, records: np.ndarray) -> None:
        select_rows.scatter_slots(self.rows.starts(), self.rows.rows, self.window, shift, buckets, records)


@dataclass
class Result:
    """Edge ids, and the counters of the solve."""

    edge_ids: np.ndarray
    counters: dict[str, Any]


def prepare(graph: Graph, *, width: int, filter: bool, input: str) -> Problem:
    if max(graph.n, graph.m) >= NARROW:
        return Problem(graph, None, filter)
    if input == "csr":
        return Problem(graph, RowSource(graph), filter)
    filtering = filter and rules.filters(graph.m, graph.n, ONE_CORE)
    return Problem(graph, EdgeListSource(graph, lazy_keys(graph.w), may_follow=filter), filtering)


def solve(problem: Problem, lap: Lap = no_lap) -> Result:
    """Return the forest; `lap` is called after each phase with its name."""
    if problem.edges is None:
        from mst.algorithms.sequential._lazy_kruskal import lazy_kruskal, workspace

        return Result(lazy_kruskal(*workspace(problem.graph), 16_384, 63, problem.filtering), {})
    graph, edges, filtering = problem.graph, problem.edges, problem.filtering
    rows = None
    if filtering and isinstance(edges, EdgeListSource):
        rows = rows_left_by_tiles(
            graph.n, edges.ends.u, edges.ends.v, edges.keys, 1, ONE_CORE, unless=edges.follow_vertices
        )
    if rows is None:
        return grow(graph, edges, filtering, lap)
    fewer = Graph(graph.n, graph.u[rows], graph.v[rows], graph.w[rows], trusted=True)
    lap("tiles")
    result = grow(fewer, EdgeListSource(fewer, lazy_keys(fewer.w)), True, lap)
    return Result(rows[result.edge_ids], dict(tiles=len(rows), **result.counters))


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    return result.counters


def phases(problem: Problem) -> dict[str, float]:
    laps = Laps()
    solve(problem, laps)
    return laps.seconds


def grow(graph: Graph, edges: EdgeListSource | RowSource, filtering: bool, lap: Lap = no_lap) -> Result:
    """Return the forest of `edges`, whose keys need not be the graph's weights."""
    forest = GrowingForest(graph, edges.keys_by_id, lap)
    if edges.m == 0:
        return forest.result()
    if isinstance(edges, EdgeListSource):
        if forest.join_in_order(edges):
            return forest.result()
        if edges.follow_vertices():
            lap("sample")
            begun = forest.join_lightest(edges, Split(edges.keys.words.dtype.type(0), 0, 0))
            return join_heavy(forest, edges, edges.sample(_FEW_DRAWS), begun)
    drawn, split = choose_light(edges, forest.missing, filtering)
    lap("sample")
    window = drawn.window(high=split.key if split else None)
    light: Candidates | AllRows = edges.light(split, window)
    lap("select light")
    forest.join(light, window.largest_level)
    del light
    if split is None or forest.missing == 0:
        return forest.result()
    forest.flatten()
    return join_heavy(forest, edges, drawn, split)


def join_heavy(forest: GrowingForest, edges: EdgeListSource | RowSource, drawn: Sample, split: Split) -> Result:
    """Return the forest with the heavy edges of `split`; no light edge joins two trees any more."""
    share = forest.open_share(edges, split)
    if share > ONE_CORE.max_kept_share and forest.missing > forest.graph.n // 2:
        split = forest.join_lightest(edges, split)
        share = forest.open_share(edges, split)
    further = forest.join_further(edges, drawn, split) if share > ONE_CORE.max_kept_share else None
    split = further or forest.join_few_trees(edges, split, share)
    if forest.missing == 0:
        return forest.result()
    window = drawn.window(low=split.key)
    rest = edges.heavy(split, window, forest.parent)
    forest.counters["open"] = rest.size
    # At least 1: if all weights are equal, there may be no heavy edge.
    share_left = rest.size / max(edges.m - forest.counters["light"], 1)
    forest.lap("select heavy")
    return join_rest(forest, rest, window.largest_level, edges.at_once, share_left)


def join_rest(
    forest: GrowingForest, rest: Candidates, highest_level: int, fit_at_once: int, share_left: float = 0.0
) -> Result:
    """Return the forest with the rest of the edges; the last filter kept the share `share_left` of those it read."""
    lap = forest.lap
    while rest.size and forest.missing:
        at_once = fit_at_once if share_left > ONE_CORE.max_kept_share else 0
        light, largest_level, rest = cut_light(rest, highest_level, forest.missing, at_once)
        lap("cut")
        all_at_once = not rest.size and light.size <= at_once
        if not (all_at_once and forest.closes_cycles and forest.join_sorted(light)):
            forest.join(light, largest_level)
        del light
        if rest.size:
            forest.flatten()
            before, rest = rest.size, rest.between_trees(forest.parent)
            share_left = rest.size / before
            lap("keep open")
    return forest.result()


def choose_light(
    edges: EdgeListSource | RowSource, missing: int, filtering: bool
) -> tuple[Sample, Split | None]:
    """Return a sample of the edges, and the split between light and heavy ones, or None if all are light."""
    wanted = rules.light_edges_by_density(edges.m, missing + 1, ONE_CORE)
    drawn = edges.sample(rules.sample_size(edges.m, wanted))
    if not filtering or (rules.takes_all(wanted, edges.m, ONE_CORE) and edges.fit_at_once):
        return drawn, None
    return drawn, drawn.split(min(wanted, edges.at_once))


def cut_light(
    candidates: Candidates, largest_level: int, missing: int, at_once: int
) -> tuple[Candidates, int, Candidates]:
    """Return the lightest of the candidates, their largest level, and the others.

    All candidates count as the lightest if they are few, or not many more than the trees, or no more than `at_once`.
    """
    codes, ends, size = candidates.codes, candidates.ends, candidates.size
    wanted = max(int(ONE_CORE.light * missing), size // 4)
    if size <= max(ONE_CORE.max_unfiltered, 2 * wanted, at_once):
        return candidates, largest_level, replace(candidates, size=0)
    levels = np.sort(codes[stratified(size, 1024)] >> np.uint64(32))
    limit = levels[len(levels) * wanted // size]
    light, pairs = empty(size, np.uint64), empty(size if len(ends.pairs) else 0, np.uint64)
    moved = select.move_light(codes, ends.pairs, size, limit, light, pairs)
    lightest = replace(candidates, codes=light, ends=ends._replace(pairs=pairs), size=int(moved))
    return lightest, int(limit), replace(candidates, size=int(size - moved))


@dataclass
class GrowingForest:
    """A forest that grows: a union-find over the vertices, and the edges taken so far."""

    graph: Graph
    keys: LazyKeys
    lap: Lap
    size: int = 0
    batches: int = 0
    counters: dict[str, Any] = field(default_factory=lambda: dict(light=0, levels=0, conflicts=0))

    def __post_init__(self) -> None:
        n, m = self.graph.n, self.graph.m
        self.parent = np.arange(n, dtype=np.uint32)
        # One more than a forest can hold: kernels write an edge before they test whether to keep it.
        self.edges = empty(max(min(n - 1, m), 0) + 1, np.uint32)

    @property
    def missing(self) -> int:
        """Number of edges that a spanning tree still lacks."""
        return self.graph.n - 1 - self.size

    def join_in_order(self, edges: EdgeListSource) -> bool:
        """Add all edges that close no cycle if the rows are sorted by weight, in either direction."""
        step = in_order.direction(edges.keys)
        if step:
            forest = join.Forest(self.parent, self.edges)
            self.size = in_order.join_in_order(edges.keys, edges.ends, step, forest, self.missing)
            self.counters["light"], self.counters["levels"] = edges.m, 1
            self.lap("join")
        return bool(step)

    def join_lightest(self, edges: EdgeListSource | RowSource, split: Split) -> Split:
        """Add the lightest edge that leaves each tree; return the split below which no edge joins two trees any more.

        Before, no light edge of the given `split` joins two trees. Every vertex points at its root, before and after.
        """
        u, v = self.graph.u.view(np.uint32), self.graph.v.view(np.uint32)
        least, edge = edges.lightest(self.parent if self.size else self.parent[:0], self.graph.n)
        linked = lightest.link_lightest(u, v, edge, self.parent, self.edges[self.size :])
        begins_at = "at_trees" if self.size else "at_vertices"
        self.counters[begins_at] = self.counters.get(begins_at, 0) + linked
        self.size += linked
        self.lap("join lightest")
        self.flatten()
        return split._replace(key=least.min(), tie=0)

    def join(self, candidates: Candidates | AllRows, largest_level: int) -> None:
        """Add the candidates that close no cycle; all of them are lighter than any later edge."""
        count = candidates.size
        if count == 0:
            return
        batch = rules.batch_size(self.missing)
        bits = max(0, largest_level.bit_length() - max(1, (count // batch).bit_length()))
        shift, buckets = np.uint64(32 + bits), np.zeros((largest_level >> bits) + 1, np.uint32)
        in_large = candidates.count_buckets(shift, 8 * batch, buckets)
        if in_large > count // 16 and bits and isinstance(candidates, Candidates):
            finer = scatter.refine_buckets(candidates.codes, count, shift, buckets, batch)
            shift, buckets = np.uint64(32), np.zeros(finer, np.uint32)
            in_large = candidates.count_buckets(shift, 8 * batch, buckets)
        settled = np.zeros(len(buckets), np.bool_)
        if in_large > count // 16:
            settled = candidates.settled_buckets(shift, self.keys, len(buckets))
        self.lap("count")
        cut = join.Buckets(shift, buckets, max(4, batch // 2), 16 * batch, in_large > 0, settled)
        forest = join.Forest(self.parent, self.edges)
        self.size, batches, conflicts = candidates.join(cut, self.keys, forest, self.size, self.lap)
        self.lap("join")
        self.counters["light"] += count
        self.counters["levels"] += 1
        self.counters["conflicts"] += conflicts
        self.batches += batches

    def open_share(self, edges: EdgeListSource | RowSource, split: Split) -> float:
        """Estimate the share of the heavy edges of a dense graph that join two trees; 0 if the graph is not dense."""
        is_dense = edges.m >= ONE_CORE.per_vertex_further * self.graph.n
        return share_between_trees(self.graph.u, self.graph.v, self.parent, split) if is_dense else 0.0

    def join_few_trees(self, edges: EdgeListSource | RowSource, split: Split, share: float) -> Split:
        """Add the lightest edges that leave trees, again and again, while that is faster than a filter.

        `share` is the `open_share`. Return the last split.
        """
        before = self.missing + 1
        # No edge of the greatest key is ever the lightest.
        while self.missing < before and rules.joins_few_trees(
            edges.m, self.graph.n, self.missing, share, ONE_CORE
        ):
            before, split = self.missing, self.join_lightest(edges, split)
            share = self.open_share(edges, split)
        return split

    def join_further(self, edges: EdgeListSource | RowSource, drawn: Sample, split: Split) -> Split | None:
        """Join further edges if a filter is useless: up to those that join all trees in the sample.

        A filter is useless if few trees are left, such as clusters, and nearly all edges are between them. Return the
        last split, or None if too many edges are needed.
        """
        u, v = self.graph.u.view(np.uint32), self.graph.v.view(np.uint32)
        some = stratified(len(drawn.ids), _FEW_DRAWS)
        rows = drawn.ids[some][np.argsort(drawn.keys[some], kind="stable")]
        count = joining_count(u[rows], v[rows], self.parent.copy())
        self.lap("sample")
        wanted = (count + 1) * edges.m // len(rows)
        if wanted > min(ONE_CORE.most_further * edges.m, edges.at_once):
            return None
        further = drawn.split(wanted)
        window = drawn.window(low=split.key, high=further.key)
        light = edges.light(further, window)
        assert isinstance(light, Candidates)
        light = light.between_trees(self.parent)
        self.lap("select light")
        self.join(light, window.largest_level)
        self.flatten()
        return further

    @property
    def closes_cycles(self) -> bool:
        """Whether so many batches closed a cycle, and were sorted, that sorting all edges at once would cost less."""
        return self.counters["conflicts"] > ONE_CORE.closing * self.batches

    def join_sorted(self, candidates: Candidates) -> bool:
        """Add the candidates that close no cycle in the order of (key, id); return False if they cannot be sorted here.

        They cannot if they are few, span too many keys, or come from rows, whose ends are in the order of the codes.
        """
        codes, size = candidates.codes, candidates.size
        if size <= ONE_CORE.max_unfiltered or len(candidates.ends.pairs):
            return False
        low, high, ascend = exact.key_range(codes, size, self.keys)
        if int(high) - int(low) >= 2**32:
            return False
        exact.write_exact_codes(codes, size, self.keys, np.uint64(low))
        records = Records(codes[:size], np.empty(0, np.uint32))
        spare = Records(empty(size, np.uint64), records.ids)
        self.lap("count")
        if not ascend:  # several threads may append codes in any order
            records.words.sort()
        ordered = spare if ascend and sort_words(*records, 0, size, *spare) else records
        self.lap("put in order")
        ends = candidates.ends
        growth = Growth(self.parent, ends.u, ends.v, self.edges.view(np.int32))
        self.size = add_in_order(growth, ordered, 0, size, self.size)
        self.lap("join")
        self.counters["light"] += size
        self.counters["levels"] += 1
        self.counters["sorted"] = size
        return True

    def flatten(self) -> None:
        """Make every vertex's parent its root."""
        flatten(self.parent)
        self.lap("flatten")

    def result(self) -> Result:
        return Result(self.edges[: self.size], self.counters)


class EdgeListSource:
    """Light and heavy edges of an edge list; a sample tests whether weights follow vertices only if `may_follow`."""

    def __init__(self, graph: Graph, keys: LazyKeys, *, may_follow: bool = True) -> None:
        self.m = graph.m
        self.keys = self.keys_by_id = keys
        # Memory is limited to 24 bytes per vertex and 16 per edge: the union-find takes 8 bytes per vertex, and each
        # light edge 24.
        self.at_once = 2 * (graph.n + graph.m) // 3
        self.ends = select.Ends(graph.u.view(np.uint32), graph.v.view(np.uint32), np.empty(0, np.uint64))
        self.may_follow = may_follow and rules.samples_vertices(graph.m, graph.n, 1, ONE_CORE)
        self.n = graph.n

    def follow_vertices(self) -> bool:
        """Return whether to join the lightest edge at each vertex first, since weights follow vertices."""
        return self.may_follow and lightest.follow_vertices(self.keys, self.ends.u, self.ends.v, self.n)

    def lightest(self, label: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the least key of the edges that leave each tree, and the first edge with it, both of shape (n,).

        `label`, uint32 of shape (n,), is the root of each vertex's tree; if it is empty, every vertex is a tree.
        """
        return lightest_edges(self.keys, self.ends.u, self.ends.v, label, n)

    @property
    def fit_at_once(self) -> bool:
        """Whether there is memory to join all edges at once."""
        return self.m <= self.at_once

    def sample(self, size: int) -> Sample:
        places = stratified(self.m, size)
        return sample(self.keys, places, places, self.m)

    def light(self, split: Split | None, window: Window) -> Candidates:
        codes = empty(self.m, np.uint64)
        if split is None:
            return Candidates(codes, self.ends, select.select_all(self.keys, window, codes))
        return Candidates(codes, self.ends, select.select_light(self.keys, split, window, codes))

    def heavy(self, split: Split, window: Window, label: np.ndarray) -> Candidates:
        codes, trees = empty(self.m, np.uint64), self._trees(split, label)
        return Candidates(
            codes, self.ends, select.select_heavy(self.keys, split, self.ends, trees, window, codes)
        )

    def _trees(self, split: Split, label: np.ndarray) -> select.Trees:
        """Return the trees that the heavy edges are tested against."""
        giant, share = giant_label(label)
        if share > ONE_CORE.giant:
            return select.Trees(label, mark_outside(label, giant))
        if share_between_trees(self.ends.u, self.ends.v, label, split) > ONE_CORE.max_kept_share:
            return select.Trees(label, np.full(len(label) // 32 + 1, _ALL, np.uint32))
        return select.Trees(label, np.empty(0, np.uint32))


class RowSource:
    """Light and heavy edges of symmetric compressed sparse rows."""

    def __init__(self, graph: Graph) -> None:
        csr = graph.csr()
        self.graph_m, self.m = graph.m, len(csr.weights) // 2
        # Memory is limited to 24 bytes per vertex and 16 per edge: the union-find takes 8 bytes per vertex, and the
        # starts of rows 4 per vertex and 2 per edge, which an allocator may keep; code and ends of each light edge take
        # 32, and tables of buckets a little.
        self.at_once = max(1, (6 * graph.n + 7 * self.m) // 17)
        self.keys, self.keys_by_id = lazy_keys(frozen(csr.weights)), lazy_keys(graph.w)
        neighbours, ids = csr.neighbours.view(np.uint32), csr.edge_ids.view(np.uint32)
        self.rows = select_rows.Rows(csr.offsets, neighbours, self.keys, ids)
        self.u, self.v = graph.u.view(np.uint32), graph.v.view(np.uint32)
        self.no_ends = frozen(np.empty(0, np.uint32))
        self.even = False

    @property
    def fit_at_once(self) -> bool:
        """Whether there is memory to join all edges at once: there always is if no codes are written."""
        return self.even or self.m <= self.at_once

    def lightest(self, label: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what `EdgeListSource.lightest` does, from the edge list rather than the rows."""
        return lightest_edges(self.keys_by_id, self.u, self.v, label, n)

    def sample(self, size: int) -> Sample:
        places = stratified(2 * self.m, size)
        drawn = sample(self.keys, places, self.rows.ids[places].astype(np.int64), self.m)
        self.even = drawn.densest() < ONE_CORE.uneven
        return drawn

    def light(self, split: Split | None, window: Window) -> Candidates | AllRows:
        if split is None and self.even:
            return AllRows(self, window)
        split = split or Split.of_all(self.keys, self.graph_m)
        wanted = select_rows.Wanted(split, False, window)
        if not is_selective(split, self.m):
            return self._of_all_rows(wanted)
        selected = self._empty()
        return self._candidates(selected, select_rows.select_few_slots(self.rows, wanted, selected))

    def heavy(self, split: Split, window: Window, label: np.ndarray) -> Candidates:
        giant, share = giant_label(label)
        wanted = select_rows.Wanted(split, True, window)
        if share <= ONE_CORE.giant:
            heavy = self._of_all_rows(wanted)
            useless = share_between_trees(self.u, self.v, label, split) > ONE_CORE.max_kept_share
            return heavy if useless else heavy.between_trees(label)
        selected = self._empty()
        count = select_rows.select_heavy_rows(self.rows, wanted, label, giant, selected)
        return self._candidates(selected, count)

    def starts(self) -> select_rows.RowStarts:
        """Return the first slots of the rows, for loops over all slots."""
        marks, rows = np.zeros(2 * self.m + 1, np.uint8), np.empty(len(self.rows.offsets), np.uint32)
        select_rows.row_starts(self.rows.offsets, marks, rows)
        return select_rows.RowStarts(marks, rows)

    def _of_all_rows(self, wanted: select_rows.Wanted) -> Candidates:
        selected = self._empty()
        return self._candidates(selected, select_rows.select_slots(self.starts(), self.rows, wanted, selected))

    def _empty(self) -> select_rows.CodedEdges:
        # One more place than edges: kernels write an edge before they test whether to keep it.
        codes: np.ndarray = np.empty(self.m + 1, np.uint64)
        return select_rows.CodedEdges(codes, np.empty(self.m + 1, np.uint64))

    def _candidates(self, selected: select_rows.CodedEdges, count: int) -> Candidates:
        ends = select.Ends(self.no_ends, self.no_ends, selected.pairs)
        return Candidates(selected.codes, ends, count)


def lightest_edges(
    keys: LazyKeys, u: np.ndarray, v: np.ndarray, label: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least key of the edges that leave each tree, and the first edge with it, found by one core."""
    kind = keys.words.dtype
    least, edge = np.full(n, np.iinfo(kind).max, kind), np.full(n, lightest.NONE, np.uint32)
    lightest.lightest_edges(np.uint64(0), np.uint64(len(u)), keys, u, v, label, least, edge)
    return least, edge


def share_between_trees(u: np.ndarray, v: np.ndarray, label: np.ndarray, split: Split) -> float:
    """Estimate the share of heavy edges that join two trees; no light edge does."""
    places = stratified(len(u), 1024)
    joining = np.count_nonzero(label[u[places]] != label[v[places]])
    return float(joining / len(places) * len(u) / max(1, len(u) - split.expected))
