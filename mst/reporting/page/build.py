"""The report: one HTML page that needs nothing but itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.atomic import replacing
from mst.reporting.page.cells import number
from mst.units import count, percent, seconds, times

if TYPE_CHECKING:
    from mst.bench.records.reference import Reference
    from mst.reporting.charts.workers import Run
    from mst.reporting.page.sections import Shown
    from mst.reporting.papers.section import Papers


def write_report(
    *,
    table: Path,
    graphs: Sequence[Path],
    config: Mapping[str, Any],
    out: Path,
    records: Sequence[Path] = (),
    references: Sequence[Reference] = (),
    mirrors: Sequence[Path] = (),
) -> None:
    """Write the page, and its figures beside it.

    Parameters
    ----------
    table : Path
        The tidy table (Parquet).
    graphs : sequence of Path
        Manifests of the graphs (JSON).
    config : mapping
        The experiment; ``title``, ``description`` and ``baseline`` are used, all of it is shown under *Method*.
    out : Path
        The page. Its figures go to the folder ``figures`` beside it, as SVG and PDF, each with its numbers as CSV.
    records : sequence of Path
        Folders of records: they judge the papers' claims, and hold the facts of their machines.
    references : sequence of Reference
        Machines of committed records: shown apart, attributed and dated.
    mirrors : sequence of Path
        Folders that may hold the coordinates of a road network.
    """
    import pandas as pd

    from mst.bench.machine import usable_cores
    from mst.reporting.charts.figures import draw_all
    from mst.reporting.charts.workers import workers
    from mst.reporting.data import prepare
    from mst.reporting.page.facts import machine_facts
    from mst.reporting.page.roadmap import roads
    from mst.reporting.page.sections import Shown

    baseline = str(config.get("baseline", "kruskal"))
    rows = prepare(pd.read_parquet(table), baseline)
    known = {Path(path): json.loads(Path(path).read_text()) for path in graphs}
    manifests = list(known.values())
    figures_folder = out.with_name("figures")
    figures_folder.mkdir(parents=True, exist_ok=True)
    with workers(usable_cores()) as run:
        figures = draw_all(_marked(rows), figures_folder, baseline, run)
        papers = _papers(rows, records, manifests, config, out, run)
    digest = hashlib.sha256(Path(table).read_bytes()).hexdigest()
    road_map = roads(known, mirrors)
    html = render(
        Shown(
            rows,
            manifests,
            machine_facts(records),
            config,
            baseline,
            figures,
            papers,
            references,
            road_map,
            digest,
        )
    )
    Path(out).parent.mkdir(parents=True, exist_ok=True)
    with replacing(out) as temporary:
        temporary.write_text(html, encoding="utf-8")


def render(shown: Shown) -> str:
    """Return the page's HTML: its frame, and its sections with the context of each."""
    import jinja2

    from mst.reporting.page.sections import FOLDER, frame, sections

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        trim_blocks=False,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(number=number, count=count, percent=percent, seconds=seconds, times=times)
    parts = sections(shown)
    context = {**frame(shown), "sections": parts}
    for part in parts:
        context |= part.context(shown)
    return environment.get_template("page.html.j2").render(context)


def _marked(rows: Any) -> Any:
    """Return the rows with reference machines marked in their names, for the figures."""
    reference = rows["origin"] == "reference"
    return rows.assign(machine=rows["machine"].where(~reference, rows["machine"] + " (reference)"))


def _papers(
    rows: Any,
    records: Sequence[Path],
    manifests: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    out: Path,
    run: Run,
) -> Papers | None:
    """Return the papers on the page: all, one, or none where the page is about one graph or algorithm."""
    from mst.reporting.page.sections import scope_of
    from mst.reporting.papers.observations import gather
    from mst.reporting.papers.section import papers_of

    kind, name = scope_of(config)
    if kind not in ("default", "papers"):
        return None
    sources = gather(records, rows.to_dict("records"), manifests)
    return papers_of(
        sources, out, out.with_name("figures"), only=name or None, every_picture=kind == "papers", run=run
    )
