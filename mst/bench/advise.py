"""Makes the table of advice: candidates side by side over sizes, densities, degrees and weights, on this machine.

``python -m mst.bench.advise --folder DIR --within 400 --check 150`` measures for 400 seconds, the most telling cases
first, and writes ``DIR/advice.json`` from all cases in ``DIR/cases.jsonl`` after each; what is in that file already is
not measured again. Then it measures generators, seeds and weights that the table was not made from for 150 seconds
(``DIR/checks.jsonl``), and says in how many cases the choice is within 20 % of the best, its own cost included; the
table keeps that sum. ``--folder DIR`` alone measures nothing: the table is made and judged anew from what lies there,
on whatever machine. ``--table FILE`` judges another table. The GPU is taken where CuPy finds one.

A time is what a caller waits for, on warm code: from an edge list in host memory to edge ids in host memory, or, at the
place ``device``, both on the device.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from math import inf
from multiprocessing import get_context
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np

from mst import registry
from mst.advice import HOPELESS, Candidate, Table, kind_of
from mst.advice.traits import Traits, traits_of
from mst.bench.machine import this_machine, usable_cores
from mst.errors import MSTError
from mst.execute import Implementation, implementation_of
from mst.facts import Facts
from mst.generators import generate
from mst.graph import Graph

ON_ONE_CORE = ("kruskal", "filter-boruvka", "filter-boruvka[filter=false]", "prim-dense")
ON_CORES = ("filter-boruvka-threads",)
ON_CORES_IF_LOCAL = ("parlay-boruvka",)
"""Where weights are local, batches of nearly equal weight lie in one place, and rounds may do better."""
FROM_HOST = ("filter-boruvka-cuda[start=edges]", "edge-boruvka-cuda")
ON_DEVICE = ("filter-boruvka-cuda[start=edges]", "filter-boruvka-cuda", "edge-boruvka-cuda")

SIZES = tuple(4**k for k in range(5, 12))
LARGE = 1 << 24
LARGEST = 1 << 27
WITHIN = 1.2
SAME = 1.08
"""Kinds share a cell if its choice costs none of them more than this factor."""
_SECONDS = 0.05
_MOST = 30
_PACE = 6e-7
"""Seconds an edge that a case takes at first guess."""


@dataclass(frozen=True)
class Case:
    """A graph to measure: its place in the table, and how it is made.

    Attributes
    ----------
    m, density : int, float
        The place; the graph's own m may differ a little.
    generator, parameters, seed, order
        As of `mst.generators.generate`.
    weights : str
        See `weigh`.
    """

    m: int
    density: float
    generator: str
    parameters: dict[str, Any] = field(hash=False)
    seed: int
    weights: str = "hashed"
    order: str = "shuffled"

    def make(self) -> Graph:
        graph = generate(self.generator, seed=self.seed, order=self.order, **self.parameters)
        return weigh(graph, self.weights, self.seed)


def weigh(graph: Graph, weights: str, seed: int) -> Graph:
    """Return the graph with other weights: a word and a number, such as ``values:2``.

    Examples
    --------
    >>> from mst.bench.advise import weigh
    >>> from mst.generators import generate
    >>> set(weigh(generate("path", n=100), "values:2", 1).w.tolist())
    {0, 1}
    """
    word, _, number = weights.partition(":")
    if word == "hashed":
        return graph
    rng, m, size = np.random.default_rng(seed), graph.m, int(number or 1)
    u, v = np.minimum(graph.u, graph.v), np.maximum(graph.u, graph.v)
    made: dict[str, Callable[[], np.ndarray]] = {
        "values": lambda: rng.integers(0, size, m).astype(np.int32),
        "wide": lambda: rng.random(m),
        "wide-integers": lambda: rng.integers(-(2**60), 2**60, m),
        "normal": lambda: rng.standard_normal(m).astype(np.float32),
        "cubes": lambda: rng.exponential(1.0, m) ** 3,
        "ascending": lambda: np.sort(graph.w),
        "blocks": lambda: rng.integers(0, 1 << 24, graph.n // size + 1)[u // size].astype(np.int32),
        "noisy-blocks": lambda: (
            rng.integers(0, 1 << 24, graph.n // size + 1)[u // size] + rng.integers(0, 50, m)
        ).astype(np.int64),
        "slope": lambda: (u // size + u % size).astype(np.int32),
        "waves": lambda: np.sin(v // size / 31.0) + np.cos(v % size / 47.0),
    }
    return Graph(graph.n, graph.u, graph.v, made[word](), trusted=True)


def training(largest: int = LARGEST) -> list[Case]:
    """Return the cases that the table is made from, the most telling first; only those of at most `largest` edges."""
    layers = (
        chain.from_iterable(_even(m, "hashed") for m in SIZES),
        chain.from_iterable(_local(m) for m in SIZES),
        chain.from_iterable(_skewed(m, (4.0, 16.0), "hashed") for m in SIZES),
        chain.from_iterable(_even(m, "values:1", (1.5, 16.0)) for m in SIZES),
        _even(LARGE, "hashed", (1.5, 4.0, 16.0)),
        _dense(LARGE, "hashed"),
        chain.from_iterable(_even(m, "values:2", (4.0,)) for m in SIZES),
        chain.from_iterable(_even(m, "wide", (1.5, 16.0)) for m in SIZES),
        _skewed(LARGE, (16.0,), "hashed"),
        (case for case in _local(LARGE) if case.density != 4.0),
        chain.from_iterable(_road(m) for m in (*SIZES[::2], LARGE)),
        _even(LARGE, "values:1", (4.0,)),
        _even(LARGE, "wide", (4.0,)),
        _even(4 * LARGE, "hashed", (4.0,)),
        _skewed(4 * LARGE, (16.0,), "hashed"),
        chain.from_iterable(_even(m, "values:10", (16.0,)) for m in SIZES),
        chain.from_iterable(_skewed(m, (16.0,), "values:1") for m in SIZES),
        _even(LARGE, "values:2", (4.0,)),
        _even(4 * LARGE, "hashed", (1.5,)),
        _dense(4 * LARGE, "hashed"),
        chain.from_iterable(_skewed(m, (16.0,), "values:2") for m in SIZES[1::2]),
        chain.from_iterable(_skewed(m, (16.0,), "wide") for m in SIZES[1::2]),
        chain.from_iterable(_dense(m, w) for m in SIZES[1::2] for w in ("values:1", "values:2", "wide")),
        _even(8 * LARGE, "hashed", (16.0,)),
    )
    return [case for case in chain.from_iterable(layers) if case.m <= largest]


def _even(m: int, weights: str, densities: Sequence[float] = (1.5, 4.0, 16.0, 100.0)) -> Iterator[Case]:
    for density in densities:
        n = round(m / density)
        if n * (n - 1) // 2 > 1.2 * m:
            yield Case(m, density, "uniform", dict(n=n, m=m), 11, weights)
    if weights == "hashed" and m < LARGE:
        yield from _dense(m, weights)


def _dense(m: int, weights: str) -> Iterator[Case]:
    n = max(round((2 * m / 0.9) ** 0.5), 3)
    yield Case(m, round(m / n, 1), "dense", dict(n=n, share=0.9), 14, weights)


def _skewed(m: int, densities: Sequence[float], weights: str) -> Iterator[Case]:
    for density in densities:
        scale = round(m / density).bit_length() - 1
        if 4**scale > 8 * m:
            yield Case(m, density, "kronecker", dict(scale=scale, m=m), 13, weights)


def _road(m: int) -> Iterator[Case]:
    side = round((0.75 * m) ** 0.5)
    yield Case(m, 1.5, "road", dict(rows=side, columns=side), 12)


def _local(m: int) -> Iterator[Case]:
    for size, density in ((9, 4.0), (33, 16.0)):
        cliques = round(m / (size * (size - 1) // 2))
        if cliques > 3:
            parameters = dict(cliques=cliques, size=size)
            yield Case(m, density, "connected-caveman", parameters, 15, f"blocks:{size}")
    side = round((m / 2) ** 0.5)
    yield Case(m, 1.5, "grid", dict(rows=side, columns=side), 16, f"slope:{side}")


def unseen(largest: int = LARGEST) -> list[Case]:
    """Return cases of other generators, sizes, weights and seeds, small and large by turns."""
    made: list[Case] = []
    weights = ("hashed", "normal", "values:1", "values:3", "hashed", "cubes", "values:100", "wide-integers")
    orders = ("shuffled", "sorted", "shuffled")
    for k, base in enumerate((*SIZES, LARGE // 2)):
        m = round(base * (1.7 if k % 2 else 0.6))
        side = max(int((m / 2) ** 0.5), 3)
        generators: list[tuple[str, dict[str, Any], str | None]] = [
            ("delaunay", dict(n=max(m // 3, 4)), None),
            ("kronecker", dict(scale=max((m // 8).bit_length() - 1, 4), edge_factor=8), None),
            ("grid", dict(rows=side, columns=side), f"waves:{side}"),
            ("watts-strogatz", dict(n=max(m // 6, 13), k=12), None),
            ("barabasi-albert", dict(n=max(m // 8, 20), k=8), None),
            ("caveman", dict(cliques=max(m // 105, 2), size=15), "noisy-blocks:15"),
            ("tree", dict(n=m + 1), None),
            ("dense", dict(n=max(int((2 * m / 0.5) ** 0.5), 3), share=0.5), None),
            ("k-out", dict(n=max(m // 3, 8), k=3), None),
            ("geometric", dict(n=max(m // 5, 10), radius=(10 / 3.1416 / max(m // 5, 10)) ** 0.5), None),
            ("rmat", dict(scale=max((m // 24).bit_length() - 1, 6), a=0.6, b=0.15, c=0.15, m=m), None),
        ]
        for j, (generator, parameters, own) in enumerate(generators):
            if generator == "rmat" and 4 ** parameters["scale"] < 8 * m:
                continue
            if generator in ("delaunay", "geometric") and m > 1 << 21:
                continue
            kind = own or weights[(j + 3 * k) % len(weights)]
            order = orders[(j + k) % 3]
            made.append(Case(m, 0.0, generator, parameters, 101 + 7 * k + j, kind, order))
    # A stride that is prime to their number: all sizes and generators, whenever time runs out.
    return [case for i in range(len(made)) if (case := made[i * 37 % len(made)]).m <= largest]


def widths(cores: int) -> list[int]:
    """Return the numbers of cores that the table distinguishes here: powers of two, and all."""
    return sorted({2**k for k in range(cores.bit_length()) if 2**k <= cores} | {cores})


@dataclass(frozen=True)
class Hardware:
    """What may be used: a number of cores, and whether there is a GPU."""

    cores: int
    gpu: bool

    def candidates(self, local: bool) -> list[Candidate]:
        """Return all candidates; those that a table of graphs with local weights needs, too, if `local`."""
        wide = widths(self.cores)[1:]
        names = [f"{name}@1" for name in ON_ONE_CORE]
        names += [f"{name}@{width}" for name in ON_CORES for width in wide]
        names += [f"{name}@{width}" for name in ON_CORES_IF_LOCAL for width in wide[-1:] if local]
        if self.gpu:
            names += [f"{name}@gpu" for name in FROM_HOST] + [f"{name}@device" for name in ON_DEVICE]
        return [Candidate.parse(name) for name in names]

    @classmethod
    def of(cls, measured: Iterable[Measured]) -> Hardware:
        """Return what cases were measured with."""
        candidates = {Candidate.parse(name) for one in measured for name in one.seconds}
        return cls(max((c.width for c in candidates), default=1), any(c.gpu for c in candidates))

    def settings(self) -> list[tuple[int, str | None]]:
        """Return what a caller may have of this: (cores, where the graph lies if there is a GPU)."""
        on_gpu: list[tuple[int, str | None]] = [(width, "host") for width in widths(self.cores)]
        plain: list[tuple[int, str | None]] = [(width, None) for width in widths(self.cores)]
        return [*plain, *on_gpu, (1, "device")] if self.gpu else plain


@dataclass(frozen=True)
class Measured:
    """A case, its graph's size and traits, and seconds by candidate."""

    case: Case
    n: int
    m: int
    traits: Traits
    seconds: dict[str, float]
    choosing: dict[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Measured:
        return cls(**{**row, "case": Case(**row["case"]), "traits": Traits(**row["traits"])})


class Caller:
    """Calls candidates on one graph as a user would: nothing that an earlier call derived is there already."""

    def __init__(self, graph: Graph, candidates: Iterable[Candidate]):
        self.graph = graph
        self.resident: Any = None
        facts = Facts(n=graph.n, m=graph.m, weight_dtype=graph.w.dtype.name)
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
            self.resident = resident(self.graph)
        cupy.cuda.get_current_stream().synchronize()
        started = time.perf_counter()
        problem = implementation.ready(self.resident, options=options).problem
        assert implementation.edge_ids is not None
        ids = cupy.sort(implementation.edge_ids(implementation.solve(problem)).astype(cupy.int64))
        cupy.cuda.get_current_stream().synchronize()
        return time.perf_counter() - started, ids.get()

    def close(self) -> None:
        """Give the device's memory back."""
        self.resident = None
        if any(candidate.gpu for candidate, *_ in self.ways.values()):
            import cupy

            cupy.get_default_memory_pool().free_all_blocks()


def resident(graph: Graph) -> Any:
    """Return the graph on the device."""

    from mst.algorithms.cuda.device.graph import DeviceGraph

    return DeviceGraph.of(graph)


def measure(graph: Graph, candidates: Iterable[Candidate], wrong: list[str]) -> dict[str, float]:
    """Return seconds by candidate: medians of calls in turns, or one call's where that was hopeless.

    Who finds another forest than the first candidate has no time, and is named in `wrong`.
    """
    caller = Caller(graph, candidates)
    first: dict[str, float] = {}
    expected: np.ndarray | None = None
    for name, (candidate, *_) in caller.ways.items():
        try:
            seconds, ids = caller(name)
            # Code for this key or size may have been compiled only now; not so for cores at a size that costs.
            if candidate.gpu or graph.m < LARGE:
                seconds, ids = min((seconds, ids), caller(name), key=lambda told: told[0])
        except (MSTError, MemoryError, RuntimeError) as error:  # CuPy's are of the last two
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
        graph.m < LARGE and rounds < _MOST and sum(map(sum, times.values())) < _SECONDS * len(times)
    ):
        for name in times:
            times[name].append(caller(name)[0])
        rounds += 1
    caller.close()
    return {**first, **{name: median(values) for name, values in times.items()}}


