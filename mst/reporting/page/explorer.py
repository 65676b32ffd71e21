"""Data of the page's explorer: every proved run, once, as compact JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from mst.reporting.charts.style import DASHES, LIGHT, PARADIGMS
from mst.reporting.data import representative

FEW_GRAPHS, FEW_ALGORITHMS = 6, 7
"""Most graphs and algorithms that are chosen at first."""
MOST_RUNS = 20_000  # most runs in the page, each of some 120 bytes
MEASURED = [f"compute_{kind}" for kind in ("seconds", "low", "high")]
MEASURED += [f"{part}_seconds" for part in ("init", "transfer", "call")]
MEASURED += ["peak_bytes", "working_bytes", "energy_joules"]
_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def explorer_data(rows: pd.DataFrame, baseline: str, reference: Collection[str] = ()) -> dict[str, Any]:
    """Return lists of machines, graphs, algorithms and runs of prepared rows; a run names the others by their places.

    Above `MOST_RUNS` runs, only so many graphs are in them, from the smallest to the largest; ``left_out`` counts the
    others. Speedups are over the baseline until another is chosen. `reference` names the machines of committed records.
    """
    every = rows[rows["shown"]]
    shown = _within_limit(every)
    machines = sorted(shown["machine"].unique(), key=lambda name: (name in reference, name))
    graphs = shown.drop_duplicates("graph").sort_values(["m", "graph"])
    kinds = shown.drop_duplicates("name").set_index("name")[["algorithm", "paradigm", "exact"]].to_dict("index")
    names = sorted(kinds, key=lambda name: (list(PARADIGMS).index(kinds[name]["paradigm"]), name))
    # At first, graphs that many algorithms were measured on here, and representative algorithms on them.
    here = [machine for machine in machines if machine not in reference] or machines
    own = shown[shown["machine"].isin(here)]
    number = own.groupby("graph")["name"].nunique()
    first = _spread([name for name in graphs["graph"] if 2 * number.get(name, 0) >= number.max()])
    # On a machine where few were run, each would be the fastest.
    own = own[own["graph"].isin(first) & own["machine"].isin(own["machine"].mode()[:1])]
    paradigms = [kinds[name]["paradigm"] for name in names]
    order = {"machine": machines, "graph": list(graphs["graph"]), "name": names}
    runs = [
        *(pd.Categorical(shown[key], values).codes.tolist() for key, values in order.items()),
        shown["width"].astype(int).tolist(),
        *(map(_short, shown[column]) for column in MEASURED),
        shown["grade"],
        shown["flags"].fillna(""),
        shown["created"].str[:10],
        shown["commit"].str[:10],
    ]
    return {
        "baseline": baseline if baseline in names else next(iter(names), ""),
        "colours": LIGHT,
        "dashes": [" ".join(map(str, dash)) for dash in DASHES],
        "machines": [{"name": name, "reference": name in reference} for name in machines],
        "graphs": [{"name": g.graph, "n": int(g.n), "m": int(g.m)} for g in graphs.itertuples()],
        "algorithms": [
            {
                "name": name,
                "paradigm": kinds[name]["paradigm"],
                "colour": LIGHT.index(PARADIGMS[kinds[name]["paradigm"]]),
                "dash": paradigms[:place].count(kinds[name]["paradigm"]) % len(DASHES),
                "exact": kinds[name]["exact"],
            }
            for place, name in enumerate(names)
        ],
        "runs": [[None if value is pd.NA else value for value in run] for run in zip(*runs)],
        "left_out": every["graph"].nunique() - len(graphs),
        "chosen": {
            "machines": here,
            "graphs": first,
            "algorithms": representative(own[own["exact"]], baseline, FEW_ALGORITHMS),
        },
    }


def as_json(data: Mapping[str, Any]) -> str:
    """Return JSON that may stand inside a ``script`` element: no text in it ends or opens markup, or a line."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).translate(_ESCAPES)


def _short(value: Any) -> float | None:
    """Return a number with six significant digits."""
    if value is None or not math.isfinite(value):
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded.is_integer() else rounded


def _within_limit(shown: pd.DataFrame) -> pd.DataFrame:
    """Return at most `MOST_RUNS` runs, or those of one graph: all runs of evenly spaced graphs by size."""
    graphs = list(shown.drop_duplicates("graph").sort_values(["m", "graph"])["graph"])
    while len(shown) > MOST_RUNS and len(graphs) > 1:
        graphs = _spread(graphs, max(1, min(len(graphs) - 1, len(graphs) * MOST_RUNS // len(shown))))
        shown = shown[shown["graph"].isin(graphs)]
    return shown


def _spread(graphs: list[str], most: int = FEW_GRAPHS) -> list[str]:
    """Return a few graphs, from the smallest to the largest."""
    if len(graphs) <= most:
        return graphs
    return [graphs[round(i * (len(graphs) - 1) / max(1, most - 1))] for i in range(most)]
