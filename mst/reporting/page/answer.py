"""The answer, for the first screen: what is fastest on which hardware and kind of graph, by how much, how well founded.

Every figure compares two exact, proved algorithms on the same graphs of the same machine, each at its best width. A
geometric mean stands beside two ranges that must not be confused: its 95 % interval, which says how well these graphs
were measured, and the smallest and largest graph's ratio, which say how much graphs differ.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mst import registry
from mst.bench.statistics import geometric_mean
from mst.reporting.data import approximate, by_machine, is_library

if TYPE_CHECKING:
    import pandas as pd

NORMAL_95 = 1.96
FEWEST_PROCESSES = 3
"""Fewer have no interval worth the name."""


@dataclass(frozen=True)
class Hardware:
    """A kind of hardware, the runs that count as its use, what a missing one would have needed, and ours for it."""

    id: str
    name: str
    ours: str
    paradigms: tuple[str, ...]
    uses: Callable[[Mapping[str, Any]], bool]


def _on_gpu(row: Mapping[str, Any]) -> bool:
    needs = getattr(registry.algorithms().get(row["algorithm"]), "requires", ())
    return row["paradigm"] == "cuda" or bool({"cupy", "pylibcugraph"} & set(needs))


def _on_cores(row: Mapping[str, Any]) -> bool:
    return row["paradigm"] in ("sequential", "threads", "peer") and not _on_gpu(row)


HARDWARE = (
    Hardware(
        "core", "One core", "filter-boruvka", ("sequential",), lambda row: _on_cores(row) and row["width"] == 1
    ),
    Hardware("cores", "Many cores", "filter-boruvka-threads", ("threads",), _on_cores),
    Hardware("gpu", "GPU", "filter-boruvka-cuda", ("cuda",), _on_gpu),
    Hardware("mpi", "MPI", "filter-boruvka-mpi", ("mpi",), lambda row: row["paradigm"] == "mpi"),
)

KINDS = (
    ("small", "below 100 000 edges"),
    ("dense", "average degree of 64 or more"),
    ("hubs", "largest degree over 50 times the average, as in social networks and the web"),
    ("sparse", "average degree below 4, without hubs: roads, grids, thin random graphs"),
    ("in between", "average degree from 4 to 64, without hubs"),
)


def kind_of(n: int, m: int, maximum_degree: int | None) -> str:
    """Return which of `KINDS` a graph is; the first that fits.

    Examples
    --------
    >>> from mst.reporting.page.answer import kind_of
    >>> kind_of(264_346, 365_050, 8), kind_of(1000, 499_500, 999)
    ('sparse', 'dense')
    """
    average = 2 * m / max(n, 1)
    if m < 100_000:
        return "small"
    if average >= 64:
        return "dense"
    if maximum_degree is not None and maximum_degree > 50 * average:
        return "hubs"
    return "sparse" if average < 4 else "in between"


@dataclass(frozen=True)
class Gain:
    """How many times as long something else took: a geometric mean over graphs.

    Attributes
    ----------
    mean : float
    low, high : float or None
        95 % interval of the mean over these very graphs, from the intervals of the medians; None where fewer
        than three processes were measured.
    least, most : float
        The ratios of single graphs.
    graphs : int
    names : tuple of (str, int)
        What it was compared with, on how many graphs.
    """

    mean: float
    low: float | None
    high: float | None
    least: float
    most: float
    graphs: int
    names: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Finding:
    """The fastest of one kind of hardware on some graphs of one machine."""

    machine: str
    hardware: str
    algorithm: str
    widths: str
    is_library: bool
    wins: int
    graphs: int
    over_baseline: Gain | None
    over_library: Gain | None
    over_next: Gain | None
    left_out: str | None


def findings(
    rows: pd.DataFrame, hardware: Hardware, baseline: str, graphs: Iterable[str] | None = None
) -> list[Finding]:
    """Return the fastest for each machine that measured such hardware, from prepared rows."""
    usable = rows[rows["shown"] & ~rows["algorithm"].isin(approximate())]
    told = usable[["machine", "graph", "algorithm", "paradigm", "width"]].to_dict("records")
    most = max(map(len, _finished(filter(hardware.uses, told)).values()), default=0)
    if graphs is not None:
        usable = usable[usable["graph"].isin(set(graphs))]
    # An experiment without ours leaves nothing out.
    expected = hardware.ours if (rows["algorithm"] == hardware.ours).any() else None
    found = []
    for machine, own in by_machine(usable):
        records = own.to_dict("records")
        here = [row for row in records if hardware.uses(row)]
        if not any(row["paradigm"] in hardware.paradigms for row in here):
            continue
        if hardware.id == "cores":
            # Where nothing ran on many cores, one core says nothing of them.
            wide = {row["graph"] for row in here if row["width"] > 1}
            here = [row for row in here if row["graph"] in wide]
            if not here:
                continue
        here = _well_covered(here, records, most, {hardware.ours, baseline})
        if not here:
            continue
        found.append(_finding(str(machine), hardware, here, records, baseline, expected))
    return found


def _finished(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], set[str]]:
    """Return which algorithms finished, by machine and graph."""
    finished: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        finished.setdefault((row["machine"], row["graph"]), set()).add(row["algorithm"])
    return finished


def _well_covered(
    here: Sequence[Mapping[str, Any]], everything: Sequence[Mapping[str, Any]], most: int, enough: set[str]
) -> list[Mapping[str, Any]]:
    """Return the rows of graphs on which half of `most` algorithms finished, or all that is `enough` and a library.

    Who is fastest of the few that an experiment on other graphs needed says little.
    """
    finished, all_finished = _finished(here), _finished(everything)
    with_library = {(row["machine"], row["graph"]) for row in everything if is_library(row)}
    compared = {place for place in with_library if enough <= all_finished[place]}
    covered = {place for place, names in finished.items() if 2 * len(names) >= most} | compared
    return [row for row in here if (row["machine"], row["graph"]) in covered]


def _finding(
    machine: str, hardware: Hardware, here: list, everything: list, baseline: str, expected: str | None
) -> Finding:
    best = _best_widths(here)
    graphs = sorted({graph for _, graph in best})
    ranked = _ranked(best, graphs)
    winner = ranked[0]
    mine = {graph: best[winner, graph] for graph in graphs if (winner, graph) in best}
    fastest = {graph: min((r for (_, g), r in best.items() if g == graph), key=_time) for graph in graphs}
    libraries = [row for row in everything if is_library(row) and _name(row) != winner]
    same = [row for row in libraries if hardware.uses(row)]
    hosts = [row for row in libraries if not _on_gpu(row)]
    base = [
        r for r in everything if r["algorithm"] == baseline and r["options"] == "default" and r["width"] == 1
    ]
    return Finding(
        machine=machine,
        hardware=hardware.id,
        algorithm=winner,
        widths=_widths(mine.values()),
        is_library=is_library(next(iter(mine.values()))),
        wins=sum(_name(row) == winner for row in fastest.values()),
        graphs=len(graphs),
        over_baseline=None if winner == baseline else _gain(mine, fastest_of_each(base)),
        over_library=_gain(mine, fastest_of_each(same or hosts)),
        over_next=_gain(mine, {g: best[ranked[1], g] for g in graphs if (ranked[1], g) in best})
        if ranked[1:]
        else None,
        left_out=None if expected in {row["algorithm"] for row in here} else expected,
    )


def _name(row: Mapping[str, Any]) -> str:
    return row["algorithm"] + ("" if row["options"] == "default" else f" [{row['options']}]")


def _time(row: Mapping[str, Any]) -> float:
    return row["compute_seconds"]


def _best_widths(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return the fastest run of each algorithm (with its options) on each graph."""
    best: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in rows:
        key = (_name(row), row["graph"])
        if key not in best or _time(row) < _time(best[key]):
            best[key] = row
    return best


