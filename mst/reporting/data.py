"""Computes what the page shows from the tidy table: series, speedups, fastest runs, proofs, failures, noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mst import registry
from mst.bench.records.compare import DISTURBED
from mst.bench.records.store import CLAIMED
from mst.bench.statistics import FEWEST_PROCESSES, NORMAL_95, geometric_mean
from mst.reporting.hardware import on_gpus
from mst.reporting.table import NOT_RUN

NOT_FINISHED = ("timeout", "out-of-memory", "error")


def _series(row: Mapping[str, Any]) -> str:
    """Return the name of a series: the algorithm (with ≈ if approximate), its changed options, and the width."""
    name = row["algorithm"] + ("" if row["exact"] else " ≈") + row["name"].removeprefix(row["algorithm"])
    if row["paradigm"] in ("threads", "mpi") or (row["width"] or 1) > 1:
        unit = {"threads": "threads", "mpi": "ranks", "cuda": "GPUs"}.get(row["paradigm"], "wide")
        name += f" · {int(row['width'])} {unit if row['width'] > 1 else unit.rstrip('s')}"
    return name


def prepared_rows(table: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """Return the current rows with the columns that the page shows.

    These are ``name`` (the algorithm with the options that differ from its defaults), ``exact``, ``library`` (a peer
    that Python can call, not a program on disk), ``on_gpu``, ``series``, ``shown`` (measured at the granted width and
    proved; only these rows are plotted), ``disturbed`` (other work ran meanwhile), ``speedup`` (over the baseline
    algorithm on the same machine and graph), ``self_speedup`` (over the same algorithm at width 1), and
    ``nanoseconds_per_edge``, ``nanojoules_per_edge`` and ``bytes_per_edge``.
    """
    rows = table[table["current"]].copy()
    options = (" [" + rows["options"] + "]").where(rows["options"] != "default", "")
    rows["name"] = rows["algorithm"] + options
    rows["exact"] = ~rows["algorithm"].isin([a.id for a in registry.algorithms().values() if not a.exact])
    rows["library"] = (rows["paradigm"] == "peer") & ~rows["algorithm"].str.startswith("command-")
    rows["on_gpu"] = (rows["paradigm"] == "cuda") | rows["algorithm"].isin(on_gpus())
    rows["series"] = [_series(row) for row in rows.to_dict("records")]
    rows["shown"] = (
        (rows["status"] == "ok")
        & rows["grade"].notna()
        & (rows["grade"] != CLAIMED)
        & rows["compute_seconds"].notna()
        & ~rows["oversubscribed"].astype(bool)
        & ~rows["flags"].fillna("").str.contains("width-not-granted")
    )
    rows["disturbed"] = [not DISTURBED.isdisjoint(text.split(",")) for text in rows["flags"].fillna("")]
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
    """Return for each shown row the time of the base run with the same keys over the row's time."""
    seconds = base.set_index(keys)["compute_seconds"].to_dict()
    found = [seconds.get(key, np.nan) for key in rows[keys].itertuples(index=False, name=None)]
    return (pd.Series(found, rows.index, dtype=float) / rows["compute_seconds"]).where(rows["shown"])


def machines_of(rows: pd.DataFrame) -> list[str]:
    """Return the machines of the rows sorted by name, machines measured here before reference machines."""
    named = rows.assign(elsewhere=rows["origin"] == "reference").drop_duplicates("machine")
    return named.sort_values(["elsewhere", "machine"])["machine"].tolist()


