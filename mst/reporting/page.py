"""The report: one HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst import resources
from mst.reporting.cells import FILTERS, RECORD_COLUMNS, number, record_row
from mst.reporting.table import replacing
from mst.reporting.words import count, seconds, times

if TYPE_CHECKING:
    from mst.bench.reference import About, Reference
    from mst.reporting.painters import Paint
    from mst.reporting.papers.section import Papers
    from mst.reporting.roadmap import Roads

_GRADES = {"identical": "with identical edges", "edges": "as right forests", "weight": "by their total"}
_MARKERS = "● sequential, ■ threads, ▲ CUDA, ◆ MPI, ✖ other libraries"


def write_report(
    *,
    table: Path,
    graphs: Sequence[Path],
    machines: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    out: Path,
    figures_folder: Path,
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
    machines : sequence of mapping
        Facts of each machine, as `mst.reporting.facts.machine_facts` collects them.
    config : mapping
        What the experiment was asked to do; ``title``, ``description`` and ``baseline`` are used, all of it is
        shown under *Method*.
    out : Path
        The page.
    figures_folder : Path
        Where the figures go, as SVG and PDF, each with its numbers as CSV; ``figures`` beside the page.
    records : sequence of Path
        Folders of records: the papers' claims are judged by them.
    references : sequence of Reference
        Machines whose records came with the code: shown apart, attributed and dated.
    mirrors : sequence of Path
        Folders that may hold the coordinates of a road network.
    """
    import pandas as pd

    from mst.bench.machine import usable_cores
    from mst.reporting.data import prepare
    from mst.reporting.figures import draw_all
    from mst.reporting.painters import painters
    from mst.reporting.roadmap import roads

    baseline = str(config.get("baseline", "kruskal"))
    rows = prepare(pd.read_parquet(table), baseline)
    known = {Path(path): json.loads(Path(path).read_text()) for path in graphs}
    manifests = list(known.values())
    Path(figures_folder).mkdir(parents=True, exist_ok=True)
    with painters(usable_cores()) as paint:
        figures = draw_all(_marked(rows), Path(figures_folder), baseline, paint)
        papers = _papers(rows, records, manifests, config, out, Path(figures_folder), paint)
    digest = hashlib.sha256(Path(table).read_bytes()).hexdigest()
    html = render(
        rows,
        manifests,
        machines,
        config,
        baseline,
        figures,
        papers,
        references,
        road_map=roads(known, mirrors),
        digest=digest,
    )
    with replacing(out) as temporary:
        temporary.write_text(html, encoding="utf-8")


