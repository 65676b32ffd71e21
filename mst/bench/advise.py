"""Makes the table of advice: candidates side by side over sizes, densities and families, on this machine.

``python -m mst.bench.advise --out config/advice.json`` measures, and replaces the cells of that table that it measured
(a number of cores, a size, a density), whoever they were from; all others stay. ``--check`` measures families and
seeds that the table was not made from, and says in how many cases the choice is within 20 % of the best. A time is
what a caller waits for: prepare, solve and collect, on warm code.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from mst import registry
from mst.advice import choose_from
from mst.bench.machine import this_machine, usable_cores
from mst.generators import generate
from mst.graph import Graph

CANDIDATES = ("filter-boruvka", "kruskal", "prim-dense", "filter-boruvka-threads")
SIZES = tuple(4**k for k in range(5, 13))
DENSITIES = (1.5, 4.0, 16.0, 100.0)
WITHIN = 1.2
_SECONDS = 0.12
_MOST = 40


@dataclass(frozen=True)
class Case:
    """A graph to measure: its place in the table, and how it is made."""

    m: int
    density: float
    family: str
    parameters: dict[str, Any]
    seed: int

    def make(self) -> Graph:
        return generate(self.family, seed=self.seed, **self.parameters)


def training(sizes: Sequence[int]) -> Iterator[Case]:
    """Yield the cases that the table is made from."""
    for m in sizes:
        for density in DENSITIES:
            n = max(round(m / density), 2)
            if n * (n - 1) // 2 < 1.2 * m:
                continue
            yield Case(m, density, "uniform", dict(n=n, m=m), 11)
            if density == 1.5:
                side = max(round((0.5 * n) ** 0.5), 2)
                yield Case(m, density, "road", dict(rows=side, columns=max(n // side, 2)), 12)
            elif density < 100:
                scale = max(round(n).bit_length() - 1, 3)
                if 2**scale * (2**scale - 1) // 2 > 3 * m:
                    yield Case(m, density, "rmat", dict(scale=scale, m=m), 13)


def unseen(sizes: Sequence[int]) -> Iterator[Case]:
    """Yield cases of other families, sizes and seeds."""
    for k, m in enumerate(sizes):
        m = round(m * (1.7 if k % 2 else 0.6))
        yield Case(m, 3.0, "delaunay", dict(n=max(m // 3, 4)), 101)
        yield Case(
            m, 2.0, "grid", dict(rows=max(int((m / 2) ** 0.5), 2), columns=max(int((m / 2) ** 0.5), 2)), 102
        )
        yield Case(m, 6.0, "watts-strogatz", dict(n=max(m // 6, 13), k=12), 103)
        yield Case(m, 8.0, "barabasi-albert", dict(n=max(m // 8, 20), k=8), 104)
        yield Case(m, 1.0, "tree", dict(n=m + 1), 105)
        yield Case(m, 0.0, "dense", dict(n=max(int((2 * m / 0.9) ** 0.5), 3)), 106)
        yield Case(m, 16.0, "kronecker", dict(scale=max((m // 16).bit_length() - 1, 4), edge_factor=16), 107)


def widths(cores: int) -> list[int]:
    """Return the numbers of cores that the table distinguishes here: powers of two, and all."""
    return sorted({2**k for k in range(cores.bit_length()) if 2**k <= cores} | {cores})


def measure(graph: Graph, cores: int) -> dict[str, float]:
    """Return seconds by ``algorithm@width``: medians of calls in turns, after two to warm up."""
    facts = registry.Facts(n=graph.n, m=graph.m, weight_dtype=graph.w.dtype.name)
    calls = {}
    for algorithm in map(registry.get, CANDIDATES):
        for width in widths(cores)[1:] if algorithm.paradigm == "threads" else [1]:
            options = algorithm.resolve()
            if not algorithm.skip(facts, width=width, options=options):
                calls[f"{algorithm.id}@{width}"] = (algorithm.load(), width, options)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for name in list(calls):
        first = _call(graph, *calls[name])
        if name.startswith("prim-dense") and first > 20 * _SECONDS:
            del calls[name], times[name]
            continue
        _call(graph, *calls[name])
    rounds = 0
    while rounds < 3 or (rounds < _MOST and sum(map(sum, times.values())) < _SECONDS * len(calls)):
        for name, call in calls.items():
            times[name].append(_call(graph, *call))
        rounds += 1
    return {name: median(values) for name, values in times.items()}


def _call(graph: Graph, module: Any, width: int, options: dict[str, Any]) -> float:
    started = time.perf_counter()
    problem = module.prepare(graph, width=width, **options)
    module.collect(problem, module.solve(problem))
    return time.perf_counter() - started


def cells(measured: Sequence[tuple[Case, dict[str, float]]], cores: int, machine: str) -> list[dict[str, Any]]:
    """Return the table's cells for every number of cores up to `cores`."""
    made = []
    places = sorted({(case.m, case.density) for case, _ in measured})
    for width in widths(cores):
        for m, density in places:
            here = [times for case, times in measured if (case.m, case.density) == (m, density)]
            names = set.intersection(
                *({name for name in times if int(name.partition("@")[2]) <= width} for times in here)
            )
            ratios = {
                name: geometric_mean(times[name] / min(times[other] for other in names) for times in here)
                for name in sorted(names)
            }
            made.append(
                {
                    "cores": width,
                    "m": m,
                    "density": density,
                    "times": {name: round(ratio, 3) for name, ratio in ratios.items()},
                    "machine": machine,
                }
            )
    return made


