"""Side by side: algorithms on the same graphs, in one run, by turns.

``python -m mst.bench.suite sequential`` is what ``make bench-sequential`` runs. Of each graph, every contender
gets a process of its own, which builds its structure once and then forks: each child of its is a fresh process
that solves to warm up, takes a few samples and ends. Contenders take turns child by child, so that what disturbs
a machine for a while disturbs them all. A contender's time on a graph is the median of its children's medians.

Only the solving is timed; building libraries' own structures is not, but stated. Exact algorithms must agree on
every edge id and peers on the total weight, else the run fails.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

from mst import registry
from mst.bench.machine import conditions, this_machine
from mst.errors import ConfigError, MSTError, nearest

SINGLE = dict.fromkeys(
    ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)
"""Environment of contenders that are meant to run on one core."""

_SECONDS_PER_CHILD = 0.3
_MOST_SAMPLES = 25
_LONG = 1.0
_STARTED_TOGETHER = 1_000_000
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Contender:
    """An algorithm with options, and the largest graphs that it does not take minutes for."""

    algorithm: str
    options: dict[str, Any] = field(default_factory=dict)
    most_edges: float = math.inf
    most_vertices: float = math.inf

    @property
    def label(self) -> str:
        changed = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.algorithm}[{changed}]" if changed else self.algorithm


@dataclass(frozen=True)
class Case:
    """A graph of a suite: a generator's family with parameters, or a file, and what its weights are."""

    name: str
    family: str
    parameters: dict[str, Any]
    weights: str

    @property
    def label(self) -> str:
        return f"{self.name}, {self.weights}"


@dataclass(frozen=True)
class Comparison:
    """Ratios to show: how much faster `ours` is than the fastest of `rivals`, graph by graph."""

    ours: str
    rivals: tuple[str, ...]
    title: str


@dataclass(frozen=True)
class Suite:
    """Contenders, graphs and the comparisons that they are run for."""

    contenders: tuple[Contender, ...]
    cases: Callable[[str], list[Case]]
    comparisons: tuple[Comparison, ...]
    width: int = 1


PROOF = "proof"
"""Stands for proving Kruskal's forest, beside the algorithms."""

PEERS = ("scipy", "rustworkx", "networkit-kruskal", "networkit-prim", "igraph", "networkx")
WEIGHTS = {"24 bits": 2**24 - 1, "31 bits": 2**31 - 2}
SCALES = ("full", "small")


