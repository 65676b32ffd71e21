"""The answer on the first screen: the fastest algorithm for each kind of hardware and of graph, and by how much.

Every figure compares two exact, proved algorithms on the same graphs of the same machine, each at its best width. Two
ranges stand beside a geometric mean: its 95 % interval shows how well these graphs were measured, and the smallest and
largest ratio of a graph show how much graphs differ.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mst.bench.statistics import geometric_mean
from mst.reporting.data import by_machine
from mst.reporting.hardware import (
    HARDWARE,
    Hardware,
    Row,
    approximate,
    fastest_by,
    fastest_of_each,
    is_library,
    named,
    on_gpu,
    seconds_of,
)
from mst.units import counted

if TYPE_CHECKING:
    import pandas as pd

NORMAL_95 = 1.96
FEWEST_PROCESSES = 3
"""Runs of fewer processes have no interval."""

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
    """How many times as long another algorithm took: a geometric mean over graphs.

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
        The algorithms compared with, and on how many graphs.
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
    rows: pd.DataFrame, hardware: Hardware, baseline: str, graphs: Collection[str] | None = None
) -> list[Finding]:
    """Return the fastest for each machine on which such hardware was measured, from prepared rows."""
    usable = rows[rows["shown"] & ~rows["algorithm"].isin(approximate())]
    everywhere = usable[["machine", "graph", "algorithm", "paradigm", "width"]].to_dict("records")
    most = max(map(len, _finished(filter(hardware.uses, everywhere)).values()), default=0)
    if graphs is not None:
        usable = usable[usable["graph"].isin(graphs)]
    # An experiment without our algorithm does not leave it out.
    expected = hardware.ours if (rows["algorithm"] == hardware.ours).any() else None
    found = []
    for _, own in by_machine(usable):
        records = own.to_dict("records")
        here = [row for row in records if hardware.uses(row)]
        if not any(row["paradigm"] in hardware.paradigms for row in here):
            continue
        if hardware.id == "cores":
            # A graph on which nothing used several cores is no comparison of them.
            wide = {row["graph"] for row in here if row["width"] > 1}
            here = [row for row in here if row["graph"] in wide]
        here = _well_covered(here, records, most, {hardware.ours, baseline})
        if here:
            found.append(_finding(hardware, here, records, baseline, expected))
    return found


def _finished(rows: Iterable[Row]) -> dict[tuple[str, str], set[str]]:
    """Return the algorithms that finished, by machine and graph."""
    finished: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        finished.setdefault((row["machine"], row["graph"]), set()).add(row["algorithm"])
    return finished


def _well_covered(here: Sequence[Row], everything: Sequence[Row], most: int, enough: set[str]) -> list[Row]:
    """Return the rows of graphs on which half of `most` algorithms finished, or all of `enough` and a library.

    The fastest of the few algorithms that an experiment on other graphs needed says little.
    """
    finished, all_finished = _finished(here), _finished(everything)
    with_library = {(row["machine"], row["graph"]) for row in everything if is_library(row)}
    compared = {place for place in with_library if enough <= all_finished[place]}
    covered = {place for place, names in finished.items() if 2 * len(names) >= most} | compared
    return [row for row in here if (row["machine"], row["graph"]) in covered]


def _finding(
    hardware: Hardware, here: Sequence[Row], everything: Sequence[Row], baseline: str, expected: str | None
) -> Finding:
    best = fastest_by(here, lambda row: (named(row), row["graph"]))
    fastest = fastest_of_each(best.values())
    winner, *others = _ranked(best, fastest)
    mine = {graph: row for (name, graph), row in best.items() if name == winner}
    libraries = [row for row in everything if is_library(row) and named(row) != winner]
    same = [row for row in libraries if hardware.uses(row)]
    hosts = [row for row in libraries if not on_gpu(row)]
    base = [
        r for r in everything if r["algorithm"] == baseline and r["options"] == "default" and r["width"] == 1
    ]
    following = {graph: row for (name, graph), row in best.items() if others and name == others[0]}
    return Finding(
        machine=str(here[0]["machine"]),
        hardware=hardware.id,
        algorithm=winner,
        widths=_widths(mine.values()),
        is_library=is_library(next(iter(mine.values()))),
        wins=sum(named(row) == winner for row in fastest.values()),
        graphs=len(fastest),
        over_baseline=None if winner == baseline else _gain(mine, fastest_of_each(base)),
        over_library=_gain(mine, fastest_of_each(same or hosts)),
        over_next=_gain(mine, following),
        left_out=None if expected in {row["algorithm"] for row in here} else expected,
    )


def _ranked(best: Mapping[tuple[str, str], Row], fastest: Mapping[str, Row]) -> list[str]:
    """Return algorithms, fastest first; last those that finished on at most half as many graphs as any other."""
    relative: dict[str, list[float]] = {}
    for (name, graph), row in best.items():
        relative.setdefault(name, []).append(seconds_of(row) / seconds_of(fastest[graph]))
    most = max(map(len, relative.values()), default=0)

    def key(name: str) -> tuple[int, float, int, str]:
        finished = len(relative[name])
        return -finished if 2 * finished <= most else -most, geometric_mean(relative[name]), -finished, name

    return sorted(relative, key=key)


