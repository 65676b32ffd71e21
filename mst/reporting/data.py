"""Data of the page, computed from the tidy table: proved series, speedups, the fastest runs, the matrix of proofs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mst.bench.statistics import geometric_mean
from mst.reporting.hardware import Row, approximate, is_library

NOT_FINISHED = ("timeout", "out-of-memory", "error")
NOT_RUN = ("unsupported", "unavailable")


def series_of(row: Row) -> str:
    """Return the name of a series: the algorithm, the options that differ from its defaults, and its width.

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
    """Return the current rows with the columns that the page shows.

    Adds ``series``, ``shown`` (measured at the granted width and proved: only such rows are plotted), ``speedup`` (over
    the baseline algorithm on the same machine and graph), ``self_speedup`` (over the same algorithm at width 1), and
    nanoseconds, nanojoules and bytes for each edge.
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
    narrow = rows[rows["shown"] & (rows["width"] == 1)]
    base = narrow[(narrow["algorithm"] == baseline) & (narrow["options"] == "default")]
    rows["speedup"] = _over(base, rows, ["machine", "graph"])
    rows["self_speedup"] = _over(narrow, rows, ["machine", "graph", "algorithm", "options"]).where(
        rows["paradigm"].isin(["threads", "mpi", "cuda"])
    )
    rows["nanoseconds_per_edge"] = 1e9 * rows["compute_seconds"] / rows["m"]
    rows["nanojoules_per_edge"] = 1e9 * rows["energy_joules"].astype(float) / rows["m"]
    rows["bytes_per_edge"] = rows["working_bytes"] / rows["m"]
    return rows


def _over(base: pd.DataFrame, rows: pd.DataFrame, keys: list[str]) -> pd.Series:
    """Return the time of the base run with the same keys over the time of each row that is shown."""
    seconds = base.set_index(keys)["compute_seconds"].to_dict()
    found = [seconds.get(key, np.nan) for key in rows[keys].itertuples(index=False, name=None)]
    return (pd.Series(found, rows.index, dtype=float) / rows["compute_seconds"]).where(rows["shown"])


def machines_of(rows: pd.DataFrame) -> list[str]:
    """Return the machines of the rows by name, those measured here before reference machines."""
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
    peer: str | None
    over_peer: float | None
    over_baseline: float | None


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
                peer=None if peer is None else peer["series"],
                over_peer=None if peer is None else peer["compute_seconds"] / first["compute_seconds"],
                over_baseline=None if np.isnan(first["speedup"]) else float(first["speedup"]),
            )
        )
    return sorted(found, key=lambda b: (b.machine, b.m))


def order_of_series(rows: pd.DataFrame, key: str = "series") -> list[str]:
    """Return all series that are shown, fastest first by the geometric mean of time over each graph's best."""
    shown = rows[rows["shown"]]
    best = shown.groupby(["machine", "graph"])["compute_seconds"].transform("min")
    relative = (shown["compute_seconds"] / best).groupby(shown[key]).agg(geometric_mean)
    return relative.sort_values(kind="stable").index.tolist()


def representative(rows: pd.DataFrame, baseline: str, most: int, key: str = "algorithm") -> list[str]:
    """Return at most so many values of `key`: the baseline, the fastest of each paradigm, then the next fastest.

    Parameters
    ----------
    rows : DataFrame
        Prepared rows that are shown. Values on less than half as many graphs as any other are left out.
    baseline : str
        Comes first where it is among them.
    most : int
    key : str
        The column that is compared, such as ``algorithm``.
    """
    if not len(rows):
        return []
    count = rows.groupby(key)["graph"].nunique()
    rows = rows[rows[key].map(count) >= count.max() / 2]
    ranked = order_of_series(rows, key)
    paradigm = rows.drop_duplicates(key).set_index(key)["paradigm"]
    first = {paradigm[name]: name for name in reversed(ranked)}
    return list(dict.fromkeys([*[baseline] * (baseline in ranked), *first.values(), *ranked]))[:most]


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
    "unavailable": ("∅", "not run: graph unavailable"),
}


def legend() -> dict[str, tuple[str, str]]:
    """Return symbol and meaning of every kind of cell."""
    return dict(_SYMBOLS)


MatrixRow = tuple[str, str, list[Cell | None]]


def matrix(rows: pd.DataFrame) -> tuple[list[str], list[MatrixRow]]:
    """Return the graphs, and for each machine and algorithm the cell of each graph (the worst of its runs)."""
    graphs = list(dict.fromkeys(rows.sort_values("m", na_position="last", kind="stable")["graph"]))
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    for row in rows.to_dict("records"):
        line = cells.setdefault((row["machine"], row["algorithm"]), {})
        line[row["graph"]] = max(filter(None, (line.get(row["graph"]), _cell(row))), key=_severity)
    return graphs, [
        (machine, algorithm, [cells[machine, algorithm].get(graph) for graph in graphs])
        for machine in machines_of(rows)
        for algorithm in sorted(algorithm for where, algorithm in cells if where == machine)
    ]


def _severity(cell: Cell) -> tuple[bool, bool, int]:
    """Return how bad a cell is: a run that is wrong, before one that ran, before one that did not run."""
    return cell.kind == "wrong", cell.kind not in NOT_RUN, list(_SYMBOLS).index(cell.kind)


def _cell(row: Row) -> Cell:
    kind = row["status"]
    if kind == "ok":
        kind = row["grade"] if isinstance(row["grade"], str) else "unproved"
    return Cell(kind, *_SYMBOLS[kind], row["reason"] if isinstance(row["reason"], str) else "")
