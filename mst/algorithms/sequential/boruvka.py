"""Borůvka's algorithm (1926) as Durbhakula gives it (§2.1), with and without its `covered` attribute."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mst import order
from mst.graph import Graph
from mst.kernels.primitives.jit import njit
from mst.kernels.union_find.sequential import find

ALGORITHM = dict(
    id="boruvka",
    paradigm="sequential",
    paper="durbhakula",
    title="Borůvka",
    input="edges",
    options=dict(
        covered=dict(default=True, help="mark edges that lie inside a component and skip them from then on"),
    ),
    requires=("numba",),
)


class Problem(NamedTuple):
    """The graph, and whether covered edges are marked."""

    graph: Graph
    covered: bool


class Result(NamedTuple):
    """Edge ids of the forest, and the number of rounds."""

    edge_ids: np.ndarray
    rounds: int


def prepare(graph: Graph, *, width: int, covered: bool) -> Problem:
    return Problem(graph, covered)


def solve(problem: Problem) -> Result:
    graph, covered = problem
    id_dtype = np.int32 if graph.m < 2**31 else np.int64
    return Result(*rounds(graph.n, graph.u, graph.v, order.keys(graph.w), covered, id_dtype(-1)))


def collect(problem: Problem, result: Result) -> np.ndarray:
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, int]:
    return dict(rounds=result.rounds)


@njit
def rounds(n, u, v, keys, skip_covered, none):
    """Return the forest's edge ids and the number of rounds.

    Edges are visited by ascending id, and an edge replaces a minimum only if it is lighter, so ties go to the smaller
    id.

    Parameters
    ----------
    n : int
    u, v : array of int32 or int64, shape (m,)
    keys : array of uint32 or uint64, shape (m,)
        Order-preserving keys of the weights.
    skip_covered : bool
        Whether edges found inside a component are marked and skipped from then on.
    none : int32 or int64
        -1, in the dtype of the edge ids that are returned.
    """
    parent = np.arange(n, dtype=u.dtype)
    members = np.ones(n, u.dtype)
    covered = np.zeros(u.size if skip_covered else 0, np.bool_)
    forest = np.empty(max(n - 1, 0), np.dtype(type(none)))
    size = done = 0
    while True:
        done += 1
        minimum = np.full(n, none)
        for e in range(u.size):
            if skip_covered and covered[e]:
                continue
            a, b = find(parent, u[e]), find(parent, v[e])
            if a == b:
                if skip_covered:
                    covered[e] = True
                continue
            if minimum[a] == none or keys[minimum[a]] > keys[e]:
                minimum[a] = e
            if minimum[b] == none or keys[minimum[b]] > keys[e]:
                minimum[b] = e
        before = size
        for x in range(n):
            e = minimum[x]
            if e == none:
                continue
            a, b = find(parent, u[e]), find(parent, v[e])
            if a == b:
                continue
            if members[a] < members[b]:
                a, b = b, a
            parent[b] = a
            members[a] += members[b]
            forest[size] = e
            size += 1
            if skip_covered:
                covered[e] = True
        if size == before:
            return forest[:size], done - 1
