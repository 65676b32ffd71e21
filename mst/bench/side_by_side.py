"""Algorithms on the same graphs, in one run, by turns: what the suites of one core and of many share.

Of each graph, every contender gets a process of its own, which builds its structure once and then forks: each child
of its is a fresh process that solves to warm up, takes a few samples and ends. Contenders take turns child by child,
so that what disturbs a machine for a while disturbs them all. A contender's time on a graph is the median of its
children's medians. Programs on disk (`Command`) have a turn like any child.

Only the solving is timed; building libraries' own structures is not, but stated. Exact algorithms must agree on
every edge id and others on the total weight, else the run fails.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import math
import os
import re
import shlex
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
from mst.bench.measure.machine import conditions, this_machine
from mst.bench.measure.samples import peak, reset_peak
from mst.bench.measure.session import pinned_environment
from mst.bench.measure.worker import PR_SET_PDEATHSIG
from mst.errors import ConfigError, MSTError
from mst.facts import Facts

_SECONDS_PER_CHILD = 0.3
_MOST_SAMPLES = 25
_LONG = 4.0
_STARTED_TOGETHER = 1_000_000


@dataclass(frozen=True)
class Contender:
    """An algorithm with options, at a width, and the largest graphs that it does not take minutes for."""

    algorithm: str
    options: dict[str, Any] = field(default_factory=dict)
    most_edges: float = math.inf
    most_vertices: float = math.inf
    width: int | None = None

    @property
    def label(self) -> str:
        changed = ",".join(f"{name}={value}" for name, value in self.options.items())
        name = f"{self.algorithm}[{changed}]" if changed else self.algorithm
        return name if self.width is None else f"{name} × {self.width}"


@dataclass(frozen=True)
class Command:
    """A program on disk: the template of its command line, where ``{graph}`` and ``{width}`` are filled in.

    The graph is a file of int64 n and m, then u, v and w in int32, all little-endian. The program prints lines
    ``seconds: …``, one for each time that it solved it, and ``weight: …``.
    """

    name: str
    template: str
    width: int | None = None
    most_edges: float = math.inf
    most_vertices: float = math.inf

    @property
    def label(self) -> str:
        return self.name if self.width is None else f"{self.name} × {self.width}"

    @classmethod
    def parse(cls, text: str, width: int | None = None) -> Command:
        """Return the command of ``NAME=TEMPLATE``."""
        name, equals, template = text.partition("=")
        if not (name and equals and "{graph}" in template):
            raise ConfigError(f"--command {text!r}: give NAME=TEMPLATE, with {{graph}} in the template")
        return cls(name, template, width)


@dataclass(frozen=True)
class Case:
    """A graph of a suite: a generator's family with parameters, or a file, and what its weights are.

    `only` names the contenders that it is for; all are if it is empty.
    """

    name: str
    family: str
    parameters: dict[str, Any]
    weights: str
    only: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"{self.name}, {self.weights}"


@dataclass(frozen=True)
class Comparison:
    """Ratios to show: how much faster `ours` is than the fastest of `rivals`, graph by graph."""

    ours: str
    rivals: tuple[str, ...]
    title: str


PROOF = "proof"
"""Stands for proving Kruskal's forest, beside the algorithms."""

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


# The run


def parser_of(program: str, description: str) -> argparse.ArgumentParser:
    """Return a parser of what both suites take."""
    parser = argparse.ArgumentParser(prog=program, description=description)
    parser.add_argument("--scale", choices=SCALES, default="full", help="full, or a hundredth of it")
    parser.add_argument("--graphs", nargs="*", metavar="WORD", help="only graphs whose label has one of these")
    parser.add_argument("--processes", type=int, default=5, help="fresh processes of each contender on a graph")
    parser.add_argument("--command", action="append", default=[], metavar="NAME=TEMPLATE", help="a program")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder of the JSON file")
    return parser


def chosen_cases(cases: list[Case], words: Sequence[str] | None) -> list[Case]:
    """Return the cases whose label has one of the words."""
    return [case for case in cases if not words or any(word in case.label for word in words)]