def render(
    rows: Any,
    manifests: Sequence[Mapping[str, Any]],
    machines: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    baseline: str,
    figures: Sequence[Any],
    papers: Papers | None = None,
    references: Sequence[Reference] = (),
    road_map: Roads | None = None,
    digest: str = "",
) -> str:
    """Return the page's HTML."""
    import jinja2
    from markupsafe import Markup

    from mst import __version__, advice
    from mst.reporting import advised, answer, data, noise
    from mst.reporting.explorer import as_json, explorer_data
    from mst.reporting.graphs import graph_rows, missing_graphs
    from mst.reporting.pictures import symbols
    from mst.reporting.style import variables
    from mst.reporting.unfinished import not_run, unfinished
    from mst.typed import read_yaml

    folder = resources.path("report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=False,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(number=number, count=count, seconds=seconds, times=times)
    captions = read_yaml(folder / "captions.yaml")
    about = {reference.machine: reference.about for reference in references}
    used = set(rows["machine"])
    shown_machines = [_described(m, rows, about) for m in machines if m["name"] in used]
    matrix_graphs, matrix_rows = data.matrix(rows)
    largest = {m["name"]: m.get("maximum_degree") for m in manifests}
    pictures = symbols(str(m.get("family")) for m in manifests)
    advised_panels = advised.panels(advice.table()) if _scope(config)[0] == "default" else []
    answers = answer.groups(rows, baseline, largest, {m["name"]: m for m in machines})
    return environment.get_template("page.html.j2").render(
        title=config.get("title", "Minimum spanning forests"),
        description=config.get("description", ""),
        css=_verbatim(folder / "style.css") + variables(),
        js=_verbatim(folder / "page.js") + _verbatim(folder / "explorer.js"),
        explorer=Markup(as_json(explorer_data(rows, baseline, about))),
        headline=answer.headline(answers, baseline),
        counts=_counts(rows, manifests, shown_machines),
        sections=_sections(figures, papers, advised_panels),
        advice=advice.table(),
        advised=advised_panels,
        answers=answers,
        hardware=[h.name for h in answer.HARDWARE],
        best=_apart(data.best_of_each(rows), about),
        papers=papers,
        exhibit_ids={e["id"] for p in papers.papers for e in p["exhibits"]} if papers else set(),
        baseline=baseline,
        several_machines=len(used) > 1,
        machines=shown_machines,
        legend=data.legend(),
        matrix_graphs=matrix_graphs,
        matrix_rows=matrix_rows,
        unfinished=unfinished(rows),
        not_run=not_run(rows),
        figures=figures,
        marker_legend=_MARKERS,
        captions=captions,
        filters={name: sorted(str(v) for v in rows[name].dropna().unique()) for name in FILTERS},
        record_columns=RECORD_COLUMNS,
        records=[record_row(row) for row in rows.to_dict("records")],
        graphs=graph_rows(manifests),
        missing_graphs=missing_graphs(manifests),
        pictures={family: (words, Markup(symbol)) for family, (words, symbol) in pictures.items()},
        road_map=road_map,
        road_picture=base64.b64encode(road_map.png).decode() if road_map else "",
        citation=_citation(folder),
        flags=noise.flags(rows, captions["flags"]),
        spreads=noise.spreads(rows),
        digest=digest,
        commits=sorted(rows["commit"].dropna().unique()),
        asked=json.dumps(dict(config), indent=1, default=str),
        version=__version__,
        newest=str(rows["created"].dropna().max())[:16].replace("T", " ")
        if rows["created"].notna().any()
        else "",
    )


@dataclass(frozen=True)
class Section:
    """A part of the page: its template in ``report/sections``, and what the navigation calls it."""

    template: str
    links: Sequence[tuple[str, str]]


def _sections(figures: Sequence[Any], papers: Papers | None, advised: Sequence[Any]) -> list[Section]:
    """Return the parts of the page in their order."""
    links = _paper_sections(papers)
    shown = [
        Section("answer", [("answer", "Fastest")]),
        advised and Section("advice", [("advice", "Advice")]),
        papers and Section("claims", links[:1]),
        papers and Section("papers", links[1:]),
        Section("charts", [(figure.name, figure.short) for figure in figures]),
        Section("explorer", [("explorer", "Explorer")]),
        Section("graphs", [("graphs", "Graphs")]),
        Section("unfinished", [("unfinished", "Not finished")]),
        Section("verification", [("verification", "Verification")]),
        Section("records", [("records", "All records")]),
        Section("method", [("method", "Method")]),
        Section("machines", [("machines", "Machines")]),
        Section("noise", [("noise", "Noise")]),
        Section("provenance", [("provenance", "Provenance")]),
        Section("cite", [("cite", "How to cite")]),
    ]
    return [section for section in shown if section]


def _marked(rows: Any) -> Any:
    """Return the rows with reference machines called so, for the figures."""
    reference = rows["origin"] == "reference"
    return rows.assign(machine=rows["machine"].where(~reference, rows["machine"] + " (reference)"))


def _citation(folder: Path) -> str:
    """Return CITATION.cff of a checkout; an installed wheel has none."""
    file = folder.parent / "CITATION.cff"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _verbatim(file: Path) -> Any:
    from markupsafe import Markup

    return Markup(file.read_text(encoding="utf-8"))


def _papers(
    rows: Any,
    records: Sequence[Path],
    manifests: Sequence[Mapping[str, Any]],
    config: Mapping[str, Any],
    out: Path,
    folder: Path,
    paint: Paint,
) -> Papers | None:
    """Return what the page shows of the papers: all of them, one, or none where it is about one graph or algorithm."""
    from mst.reporting.observations import gather
    from mst.reporting.papers.section import papers_of

    kind, name = _scope(config)
    if kind not in ("default", "papers"):
        return None
    sources = gather(records, rows.to_dict("records"), manifests)
    return papers_of(sources, out, folder, only=name or None, every_picture=kind == "papers", paint=paint)


def _scope(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return what the page is about: *default*, or a kind such as *papers*, and which."""
    kind, _, name = str(config.get("scope", "default")).partition("/")
    return kind, name


def _paper_sections(papers: Papers | None) -> list[tuple[str, str]]:
    if papers is None:
        return []
    return [("claims", "Claims"), *((f"paper-{p['id']}", p["title"].partition(":")[0]) for p in papers.papers)]


def _apart(best: Sequence[Any], about: Mapping[str, About]) -> list[tuple[str, list[Any]]]:
    """Return what was measured here and what came as reference, each under its heading."""
    here = [b for b in best if b.machine not in about]
    elsewhere = [b for b in best if b.machine in about]
    groups = [("Measured here", here), ("Reference measurements, made on other machines", elsewhere)]
    return [(name, rows) for name, rows in groups if rows]


def _counts(rows: Any, manifests: Sequence[Mapping[str, Any]], machines: Sequence[Mapping[str, Any]]) -> str:
    status = Counter(rows["status"])
    grades = Counter(rows.loc[rows["status"] == "ok", "grade"].dropna())
    proved = ", ".join(f"{number} {_GRADES.get(grade, grade)}" for grade, number in grades.most_common())
    there = sum(m["status"] == "ok" for m in manifests)
    text = (
        f"{status['ok']} runs of {rows.loc[rows['status'] == 'ok', 'algorithm'].nunique()} algorithms on "
        f"{there} graphs and {len(machines)} machine{'s' if len(machines) != 1 else ''}; proved: {proved or 'none'}."
    )
    failed = {kind: status[kind] for kind in ("wrong", "timeout", "out-of-memory", "error") if status[kind]}
    if failed:
        text += " Not finished or wrong: " + ", ".join(f"{n} {kind}" for kind, n in failed.items()) + "."
    missing = [m["name"] for m in manifests if m["status"] != "ok"]
    if missing:
        text += f" Graphs not to be had: {', '.join(missing)}."
    return text


def _described(machine: Mapping[str, Any], rows: Any, about: Mapping[str, About]) -> dict[str, Any]:
    """Return a machine's facts with its commits and, of a reference machine, whose and of when they are."""
    own = rows[rows["machine"] == machine["name"]]
    reference = about.get(machine["name"])
    days = sorted({str(created)[:10] for created in own["created"].dropna()})
    dated = (reference.date if reference else "") or " to ".join(
        dict.fromkeys((days[0], days[-1])) if days else ()
    )
    commits = sorted(own["commit"].dropna().unique())
    times = sorted(str(created)[:16].replace("T", " ") for created in own["created"].dropna())
    span = {"first": times[0] if times else "", "last": times[-1] if times else ""}
    return {**machine, "commits": commits, "reference": reference, "measured": dated, **span}
