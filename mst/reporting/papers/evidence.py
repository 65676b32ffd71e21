"""Records that may judge a claim: the rules that they have to meet, and stand-ins that resemble their inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from mst import catalog
from mst.bench.records.compare import DISTURBED
from mst.bench.records.store import Record
from mst.bench.statistics import COVERAGE, FEWEST_PROCESSES, summarise
from mst.reporting.hardware import on_gpus

IDLE_SECONDS = 2e-5
"""A step that takes no longer only calls a function that does nothing. Smaller differences of times do not count."""
FIRST_CALL_SECONDS = 1e-3
"""*Init* is the first call of a process: a shorter one is mostly the cost of any first call, not that of the step."""
SPREAD = 0.1  # widest interval of a median that judges, over the median; of a share of the time, in all
COUNTED = frozenset(("counter", "wrong"))
"""Quantities that do not depend on the machine's load: counters, and whether a forest was wrong."""
TIMES = ("T", "I", "M", "phase")
RATIO = "ratio"  # of two times, turn by turn
DRIFT, DRIFT_OF_GPU = 0.2, 0.06
"""Standard deviation of the logarithm of a session's speed; ``docs/papers.md`` says which measurements it is from."""
PAUSE = timedelta(minutes=5)  # a longer one begins another session, maybe on another host
SIMILAR = 0.1  # largest relative difference between an input and its stand-in
FACTS = {"n": "vertices", "m": "edges", "components": "components", "maximum_degree": "largest degree"}
"""Facts of a graph by which a stand-in must resemble its input."""


def objection(
    record: Record, quantity: str = "", numbers: Sequence[float] | None = None, *, wide: bool = False
) -> str:
    """Return why a quantity of a record judges no claim, or an empty string.

    A record's flag *spread* is ignored: the range of many processes is wide if one of them was disturbed, while
    the interval of their median, which enters the verdict, is not. Counters may differ from process to process, and
    the spread may itself be the claimed quantity.

    The quantity is a leaf of formulas (`mst.reporting.papers.formula`), `numbers` are those of each process, if
    processes have one, and `wide` says whether wide intervals of 95 % may judge.
    """
    measurement = record.measurement
    disturbed = sorted(DISTURBED & set(measurement["conditions"]["flags"]))
    if disturbed and quantity not in COUNTED:
        return f"disturbed ({', '.join(disturbed)})"
    git = measurement["git"]
    if git is None or git["dirty"]:
        return "measured with uncommitted code"
    if _on_gpu(record):
        stated = {**measurement["versions"], "driver": measurement["machine"]["driver"]}
        wanted = (
            ("cuda", "driver") if record.run.algorithm.startswith("command-") else ("cupy", "cuda", "driver")
        )
        # A process that has measured states the version of CUDA: a run in which all failed has none.
        none_measured = not measurement["samples"]["compute"]
        if lacking := [name for name in wanted if not (stated.get(name) or (none_measured and name == "cuda"))]:
            return f"does not state the version of {' and '.join(lacking)}"
    return "" if numbers is None else objection_to_numbers(quantity, numbers, wide=wide)


def _on_gpu(record: Record) -> bool:
    return record.measurement["run"]["paradigm"] == "cuda" or record.run.algorithm in on_gpus()


def sessions(records: Iterable[Record]) -> dict[Path, tuple[str, float]]:
    """Return each record's session, by its path, and how much the speed of its hardware differs between sessions."""
    found, begun, last = {}, "", datetime.min.replace(tzinfo=UTC)
    for record in sorted(records, key=lambda record: record.measurement["started"]):
        started, created = (datetime.fromisoformat(record.measurement[key]) for key in ("started", "created"))
        begun, last = str(started) if started - last > PAUSE else begun, max(last, created)
        found[record.path] = begun, DRIFT_OF_GPU if _on_gpu(record) else DRIFT
    return found


