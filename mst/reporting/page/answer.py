"""The answer on the first screen: the fastest algorithm for each kind of hardware and of graph, and by how much.

Every figure compares two exact, proved algorithms on the same graphs of the same machine, each at its best width. Two
ranges stand beside a geometric mean: its 95 % interval shows how well these graphs were measured, and the smallest and
largest ratio of a graph show how much graphs differ.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mst.bench.statistics import geometric_mean
from mst.reporting.data import by_machine, fastest
from mst.reporting.hardware import HARDWARE, Hardware
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
    usable = rows[rows["shown"] & rows["exact"]]
    usable = usable.assign(error=_errors(usable))
    most = usable[hardware.uses(usable)].groupby(["machine", "graph"])["algorithm"].nunique().max()
    if graphs is not None:
        usable = usable[usable["graph"].isin(graphs)]
    # An experiment without our algorithm does not leave it out.
    expected = hardware.ours if (rows["algorithm"] == hardware.ours).any() else None
    found = []
    for _, own in by_machine(usable):
        here = own[hardware.uses(own)]
        if not here["paradigm"].isin(hardware.paradigms).any():
            continue
        if hardware.id == "cores":
            # A graph on which nothing used several cores is no comparison of them.
            here = here[here["graph"].isin(here.loc[here["width"] > 1, "graph"])]
        here = _well_covered(here, own, most, {hardware.ours, baseline})
        if len(here):
            found.append(_finding(hardware, here, own, baseline, expected))
    return found


def _errors(rows: pd.DataFrame) -> pd.Series:
    """Return the standard errors of the logarithms of medians, from their intervals; NaN where there is none."""
    known = (rows["processes"] >= FEWEST_PROCESSES) & (rows["compute_low"] > 0)
    return np.log(rows["compute_high"] / rows["compute_low"]).where(known) / (2 * NORMAL_95)


def _well_covered(here: pd.DataFrame, own: pd.DataFrame, most: int, enough: set[str]) -> pd.DataFrame:
    """Return the rows of graphs on which half of `most` algorithms finished, or all of `enough` and a library.

    The fastest of the few algorithms that an experiment on other graphs needed says little.
    """
    finished = own.groupby("graph")["algorithm"].agg(set)
    with_library = own.loc[own["library"], "graph"].unique()
    compared = [graph for graph in with_library if enough <= finished[graph]]
    covered = 2 * here.groupby("graph")["algorithm"].transform("nunique") >= most
    return here[covered | here["graph"].isin(compared)]


def _finding(
    hardware: Hardware, here: pd.DataFrame, own: pd.DataFrame, baseline: str, expected: str | None
) -> Finding:
    best = fastest(here, "name", "graph")
    first = fastest(best, "graph")
    winner, *others = _ranked(best, first)
    mine = best[best["name"] == winner]
    libraries = own[own["library"] & (own["name"] != winner)]
    same = libraries[hardware.uses(libraries)]
    base = own[(own["algorithm"] == baseline) & (own["options"] == "default") & (own["width"] == 1)]
    return Finding(
        machine=str(here["machine"].iloc[0]),
        hardware=hardware.id,
        algorithm=winner,
        widths=_widths(mine),
        is_library=bool(mine["library"].iloc[0]),
        wins=int((first["name"] == winner).sum()),
        graphs=len(first),
        over_baseline=None if winner == baseline else _gain(mine, base),
        over_library=_gain(mine, same if len(same) else libraries[~libraries["on_gpu"]]),
        over_next=_gain(mine, best[best["name"].isin(others[:1])]),
        left_out=None if expected in set(here["algorithm"]) else expected,
    )


def _ranked(best: pd.DataFrame, first: pd.DataFrame) -> list[str]:
    """Return algorithms, fastest first; last those that finished on at most half as many graphs as any other."""
    relative = best["compute_seconds"] / best["graph"].map(first.set_index("graph")["compute_seconds"])
    means = relative.groupby(best["name"]).agg(geometric_mean)
    finished = best["name"].value_counts()
    most = finished.max()

    def key(name: str) -> tuple[int, float, int, str]:
        count = finished[name]
        return -count if 2 * count <= most else -most, means[name], -count, name

    return sorted(means.index, key=key)


def _gain(mine: pd.DataFrame, other: pd.DataFrame) -> Gain | None:
    both = mine.merge(fastest(other, "graph"), on="graph", suffixes=("", "_other")).sort_values("graph")
    if both.empty:
        return None
    ratios = both["compute_seconds_other"] / both["compute_seconds"]
    mean = geometric_mean(ratios)
    # NaN where any run has no interval.
    error = np.linalg.norm(both[["error", "error_other"]]) / len(both)
    low, high = (None if math.isnan(error) else mean * math.exp(z * error) for z in (-NORMAL_95, NORMAL_95))
    names = Counter(both["name_other"]).most_common()
    return Gain(mean, low, high, ratios.min(), ratios.max(), len(both), tuple(names))


def _widths(rows: pd.DataFrame) -> str:
    (least, paradigm), *more = sorted(set(zip(rows["width"].astype(int), rows["paradigm"])))
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
    known = rows[rows["shown"]].drop_duplicates("graph")
    kinds = [kind_of(row.n, row.m, largest.get(row.graph)) for row in known.itertuples()]
    graphs = {name: tuple(known["graph"][[kind == name for kind in kinds]]) for name, _ in KINDS}
    return [
        Kind(name, meaning, graphs[name], tuple(findings(rows, h, baseline, graphs[name]) for h in HARDWARE))
        for name, meaning in KINDS
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
