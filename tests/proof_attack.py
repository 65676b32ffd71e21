"""Attack proofs with mutants.

A mutant is a tiny adversarial graph and edge ids that are not its minimum spanning forest, or not a spanning forest of
least weight: as `oracles` find it, which share no code with the package. `prove` must refuse the former and
`check_forest` the latter; an accepted mutant ends the attack by an AssertionError.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import oracles
import tiny_graphs

from mst.graph import Graph
from mst.order import total
from mst.proof import check_forest, prove

FOREIGN = (-1, -(2**31), -(2**63), 2**31, 2**32, 2**63 - 1)
PARALLEL_SHARE = 50
"""One of so many mutants is also proved by two threads, whose code compares every edge with its path."""


def changed_ids(rng: np.random.Generator, graph: Graph, ids: list[int]) -> Iterator[tuple[str, object]]:
    """Yield edge ids that differ from those of the forest, by the name of the mutation."""
    out = ids[rng.integers(len(ids))] if ids else None
    others = sorted(set(range(graph.m)) - set(ids))
    if ids:
        kept = [e for e in ids if e != out]
        yield "dropped edge", kept
        yield "edge twice", [*ids, out]
        yield "edge twice in place of another", [*kept, kept[0]] if kept else [out, out]
        for foreign in (graph.m, graph.m + 31, *FOREIGN):
            yield "foreign id", [*kept, foreign]
        yield "foreign id of 64 bits", np.array([*kept, 2**64 - 1 - out], np.uint64)
        yield "wrapped id", np.array([*kept, 2**32 + out], np.int64)
        alike = [e for e in others if graph.w[e] == graph.w[out]]
        for into in alike[:4]:
            yield "swapped edge of equal weight", [*kept, into]
        for into in rng.permutation(others)[:3].tolist():
            yield "swapped edge", [*kept, into]
    for into in rng.permutation(others)[:3].tolist():
        yield "cycle", [*ids, into]
    if len(others) > 1 and len(ids) > 1:
        some = rng.permutation(ids)[2:].tolist() + rng.permutation(others)[:2].tolist()
        yield "two swapped edges", some
    yield "any edges", np.flatnonzero(rng.random(graph.m) < 0.5)


def changed_graphs(rng: np.random.Generator, graph: Graph) -> Iterator[tuple[str, Graph]]:
    """Yield graphs that differ in one weight by the least step, or in one end."""
    for _ in range(4):
        e = int(rng.integers(graph.m))
        yield "weight a step off", Graph(graph.n, graph.u, graph.v, _stepped(graph.w, e, rng.integers(2)))
        v = graph.v.copy()
        v[e] = rng.integers(graph.n)
        yield "end moved", Graph(graph.n, graph.u, v, graph.w)
        w = graph.w.copy()
        w[[e, 0]] = w[[0, e]]
        yield "weights exchanged", Graph(graph.n, graph.u, graph.v, w)


def _stepped(w: np.ndarray, e: int, up: int) -> np.ndarray:
    w = w.copy()
    if w.dtype.kind == "f":
        with np.errstate(over="ignore"):
            w[e] = np.nextafter(w[e], np.inf if up else -np.inf, dtype=w.dtype)
    else:
        info = np.iinfo(w.dtype)
        w[e] = min(int(w[e]) + 1, info.max) if up else max(int(w[e]) - 1, info.min)
    return w


def mutants(rng: np.random.Generator, graph: Graph) -> Iterator[tuple[str, Graph, list[int], object]]:
    """Yield the name of a mutation, a graph, its forest, and other edge ids."""
    forest = oracles.by_python_kruskal(graph)
    for name, ids in changed_ids(rng, graph, forest):
        yield name, graph, forest, ids
    if graph.m:
        for name, other in changed_graphs(rng, graph):
            yield name, other, oracles.by_python_kruskal(other), forest


def is_least(graph: Graph, forest: list[int], ids: list[int]) -> bool:
    """Return whether ids are a spanning forest that has the weights of the minimum spanning forest."""
    if len(set(ids)) != len(ids) or not all(0 <= e < graph.m for e in ids):
        return False
    part = Graph(graph.n, graph.u[ids], graph.v[ids], graph.w[ids])
    acyclic = len(oracles.by_python_kruskal(part)) == len(ids) == len(forest)
    return acyclic and sorted(graph.w[ids].tolist()) == sorted(graph.w[forest].tolist())


def attack(limit: int, seed: int) -> Counter:
    """Prove so many mutants; return their number by mutation."""
    counts: Counter = Counter()
    turn = tried = 0
    while tried < limit:
        rng = np.random.default_rng([seed, turn])
        graph = tiny_graphs.union(rng, int(rng.integers(1, 4)))
        forest = oracles.by_python_kruskal(graph)
        weight = total(graph.w[forest])
        assert prove(graph, forest).ok and check_forest(graph, forest, reference_weight=weight).ok, [seed, turn]
        for name, mutant, truth, ids in mutants(rng, graph):
            given = np.asarray(ids).tolist()
            if sorted(given) != truth:
                proof = prove(mutant, ids)
                assert not proof.ok and proof.reason, ("prove", name, [seed, turn], given, truth)
                if tried % PARALLEL_SHARE == 0:
                    assert not prove(mutant, ids, threads=2).ok, (
                        "two threads",
                        name,
                        [seed, turn],
                        given,
                        truth,
                    )
                counts[name] += 1
                tried += 1
            expected = is_least(mutant, truth, given)
            checked = check_forest(mutant, ids, reference_weight=total(mutant.w[truth]))
            assert checked.ok == expected, ("check_forest", name, [seed, turn], given, truth, checked)
            counts["other forests of least weight" if expected else "refused by check_forest"] += 1
        turn += 1
    counts["graphs"] = turn
    return counts


def refused(counts: Counter) -> int:
    """Return how many mutants `prove` refused."""
    aside = ("graphs", "other forests of least weight", "refused by check_forest")
    return sum(count for name, count in counts.items() if name not in aside)
