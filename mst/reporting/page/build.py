"""The report: a front page and a page for each subject, all of which need nothing but themselves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup

from mst.atomic import write_text
from mst.bench.records.reference import Reference
from mst.bench.records.store import Record, load_records, reading_table
from mst.cores import granted_cores
from mst.reporting.charts.figures import draw_all
from mst.reporting.charts.workers import rare_collections, workers
from mst.reporting.data import prepared_rows
from mst.reporting.page.chapters import PAGE_SOURCES, ReportData, chapters, frame, scope_of, verbatim
from mst.reporting.page.facts import machine_facts
from mst.reporting.papers.observations import gather, read_manifests
from mst.reporting.papers.section import papers_of
from mst.reporting.table import set_aside_of
from mst.units import count, known, percent, seconds, times


@rare_collections()
def write_report(
    *,
    table: Path,
    graphs: Sequence[Path],
    config: Mapping[str, Any],
    out: Path,
    records: Sequence[Path] = (),
    references: Sequence[Reference] = (),
    plan: Sequence[Mapping[str, Any]] = (),
) -> list[Path]:
    """Write the front page `out`, the other pages in the folder of its name, and figures beside it; return the pages.

    Figures go to the folder ``figures``, as SVG and PDF, each with its numbers as CSV. They are made of the tidy
    `table` (Parquet) and the manifests of the `graphs` (JSON). Of the experiment `config`, ``title``, ``description``
    and ``baseline`` are used, and all is shown under *Method*. The folders of `records` judge the papers' claims and
    hold the facts of their machines; those of `references` are shown apart, attributed and dated. Runs of the `plan`
    without a row in the table are said to be still to come.
    """
    baseline = str(config.get("baseline", "kruskal"))
    # Choosing rows is several times as fast where the strings are Python's, not Arrow's.
    with pd.option_context("mode.string_storage", "python"):
        with reading_table(table):
            rows = pd.read_parquet(table)
        rows = prepared_rows(rows, baseline)
    set_aside = set_aside_of(table)
    manifests = read_manifests(graphs, set_aside.append)
    folder = out.with_name("figures")
    pages = out.with_suffix("") if out.suffix else out.with_name(f"{out.name}-pages")
    for made in (folder, pages):
        made.mkdir(parents=True, exist_ok=True)
    kind, name = scope_of(config)
    found: Iterable[Record] = load_records(*records)
    with workers(min(granted_cores(), len(rows) // 60)) as run:  # two start in the time that one draws 120 rows
        figures = draw_all(rows, folder, baseline, run)
        papers: list[dict[str, Any]] = []
        # A report about one graph or algorithm has no papers.
        if kind in ("default", "papers"):
            found = list(found)
            sources = gather(found, rows.to_dict("records"), manifests)
            elsewhere = frozenset(rows.loc[rows["origin"] == "reference", "machine"])
            every = kind == "papers"
            papers = papers_of(
                sources, pages, folder, only=name or None, every_picture=every, elsewhere=elsewhere, run=run
            )
    report = ReportData(
        rows=rows,
        manifests=manifests,
        machines=machine_facts(found),
        config=config,
        baseline=baseline,
        figures=figures,
        papers=papers,
        references=references,
        to_come=_to_come(plan, rows),
        digest=hashlib.sha256(table.read_bytes()).hexdigest(),
        set_aside=set_aside,
    )
    written = []
    for stem, text in render(report, out.name, pages.name):
        written.append(pages / f"{stem}.html" if stem else out)
        write_text(written[-1], text)
    return written


def _to_come(plan: Sequence[Mapping[str, Any]], rows: Any) -> int:
    """Return how many planned runs have no row."""
    keys = ["machine", "graph", "algorithm", "options", "width"]
    measured = set(rows[keys].itertuples(index=False, name=None))
    return sum(
        run.get("status") == "planned" and tuple(run.get(key) for key in keys) not in measured for run in plan
    )


def render(report: ReportData, front: str = "report.html", folder: str = "report") -> Iterator[tuple[str, str]]:
    """Yield the stem of each page and its HTML: its frame around its sections, each from its own context.

    The folder has the front page, too, as ``index``, and its pages link to that: the engine's report includes only the
    folder, not the files next to it. The stem of the front page, which is called `front`, is empty; the others are in
    the `folder` next to it.
    """
    templates, around, made = environment(), frame(report), chapters(report)
    outside = {"root": "", "pages": f"{folder}/", "front": front}
    inside = {"root": "../", "pages": "", "front": "index.html"}
    for chapter, stem in ((c, stem) for c in made for stem in ([c.stem] if c.stem else ["", "index"])):
        context = around | (inside if stem else outside)
        parts = []
        for part in chapter.sections:
            template = templates.get_template(f"sections/{part.template}.html.j2")
            parts.append((part.links, Markup(template.render(context, **part.context))))
        scripts = Markup("").join(verbatim(script) for script in chapter.scripts)
        page = templates.get_template("page.html.j2")
        yield stem, page.render(context, chapter=chapter, chapters=made, sections=parts, scripts=scripts)


def environment() -> jinja2.Environment:
    """Return the environment of the pages' templates, which escape every value and know the units."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE_SOURCES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    made.globals |= {function.__name__: function for function in (count, known, percent, seconds, times)}
    made.globals["number"] = vars(made.get_template("number.html.j2").module)["number"]
    return made
