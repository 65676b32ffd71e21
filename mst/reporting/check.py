"""The last gate of the workflow: wrong forests, and, when strict, graphs that are not to be had, are errors."""

from __future__ import annotations

from pathlib import Path

from mst.bench.records import write_json
from mst.errors import MSTError


def check_table(table: Path, out: Path, *, strict: bool = False) -> None:
    """Write counts by status; raise when a current record is ``wrong`` (or ``unavailable``, if strict).

    Reference measurements came with the code: what was wrong elsewhere is on the page, and no fault of this run.

    Raises
    ------
    MSTError
        Names every offending run and its reason; nothing is written then.
    """
    import pyarrow.parquet as pq

    columns = ["machine", "graph", "algorithm", "options", "width", "status", "reason", "current", "origin"]
    rows = [row for row in pq.read_table(table, columns=columns).to_pylist() if row["current"]]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    refused = ("wrong", "unavailable") if strict else ("wrong",)
    offending = [row for row in rows if row["status"] in refused and row["origin"] != "reference"]
    if offending:
        told = [
            f"{r['status']}: {r['algorithm']} ({r['options']}, width {r['width']}) on {r['graph']}, "
            f"machine {r['machine']}: {r['reason']}"
            for r in offending
        ]
        raise MSTError("\n".join(dict.fromkeys(told)))
    write_json(out, {"status": dict(sorted(counts.items())), "strict": strict})
