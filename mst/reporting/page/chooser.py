"""The chooser on the front page: hardware, kind of graph and number of edges give an algorithm and the call to copy.

The answers are those of `mst.advice`, the table behind ``algorithm="auto"``. Beside each stand the nearest records, so
that a reader sees where they agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

import pandas as pd

from mst.advice import Candidate, Choice, Table
from mst.bench.statistics import FEWEST_PROCESSES
from mst.reporting.data import fastest
from mst.reporting.hardware import HARDWARE_KINDS
from mst.reporting.page.answer import badge_of, rivals
from mst.units import count, seconds, times

COMPLETE = 0.45  # edges over squared vertices of a graph that has nine tenths of all pairs
KINDS = (
    ("roads, grids", 1.5),
    ("meshes, sparse random graphs", 4.0),
    ("random graphs with 32 neighbours per vertex", 16.0),
    ("social networks, web pages", 16.0),
    ("dense graphs with 200 neighbours per vertex", 100.0),
    ("nearly complete graphs", None),
)
"""Kinds of graphs: in words, and edges per vertex (None: nearly all pairs)."""

_READ = (
    *("machine", "graph", "n", "m", "algorithm", "options", "name", "series", "paradigm", "width"),
    *("library", "on_gpu", "processes", "compute_seconds", "disturbed", "created", "commit", "origin"),
)
"""Columns of rows that `evidence` reads: it chooses rows a thousand times, and others would be copied each time."""


def kind_of(n: int, m: int, maximum_degree: int | None) -> int:
    """Return the place in `KINDS` of a graph.

    >>> kind_of(264_346, 365_050, 8), kind_of(1000, 499_500, 999), kind_of(10**6, 3 * 10**6, 28_754)
    (0, 5, 3)
    """
    density = m / max(n, 1)
    if m >= 0.25 * n * n:
        return 5
    if density >= 50:
        return 4
    if maximum_degree is not None and maximum_degree > 50 * 2 * density:
        return 3
    return 0 if density < 2.5 else 1 if density < 8 else 2


def settings(table: Table) -> list[dict[str, Any]]:
    """Return the kinds of hardware that the table distinguishes: id, name, cores, and the location of the graph."""
    cores = max(table.widths, default=1)
    locations = {Candidate.parse(name).gpu for cell in table.cells for name in cell["times"]}
    found = [dict(id="core", name="one core", cores=1, gpu=None)]
    if cores > 1:
        found.append(dict(id="cores", name=f"{cores} cores", cores=cores, gpu=None))
    if "host" in locations:
        found.append(dict(id="gpu", name=f"{cores} cores and a GPU", cores=cores, gpu="host"))
    if "device" in locations:
        found.append(dict(id="gpu", name="a GPU that holds the graph", cores=1, gpu="device"))
    return found


def choices(table: Table) -> dict[str, Any]:
    """Return every answer: for each hardware and kind, an entry for each size, None if there is no such graph."""
    sizes = sorted({2 ** round(log2(cell["m"])) for cell in table.cells})
    hardware = settings(table)
    answers = [
        [[_answered(table, m, kind, one["cores"], one["gpu"]) for m in sizes] for kind in KINDS]
        for one in hardware
    ]
    checked = table.checked
    return {
        "hardware": [{key: one[key] for key in ("id", "name")} for one in hardware],
        "kinds": [name for name, _ in KINDS],
        "sizes": [[m, f"{count(m)} edges"] for m in sizes],
        "answers": answers,
        "machine": table.machine,
        "sure": f"{checked['good']} of {checked['cases']} checks on other graphs" if checked else "",
    }


def _answered(table: Table, m: int, kind: tuple[str, float | None], cores: int, gpu: str | None) -> Any:
    _, density = kind
    n = round(m / density if density else (m / COMPLETE) ** 0.5)
    if n * (n - 1) // 2 < m:
        return None
    choice = table.choose(n, m, width=cores, gpu=gpu)
    others = [Candidate.parse(name).algorithm for name in choice.times]
    second = next((name for name in others if name != choice.algorithm), "")
    return [choice.algorithm, call(choice, gpu), times(choice.margin), second]


def call(choice: Choice, gpu: str | None = None) -> str:
    """Return the call to copy.

    >>> call(Choice("kruskal", 1))
    'mst.minimum_spanning_forest(graph, algorithm="kruskal")'
    """
    words = ["graph_on_device" if gpu == "device" else "graph", f'algorithm="{choice.algorithm}"']
    words += [f"threads={choice.width}"] * (choice.width > 1)
    words += [f"{name}={value!r}" for name, value in choice.options.items()]
    return f"mst.minimum_spanning_forest({', '.join(words)})"


def evidence(rows: pd.DataFrame, baseline: str, largest: Mapping[str, int | None]) -> list[dict[str, Any]]:
    """Return, for each hardware, machine and graph, the fastest record, compared with others.

    Runs without the algorithm that this package has for the hardware name no fastest one, unless it was never run.
    """
    exact = rows.loc[rows["shown"] & rows["exact"], list(_READ)]
    everything = exact.groupby(["machine", "graph"])
    found = []
    for hardware in HARDWARE_KINDS[:3]:
        expected = (exact["algorithm"] == hardware.ours).any()
        for (machine, graph), own in hardware.of(exact).groupby(["machine", "graph"], sort=False):
            if own["name"].nunique() < 2 or (expected and hardware.ours not in set(own["algorithm"])):
                continue
            best = fastest(own, "graph").iloc[0]
            others = _others(best, everything.get_group((machine, graph)), baseline)
            found.append(
                {
                    "hardware": hardware.id,
                    "kind": kind_of(best.n, best.m, largest.get(str(graph))),
                    "m": int(best.m),
                    "here": bool(best.origin != "reference"),
                    "text": f"on {graph} ({count(best.m)} edges) of {machine}, {best.series} is fastest: "
                    f"{seconds(best.compute_seconds)}{_over(best, others)}",
                    "badge": _badge(pd.DataFrame([best, *others])),
                }
            )
    return found


def _others(best: pd.Series, records: pd.DataFrame, baseline: str) -> list[pd.Series]:
    """Return the runs of the baseline and of the best library, where three processes of all finished."""
    if best.processes < FEWEST_PROCESSES:
        return []
    both = rivals(records[records["processes"] >= FEWEST_PROCESSES], best["name"], best.on_gpu, baseline)
    fastest_of_each = (own.nsmallest(1, "compute_seconds").iloc[0] for own in both if len(own))
    return [row for row in fastest_of_each if row.algorithm != best.algorithm]


def _over(best: pd.Series, others: Sequence[pd.Series]) -> str:
    """Return how many times as long the others took."""
    return "".join(
        f", {row.algorithm}{' (no GPU)' if best.on_gpu and not row.on_gpu else ''} takes "
        f"{times(row.compute_seconds / best.compute_seconds)} as long"
        for row in others
    )


def _badge(rows: pd.DataFrame) -> str:
    badge = badge_of(rows)
    noise = "disturbed" if badge.disturbed else "undisturbed"
    return ", ".join([noise, badge.dates, *badge.commits])


def overview(made: Mapping[str, Any]) -> tuple[str, Sequence[tuple[str, list[Any]]]]:
    """Return the size nearest to a million edges in words, and for each kind of graph the answer on each hardware."""
    place = min(range(len(made["sizes"])), key=lambda i: abs(made["sizes"][i][0] / 1e6 - 1))
    rows = [(kind, [own[k][place] for own in made["answers"]]) for k, kind in enumerate(made["kinds"])]
    return made["sizes"][place][1], rows
