"""What the page shows, computed from the tidy table: proved series, speedups, the answer, the matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from mst import registry
from mst.bench.statistics import geometric_mean

NOT_FINISHED = ("timeout", "out-of-memory", "error")
NOT_RUN = ("unsupported", "unavailable")


@cache
def approximate() -> frozenset[str]:
    """Return the ids of algorithms whose forests may be heavier than the minimum, within a bound."""
    return frozenset(a.id for a in registry.algorithms().values() if not a.exact)


def series_of(row: Mapping[str, Any]) -> str:
    """Return the name of a series: the algorithm, what differs from its defaults, and its width.

    Approximate algorithms are marked with ≈.
    """
    name = row["algorithm"] + (" ≈" if row["algorithm"] in approximate() else "")
    if row["options"] != "default":
        name += f" [{row['options']}]"
    if row["paradigm"] in ("threads", "mpi") or (row["width"] or 1) > 1:
        unit = {"threads": "threads", "mpi": "ranks", "cuda": "GPUs"}.get(row["paradigm"], "wide")
        name += f" · {int(row['width'])} {unit if row['width'] > 1 else unit.rstrip('s')}"
    return name


def prepare(table: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Return the current rows with their series, their speedups and nanoseconds per edge.

    Adds the columns ``series``, ``shown`` (proved, measured and of a granted width: what may be plotted),
    ``speedup`` (over the baseline algorithm, same machine and graph), ``self_speedup`` (over the same algorithm
    at width 1) and ``nanoseconds_per_edge``.
    """
    rows = table[table["current"]].copy()
    rows["series"] = [series_of(row) for row in rows.to_dict("records")]
    rows["shown"] = (
        (rows["status"] == "ok")
        & rows["grade"].notna()
        & rows["compute_seconds"].notna()
        & ~rows["oversubscribed"].astype(bool)
        & ~rows["flags"].fillna("").str.contains("width-not-granted")
    )
    shown = rows[rows["shown"]]
    base = shown[(shown["algorithm"] == baseline) & (shown["options"] == "default") & (shown["width"] == 1)]
    base_seconds = base.set_index(["machine", "graph"])["compute_seconds"].to_dict()
    narrow = shown[shown["width"] == 1]
    own_seconds = narrow.set_index(["machine", "graph", "algorithm", "options"])["compute_seconds"].to_dict()
    rows["speedup"] = [
        base_seconds.get((r.machine, r.graph), math.nan) / r.compute_seconds if r.shown else math.nan
        for r in rows.itertuples()
    ]
    rows["self_speedup"] = [
        own_seconds.get((r.machine, r.graph, r.algorithm, r.options), math.nan) / r.compute_seconds
        if r.shown and r.paradigm in ("threads", "mpi", "cuda")
        else math.nan
        for r in rows.itertuples()
    ]
    rows["nanoseconds_per_edge"] = 1e9 * rows["compute_seconds"] / rows["m"]
    rows["nanojoules_per_edge"] = 1e9 * rows["energy_joules"].astype(float) / rows["m"]
    rows["bytes_per_edge"] = rows["working_bytes"] / rows["m"]
    return rows


def machines_of(rows: pd.DataFrame) -> list[str]:
    """Return the machines of the rows by name, those measured here before those that came as reference."""
    named = rows.drop_duplicates("machine")[["machine", "origin"]].to_dict("records")
    return [
        str(row["machine"]) for row in sorted(named, key=lambda r: (r["origin"] == "reference", r["machine"]))
    ]


