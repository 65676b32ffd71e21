"""Rows of the page's long tables: cells that sort by their exact values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mst.units import count, known, seconds, size, times

RECORD_COLUMNS = (
    ("algorithm", "text"),
    ("graph", "text"),
    ("machine", "text"),
    ("status", "text"),
    ("proof", "text"),
    ("time", "number"),
    ("interval", "text"),
    ("init", "number"),
    ("transfer", "number"),
    ("edges/s", "number"),
    ("speedup", "number"),
    ("self-speedup", "number"),
    ("peak memory", "number"),
    ("joules", "number"),
    ("processes", "number"),
    ("flags", "text"),
)
FILTERS = ("machine", "origin", "graph", "paradigm", "status")


def record_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of one record, and the values that the page filters by."""
    from markupsafe import Markup, escape

    def text(value: Any, kind: str = "") -> Markup:
        shown = "" if value is None or value != value else value
        return Markup(f"<td{kind}>{escape(shown)}</td>")

    interval = ""
    if known(row["compute_low"]):
        interval = f"{seconds(row['compute_low'])} – {seconds(row['compute_high'])}"
    status = row["status"]
    reason = row["reason"] if isinstance(row["reason"], str) else ""
    marked = Markup('<td class="{0}" title="{1}">{0}</td>').format(status, reason)
    cells = [
        Markup(f'<th scope="row">{escape(row["series"])}</th>'),
        text(row["graph"]),
        text(row["machine"]),
        marked if status != "ok" else text("ok"),
        text(row["grade"]),
        number(row["compute_seconds"], seconds(row["compute_seconds"])),
        text(interval),
        number(row["init_seconds"], seconds(row["init_seconds"])),
        number(row["transfer_seconds"], seconds(row["transfer_seconds"])),
        number(row["edges_per_second"], count(row["edges_per_second"])),
        number(row["speedup"], times(row["speedup"])),
        number(row["self_speedup"], times(row["self_speedup"])),
        number(row["peak_bytes"], size(row["peak_bytes"])),
        number(row["energy_joules"], f"{row['energy_joules']:.3g}" if known(row["energy_joules"]) else ""),
        number(row["processes"] or None, row["processes"]),
        text((row["flags"] or "").replace(",", ", "), ' class="flag"'),
    ]
    return {"cells": cells, "filters": {n: row[n] for n in FILTERS}}


def number(value: Any, shown: Any) -> Any:
    """Return a table cell that sorts by its exact value."""
    from markupsafe import Markup, escape

    if not known(value):
        return Markup('<td class="number"></td>')
    return Markup(f'<td class="number" data-value="{float(value):.9g}">{escape(shown)}</td>')