def took_turns(first: Record, second: Record, number: int) -> bool:
    """Return whether the first processes of two records, so many of each, were one of each per turn.

    The engine starts one process of every run on a graph in each turn (`mst.bench.measure.runner`), so that a turn's
    two ended before any of the next turn began. A resumed record may have another order.
    """
    spans = [record.measurement["spans"][:number] for record in (first, second)]
    if min(map(len, spans)) < number:
        return False
    turns = [[datetime.fromisoformat(at) for span in both for at in span] for both in zip(*spans, strict=True)]
    return all(max(turn) <= min(following) for turn, following in pairwise(turns))


def objection_to_numbers(quantity: str, numbers: Sequence[float], *, wide: bool = False) -> str:
    """Return why the numbers of a run's processes, or the ratios of turns, judge no claim, or an empty string.

    Where the whole interval decides (a direction, or that a range is missed), a `wide` one is less likely to, so it
    only has to cover the median with 95 %, as that of six processes does. Its value may be inside a range by chance.

    >>> objection_to_numbers("T", [1.0, 1.02, 1.2])
    'spread too wide (1 to 1.2 s)'
    >>> objection_to_numbers("T", [1.0] * 8 + [1.2]), objection_to_numbers("T", [5e-5] * 4 + [6e-5])
    ('', '')
    >>> objection_to_numbers("I", [6e-4] * 9)
    'a first call of less than a millisecond'
    >>> times = [1.0, 1.02, 1.2, 1.1, 1.05, 1.3]
    >>> objection_to_numbers("T", times), objection_to_numbers("T", times, wide=True)
    ('spread too wide (1 to 1.3 s)', '')
    """
    is_time, relative = quantity in TIMES, quantity in (*TIMES, RATIO)
    if len(numbers) < FEWEST_PROCESSES:
        return f"{'times' if is_time and quantity != 'phase' else quantity} of fewer than three processes"
    if quantity in ("I", "phase") and max(numbers) < IDLE_SECONDS:
        return "the step does nothing"
    found = summarise(numbers)
    assert found.median is not None and found.low is not None and found.high is not None
    if quantity == "I" and found.median < FIRST_CALL_SECONDS:
        return "a first call of less than a millisecond"
    widest = max(SPREAD * found.median, IDLE_SECONDS * is_time) if relative else SPREAD
    if relative and wide and found.coverage >= COVERAGE:
        return ""
    if (relative or quantity == "share") and found.high - found.low > widest:
        return f"spread too wide ({found.low:.3g} to {found.high:.3g}{' s' * is_time})"
    return ""


@cache
def known_graphs() -> catalog.Catalog:
    """Return the catalogue, which takes a tenth of a second to read."""
    return catalog.load()


@cache
def facts_of_input(graph: str) -> Mapping[str, float]:
    """Return the published facts of a graph of the catalogue, by their names in `FACTS`."""
    entry = known_graphs().get(graph)
    return entry.stated if entry else {}


def differences(graph: str, facts: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """Return every fact that is known of an input and of its stand-in: first the stand-in's, then the input's."""
    known = facts_of_input(graph)
    return {name: (facts[name], known[name]) for name in FACTS if name in known and facts.get(name) is not None}


def resembles(graph: str, facts: Mapping[str, Any]) -> bool:
    """Return whether a graph of these facts may stand in for another: none differs by more than a tenth."""
    both = differences(graph, facts)
    return {"n", "m"} <= set(both) and all(abs(own - true) <= SIMILAR * true for own, true in both.values())


def in_words(graph: str, other: str, facts: Mapping[str, Any]) -> str:
    """Return how a stand-in differs from its input."""
    both = differences(graph, facts)
    same = ", ".join(FACTS[name] for name, (own, true) in both.items() if own == true)
    parts = [f"{FACTS[name]} {own:,.0f} for {true:,.0f}" for name, (own, true) in both.items() if own != true]
    parts += [f"{text} unknown" for name, text in FACTS.items() if name not in both]
    return f"{other} for {graph} ({'; '.join(filter(None, [same and f'the same {same}', *parts]))})"
