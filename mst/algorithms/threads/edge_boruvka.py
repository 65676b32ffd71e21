"""Borůvka's algorithm over an edge list on many cores: Shou and He's OpenMP program.

M. Shou and J. He, "Parallel Minimum Spanning Tree", 15-418 final project (CMU, 2024), §3.3: no program was
published, so this is a port of Listing 7 and of the wait-free union-find of Listing 4. Each round lowers the
minimum of both ends of every edge atomically, joins the ends of minima, maps ends to their representatives and
filters self-loops. The options are the published optimisations; the defaults are the final version's, 1a and 1b
with chunks of 1024.

What the listings leave open:

- Listing 7 joins an edge that is the minimum of *both* its ends, the CUDA version (Listing 5) of *either* end. With
  both, a star takes a round for every edge; the published times on sparse graphs rule it out. *Either* is the
  default.
- Weights are distinct there. Here ties go by edge id, which packs into one word with weights of 32 bits; weights of
  64 bits take one more loop for ties.
- Minima per vertex are their future work (§4.3, §4.4): adjacency rows in place of edges, so that a vertex looks
  through its edges alone. Rows drop inner edges as they are read, which leaves nothing to filter or to fuse.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from mst import order
from mst.errors import UnsupportedError
from mst.kernels.parallel.runtime import new_counters, refusal, workers
from mst.kernels.primitives.packed_edges import NONE, pack
from mst.kernels.threads import edge_boruvka as kernel
from mst.kernels.threads import vertex_boruvka as rows
from mst.kernels.union_find.concurrent import ranked_forest

ALGORITHM = dict(
    id="edge-boruvka",
    paradigm="threads",
    paper="shou-he",
    title="Borůvka over edges (Shou–He, port)",
    input="edges",
    options=dict(
        filter=dict(default="ticket", choices=("ticket", "serial"), help="1a: who writes the edges that stay"),
        gather=dict(default="ticket", choices=("ticket", "serial"), help="1b: who writes the forest"),
        fused=dict(default=False, help="2: three loops a round, not four; filters by ticket"),
        compression=dict(default=True, help="3: compress paths in the union-find"),
        chunk=dict(default=1024, min=1, help="edges (or vertices) dealt out at a time"),
        join=dict(
            default="either", choices=("either", "both"), help="ends that an edge must be the minimum of"
        ),
        minimum=dict(
            default="edge", choices=("edge", "vertex"), help="minima by atomics per edge, or per vertex"
        ),
    ),
    requires=("numba",),
)


@dataclass(frozen=True)
class Problem:
    """The input as the loops want it, and how to run them."""

    n: int
    m: int
    index: np.dtype
    edges: tuple[np.ndarray, ...]
    width: int
    options: dict


def prepare(graph, *, width, **options):
    if reason := refusal(width):
        raise UnsupportedError(reason)
    structure = _rows(graph) if options["minimum"] == "vertex" else _edges(graph)
    return Problem(graph.n, graph.m, graph.u.dtype, structure, width, options)


def solve(problem):
    return _solve(problem)


def collect(problem, result):
    return result[0]


def counters(problem, result):
    return {"rounds": len(result[1]), "edges by round": result[1]}


def phases(problem):
    """Seconds of each published step, from a run that stops the clock after every loop."""
    seconds = dict.fromkeys(("minimum edges", "unions", "mapping", "filtering", "gathering"), 0.0)
    before = time.perf_counter()

    def probe(phase):
        nonlocal before
        now = time.perf_counter()
        if phase:
            seconds[phase] += now - before
        before = now

    _solve(problem, probe)
    return seconds


def skip(facts, *, width, filter, fused, minimum, **options):
    if fused and filter == "serial":
        return "the fused loop filters by ticket: fused=true needs filter=ticket"
    if minimum == "vertex" and (fused or filter == "serial"):
        return "minimum=vertex filters rows as it reads them: filter and fused have no meaning there"
    return None


def _edges(graph):
    """Return ``a, b, words, ids`` without self-loops, which §2.1 excludes."""
    u, v, w, ids = graph.u, graph.v, graph.w, np.arange(graph.m)
    proper = u != v
    if not proper.all():
        u, v, w, ids = u[proper], v[proper], w[proper], ids[proper]
    return u.copy(), v.copy(), *pack(order.keys(w), ids)


def _rows(graph):
    """Return the offsets, other ends, words and ids of the CSR."""
    csr = graph.csr()
    return csr.offsets.copy(), csr.neighbours.copy(), *pack(order.keys(csr.weights), csr.edge_ids)


def _nothing(phase):
    pass


def _solve(problem, probe=_nothing, delay_seed=0):
    run = _OverRows if problem.options["minimum"] == "vertex" else _OverEdges
    size = problem.n if run is _OverRows else problem.edges[0].size
    # More threads than chunks would have nothing to do.
    width = max(1, min(problem.width, -(-size // problem.options["chunk"])))
    with workers(width):
        return run(problem, width, probe, delay_seed).solve()


class _Run:
    """What rounds over edges and over rows share."""

    def __init__(self, problem, width, probe, delay_seed):
        self.problem, self.width, self.probe = problem, width, probe
        self.chunk, self.compress = problem.options["chunk"], problem.options["compression"]
        self.both = problem.options["join"] == "both"
        self.shared = new_counters(width, delay_seed)
        self.sets = ranked_forest(problem.n)
        self.in_forest = np.zeros(problem.m, np.uint8)
        self.packed = problem.edges[-1].size == 0
        self.least = np.full(problem.n, NONE)
        self.least_id = np.full(0 if self.packed else problem.n, kernel.NO_ID)
        self.sizes = []

    def solve(self):
        self.probe(None)
        self.rounds()
        forest = np.empty(max(self.problem.n - 1, 0), np.int64)
        if self.problem.options["gather"] == "ticket":
            found = kernel.gather_by_ticket(self.width, self.chunk, self.in_forest, forest, self.shared)
        else:
            found = kernel.gather_serially(self.in_forest, forest)
        self.probe("gathering")
        return forest[:found], self.sizes


class _OverEdges(_Run):
    """Listing 7, and its loops fused to three."""

    def rounds(self):
        size = self.problem.edges[0].size
        self.spare = [tuple(np.empty_like(part) for part in self.problem.edges) for _ in range(2)]
        edges = self.problem.edges
        step = self.fused_round if self.problem.options["fused"] else self.round
        while size:
            edges, size = step(edges, size)

    def round(self, edges, size):
        self.sizes.append(size)
        a, b, words, ids = edges
        w, k, c = self.width, self.chunk, self.shared
        kernel.find_minima(w, k, size, a, b, words, self.least, c)
        self.break_ties(edges, size)
        self.probe("minimum edges")
        self.unite(edges, size)
        self.probe("unions")
        # The input stays as it is: its ends are mapped into the arrays that the first filter does not fill.
        mapped = self.spare[1][:2] if a is self.problem.edges[0] else (a, b)
        kernel.map_ends(
            w, k, size, a, b, *mapped, self.compress, self.sets, self.least, self.least_id, self.packed, c
        )
        self.probe("mapping")
        kept = self.spare[0]
        if self.problem.options["filter"] == "ticket":
            size = kernel.filter_by_ticket(w, k, size, *mapped, words, ids, *kept, c)
        else:
            size = kernel.filter_serially(size, *mapped, words, ids, *kept)
        self.spare.reverse()
        self.probe("filtering")
        return kept, size

    def fused_round(self, edges, size):
        w, k, c = self.width, self.chunk, self.shared
        kept = self.spare[0]
        size = kernel.fused(w, k, size, *edges, *kept, self.compress, self.sets, self.least, c)
        self.spare.reverse()
        if size == 0:
            return kept, size
        self.sizes.append(size)
        self.break_ties(kept, size)
        self.probe("minimum edges")
        self.unite(kept, size)
        self.probe("unions")
        kernel.reset_minima(w, k, size, *kept[:2], self.least, self.least_id, self.packed, c)
        self.probe("mapping")
        return kept, size

    def break_ties(self, edges, size):
        if not self.packed:
            kernel.break_ties(self.width, self.chunk, size, *edges, self.least, self.least_id, self.shared)

    def unite(self, edges, size):
        kernel.unite_minima(
            self.width, self.chunk, size, *edges, self.least, self.least_id, self.both, self.compress, self.sets,
            self.in_forest, self.shared,
        )  # fmt: skip


class _OverRows(_Run):
    """The future work: three loops over vertices."""

    def rounds(self):
        offsets, row, words, ids = self.problem.edges
        begins, ends = offsets[:-1], offsets[1:].copy()
        home, pick = np.empty(self.problem.n, self.problem.index), np.empty(self.problem.n, np.int64)
        w, k, c = self.width, self.chunk, self.shared
        source = row, words, ids
        kept = tuple(np.empty_like(part) for part in source)
        left = row.size
        while left:
            left = rows.scan_rows(
                w, k, begins, ends, *source, *kept, home, pick, self.compress, self.sets, self.least, c
            )
            source = kept
            if left == 0:
                break
            self.sizes.append(left)
            if not self.packed:
                rows.break_row_ties(w, k, begins, ends, *kept[1:], home, pick, self.least, self.least_id, c)
            self.probe("minimum edges")
            rows.unite_rows(
                w, k, begins, ends, *kept, home, pick, self.least, self.least_id, self.both, self.compress,
                self.sets, self.in_forest, c,
            )  # fmt: skip
            self.probe("unions")
            rows.reset_rows(w, k, begins, ends, home, self.least, self.least_id, self.packed, c)
            self.probe("mapping")
