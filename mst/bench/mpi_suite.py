"""Message passing side by side: ours at every number of ranks beside one core and threads; then Shou and He's two.

``python -m mst.bench.mpi_suite``, or ``make bench-mpi``. Every figure is a run as the workflow measures it
(`mst.bench.measure.runner`): fresh processes, the median of their medians; under MPI a sample is the slowest
rank's time.
Exact algorithms must agree on every edge id, else the run fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from mst.bench.measure.machine import this_machine, usable_cores
from mst.bench.measure.runner import Order, measure_run
from mst.bench.planning.experiment import Measure
from mst.bench.records.store import Run, medians

OURS, ONE_CORE, THREADS = "filter-boruvka-mpi", "filter-boruvka", "filter-boruvka-threads"
GHS, ALLREDUCE = "ghs-mpi", "allreduce-boruvka-mpi"
PUBLISHED_GHS_SECONDS = 56.4
"""Shou and He, §4.5: sparse/medium (n = 1 M, m = 1.5 M), one processor."""

GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform 1 M": ("uniform", dict(n=1_000_000, m=1_500_000)),
    "uniform 2 M": ("uniform", dict(n=2_000_000, m=8_000_000)),
    "R-MAT 20": ("rmat", dict(scale=20, m=16_000_000)),
    "dense 5000": ("dense", dict(n=5000)),
    "grid 2000²": ("grid", dict(rows=2000, columns=2000)),
}
SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "uniform 1 M": ("uniform", dict(n=10_000, m=15_000)),
    "dense 5000": ("dense", dict(n=500)),
}
"""The same names a hundredth as large, to try the program."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print as it goes; return 1 if two algorithms disagree."""
    parser = argparse.ArgumentParser(prog="mst.bench.mpi_suite", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--graphs", help="names, separated by commas")
    parser.add_argument("--widths", default="1,2,4,8,16", help="ranks; those above the cores are left out")
    parser.add_argument("--threads-widths", help="of the algorithm on threads; as --widths")
    parser.add_argument("--paper-widths", help="of Shou and He's two algorithms; as --widths")
    parser.add_argument("--processes", type=int, default=3, help="fresh processes a run")
    parser.add_argument("--budget", type=float, default=6.0, help="seconds a run, past which fewer processes")
    parser.add_argument("--oversubscribe", action="store_true", help="measure more ranks than cores, too")
    parser.add_argument(
        "--until", type=float, default=float("inf"), help="seconds after which nothing is begun"
    )
    parser.add_argument("--json", type=Path, help="where all measurements go")
    chosen = parser.parse_args(arguments)
    suite = Suite(chosen)
    print(f"{this_machine().cpu}, {usable_cores()} cores; milliseconds", flush=True)
    graphs = GRAPHS if chosen.scale == "full" else SMALL
    names = chosen.graphs.split(",") if chosen.graphs else list(graphs)
    with tempfile.TemporaryDirectory(prefix="mst-mpi-") as folder:
        for name in names:
            suite.graph(name, *graphs[name], Path(folder))
    suite.summary()
    if chosen.json:
        chosen.json.write_text(json.dumps(suite.measurements, indent=1))
    return int(bool(suite.wrong))


class Suite:
    """Measurements so far, and what is made of them."""

    def __init__(self, chosen: argparse.Namespace):
        self.chosen = chosen
        most = sys.maxsize if chosen.oversubscribe else usable_cores()

        def at_most(widths: str) -> list[int]:
            return [p for p in map(int, widths.split(",")) if p <= most]

        self.widths = at_most(chosen.widths)
        self.threads = at_most(chosen.threads_widths or chosen.widths)
        self.paper = at_most(chosen.paper_widths or chosen.widths)
        self.measurements: list[dict[str, Any]] = []
        self.wrong: list[str] = []
        self.started = time.monotonic()

    def graph(self, name: str, family: str, parameters: dict[str, Any], folder: Path) -> None:
        """Make a graph and measure all that is measured on it."""
        from mst.formats.canonical import write_canonical
        from mst.generators import generate
        from mst.weights import WeightSpec

        graph = generate(family, **parameters, weights=WeightSpec("int32", 0, 2**24 - 1))
        file = folder / "graph.arrow"
        manifest = {**write_canonical(file, graph), "weight_dtype": "int32"}
        del graph
        print(f"\n{name}: n = {manifest['n']:,}, m = {manifest['m']:,}", flush=True)
        runs = [(ONE_CORE, 1)]
        runs += [(OURS, p) for p in self.widths] + [(THREADS, p) for p in self.threads]
        if name == "uniform 1 M":
            runs += [(algorithm, p) for algorithm in (ALLREDUCE, GHS) for p in self.paper]
        digest = None
        for algorithm, width in runs:
            found = self.run(name, algorithm, width, file, manifest, folder)
            if found is None or found["status"] != "ok":
                continue
            digest = digest or found["forest"]["digest"]
            if found["forest"]["digest"] != digest:
                self.wrong.append(f"{algorithm} at width {width} on {name}")

    def run(self, name, algorithm, width, file, manifest, folder) -> dict[str, Any] | None:
        """Measure one run and print a line about it."""
        if time.monotonic() - self.started > self.chosen.until:
            print(f"  {algorithm:24}{width:4}  not begun: out of time", flush=True)
            return None
        measure = Measure(processes=self.chosen.processes, samples=5, budget=self.chosen.budget, timeout=200)
        run = Run("here", name.replace("²", "2"), algorithm, "default", width, "0" * 12)
        order = Order(run, folder / "records" / run.path, measure, oversubscribe=True)
        found = measure_run(order, manifest=manifest, graph_file=file)
        self.measurements.append({"case": name, **found})
        if found["status"] != "ok":
            print(f"  {algorithm:24}{width:4}  {found['status']}: {found['reason']}", flush=True)
            print((found["detail"] or "")[-1000:], file=sys.stderr, flush=True)
            return found
        times = medians(found)
        init = medians(found, "init")
        print(
            f"  {algorithm:24}{width:4}{1e3 * _middle(times):10.2f}  init {1e3 * _middle(init):8.1f}"
            f"  processes {len(times)}  {_said(found)}",
            flush=True,
        )
        return found

    def time(self, case: str, algorithm: str, width: int) -> float | None:
        """Return the seconds of a run, or None."""
        for found in self.measurements:
            if (found["case"], found["run"]["algorithm"], found["run"]["width"]) == (case, algorithm, width):
                return _middle(medians(found)) if found["status"] == "ok" else None
        return None

    def summary(self) -> None:
        """Print ratios graph by graph and their geometric means."""
        cases = list(dict.fromkeys(found["case"] for found in self.measurements))
        print("\nratios, geometric means over the graphs measured")
        for p in self.widths:
            for title, top, bottom in (
                (f"{OURS}, self-speedup at {p}", (OURS, 1), (OURS, p)),
                (f"{ONE_CORE} / {OURS} at {p}", (ONE_CORE, 1), (OURS, p)),
                (f"{OURS} / {THREADS} at {p}", (OURS, p), (THREADS, p)),
            ):
                pairs = [(self.time(case, *top), self.time(case, *bottom)) for case in cases]
                ratios = [a / b for a, b in pairs if a and b]
                if ratios:
                    each = " ".join(f"{ratio:.2f}" for ratio in ratios)
                    print(f"  {title:48}{geometric_mean(ratios):6.2f}  ({each})")
        if ghs := self.time("uniform 1 M", GHS, 1):
            if self.chosen.scale == "full":
                print(f"  {GHS} at one rank: {PUBLISHED_GHS_SECONDS / ghs:.1f} times as fast as published")
            speedups = [(p, self.time("uniform 1 M", GHS, p)) for p in self.paper]
            print(f"  {GHS}, self-speedup:", " ".join(f"{p}: {ghs / t:.2f}" for p, t in speedups if t))
        for line in self.wrong:
            print(f"another forest: {line}")


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _said(found: dict[str, Any]) -> str:
    """Return the counters about sizes, and what ranks hold beyond what they started with."""
    kept = (
        "rank_bytes",
        "graph_bytes_per_rank",
        "own_bytes_per_rank",
        "shared_bytes",
        "messages",
        "supersteps",
    )
    said = [f"{name} {found['counters'][name]:,}" for name in kept if name in found["counters"]]
    return ", ".join([*said, f"working {found['memory']['working_bytes'] / 2**20:.0f} MiB"])


if __name__ == "__main__":
    sys.exit(main())