def run(name: str, cases: list[Case], contenders: list[Any], chosen, clock: str, **facts) -> dict[str, Any]:
    """Measure every case, one after another; say what is left out and why."""
    if not cases or not contenders:
        raise ConfigError("no graph or no contender is left: see --graphs and --contenders")
    report: dict[str, Any] = {
        "suite": name,
        "scale": chosen.scale,
        "clock": clock,
        "processes": chosen.processes,
        "machine": this_machine().as_dict(),
        "conditions": conditions(),
        "versions": versions(contenders),
        "commands": chosen.command,
        **facts,
        "results": [],
        "left_out": [],
        "wrong": [],
    }
    started = time.monotonic()
    for case in cases:
        mine = [c for c in contenders if not case.only or c.label in case.only]
        if not mine:
            continue
        with tempfile.TemporaryDirectory(prefix="mst-bench-") as folder:
            try:
                file, n, m = make(case, Path(folder))
            except MSTError as error:
                report["left_out"].append(f"{case.label}: {error}")
                continue
            result = measure(case, file, n, m, mine, chosen.processes, clock, report["left_out"])
        report["results"].append(result)
        report["wrong"] += disagreements(result)
        times = ", ".join(f"{label} {r[clock] * 1e3:.4g}" for label, r in result["contenders"].items())
        print(f"[{time.monotonic() - started:5.0f} s] {case.label} (ms): {times}", flush=True)
    return report


def tell(report: dict[str, Any], page: str, folder: Path) -> int:
    """Write the report, print its page; return 0 if all forests were right."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{report['suite']}-{report['scale']}-{this_machine().fingerprint}.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\n{page}\n\nwritten to {file}")
    for line in report["wrong"]:
        print(f"wrong: {line}", file=sys.stderr)
    return 1 if report["wrong"] else 0


def find(name: str) -> registry.Algorithm:
    """Return a contender's algorithm; of the proof, that of the forest that it proves."""
    return registry.get("kruskal" if name == PROOF else name)


def versions(contenders: Iterable[Any]) -> dict[str, str]:
    """Return the versions of Python and of all packages that compete."""
    import importlib.metadata

    wanted = {"numpy", "numba", "llvmlite"}
    for contender in contenders:
        if isinstance(contender, Contender):
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

    spec = WeightSpec("int32", 0, WEIGHTS.get(case.weights, WEIGHTS["24 bits"]))
    if case.family == "file":
        graph = _road(case.parameters["name"])
        rows = np.random.default_rng(1).permutation(graph.m)
        u, v, w = graph.u[rows], graph.v[rows], graph.w[rows]
        graph = Graph(graph.n, u, v, w if case.weights == "its own" else hash_weights(u, v, seed=1, spec=spec))
    elif case.family == "communities":
        graph = _communities(**case.parameters)
    else:
        graph = generate(case.family, **case.parameters, weights=spec)
        if arrange := ARRANGED.get(case.weights):
            graph = Graph(graph.n, graph.u, graph.v, arrange(graph.w))
    file = folder / "graph.npz"
    np.savez(file, n=graph.n, u=graph.u, v=graph.v, w=graph.w)
    return file, graph.n, graph.m


ARRANGED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "all equal": np.zeros_like,
    "sorted": np.sort,
    "reversed": lambda w: np.sort(w)[::-1],
}
"""Weights that might do a filter harm, of random ones."""


