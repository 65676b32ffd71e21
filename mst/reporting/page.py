"""The report: one HTML page that needs nothing but itself."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mst.reporting.table import replacing


def write_report(
    *,
    table: Path,
    graphs: Sequence[Path],
    machines: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    out: Path,
    figures_folder: Path,
) -> None:
    """Write the page, and its figures beside it.

    Parameters
    ----------
    table : Path
        The tidy table (Parquet).
    graphs : sequence of Path
        Manifests of the graphs (JSON).
    machines : sequence of mapping
        Facts of each machine, as `mst.reporting.facts.machine_facts` collects them.
    config : mapping
        What the experiment was asked to do, shown under *Method*.
    out : Path
        The page.
    figures_folder : Path
        Where the figures go, as SVG and PDF, each with its numbers as CSV.
    """
    import pandas as pd

    from mst.reporting.figures import times

    rows = pd.read_parquet(table)
    manifests = [json.loads(Path(path).read_text()) for path in graphs]
    figure = times(rows, figures_folder)
    body = [
        "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        "<title>Minimum spanning forests</title><h1>Minimum spanning forests</h1>",
        f"<p>{len(rows)} records, {len(manifests)} graphs, {len(machines)} machines</p>",
        figure,
        "<h2>Verification</h2>",
        _matrix(rows),
        f"<pre>{html.escape(json.dumps(dict(config), indent=1, default=str))}</pre>",
    ]
    with replacing(out) as temporary:
        temporary.write_text("\n".join(body), encoding="utf-8")


def _matrix(rows) -> str:
    shown = rows.assign(cell=rows["grade"].where(rows["status"] == "ok", rows["status"]))
    cells = shown.groupby(["algorithm", "graph"])["cell"].agg(lambda c: ", ".join(sorted(set(map(str, c)))))
    return cells.unstack().fillna("not run").to_html()
