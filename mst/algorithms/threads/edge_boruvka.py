"""Borůvka's algorithm over an edge list on many cores: Shou and He's OpenMP program.

M. Shou and J. He, "Parallel Minimum Spanning Tree", 15-418 final project (CMU), §3.3: no program was
published, so this is a port of Listing 7 and of the wait-free union-find of Listing 4. Each round lowers the
minimum of both ends of every edge atomically, unites the ends of minima, maps ends to their representatives and
filters self-loops. The options are the published optimisations; the defaults are the final version's, 1a and 1b
with chunks of 1024.

Details that the listings leave open:

- Listing 7 joins an edge if it is the minimum of *both* its ends, the CUDA version (Listing 5) if it is the minimum of
  *either* end. With *both*, a star takes a round for every edge, which the published times on sparse graphs rule out.
  *Either* is the default.
- The listings assume distinct weights. Here ties go by edge id, which is packed into one word with weights of 32 bits;
  weights of 64 bits take one more loop for ties.
- Minima per vertex are the authors' future work (§4.3, §4.4): adjacency rows in place of edges, so that a single thread
  reads a vertex's edges. Inner edges are dropped from rows as these are read, so there is no filter or fused loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.facts import Facts
from mst.graph import Graph
from mst.kernels.parallel.runtime import Schedule, new_tallies, refusal, workers
from mst.kernels.primitives.packed_edges import NONE, PackedEdges, PackedRows, pack
from mst.kernels.threads import edge_boruvka as kernel
from mst.kernels.threads import vertex_boruvka as kernels_by_row
from mst.kernels.union_find.concurrent import ranked_forest

ALGORITHM = dict(
    id="edge-boruvka",
    paradigm="threads",
    paper="shou-he",
    title="Borůvka over edges (Shou–He, port)",
    input="edges",
    options=dict(
        filter=dict(
            default="ticket",
            choices=("ticket", "serial"),
            help="1a: all threads copy the remaining edges, or one does",
        ),
        gather=dict(
            default="ticket",
            choices=("ticket", "serial"),
            help="1b: all threads write the forest, or one does",
        ),
        fused=dict(default=False, help="2: three loops per round instead of four; filters by ticket"),
        compression=dict(default=True, help="3: compress paths in the union-find"),
        chunk=dict(default=1024, min=1, help="edges (or vertices) that a thread takes at a time"),
        join=dict(
            default="either",
            choices=("either", "both"),
            help="an edge joins if it is the minimum of either end, or of both",
        ),
        minimum=dict(
            default="edge", choices=("edge", "vertex"), help="minima by atomics per edge, or per vertex"
        ),
    ),
    requires=("numba",),
)


class Problem(NamedTuple):
    """The input in words, as an edge list or as adjacency rows, and how to run on it."""

    n: int
    m: int
    edges: PackedEdges | PackedRows
    width: int
    options: dict[str, Any]


class Result(NamedTuple):
    """Edge ids of the forest, and how many edges (or slots) each round began with."""

    edge_ids: np.ndarray
    sizes: list[int]


Probe = Callable[[str | None], None]
"""Takes the name of the phase that has ended, or None at the start."""


def prepare(graph: Graph, *, width: int, **options: Any) -> Problem:
    if reason := refusal(width):
        raise UnsupportedError(reason)
    structure = _rows(graph) if options["minimum"] == "vertex" else _edges(graph)
    return Problem(graph.n, graph.m, structure, width, options)


def solve(problem: Problem) -> Result:
    return solve_with_probe(problem)


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    return {"rounds": len(result.sizes), "edges by round": result.sizes}


def phases(problem: Problem) -> dict[str, float]:
    """Return the seconds of each published step, from a run that stops the clock after every loop."""
    seconds = dict.fromkeys(("minimum edges", "unions", "mapping", "filtering", "gathering"), 0.0)
    before = time.perf_counter()

    def probe(phase: str | None) -> None:
        nonlocal before
        now = time.perf_counter()
        if phase:
            seconds[phase] += now - before
        before = now

    solve_with_probe(problem, probe)
    return seconds


def skip(facts: Facts, *, width: int, filter: str, fused: bool, minimum: str, **options: Any) -> str | None:
    if fused and filter == "serial":
        return "the fused loop filters by ticket: fused=true needs filter=ticket"
    if minimum == "vertex" and (fused or filter == "serial"):
        return "minimum=vertex filters rows as it reads them: filter and fused have no meaning there"
    return None


def _edges(graph: Graph) -> PackedEdges:
    """Return the edges without self-loops, which §2.1 excludes."""
    u, v, w, ids = graph.u, graph.v, graph.w, np.arange(graph.m)
    proper = u != v
    if not proper.all():
        u, v, w, ids = u[proper], v[proper], w[proper], ids[proper]
    return PackedEdges(u.copy(), v.copy(), *pack(order.keys(w), ids))


def _rows(graph: Graph) -> PackedRows:
    csr = graph.csr()
    return PackedRows(csr.offsets.copy(), csr.neighbours.copy(), *pack(order.keys(csr.weights), csr.edge_ids))


def _no_probe(phase: str | None) -> None:
    pass


def solve_with_probe(problem: Problem, probe: Probe = _no_probe, delay_seed: int = 0) -> Result:
    """Solve, calling `probe` after every phase; a delay seed perturbs the schedule."""
    size = problem.n if isinstance(problem.edges, PackedRows) else problem.edges.a.size
    # More threads than chunks would have nothing to do.
    width = max(1, min(problem.width, -(-size // problem.options["chunk"])))
    schedule = Schedule(width, problem.options["chunk"], new_tallies(width, delay_seed))
    with workers(width):
        if isinstance(problem.edges, PackedRows):
            return _OverRows(problem, problem.edges, schedule, probe).solve()
        return _OverEdges(problem, problem.edges, schedule, probe).solve()


class _Solve:
    """The state and the last step of a solve, over edges or over rows."""

    def __init__(self, problem: Problem, ids: np.ndarray, schedule: Schedule, probe: Probe) -> None:
        n = problem.n
        self.problem, self.schedule, self.probe = problem, schedule, probe
        self.both = problem.options["join"] == "both"
        self.packed = ids.size == 0
        self.in_forest = np.zeros(problem.m, np.uint8)
        self.state = kernel.State(
            sets=ranked_forest(n),
            compress=problem.options["compression"],
            least=np.full(n, NONE),
            least_id=np.full(0 if self.packed else n, kernel.NO_ID),
        )
        self.sizes: list[int] = []

    def rounds(self) -> None:
        raise NotImplementedError

    def solve(self) -> Result:
        self.probe(None)
        self.rounds()
        forest = np.empty(max(self.problem.n - 1, 0), np.int64)
        if self.problem.options["gather"] == "ticket":
            found = kernel.gather_by_ticket(self.schedule, self.in_forest, forest)
        else:
            found = kernel.gather_serially(self.in_forest, forest)
        self.probe("gathering")
        return Result(forest[:found], self.sizes)


class _OverEdges(_Solve):
    """The rounds of Listing 7, with four loops each, or three if these are fused."""

    def __init__(self, problem: Problem, edges: PackedEdges, schedule: Schedule, probe: Probe) -> None:
        super().__init__(problem, edges.ids, schedule, probe)
        self.edges = edges
        self.spare = [edges.empty() for _ in range(2)]

    def rounds(self) -> None:
        edges, size = self.edges, self.edges.a.size
        step = self.fused_round if self.problem.options["fused"] else self.round
        while size:
            edges, size = step(edges, size)

    def round(self, edges: PackedEdges, size: int) -> tuple[PackedEdges, int]:
        self.sizes.append(size)
        kernel.find_minima(self.schedule, size, edges, self.state)
        self.break_ties(edges, size)
        self.probe("minimum edges")
        self.unite(edges, size)
        self.probe("unions")
        # The input is not overwritten: its ends are relabelled into the arrays that the first filter does not fill.
        ends = (self.spare[1] if edges is self.edges else edges)[:2]
        kernel.relabel(self.schedule, size, edges, ends, self.state)
        edges = PackedEdges(*ends, edges.words, edges.ids)
        self.probe("mapping")
        kept = self.spare[0]
        if self.problem.options["filter"] == "ticket":
            size = kernel.filter_by_ticket(self.schedule, size, edges, kept)
        else:
            size = kernel.filter_serially(size, edges, kept)
        self.spare.reverse()
        self.probe("filtering")
        return kept, size

    def fused_round(self, edges: PackedEdges, size: int) -> tuple[PackedEdges, int]:
        kept = self.spare[0]
        size = kernel.relabel_filter_and_find_minima(self.schedule, size, edges, kept, self.state)
        self.spare.reverse()
        if size == 0:
            return kept, size
        self.sizes.append(size)
        self.break_ties(kept, size)
        self.probe("minimum edges")
        self.unite(kept, size)
        self.probe("unions")
        kernel.reset_minima(self.schedule, size, kept, self.state)
        self.probe("mapping")
        return kept, size

    def break_ties(self, edges: PackedEdges, size: int) -> None:
        if not self.packed:
            kernel.break_ties(self.schedule, size, edges, self.state)

    def unite(self, edges: PackedEdges, size: int) -> None:
        kernel.unite_minima(self.schedule, size, edges, self.both, self.state, self.in_forest)


class _OverRows(_Solve):
    """The rounds of the authors' future work, with three loops over vertices each."""

    def __init__(self, problem: Problem, rows: PackedRows, schedule: Schedule, probe: Probe) -> None:
        super().__init__(problem, rows.ids, schedule, probe)
        self.slots = kernels_by_row.Slots(rows.neighbours, rows.words, rows.ids)
        self.rows = kernels_by_row.Rows(
            begins=rows.offsets[:-1],
            ends=rows.offsets[1:].copy(),
            root=np.empty(problem.n, rows.neighbours.dtype),
            lightest=np.empty(problem.n, np.int64),
        )

    def rounds(self) -> None:
        schedule, rows, state = self.schedule, self.rows, self.state
        slots = self.slots
        kept = kernels_by_row.Slots(*(np.empty_like(column) for column in slots))
        left = slots.others.size
        while left:
            left = kernels_by_row.scan_rows(schedule, rows, slots, kept, state)
            slots = kept
            if left == 0:
                break
            self.sizes.append(left)
            if not self.packed:
                kernels_by_row.break_row_ties(schedule, rows, slots, state)
            self.probe("minimum edges")
            kernels_by_row.unite_rows(schedule, rows, slots, self.both, state, self.in_forest)
            self.probe("unions")
            kernels_by_row.reset_rows(schedule, rows, state)
            self.probe("mapping")
