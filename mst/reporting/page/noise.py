"""Noise of the machines: flags on the records, and the spread of a run's processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mst.reporting.data import by_machine

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Spread:
    """Range of the processes' medians over their median, over the proved runs of one machine.

    Attributes
    ----------
    machine : str
    runs : int
        With at least two processes.
    median, ninth : float
        Half and nine tenths of the runs spread less.
    fewer : int
        Runs of a single process, which have no spread.
    """

    machine: str
    runs: int
    median: float
    ninth: float
    fewer: int


def flags(rows: pd.DataFrame, meanings: Mapping[str, str]) -> list[tuple[str, int, str]]:
    """Return each flag, the number of records that carry it, and its meaning, the commonest first."""
    counted = Counter(flag for text in rows["flags"].dropna() for flag in text.split(",") if flag)
    return [(flag, number, meanings.get(flag, "")) for flag, number in counted.most_common()]


def spreads(rows: pd.DataFrame) -> list[Spread]:
    """Return the spread of each machine's runs."""
    shown = rows[rows["shown"]]
    return [
        Spread(
            machine,
            int(own["spread"].notna().sum()),
            float(own["spread"].median()),
            float(own["spread"].quantile(0.9)),
            int(own["spread"].isna().sum()),
        )
        for machine, own in by_machine(shown)
    ]
