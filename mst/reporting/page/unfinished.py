"""What did not finish, was wrong, or was not run: runs of one reason together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mst.reporting.data import NOT_FINISHED, NOT_RUN

if TYPE_CHECKING:
    import pandas as pd


def unfinished(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return what timed out, ran out of memory, failed or was wrong, worst first.

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
    """Return what was not run: hardware or graph did not fit, or the graph was not to be had.

    All algorithms of one reason are together: a missing GPU is one row.
    """
    return _grouped(rows, NOT_RUN, together=True)


def _grouped(rows: pd.DataFrame, statuses: Sequence[str], *, together: bool = False) -> list[dict[str, Any]]:
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows[rows["status"].isin(statuses)].to_dict("records"):
        reason = row["reason"] if isinstance(row["reason"], str) else ""
        # Two times that differ in a decimal are one reason.
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
