"""The fastest algorithm for each kind of hardware, by how much, and how sure that is.

Every figure compares two exact, proved algorithms on the same graphs of the same machine, each at its best width. An
algorithm is named fastest only if none was faster on the graphs that both ran on, and only if the algorithm that this
package recommends for the hardware was among those compared. A mean has its 95 % interval, which shows how well these
graphs were measured, and a ratio for each graph, which show how much graphs differ.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mst.bench.statistics import NORMAL_95, geometric_mean
from mst.reporting.data import by_machine, fastest, mean_interval, standard_errors
from mst.reporting.hardware import HARDWARE_KINDS, HardwareKind
from mst.reporting.page.facts import gpus_in_words
from mst.units import counted


@dataclass(frozen=True)
class Gain:
    """The factor by which another algorithm took longer: a geometric mean over graphs, with its 95 % interval.

    The interval is of the mean over these very graphs, from the intervals of the medians; there is none where fewer
    than three processes were measured, and then the mean is not in the headline. `ratios` has the graphs and their
    ratios, the smallest first, `names` the algorithms compared with, and on how many graphs.
    """

    mean: float
    low: float | None
    high: float | None
    ratios: tuple[tuple[str, float], ...]
    names: tuple[tuple[str, int], ...]

    @property
    def lost(self) -> bool:
        """Whether the other algorithm was faster, by figures that are shown."""
        return self.low is not None and self.mean < 1

    def place(self, ratio: float) -> float:
        """Return where a ratio is on a logarithmic axis of these ratios and 1 that is 200 units wide."""
        logs = [0.0, *(math.log(each) for _, each in self.ratios)]
        low, high = min(logs) - 0.1, max(logs) + 0.1
        return round(4 + 192 * (math.log(ratio) - low) / (high - low), 1)


class Badge(NamedTuple):
    """The origin of figures: the numbers of records compared and of disturbed ones, their dates and commits."""

    records: int
    disturbed: int
    dates: str
    commits: tuple[str, ...]


@dataclass(frozen=True)
class Finding:
    """The fastest of one kind of hardware on one machine; `algorithm` is empty where none is, and `reason` says why.

    `firsts` says on how many graphs each algorithm was fastest, `library` with which kind of libraries `over_library`
    compares, `call` how many times as long as *compute* whole calls take, where those were measured (else NaN).
    """

    machine: str
    reference: bool
    hardware: str
    algorithm: str
    widths: str
    is_library: bool
    firsts: tuple[tuple[str, int], ...]
    graphs: int
    over_baseline: Gain | None
    over_library: Gain | None
    library: str
    badge: Badge
    call: float
    reason: str = ""

    @property
    def gains(self) -> int:
        """On how many graphs this is compared with others."""
        return max((len(gain.ratios) for gain in (self.over_baseline, self.over_library) if gain), default=0)

    @property
    def lost(self) -> bool:
        """Whether an algorithm that this is compared with was faster."""
        return any(gain.lost for gain in (self.over_baseline, self.over_library) if gain)


def findings(rows: pd.DataFrame, hardware: HardwareKind, baseline: str) -> list[Finding]:
    """Return the fastest for each machine on which such hardware was measured, from prepared rows."""
    usable = rows[rows["shown"] & rows["exact"]]
    usable = usable.assign(error=standard_errors(usable))
    # An experiment without our algorithm does not leave it out.
    expected = hardware.ours if (rows["algorithm"] == hardware.ours).any() else None
    found = []
    for _, own in by_machine(usable):
        here = hardware.of(own)
        if here["paradigm"].isin(hardware.paradigms).any():
            found.append(_finding(hardware, here, own, baseline, expected))
    return found


def _finding(
    hardware: HardwareKind, rows: pd.DataFrame, machine: pd.DataFrame, baseline: str, expected: str | None
) -> Finding:
    """Return the finding of the rows that use the hardware, among all rows of the machine."""
    # Graphs that ours was not run on name no other: ours might be the fastest there.
    with_ours = rows["graph"].isin(rows.loc[rows["algorithm"] == expected, "graph"])
    best = fastest(rows[with_ours] if with_ours.any() else rows, "name", "graph")
    winner = unbeaten(best)
    reason = "" if winner else "no algorithm was fastest wherever it ran"
    base, libraries = rivals(machine, winner, hardware.id == "gpu", baseline)
    if len({*best["name"], *base["name"], *libraries["name"]}) < 2:
        winner, reason = "", f"only {winner} was run there, so nothing is compared"
    if expected and not with_ours.any():
        winner, reason = "", f"{expected} was not run there, so no algorithm is named"
    mine = best[best["name"] == winner]
    is_library = bool(winner and mine["library"].iloc[0])
    kind = "the best other library" if is_library else "the best library"
    if hardware.id == "gpu" and not is_library:
        no_gpu = "the best library without a GPU (no GPU library was measured)"
        kind = "the best GPU library" if libraries["on_gpu"].any() else no_gpu
    over_baseline = None if winner in ("", baseline) else _gain(mine, base)
    over_library = _gain(mine, libraries)
    # The winner may owe its place to graphs with fewer processes, or to noise.
    ahead = [name for gain, name in ((over_baseline, baseline), (over_library, kind)) if gain and gain.lost]
    if ahead and hardware.id in ("core", "cores"):  # for others, these ran elsewhere
        reason = f"{winner} is not named, since {ahead[0]} was faster where both finished three processes"
        winner, over_baseline, over_library, mine, is_library = "", None, None, mine[:0], False
    counted_graphs = best[best["graph"].isin(mine["graph"])] if winner else best
    first = fastest(counted_graphs, "graph")
    compared = [own for own, gain in ((base, over_baseline), (libraries, over_library)) if gain]
    others = [fastest(own[own["graph"].isin(mine["graph"])], "graph") for own in compared]
    return Finding(
        machine=str(rows["machine"].iloc[0]),
        reference=bool((rows["origin"] == "reference").any()),
        hardware=hardware.id,
        algorithm=winner,
        widths=_widths(mine) if winner else "",
        is_library=is_library,
        firsts=tuple(Counter(first["name"]).most_common()),
        graphs=len(first),
        over_baseline=over_baseline,
        over_library=over_library,
        library=kind,
        badge=badge_of(pd.concat([mine if winner else first, *others])),
        call=geometric_mean(mine["call_seconds"] / mine["compute_seconds"]),
        reason=reason,
    )


def rivals(rows: pd.DataFrame, name: str, on_gpu: bool, baseline: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the runs of the baseline and of other libraries, those with a GPU if `on_gpu` and there are any."""
    base = rows[(rows["algorithm"] == baseline) & (rows["options"] == "default") & (rows["width"] == 1)]
    libraries = rows[rows["library"] & (rows["name"] != name)]
    same = libraries[libraries["on_gpu"] == on_gpu]
    return base, same if len(same) else libraries[~libraries["on_gpu"]]