def _gain(mine: Mapping[str, Row], other: Mapping[str, Row]) -> Gain | None:
    common = sorted(set(mine) & set(other))
    if not common:
        return None
    ratios = [seconds_of(other[g]) / seconds_of(mine[g]) for g in common]
    errors = [_error(row) for g in common for row in (mine[g], other[g])]
    mean = geometric_mean(ratios)
    error = math.sqrt(sum(e * e for e in errors)) / len(common)
    # NaN where any run has no interval.
    low, high = (None if math.isnan(error) else mean * math.exp(z * error) for z in (-NORMAL_95, NORMAL_95))
    names = Counter(named(other[g]) for g in common).most_common()
    return Gain(mean, low, high, min(ratios), max(ratios), len(common), tuple(names))


def _error(row: Row) -> float:
    """Return the standard error of the logarithm of a median, from its interval; NaN where there is none."""
    if not row["processes"] >= FEWEST_PROCESSES or not row["compute_low"] > 0:
        return math.nan
    return math.log(row["compute_high"] / row["compute_low"]) / (2 * NORMAL_95)


def _widths(rows: Iterable[Row]) -> str:
    (least, paradigm), *more = sorted({(int(row["width"]), row["paradigm"]) for row in rows})
    if paradigm not in ("threads", "mpi"):
        return ""
    unit = "rank" if paradigm == "mpi" else "thread"
    return f"{least} to {more[-1][0]} {unit}s, the best of each graph" if more else counted(least, unit)


def missing(rows: pd.DataFrame, hardware: Hardware) -> str:
    """Return why a kind of hardware has no finding: the commonest reason of its planned runs."""
    of_it = rows[rows["paradigm"].isin(hardware.paradigms)]
    # A missing graph says nothing of the hardware.
    planned = of_it[of_it["status"] != "unavailable"]
    if len(of_it) and planned.empty:
        return "none of its graphs is available"
    reasons = Counter(str(reason) for reason in planned["reason"].dropna())
    if reasons:
        return reasons.most_common(1)[0][0]
    if hardware.id == "cores" and len(planned):
        return "nothing was run at more than one thread"
    return "no such run was planned"


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
    gpus = Counter(facts.get("gpus") or [])
    if hardware.id == "gpu" and gpus:
        return ", ".join(f"{number} × {gpu}" if number > 1 else gpu for gpu, number in gpus.items())
    cpu = re.sub(r"\((R|TM)\)| CPU| Processor|@.*", "", facts["cpu"]).strip()
    return f"{cpu}, {facts['cores']} cores"


@dataclass(frozen=True)
class Kind:
    """Findings on one kind of graph, for each of `HARDWARE`; none where no such graph was measured."""

    name: str
    meaning: str
    graphs: tuple[str, ...]
    found: tuple[list[Finding], ...]


def by_kind(rows: pd.DataFrame, baseline: str, largest: Mapping[str, int | None]) -> list[Kind]:
    """Return the findings on each kind of graph; `largest` has the largest degree of each graph, where known."""
    kinds: dict[str, list[str]] = {}
    for row in rows[rows["shown"]].drop_duplicates("graph").to_dict("records"):
        kinds.setdefault(kind_of(row["n"], row["m"], largest.get(row["graph"])), []).append(row["graph"])
    return [
        Kind(name, meaning, graphs, tuple(findings(rows, hardware, baseline, graphs) for hardware in HARDWARE))
        for name, meaning in KINDS
        for graphs in [tuple(kinds.get(name, ()))]
    ]


@dataclass(frozen=True)
class Answer:
    """The answer of one set of measurements: those made here, or those of reference machines."""

    title: str
    cards: list[Card]
    kinds: list[Kind]


def groups(
    rows: pd.DataFrame,
    baseline: str,
    largest: Mapping[str, int | None],
    machines: Mapping[str, Mapping[str, Any]],
) -> list[Answer]:
    """Return the answer of the measurements made here, then that of reference machines if there are any."""
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
    """Return the findings that compare something, on at least half as many graphs as any of them.

    Where our algorithm ran on one of these machines, those on which it did not run are left out.
    """
    compared = [f for f in found if f.over_baseline or f.over_library] or list(found)
    most = max((f.graphs for f in compared), default=0)
    enough = [f for f in compared if 2 * f.graphs >= most]
    return [f for f in enough if f.left_out is None] or enough


def headline(answers: Sequence[Answer], baseline: str) -> str:
    """Return the answer in one sentence: the first finding."""
    card = next((card for answer in answers for card in answer.cards if card.finding), None)
    if card is None or card.finding is None:
        return "Nothing has been measured and proved yet."
    found = card.finding
    where = f"With {card.hardware.lower()}" if card.hardware == "Many cores" else f"On {card.hardware.lower()}"
    graphs = f"{found.wins} of {found.graphs} graphs" if found.graphs > 1 else "the one graph measured"
    sentence = f"{where} of {found.machine}, {found.algorithm} is fastest on {graphs}"
    library = "the best other library" if found.is_library else "the best library"
    compared = [(found.over_baseline, baseline), (found.over_library, library)]
    gains = " and ".join(f"{gain.mean:.1f}× as fast as {name}" for gain, name in compared if gain)
    mean = " (geometric means)" if found.graphs > 1 else ""
    return f"{sentence}: {gains}{mean}." if gains else f"{sentence}."