def by_machine(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return each machine with its rows, in the order of `machines_of`."""
    return [(machine, rows[rows["machine"] == machine]) for machine in machines_of(rows)]


def fastest(rows: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Return the fastest run for each value of the keys, in the order of their first runs."""
    return rows.loc[rows.groupby(list(keys), sort=False)["compute_seconds"].idxmin()]


def standard_errors(rows: pd.DataFrame) -> pd.Series:
    """Return the standard errors of the logarithms of medians, by their intervals; NaN for too few processes."""
    known = (rows["processes"] >= FEWEST_PROCESSES) & (rows["compute_low"] > 0)
    return np.log(rows["compute_high"] / rows["compute_low"]).where(known) / (2 * NORMAL_95)


def mean_interval(values: pd.Series, *errors: pd.Series) -> tuple[float, float, float]:
    """Return the geometric mean of medians or their ratios, and its 95 % interval (NaN if an error is).

    `errors` are the standard errors of the logarithms of all medians from which the values are computed.
    """
    mean, half = geometric_mean(values), NORMAL_95 * np.linalg.norm(np.concatenate(errors)) / len(values)
    return mean, mean * math.exp(-half), mean * math.exp(half)


def representative(rows: pd.DataFrame, baseline: str, most: int) -> list[str]:
    """Return at most `most` names of runs: the baseline, the fastest of each paradigm, then the next fastest.

    `rows` are prepared rows that are shown. Names are ranked by the geometric mean of their time over the best on each
    graph; those with less than half as many graphs as another are left out.
    """
    if not len(rows):
        return []
    count = rows.groupby("name")["graph"].nunique()
    rows = rows[rows["name"].map(count) >= count.max() / 2]
    best = rows.groupby(["machine", "graph"])["compute_seconds"].transform("min")
    relative = (rows["compute_seconds"] / best).groupby(rows["name"]).agg(geometric_mean)
    ranked = relative.sort_values(kind="stable").index.tolist()
    paradigm = rows.drop_duplicates("name").set_index("name")["paradigm"]
    first = {paradigm[name]: name for name in reversed(ranked)}
    return list(dict.fromkeys([*[baseline] * (baseline in ranked), *first.values(), *ranked]))[:most]


_PROVED = ("identical", "edges", "weight")
CELL_KINDS = (*NOT_RUN, *_PROVED, *NOT_FINISHED, CLAIMED, "unproved", "wrong")
"""The kinds of cells in the verification matrix, the worst last."""


def proof_matrix(rows: pd.DataFrame) -> tuple[list[str], list[tuple[str, str, list[dict[str, str] | None]]]]:
    """Return the graphs, and for each machine and algorithm, the kind and reason of the worst run on each graph."""
    graphs = list(dict.fromkeys(rows.sort_values("m", na_position="last", kind="stable")["graph"]))
    kind = rows["status"].where(rows["status"] != "ok", rows["grade"].fillna("unproved"))
    rows = rows.assign(kind=kind, severity=kind.map(CELL_KINDS.index), reason=rows["reason"].fillna(""))
    keys = ["machine", "algorithm", "graph"]
    worst = rows.loc[rows.groupby(keys)["severity"].idxmax()].set_index(keys)
    cells = worst[["kind", "reason"]].to_dict("index")
    return graphs, [
        (machine, algorithm, [cells.get((machine, algorithm, graph)) for graph in graphs])
        for machine, own in by_machine(rows)
        for algorithm in sorted(own["algorithm"].unique())
    ]


def without_result(rows: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return the runs that are unfinished or wrong, worst first, and those that were impossible (`NOT_RUN`).

    Runs of the same series with the same reason share a row, as do all impossible runs with the same reason, such as a
    missing GPU.
    """
    unfinished = _grouped(rows, ("wrong", *NOT_FINISHED))
    return {"unfinished": unfinished, "not_run": _grouped(rows, NOT_RUN, together=True)}


def _grouped(rows: pd.DataFrame, statuses: Sequence[str], *, together: bool = False) -> list[dict[str, Any]]:
    def listed(values: pd.Series) -> str:
        return ", ".join(dict.fromkeys(values))

    rows = rows[rows["status"].isin(statuses)]
    reason = rows["reason"].fillna("")
    # Reasons that differ only in measured numbers count as the same.
    like = reason.str.replace(r"\d+\.\d+", "#", regex=True)
    keys = [rows["status"].map(statuses.index), *[rows["series"]] * (not together), rows["machine"], like]
    groups = rows.assign(reason=reason).groupby(keys)
    firsts = groups[["status", "machine", "reason"]].first()
    lists = groups.agg(series=("series", listed), graphs=("graph", listed), runs=("status", "size"))
    return firsts.join(lists).to_dict("records")


def flag_counts(rows: pd.DataFrame, meanings: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """Return each flag, the number of records with it, and its meaning, the most common flag first."""
    counted = Counter(flag for text in rows["flags"].dropna() for flag in text.split(",") if flag)
    return [(flag, number, meanings.get(flag, "")) for flag, number in counted.most_common()]


def spreads(rows: pd.DataFrame) -> pd.DataFrame:
    """Summarise the spread of each machine's proved runs: the range of the processes' medians over their median.

    The columns are ``machine``; ``runs``, the number of runs with a spread, which takes at least two processes;
    ``median`` and ``ninth``, the spreads that half and nine tenths of them stay below; and ``fewer``, the other runs.
    """
    shown = rows[rows["shown"]]
    spread = shown.groupby("machine")["spread"]
    summary = spread.agg(runs="count", median="median")
    summary = summary.assign(ninth=spread.quantile(0.9), fewer=spread.size() - summary["runs"])
    return summary.loc[machines_of(shown)].reset_index()
