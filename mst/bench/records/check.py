"""The last gate of the workflow: wrong forests are errors, and so are unavailable graphs if `strict` is set."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mst.bench.records.store import write_json
from mst.errors import MSTError


def check_table(table: Path, out: Path, *, strict: bool = False) -> None:
    """Write counts by status; raise `MSTError` when a current record is ``wrong`` (or ``unavailable``, if strict).

    The error names every offending run and its reason, and nothing is written. Reference measurements came with the
    code and are counted separately: wrong forests among them are on the page, but are no fault of this run.
    """
    import pyarrow.parquet as pq

    columns = ["machine", "graph", "algorithm", "options", "width", "status", "reason", "current", "origin"]
    rows = [row for row in pq.read_table(table, columns=columns).to_pylist() if row["current"]]
    elsewhere = [row for row in rows if row["origin"] == "reference"]
    rows = [row for row in rows if row["origin"] != "reference"]
    refused = ("wrong", "unavailable") if strict else ("wrong",)
    problems = [
        f"{r['status']}: {r['algorithm']} ({r['options']}, width {r['width']}) on {r['graph']}, "
        f"machine {r['machine']}: {r['reason']}"
        for r in rows
        if r["status"] in refused
    ]
    if problems:
        raise MSTError("\n".join(dict.fromkeys(problems)))
    write_json(out, {"status": _counts(rows), "reference": _counts(elsewhere), "strict": strict})


def summary(checked: Path) -> str:
    """Return the counts of `check_table` in one line.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "checked.json")
    ...     _ = file.write_text('{"status": {"ok": 53, "timeout": 2, "unsupported": 37}}')
    ...     summary(file)
    '53 runs measured and proved, 2 timeout, 37 unsupported'
    """
    counts = dict(json.loads(checked.read_text())["status"])
    return ", ".join(
        [f"{counts.pop('ok', 0):,} runs measured and proved", *(f"{n:,} {kind}" for kind, n in counts.items())]
    )


def _counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return dict(sorted(Counter(row["status"] for row in rows).items()))