def _communities(n: int, m: int, size: int):
    """Return a graph whose edges lie inside communities of `size` vertices, each with weights of its own, or join two.

    A fifth of the edges joins communities and is heavier than all others.
    """
    from mst.graph import Graph

    rng = np.random.default_rng(1)
    inside = rng.random(m) < 0.8
    community = rng.integers(0, n // size, m)
    u = community * size + rng.integers(0, size, m)
    v = np.where(inside, community * size + (u + rng.integers(1, size, m)) % size, rng.integers(0, n, m))
    span = 2**23 // (n // size)
    own = rng.permutation(n // size)[community] * span + rng.integers(0, max(span, 1), m)
    w = np.where(inside, own, rng.integers(2**23, 2**24, m)).astype(np.int32)
    names = rng.permutation(n)
    return Graph(n, names[u].astype(np.int32), names[v].astype(np.int32), w)


def _road(name: str):
    from mst.errors import UnavailableError
    from mst.simplify import simplify
    from mst.solver import read_graph

    folder = os.environ.get("MST_MIRROR")
    if not folder or not Path(folder, name).is_file():
        raise UnavailableError(f"no {name}: set MST_MIRROR to a folder that has it")
    return simplify(read_graph(Path(folder, name)))[0]


def measure(case, file, n, m, contenders, processes, clock, left_out) -> dict[str, Any]:
    """Start a server for each contender, let their children take turns, and summarise."""
    slow = [c for c in contenders if m > c.most_edges or n > c.most_vertices]
    left_out += [f"{c.label} on {case.label}: takes minutes" for c in slow]
    servers: dict[str, Any] = {}
    children: dict[str, list[dict[str, Any]]] = {}
    try:
        for contender in contenders:
            if contender not in slow:
                kind = Program if isinstance(contender, Command) else Server
                servers[contender.label] = server = kind(contender, file, contender.width or 1)
                if m > _STARTED_TOGETHER:
                    server.get_ready()
        for label, server in list(servers.items()):
            if reason := server.get_ready():
                left_out.append(f"{label} on {case.label}: {reason}")
                servers.pop(label).close()
        children = {label: [] for label in servers}
        for turn in range(processes):
            order = list(servers)
            for label in order[turn % len(order) :] + order[: turn % len(order)]:
                answer = servers[label].fork()
                if "reason" in answer:
                    raise MSTError(f"{label} on {case.label}: {answer['reason']}")
                children[label].append(answer)
    finally:
        for server in servers.values():
            server.close()
    found = {label: summary(servers[label], answers, clock) for label, answers in children.items()}
    return {"case": asdict(case), "label": case.label, "n": n, "m": m, "contenders": found}


def summary(server: Any, answers: list[dict[str, Any]], clock: str) -> dict[str, Any]:
    """Return the medians of the processes' medians, and what else a contender is shown or judged by."""
    medians = [median(answer[clock]) for answer in answers]
    return {
        "cpu": median(median(answer["cpu"]) for answer in answers),
        "wall": median(median(answer["wall"]) for answer in answers),
        "spread": max(medians) / min(medians),
        "init": server.init,
        "peak_bytes": max(answer["peak_bytes"] for answer in answers),
        "agreeing": server.agreeing,
        "digest": answers[0]["digest"],
        "weight": answers[0]["weight"],
        "children": answers,
    }


def disagreements(result: dict[str, Any]) -> list[str]:
    """Return what contradicts the majority of a case: exact forests by their ids, others by weight.

    Programs may compute in single precision, and are allowed its rounding; approximate forests may weigh more.
    """
    found = {label: r for label, r in result["contenders"].items() if r["agreeing"] != "nothing"}
    edges = [r["digest"] for r in found.values() if r["agreeing"] == "edges"]
    weights = [r["weight"] for r in found.values()]
    reference = max(set(edges), key=edges.count) if edges else None
    weight = max(set(weights), key=weights.count) if weights else None

    def differs(r: dict[str, Any]) -> bool:
        if r["agreeing"] == "edges":
            return r["digest"] != reference
        if r["agreeing"] == "roughly":
            return not math.isclose(float(r["weight"]), float(weight or math.nan), rel_tol=1e-6)
        return r["weight"] != weight

    return [
        f"{label} on {result['label']}: {'edges' if r['agreeing'] == 'edges' else 'weight'} differ from the others'"
        for label, r in found.items()
        if differs(r)
    ]


class Server:
    """A process that holds one contender's structure of one graph and forks a child whenever it is told."""

    def __init__(self, contender: Contender, file: Path, width: int = 1):
        spec = dict(algorithm=contender.algorithm, options=contender.options, file=str(file), width=width)
        algorithm = find(contender.algorithm)
        self.agreeing = "nothing" if not algorithm.exact else "edges" if algorithm.ties == "order" else "weight"
        if contender.algorithm.startswith("command-"):
            self.agreeing = "roughly"
        self.init = math.nan
        self.answer: dict[str, Any] | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mst.bench.side_by_side", json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **pinned_environment(width)},
        )

    def get_ready(self) -> str | None:
        """Wait until the structure is built; return why it cannot be, if so."""
        if self.answer is None:
            self.answer = self._read()
            self.init = self.answer.get("init", math.nan)
        return self.answer.get("reason")

    def fork(self) -> dict[str, Any]:
        """Have a child measure; return what it found."""
        assert self.process.stdin is not None
        self.process.stdin.write("fork\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"reason": f"ended with code {self.process.wait()}"}

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


class Program:
    """A program on disk, in a server's place."""

    agreeing = "roughly"
    init = math.nan

    def __init__(self, command: Command, file: Path, width: int = 1):
        self.command, self.file, self.width = command, file.with_suffix(".bin"), width

    def get_ready(self) -> str | None:
        """Write the graph once, as all programs read it."""
        if not self.file.exists():
            with np.load(self.file.with_suffix(".npz")) as graph, self.file.open("wb") as out:
                np.array([graph["n"], len(graph["w"])], "<i8").tofile(out)
                for name in "uvw":
                    graph[name].astype("<i4").tofile(out)
        return None

    def fork(self) -> dict[str, Any]:
        """Run it; return the seconds that it states, of either clock, and its forest's weight."""
        template, width = shlex.split(self.command.template), str(self.width)
        words = [word.format(graph=self.file, width=width) for word in template]
        environment = {**os.environ, **pinned_environment(self.width), "PARLAY_NUM_THREADS": width}
        try:
            done = subprocess.run(words, capture_output=True, text=True, env=environment)
        except OSError as error:
            return {"reason": str(error)}
        seconds = [float(found) for found in re.findall(r"^seconds: *(\S+)", done.stdout, re.MULTILINE)]
        weight = re.search(r"^weight: *(\S+)", done.stdout, re.MULTILINE)
        if done.returncode or not seconds or not weight:
            return {"reason": f"ended with code {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}"}
        return {"cpu": seconds, "wall": seconds, "peak_bytes": 0, "digest": None, "weight": weight[1]}

    def close(self) -> None:
        """Nothing is left running."""


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
        facts = Facts(n=graph.n, m=graph.m, weight_dtype=graph.w.dtype.name)
        if reason := algorithm.missing() or algorithm.skip(facts, width=spec["width"], options=options):
            out.write(json.dumps({"reason": reason}) + "\n")
            return 0
        module = Prover() if spec["algorithm"] == PROOF else algorithm.load()
        started = time.perf_counter()
        problem = module.prepare(graph, width=spec["width"], **options)
        init = time.perf_counter() - started
        if algorithm.paradigm == "sequential":
            # Children inherit the machine code. Nobody else may run before the fork: threads would not survive.
            module.solve(problem)
        elif algorithm.paradigm == "threads":
            # Children find on disk what this one compiles: a compiler's memory is not that of a solve.
            _in_a_child(lambda: module.solve(problem))
        out.write(json.dumps({"init": init}) + "\n")
    except MSTError as error:
        out.write(json.dumps({"reason": str(error)}) + "\n")
        return 0

    def measure() -> None:
        try:
            # Threads and code first, on small graphs: neither belongs to the memory of a solve. A fork has the
            # libraries' pages yet to map, some 2.5 MiB.
            for small in warmers(graph):
                module.solve(module.prepare(small, width=spec["width"], **options))
            out.write(json.dumps(samples(module, graph, problem)) + "\n")
        except Exception as error:
            out.write(json.dumps({"reason": f"{type(error).__name__}: {error}"}) + "\n")
        out.flush()

    for _ in sys.stdin:
        if code := _in_a_child(measure):
            out.write(json.dumps({"reason": f"a child ended with code {code}"}) + "\n")
    return 0


def _in_a_child(task: Callable[[], Any]) -> int:
    """Run `task` in a fork of this process; return the exit code."""
    child = os.fork()
    if child == 0:
        try:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            with contextlib.suppress(Exception):
                task()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


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


def warmers(graph) -> Iterator[Any]:
    """Yield graphs of a graph's dtypes for kernels to be loaded on: too sparse for a filter, sparse, and dense."""
    from mst.graph import Graph

    rng = np.random.default_rng(1)
    for n, m in ((40_000, 50_000), (20_000, 50_000), (500, 50_000)):
        u, v = rng.integers(0, n, (2, m)).astype(graph.u.dtype)
        yield Graph(n, u, v, rng.permutation(m).astype(graph.w.dtype), trusted=True)


def samples(module, graph, problem) -> dict[str, Any]:
    """Solve once to warm up, then a few times by the clock; return the times and what the forest is."""
    from mst.forest import digest
    from mst.order import total

    gc.collect()
    gc.disable()
    # What the allocator kept of earlier solves would hide as much of this one's memory.
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    before = reset_peak()
    result, cpu_seconds, wall_seconds = _timed(module, problem)
    highest = max(peak() - before, 0)
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
        "peak_bytes": highest,
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


# The tables


def header(report: dict[str, Any]) -> str:
    """Return what the figures were measured on, and how, as Markdown."""
    machine, state = report["machine"], report["conditions"]
    return (
        f"{machine['cpu']}, {machine['hardware_threads']} hardware threads, {machine['memory_gib']} GiB, "
        f"Linux {state['kernel']}, load {state['load']} at the start; "
        + ", ".join(f"{name} {version}" for name, version in report["versions"].items())
        + f"\n\nMilliseconds of {'processor' if report['clock'] == 'cpu' else 'wall'} time, medians of "
        f"{report['processes']} processes' medians; ~ where the processes differ by more than a quarter."
    )


def times(results: list[dict[str, Any]], clock: str) -> str:
    """Return the milliseconds of every contender as Markdown."""
    return _by_contender(
        results, lambda case, r: f"{'~' if r['spread'] > 1.25 else ''}{r[clock] * 1e3:.3g}", lambda label: True
    )


def shares(results: list[dict[str, Any]], per_vertex: int, per_edge: int, shown: Callable[[str], bool]) -> str:
    """Return peak memory beyond the input as Markdown, as a share of so many bytes a vertex and an edge."""
    return (
        "Peak memory beyond the input and the library's structure, as a share of "
        f"{per_vertex} bytes a vertex and {per_edge} an edge:\n\n"
        + _by_contender(
            results,
            lambda case, r: f"{r['peak_bytes'] / (per_vertex * case['n'] + per_edge * case['m']):.2f}",
            shown,
        )
    )


def speedups(results: list[dict[str, Any]], comparisons: Iterable[Comparison], clock: str) -> str:
    """Return how many times faster ours are, with geometric means, as Markdown; nothing if there is no pair."""
    found = [(c, ratios(results, c, clock)) for c in comparisons]
    found = [(c, by_case) for c, by_case in found if any(by_case.values())]
    if not found:
        return ""
    body = [(r["label"], *(_ratio(by_case[r["label"]]) for _, by_case in found)) for r in results]
    means = [geometric_mean([x for x in by_case.values() if x]) for _, by_case in found]
    body.append(("**geometric mean**", *(f"**{_ratio(mean)}**" for mean in means)))
    return "How many times faster:\n\n" + rows(("graph", *(c.title for c, _ in found)), body)


def ratios(results: list[dict[str, Any]], comparison: Comparison, clock: str) -> dict[str, float | None]:
    """Return the fastest rival's time over ours, by case."""
    found: dict[str, float | None] = {}
    for result in results:
        seconds = {label: r[clock] for label, r in result["contenders"].items()}
        rivals = [seconds[label] for label in comparison.rivals if label in seconds]
        known = rivals and comparison.ours in seconds
        found[result["label"]] = min(rivals) / seconds[comparison.ours] if known else None
    return found


def rows(head: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in body)])


def left_out(report: dict[str, Any]) -> str:
    """Return what was not measured, a line each."""
    return "\n".join(f"left out: {reason}" for reason in report["left_out"])


def _by_contender(results, cell: Callable[[dict, dict], str], shown: Callable[[str], bool]) -> str:
    labels = [l for l in dict.fromkeys(label for r in results for label in r["contenders"]) if shown(l)]
    body = (
        (r["label"], *(cell(r, r["contenders"][l]) if l in r["contenders"] else "–" for l in labels))
        for r in results
    )
    return rows(("graph", *labels), body)


def _ratio(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}"


if __name__ == "__main__":
    sys.exit(work(json.loads(sys.argv[1])))
