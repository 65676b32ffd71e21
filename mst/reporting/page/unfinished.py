"""Runs that did not finish, were wrong, or were not possible, grouped by reason."""

from __future__ import annotations

import re
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
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows[rows["status"].isin(statuses)].to_dict("records"):
        reason = row["reason"] if isinstance(row["reason"], str) else ""
        # Reasons that differ only in a measured number are the same.
        like = re.sub(r"\d+\.\d+", "#", reason)
        series = "" if together else row["series"]
        key = (statuses.index(row["status"]), series, row["machine"], like)
        groups.setdefault(key, []).append({**row, "reason": reason})
    return [
        {
            **{name: same[0][name] for name in ("status", "machine", "reason")},
            **{
                plural: ", ".join(dict.fromkeys(str(row[name]) for row in same))
                for plural, name in (("series", "series"), ("graphs", "graph"))
            },
            "runs": len(same),
        }
        for _, same in sorted(groups.items())
    ]
