"""What each published optimisation is worth, beside what its paper says: one switch at a time.

``python -m mst.bench.ablations threads --width 16`` runs every switch of the papers' shared-memory algorithms off and
on, on graphs of the catalogue, in turns, child process by child process (see `mst.bench.side_by_side`), and prints the
effect with its 95 % interval, its sign and the published figure with its place. Then come the published phases of
one algorithm, how much work the algorithms count, and every one's speedup over its own time on one thread.
A result that goes another way than the paper says is a finding, and stays.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from mst import registry
from mst.bench.measure.machine import this_machine
from mst.bench.side_by_side import Contender, Server
from mst.bench.statistics import Ratio, ratio
from mst.errors import ConfigError, MSTError


@dataclass(frozen=True)
class Switch:
    """One optimisation: the algorithm without and with it, and what is published about it.

    Attributes
    ----------
    published : str
        The figure, and its place in the paper.
    sign : int or None
        What the paper says: 1 faster, 0 no difference, -1 slower, None when it says nothing.
    width : int or None
        The width that the claim is about; None is the run's.
    """

    name: str
    without: Contender
    with_: Contender
    graphs: tuple[str, ...]
    published: str
    sign: int | None
    width: int | None = None


@dataclass(frozen=True)
class Ablations:
    """The switches of one paradigm, and what else is measured beside them."""

    switches: tuple[Switch, ...]
    scaling: tuple[tuple[Contender, tuple[str, ...]], ...]
    baselines: tuple[Contender, ...]
    phases: tuple[tuple[Contender, tuple[str, ...]], ...]
    counted: tuple[tuple[Contender, tuple[str, ...]], ...]


def _edge(**options: Any) -> Contender:
    return Contender("edge-boruvka", options)


def _parlay(**options: Any) -> Contender:
    return Contender("parlay-boruvka", options)


_SHOU_HE = ("dense-large", "sparse-medium")
_DURBHAKULA = ("Graph100K_6", "Graph1M_3")
_BHARGAVA_ZAIA = ("hypercube-18", "circulant-500k")

THREADS = Ablations(
    switches=(
        Switch(
            "1a ticketed filtering", _edge(filter="serial"), _edge(), _SHOU_HE,
            "dense/large +32 %, sparse/large +4 % (§3.3 and §4.4, sums of Figs. 1–4; sh-28)", 1,
        ),
        Switch("1b ticketed gathering", _edge(gather="serial"), _edge(), _SHOU_HE, "best with it (§3.3; sh-32)", 1),
        Switch("2 fused loops", _edge(), _edge(fused=True), _SHOU_HE, "not in the best version (§3.3; sh-32)", -1),
        Switch(
            "3 no path compression", _edge(), _edge(compression=False), _SHOU_HE,
            "not in the best version (§3.3; sh-32); +8 % on its GPU (§3.2)", -1,
        ),
        Switch("chunk 1024, not 64", _edge(chunk=64), _edge(), _SHOU_HE, "1024 is best (§3.3; sh-33)", 1),
        Switch("chunk 1024, not 16384", _edge(chunk=16384), _edge(), _SHOU_HE, "1024 is best (§3.3; sh-33)", 1),
        Switch(
            "minimum per vertex", _edge(), _edge(minimum="vertex"), _SHOU_HE, "expected to help (§4.3, §4.4)", 1
        ),
        Switch(
            "covered, sequential", Contender("boruvka", {"covered": False}), Contender("boruvka"), _DURBHAKULA,
            "+24 % to +45 % (§4, Fig. 1; dur-01)", 1, 1,
        ),
        Switch(
            "covered, locks", Contender("lock-boruvka", {"covered": False}), Contender("lock-boruvka"),
            _DURBHAKULA, "part of the algorithm (§2.2)", 1, 4,
        ),
        Switch(
            "covered, CAS", Contender("cas-boruvka", {"covered": False}), Contender("cas-boruvka"), _DURBHAKULA,
            "part of the algorithm (§2.2)", 1, 4,
        ),
        Switch(
            "staggered, locks", Contender("lock-boruvka", {"staggered": False}), Contender("lock-boruvka"),
            _DURBHAKULA, "reduces collisions (§2.2.1; dur-15)", 1, 4,
        ),
        Switch(
            "staggered, CAS", Contender("cas-boruvka", {"staggered": False}), Contender("cas-boruvka"),
            _DURBHAKULA, "reduces collisions (§2.2.1; dur-15)", 1, 4,
        ),
        Switch(
            "CAS, not locks", Contender("lock-boruvka"), Contender("cas-boruvka"), _DURBHAKULA,
            "up to +15.5 % at 4 threads (§4, Fig. 4; dur-07, dur-08)", 1, 4,
        ),
        Switch(
            "self-edge filter", _parlay(filter=False), _parlay(), _BHARGAVA_ZAIA,
            "small, varies by graph (Approach; bz-05)", 1, 8,
        ),
        Switch(
            "find splits paths", _parlay(), _parlay(find="splitting"), _BHARGAVA_ZAIA, "nothing said", None, 8
        ),
        Switch(
            "find links grandparents", _parlay(), _parlay(find="grandparent"), _BHARGAVA_ZAIA,
            "hung (Synchronization; bz-19)", None, 8,
        ),
        Switch(
            "compare before CAS", _parlay(compare=False), _parlay(), _BHARGAVA_ZAIA,
            "no practical difference (Synchronization; bz-13)", 0, 8,
        ),
    ),
    scaling=(
        (_edge(), _SHOU_HE),
        (Contender("lock-boruvka"), _DURBHAKULA[1:]),
        (Contender("cas-boruvka"), _DURBHAKULA[1:]),
        (_parlay(), _BHARGAVA_ZAIA),
        (Contender("contract-boruvka"), _SHOU_HE[1:]),
        (Contender("component-boruvka"), _SHOU_HE[1:]),
    ),
    baselines=(Contender("kruskal"), Contender("boruvka")),
    phases=((_edge(filter="serial", gather="serial"), _SHOU_HE), (_edge(), _SHOU_HE)),
    counted=(
        (_edge(), ("Graph10K_3",)),
        (_edge(join="both"), ("Graph10K_3",)),
        (Contender("lock-boruvka"), _DURBHAKULA[:1]),
        (Contender("lock-boruvka", {"staggered": False}), _DURBHAKULA[:1]),
        (Contender("cas-boruvka"), _DURBHAKULA[:1]),
        (Contender("cas-boruvka", {"staggered": False}), _DURBHAKULA[:1]),
        (_parlay(), _BHARGAVA_ZAIA),
    ),
)  # fmt: skip

SUITES = {"threads": THREADS}
PARTS = ("switches", "phases", "counted", "scaling")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the tables; return 1 if two forests of a graph differ."""
    parser = argparse.ArgumentParser(prog="python -m mst.bench.ablations", description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", choices=(*SUITES, "worker"))
    parser.add_argument(
        "--width", type=int, default=len(os.sched_getaffinity(0)), help="threads, where a claim names none"
    )
    parser.add_argument("--widths", type=int, nargs="*", default=[1, 2, 4, 8, 16], help="of the speedups")
    parser.add_argument("--graphs", nargs="*", help="catalogue names to use in place of each switch's own")
    parser.add_argument(
        "--algorithms", nargs="*", metavar="ID", help="only what compares or measures one of these"
    )
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--processes", type=int, default=5, help="children of each side of a switch")
    parser.add_argument(
        "--clock", choices=("cpu", "wall"), default="wall", help="cpu for one thread of a busy machine"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin nothing new after these")
    parser.add_argument("--out", type=Path, help="folder for a JSON file of all samples")
    parser.add_argument("--spec", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.suite == "worker":
        print(json.dumps(count(json.loads(chosen.spec))))
        return 0
    try:
        with tempfile.TemporaryDirectory(prefix="mst-ablations-") as folder:
            run = Run(only(SUITES[chosen.suite], chosen.algorithms), chosen, Path(folder))
            for part in chosen.parts:
                for line in getattr(run, part)():
                    print(line, flush=True)
    except MSTError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if chosen.out:
        chosen.out.mkdir(parents=True, exist_ok=True)
        report = {"machine": this_machine().as_dict(), "arguments": arguments or sys.argv[1:], "runs": run.kept}
        (chosen.out / f"ablations-{chosen.suite}.json").write_text(
            json.dumps(report, indent=1, default=str) + "\n"
        )
    for line in run.wrong:
        print(f"wrong: {line}", file=sys.stderr)
    return 1 if run.wrong else 0


class Run:
    """One run: the graphs that were made, the time that is left, and everything measured."""

    def __init__(self, suite: Ablations, chosen: argparse.Namespace, folder: Path):
        self.suite, self.chosen, self.folder = suite, chosen, folder
        self.until = time.monotonic() + chosen.seconds
        self.digests: dict[str, str] = {}
        self.compiled: set[str] = set()
        self.kept: list[dict[str, Any]] = []
        self.wrong: list[str] = []

    def switches(self) -> Iterable[str]:
        """Yield the table of switches; the sides of all switches on a graph and at a width take turns."""
        yield "| switch | graph | width | without, ms | with, ms | effect | sign | published |"
        yield "|---|---|---|---|---|---|---|---|"
        groups: dict[tuple[str, int], list[Switch]] = {}
        for switch in self.suite.switches:
            width = min(switch.width or self.chosen.width, self.chosen.width)
            for graph in self.chosen.graphs or switch.graphs:
                groups.setdefault((graph, width), []).append(switch)
        for (graph, width), switches in groups.items():
            sides = {side.label: (side, width) for s in switches for side in (s.without, s.with_)}
            times = self.measure(graph, list(sides.values()), self.chosen.processes)
            found = dict(zip(sides, times))
            for switch in switches if times else ():
                without, with_ = found[switch.without.label], found[switch.with_.label]
                effect = ratio(with_, without)
                yield (
                    f"| {switch.name} | {graph} | {width} | {_ms(without)} | {_ms(with_)} | {_percent(effect)} | "
                    f"{verdict(effect, switch.sign)} | {switch.published} |"
                )

    def scaling(self) -> Iterable[str]:
        """Yield the table of speedups over one's own time on one thread, and the sequential baselines' times."""
        widths = [w for w in self.chosen.widths if w <= self.chosen.width]
        names = [c.algorithm for c in self.suite.baselines]
        heads = [f"T({widths[0]}), ms", *(f"×{w}" for w in widths[1:]), *(f"{name}, ms" for name in names)]
        yield f"\n| graph | algorithm | {' | '.join(heads)} |"
        yield "|---" * (2 + len(heads)) + "|"
        groups: dict[str, list[Contender]] = {}
        for contender, graphs in self.suite.scaling:
            for graph in self.chosen.graphs or graphs:
                groups.setdefault(graph, []).append(contender)
        for graph, contenders in groups.items():
            sides = [(c, 1) for c in self.suite.baselines] + [(c, w) for c in contenders for w in widths]
            times = self.measure(graph, sides, max(self.chosen.processes // 2, 1))
            baselines, times = times[: len(names)], times[len(names) :]
            for contender in contenders if times else ():
                own, times = times[: len(widths)], times[len(widths) :]
                speedups = [f"{ratio(t, own[0]).estimate:.2f}" for t in own[1:]]
                cells = [_ms(own[0]), *speedups, *map(_ms, baselines)]
                yield f"| {graph} | {contender.label} | {' | '.join(cells)} |"

    def phases(self) -> Iterable[str]:
        """Yield the table of phases."""
        yield "\n| algorithm | graph | width | phases, ms (share) |"
        yield "|---|---|---|---|"
        for contender, graphs in self.suite.phases:
            for graph in self.in_time(graphs):
                seconds = self.counting(contender, graph, self.chosen.width)["phases"]
                whole = sum(seconds.values())
                parts = (f"{name} {1e3 * s:.4g} ({s / whole:.0%})" for name, s in seconds.items())
                yield f"| {contender.label} | {graph} | {self.chosen.width} | {', '.join(parts)} |"

    def counted(self) -> Iterable[str]:
        """Yield the table of counters."""
        yield "\n| algorithm | graph | width | counted |"
        yield "|---|---|---|---|"
        for contender, graphs in self.suite.counted:
            for graph in self.in_time(graphs):
                for width in sorted({1, min(4, self.chosen.width), self.chosen.width}):
                    counters = self.counting(contender, graph, width)["counters"]
                    parts = (f"{name} {_brief(value)}" for name, value in counters.items())
                    yield f"| {contender.label} | {graph} | {width} | {', '.join(parts)} |"

    def in_time(self, names: Sequence[str]) -> Iterable[str]:
        """Yield the graphs that there is time for."""
        for name in self.chosen.graphs or names:
            if time.monotonic() < self.until:
                yield name

    def file(self, name: str) -> Path:
        """Return the file of a graph of the catalogue, made when it is first asked for."""
        file = self.folder / f"{name}.npz"
        if not file.exists():
            from mst.catalog import load
            from mst.generators import generate

            entry = load()[name]
            if entry.generator is None or entry.weights is None:
                raise ConfigError(
                    f"{name} is fetched, not generated: choose a generated graph of the catalogue"
                )
            parameters: dict[str, Any] = dict(entry.parameters)
            graph = generate(entry.generator, seed=entry.seed, weights=entry.weights.spec(), **parameters)
            np.savez(file, n=graph.n, u=graph.u, v=graph.v, w=graph.w)
        return file

    def measure(self, graph: str, sides: list[tuple[Contender, int]], processes: int) -> list[list[float]]:
        """Return the processes' medians, in seconds, of each (contender, width), measured in turns.

        Nothing at all if the time is up.
        """
        if time.monotonic() > self.until:
            return []
        file = self.file(graph)
        servers = [Server(contender, file, width) for contender, width in sides]
        times: list[list[float]] = [[] for _ in sides]
        try:
            for (contender, _), server in zip(sides, servers):
                if reason := server.get_ready():
                    raise MSTError(f"{contender.label} on {graph}: {reason}")
                if contender.label not in self.compiled:
                    self.compiled.add(contender.label)
                    server.fork()
            for _ in range(processes):
                for (contender, width), server, seconds in zip(sides, servers, times):
                    answer = server.fork()
                    if "reason" in answer:
                        raise MSTError(f"{contender.label} on {graph}: {answer['reason']}")
                    seconds.append(median(answer[self.chosen.clock]))
                    if self.digests.setdefault(graph, answer["digest"]) != answer["digest"]:
                        self.wrong.append(f"{contender.label} on {graph} at width {width}")
        finally:
            for server in servers:
                server.close()
        for (contender, width), seconds in zip(sides, times):
            self.kept.append(dict(graph=graph, contender=contender.label, width=width, seconds=seconds))
        return times

    def counting(self, contender: Contender, graph: str, width: int) -> dict[str, Any]:
        """Return a run's counters and phases, from a process of its own."""
        spec = dict(
            algorithm=contender.algorithm, options=contender.options, file=str(self.file(graph)), width=width
        )
        command = [sys.executable, "-m", "mst.bench.ablations", "worker", "--spec", json.dumps(spec)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise MSTError(f"{contender.label} on {graph}: {done.stderr.strip().splitlines()[-1]}")
        found = json.loads(done.stdout)
        self.kept.append(dict(graph=graph, contender=contender.label, width=width, **found))
        return found


def only(suite: Ablations, algorithms: Sequence[str] | None) -> Ablations:
    """Return the part of a suite that is about some algorithms; all of it when none is named."""
    if not algorithms:
        return suite
    for name in algorithms:
        registry.get(name)

    def about(measured: Iterable[tuple[Contender, tuple[str, ...]]]) -> tuple:
        return tuple(pair for pair in measured if pair[0].algorithm in algorithms)

    return Ablations(
        tuple(s for s in suite.switches if {s.without.algorithm, s.with_.algorithm} & set(algorithms)),
        about(suite.scaling),
        suite.baselines,
        about(suite.phases),
        about(suite.counted),
    )


def count(spec: dict[str, Any]) -> dict[str, Any]:
    """Solve once to warm up, then return the counters, and the phases where an algorithm has some."""
    from mst.graph import Graph

    algorithm = registry.get(spec["algorithm"])
    with np.load(spec["file"]) as arrays:
        graph = Graph(int(arrays["n"]), arrays["u"], arrays["v"], arrays["w"], trusted=True)
    module = algorithm.load()
    problem = module.prepare(graph, width=spec["width"], **algorithm.resolve(spec["options"]))
    result = module.solve(problem)
    found = {"counters": module.counters(problem, result)}
    if hasattr(module, "phases"):
        runs = [module.phases(problem) for _ in range(4)][1:]
        found["phases"] = {name: median(run[name] for run in runs) for name in runs[0]}
    return found


def verdict(effect: Ratio, published: int | None) -> str:
    """Say in which direction an effect goes, and whether the paper says the same.

    Where the paper says that there is no difference, or nothing, 5 % either way is none.

    Examples
    --------
    >>> from mst.bench.statistics import Ratio
    >>> verdict(Ratio(1.2, 1.1, 1.3), 1)
    'faster, as published'
    >>> verdict(Ratio(0.8, 0.7, 0.9), 1)
    'slower, against the paper'
    >>> verdict(Ratio(1.0, 0.9, 1.1), 1)
    "can't tell"
    """
    if effect.low is None or effect.high is None:
        return "can't tell"
    if not published and effect.low >= 0.95 and effect.high <= 1.05:
        sign = 0
    elif effect.low > 1:
        sign = 1
    elif effect.high < 1:
        sign = -1
    else:
        return "can't tell"
    said = {1: "faster", 0: "no difference", -1: "slower"}[sign]
    if published is None:
        return said
    return f"{said}, {'as published' if sign == published else 'against the paper'}"


def _ms(seconds: Sequence[float]) -> str:
    return f"{1e3 * median(seconds):.4g}"


def _percent(effect: Ratio) -> str:
    shown = f"{effect.estimate - 1:+.0%}"
    return (
        shown
        if effect.low is None or effect.high is None
        else f"{shown} ({effect.low - 1:+.0%} … {effect.high - 1:+.0%})"
    )


def _brief(value: Any) -> str:
    """Return a value; of a long list the first entries and the length."""
    if isinstance(value, list) and len(value) > 8:
        return f"{', '.join(map(str, value[:8]))} … ({len(value)})"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


if __name__ == "__main__":
    sys.exit(main())
