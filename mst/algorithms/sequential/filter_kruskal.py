"""Filter-Kruskal: quicksort whose heavier parts lose the edges inside a tree before they are sorted.

`scheme` chooses between the recursion of Osipov, Sanders and Singler (ALENEX 2009) and the two steps of PBBS's
serial program, the ECL-MST paper's serial baseline: the lightest 4n/3 edges, then what a filter leaves of the
rest.
"""

from __future__ import annotations

from mst.algorithms.sequential._lazy_kruskal import lazy_kruskal, prefix_kruskal, workspace

ALGORITHM = dict(
    id="filter-kruskal",
    paradigm="sequential",
    title="Filter-Kruskal",
    input="edges",
    options=dict(
        scheme=dict(
            default="recursive",
            choices=("recursive", "prefix"),
            help="filter at every level of the quicksort, or once after the lightest 4n/3 edges (PBBS)",
        ),
        cutoff=dict(default=16_384, min=1, help="recursive: ranges of at most this many edges are sorted"),
        sample=dict(default=1023, min=1, help="edges that are sampled to choose a pivot"),
    ),
    requires=("numba",),
)


def prepare(graph, *, width, scheme, cutoff, sample):
    return graph, scheme, cutoff, sample


def solve(problem):
    graph, scheme, cutoff, sample = problem
    if scheme == "prefix":
        return prefix_kruskal(*workspace(graph), 4 * graph.n // 3, sample)
    return lazy_kruskal(*workspace(graph), cutoff, sample, True)


def collect(problem, result):
    return result
