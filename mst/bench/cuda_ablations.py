"""The published ablations of GPU programs, each option on and off, beside the figures that the papers give.

``python -m mst.bench.cuda_ablations [--sections NAME,…] [--small] [--json FILE]``. Both sides of a ratio are solved in
turns on one graph that stays on the device, each solve between two CUDA events; the ratio is that of the medians, its
band the quartiles of the ratios of neighbours. Needs CuPy and a GPU; stalls and achieved occupancy need ``ncu`` too.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from mst import registry
from mst.algorithms.cuda._resident import DeviceGraph
from mst.algorithms.cuda.flat_boruvka import LATENCY, STALLED
from mst.bench import cuda_suite
from mst.bench.measure import profiler

Options = dict[str, Any]
SAMPLES, WARM = 9, 2
LEAST, BUDGET_MS = 3, 6_000.0  # samples of a side that are taken anyway, and when the others are left out
EDGE, FLAT, CONTRACT = "edge-boruvka-cuda", "flat-boruvka-cuda", "contract-boruvka-cuda"
FIRST = dict(worklist=False, compression=True)
COMPRESSING = dict(compression=True)
WAIT_FREE = dict(union_find="wait-free")
SEGMENTED = dict(minimum="segmented")
GPU_U = dict(memory="unified")
GPU_E = dict(memory="unified", work="edge", scan="host")
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"


@dataclass(frozen=True)
class Ablation:
    """One published switch: where it is told (with the claim's id), and what T(before) / T(after) was said to be."""

    claim: str
    what: str
    algorithm: str
    before: Options
    after: Options
    published: str
    graphs: tuple[str, ...]
    algorithm_before: str = ""


SHOU_HE, ROAD, ECL = ("dense-large", "sparse-large"), ("road-4M",), ("2d-2e20",)
NETWORKX = ("hypercube-20", "circulant-20", "binomial-20")
SKEWED = ("rmat16", *ROAD)
PORT = "ecl-mst-cuda"
ABLATIONS = (
    Ablation("Fallin T. 3, 4", "Jucele / ECL-MST", PORT, {}, {}, "3.0; 2.5", ECL, "jucele-cuda"),
    Ablation("Fallin T. 3, 4", "Gunrock / ECL-MST", PORT, {}, {}, "4.0; 5.6", ECL, "gunrock-cuda"),
    Ablation("Fallin T. 3, 4", "UMinho / ECL-MST", PORT, {}, {}, "5.7; 5.8", ECL, CONTRACT),
    Ablation("Fallin T. 3, 4", "UMinho / ECL-MST", PORT, {}, {}, "178; 190", ("rmat16",), CONTRACT),
    Ablation("bia-06, Performance", "GPU-u / GPU-e", CONTRACT, GPU_U, GPU_E, "slightly > 1", ROAD),
    Ablation("GPU implementation", "unified / device, warm", CONTRACT, GPU_U, {}, "-", SKEWED),
    Ablation("GPU implementation", "slots by vertex / edge", CONTRACT, {}, dict(work="edge"), "-", SKEWED),
    Ablation("bia-14, GPU impl.", "scan: device / host", CONTRACT, {}, dict(scan="host"), "about 1", ROAD),
    Ablation("bia-13, Conclusions", "minimum: vertex / segmented", CONTRACT, {}, SEGMENTED, "> 1?", SKEWED),
    Ablation("sh-08, §3.2 Opt. 2", "worklist: off / on", EDGE, FIRST, COMPRESSING, "1.39 dense", SHOU_HE),
    Ablation("sh-09, §3.2 Opt. 3", "compression: on / off", EDGE, COMPRESSING, {}, "1.08 dense", SHOU_HE),
    Ablation("sh-10, §3.2, §4.3", "first / final version", EDGE, FIRST, {}, "1.52, 0.95", SHOU_HE),
    Ablation("sh-11, §3.2 Opt. 1", "block: 1024 / 512", EDGE, dict(block=1024), {}, "about 1", SHOU_HE),
    Ablation("§4.3, future work", "minimum: edge / vertex", EDGE, {}, dict(minimum="vertex"), "-", SHOU_HE),
    Ablation("bz-04, Approach", "wait-free / flattened", FLAT, WAIT_FREE, {}, "1.077", NETWORKX),
    Ablation("bz-09, Opt. CUDA", "shuffled / sorted", FLAT, dict(order="shuffled"), {}, "≫ 1", NETWORKX),
    Ablation("Opt. CUDA", "contiguous / interleaved", FLAT, dict(walk="contiguous"), {}, "> 1", NETWORKX),
    Ablation("bz-10, Opt. CUDA", "edges: once / both ways", FLAT, {}, dict(edges="both"), "≥ 1", NETWORKX),
    Ablation("bz-11, Approach", "flatten: merged / kernel", FLAT, dict(flatten="merged"), {}, "> 1", NETWORKX),
    Ablation("bz-12, Approach", "check: flag / choice", FLAT, dict(check="flag"), {}, "about 1", NETWORKX),
)


@dataclass
class Ratio:
    """Medians in ms of both sides, their ratio, and the quartiles of neighbours' ratios."""

    before: float
    after: float
    ratio: float
    low: float
    high: float

    @property
    def sign(self) -> str:
        """``+``: the second side is faster; ``-``: slower; ``=``: the band holds 1, or the ratio is within 2 %."""
        if self.low <= 1 <= self.high or abs(self.ratio - 1) < 0.02:
            return "="
        return "+" if self.ratio > 1 else "-"


@dataclass
class Report:
    """What was measured, printed as it comes."""

    rows: list[dict[str, Any]] = field(default_factory=list)

    def say(self, section: str, text: str, **row: Any) -> None:
        """Print a line and keep its figures."""
        print(text, flush=True)
        self.rows.append({"section": section, **row})


def main(arguments: list[str] | None = None) -> int:
    """Measure the sections asked for; return 1 if a forest is wrong."""
    parser = argparse.ArgumentParser(prog="mst.bench.cuda_ablations", description=__doc__.splitlines()[0])
    parser.add_argument("--sections", default=",".join(SECTIONS), help="names, separated by commas")
    parser.add_argument("--small", action="store_true", help="small graphs: whether it runs, not figures")
    parser.add_argument("--json", type=Path, help="where all figures go")
    parser.add_argument("--profiled", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    graphs = Graphs(options.small)
    if options.profiled:
        return profiled(json.loads(options.profiled), graphs)
    report = Report()
    for name in options.sections.split(","):
        print(f"\n## {name}", flush=True)
        began = perf_counter()
        SECTIONS[name](graphs, report)
        print(f"({perf_counter() - began:.0f} s)", flush=True)
        if options.json:
            options.json.write_text(json.dumps(report.rows, indent=1, default=str))
    return int(graphs.wrong > 0)


class Graphs:
    """Graphs on the device by name, the last one kept, each with the forest that ECL-MST's port finds."""

    def __init__(self, small: bool):
        self.small, self.wrong = small, 0
        self._name = ""
        self._graph: DeviceGraph | None = None
        self._ids: np.ndarray | None = None

    def get(self, name: str) -> DeviceGraph:
        """Return a graph with random weights."""
        if name != self._name:
            self._graph = self._ids = None
            _free()
            self._graph, self._name = make(name, self.small), name
        assert self._graph is not None
        return self._graph

    def check(self, name: str, ids: np.ndarray) -> str:
        """Return nothing, or a warning if these are not the edge ids of the forest."""
        graph = self.get(name)
        if self._ids is None:
            module, problem = prepared("ecl-mst-cuda", graph, {})
            self._ids = np.sort(module.collect(problem, module.solve(problem)))
        if np.array_equal(np.sort(ids), self._ids):
            return ""
        self.wrong += 1
        return "  THE FORESTS DIFFER"


def make(name: str, small: bool) -> DeviceGraph:
    """Return a named graph; those of Bhargava and Zaia's families have weights from 1 to 1000, as theirs."""
    import cupy

    scale = 12 if small else 20
    families: dict[str, Callable] = {
        "hypercube-20": lambda: hypercube(scale),
        "circulant-20": lambda: circulant(1 << scale, 8),
        "binomial-20": lambda: cuda_suite.uniform(1 << scale, 8 << scale),
    }
    if name in families:
        n, u, v = families[name]()
        return DeviceGraph(n, u, v, cupy.random.default_rng(7).integers(1, 1001, len(u)).astype(cupy.int32))
    if small:
        n, u, v = cuda_suite.grid(40)
        return DeviceGraph(n, u, v, cupy.random.default_rng(7).integers(0, 1 << 24, len(u)).astype(cupy.int32))
    return cuda_suite.make(name)


def hypercube(dimensions: int) -> tuple[int, Any, Any]:
    """Return the hypercube, edges sorted by first vertex."""
    import cupy

    i = cupy.arange(1 << dimensions, dtype=cupy.int64)
    ends = [(i[i >> d & 1 == 0], i[i >> d & 1 == 0] | 1 << d) for d in range(dimensions)]
    a, b = (cupy.concatenate(side) for side in zip(*ends, strict=True))
    return cuda_suite.simple(1 << dimensions, a, b)


def circulant(n: int, offsets: int) -> tuple[int, Any, Any]:
    """Return the circulant graph of offsets 1 to `offsets`, edges sorted by first vertex."""
    import cupy

    i = cupy.arange(n, dtype=cupy.int64)
    a = cupy.tile(i, offsets)
    b = cupy.concatenate([(i + d) % n for d in range(1, offsets + 1)])
    return cuda_suite.simple(n, a, b)


def prepared(name: str, graph: DeviceGraph, options: Options) -> tuple[Any, Any]:
    """Return an algorithm's module and its problem on the device."""
    algorithm = registry.get(name)
    module = algorithm.load()
    return module, module.transfer(module.prepare(graph, width=1, **algorithm.resolve(options)))


def solve_ms(module: Any, problem: Any) -> float:
    """Return the milliseconds of a solve between two events."""
    import cupy

    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    module.solve(problem)
    end.record()
    end.synchronize()
    return cupy.cuda.get_elapsed_time(start, end)


def alternate(sides: list[tuple[Any, Any]], samples: int = SAMPLES) -> list[list[float]]:
    """Return samples of each side in ms, solved in turns, the order swapped every time."""
    times: list[list[float]] = [[] for _ in sides]
    for turn in range(samples + WARM):
        order = range(len(sides)) if turn % 2 else reversed(range(len(sides)))
        for side in order:
            took = solve_ms(*sides[side])
            if turn >= WARM:
                times[side].append(took)
        if len(times[0]) >= LEAST and sum(map(sum, times)) > BUDGET_MS:
            break
    return times


def ratio_of(before: list[float], after: list[float]) -> Ratio:
    """Return the ratio of medians with the quartiles of the pairs' ratios.

    Examples
    --------
    >>> from mst.bench.cuda_ablations import ratio_of
    >>> r = ratio_of([2.0, 2.2, 2.1], [1.0, 1.1, 1.0])
    >>> round(r.ratio, 2), r.sign
    (2.1, '+')
    """
    pairs = sorted(b / a for b, a in zip(before, after, strict=True))
    low, _, high = statistics.quantiles(pairs, n=4)
    one, other = statistics.median(before), statistics.median(after)
    return Ratio(one, other, one / other, low, high)


def ablations(graphs: Graphs, report: Report) -> None:
    """Every switch on and off, graph by graph so that each is made once."""
    print("| place | what | graph | before, ms | after, ms | ratio | quartiles | sign | published |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in dict.fromkeys(graph for a in ABLATIONS for graph in a.graphs):
        for a in ABLATIONS:
            if name in a.graphs:
                measure(a, name, graphs, report)


def measure(a: Ablation, name: str, graphs: Graphs, report: Report) -> None:
    """Measure one switch on one graph."""
    graph = graphs.get(name)
    try:
        sides = [
            prepared(a.algorithm_before or a.algorithm, graph, a.before),
            prepared(a.algorithm, graph, a.after),
        ]
        r = ratio_of(*alternate(sides))
    except Exception as error:
        report.say("ablations", f"| {a.claim} | {a.what} | {name} | {error} |", error=str(error))
        return
    warning = "".join(graphs.check(name, m.collect(p, m.solve(p))) for m, p in sides)
    band = f"{r.low:.2f}–{r.high:.2f}"
    text = f"| {a.claim} | {a.what} | {name} | {r.before:.3f} | {r.after:.3f} | {r.ratio:.2f} | {band} "
    text += f"| {r.sign} | {a.published} |{warning}"
    report.say(
        "ablations", text, claim=a.claim, what=a.what, graph=name, sign=r.sign, published=a.published, **vars(r)
    )
    del sides
    _free()


def phases(graphs: Graphs, report: Report) -> None:
    """Shou and He's phase tables (sections 3.2 and 4.3): shares of a probed solve, beside theirs."""
    published = {
        ("first", "dense-large"): dict(zip(("minimum", "union", "remap", "filter"), (52.8, 3.3, 32.7, 11.0))),
        ("first", "sparse-large"): dict(zip(("minimum", "union", "remap", "filter"), (30.1, 23.8, 36.3, 9.8))),
        ("final", "dense-large"): dict(zip(("minimum", "union", "remap"), (64.7, 5.2, 29.7))),
        ("final", "sparse-large"): dict(zip(("minimum", "union", "remap"), (51.7, 21.0, 27.1))),
    }
    print("| version | graph | total, ms | phase: share, % (published) |\n|---|---|---|---|")
    for (version, name), shares in sorted(published.items(), key=lambda item: item[0][1]):
        module, problem = prepared(EDGE, graphs.get(name), FIRST if version == "first" else {})
        module.phases(problem)
        runs = [module.phases(problem) for _ in range(5)]
        spent = {phase: statistics.median(run[phase] for run in runs) for phase in runs[0]}
        total = sum(spent.values())
        told = ", ".join(
            f"{phase}: {100 * s / total:.1f}" + (f" ({shares[phase]})" if phase in shares else "")
            for phase, s in spent.items()
        )
        counted = module.counters(problem, module.solve(problem))
        launches = counted["launches"] // counted["rounds"]
        text = f"| {version}, {launches} launches a round | {name} | {total * 1e3:.2f} | {told} |"
        report.say("phases", text, version=version, graph=name, spent=spent, launches=launches)


def grid_sizes(graphs: Graphs, report: Report) -> None:
    """bz-14: T(t) / T(2t) as the blocks of a launch double; published: nearly linear (2)."""
    name, times = "binomial-20", {}
    sizes = [2**k for k in range(2, 12)]
    for blocks in sizes:
        module, problem = prepared(FLAT, graphs.get(name), dict(blocks=blocks))
        times[blocks] = statistics.median(alternate([(module, problem)], samples=3)[0])
    print(f"{name}\n| blocks of 512 | ms | T(t)/T(2t) |\n|---|---|---|")
    for blocks in sizes:
        gain = f"{times[blocks] / times[2 * blocks]:.2f}" if 2 * blocks in times else "-"
        report.say("grid", f"| {blocks} | {times[blocks]:.3f} | {gain} |", blocks=blocks, ms=times[blocks])


def totals(graphs: Graphs, report: Report) -> None:
    """Initialisation, transfer and a first solve, from host arrays: bz-10's second half, and unified memory cold."""
    from mst.graph import Graph

    cases: tuple[tuple[str, str, Options, Options, str, str], ...] = (
        ("bz-10, edges once / both ways", FLAT, {}, dict(edges="both"), "binomial-20", "much below 1"),
        ("unified / device memory", CONTRACT, GPU_U, {}, "road-4M", "-"),
    )
    print("| what | graph | before, ms | after, ms | ratio | published |\n|---|---|---|---|---|---|")
    for what, algorithm, before, after, name, published in cases:
        there = graphs.get(name)
        graph = Graph(there.n, there.u.get(), there.v.get(), there.w.get())
        graph.csr()
        one, other = (from_host(algorithm, graph, options) for options in (before, after))
        text = f"| {what} | {name} | {one:.1f} | {other:.1f} | {one / other:.2f} | {published} |"
        report.say("totals", text, what=what, graph=name, before=one, after=other, ratio=one / other)


def from_host(algorithm: str, graph: Any, options: Options) -> float:
    """Return the milliseconds of everything from host arrays to the end of the first solve: the median of three."""
    chosen = registry.get(algorithm)
    module, resolved, times = chosen.load(), chosen.resolve(options), []
    for _ in range(4):
        began = perf_counter()
        module.solve(module.transfer(module.prepare(graph, width=1, **resolved)))
        times.append((perf_counter() - began) * 1e3)
        _free()
    return statistics.median(times[1:])


def block_sizes(graphs: Graphs, report: Report) -> None:
    """bia-07, bia-08 and sh-11: mean and standard deviation of five solves by block size, as Biagiotti's figure."""
    cases = [("GPU-u", CONTRACT, GPU_U, "road-4M"), ("GPU-e", CONTRACT, GPU_E, "road-4M")]
    cases.append(("final", EDGE, {}, "sparse-large"))
    print("| variant | graph | block | mean, ms | sd, ms | sd / mean, % |\n|---|---|---|---|---|---|")
    for variant, algorithm, options, name in cases:
        for block in (64, 128, 256, 512, 1024):
            side = prepared(algorithm, graphs.get(name), {**options, "block": block})
            (times,) = alternate([side], samples=5)
            mean, deviation = statistics.fmean(times), statistics.stdev(times)
            text = f"| {variant} | {name} | {block} | {mean:.3f} | {deviation:.3f} | {100 * deviation / mean:.2f} |"
            report.say("blocks", text, variant=variant, block=block, mean=mean, sd=deviation)


def rates(graphs: Graphs, report: Report) -> None:
    """bia-11: edges per second per vertex, per edge and segmented, on regular and on skewed or dense graphs."""
    variants = {
        "vertex": {},
        "edge": dict(work="edge"),
        "edge, segmented": dict(work="edge", minimum="segmented"),
    }
    print("| graph | " + " | ".join(f"{v}, M edges/s" for v in variants) + " |\n|---|---|---|---|")
    for name in ("road-4M", "rmat16", "dense-medium"):
        graph = graphs.get(name)
        sides = [prepared(CONTRACT, graph, options) for options in variants.values()]
        speeds = [graph.m / statistics.median(t) / 1e3 for t in alternate(sides, samples=5)]
        report.say(
            "rates", f"| {name} | " + " | ".join(f"{s:.0f}" for s in speeds) + " |", graph=name, rates=speeds
        )
        del sides
        _free()


def occupancy(graphs: Graphs, report: Report) -> None:
    """bia-09, bia-10: occupancy per kernel and round, theoretical, and achieved where ncu can read it."""
    name = "road-4M"
    print("kernel, kind: occupancy in % by round")
    for options in (dict(work="vertex"), dict(work="edge")):
        module, problem = prepared(CONTRACT, graphs.get(name), options)
        counters = module.counters(problem, module.solve(problem))
        for kernel, shares in module.occupancy(problem, counters).items():
            told = " ".join(f"{100 * s:.0f}" for s in shares)
            report.say(
                "occupancy",
                f"{kernel}, theoretical: {told}",
                kernel=kernel,
                kind="theoretical",
                by_round=shares,
            )
        achieved: dict[str, list[float]] = {}
        for kernel, metric, value in profile(CONTRACT, options, name, [OCCUPANCY], graphs.small, report):
            if metric == OCCUPANCY:
                achieved.setdefault(kernel, []).append(value)
        for kernel, values in achieved.items():
            told = " ".join(f"{v:.0f}" for v in values)
            report.say(
                "occupancy", f"{kernel}, achieved: {told}", kernel=kernel, kind="achieved", by_launch=values
            )


def stalls(graphs: Graphs, report: Report) -> None:
    """bz-07, bz-08: a warp's cycles per instruction in the worst kernel, and how many of them it waits for memory."""
    for order in ("shuffled", "sorted"):
        metrics: dict[str, list[float]] = {LATENCY: [], STALLED: []}
        for kernel, metric, value in profile(
            FLAT, dict(order=order), "binomial-20", list(metrics), graphs.small, report
        ):
            if kernel == "assign_cheapest" and metric in metrics:
                metrics[metric].append(value)
        if metrics[LATENCY] and metrics[STALLED]:
            worst = int(np.argmax(metrics[LATENCY]))
            cycles, waiting = metrics[LATENCY][worst], metrics[STALLED][worst]
            text = f"assign_cheapest, {order}: {cycles:.0f} cycles per instruction in its worst launch, "
            text += f"{100 * waiting / cycles:.0f} % of them waiting for memory"
            report.say(
                "stalls",
                f"{text} (published: over 1000 → about 70)",
                order=order,
                cycles=cycles,
                waiting=waiting,
            )


def profile(
    algorithm: str, options: Options, graph: str, metrics: list[str], small: bool, report: Report
) -> Iterator[tuple[str, str, float]]:
    """Yield (kernel, metric, value) of each launch of one solve in a process under ncu; clocks are left alone."""
    spec = json.dumps(dict(algorithm=algorithm, options=options, graph=graph))
    process = ["-m", "mst.bench.cuda_ablations", "--profiled", spec, *(["--small"] if small else [])]
    profile = profiler.read_profile(process, metrics)
    if profile.reason:
        report.say("ncu", profile.reason, error=profile.reason)
    yield from profile.launches


def profiled(spec: dict[str, Any], graphs: Graphs) -> int:
    """Solve once with the profiler on: what `profile` starts."""
    profiler.profile_solve(*prepared(spec["algorithm"], graphs.get(spec["graph"]), spec["options"]))
    return 0


def _free() -> None:
    import gc

    import cupy

    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()


SECTIONS: dict[str, Callable[[Graphs, Report], None]] = {
    "phases": phases,
    "grid": grid_sizes,
    "totals": totals,
    "blocks": block_sizes,
    "rates": rates,
    "occupancy": occupancy,
    "stalls": stalls,
    "ablations": ablations,
}


if __name__ == "__main__":
    sys.exit(main())