def by_machine(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return each machine with its rows, in the order of `machines_of`."""
    return [(machine, rows[rows["machine"] == machine]) for machine in machines_of(rows)]


@dataclass(frozen=True)
class Best:
    """The fastest proved run on one graph of one machine, beside the best library and the baseline."""

    machine: str
    graph: str
    m: int
    series: str
    algorithm: str
    seconds: float
    low: float
    high: float
    peer: str | None
    over_peer: float | None
    over_baseline: float | None


def is_library(row: Mapping[str, Any]) -> bool:
    """Return whether a run's algorithm is somebody else's and Python could have called it: no program on disk is."""
    return row["paradigm"] == "peer" and not row["algorithm"].startswith("command-")


def best_of_each(rows: pd.DataFrame) -> list[Best]:
    """Return the fastest exact run for each machine and graph, smallest graph first."""
    shown = rows[rows["shown"] & ~rows["algorithm"].isin(approximate())]
    found = []
    for (machine, graph), group in shown.groupby(["machine", "graph"], sort=False):
        first = group.loc[group["compute_seconds"].idxmin()]
        peers = group[[is_library(row) for row in group[["paradigm", "algorithm"]].to_dict("records")]]
        peer = peers.loc[peers["compute_seconds"].idxmin()] if len(peers) else None
        found.append(
            Best(
                machine=machine,
                graph=graph,
                m=int(first["m"]),
                series=first["series"],
                algorithm=first["algorithm"],
                seconds=first["compute_seconds"],
                low=first["compute_low"],
                high=first["compute_high"],
                peer=None if peer is None else peer["series"],
                over_peer=None if peer is None else peer["compute_seconds"] / first["compute_seconds"],
                over_baseline=None if np.isnan(first["speedup"]) else float(first["speedup"]),
            )
        )
    return sorted(found, key=lambda b: (b.machine, b.m))


def order_of_series(rows: pd.DataFrame) -> list[str]:
    """Return all series, fastest first by the geometric mean of time over each graph's best."""
    shown = rows[rows["shown"]]
    best = shown.groupby(["machine", "graph"])["compute_seconds"].transform("min")
    relative = (shown["compute_seconds"] / best).groupby(shown["series"]).agg(geometric_mean)
    return relative.sort_values(kind="stable").index.tolist()


def telling(rows: pd.DataFrame, baseline: str, most: int, key: str = "algorithm") -> list[str]:
    """Return at most so many of the values of `key`: the baseline, the fastest of each paradigm, the next fastest.

    Parameters
    ----------
    rows : DataFrame
        Prepared rows that are shown.
    baseline : str
        Comes first where it is among them.
    most : int
    key : str
        A column that says what is compared, such as ``algorithm``.
    """
    if not len(rows):
        return []
    # Who ran on few graphs is not compared on the others.
    count = rows.groupby(key)["graph"].nunique()
    rows = rows[rows[key].map(count) >= count.max() / 2]
    best = rows.groupby(["machine", "graph"])["compute_seconds"].transform("min")
    relative = (
        (rows["compute_seconds"] / best).groupby(rows[key]).agg(geometric_mean).sort_values(kind="stable")
    )
    paradigm = rows.drop_duplicates(key).set_index(key)["paradigm"]
    first = {paradigm[name]: name for name in reversed(relative.index)}
    wanted = [*([baseline] if baseline in relative.index else []), *first.values(), *relative.index]
    return list(dict.fromkeys(wanted))[:most]


@dataclass(frozen=True)
class Cell:
    """One cell of the verification matrix."""

    kind: str
    symbol: str
    word: str
    reason: str


_SYMBOLS = {
    "identical": ("✓", "identical edge ids"),
    "edges": ("≈", "right forest, ties broken otherwise or within its bound"),
    "weight": ("Σ", "right total; its edges are not known"),
    "wrong": ("✗", "wrong"),
    "timeout": ("T", "timed out"),
    "out-of-memory": ("M", "out of memory"),
    "error": ("!", "failed"),
    "unproved": ("?", "not proved"),
    "unsupported": ("–", "not run: unsupported"),
    "unavailable": ("∅", "not run: graph not to be had"),
}


def legend() -> dict[str, tuple[str, str]]:
    """Return symbol and meaning of every kind of cell."""
    return dict(_SYMBOLS)


def matrix(rows: pd.DataFrame) -> tuple[list[str], list[tuple[str, str, list[Cell | None]]]]:
    """Return the graphs, and for each machine and algorithm the cell of each graph (the worst of its runs)."""
    graphs = list(dict.fromkeys(rows.sort_values("m", na_position="last", kind="stable")["graph"]))
    severity = {kind: rank for rank, kind in enumerate(_SYMBOLS)}
    severity["wrong"] = 100
    machines = machines_of(rows)
    lines: dict[tuple[str, str], dict[str, list[Cell]]] = {}
    columns = ["machine", "algorithm", "graph", "status", "grade", "reason"]
    for row in rows[columns].to_dict("records"):
        line = lines.setdefault((row["machine"], row["algorithm"]), {})
        line.setdefault(row["graph"], []).append(_cell(row))

    def worst(found: list[Cell]) -> Cell | None:
        ran = [cell for cell in found if cell.kind not in NOT_RUN] or found
        return max(ran, key=lambda cell: severity[cell.kind], default=None)

    return graphs, [
        (machine, algorithm, [worst(line.get(graph, [])) for graph in graphs])
        for (machine, algorithm), line in sorted(
            lines.items(), key=lambda item: (machines.index(item[0][0]), item[0][1])
        )
    ]


def _cell(row: Mapping[str, Any]) -> Cell:
    kind = row["status"]
    if kind == "ok":
        kind = row["grade"] if isinstance(row["grade"], str) else "unproved"
    symbol, word = _SYMBOLS[kind]
    reason = row["reason"] if isinstance(row["reason"], str) else ""
    return Cell(kind, symbol, word, reason)
