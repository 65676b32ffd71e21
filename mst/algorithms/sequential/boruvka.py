"""Borůvka's algorithm (1926) as Durbhakula gives it (§2.1), with and without its `covered` attribute."""

from __future__ import annotations

import numpy as np

from mst import order
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


def prepare(graph, *, width, covered):
    return graph, covered


def solve(problem):
    graph, covered = problem
    id_dtype = np.int32 if graph.m < 2**31 else np.int64
    return rounds(graph.n, graph.u, graph.v, order.keys(graph.w), covered, id_dtype(-1))


def collect(problem, result):
    return result[0]


def counters(problem, result):
    return dict(rounds=result[1])


@njit
def rounds(n, u, v, keys, skip_covered, none):
    """Return the forest's edge ids and the number of rounds.

    Edges are visited by ascending id and replace a minimum only when lighter, so ties go to the smaller id.
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
