"""Filter-Borůvka on many cores: ours.

The lightest edges first, a little more of them than there are vertices; of the others only those that still
join two trees (the filter of Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm",
ALENEX 2009). Each part is cut into batches of ascending weight
(`mst.kernels.filter_boruvka.parallel_batches`), which all
threads join to the trees one after the other (`mst.kernels.filter_boruvka.parallel_join`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from mst.algorithms._laps import Lap, Laps, no_lap
from mst.errors import UnsupportedError
from mst.graph import Graph, frozen
from mst.kernels.filter_boruvka import parallel_batches as batches
from mst.kernels.filter_boruvka import parallel_join
from mst.kernels.filter_boruvka.batch_edges import new_edges
from mst.kernels.filter_boruvka.filter import giant_label
from mst.kernels.filter_boruvka.parallel_sample import quantiles, sample_by_all
from mst.kernels.filter_boruvka.parallel_select import Kept, has_rows
from mst.kernels.parallel.keys import words_of
from mst.kernels.parallel.runtime import FOREST, grain_for, new_counters, refusal, touched_empty, workers
from mst.kernels.primitives.scratch import Scratch, borrowed

ALGORITHM = dict(
    id="filter-boruvka-threads",
    paradigm="threads",
    paper="ours",
    title="Filter-Borůvka, threads",
    input="edges",
    options=dict(
        input=dict(default="edges", choices=("edges", "csr"), help="read the edge list, or symmetric CSR"),
    ),
    requires=("numba",),
)


GIANT = 0.5
"""Share of the vertices in one tree from which on the edges outside it are worth a copy."""


@dataclass
class Result:
    """Edge ids, and what was counted on the way."""

    edge_ids: np.ndarray
    counters: dict[str, int | str]


@dataclass(frozen=True)
class Tuning:
    """Constants that decide costs and nothing else; tests shrink them to reach every path on small graphs."""

    light: float = 1.3
    filter_above: float = 1.7
    rescan: float = 10.0
    batches_per_tree: int = 128
    wait: float = 15.0
    crowded: int = 4096
    fewest: int = 1024
    most: int = 1 << 14
    delay_seed: int = 0
    rounded: bool = False


class Problem(NamedTuple):
    """A graph, the arrays that edges are read from (`mst.kernels.filter_boruvka.parallel_select`), weights
    first, and the width.

    Solves leave their own arrays in `scratch_pool`, for the next ones.
    """

    graph: Graph
    arrays: tuple[np.ndarray, ...]
    width: int
    scratch_pool: list[Scratch]


def prepare(graph, *, width, input):
    if reason := refusal(width):
        raise UnsupportedError(reason)
    return Problem(graph, arrays_of(graph, input), width, [])


def solve(problem):
    with borrowed(problem.scratch_pool) as scratch:
        return solve_source(problem.graph, problem.arrays, problem.width, Tuning(), scratch=scratch)


def collect(problem, result):
    return result.edge_ids


def counters(problem, result):
    return result.counters


def phases(problem):
    laps = Laps()
    with borrowed(problem.scratch_pool) as scratch:
        solve_source(problem.graph, problem.arrays, problem.width, Tuning(), laps, scratch=scratch)
    return laps.seconds


def arrays_of(graph, input: str) -> tuple[np.ndarray, ...]:
    """Return the arrays that the edges are read from, the weights first."""
    if input == "edges":
        return graph.w, graph.u, graph.v
    csr = graph.csr()
    return tuple(frozen(array) for array in (csr.weights, csr.neighbours, csr.edge_ids, csr.offsets))


def solve_source(
    graph, arrays, width: int, tuning: Tuning, lap: Lap = no_lap, *, scratch: Scratch | None = None
) -> Result:
    """Return the forest of the edges in `arrays`, whose weights need not be the graph's.

    `lap` is called after each phase with its name. Arrays that are not part of the result are taken from `scratch`.
    """
    width = max(1, min(width, len(arrays[0]) // tuning.fewest))
    with workers(width):
        return _Run(graph, arrays, width, tuning, lap, scratch or Scratch()).solve()


class Plan(NamedTuple):
    """The next part: up to which (key, id) it goes, the bounds between its batches, and what a sample tells.

    `rare` says whether few of the edges that are read belong to it; `edges` is about how many do, `open` how many
    still join two trees.
    """

    high: tuple
    bounds: tuple[np.ndarray, np.ndarray]
    rare: bool
    edges: int
    open: int


class _Run:
    """One computation: the input, what all passes share, and the passes in their order."""

    def __init__(self, graph, arrays, width, tuning, lap, scratch):
        self.n, self.ids, self.vertex_type = graph.n, graph.m, graph.u.dtype
        self.width, self.tuning, self.lap, self.scratch = width, tuning, lap, scratch
        self.counts = dict(width=width, parts=0, batches=0, light=0, surplus=0)
        self.counters = new_counters(width, tuning.delay_seed)
        words, self.kind = words_of(arrays[0], width)
        self.read_from((words, *arrays[1:]))
        self.forest = touched_empty(
            max(self.n - 1, 0), np.int32 if self.ids < 2**31 else np.int64, width, self.counters
        )
        self.parent = parallel_join.new_trees(
            self.n, graph.u.dtype, width, self.counters, scratch.numbered("parent")
        )
        self.lap("init")

    def read_from(self, source):
        """Take the edges from `source` from now on (`mst.kernels.filter_boruvka.parallel_select`)."""
        slots = len(source[0])
        self.source, self.m = source, slots // 2 if has_rows(source) else slots
        self.heavy = self.m
        self.grain = grain_for(slots, self.width, smallest=self.tuning.fewest, largest=self.tuning.most)

    @property
    def everything(self):
        """The (key, id) below all edges and the one above."""
        key = self.source[0].dtype.type
        return (key(0), -1), (~key(0), self.ids)

    @property
    def left(self):
        """Trees that there are, less one: edges that the forest may yet get."""
        return self.n - 1 - int(self.counters[FOREST])

    def solve(self):
        low, top = self.everything
        roots, inside, share = None, None, 0.0
        while self.m and self.left and low != top:
            plan = self.plan(low, top, roots)
            self.lap("sample")
            if share > GIANT and plan.high != top and not isinstance(self.source, Kept):
                # Further parts would read all edges again.
                self.read_from(self.open_edges(low, inside, plan.open))
                inside = None
                self.lap("filter")
            edges, starts = self.batches(low, batches.Closed(inside, self.parent, exact(inside, share)), plan)
            self.join(edges, starts, self.loose(plan.bounds))
            del edges
            low = plan.high
            if self.left and low != top:
                roots, (inside, share) = self.parent, self.inside_giant()
                self.lap("giant")
        return Result(self.forest[: self.counters[FOREST]], self.counts)

    def plan(self, low, top, roots):
        """Return the next part of the edges above `low`: all, or what is light among those between two of `roots`."""
        t, trees = self.tuning, self.left + 1
        samples = draws(self.m, trees, self.width)
        keys, ids = sample_by_all(
            self.width, self.source, self.kind, *low, roots, samples, trees, self.counters
        )
        if len(keys) == 0:
            return Plan(top, (np.empty(0, self.source[0].dtype), np.empty(0, np.int64)), True, 0, 0)
        edges = self.m * len(keys) / samples
        light = light_count(edges, trees, t)
        if roots is None:
            whole = edges < light * t.filter_above / t.light
        else:
            whole = (edges - light) * useful(edges, self.heavy) * t.rescan < self.m + 2 * self.n
        share = 1.0 if whole else light / edges
        count = batch_count(edges * share, trees, self.width, t)
        at = np.arange(1, count + (not whole)) * (share / count)
        bound_keys, bound_ids = quantiles(keys, ids, at)
        high, rare = top, False
        if not whole:
            high, rare = (bound_keys[-1], int(bound_ids[-1])), light * 128 < self.m
            bound_keys, bound_ids = bound_keys[:-1], bound_ids[:-1]
        if t.rounded:
            bound_keys, bound_ids = with_every_key(bound_keys, bound_ids, keys[keys < high[0]], self.ids)
        return Plan(high, (bound_keys, bound_ids), rare, int(edges * share), int(edges))

    def open_edges(self, low, inside, likely):
        """Return a copy of the edges above `low` that have an end outside the bitmap `inside`: `likely` so many."""
        kept = batches.new_kept(self.source, len(self.source[0]), self.ids, self.empty("kept", likely))
        batches.keep_open(self.width, self.grain, self.source, self.kind, *low, inside, kept, self.counters)
        return Kept(*(column[: self.counters[batches.SELECTED]] for column in kept))

    def loose(self, bounds):
        """Return which batches hold a single key: of rounded weights, their edges may be taken in any order."""
        keys, ids = bounds
        loose = np.zeros(len(keys) + 1, np.bool_)
        if self.tuning.rounded and len(keys) and batches.bounds_of(keys, ids).shift == 0:
            step = np.diff(keys)
            loose[1:-1] = (step == 0) | ((step == 1) & (ids[:-1] == self.ids))
        return loose

    def batches(self, low, closed, plan):
        """Return the edges of a part by batch, and where each batch begins."""
        bounds = batches.bounds_of(*plan.bounds)
        w, c, grain, slots = self.width, self.counters, self.grain, len(self.source[0])
        chunks = -(-slots // grain)
        begins, ends = np.empty(chunks, np.int64), np.empty(chunks, np.int64)
        counts = np.empty((chunks, len(bounds.keys) + 1), np.int64)
        batch, places = self.empty("batch", plan.edges)(slots, np.uint8), None
        if (low, plan.high) == self.everything and not has_rows(self.source):
            batches.select_all(w, grain, self.source, self.kind, bounds, batch, begins, ends, counts, c)
        else:
            places = self.empty("places", plan.edges)(slots, np.uint32 if slots < 2**32 else np.int64)
            batches.select(
                w, grain, self.source, self.kind, batches.Part(*low, *plan.high), plan.rare, closed,
                bounds, places, batch, begins, ends, counts, c,
            )  # fmt: skip
        starts = batches.prefix(counts)
        self.lap("select")
        size = int(starts[-1])
        edges = new_edges(size, self.vertex_type, self.source[0].dtype, self.ids, self.empty("edges", size))
        batches.scatter(w, grain, self.source, self.kind, places, batch, begins, ends, counts, edges, c)
        self.lap("scatter")
        return edges, starts

    def join(self, edges, starts, loose):
        starts, loose = parallel_join.without_empty(starts, loose)
        lengths, chunks = parallel_join.chunked(starts, self.width)
        parts, surplus = np.empty((chunks[-1], 3), np.int64), np.zeros(len(loose), np.int64)
        parallel_join.join(
            self.width, parallel_join.new_state(self.width), starts, lengths, chunks, loose, edges, parts, surplus,
            self.parent, crowded(self.n, self.width, self.tuning), self.forest, self.counters,
        )  # fmt: skip
        self.heavy -= int(starts[-1])
        found = dict(parts=1, batches=len(loose), light=int(starts[-1]), surplus=int(surplus.sum()))
        for name, value in found.items():
            self.counts[name] += value
        self.lap("join")

    def empty(self, name, likely):
        """Return what stands in for `numpy.empty`: of arrays that go by `name`, about so many rows will be written."""
        return self.scratch.numbered(
            name, lambda shape, dtype: touched_empty(shape, dtype, self.width, self.counters, likely)
        )

    def inside_giant(self):
        """Return the bitmap of the vertices in (what a sample takes for) the largest tree, and about their share.

        All vertices point at their roots.
        """
        w, c = self.width, self.counters
        parallel_join.point_at_roots(w, 4096, self.parent, c)
        inside = np.empty(-(-self.n // 64), np.uint64)
        giant, share = giant_label(self.parent)
        parallel_join.mark_inside(w, 64, self.parent, giant, inside, c)
        return inside, share


def draws(m: int, trees: int, width: int) -> int:
    """Return how many of `m` edges to sample: more where the light ones are a small share of them, and at more width.

    Batches are larger there, and one that was drawn far too large holds everybody up.
    """
    return int(min(max(64 * width * m // trees, 4096), 16384, m))


def light_count(edges: float, trees: int, tuning: Tuning) -> float:
    """Return how many of `edges` between `trees` are light: a little more than there are trees, or what connects all.

    Connected already by the light part, a dense graph needs no second look at all edges.
    """
    trees = max(trees, 1)
    return trees * max(tuning.light, min(edges / trees / 64, log(trees) / 2 + 3))


def batch_count(edges: float, trees: int, width: int, tuning: Tuning) -> int:
    """Return into how many batches to cut `edges` that join `trees`.

    Each has all threads wait for each other twice, and the larger it is, the longer one of them settles it: the last
    one, while the others have nothing left to do. The sum of both is least where a batch is as the root of the edges;
    `tuning.wait` says how many edges are settled in the time that both waits take, for each of the other threads.
    """
    size = max(trees // tuning.batches_per_tree, int(sqrt(tuning.wait * (width - 1) * edges)), 1)
    return int(min(max(edges / size, 1), 255))


def crowded(n: int, width: int, tuning: Tuning) -> bool:
    """Return whether the cache lines that all threads have asked for are a good part of those of `n` vertices."""
    return width > 1 and n < tuning.crowded * width


def exact(inside, share: float) -> bool:
    """Return whether to compare the roots of an edge's ends: so many trees are outside a bitmap of the largest."""
    return inside is not None and share <= GIANT


def useful(still_open: float, heavy: int) -> float:
    """Return what to expect of another filter, 0 to 1: one that left most heavy edges open will do so again."""
    return min(1.0, max(0.0, 2 * (1 - still_open / max(heavy, 1))))


def with_every_key(bound_keys, bound_ids, keys, last_id, most=255):
    """Return the bounds and one more behind each of `keys`, so that no batch has two; the bounds, if too many."""
    distinct = np.unique(keys)
    all_keys = np.append(bound_keys, distinct)
    all_ids = np.append(bound_ids, np.full(len(distinct), last_id))
    if len(all_keys) > most:
        return bound_keys, bound_ids
    order = np.lexsort((all_ids, all_keys))
    return all_keys[order], all_ids[order]
