"""Runs that did not finish, were wrong, or were not possible, grouped by reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mst.reporting.data import NOT_FINISHED, NOT_RUN

if TYPE_CHECKING:
    import pandas as pd


def unfinished(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return runs that timed out, ran out of memory, failed or were wrong, worst first.

    Examples
    --------
    >>> import pandas as pd
    >>> from mst.reporting.page.unfinished import unfinished
    >>> row = dict(machine="m", graph="g", series="a", status="timeout", reason="stopped after 60.1 s")
    >>> rows = pd.DataFrame([row, {**row, "graph": "h", "reason": "stopped after 60.3 s"}])
    >>> [(r["series"], r["graphs"]) for r in unfinished(rows)]
    [('a', 'g, h')]
    """
    return _grouped(rows, ("wrong", *NOT_FINISHED))


def not_run(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return runs that were not possible: hardware or graph did not fit, or the graph was unavailable.

    All algorithms with one reason are in one row, so that a missing GPU is one row.
    """
    return _grouped(rows, NOT_RUN, together=True)


def _grouped(rows: pd.DataFrame, statuses: Sequence[str], *, together: bool = False) -> list[dict[str, Any]]:
    def listed(values: pd.Series) -> str:
        return ", ".join(dict.fromkeys(values))

    rows = rows[rows["status"].isin(statuses)]
    reason = rows["reason"].fillna("")
    # Reasons that differ only in a measured number are the same.
    like = reason.str.replace(r"\d+\.\d+", "#", regex=True)
    keys = [rows["status"].map(statuses.index), *[rows["series"]] * (not together), rows["machine"], like]
    groups = rows.assign(reason=reason).groupby(keys)
    firsts = groups[["status", "machine", "reason"]].first()
    lists = groups.agg(series=("series", listed), graphs=("graph", listed), runs=("status", "size"))
    return firsts.join(lists).to_dict("records")