def _ranked(best: Mapping[tuple[str, str], Mapping[str, Any]], graphs: Sequence[str]) -> list[str]:
    """Return algorithms, fastest first; those that finished on no more than half as many graphs as others come last."""
    least = {g: min(_time(row) for (_, graph), row in best.items() if graph == g) for g in graphs}
    relative: dict[str, list[float]] = {}
    for (name, graph), row in best.items():
        relative.setdefault(name, []).append(_time(row) / least[graph])
    most = max(map(len, relative.values()), default=0)

    def key(name: str) -> tuple:
        finished = len(relative[name])
        return (-finished if 2 * finished <= most else -most, geometric_mean(relative[name]), -finished, name)

    return sorted(relative, key=key)


def fastest_of_each(rows: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the fastest run on each graph."""
    best: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["graph"] not in best or _time(row) < _time(best[row["graph"]]):
            best[row["graph"]] = row
    return best


def _gain(mine: Mapping[str, Mapping[str, Any]], other: Mapping[str, Mapping[str, Any]]) -> Gain | None:
    common = sorted(set(mine) & set(other))
    if not common:
        return None
    ratios = [_time(other[g]) / _time(mine[g]) for g in common]
    deviations = [_deviation(row) for g in common for row in (mine[g], other[g])]
    mean = geometric_mean(ratios)
    low = high = None
    if all(d is not None for d in deviations):
        error = math.sqrt(sum(d * d for d in deviations if d is not None)) / len(common)
        low, high = mean * math.exp(-NORMAL_95 * error), mean * math.exp(NORMAL_95 * error)
    names = Counter(_name(other[g]) for g in common).most_common()
    return Gain(mean, low, high, min(ratios), max(ratios), len(common), tuple(names))


def _deviation(row: Mapping[str, Any]) -> float | None:
    """Return the standard error of the logarithm of a median, as its interval tells; None where it tells nothing."""
    if not row["processes"] >= FEWEST_PROCESSES or not row["compute_low"] > 0:
        return None
    return math.log(row["compute_high"] / row["compute_low"]) / (2 * NORMAL_95)


def _widths(rows: Iterable[Mapping[str, Any]]) -> str:
    used = sorted({(int(row["width"]), row["paradigm"]) for row in rows})
    paradigm = used[0][1]
    if paradigm not in ("threads", "mpi"):
        return ""
    unit = "rank" if paradigm == "mpi" else "thread"
    if len(used) > 1:
        return f"{used[0][0]} to {used[-1][0]} {unit}s, the best of each graph"
    return f"{used[0][0]} {unit}{'s' if used[0][0] > 1 else ''}"


def missing(rows: pd.DataFrame, hardware: Hardware) -> str:
    """Return why a kind of hardware has no finding: the commonest reason of its planned runs."""
    asked = rows[rows["paradigm"].isin(hardware.paradigms)]
    # That a graph is missing says nothing of the hardware.
    planned = asked[asked["status"] != "unavailable"]
    if len(asked) and planned.empty:
        return "none of its graphs is to be had"
    reasons = Counter(str(reason) for reason in planned["reason"].dropna())
    if reasons:
        return reasons.most_common(1)[0][0]
    if hardware.id == "cores" and len(planned):
        return "nothing was run at more than one thread"
    return "no such run was asked for"


@dataclass(frozen=True)
class Card:
    """One tile of the first screen: a finding, or the reason why there is none."""

    hardware: str
    finding: Finding | None
    reason: str = ""
    machine: str = ""


def cards(rows: pd.DataFrame, baseline: str, machines: Mapping[str, Mapping[str, Any]]) -> list[Card]:
    """Return a card for every machine and kind of hardware, in the order of `HARDWARE`."""
    made = []
    for hardware in HARDWARE:
        found = findings(rows, hardware, baseline)
        made += [Card(hardware.name, f, machine=_in_words(machines.get(f.machine), hardware)) for f in found]
        if not found:
            made.append(Card(hardware.name, None, missing(rows, hardware)))
    return made


def _in_words(facts: Mapping[str, Any] | None, hardware: Hardware) -> str:
    if not facts:
        return ""
    gpus = facts.get("gpus") or []
    if hardware.id == "gpu" and gpus:
        return ", ".join(f"{number} × {gpu}" if number > 1 else gpu for gpu, number in Counter(gpus).items())
    cpu = re.sub(r"\((R|TM)\)| CPU| Processor|@.*", "", facts["cpu"]).strip()
    return f"{cpu}, {facts['cores']} cores"


@dataclass(frozen=True)
class Kind:
    """What was found on one kind of graph, for each of `HARDWARE`; nothing where no such graph was measured."""

    name: str
    meaning: str
    graphs: tuple[str, ...]
    found: tuple[list[Finding], ...]


def by_kind(rows: pd.DataFrame, baseline: str, largest: Mapping[str, int | None]) -> list[Kind]:
    """Return the findings on each kind of graph.

    Parameters
    ----------
    rows : DataFrame
        Prepared rows.
    baseline : str
    largest : mapping of str to int
        Largest degree of each graph, where it is known.
    """
    shown = rows[rows["shown"]].drop_duplicates("graph")
    kinds: dict[str, list[str]] = {}
    for row in shown.to_dict("records"):
        kinds.setdefault(kind_of(row["n"], row["m"], largest.get(row["graph"])), []).append(row["graph"])
    made = []
    for name, meaning in KINDS:
        graphs = tuple(kinds.get(name, ()))
        found = tuple(findings(rows, hardware, baseline, graphs) for hardware in HARDWARE)
        made.append(Kind(name, meaning, graphs, found))
    return made


@dataclass(frozen=True)
class Answer:
    """What one set of measurements says: this machine's and merged ones, or those that came with the code."""

    title: str
    cards: list[Card]
    kinds: list[Kind]


def groups(
    rows: pd.DataFrame,
    baseline: str,
    largest: Mapping[str, int | None],
    machines: Mapping[str, Mapping[str, Any]],
) -> list[Answer]:
    """Return the answer of what was measured here, then, apart, of reference measurements if there are any."""
    reference = rows["origin"] == "reference"
    own, others = rows[~reference], rows[reference]
    here = Answer("Measured here", cards(own, baseline, machines), by_kind(own, baseline, largest))
    if not others["shown"].any():
        return [here]
    found = [card for card in cards(others, baseline, machines) if card.finding]
    kept: list[Finding] = []
    for hardware in HARDWARE:
        kept += _weighty([c.finding for c in found if c.finding and c.hardware == hardware.name])
    kinds = [
        replace(kind, found=tuple(_weighty(here) for here in kind.found))
        for kind in by_kind(others, baseline, largest)
    ]
    title = "Reference measurements, made elsewhere"
    return [here, Answer(title, [card for card in found if card.finding in kept], kinds)]


def _weighty(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings on machines that compared something, on at least half as many graphs as any of them.

    Where ours ran on one of these, one that it did not run on does not tell what is fastest.
    """
    compared = [f for f in found if f.over_baseline or f.over_library] or list(found)
    most = max((f.graphs for f in compared), default=0)
    enough = [f for f in compared if 2 * f.graphs >= most]
    return [f for f in enough if f.left_out is None] or enough


def _library(found: Finding) -> str:
    return "the best other library" if found.is_library else "the best library"


def headline(answers: Sequence[Answer], baseline: str) -> str:
    """Return the answer in one sentence: the first finding."""
    card = next((card for answer in answers for card in answer.cards if card.finding), None)
    if card is None or card.finding is None:
        return "Nothing has been measured and proved yet."
    found = card.finding
    where = f"With {card.hardware.lower()}" if card.hardware == "Many cores" else f"On {card.hardware.lower()}"
    graphs = f"{found.wins} of {found.graphs} graphs" if found.graphs > 1 else "the one graph measured"
    sentence = f"{where} of {found.machine}, {found.algorithm} is fastest on {graphs}"
    gains = [(found.over_baseline, baseline), (found.over_library, _library(found))]
    told = [f"{gain.mean:.1f}× as fast as {name}" for gain, name in gains if gain]
    mean = " (geometric means)" if found.graphs > 1 else ""
    return sentence + (f": {' and '.join(told)}{mean}." if told else ".")