def promising(first: Mapping[str, float]) -> list[str]:
    """Return the candidates near enough to the best that could run in their stead; others are not called again."""
    kept = []
    for name, seconds in first.items():
        own = Candidate.parse(name)
        rivals = [first[other] for other in first if Candidate.parse(other).fits(own.width, own.gpu)]
        if seconds < HOPELESS * min(rivals, default=inf):
            kept.append(name)
    return kept


def cells(measured: Sequence[Measured], hardware: Hardware) -> list[dict[str, Any]]:
    """Return the table's cells: at each place, kinds that want the same candidates are one cell.

    A cell keeps the candidates that are near the best, what an answer or its margin needs, and what answers for
    another kind at the same place: so that it can be told what taking the one for the other would cost.
    """
    places: dict[tuple[int, float], dict[str, list[dict[str, float]]]] = {}
    for one in measured:
        kinds = places.setdefault((one.case.m, one.case.density), {})
        kinds.setdefault(kind_of(one.traits), []).append(one.seconds)
    made = []
    for (m, density), kinds in sorted(places.items()):
        groups: list[dict[str, list[dict[str, float]]]] = []
        for kind in sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind)):
            for group in groups:
                if alike({**group, kind: kinds[kind]}, hardware):
                    group[kind] = kinds[kind]
                    break
            else:
                groups.append({kind: kinds[kind]})
        graphs_of = [list(chain.from_iterable(group.values())) for group in groups]
        means_of = [pooled(graphs) for graphs in graphs_of]
        leaders = set().union(*(leading(means, hardware) for means in means_of))
        for group, graphs, means in zip(groups, graphs_of, means_of):
            kept = sorted(leaders & means.keys() | set(promising(means)))
            times = {name: float(f"{means[name]:.3g}") for name in kept}
            made.append(dict(m=m, density=density, kinds=sorted(group), graphs=len(graphs), times=times))
    return made


