"""Many cores side by side: ours at several widths, on one core, PBBS's method, and programs on disk, by turns.

``python -m mst.bench.threads_suite`` is what ``make bench-threads`` runs: `mst.bench.suite` by the wall clock, a row
for every width. ``--command NAME=TEMPLATE`` adds a program, run once a turn at the largest width: ``{graph}`` is a
file of int64 n and m, then u, v and w in int32, all little-endian, and ``{width}`` the threads. It prints lines
``seconds: …``, one for each time that it solved the graph, and ``weight: …``; a few lines around the authors'
function are enough for that.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from mst import registry
from mst.bench import suite
from mst.bench.machine import conditions, this_machine
from mst.errors import ConfigError, MSTError

PER_VERTEX, PER_EDGE = 32, 24
"""Bytes that a solve may take at its peak, beyond the input."""

OURS, SEQUENTIAL, PBBS = "filter-boruvka-threads", "filter-boruvka", "reservation-kruskal"
APPROXIMATE = "bucket-threads"


@dataclass(frozen=True)
class Row:
    """An algorithm with options at a width."""

    algorithm: str
    width: int
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{suite.Contender(self.algorithm, self.options).label} × {self.width}"


@dataclass(frozen=True)
class Command:
    """A program on disk at a width; the template of its command line."""

    name: str
    template: str
    width: int

    @property
    def label(self) -> str:
        return f"{self.name} × {self.width}"

    @classmethod
    def parse(cls, text: str, width: int) -> Command:
        """Return the command of ``NAME=TEMPLATE``."""
        name, equals, template = text.partition("=")
        if not (name and equals and "{graph}" in template):
            raise ConfigError(f"--command {text!r}: give NAME=TEMPLATE, with {{graph}} in the template")
        return cls(name, template, width)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite; return 0 if all forests were right."""
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(
        prog="python -m mst.bench.threads_suite", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--scale", choices=suite.SCALES, default="full", help="full, or a hundredth of it")
    parser.add_argument("--graphs", nargs="*", metavar="WORD", help="only graphs whose label has one of these")
    parser.add_argument("--widths", nargs="*", type=int, default=_widths(cores), help="of ours")
    parser.add_argument("--processes", type=int, default=5, help="fresh processes of each row on a graph")
    parser.add_argument("--command", action="append", default=[], metavar="NAME=TEMPLATE", help="a program")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder of the JSON file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.worker:
        return work(json.loads(chosen.worker))
    try:
        report = run(chosen)
    except MSTError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    chosen.out.mkdir(parents=True, exist_ok=True)
    file = chosen.out / f"threads-{chosen.scale}-{this_machine().fingerprint}.json"
    file.write_text(json.dumps(report, indent=1) + "\n")
    print(f"\n{page(report)}\n\nwritten to {file}")
    for line in report["wrong"]:
        print(f"wrong: {line}", file=sys.stderr)
    return 1 if report["wrong"] else 0


def _widths(cores: int) -> list[int]:
    """Return the powers of two up to the cores, and the cores."""
    return sorted({1 << i for i in range(cores.bit_length())} | {cores})


def rows(widths: Sequence[int]) -> list[Row]:
    """Return what is timed at these widths, beside programs."""
    widest = max(widths)
    return [
        Row(SEQUENTIAL, 1),
        *(Row(OURS, width) for width in widths),
        Row(OURS, widest, {"input": "csr"}),
        Row(PBBS, widest),
        Row(APPROXIMATE, widest),
    ]


def cases(scale: str) -> list[suite.Case]:
    """Return the graphs of the sequential suite and two large ones."""
    part = 1 if scale == "full" else 100
    return [
        *suite.sequential_cases(scale),
        suite.Case(
            "R-MAT 22", "rmat", dict(scale=22 if scale == "full" else 15, m=33_500_000 // part), "24 bits"
        ),
        suite.Case("r4-2e23", "uniform", dict(n=(1 << 23) // part, m=(1 << 25) // part), "24 bits"),
    ]


def run(chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure every case, one after another; say what is left out and why."""
    widest = max(chosen.widths)
    contenders = [*rows(chosen.widths), *(Command.parse(text, widest) for text in chosen.command)]
    wanted = [c for c in cases(chosen.scale) if not chosen.graphs or any(w in c.label for w in chosen.graphs)]
    if not wanted:
        raise ConfigError("no graph is left: see --graphs")
    report: dict[str, Any] = {
        "suite": "threads",
        "scale": chosen.scale,
        "clock": "wall",
        "processes": chosen.processes,
        "widths": chosen.widths,
        "machine": this_machine().as_dict(),
        "conditions": conditions(),
        "runtime": runtime(),
        "versions": suite.versions([suite.Contender(OURS)]),
        "commands": chosen.command,
        "results": [],
        "left_out": [],
        "wrong": [],
    }
    started = time.monotonic()
    for case in wanted:
        with tempfile.TemporaryDirectory(prefix="mst-bench-") as folder:
            try:
                file, n, m = suite.make(case, Path(folder))
            except MSTError as error:
                report["left_out"].append(f"{case.label}: {error}")
                continue
            result = measure(case, file, n, m, contenders, chosen.processes, report["left_out"])
        report["results"].append(result)
        report["wrong"] += suite.disagreements(without_approximate(result))
        times = ", ".join(f"{label} {r['wall'] * 1e3:.4g}" for label, r in result["contenders"].items())
        print(f"[{time.monotonic() - started:5.0f} s] {case.label} (ms): {times}", flush=True)
    return report


def runtime() -> dict[str, Any]:
    """Return what parallel kernels run on, asked of a process of its own."""
    code = "import json; from mst.kernels.parallel_runtime import facts; print(json.dumps(facts()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure(case, file, n, m, contenders, processes, left_out) -> dict[str, Any]:
    """Let fresh processes of all contenders take turns, and summarise."""
    servers: dict[str, Any] = {}
    children: dict[str, list[dict[str, Any]]] = {}
    try:
        for contender in contenders:
            server = Program(contender, file) if isinstance(contender, Command) else Server(contender, file)
            servers[contender.label] = server
            if reason := server.get_ready():
                left_out.append(f"{contender.label} on {case.label}: {reason}")
                servers.pop(contender.label).close()
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
    found = {label: summary(servers[label], answers) for label, answers in children.items()}
    return {"case": asdict(case), "label": case.label, "n": n, "m": m, "contenders": found}


def summary(server: Any, answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the median of the processes' medians, and what else a row is shown or judged by."""
    medians = [median(answer["wall"]) for answer in answers]
    return {
        "wall": median(medians),
        "spread": max(medians) / min(medians),
        "init": server.init,
        "peak_bytes": max(answer["peak_bytes"] for answer in answers),
        "exact": server.exact,
        "digest": answers[0]["digest"],
        "weight": answers[0]["weight"],
        "children": answers,
    }


def without_approximate(result: dict[str, Any]) -> dict[str, Any]:
    """Return a case without the rows whose forests need not weigh the same."""
    kept = {label: r for label, r in result["contenders"].items() if not label.startswith(APPROXIMATE)}
    return {**result, "contenders": kept}


class Server(suite.Server):
    """A process that holds a graph and forks a child whenever it is told; kernels are warm before a child measures."""

    def __init__(self, row: Row, file: Path):
        algorithm = registry.get(row.algorithm)
        spec = dict(algorithm=row.algorithm, options=row.options, file=str(file), width=row.width)
        self.exact = algorithm.exact
        self.init = float("nan")
        self.answer = None
        environment = {**os.environ, "NUMBA_NUM_THREADS": str(row.width), "OMP_NUM_THREADS": str(row.width)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mst.bench.threads_suite", "--worker", json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )


class Program:
    """A program on disk, in a server's place."""

    exact = False
    init = float("nan")

    def __init__(self, command: Command, file: Path):
        self.command, self.file = command, file.with_suffix(".bin")

    def get_ready(self) -> str | None:
        """Write the graph once, as all programs read it."""
        if not self.file.exists():
            with np.load(self.file.with_suffix(".npz")) as graph, self.file.open("wb") as out:
                np.array([graph["n"], len(graph["w"])], "<i8").tofile(out)
                for name in "uvw":
                    graph[name].astype("<i4").tofile(out)
        return None

    def fork(self) -> dict[str, Any]:
        """Run it; return the seconds that it states and its forest's weight."""
        words = [
            word.format(graph=self.file, width=self.command.width)
            for word in shlex.split(self.command.template)
        ]
        width = str(self.command.width)
        environment = {**os.environ, "OMP_NUM_THREADS": width, "PARLAY_NUM_THREADS": width}
        try:
            done = subprocess.run(words, capture_output=True, text=True, env=environment)
        except OSError as error:
            return {"reason": str(error)}
        seconds = [float(found) for found in re.findall(r"^seconds: *(\S+)", done.stdout, re.MULTILINE)]
        weight = re.search(r"^weight: *(\S+)", done.stdout, re.MULTILINE)
        if done.returncode or not seconds or not weight:
            return {"reason": f"ended with code {done.returncode}: {done.stdout[-200:]}{done.stderr[-200:]}"}
        return {"wall": seconds, "peak_bytes": 0, "digest": None, "weight": weight[1]}

    def close(self) -> None:
        """Nothing is left running."""


def work(spec: dict[str, Any]) -> int:
    """Prepare, then fork a child for each line of the standard input; answer in lines of JSON."""
    from mst.graph import Graph

    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not mix with the answers
    algorithm = registry.get(spec["algorithm"])
    with np.load(spec["file"]) as arrays:
        graph = Graph(int(arrays["n"]), arrays["u"], arrays["v"], arrays["w"], trusted=True)
    options = algorithm.resolve(spec["options"])
    module = algorithm.load()
    started = time.perf_counter()
    try:
        problem = module.prepare(graph, width=spec["width"], **options)
    except MSTError as error:
        out.write(json.dumps({"reason": str(error)}) + "\n")
        return 0
    out.write(json.dumps({"init": time.perf_counter() - started}) + "\n")
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                # Threads and machine code first, on a small graph: neither belongs to the memory of a solve.
                for small in warmers(graph):
                    module.solve(module.prepare(small, width=spec["width"], **options))
                out.write(json.dumps(suite.samples(module, graph, problem)) + "\n")
            except Exception as error:
                out.write(json.dumps({"reason": f"{type(error).__name__}: {error}"}) + "\n")
            finally:
                out.flush()
                os._exit(0)
        if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            out.write(json.dumps({"reason": f"a child ended with code {code}"}) + "\n")
    return 0


def warmers(graph) -> Iterator[Any]:
    """Yield a sparse and a dense graph of a graph's dtypes, for kernels to be loaded on."""
    from mst.graph import Graph

    rng = np.random.default_rng(1)
    for n, m in ((20_000, 50_000), (500, 50_000)):
        u, v = rng.integers(0, n, (2, m)).astype(graph.u.dtype)
        yield Graph(n, u, v, rng.permutation(m).astype(graph.w.dtype), trusted=True)


def page(report: dict[str, Any]) -> str:
    """Return the times, ratios and geometric means as Markdown, and the memory of our rows."""
    widths = report["widths"]
    widest = max(widths)
    ours = Row(OURS, widest).label
    named = [Command.parse(text, widest).label for text in report["commands"]]
    comparisons = [
        suite.Comparison(Row(OURS, 1).label, (Row(SEQUENTIAL, 1).label,), "width 1 / filter-boruvka"),
        *(
            suite.Comparison(Row(OURS, width).label, (Row(OURS, 1).label,), f"width {width} / width 1")
            for width in widths
            if width > 1
        ),
        suite.Comparison(ours, (Row(PBBS, widest).label,), f"× {widest} / {PBBS}"),
        suite.Comparison(ours, tuple(named), f"× {widest} / fastest program"),
    ]
    shown = suite.Suite(contenders=(), cases=cases, comparisons=tuple(comparisons))
    runtime = ", ".join(f"{name} {value}" for name, value in report["runtime"].items())
    return f"{suite.table(report, shown)}\n\nThreads: {runtime}.\n\n{memory(report)}"


def memory(report: dict[str, Any]) -> str:
    """Return our rows' peak memory beyond the input as Markdown, as a share of what is allowed."""
    labels = list(dict.fromkeys(label for r in report["results"] for label in r["contenders"]))
    labels = [label for label in labels if label.startswith((OURS, APPROXIMATE))]
    lines = [
        f"Peak memory beyond the input, as a share of {PER_VERTEX} bytes a vertex and {PER_EDGE} an edge:",
        "",
        "| graph | " + " | ".join(labels) + " |",
        "|---|" + "---:|" * len(labels),
    ]
    for result in report["results"]:
        allowed = PER_VERTEX * result["n"] + PER_EDGE * result["m"]
        shares = [
            f"{result['contenders'][label]['peak_bytes'] / allowed:.2f}"
            if label in result["contenders"]
            else "–"
            for label in labels
        ]
        lines.append(f"| {result['label']} | " + " | ".join(shares) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
