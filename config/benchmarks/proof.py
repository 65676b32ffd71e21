"""The proof of Kruskal's forest, timed as an algorithm beside it: `make bench-sequential` finds it here."""

from __future__ import annotations

from mst import proof
from mst.algorithms.sequential import kruskal
from mst.errors import MSTError

ALGORITHM = dict(
    id="proof",
    paradigm="sequential",
    title="Proof of Kruskal's forest",
    input="edges",
    requires=("numba",),
)


def prepare(graph, *, width):
    return graph, kruskal.solve(kruskal.prepare(graph, width=width, sort="radix"))


def solve(problem):
    graph, edge_ids = problem
    found = proof.prove(graph, edge_ids)
    if not found.ok:
        raise MSTError(found.reason)
    return edge_ids


def collect(problem, result):
    return result
