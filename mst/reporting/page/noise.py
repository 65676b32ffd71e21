"""Noise of the machines: flags on the records, and the spread of a run's processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from mst.reporting.data import machines_of

if TYPE_CHECKING:
    import pandas as pd


def flags(rows: pd.DataFrame, meanings: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """Return each flag, the number of records that carry it, and its meaning, the commonest first."""
    counted = Counter(flag for text in rows["flags"].dropna() for flag in text.split(",") if flag)
    return [(flag, number, meanings.get(flag, "")) for flag, number in counted.most_common()]


def spreads(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the range of the processes' medians over their median, over the proved runs of each machine.

    The columns are ``machine``; ``runs`` of two processes or more; ``median`` and ``ninth``, below which half and nine
    tenths of these runs spread; ``fewer``, the runs of a single process, which have no spread.
    """
    shown = rows[rows["shown"]]
    spread = shown.groupby("machine")["spread"]
    summary = spread.agg(runs="count", median="median")
    summary = summary.assign(ninth=spread.quantile(0.9), fewer=spread.size() - summary["runs"])
    return summary.loc[machines_of(shown)].reset_index()
