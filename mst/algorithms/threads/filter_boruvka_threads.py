"""Filter-Borůvka on many cores: ours.

The lightest edges first, a little more of them than there are vertices; of the others only those that still
join two trees (the filter of Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm",
ALENEX 2009). Each part goes through `mst.kernels.parallel_batches`: Borůvka's rule, batch after batch of
ascending weight, over one union-find.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from mst.errors import UnsupportedError
from mst.kernels import parallel_batches as batches
from mst.kernels.parallel_keys import words_of
from mst.kernels.parallel_runtime import FOREST, fresh, grain_for, new_counters, refusal, workers
from mst.kernels.parallel_sample import quantiles, sample_edges

ALGORITHM = dict(
    id="filter-boruvka-threads",
    paradigm="threads",
    paper="ours",
    title="Filter-Borůvka, threads",
    input="edges",
    requires=("numba",),
)


@dataclass(frozen=True)
class Tuning:
    """Constants that decide costs and nothing else; tests shrink them to reach every path on small graphs."""

    light: float = 1.3
    filter_above: float = 1.7
    rescan: float = 10.0
    batches_per_tree: int = 128
    batch_per_worker: int = 1250
    fewest: int = 1024
    most: int = 1 << 14
    delay_seed: int = 0


def prepare(graph, *, width):
    if reason := refusal(width):
        raise UnsupportedError(reason)
    return graph, width, Tuning()


def solve(problem):
    graph, width, tuning = problem
    width = max(1, min(width, graph.m // tuning.fewest))
    with workers(width):
        return _Run(graph, width, tuning).solve()


def collect(problem, result):
    return result


def _nothing(phase):
    pass


class _Run:
    """One computation: the input, what all passes share, and the passes in their order."""

    def __init__(self, graph, width, tuning, probe=_nothing):
        self.n, self.m, self.u, self.v = graph.n, graph.m, graph.u, graph.v
        self.width, self.tuning, self.probe = width, tuning, probe
        self.stats = []
        self.counters = new_counters(width, tuning.delay_seed)
        self.words, self.kind = words_of(graph.w, width)
        self.grain = grain_for(self.m, width, smallest=tuning.fewest, largest=tuning.most, multiple=64)
        self.forest = fresh(max(self.n - 1, 0), np.int32 if self.m < 2**31 else np.int64, width, self.counters)
        self.nodes = batches.new_nodes(self.n, self.u.dtype, width, self.counters)
        self.probe("init")

    @property
    def left(self):
        """Trees that there are, less one: edges that the forest may yet get."""
        return self.n - 1 - int(self.counters[FOREST])

    def solve(self):
        key = self.words.dtype.type
        low, top = (key(0), -1), (~key(0), self.m)
        hub, roots, inside = -1, None, None
        while self.m and self.left and low != top:
            high, bounds = self.plan(low, top, roots)
            self.probe("sample")
            self.join(hub, *self.batches(low, high, inside, bounds))
            low = high
            if self.left and low != top:
                hub, roots, inside = self.giant()
                self.probe("giant")
        return self.forest[: self.counters[FOREST]]

    def plan(self, low, top, roots):
        """Return up to which (key, id) the next part goes, and the bounds between its batches."""
        t, trees = self.tuning, self.left + 1
        samples = int(min(max(16 * self.m // trees, 4096), 16384, self.m))
        keys, ids = sample_edges(self.words, self.kind, self.u, self.v, *low, roots, samples, trees)
        if len(keys) == 0:
            return top, (np.empty(0, self.words.dtype), np.empty(0, np.int64))
        edges = self.m * len(keys) / samples
        # Connected already by the light part, a dense graph needs no second look at all edges.
        light = trees * max(t.light, min(edges / trees / 64, log(trees) / 2 + 3))
        if roots is None:
            whole = edges < light * t.filter_above / t.light
        else:
            whole = (edges - light) * t.rescan < self.m + 2 * self.n
        share = 1.0 if whole else light / edges
        size = max(trees // t.batches_per_tree, min(t.batch_per_worker * (self.width - 1), trees // 8), 1)
        count = int(min(max(edges * share / size, 1), 255))
        at = np.arange(1, count + (not whole)) * (share / count)
        bound_keys, bound_ids = quantiles(keys, ids, at)
        if whole:
            return top, (bound_keys, bound_ids)
        return (bound_keys[-1], int(bound_ids[-1])), (bound_keys[:-1], bound_ids[:-1])

    def batches(self, low, high, inside, bounds):
        """Return the edges above `low`, at most `high`, by batch, and where each batch begins."""
        w, c, grain = self.width, self.counters, self.grain
        chunks = -(-self.m // grain)
        mask, batch = np.empty(-(-self.m // 64), np.uint64), np.empty(self.m, np.uint8)
        places = np.empty((chunks, len(bounds[0]) + 1), np.int64)
        batches.select(
            w, grain, self.words, self.kind, self.u, self.v, *low, *high, inside,
            *cells_of(bounds[0]), *bounds, mask, batch, places, c,
        )  # fmt: skip
        starts = batches.prefix(places)
        self.probe("select")
        edges = batches.new_edges(int(starts[-1]), self.u.dtype, self.words.dtype, self.m)
        batches.scatter(w, grain, self.words, self.kind, self.u, self.v, mask, batch, places, edges, c)
        self.probe("scatter")
        return edges, starts

    def join(self, hub, edges, starts):
        longest = int(np.diff(starts).max())
        room = 2 * longest + batches.CHUNK
        spare = [batches.new_edges(room, self.u.dtype, self.words.dtype, self.m) for _ in range(3)]
        state = batches.new_state(self.width)
        exact = np.zeros(len(starts) - 1, np.bool_)
        kept = np.empty(room // 64 + 1, np.int64)
        bounds = np.append(starts, longest)
        batches.join(
            self.width, state, bounds, exact, hub, edges, *spare, kept, self.nodes, self.forest, self.counters
        )
        self.stats.append((int(starts[-1]), len(starts) - 1, state[32:34].tolist(), self.left))
        self.probe("join")

    def giant(self):
        """Return the root of (what a sample takes for) the largest tree, all roots, and the bitmap of its vertices."""
        w, c = self.width, self.counters
        batches.point_at_roots(w, 4096, self.nodes, c)
        roots = self.nodes[::2]
        sample = roots[np.linspace(0, self.n - 1, min(self.n, 512)).astype(np.int64)]
        values, counts = np.unique(sample, return_counts=True)
        giant = values[counts.argmax()]
        inside = np.empty(-(-self.n // 64), np.uint64)
        batches.mark_inside(w, 64, self.nodes, giant, inside, c)
        return int(giant), roots, inside


def cells_of(bound_keys, most=1 << 13):
    """Return ``(base, shift, cells)``: see `mst.kernels.parallel_batches.batch_of`."""
    key = bound_keys.dtype.type
    if len(bound_keys) == 0:
        return key(0), key(0), np.zeros(1, np.int16)
    base, span = int(bound_keys[0]), int(bound_keys[-1]) - int(bound_keys[0])
    shift = max(0, span.bit_length() - most.bit_length() + 1)
    cells = (span >> shift) + 1
    firsts = base + (np.arange(cells, dtype=np.uint64) << np.uint64(shift))
    before = np.searchsorted(bound_keys, firsts.astype(bound_keys.dtype))
    after = np.append(before[1:], len(bound_keys))
    before[0] = 0
    return key(base), key(shift), np.where(before == after, before, -1).astype(np.int16)
