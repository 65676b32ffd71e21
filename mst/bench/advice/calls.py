"""Times calls of candidates as users make them, in turns, with compiled code, and records the times."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from mst import registry
from mst.advice import Candidate, Table, kind_of
from mst.advice.traits import traits_of
from mst.bench.advice.cases import LARGE, SIZES, Case, weigh
from mst.bench.advice.cells import Measured, UsableHardware, promising
from mst.errors import MSTError
from mst.execute import Implementation, implementation_of
from mst.facts import Facts
from mst.generators import generate
from mst.graph import Graph

_SECONDS = 0.05
"""Candidates are called in turns on a graph until they have taken this many seconds on average."""

_MOST_ROUNDS = 30

_PACE = 6e-7
"""First estimate of the seconds that a case takes for each edge."""


class Caller:
    """Calls candidates on one graph, each time without anything that an earlier call derived from it."""

    def __init__(self, graph: Graph, candidates: Iterable[Candidate]):
        self.graph = graph
        self.resident: Any = None
        facts = Facts.of(graph)
        self.ways = {}
        for candidate in candidates:
            algorithm = registry.get(candidate.algorithm)
            options = algorithm.parse_slug(candidate.slug)
            if not algorithm.skip(facts, width=candidate.width, options=options):
                self.ways[str(candidate)] = (candidate, implementation_of(algorithm), options)

    def __call__(self, name: str) -> tuple[float, np.ndarray]:
        """Return the seconds of a call, and the sorted edge ids."""
        candidate, implementation, options = self.ways[name]
        if candidate.place == "device":
            return self._on_device(implementation, options)
        graph = Graph(self.graph.n, self.graph.u, self.graph.v, self.graph.w, trusted=True)
        started = time.perf_counter()
        problem = implementation.ready(graph, candidate.width, options).problem
        ids = implementation.collect_edges(problem, implementation.solve(problem))
        return time.perf_counter() - started, np.sort(ids)

    def _on_device(self, implementation: Implementation, options: dict[str, Any]) -> tuple[float, np.ndarray]:
        import cupy

        if self.resident is None:
            self.resident = on_device(self.graph)
        cupy.cuda.get_current_stream().synchronize()
        started = time.perf_counter()
        problem = implementation.ready(self.resident, options=options).problem
        assert implementation.edge_ids is not None
        ids = cupy.sort(implementation.edge_ids(implementation.solve(problem)).astype(cupy.int64))
        cupy.cuda.get_current_stream().synchronize()
        return time.perf_counter() - started, ids.get()

    def close(self) -> None:
        """Free the device's memory."""
        self.resident = None
        if any(candidate.gpu for candidate, *_ in self.ways.values()):
            import cupy

            cupy.get_default_memory_pool().free_all_blocks()


def on_device(graph: Graph) -> Any:
    """Return the graph on the device."""
    from mst.algorithms.cuda.device.graph import DeviceGraph

    return DeviceGraph.of(graph)


def measure(graph: Graph, candidates: Iterable[Candidate], wrong: list[str]) -> dict[str, float]:
    """Return seconds by candidate: medians of calls in turns, or one call's time where that was far too slow.

    A candidate whose forest differs from that of the first one has no time, and is named in `wrong`.
    """
    caller = Caller(graph, candidates)
    first: dict[str, float] = {}
    expected: np.ndarray | None = None
    for name, (candidate, *_) in caller.ways.items():
        try:
            seconds, ids = caller(name)
            # The first call may have included compilation; large graphs on cores are not repeated for that.
            if candidate.gpu or graph.m < LARGE:
                seconds, ids = min((seconds, ids), caller(name), key=lambda call: call[0])
        except (MSTError, MemoryError, RuntimeError) as error:  # CuPy raises the last two
            print(f"  {name}: {error}", flush=True)
            continue
        expected = ids if expected is None else expected
        if not np.array_equal(ids, expected):
            wrong.append(f"{name} finds another forest of {graph!r}")
            print(f"  WRONG: {wrong[-1]}", flush=True)
            continue
        first[name] = seconds
    times = {name: [first[name]] for name in promising(first)}
    rounds = 0
    while rounds < 2 or (
        graph.m < LARGE and rounds < _MOST_ROUNDS and sum(map(sum, times.values())) < _SECONDS * len(times)
    ):
        for name in times:
            times[name].append(caller(name)[0])
        rounds += 1
    caller.close()
    return {**first, **{name: median(values) for name, values in times.items()}}


