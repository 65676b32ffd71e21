"""Filter-Borůvka on many cores: ours.

It joins the lightest edges first, slightly more of them than there are vertices, and of the others only those that
still join two trees (the filter of Osipov, Sanders and Singler, "The Filter-Kruskal Minimum Spanning Tree Algorithm",
ALENEX 2009), in rounds, each of which

1. samples the remaining edges to choose the largest light weight and the bounds between batches of ascending weight
   (`mst.algorithms._filter_boruvka.rounds`);
2. selects the light edges and scatters them into the batches (`mst.kernels.filter_boruvka.parallel`);
3. joins the batches one after the other, each by all threads, while the cycle edges of earlier batches are dropped
   (`mst.kernels.filter_boruvka.parallel.join`);
4. finds the giant tree: edges within it are no longer selected.

Some graphs take another path:

- If vertex ids are local, so that few edges leave the range of vertices that a worker gets, each worker solves its
  range by itself (`mst.kernels.filter_boruvka.parallel.blocks`), and few edges are left to join.
- If weights follow rows as well, as in communities that follow one another, no threshold separates edges that close
  cycles: these are dropped first, within ranges of rows (`mst.kernels.filter_boruvka.parallel.tiles`).
- If rows are sorted by weight, and most edges close cycles, one thread at a time joins edges in that order, and the
  others drop edges that close cycles (`mst.kernels.filter_boruvka.parallel.in_order`).
- If weights follow vertices, each worker first joins the lightest edges at the vertices of its range; if ids are not
  local, all workers join the lightest edges at all vertices (`mst.kernels.filter_boruvka.parallel.lightest`). The trees
  of a dense graph also join their lightest edges once if light edges leave most vertices apart.
- Graphs that `filter-boruvka` solves faster on one core are handed over to it; two threads share its passes over all
  edges and join in stages (`mst.algorithms.threads._passes`).
- Small graphs use only some of many threads (`mst.cores.useful_width`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mst.algorithms._filter_boruvka.in_order import join_in_order, order_of, rows_between
from mst.algorithms._filter_boruvka.rounds import (
    Bound,
    Progress,
    Round,
    Sampled,
    highest_bound,
    lowest_bound,
    next_round,
    single_key_batches,
)
from mst.algorithms._filter_boruvka.tiles import rows_left_by_tiles
from mst.algorithms._laps import Lap, Laps, no_lap
from mst.algorithms.sequential import filter_boruvka as one_core
from mst.algorithms.threads._blocks import cut_into_blocks, suits_two_workers
from mst.algorithms.threads._passes import solve_sharing_passes
from mst.cores import useful_width
from mst.errors import UnsupportedError
from mst.graph import Graph, frozen
from mst.kernels.filter_boruvka import policy as rules
from mst.kernels.filter_boruvka.parallel import join, lightest, scatter, select, trees
from mst.kernels.filter_boruvka.parallel.blocks import division, solving
from mst.kernels.filter_boruvka.parallel.records import AnyRecords, new_records
from mst.kernels.filter_boruvka.parallel.sample import Draws, sample_edges_parallel
from mst.kernels.filter_boruvka.parallel.storage import (
    CopiedEdges,
    EdgeList,
    Rows,
    Storage,
    edge_count,
    has_rows,
)
from mst.kernels.filter_boruvka.policy import THREADS, Policy
from mst.kernels.filter_boruvka.sequential import in_order
from mst.kernels.filter_boruvka.sequential import lightest as one_core_lightest
from mst.kernels.filter_boruvka.sequential.sample import stratified
from mst.kernels.filter_boruvka.sequential.trees import giant_label, joining_count
from mst.kernels.parallel.keys import KEYS, words_of
from mst.kernels.parallel.runtime import (
    FOREST,
    Schedule,
    grain_for,
    new_tallies,
    refusal,
    touched_empty,
    workers,
)
from mst.kernels.primitives.keys import lazy_keys
from mst.kernels.primitives.scratch import Scratch, borrowed

ALGORITHM = dict(
    id="filter-boruvka-threads",
    paradigm="threads",
    paper="ours",
    title="Filter-Borůvka, threads",
    input="edges",
    options=dict(
        input=dict(default="edges", choices=("edges", "csr"), help="read the edge list, or symmetric CSR"),
        hand_over=dict(default=True, help="solve edge lists by filter-boruvka if that is faster than threads"),
    ),
    requires=("numba",),
)


@dataclass
class Result:
    """Edge ids, and the counters of the solve."""

    edge_ids: np.ndarray
    counters: dict[str, int]


class Options(NamedTuple):
    """Settings of a solve.

    Attributes
    ----------
    policy : Policy
        Tests shrink its constants to reach every path on small graphs.
    ties_in_any_order : bool
        Whether any forest of minimum weight is accepted.
    delay_seed : int
        Perturbs the schedule, if not 0 (`mst.kernels.parallel.runtime.new_tallies`).
    """

    policy: Policy = THREADS
    ties_in_any_order: bool = False
    delay_seed: int = 0


DEFAULTS = Options()


class Problem(NamedTuple):
    """A graph, its edges as `edge_list` or `rows` return them, and the width.

    Arrays that are not part of the result are kept in `scratch_pool` for the next solve. `on_one_core` is the problem
    of a graph that `filter-boruvka` solves; if the width is above 1, threads share the passes over all edges. `step` is
    1 or -1 if rows ascend or descend by weight, 0 if they do neither, and None if that is not known.
    """

    graph: Graph
    storage: Storage
    width: int
    scratch_pool: list[Scratch]
    on_one_core: one_core.Problem | None = None
    step: int | None = None


def prepare(graph: Graph, *, width: int, input: str, hand_over: bool) -> Problem:
    if reason := refusal(width):
        raise UnsupportedError(reason)
    if input == "csr":
        return Problem(graph, rows(graph), width, [])
    step = None
    if hand_over and max(graph.n, graph.m) < one_core.NARROW:
        # If there are more threads, `solve` finds the order, where it helps.
        if 1 < width <= THREADS.in_order:
            step = _order_of_rows(graph, width)
        if _is_for_one_core(graph, width, bool(step)):
            alone = one_core.prepare(graph, width=1, filter=True, input="edges")
            sharing = width if rules.shares_passes(graph.m, width, THREADS) else 1
            return Problem(graph, edge_list(graph, graph.w), sharing, [], alone)
    return Problem(graph, edge_list(graph, graph.w), width, [], step=step)


def _order_of_rows(graph: Graph, width: int) -> int:
    """Return 1 or -1 if rows ascend or descend by weight, else 0."""
    edges = _edges_of(graph)
    if not rules.asks_for_order(graph.m, width, THREADS):
        return max(-1, in_order.direction(edges.keys))
    with workers(width):
        return order_of(width, edges, new_tallies(width))


def _edges_of(graph: Graph) -> division.Edges:
    return division.Edges(graph.u.view(np.uint32), graph.v.view(np.uint32), lazy_keys(graph.w))


def _is_for_one_core(graph: Graph, width: int, ordered: bool) -> bool:
    """Return whether one core is expected to be as fast as `width` threads, which gain most on blocks of vertices.

    `ordered` says whether rows are sorted by weight; it is False for many threads.
    """
    if width == 1:
        return True
    soon_spanning = graph.m > THREADS.per_vertex_in_order[-1] * graph.n
    by_source = ordered and _sorted_by_source(graph)
    by_all = ordered and not soon_spanning and rules.joins_in_order(graph.m, graph.n, width, by_source, THREADS)
    if ordered and width == 2 and not by_all:
        return True
    expected = rules.is_for_one_core(graph.m, width, THREADS)
    if not (ordered or expected):
        return False
    edges, many = _edges_of(graph), graph.m >= THREADS.fewest_in_blocks
    if many and width == 2 and not ordered and not suits_two_workers(graph.n, edges.u):
        return True
    follows_places = many and cut_into_blocks(graph.n, edges, width, THREADS) is not None
    if follows_places:
        return ordered
    if by_all:
        return False
    return expected or (by_source and graph.m >= THREADS.per_vertex_by_source * graph.n)


def _follow_vertices(edges: division.Edges, n: int, width: int, policy: Policy) -> bool:
    """Return whether weights follow vertices, in a graph of enough edges whose rows are not sorted by weight."""
    samples = rules.samples_vertices(len(edges.u), n, width, policy)
    follow = samples and one_core_lightest.follow_vertices(edges.keys, edges.u, edges.v, n)
    return bool(follow and not in_order.direction(edges.keys))


def _sorted_by_source(graph: Graph) -> bool:
    """Return whether the first endpoints of a sample of the rows ascend or descend."""
    step = np.diff(graph.u[stratified(graph.m, 256)])
    return bool((step >= 0).all() or (step <= 0).all())


def solve(problem: Problem) -> Result:
    if problem.on_one_core is not None:
        result = _solve_as_on_one_core(problem)
        return Result(result.edge_ids, dict(width=problem.width, **result.counters))
    with borrowed(problem.scratch_pool) as scratch:
        return _solve_rows(problem, scratch)


def _solve_as_on_one_core(problem: Problem, lap: Lap = no_lap) -> one_core.Result:
    if problem.width > 1:
        return solve_sharing_passes(problem.graph, problem.width, lap)
    assert problem.on_one_core is not None
    return one_core.solve(problem.on_one_core, lap)


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, int]:
    return result.counters


def phases(problem: Problem) -> dict[str, float]:
    laps = Laps()
    if problem.on_one_core is not None:
        _solve_as_on_one_core(problem, laps)
        return laps.seconds
    with borrowed(problem.scratch_pool) as scratch:
        _solve_rows(problem, scratch, laps)
    return laps.seconds


def _solve_rows(problem: Problem, scratch: Scratch, lap: Lap = no_lap) -> Result:
    graph, storage, width = problem.graph, problem.storage, problem.width
    return solve_storage(graph, storage, width, lap=lap, scratch=scratch, step=problem.step)


def edge_list(graph: Graph, weights: np.ndarray) -> EdgeList:
    """Return the edge list with `weights` in place of words; `solve_storage` converts them."""
    return EdgeList(weights, KEYS, graph.u, graph.v)


def rows(graph: Graph) -> Rows:
    """Return symmetric compressed sparse rows with weights in place of words; `solve_storage` converts them."""
    csr = graph.csr()
    columns = (frozen(array) for array in (csr.neighbours, csr.edge_ids, csr.offsets))
    return Rows(frozen(csr.weights), KEYS, *columns)


def solve_storage(
    graph: Graph,
    storage: Storage,
    width: int,
    options: Options = DEFAULTS,
    *,
    lap: Lap = no_lap,
    scratch: Scratch | None = None,
    step: int | None = None,
) -> Result:
    """Return the forest of the edges of `edge_list` or `rows`, whose weights need not be the graph's.

    `lap` is called after each phase with its name. Arrays that are not part of the result are taken from `scratch`.
    `step` is as for `Problem`.
    """
    width = max(1, min(useful_width(width, graph.m), len(storage.words) // options.policy.smallest_chunk))
    with workers(width):
        run = _new_run(graph, storage, width, options, lap, scratch or Scratch())
        run.step = step
        return _solve(run)


@dataclass
class _Run:
    """One computation: its input, its progress, and the tallies of its workers.

    `step` is as for `Problem`, but for the present storage. `tried_trees` says whether the lightest edges that leave
    trees have been joined, `tried_further` whether further edges, up to those that join all trees in a sample, have.
    """

    graph: Graph
    storage: Storage
    progress: Progress
    forest: np.ndarray
    options: Options
    tallies: np.ndarray
    counts: dict[str, int]
    lap: Lap
    scratch: Scratch
    step: int | None = None
    tried_trees: bool = False
    tried_further: bool = False

    def schedule(self, storage: Storage) -> Schedule:
        """Return a schedule for passes over a storage."""
        width, policy = self.progress.width, self.options.policy
        smallest, largest = policy.smallest_chunk, policy.largest_chunk
        grain = grain_for(len(storage.words), width, smallest=smallest, largest=largest)
        return Schedule(width, grain, self.tallies)

    def empty(self, name: str, likely: int) -> Callable[..., np.ndarray]:
        """Return an allocator like `numpy.empty` for arrays called `name`, with about `likely` rows to be written."""
        width, tallies = self.progress.width, self.tallies
        return self.scratch.numbered(
            name, lambda shape, dtype: touched_empty(shape, dtype, width, tallies, likely)
        )


def _solve(run: _Run) -> Result:
    progress, policy = run.progress, run.options.policy
    edges = cut = None
    at_vertices = False
    if _may_be_cut(run):
        at_vertices = not run.step and _follow_vertices(_edges(run), progress.n, progress.width, policy)
        run.lap("sample")
        if not at_vertices:
            _drop_cycles_in_tiles(run)
        edges = _edges(run)
        if progress.size:
            cut = cut_into_blocks(progress.n, edges, progress.width, policy, at_vertices)
        run.lap("cut")
    if edges is not None and cut is not None:
        _join_blocks(run, edges, cut)
    else:
        trees.make_all_singletons(progress.width, 1 << 13, progress.parent, run.tallies)
        run.lap("init")
        if edges is not None and at_vertices:
            _join_lightest(run, edges)
        elif edges is not None:
            _find_order(run, edges)
    while progress.unfinished:
        sampled, light = _sample(run), 0
        if edges is not None and cut is None and _is_dense(run):
            sampled, light = _join_trees_of_dense_graph(run, edges, sampled)
        following = next_round(progress, sampled, light=light, every_key=run.options.ties_in_any_order)
        run.lap("sample")
        is_last = following.high == progress.highest
        if progress.has_giant and not is_last and not isinstance(run.storage, CopiedEdges):
            # Further rounds would read all edges again.
            _copy_edges_outside(run, following)
        _join(run, *_scatter(run, following))
        progress.end_round(following)
        if run.step:
            _read_from(run, _rows_between(run, progress.low, progress.highest))
        if progress.unfinished:
            _find_giant(run)
    return Result(run.forest[: run.tallies[FOREST]], run.counts)


def _new_run(graph: Graph, storage: Storage, width: int, options: Options, lap: Lap, scratch: Scratch) -> _Run:
    n, ids = graph.n, graph.m
    tallies = new_tallies(width, options.delay_seed)
    words, kind = words_of(storage.words, width)
    key = words.dtype.type
    storage = storage._replace(words=words, kind=kind)
    forest = touched_empty(max(n - 1, 0), np.int32 if ids < 2**31 else np.int64, width, tallies)
    parent = scratch.numbered("parent")(n, np.dtype(f"u{graph.u.dtype.itemsize}"))
    low, high = lowest_bound(key), highest_bound(key, ids)
    progress = Progress(n, width, options.policy, high, low, size=0, heavy=0, missing=n - 1, parent=parent)
    counts = dict(width=width, parts=0, batches=0, light=0, surplus=0, parallel=0)
    run = _Run(graph, storage, progress, forest, options, tallies, counts, lap, scratch)
    _read_from(run, storage)
    lap("init")
    return run


def _read_from(run: _Run, storage: Storage) -> None:
    """Read the edges from this storage from now on."""
    progress = run.progress
    # Read-only: copies and narrowed weights are writable, and all kernels would be compiled again for writable arrays.
    parts: dict[str, Any] = storage._asdict()
    parts |= {name: frozen(part) for name, part in parts.items() if isinstance(part, np.ndarray)}
    run.storage = storage._replace(**parts)
    if isinstance(storage, CopiedEdges):
        run.step = 0
    progress.size = edge_count(storage)
    progress.heavy = progress.size


def _may_be_cut(run: _Run) -> bool:
    """Return whether each of several workers may solve a range of rows or a block of vertices by itself."""
    storage, progress = run.storage, run.progress
    narrow = run.graph.u.dtype.itemsize == 4 and run.graph.m < one_core.NARROW
    return isinstance(storage, EdgeList) and narrow and progress.width > 1 and progress.size > 0


def _edges(run: _Run) -> division.Edges:
    """Return the edges of a storage that `_may_be_cut`."""
    assert not isinstance(run.storage, Rows)
    return division.edges_of(run.storage)


def _drop_cycles_in_tiles(run: _Run) -> None:
    """Replace the storage by a copy of the edges that close no cycle near their row, if these are few."""
    progress = run.progress
    rows = rows_left_by_tiles(progress.n, *_edges(run), progress.width, run.options.policy)
    if rows is not None:
        _copy_rows(run, rows, "kept")
        run.counts["tiles"] = len(rows)
        run.lap("tiles")


def _copy_rows(run: _Run, rows: np.ndarray, name: str) -> None:
    """Replace the storage by a copy of these rows; arrays are called `name`."""
    copy = select.new_copy(run.storage, len(rows), run.graph.m, run.empty(name, len(rows)))
    select.copy_rows(Schedule(run.progress.width, 4096, run.tallies), run.storage, rows, copy)
    _read_from(run, copy)


def _join_blocks(run: _Run, edges: division.Edges, cut: division.Cut) -> None:
    """Write the forest of each block, and replace the storage by the edges that are left; if few, join them."""
    progress, tallies = run.progress, run.tallies
    parts = _divide_by_block(run, edges, cut)
    solved = solving.new_solved(cut, parts, run.empty)
    ids = run.storage.rows if isinstance(run.storage, CopiedEdges) else frozen(np.empty(0, np.uint32))
    whole = solving.Whole(ids, progress.parent, run.forest)
    solving.solve(Schedule(progress.width, 1, tallies), edges, cut, parts, solved, whole)
    left = solving.edges_left(parts, solved)
    run.counts.update(
        blocks=len(parts.firsts), leaving=len(parts.leaving), deferred=len(left) - len(parts.leaving)
    )
    if cut.at_vertices:
        run.counts["blocks_at_vertices"] = len(parts.firsts)
    run.lap("join")
    if len(left) <= run.options.policy.few_left:
        tallies[FOREST] = solving.finish(edges, left, whole, int(tallies[FOREST]))
        left = left[:0]
    _copy_rows(run, left, "left")
    progress.missing = progress.n - 1 - int(tallies[FOREST])
    run.lap("join rest")


def _find_order(run: _Run, edges: division.Edges) -> None:
    """Find whether rows are sorted by weight; if they are, and most edges close cycles, write the whole forest."""
    progress, policy = run.progress, run.options.policy
    if not isinstance(run.storage, EdgeList):
        return
    if run.step is None:
        asks = rules.asks_for_order(progress.size, progress.width, policy)
        run.step = order_of(progress.width, edges, run.tallies) if asks else 0
    if run.step and rules.joins_in_order(
        progress.size, progress.n, progress.width, _sorted_by_source(run.graph), policy
    ):
        kept = join_in_order(progress.width, edges, run.step, progress.parent, run.forest, run.tallies, policy)
        run.counts["kept"] = kept
        progress.low, progress.missing = progress.highest, progress.n - 1 - int(run.tallies[FOREST])
        run.lap("join")


def _is_dense(run: _Run) -> bool:
    """Return whether light edges of a dense graph, in no order of weight, have been joined."""
    progress = run.progress
    is_dense = (
        isinstance(run.storage, EdgeList)
        and progress.size >= run.options.policy.per_vertex_further * progress.n
    )
    return is_dense and progress.flat and not run.step


def _join_trees_of_dense_graph(run: _Run, edges: division.Edges, sampled: Sampled) -> tuple[Sampled, int]:
    """Join the lightest edges that leave trees where that is faster than a filter; return a sample of the edges left.

    Also return how many edges the next round should take, or 0 if `next_round` is to decide.
    """
    progress, policy = run.progress, run.options.policy
    if sampled.edges > policy.max_kept_share * progress.heavy:
        if progress.missing > progress.n // 2 and not run.tried_trees:
            run.tried_trees = True
            _join_lightest(run, edges)
            return _sample(run), 0
        if not run.tried_further:
            run.tried_further = True
            run.counts["further"] = further = _joining_edges(run, edges, sampled)
            if further:
                return sampled, further
    before = progress.missing + 1
    # No edge of the greatest key is ever the lightest.
    while 0 < progress.missing < before and rules.joins_few_trees(
        progress.size, progress.n, progress.missing, sampled.edges / max(progress.heavy, 1), policy
    ):
        before = progress.missing
        _join_lightest(run, edges)
        sampled = _sample(run)
    return sampled, 0


def _joining_edges(run: _Run, edges: division.Edges, sampled: Sampled) -> int:
    """Return how many of the lightest edges join all trees in a sample; 0 if these are too many."""
    step = -(-len(sampled.ids) // 2048)
    ids, keys = sampled.ids[::step], sampled.keys[::step]
    rows = ids[np.lexsort((ids, keys))]
    share = (joining_count(edges.u[rows], edges.v[rows], run.progress.parent.copy()) + 1) / len(rows)
    return int(share * sampled.edges) if share <= run.options.policy.most_further else 0


def _join_lightest(run: _Run, edges: division.Edges) -> None:
    """Join the lightest edge that leaves each tree."""
    progress, tallies, kind = run.progress, run.tallies, edges.keys.words.dtype
    before = int(tallies[FOREST])
    vertices = Schedule(progress.width, 4096, tallies)
    label = progress.parent if before else progress.parent[:0]
    if rules.has_row_per_worker(progress.size, progress.n, progress.width):
        size = progress.width * progress.n
        rows = run.empty("least", size)(size, kind), run.empty("lightest", size)(size, np.uint32)
        least, edge = (row.reshape(progress.width, progress.n) for row in rows)
        lightest.lightest_by_worker(progress.width, edges, label, least, edge)
        edge = edge[0]
    else:
        least, edge = (
            run.empty("least", progress.n)(progress.n, kind),
            run.empty("lightest", progress.n)(progress.n, np.uint32),
        )
        lightest.reset(vertices, least, edge)
        lightest.lightest_edges(run.schedule(run.storage), edges, label, least, edge)
    lightest.link_lightest(vertices, edges, edge, progress.parent, run.forest)
    begins_at = "at_trees" if before else "at_vertices"
    run.counts[begins_at] = run.counts.get(begins_at, 0) + int(tallies[FOREST]) - before
    progress.missing = progress.n - 1 - int(tallies[FOREST])
    run.lap("join lightest")
    _find_giant(run)


def _divide_by_block(run: _Run, edges: division.Edges, cut: division.Cut) -> division.Parts:
    """Return the edges by class and block."""
    progress, largest = run.progress, run.options.policy.largest_chunk
    grain = grain_for(progress.size, progress.width, smallest=1024, largest=largest, multiple=1024)
    schedule = Schedule(progress.width, grain, run.tallies)
    classified = division.new_classified(
        progress.size, -(-progress.size // grain), len(cut.split_keys), run.empty
    )
    division.classify(schedule, edges, cut, classified)
    parts = division.new_parts(classified, run.empty)
    run.lap("classify")
    division.divide(schedule, edges, cut, classified, parts)
    run.lap("divide")
    return parts


def _sample(run: _Run) -> Sampled:
    progress = run.progress
    count = rules.draw_count(progress.size, progress.trees, progress.width)
    draws = Draws(
        *progress.low, progress.parent if progress.flat else progress.parent[:0], count, progress.trees
    )
    keys, ids = sample_edges_parallel(progress.width, run.storage, draws, run.tallies)
    return Sampled(keys, ids, progress.size * len(keys) / count)


def _rows_between(run: _Run, low: Bound, high: Bound) -> EdgeList:
    """Return the rows between these bounds of a storage that is sorted by weight."""
    storage = run.storage
    assert isinstance(storage, EdgeList) and run.step
    rows = ((key, e - storage.start) for key, e in (low, high))
    first, stop = rows_between(division.edges_of(storage), run.step, *rows)
    columns = (column[first:stop] for column in (storage.words, storage.u, storage.v))
    words, u, v = columns
    return EdgeList(words, storage.kind, u, v, storage.start + first)


def _copy_edges_outside(run: _Run, following: Round) -> None:
    """Replace the storage by a copy of the remaining edges with an end outside the giant tree."""
    storage = run.storage
    copy = select.new_copy(storage, len(storage.words), run.graph.m, run.empty("kept", following.remaining))
    select.copy_outside(run.schedule(storage), storage, run.progress.wanted(following), copy)
    _read_from(run, copy.resized(int(run.tallies[select.SELECTED])))
    run.progress.in_giant = None
    run.lap("filter")


def _scatter(run: _Run, following: Round) -> tuple[AnyRecords, np.ndarray, np.ndarray]:
    """Return the edges of a round by batch, the start of each batch, and which batches may be taken in any order."""
    storage, progress = run.storage, run.progress
    if run.step:
        storage = _rows_between(run, progress.low, following.high)
    schedule, slots = run.schedule(storage), len(storage.words)
    bounds, likely = select.bounds_of(following.keys, following.ids), following.edges
    chunks, batches = -(-slots // schedule.grain), len(bounds.keys) + 1
    begins, ends = np.empty(chunks, np.int64), np.empty(chunks, np.int64)
    counts = np.empty((chunks, batches), np.int64)
    batch = run.empty("batch", likely)(slots, np.uint8)
    if not progress.flat and following.high == progress.highest and not has_rows(storage):
        selected = select.SelectedPlaces(None, batch, begins, ends, counts)
        select.select_all(schedule, storage, bounds, selected)
    else:
        places = run.empty("places", likely)(slots, np.uint32 if slots < 2**32 else np.int64)
        selected = select.SelectedPlaces(places, batch, begins, ends, counts)
        select.select(schedule, storage, progress.wanted(following), bounds, selected)
    starts = scatter.first_places(counts)
    run.lap("select")
    size = int(starts[-1])
    records = new_records(size, run.graph.u.dtype, storage.words.dtype, run.graph.m, run.empty("edges", size))
    scatter.scatter(schedule, storage, selected, records)
    run.lap("scatter")
    any_order = np.zeros(batches, np.bool_)
    # Otherwise cells of several keys shift the bounds.
    if run.options.ties_in_any_order and len(bounds.keys) and bounds.shifts == (0, 0):
        any_order = single_key_batches(bounds.keys, bounds.ids, run.graph.m)
    return records, starts, any_order


def _join(run: _Run, records: AnyRecords, starts: np.ndarray, any_order: np.ndarray) -> None:
    """Join the records, by batch, to the forest."""
    progress = run.progress
    batches = join.batches_of(starts, any_order, progress.width)
    count = len(batches.any_order)
    joined = join.Joined(np.empty((batches.chunks[-1], 3), np.int64), *np.zeros((2, count), np.int64))
    forest = join.Forest(progress.parent, run.forest, progress.is_contended(records))
    shared = join.Shared(join.new_state(progress.width), run.tallies)
    join.join(progress.width, shared, batches, records, joined, forest)
    size = int(starts[-1])
    progress.missing = progress.n - 1 - int(run.tallies[FOREST])
    surplus, parallel = int(joined.closing.sum()), int(joined.parallel.sum())
    found = dict(parts=1, batches=count, light=size, surplus=surplus, parallel=parallel)
    for name, value in found.items():
        run.counts[name] += value
    run.lap("join")


def _find_giant(run: _Run) -> None:
    """Point all vertices at their roots, and mark those of the tree that is the largest in a sample."""
    progress = run.progress
    trees.flatten(Schedule(progress.width, 4096, run.tallies), progress.parent)
    progress.flat = True
    progress.in_giant = np.empty(-(-progress.n // 64), np.uint64)
    giant, progress.giant_share = giant_label(progress.parent)
    trees.mark_giant(Schedule(progress.width, 64, run.tallies), progress.parent, giant, progress.in_giant)
    run.lap("giant")
