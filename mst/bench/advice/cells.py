"""The cells of the table of advice, from times of candidates, and the regret of its choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from typing import Any

from mst import registry
from mst.advice import HOPELESS, Candidate, Table, kind_of
from mst.advice.traits import Traits
from mst.bench.advice.cases import Case
from mst.bench.statistics import geometric_mean

ON_ONE_CORE = ("kruskal", "filter-boruvka", "filter-boruvka[filter=false]", "prim-dense")
ON_CORES = ("filter-boruvka-threads",)
ON_CORES_IF_LOCAL = ("parlay-boruvka",)
"""Where weights are local, edges of nearly equal weight are close together, and rounds may be faster than batches."""
FROM_HOST = ("filter-boruvka-cuda[start=edges]", "edge-boruvka-cuda")
ON_DEVICE = ("filter-boruvka-cuda[start=edges]", "filter-boruvka-cuda", "edge-boruvka-cuda")
WITHIN = 1.2
SAME = 1.08
"""Kinds share a cell if its choice costs none of them more than this factor."""


def widths(cores: int) -> list[int]:
    """Return the numbers of cores that the table distinguishes here: powers of two, and all."""
    return sorted({2**k for k in range(cores.bit_length()) if 2**k <= cores} | {cores})


@dataclass(frozen=True)
class UsableHardware:
    """The hardware that may be used: a number of cores, and whether there is a GPU."""

    cores: int
    gpu: bool

    def candidates(self, local: bool) -> list[Candidate]:
        """Return all candidates, with those for local weights if `local`."""
        wide = widths(self.cores)[1:]
        names = [f"{name}@1" for name in ON_ONE_CORE]
        names += [f"{name}@{width}" for name in ON_CORES for width in wide]
        names += [f"{name}@{width}" for name in ON_CORES_IF_LOCAL for width in wide[-1:] if local]
        if self.gpu:
            names += [f"{name}@gpu" for name in FROM_HOST] + [f"{name}@device" for name in ON_DEVICE]
        return [Candidate.parse(name) for name in names]

    @classmethod
    def of(cls, measured: Iterable[Measured]) -> UsableHardware:
        """Return the hardware that cases were measured on."""
        candidates = {Candidate.parse(name) for one in measured for name in one.seconds}
        return cls(max((c.width for c in candidates), default=1), any(c.gpu for c in candidates))

    def settings(self) -> list[tuple[int, str | None]]:
        """Return the parts of it that a caller may use: (cores, location of the graph if there is a GPU)."""
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

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Measured:
        return cls(**{**row, "case": Case(**row["case"]), "traits": Traits(**row["traits"])})


def promising(first: Mapping[str, float]) -> list[str]:
    """Return the candidates near the best on the same hardware; others are not called again."""
    kept = []
    for name, seconds in first.items():
        own = Candidate.parse(name)
        rivals = [first[other] for other in first if Candidate.parse(other).fits(own.width, own.gpu)]
        if seconds < HOPELESS * min(rivals, default=inf):
            kept.append(name)
    return kept


def cells(measured: Sequence[Measured], hardware: UsableHardware) -> list[dict[str, Any]]:
    """Return the table's cells: at each size and density, kinds with the same best candidates share a cell.

    A cell keeps the candidates that are near the best, those that an answer or its margin needs, and those that answer
    for another kind at the same size and density, so that the cost of mistaking the kind is known.
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
    """Return the geometric means over the graphs, of the candidates measured on all of them."""
    names = set.intersection(*(set(times) for times in graphs))
    return {name: geometric_mean(times[name] for times in graphs) for name in names}


def usable(seconds: Mapping[str, float], width: int, gpu: str | None) -> dict[str, float]:
    """Return the candidates that can run there, fastest first."""
    fitting = [name for name in seconds if Candidate.parse(name).fits(width, gpu)]
    return {name: seconds[name] for name in sorted(fitting, key=seconds.__getitem__)}


def leading(seconds: Mapping[str, float], hardware: UsableHardware) -> set[str]:
    """Return the best candidate and the best of another algorithm, for all parts of the hardware."""
    kept: set[str] = set()
    for width, gpu in hardware.settings():
        of_each: dict[str, str] = {}
        for name in usable(seconds, width, gpu):
            of_each.setdefault(Candidate.parse(name).algorithm, name)
        kept.update(list(of_each.values())[:2])
    # A GPU was tried here, even if it was slow.
    kept.update([name for name in usable(seconds, 1, "host") if Candidate.parse(name).gpu][:1])
    return kept


def alike(group: Mapping[str, Sequence[Mapping[str, float]]], hardware: UsableHardware) -> bool:
    """Whether one choice suits all kinds of a group, for all parts of the hardware."""
    means = pooled([times for graphs in group.values() for times in graphs])
    for width, gpu in hardware.settings():
        best = next(iter(usable(means, width, gpu)), None)
        for graphs in group.values():
            # Some candidates are measured for one kind alone.
            own = usable(pooled(graphs), width, gpu)
            if own and (best is None or own[best] > SAME * min(own.values())):
                return False
    return True


@dataclass(frozen=True)
class Verdict:
    """The regret of a choice: its candidate's time with the cost of choosing, over the best candidate's time."""

    measured: Measured
    width: int
    gpu: str | None
    candidate: str
    best: str
    regret: float


def judge(table: Table, measured: Sequence[Measured], hardware: UsableHardware) -> list[Verdict]:
    """Return a verdict on every case and all parts of the hardware."""
    verdicts = []
    for one in measured:
        for width, gpu in hardware.settings():
            times = usable(one.seconds, width, gpu)
            if not times:
                continue
            # As `Table.choose_for` does, which samples edges only where that pays.
            choice = table.choose_unsampled(one.n, one.m, width=width, gpu=gpu) or table.choose(
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


def report(verdicts: Sequence[Verdict], hardware: UsableHardware) -> str:
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