def choosing(graph: Graph, table: Table, hardware: UsableHardware) -> dict[str, float]:
    """Return the seconds that a choice for this graph costs, by cores and GPU."""
    costs = {}
    for width, gpu in hardware.settings():
        subject = on_device(graph) if gpu == "device" else graph
        seconds = []
        for _ in range(6):
            started = time.perf_counter()
            table.choose_for(subject, width=width, gpu=gpu)
            seconds.append(time.perf_counter() - started)
        costs[f"{width} {gpu}"] = median(seconds[1:])
    return costs


class Session:
    """Measures cases into a file until the time is over."""

    def __init__(self, file: Path, hardware: UsableHardware, seconds: float, started: float):
        self.file, self.hardware, self.end = file, hardware, started + seconds
        text = file.read_text() if file.is_file() else ""
        self.measured = [Measured.from_json(json.loads(line)) for line in text.splitlines()]
        self.pace = _PACE
        self.wrong: list[str] = []

    def take(self, cases: Iterable[Case], table: Table | None = None) -> Iterator[Measured]:
        """Yield each case as it is measured, and record it; with a table, the cost of choosing is measured, too."""
        known = [one.case for one in self.measured]
        for case in cases:
            left = self.end - time.perf_counter()
            if case in known or 1 + self.pace * max(case.m - SIZES[-2], 0) > left:
                continue
            began = time.perf_counter()
            graph = case.make()
            traits = traits_of(graph)
            seconds = measure(graph, self.hardware.candidates(traits.weights == "local"), self.wrong)
            one = Measured(case, graph.n, graph.m, traits, seconds)
            if table is not None:
                one = replace(one, choosing=choosing(graph, table, self.hardware))
            elapsed = time.perf_counter() - began
            if graph.m >= SIZES[-1]:
                self.pace = max((elapsed - 1) / graph.m, _PACE / 3)
            with self.file.open("a") as out:
                out.write(json.dumps(asdict(one)) + "\n")
            self.measured.append(one)
            best = min(seconds, key=seconds.__getitem__)
            print(
                f"{self.end - time.perf_counter():5.0f} s left  {elapsed:5.1f} s  "
                f"{case.generator:<17} {case.weights:<10} "
                f"n={graph.n:<9} m={graph.m:<9} {kind_of(traits):<13} {best} {1e3 * seconds[best]:.3g} ms",
                flush=True,
            )
            yield one


WARMING: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("hashed", "uniform", dict(n=20_000, m=60_000)),
    ("wide", "uniform", dict(n=20_000, m=60_000)),
    ("normal", "uniform", dict(n=20_000, m=60_000)),
    ("values:1", "uniform", dict(n=2_000, m=60_000)),
    ("values:2", "uniform", dict(n=20_000, m=60_000)),
    ("wide-integers", "uniform", dict(n=2_000, m=60_000)),
    ("blocks:33", "connected-caveman", dict(cliques=120, size=33)),
)
"""Graphs for which a candidate compiles all of its code: both widths of keys, every dtype, crowded keys."""


def warm_up(hardware: UsableHardware) -> None:
    """Compile the candidates' code: call each twice on every graph of `WARMING`."""
    began = time.perf_counter()
    for weights, generator, parameters in WARMING:
        graph = weigh(generate(generator, **parameters), weights, 1)
        traits_of(graph)
        caller = Caller(graph, hardware.candidates(True))
        for name in (*caller.ways, *caller.ways):
            try:
                caller(name)
            except (MSTError, RuntimeError) as error:
                print(f"  {name}: {error}", flush=True)
        caller.close()
    print(f"warm after {time.perf_counter() - began:.0f} s", flush=True)