def sequential_cases(scale: str) -> list[Case]:
    """Return the graphs for one core: uniform, skewed, regular, dense, and a road network."""
    part = 1 if scale == "full" else 100
    side = 1 if scale == "full" else 10
    graphs: list[tuple[str, str, dict[str, Any]]] = [
        ("uniform 1 M", "uniform", dict(n=1_000_000 // part, m=1_500_000 // part)),
        ("uniform 10 M", "uniform", dict(n=10_000_000 // part, m=15_000_000 // part)),
        ("uniform 2 M, degree 8", "uniform", dict(n=2_000_000 // part, m=8_000_000 // part)),
        ("R-MAT 20", "rmat", dict(scale=20 if scale == "full" else 13, m=16_000_000 // part)),
        ("grid 2000²", "grid", dict(rows=2000 // side, columns=2000 // side)),
        ("dense 5000", "dense", dict(n=5000 // side)),
        ("road NY", "file", dict(name="USA-road-d.NY.gr.gz")),
    ]
    cases = [Case(name, family, kept, weights) for name, family, kept in graphs for weights in WEIGHTS]
    return [*cases, Case("road NY", "file", dict(name="USA-road-d.NY.gr.gz"), "its own")]


SUITES = {
    "sequential": Suite(
        contenders=(
            Contender("filter-boruvka"),
            Contender("filter-boruvka", {"input": "csr"}),
            Contender("filter-boruvka", {"filter": "off"}),
            Contender("kruskal"),
            Contender(PROOF),
            Contender("scipy"),
            Contender("rustworkx"),
            # Never near the fastest, and minutes on such graphs.
            Contender("networkit-kruskal", most_vertices=5e6),
            Contender("networkit-prim", most_vertices=5e6),
            Contender("igraph", most_edges=2e6),
            Contender("networkx", most_edges=5e5),
        ),
        cases=sequential_cases,
        comparisons=(
            Comparison("kruskal", ("scipy", "rustworkx"), "kruskal / scipy, rustworkx"),
            Comparison(PROOF, ("kruskal",), "proof / kruskal"),
            Comparison("filter-boruvka", PEERS, "filter-boruvka / fastest peer"),
            Comparison("filter-boruvka[input=csr]", PEERS, "filter-boruvka from CSR / fastest peer"),
            Comparison("filter-boruvka", ("command-pbbs-serial",), "filter-boruvka / PBBS serial"),
            Comparison("filter-boruvka", ("filter-boruvka[filter=off]",), "with / without its filter"),
        ),
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a suite; return 0 if all forests were right."""
    parser = argparse.ArgumentParser(prog="python -m mst.bench.suite", description=__doc__.split("\n\n")[0])
    parser.add_argument("suite", choices=(*SUITES, "first-call", "worker"))
    parser.add_argument("--scale", choices=SCALES, default="full", help="full, or a hundredth of it")
    parser.add_argument("--graphs", nargs="*", metavar="WORD", help="only graphs whose label has one of these")
    parser.add_argument("--contenders", nargs="*", metavar="ID", help="only these algorithms")
    parser.add_argument("--processes", type=int, default=5, help="children of each contender on a graph")
    parser.add_argument(
        "--clock", choices=("cpu", "wall"), default="cpu", help="what is compared; both are written"
    )
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder of the JSON file")
    parser.add_argument("--spec", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.suite == "worker":
        return work(json.loads(chosen.spec))
    if chosen.suite == "first-call":
        print(first_calls(chosen.contenders))
        return 0
    try:
        report = run(chosen)
    except MSTError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    chosen.out.mkdir(parents=True, exist_ok=True)
    file = chosen.out / f"{chosen.suite}-{chosen.scale}-{this_machine().fingerprint}.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\n{table(report, SUITES[chosen.suite])}\n\nwritten to {file}")
    for line in report["wrong"]:
        print(f"wrong: {line}", file=sys.stderr)
    return 1 if report["wrong"] else 0


# The run


def run(chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure every case, one after another; say what is left out and why."""
    suite = SUITES[chosen.suite]
    contenders = [*suite.contenders, *programs()]
    if chosen.contenders:
        for name in chosen.contenders:
            find(name)
        contenders = [c for c in contenders if c.algorithm in chosen.contenders]
    cases = suite.cases(chosen.scale)
    if chosen.graphs:
        cases = [case for case in cases if any(word in case.label for word in chosen.graphs)]
    if not cases or not contenders:
        raise ConfigError("no graph or no contender is left: see --graphs and --contenders")
    report: dict[str, Any] = {
        "suite": chosen.suite,
        "scale": chosen.scale,
        "clock": chosen.clock,
        "processes": chosen.processes,
        "machine": this_machine().as_dict(),
        "conditions": conditions(),
        "versions": versions(contenders),
        "results": [],
        "left_out": [],
        "wrong": [],
    }
    started = time.monotonic()
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="mst-bench-") as folder:
            try:
                file, n, m = make(case, Path(folder))
            except MSTError as error:
                report["left_out"].append(f"{case.label}: {error}")
                continue
            result = measure(case, file, n, m, contenders, chosen, suite.width, report["left_out"])
        report["results"].append(result)
        report["wrong"] += disagreements(result)
        best = ", ".join(f"{label} {r[chosen.clock] * 1e3:.4g}" for label, r in result["contenders"].items())
        print(f"[{time.monotonic() - started:5.0f} s] {case.label} (ms): {best}", flush=True)
    return report


def programs() -> Iterator[Contender]:
    """Yield the programs on disk that are configured (`mst.programs`)."""
    for name in registry.algorithms():
        if name.startswith("command-"):
            yield Contender(name)


def find(name: str) -> registry.Algorithm:
    """Return a contender's algorithm; of the proof, that of the forest that it proves."""
    return registry.get("kruskal" if name == PROOF else name)


def versions(contenders: Iterable[Contender]) -> dict[str, str]:
    """Return the versions of Python and of all packages that compete."""
    import importlib.metadata

    wanted = {"numpy", "numba", "llvmlite"}
    for contender in contenders:
        wanted.update(find(contender.algorithm).requires)
    found = {"python": sys.version.split()[0]}
    for package in sorted(wanted):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def make(case: Case, folder: Path) -> tuple[Path, int, int]:
    """Write a case's graph, its rows in random order, into `folder`; return the file, n and m."""
    from mst.generators import generate
    from mst.graph import Graph
    from mst.weights import WeightSpec, hash_weights

    spec = WeightSpec("int32", 0, WEIGHTS.get(case.weights, 1))
    if case.family == "file":
        graph = _road(case.parameters["name"])
        rows = np.random.default_rng(1).permutation(graph.m)
        u, v, w = graph.u[rows], graph.v[rows], graph.w[rows]
        graph = Graph(graph.n, u, v, w if case.weights == "its own" else hash_weights(u, v, seed=1, spec=spec))
    else:
        graph = generate(case.family, **case.parameters, weights=spec)
    file = folder / "graph.npz"
    np.savez(file, n=graph.n, u=graph.u, v=graph.v, w=graph.w)
    return file, graph.n, graph.m


def _road(name: str):
    from mst.errors import UnavailableError
    from mst.simplify import simplify
    from mst.solver import read_graph

    folder = os.environ.get("MST_MIRROR")
    if not folder or not Path(folder, name).is_file():
        raise UnavailableError(f"no {name}: set MST_MIRROR to a folder that has it")
    return simplify(read_graph(Path(folder, name)))[0]


def measure(case, file, n, m, contenders, chosen, width, left_out) -> dict[str, Any]:
    """Start a server for each contender, let their children take turns, and summarise."""
    slow = [c for c in contenders if m > c.most_edges or n > c.most_vertices]
    left_out += [f"{c.label} on {case.label}: takes minutes" for c in slow]
    servers: dict[str, Server] = {}
    children: dict[str, list[dict[str, Any]]] = {}
    try:
        for contender in contenders:
            if contender not in slow:
                servers[contender.label] = server = Server(contender, file, width)
                if m > _STARTED_TOGETHER:
                    server.get_ready()
        for label, server in list(servers.items()):
            if reason := server.get_ready():
                left_out.append(f"{label} on {case.label}: {reason}")
                servers.pop(label).close()
        children = {label: [] for label in servers}
        for turn in range(chosen.processes):
            order = list(servers)
            for label in order[turn % len(order) :] + order[: turn % len(order)]:
                answer = servers[label].fork()
                if "reason" in answer:
                    raise MSTError(f"{label} on {case.label}: {answer['reason']}")
                children[label].append(answer)
    finally:
        for server in servers.values():
            server.close()
    return {
        "case": asdict(case),
        "label": case.label,
        "n": n,
        "m": m,
        "contenders": {
            label: {
                "cpu": median(median(child["cpu"]) for child in found),
                "wall": median(median(child["wall"]) for child in found),
                "spread": max(median(c[chosen.clock]) for c in found)
                / min(median(c[chosen.clock]) for c in found),
                "init": servers[label].init,
                "peak_bytes": max(child["peak_bytes"] for child in found),
                "exact": servers[label].exact,
                "digest": found[0]["digest"],
                "weight": found[0]["weight"],
                "children": found,
            }
            for label, found in children.items()
        },
    }


def disagreements(result: dict[str, Any]) -> list[str]:
    """Return what contradicts the majority of a case: exact forests by their ids, others by weight.

    Programs on disk may compute in single precision, and are allowed its rounding.
    """
    found = result["contenders"]
    exact = [r["digest"] for r in found.values() if r["exact"]]
    weights = [r["weight"] for r in found.values()]
    reference = max(set(exact), key=exact.count) if exact else None
    weight = max(set(weights), key=weights.count) if weights else None
    return [
        f"{label} on {result['label']}: {'edges' if r['exact'] else 'weight'} differ from the others'"
        for label, r in found.items()
        if (r["digest"] != reference if r["exact"] else not _alike(label, r["weight"], weight))
    ]


def _alike(label: str, weight: str, reference: str | None) -> bool:
    if label.startswith("command-"):
        return reference is not None and math.isclose(float(weight), float(reference), rel_tol=1e-6)
    return weight == reference


class Server:
    """A process that holds one contender's structure of one graph and forks a child whenever it is told."""

    def __init__(self, contender: Contender, file: Path, width: int):
        spec = dict(algorithm=contender.algorithm, options=contender.options, file=str(file), width=width)
        algorithm = find(contender.algorithm)
        self.exact = algorithm.exact and algorithm.ties == "order"
        self.init = math.nan
        self.answer: dict[str, Any] | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mst.bench.suite", "worker", "--spec", json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **(SINGLE if width == 1 else {})},
        )

    def get_ready(self) -> str | None:
        """Wait until the structure is built; return why it cannot be, if so."""
        if self.answer is None:
            self.answer = self.read()
            self.init = self.answer.get("init", math.nan)
        return self.answer.get("reason")

    def fork(self) -> dict[str, Any]:
        """Have a child measure; return what it found."""
        assert self.process.stdin is not None
        self.process.stdin.write("fork\n")
        self.process.stdin.flush()
        return self.read()

    def read(self) -> dict[str, Any]:
        """Return the next answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"reason": f"ended with code {self.process.wait()}"}

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


# The worker


def work(spec: dict[str, Any]) -> int:
    """Prepare, then fork a child for each line of the standard input; answer in lines of JSON."""
    from mst.graph import Graph

    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    try:
        algorithm = find(spec["algorithm"])
        with np.load(spec["file"]) as arrays:
            graph = Graph(int(arrays["n"]), arrays["u"], arrays["v"], arrays["w"], trusted=True)
        options = algorithm.resolve(spec["options"])
        facts = registry.Facts(n=graph.n, m=graph.m, weight_dtype=graph.w.dtype.name)
        if reason := algorithm.missing() or algorithm.skip(facts, width=spec["width"], options=options):
            out.write(json.dumps({"reason": reason}) + "\n")
            return 0
        module = Prover() if spec["algorithm"] == PROOF else algorithm.load()
        started = time.perf_counter()
        problem = module.prepare(graph, width=spec["width"], **options)
        out.write(json.dumps({"init": time.perf_counter() - started}) + "\n")
        if algorithm.paradigm == "sequential":
            # Children inherit the machine code. Nobody else may run before the fork: threads would not survive.
            module.solve(problem)
    except MSTError as error:
        out.write(json.dumps({"reason": str(error)}) + "\n")
        return 0
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            try:
                out.write(json.dumps(samples(module, graph, problem)) + "\n")
            except Exception as error:
                out.write(json.dumps({"reason": f"{type(error).__name__}: {error}"}) + "\n")
            finally:
                out.flush()
                os._exit(0)
        if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            out.write(json.dumps({"reason": f"a child ended with code {code}"}) + "\n")
    return 0


class Prover:
    """`mst.proof.prove` as if it were an algorithm, whose preparation is to find the forest."""

    def prepare(self, graph, **options):
        kruskal = registry.get("kruskal").load()
        return graph, np.sort(kruskal.solve(kruskal.prepare(graph, **options))).astype(np.int64)

    def solve(self, problem):
        from mst.proof import prove

        proof = prove(*problem)
        if not proof.ok:
            raise MSTError(f"the forest is not proved: {proof.reason}")
        return problem[1]

    def collect(self, problem, result):
        return result


def samples(module, graph, problem) -> dict[str, Any]:
    """Solve once to warm up, then a few times by the clock; return the times and what the forest is."""
    from mst.forest import digest
    from mst.order import total

    gc.collect()
    gc.disable()
    before = _reset_peak()
    result, cpu_seconds, wall_seconds = _timed(module, problem)
    peak = max(_status("VmHWM") - before, 0)
    # The first is to warm up, unless it takes so long that warmth is nothing.
    cpu, wall = ([cpu_seconds], [wall_seconds]) if wall_seconds > _LONG else ([], [])
    while not wall or (len(wall) < _MOST_SAMPLES and sum(wall) < _SECONDS_PER_CHILD):
        result = None
        result, cpu_seconds, wall_seconds = _timed(module, problem)
        cpu.append(cpu_seconds)
        wall.append(wall_seconds)
    ids = module.collect(problem, result)
    weight = module.weight(problem, result) if ids is None else total(graph.w[np.asarray(ids)])
    return {
        "cpu": cpu,
        "wall": wall,
        "peak_bytes": peak,
        "digest": None if ids is None else digest(ids),
        "weight": str(weight),
    }


def _timed(module, problem) -> tuple[Any, float, float]:
    """Return a solve's result and its processor and wall seconds; of a program, the seconds that it states."""
    if hasattr(module, "timed_solve"):
        result, seconds = module.timed_solve(problem)
        return result, seconds, seconds
    started, cpu_started = time.perf_counter(), time.process_time()
    result = module.solve(problem)
    return result, time.process_time() - cpu_started, time.perf_counter() - started


def _reset_peak() -> int:
    """Forget the peak of the resident memory where that can be done; return what is resident."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _status(name: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)


# The table


def table(report: dict[str, Any], suite: Suite) -> str:
    """Return machine facts, times, ratios and geometric means as Markdown."""
    clock = report["clock"]
    machine, state = report["machine"], report["conditions"]
    labels = list(dict.fromkeys(label for r in report["results"] for label in r["contenders"]))
    lines = [
        f"{machine['cpu']}, {machine['hardware_threads']} hardware threads, {machine['memory_gib']} GiB, "
        f"Linux {state['kernel']}, load {state['load']} at the start; "
        + ", ".join(f"{name} {version}" for name, version in report["versions"].items()),
        "",
        f"Milliseconds of {'processor' if clock == 'cpu' else 'wall'} time, medians of {report['processes']} "
        "processes' medians; ~ where the processes differ by more than a quarter.",
        "",
        *_rows(
            ("graph", *labels),
            (
                (r["label"], *(_time(r["contenders"].get(label), clock) for label in labels))
                for r in report["results"]
            ),
        ),
        "",
    ]
    lines += [
        "Peak memory beyond the input and the library's structure, as a share of 24 bytes per vertex and 16 per "
        "edge:",
        "",
        *_rows(
            ("graph", *labels),
            (
                (r["label"], *(_share(r, r["contenders"].get(label)) for label in labels))
                for r in report["results"]
            ),
        ),
        "",
    ]
    shown = [(c, _ratios(report["results"], c, clock)) for c in suite.comparisons]
    shown = [(c, ratios) for c, ratios in shown if any(ratios.values())]
    if shown:
        lines += ["How many times faster:", ""]
        names = [r["label"] for r in report["results"]]
        body = [(name, *(_ratio(ratios.get(name)) for _, ratios in shown)) for name in names]
        means = [geometric_mean([x for x in ratios.values() if x]) for _, ratios in shown]
        body.append(("**geometric mean**", *(f"**{_ratio(mean)}**" for mean in means)))
        lines += _rows(("graph", *(c.title for c, _ in shown)), body)
    lines += ["", *(f"left out: {reason}" for reason in report["left_out"])]
    return "\n".join(lines).rstrip()


def _ratios(results, comparison: Comparison, clock: str) -> dict[str, float | None]:
    """Return the fastest rival's time over ours, by case."""
    ratios: dict[str, float | None] = {}
    for result in results:
        times = {label: r[clock] for label, r in result["contenders"].items()}
        rivals = [times[label] for label in comparison.rivals if label in times]
        ratios[result["label"]] = (
            min(rivals) / times[comparison.ours] if rivals and comparison.ours in times else None
        )
    return ratios


def _time(result: dict[str, Any] | None, clock: str) -> str:
    if result is None:
        return "–"
    return f"{'~' if result['spread'] > 1.25 else ''}{result[clock] * 1e3:.3g}"


def _share(case: dict[str, Any], result: dict[str, Any] | None) -> str:
    return "–" if result is None else f"{result['peak_bytes'] / (24 * case['n'] + 16 * case['m']):.2f}"


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}"


def _rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    return [
        "| " + " | ".join(head) + " |",
        "|---|" + "---:|" * (len(head) - 1),
        *("| " + " | ".join(row) + " |" for row in body),
    ]


# First calls

_FIRST_CALL = """
import sys, time
import numpy as np
from mst import registry
from mst.graph import Graph
rng = np.random.default_rng(1)
n, m = 3000, 40_000
graph = Graph(n, rng.integers(0, n, m), rng.integers(0, n, m), rng.integers(0, 2**24, m, np.int32))
chosen = registry.get(sys.argv[1])
started = time.process_time()
module = chosen.load()
problem = module.prepare(graph, width=1, **chosen.resolve({}))
module.collect(problem, module.solve(problem))
print(time.process_time() - started)
"""


def first_calls(wanted: Sequence[str] | None) -> str:
    """Return a table of the processor seconds of a first call: with nothing cached on disk, and from the cache."""
    names = wanted or [name for name, a in registry.algorithms().items() if a.paradigm == "sequential"]
    body = []
    for name in names:
        if name not in registry.algorithms():
            raise ConfigError(f"no algorithm {name!r}{nearest(name, registry.algorithms())}")
        with tempfile.TemporaryDirectory(prefix="mst-cache-") as cache:
            environment = {**os.environ, **SINGLE, "MST_CACHE": cache}
            command = [sys.executable, "-c", _FIRST_CALL, name]
            seconds = [
                float(
                    subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
                )
                for _ in range(2)
            ]
        body.append((name, *(f"{s:.2f}" for s in seconds)))
    return "\n".join(_rows(("algorithm", "compiling, s", "from the cache, s"), body))


if __name__ == "__main__":
    sys.exit(main())
