"""The report: one HTML page that needs nothing but itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.atomic import write_text
from mst.errors import MSTError
from mst.units import count, known, percent, seconds, size, times

if TYPE_CHECKING:
    import jinja2

    from mst.bench.records.reference import Reference
    from mst.reporting.page.sections import Shown


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
    from mst.reporting.page.sections import Shown, scope_of
    from mst.reporting.papers.observations import gather
    from mst.reporting.papers.section import papers_of
    from mst.reporting.table import set_aside_of

    baseline = str(config.get("baseline", "kruskal"))
    rows = prepare(pd.read_parquet(table), baseline)
    set_aside = set_aside_of(table)
    known = _read_manifests(graphs, set_aside)
    manifests = list(known.values())
    folder = out.with_name("figures")
    folder.mkdir(parents=True, exist_ok=True)
    kind, name = scope_of(config)
    with workers(usable_cores()) as run:
        reference = rows["origin"] == "reference"
        marked = rows["machine"].where(~reference, rows["machine"] + " (reference)")
        figures = draw_all(rows.assign(machine=marked), folder, baseline, run)
        papers = None
        # A page about one graph or algorithm has no papers.
        if kind in ("default", "papers"):
            sources = gather(records, rows.to_dict("records"), manifests)
            every = kind == "papers"
            papers = papers_of(sources, out, folder, only=name or None, every_picture=every, run=run)
    shown = Shown(
        rows=rows,
        manifests=manifests,
        machines=machine_facts(records),
        config=config,
        baseline=baseline,
        figures=figures,
        papers=papers,
        references=references,
        road_map=roads(known, mirrors),
        digest=hashlib.sha256(table.read_bytes()).hexdigest(),
        set_aside=set_aside,
    )
    write_text(out, render(shown))


def _read_manifests(files: Iterable[Path], set_aside: list[str]) -> dict[Path, dict[str, Any]]:
    """Return the manifests by their files; note the reasons of invalid ones."""
    from mst.catalog import read_manifest

    known = {}
    for file in files:
        try:
            read_manifest(file)
            known[file] = json.loads(file.read_text())
        except MSTError as error:
            set_aside.append(str(error))
    return known


def render(shown: Shown) -> str:
    """Return the page's HTML: its frame around its sections, each from its own context and the frame's."""
    from markupsafe import Markup

    from mst.reporting.page.sections import frame, sections

    templates, around = environment(), frame(shown)
    parts = []
    for part in sections(shown):
        template = templates.get_template(f"sections/{part.template}.html.j2")
        parts.append((part.links, Markup(template.render(around | part.context(shown)))))
    return templates.get_template("page.html.j2").render(around, sections=parts)


def environment() -> jinja2.Environment:
    """Return the environment of the page's templates, which escape every value and know the units."""
    import jinja2

    from mst.reporting.page.sections import FOLDER

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER), autoescape=True, undefined=jinja2.StrictUndefined
    )
    made.globals |= {"number": number} | {f.__name__: f for f in (count, percent, seconds, size, times)}
    return made


def number(value: Any, shown: Any) -> Any:
    """Return a table cell that sorts by its exact value."""
    from markupsafe import Markup

    if not known(value):
        return Markup('<td class="number"></td>')
    return Markup('<td class="number" data-value="{}">{}</td>').format(f"{float(value):.9g}", shown)
