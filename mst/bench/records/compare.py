"""Verdicts on two sets of records of one run: faster, slower, same, or can't tell.

Two sets of the same code, measured one after the other, differ by more than the processes within each of them
do: another program starts, a clock rate changes, pages are placed elsewhere. That shift is invisible within
a set, so an interval from its processes alone calls equal code different far too often. The ratio's interval is
therefore widened by the machine's own shift between two sets (`SHIFT`: standard deviations of a set's
logarithm, calibrated on sets of five processes of one program, ``tests/data/process_medians.csv``). A set is *slower*
or *faster* if the widened 95 % interval excludes 1, the *same* if it lies within a factor of 1.1, the smallest
difference worth finding; everything else is *can't tell*.

A flagged set is weaker evidence: if its processes spread, the machine changed during the measurement; when other
programs were busy on the machine, sets of the same code differed by a factor of up to 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, hypot, log, sqrt

from mst.bench.records.store import Record, medians
from mst.bench.statistics import NORMAL_95, Summary, ratio, summarise
from mst.errors import ConfigError, InputError, nearest

FASTER, SLOWER, SAME, CANNOT_TELL = "faster", "slower", "same", "can't tell"
VERDICTS = (SLOWER, FASTER, SAME, CANNOT_TELL)
MARGIN = 0.10
SHIFT = {"quiet": 0.02, "spread": 0.10, "disturbed": 0.40}
DISTURBED = frozenset(("busy", "stolen", "throttled", "width-not-granted"))
PARTS = ("compute", "init", "transfer", "call")


@dataclass(frozen=True)
class Judgement:
    """A verdict on the second of two sets of process medians: ``faster``, ``slower``, ``same`` or ``can't tell``.

    The ratio is the time of the second over that of the first, with its interval, widened by the machine's shift
    between two sets; the reason says why there is no verdict.
    """

    verdict: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """One run on both sides."""

    machine: str
    graph: str
    algorithm: str
    options: str
    width: int
    layout: str
    a: Summary
    b: Summary
    judgement: Judgement


@dataclass(frozen=True)
class Compared:
    """Every run on both sides, and the number of runs on only one side."""

    comparisons: tuple[Comparison, ...]
    only_a: int
    only_b: int


def judge(
    a: Sequence[float], b: Sequence[float], *, flags: Iterable[str] = (), margin: float = MARGIN
) -> Judgement:
    """Judge how set `b` compares with set `a`: the median time of each process, in seconds.

    `flags` are those the runner set on either set (``spread``, ``busy``, …), `margin` is the largest relative
    difference that still counts as *same*.
    """
    if not len(a) or not len(b):
        return Judgement(CANNOT_TELL, reason="nothing was measured")
    if min(*a, *b) <= 0:
        return Judgement(CANNOT_TELL, reason="too short to be timed")
    measured = ratio(a, b)
    if measured.low is None or measured.high is None:
        return Judgement(CANNOT_TELL, measured.estimate, reason="one process alone does not show the noise")
    noted = sorted({*flags} & (DISTURBED | {"spread"}))
    state = "disturbed" if DISTURBED & {*noted} else "spread" if noted else "quiet"
    between = NORMAL_95 * sqrt(2) * SHIFT[state]
    centre = log(measured.estimate)
    low = centre - hypot(centre - log(measured.low), between)
    high = centre + hypot(log(measured.high) - centre, between)
    same = -log(1 + margin) < low and high < log(1 + margin)
    verdict = SLOWER if low > 0 else FASTER if high < 0 else SAME if same else CANNOT_TELL
    reason = ""
    if verdict == CANNOT_TELL:
        reason = f"flagged {', '.join(noted)}" if noted else "the difference is within the noise"
    return Judgement(verdict, measured.estimate, exp(low), exp(high), reason)


def select_records(records: Sequence[Record], selector: str) -> list[Record]:
    """Return the records of a machine, commit or fingerprint; raise `ConfigError` if none match, or it is ambiguous.

    The selector is a machine's name, or the beginning (four digits or more) of a git commit, of a run's fingerprint,
    or of a machine's fingerprint.
    """
    kinds: dict[str, Callable[[Record], str]] = {
        "commit": lambda r: (r.measurement["git"] or {}).get("commit") or "",
        "run's fingerprint": lambda r: r.run.fingerprint,
        "machine's fingerprint": lambda r: r.measurement["machine"]["fingerprint"],
    }
    if named := [record for record in records if record.run.machine == selector]:
        return named
    meanings: dict[tuple[str, str], list[Record]] = {}
    if len(selector) >= 4:
        for kind, value_of in kinds.items():
            for record in records:
                if (value := value_of(record)).startswith(selector):
                    meanings.setdefault((kind, value), []).append(record)
    if len(meanings) > 1:
        listed = "; ".join(f"a {kind} {value}" for kind, value in sorted(meanings))
        raise ConfigError(f"{selector!r} is ambiguous: {listed}; give more of it")
    if not meanings:
        machines = sorted({record.run.machine for record in records})
        raise ConfigError(
            f"{selector!r} is neither a file nor a machine, commit or fingerprint{nearest(selector, machines)}; "
            f"machines: {', '.join(machines) or 'none'}"
        )
    return next(iter(meanings.values()))


def compare(
    a: Iterable[Record], b: Iterable[Record], *, part: str = "compute", margin: float = MARGIN
) -> Compared:
    """Compare every run on both sides; of several versions of a run the newest counts.

    Runs are paired by graph, algorithm, options, width and layout, and by machine when the sides have a machine
    in common. Two single records on one graph are compared even if their runs differ. Sides without a run in common
    raise `InputError`.
    """
    left, right = list(a), list(b)
    common = {r.run.machine for r in left} & {r.run.machine for r in right}
    a_runs, b_runs = _newest(left, bool(common)), _newest(right, bool(common))
    if len(a_runs) == len(b_runs) == 1:
        (one,), (other,) = a_runs.values(), b_runs.values()
        if one.run.graph == other.run.graph:
            return Compared((_compared(one, other, part, margin),), 0, 0)
    shared = sorted(a_runs.keys() & b_runs.keys())
    if not shared:
        raise InputError(
            "no run with the same graph, algorithm, options and width in A and B: name other sides"
        )
    comparisons = tuple(_compared(a_runs[key], b_runs[key], part, margin) for key in shared)
    return Compared(comparisons, len(a_runs) - len(shared), len(b_runs) - len(shared))


def _newest(records: Iterable[Record], with_machine: bool) -> Mapping[tuple, Record]:
    newest: dict[tuple, Record] = {}
    for record in sorted(records, key=lambda r: r.measurement["created"]):
        run = record.run
        key = (run.graph, run.algorithm, run.options, run.width, run.layout)
        newest[(*key, run.machine) if with_machine else key] = record
    return newest


def _compared(a: Record, b: Record, part: str, margin: float) -> Comparison:
    run = a.run
    machine = " → ".join(dict.fromkeys((run.machine, b.run.machine)))
    algorithm = " → ".join(dict.fromkeys((run.algorithm, b.run.algorithm)))
    times = [medians(record.measurement, part) if record.status == "ok" else [] for record in (a, b)]
    flags = [flag for record in (a, b) for flag in record.measurement["conditions"]["flags"]]
    problems = [f"{side} ended as {r.status}" for side, r in (("A", a), ("B", b)) if r.status != "ok"]
    if a.measurement["graph"]["digest"] != b.measurement["graph"]["digest"]:
        problems.append("the graphs have the same name but differ")
    if problems:
        judgement = Judgement(CANNOT_TELL, reason=", ".join(problems))
    else:
        judgement = judge(*times, flags=flags, margin=margin)
    which = (machine, run.graph, algorithm, run.options, run.width, run.layout)
    return Comparison(*which, summarise(times[0]), summarise(times[1]), judgement)