def merged(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the cells of two tables, by cores, size and density; where both have one, the new one.

    Examples
    --------
    >>> from mst.bench.advise import merged
    >>> cells = [{"cores": cores, "m": 1024, "density": 4.0, "machine": "a"} for cores in (1, 2)]
    >>> [(c["cores"], c["machine"]) for c in merged(cells, [{**cells[1], "machine": "b"}])]
    [(1, 'a'), (2, 'b')]
    """
    by_place = {(cell["cores"], cell["m"], cell["density"]): cell for cell in (*old, *new)}
    return [by_place[place] for place in sorted(by_place)]


def judge(
    table: Sequence[dict[str, Any]], cases: Sequence[tuple[Case, Graph, dict[str, float]]], cores: int
) -> list:
    """Return (case, width, choice, regret) of every case at every width."""
    judged = []
    for case, graph, times in cases:
        for width in widths(cores):
            choice = choose_from(table, graph.n, graph.m, width=width)
            fitting = {k: t for k, t in times.items() if int(k.partition("@")[2]) <= width}
            taken = fitting.get(f"{choice.algorithm}@{choice.width}")
            if taken is not None:
                judged.append((case, width, choice, taken / min(fitting.values())))
    return judged


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="merge what is measured into this table")
    parser.add_argument("--check", type=Path, help="judge this table on unseen families")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="largest number of edges")
    parser.add_argument("--cores", type=int, default=usable_cores())
    chosen = parser.parse_args(arguments)
    sizes = [m for m in SIZES if m <= chosen.most]
    machine = this_machine()
    named = f"{machine.cpu}, {chosen.cores} cores"
    if chosen.out:
        measured = []
        for case in training(sizes):
            graph = case.make()
            measured.append((case, measure(graph, chosen.cores)))
            best = min(measured[-1][1], key=measured[-1][1].__getitem__)
            print(f"{case.family:<10} n={graph.n:<9} m={graph.m:<9} best {best}", flush=True)
        old = json.loads(chosen.out.read_text())["cells"] if chosen.out.is_file() else []
        table = merged(old, cells(measured, chosen.cores, named))
        chosen.out.write_text(json.dumps({"cells": table}, indent=1) + "\n")
    if chosen.check:
        table = json.loads(chosen.check.read_text())["cells"]
        cases = []
        for case in unseen(sizes):
            graph = case.make()
            cases.append((case, graph, measure(graph, chosen.cores)))
        judged = judge(table, cases, chosen.cores)
        good = sum(regret <= WITHIN for *_, regret in judged)
        for case, width, choice, regret in judged:
            if regret > WITHIN:
                print(
                    f"{case.family} m={case.m} on {width} cores: {choice.algorithm}@{choice.width} {regret:.2f}x"
                )
        print(f"within 20 % of the best in {good} of {len(judged)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