def pooled(graphs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the geometric means of what every graph has."""
    names = set.intersection(*(set(times) for times in graphs))
    return {name: geometric_mean(times[name] for times in graphs) for name in names}


def usable(seconds: Mapping[str, float], width: int, gpu: str | None) -> dict[str, float]:
    """Return the candidates that fit, fastest first."""
    fitting = [name for name in seconds if Candidate.parse(name).fits(width, gpu)]
    return {name: seconds[name] for name in sorted(fitting, key=seconds.__getitem__)}


def leading(seconds: Mapping[str, float], hardware: Hardware) -> set[str]:
    """Return the best candidate and the best of another algorithm, for all that may be used of the hardware."""
    kept: set[str] = set()
    for width, gpu in hardware.settings():
        of_each: dict[str, str] = {}
        for name in usable(seconds, width, gpu):
            of_each.setdefault(Candidate.parse(name).algorithm, name)
        kept.update(list(of_each.values())[:2])
    # However slow, it says that a GPU was tried here.
    kept.update([name for name in usable(seconds, 1, "host") if Candidate.parse(name).gpu][:1])
    return kept


def alike(group: Mapping[str, Sequence[Mapping[str, float]]], hardware: Hardware) -> bool:
    """Whether one choice does for all kinds of a group, whatever of the hardware may be used."""
    means = pooled([times for graphs in group.values() for times in graphs])
    for width, gpu in hardware.settings():
        best = next(iter(usable(means, width, gpu)), None)
        for graphs in group.values():
            # Not only of what all kinds have: some candidates are measured for one kind.
            own = usable(pooled(graphs), width, gpu)
            if own and (best is None or own[best] > SAME * min(own.values())):
                return False
    return True


@dataclass(frozen=True)
class Verdict:
    """How a choice did: its candidate's time with the cost of choosing, over the best candidate's time."""

    measured: Measured
    width: int
    gpu: str | None
    candidate: str
    best: str
    regret: float


def judge(table: Table, measured: Sequence[Measured], hardware: Hardware) -> list[Verdict]:
    """Return a verdict on every case and all that may be used of the hardware."""
    verdicts = []
    for one in measured:
        for width, gpu in hardware.settings():
            times = usable(one.seconds, width, gpu)
            if not times:
                continue
            # As `Table.choose_for` does, which looks at edges only where that pays.
            choice = table.settled(one.n, one.m, width=width, gpu=gpu) or table.choose(
                one.n, one.m, skew=one.traits.skew, weights=one.traits.weights, width=width, gpu=gpu
            )
            place = {"host": "gpu", "device": "device", None: str(choice.width)}[choice.gpu]
            slug = registry.get(choice.algorithm).options_slug(choice.options)
            name = str(Candidate(choice.algorithm, slug, place))
            best = next(iter(times))
            taken = times.get(name, inf) + one.choosing.get(f"{width} {gpu}", 0.0)
            verdicts.append(Verdict(one, width, gpu, name, best, taken / times[best]))
    return verdicts


def good(verdicts: Iterable[Verdict]) -> int:
    """Return how many choices were within 20 % of the best."""
    return sum(v.regret <= WITHIN for v in verdicts)


def report(verdicts: Sequence[Verdict], hardware: Hardware) -> str:
    """Return in how many cases the choice was within 20 % of the best, and the worst cases."""
    lines = []
    for width, gpu in hardware.settings():
        own = [v for v in verdicts if (v.width, v.gpu) == (width, gpu)]
        where = {None: "", "host": " and a GPU", "device": ", the graph on the GPU"}[gpu]
        lines.append(f"{width:>3} cores{where}: within 20 % of the best in {good(own)} of {len(own)}")
    for v in sorted(verdicts, key=lambda v: -v.regret)[:20]:
        one, kind = v.measured, kind_of(v.measured.traits)
        lines.append(
            f"  {v.regret:6.2f}  {one.case.generator} n={one.n} m={one.m} {one.case.weights} ({kind}), "
            f"{v.width} cores, GPU {v.gpu}: {v.candidate}, best {v.best} {1e3 * one.seconds[v.best]:.3g} ms"
        )
    return "\n".join([*lines, f"within 20 % of the best in {good(verdicts)} of {len(verdicts)} cases"])


def choosing(graph: Graph, table: Table, hardware: Hardware) -> dict[str, float]:
    """Return the seconds that a choice for this graph costs, by what may be used."""
    costs = {}
    for width, gpu in hardware.settings():
        subject = resident(graph) if gpu == "device" else graph
        seconds = []
        for _ in range(6):
            started = time.perf_counter()
            table.choose_for(subject, width=width, gpu=gpu)
            seconds.append(time.perf_counter() - started)
        costs[f"{width} {gpu}"] = median(seconds[1:])
    return costs


class Session:
    """Measures cases into a file until the time is over."""

    def __init__(self, file: Path, hardware: Hardware, seconds: float, started: float):
        self.file, self.hardware, self.end = file, hardware, started + seconds
        text = file.read_text() if file.is_file() else ""
        self.measured = [Measured.from_json(json.loads(line)) for line in text.splitlines()]
        self.pace = _PACE
        self.wrong: list[str] = []

    def take(self, cases: Iterable[Case], table: Table | None = None) -> Iterator[Measured]:
        """Yield each case as it is measured, and keep it; with a table, what choosing costs is measured, too."""
        known = {json.dumps(asdict(one.case), sort_keys=True) for one in self.measured}
        for case in cases:
            left = self.end - time.perf_counter()
            if (
                json.dumps(asdict(case), sort_keys=True) in known
                or 1 + self.pace * max(case.m - SIZES[-2], 0) > left
            ):
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
                out.write(json.dumps(one.to_json()) + "\n")
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
"""Graphs that make a candidate compile all that it needs: both widths of keys, every dtype, crowded keys."""


def warm_up(hardware: Hardware) -> None:
    """Compile what the candidates need; where there are cores to spare, in processes that fill the cache first."""
    began = time.perf_counter()
    candidates = hardware.candidates(True)
    if hardware.cores >= 4:
        # Of each algorithm the narrowest: they compile the same.
        apart = {(c.algorithm, c.slug, c.gpu): str(c) for c in reversed(candidates)}
        jobs = [(name, at) for at in range(len(WARMING)) for name in apart.values()]
        try:
            with ProcessPoolExecutor(hardware.cores, mp_context=get_context("spawn")) as pool:
                list(pool.map(_warmed, *zip(*jobs)))
        except BrokenExecutor as error:
            print(f"a process that compiles ended: {error}; the rest is compiled here", flush=True)
        print(f"compiled after {time.perf_counter() - began:.0f} s", flush=True)
    for at in range(len(WARMING)):
        for candidate in candidates:
            seconds = _warmed(str(candidate), at)
            if seconds > 1:
                print(f"  {candidate}, {WARMING[at][0]}: {seconds:.1f} s", flush=True)
    print(f"warm after {time.perf_counter() - began:.0f} s", flush=True)


def _warmed(name: str, at: int) -> float:
    """Return the seconds that a candidate's first two calls on a graph of `WARMING` take."""
    weights, generator, parameters = WARMING[at]
    graph = weigh(generate(generator, **parameters), weights, 1)
    traits_of(graph)
    caller = Caller(graph, [Candidate.parse(name)])
    start = time.perf_counter()
    try:
        for _ in range(2):
            if name in caller.ways:
                caller(name)
        caller.close()
    except (MSTError, RuntimeError) as error:
        print(f"  {name}: {error}", flush=True)
    return time.perf_counter() - start


def write_table(file: Path, data: Mapping[str, Any]) -> None:
    """Write a table, a cell a line, so that a difference between two can be read."""
    head = "".join(f" {json.dumps(key)}: {json.dumps(data[key])},\n" for key in data if key != "cells")
    lines = ",\n".join(f"  {json.dumps(cell)}" for cell in data["cells"])
    file.write_text(f'{{\n{head} "cells": [\n{lines}\n ]\n}}\n')


def gpu_here() -> bool:
    """Whether CuPy finds a GPU."""
    try:
        import cupy

        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:  # not installed, no driver, no device: CuPy has an error for each
        return False


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write, and check; return 1 if two candidates disagree on a forest."""
    started = time.perf_counter()
    parser = argparse.ArgumentParser(prog="mst.bench.advise", description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="cases.jsonl, advice.json, checks.jsonl")
    parser.add_argument("--within", type=float, default=0, metavar="SECONDS", help="measure for so long")
    parser.add_argument("--check", type=float, default=0, metavar="SECONDS", help="check for so long")
    parser.add_argument("--table", type=Path, help="check this table, not the folder's")
    parser.add_argument("--most", type=int, default=LARGEST, help="largest number of edges")
    parser.add_argument("--cores", type=int, default=usable_cores())
    chosen = parser.parse_args(arguments)
    chosen.folder.mkdir(parents=True, exist_ok=True)
    hardware = Hardware(chosen.cores, gpu_here())
    own = chosen.folder / "advice.json"
    here = in_words(hardware)
    machine = json.loads(own.read_text())["machine"] if own.is_file() else here
    print(machine, flush=True)
    if chosen.within or chosen.check:
        if machine != here:
            parser.error(f"{chosen.folder} holds what was measured on another machine than {here}")
        warm_up(hardware)
    wrong: list[str] = []
    if chosen.table is None:
        session = Session(chosen.folder / "cases.jsonl", hardware, chosen.within, started)
        for _ in session.take(training(chosen.most)):
            write_table(own, made_of(session.measured, machine))
        write_table(own, made_of(session.measured, machine))
        wrong += session.wrong
    data = json.loads((chosen.table or own).read_text())
    checks = Session(chosen.folder / "checks.jsonl", hardware, chosen.check, time.perf_counter())
    table = Table(data)
    for _ in checks.take(unseen(chosen.most), table):
        pass
    wrong += checks.wrong
    if checks.measured:
        measured_with = Hardware.of(checks.measured)
        verdicts = judge(table, checks.measured, measured_with)
        text = report(verdicts, measured_with)
        (chosen.folder / "check.txt").write_text(text + "\n")
        print(text)
        if chosen.table is None:
            write_table(own, {**data, "checked": dict(good=good(verdicts), cases=len(verdicts))})
    return int(bool(wrong))


def in_words(hardware: Hardware) -> str:
    """Return what the table calls this machine."""
    machine = this_machine()
    gpu = f", {machine.gpus[0]}" if hardware.gpu and machine.gpus else ""
    return f"{machine.cpu}, {hardware.cores} cores{gpu}"


def made_of(measured: Sequence[Measured], machine: str) -> dict[str, Any]:
    """Return the table that cases make."""
    return dict(machine=machine, cells=cells(measured, Hardware.of(measured)))


if __name__ == "__main__":
    sys.exit(main())