def unbeaten(best: pd.DataFrame) -> str:
    """Return the algorithm that no other beats on the graphs that both ran on; empty if there is none.

    It must have run on more than half as many graphs as any other. Differences within the intervals of the medians
    do not count. `best` has one row for each name and graph, with the standard ``error`` of the logarithm of its time.
    """
    logs = np.log(best.pivot(index="graph", columns="name", values="compute_seconds").astype(float))
    noise = best.pivot(index="graph", columns="name", values="error").astype(float)
    finished = logs.notna().sum()
    # The algorithm with the most graphs comes first, and of several such the fastest.
    mean = logs.sub(logs.min(axis=1), axis=0).mean()
    for name in sorted(logs, key=lambda name: (-finished[name], mean[name], name)):
        if 2 * finished[name] <= finished.max():
            break
        behind = logs.rsub(logs[name], axis=0)
        error = np.sqrt((noise**2).add(noise[name] ** 2, axis=0).where(behind.notna()).sum()) / behind.count()
        if not (behind.mean() > NORMAL_95 * error.fillna(0.0)).drop(name).any():
            return str(name)
    return ""


def badge_of(rows: pd.DataFrame) -> Badge:
    """Return the number of records, of disturbed ones, and their dates and commits."""
    days = sorted(rows["created"].dropna().str[:10].unique())
    commits = tuple(sorted(str(commit)[:10] for commit in rows["commit"].dropna().unique()))
    dates = " to ".join(dict.fromkeys((*days[:1], *days[-1:])))
    return Badge(len(rows), int(rows["disturbed"].sum()), dates, commits)


def _gain(mine: pd.DataFrame, other: pd.DataFrame) -> Gain | None:
    both = mine.merge(fastest(other, "graph"), on="graph", suffixes=("", "_other"))
    # Runs of one or two processes take part only if there are no others.
    known = both[both[["error", "error_other"]].notna().all(axis=1)]
    both = known if len(known) else both
    if both.empty:
        return None
    ratios = both["compute_seconds_other"] / both["compute_seconds"]
    mean, *interval = mean_interval(ratios, both["error"], both["error_other"])
    low, high = (None if math.isnan(end) else end for end in interval)
    pairs = sorted(zip(both["graph"].astype(str), ratios), key=lambda pair: pair[1])
    return Gain(mean, low, high, tuple(pairs), tuple(Counter(both["name_other"]).most_common()))


def _widths(rows: pd.DataFrame) -> str:
    (least, paradigm), *more = sorted(set(zip(rows["width"].astype(int), rows["paradigm"])))
    if paradigm not in ("threads", "mpi"):
        return ""
    unit = "rank" if paradigm == "mpi" else "thread"
    return f"{least} to {more[-1][0]} {unit}s, the best of each graph" if more else counted(least, unit)


def missing(rows: pd.DataFrame, hardware: HardwareKind) -> str:
    """Return why a kind of hardware has no finding: the commonest reason of its planned runs."""
    of_it = rows[rows["paradigm"].isin(hardware.paradigms)]
    planned = of_it[of_it["status"] != "unavailable"]  # a missing graph says nothing of the hardware
    if len(of_it) and planned.empty:
        return "none of its graphs is available"
    if (planned["status"].eq("ok") & ~planned["shown"]).any():
        return "no record of it is proved here"
    if reasons := Counter(str(reason) for reason in planned["reason"].dropna()):
        return reasons.most_common(1)[0][0]
    if hardware.id == "cores" and len(planned):
        return "nothing was run with more than one thread"
    return "no such run was planned"


class Card(NamedTuple):
    """One tile of the front page: a finding, or the reason why there is none."""

    hardware: str
    finding: Finding | None
    reason: str = ""
    machine: str = ""


def cards(rows: pd.DataFrame, baseline: str, machines: Mapping[str, Mapping[str, Any]]) -> list[Card]:
    """Return the cards of measurements made here, then those of reference machines, by hardware."""
    reference = rows["origin"] == "reference"
    here, made = rows[~reference], []
    for own in (here, rows[reference]):
        for hardware in HARDWARE_KINDS:
            found = findings(own, hardware, baseline)
            if own is here and not found:
                made.append(Card(hardware.name, None, missing(own, hardware)))
            most = max((f.gains for f in found), default=0)
            for f in found:
                # Findings elsewhere count that compare an algorithm on at least half as many graphs as any of them.
                if own is here or (f.algorithm and f.gains and 2 * f.gains >= most):
                    made.append(Card(hardware.name, f, machine=_in_words(machines.get(f.machine), hardware)))
    return made


def _in_words(facts: Mapping[str, Any] | None, hardware: HardwareKind) -> str:
    if not facts:
        return ""
    if hardware.id == "gpu" and (gpus := gpus_in_words(facts.get("gpus"))):
        return gpus
    cpu = re.sub(r"\((R|TM)\)| CPU| Processor|@.*", "", facts["cpu"]).strip()
    return f"{cpu}, {facts['cores']} cores"


def leading(cards: Sequence[Card]) -> Card | None:
    """Return the card of the page's headline: the first that names an algorithm, made here if there is one.

    The fastest with MPI, or on a GPU, may be slower than an algorithm on one core, so it is not a headline.
    """
    return next((c for c in cards if c.finding and c.finding.algorithm and not c.finding.lost), None)


def headline(cards: Sequence[Card], baseline: str) -> str:
    """Return the answer in one sentence: the leading finding, with the figures that three processes support."""
    if (card := leading(cards)) is None or (found := card.finding) is None:
        measured = any(card.finding for card in cards)
        return "No algorithm is fastest here yet." if measured else "No record has been proved here yet."
    where = {"core": "On one core", "cores": "With many cores", "gpu": "On the GPU", "mpi": "With MPI"}
    wins = dict(found.firsts).get(found.algorithm, 0)
    graphs = f"{wins} of {found.graphs} graphs" if found.graphs > 1 else "the one graph measured"
    # Others may be ahead on as many graphs, by less.
    mean = "in the geometric mean, and " if 2 * wins <= found.graphs else ""
    compared = [(found.over_baseline, baseline), (found.over_library, found.library)]
    on = {n: f" on {n} of these" for n in range(found.graphs)}
    gains = [f"{g.mean:.1f}× as fast as {x}{on.get(len(g.ratios), '')}" for g, x in compared if g and g.low]
    figures = f": {' and '.join(gains)}{' (geometric means)' * (found.gains > 1)}." if gains else "."
    badge = found.badge
    doubt = f" This is uncertain: other work disturbed {badge.disturbed} of {counted(badge.records, 'record')}."
    place = found.machine + f" ({card.machine})" * bool(card.machine)
    sentence = f"{where[found.hardware]} of {place}, {found.algorithm} is fastest {mean}on {graphs}{figures}"
    return sentence + doubt * bool(badge.disturbed)
