"""The report: one HTML page that needs nothing but itself."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst import resources
from mst.reporting.table import replacing

if TYPE_CHECKING:
    from mst.bench.reference import About, Reference
    from mst.reporting.papers.section import Papers

_MARKERS = "● sequential, ■ threads, ▲ CUDA, ◆ MPI, ✖ other libraries"
_RECORD_COLUMNS = (
    ("algorithm", "text"),
    ("graph", "text"),
    ("machine", "text"),
    ("status", "text"),
    ("proof", "text"),
    ("time", "number"),
    ("95 % interval", "text"),
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
_FILTERS = ("machine", "origin", "graph", "paradigm", "status")


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
    """
    import pandas as pd

    from mst.reporting.data import prepare
    from mst.reporting.figures import draw_all

    baseline = str(config.get("baseline", "kruskal"))
    rows = prepare(pd.read_parquet(table), baseline)
    manifests = [json.loads(Path(path).read_text()) for path in graphs]
    Path(figures_folder).mkdir(parents=True, exist_ok=True)
    figures = draw_all(rows, Path(figures_folder), baseline)
    papers = _papers(rows, records, manifests, config, out, Path(figures_folder))
    html = render(rows, manifests, machines, config, baseline, figures, papers, references)
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
) -> str:
    """Return the page's HTML."""
    import jinja2

    from mst import __version__
    from mst.reporting import data
    from mst.reporting.style import variables
    from mst.typed import read_yaml

    folder = resources.path("report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        trim_blocks=False,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(number=_number, count=count, seconds=seconds, times=times)
    captions = read_yaml(folder / "captions.yaml")
    best = data.best_of_each(rows)
    matrix_graphs, matrix_rows = data.matrix(rows)
    used = set(rows["machine"])
    about = {reference.machine: reference.about for reference in references}
    shown_machines = [_described(m, rows, about) for m in machines if m["name"] in used]
    return environment.get_template("page.html.j2").render(
        title=config.get("title", "Minimum spanning forests"),
        description=config.get("description", ""),
        css=_verbatim(folder / "style.css") + variables(),
        js=_verbatim(folder / "page.js"),
        answer=_answer(best, rows, baseline, about),
        counts=_counts(rows, manifests, shown_machines),
        sections=[
            ("answer", "Fastest"),
            ("machines", "Machines"),
            ("verification", "Verification"),
            *((figure.name, figure.title) for figure in figures),
            *_paper_sections(papers),
            ("records", "All records"),
            ("graphs", "Graphs"),
            ("noise", "Noise"),
            ("method", "Method"),
            ("versions", "Versions"),
        ],
        best=_apart(best, about),
        papers=papers,
        exhibit_ids={e["id"] for p in papers.papers for e in p["exhibits"]} if papers else set(),
        baseline=baseline,
        several_machines=len(used) > 1,
        machines=shown_machines,
        legend=data.legend(),
        matrix_graphs=matrix_graphs,
        matrix_rows=matrix_rows,
        troubles=_troubles(rows),
        not_run=_not_run(rows),
        figures=figures,
        marker_legend=_MARKERS,
        captions=captions,
        filters={name: sorted(str(v) for v in rows[name].dropna().unique()) for name in _FILTERS},
        record_columns=_RECORD_COLUMNS,
        records=[_record(row) for row in rows.to_dict("records")],
        graphs=[_graph(m) for m in sorted(manifests, key=lambda m: (m.get("m") or 0, m["name"]))],
        flags=_flags(rows, captions["flags"]),
        asked=json.dumps(dict(config), indent=1, default=str),
        version=__version__,
        newest=str(rows["created"].dropna().max())[:16].replace("T", " ")
        if rows["created"].notna().any()
        else "",
    )


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
) -> Papers | None:
    """Return what the page shows of the papers: all of them, one, or none where it is about one graph or algorithm."""
    from mst.reporting.observations import gather
    from mst.reporting.papers.section import papers_of

    kind, _, name = str(config.get("scope", "default")).partition("/")
    if kind not in ("default", "papers"):
        return None
    sources = gather(records, rows.to_dict("records"), manifests)
    return papers_of(sources, out, folder, only=name or None, every_picture=kind == "papers")


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


def _answer(best: Sequence[Any], rows: Any, baseline: str, about: Mapping[str, About]) -> str:
    """Return the first sentence: what is fastest, how often, by how much."""
    from mst.reporting.data import geometric_mean

    if not best:
        return "Nothing has been measured and proved yet."
    sentences = []
    for machine in sorted(dict.fromkeys(b.machine for b in best), key=lambda name: name in about):
        mine = [b for b in best if b.machine == machine]
        winner, wins = Counter(b.algorithm for b in mine).most_common(1)[0]
        won = [b for b in mine if b.algorithm == winner]
        over = geometric_mean(b.over_baseline for b in won if b.over_baseline)
        graphs = f"{wins} of {len(mine)} graphs" if len(mine) > 1 else f"the one graph, {mine[0].graph}"
        where = f"On {machine} (reference)" if machine in about else f"On {machine}"
        sentence = f"{where}, {winner} is fastest on {graphs}"
        if not math.isnan(over) and winner != baseline:
            sentence += f", {over:.1f}× over {baseline} there (geometric mean)"
        peers = geometric_mean(b.over_peer for b in mine if b.over_peer)
        if not math.isnan(peers):
            sentence += f"; the best code of each graph is {peers:.1f}× faster than the best library"
        sentences.append(sentence + ".")
    return " ".join(sentences)


def _counts(rows: Any, manifests: Sequence[Mapping[str, Any]], machines: Sequence[Mapping[str, Any]]) -> str:
    status = Counter(rows["status"])
    grades = Counter(rows.loc[rows["status"] == "ok", "grade"].dropna())
    proved = ", ".join(f"{number} by {grade}" for grade, number in grades.most_common())
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


def _troubles(rows: Any) -> list[dict[str, Any]]:
    from mst.reporting.data import NOT_FINISHED

    bad = rows[rows["status"].isin([*NOT_FINISHED, "wrong"])]
    columns = ["status", "series", "graph", "machine", "reason"]
    return bad.sort_values(["status", "series"])[columns].fillna("").to_dict("records")


def _not_run(rows: Any) -> list[dict[str, Any]]:
    """Return what was not run, the graphs of one reason together."""
    from mst.reporting.data import NOT_RUN

    skipped = rows[rows["status"].isin(NOT_RUN)]
    grouped: dict[tuple, list[str]] = {}
    for row in skipped.to_dict("records"):
        grouped.setdefault((row["series"], row["status"], row["reason"] or ""), []).append(row["graph"])
    return [
        {"algorithm": series, "status": status, "reason": reason, "graphs": ", ".join(dict.fromkeys(graphs))}
        for (series, status, reason), graphs in grouped.items()
    ]


def _flags(rows: Any, meanings: Mapping[str, str]) -> list[tuple[str, int, str]]:
    counted = Counter(flag for flags in rows["flags"].dropna() for flag in flags.split(",") if flag)
    return [(flag, number, meanings.get(flag, "")) for flag, number in counted.most_common()]


def _described(machine: Mapping[str, Any], rows: Any, about: Mapping[str, About]) -> dict[str, Any]:
    """Return a machine's facts with its commits and, of a reference machine, whose and of when they are."""
    own = rows[rows["machine"] == machine["name"]]
    reference = about.get(machine["name"])
    days = sorted({str(created)[:10] for created in own["created"].dropna()})
    dated = (reference.date if reference else "") or " to ".join(
        dict.fromkeys((days[0], days[-1])) if days else ()
    )
    commits = sorted(own["commit"].dropna().unique())
    return {**machine, "commits": commits, "reference": reference, "measured": dated}


def _graph(manifest: Mapping[str, Any]) -> dict[str, Any]:
    raw = manifest.get("raw") or {}
    generator = manifest.get("generator")
    if manifest["status"] != "ok":
        source = f"not to be had: {manifest.get('reason') or ''}"
    elif generator:
        given = ", ".join(f"{k} = {v}" for k, v in generator.items())
        source = f"generated: {given}"
    else:
        source = raw.get("location", "").rsplit("/", 1)[-1] + (f" ({raw.get('format')})" if raw else "")
    low, high = manifest.get("weight_min"), manifest.get("weight_max")
    weights = f"{manifest.get('weight_dtype')}, {low:,} … {high:,}" if low is not None else ""
    average = manifest.get("average_degree")
    keys = ("name", "family", "n", "m", "components", "average_degree", "maximum_degree")
    return {
        **{key: manifest.get(key) for key in keys},
        "average_degree_text": f"{average:.2f}" if average is not None else "",
        "weights_text": weights,
        "source_text": source,
        "sha256": raw.get("sha256"),
    }


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    from markupsafe import Markup, escape

    def text(value: Any, kind: str = "") -> Markup:
        shown = "" if value is None or value != value else value
        return Markup(f"<td{kind}>{escape(shown)}</td>")

    interval = ""
    if _known(row["compute_low"]):
        interval = f"{seconds(row['compute_low'])} – {seconds(row['compute_high'])}"
    status = row["status"]
    reason = row["reason"] if isinstance(row["reason"], str) else ""
    marked = Markup(f'<td class="{status}" title="{escape(reason)}">{status}</td>')
    cells = [
        Markup(f'<th scope="row">{escape(row["series"])}</th>'),
        text(row["graph"]),
        text(row["machine"]),
        marked if status != "ok" else text("ok"),
        text(row["grade"]),
        _number(row["compute_seconds"], seconds(row["compute_seconds"])),
        text(interval),
        _number(row["init_seconds"], seconds(row["init_seconds"])),
        _number(row["transfer_seconds"], seconds(row["transfer_seconds"])),
        _number(row["edges_per_second"], count(row["edges_per_second"])),
        _number(row["speedup"], times(row["speedup"])),
        _number(row["self_speedup"], times(row["self_speedup"])),
        _number(row["peak_bytes"], size(row["peak_bytes"])),
        _number(row["energy_joules"], f"{row['energy_joules']:.3g}" if _known(row["energy_joules"]) else ""),
        _number(row["processes"] or None, row["processes"]),
        text((row["flags"] or "").replace(",", ", "), ' class="flag"'),
    ]
    return {"cells": cells, "filters": {n: row[n] for n in _FILTERS}}


def _number(value: Any, shown: Any) -> Any:
    """Return a table cell that sorts by its exact value."""
    from markupsafe import Markup, escape

    if not _known(value):
        return Markup('<td class="number"></td>')
    return Markup(f'<td class="number" data-value="{float(value):.9g}">{escape(shown)}</td>')


def _known(value: Any) -> bool:
    return value is not None and value == value


def seconds(value: float | None) -> str:
    """Write a time with three significant digits and a unit."""
    if not _known(value):
        return ""
    assert value is not None
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}" if value / limit < 1000 else f"{value / limit:,.0f} {unit}"
    return f"{value * 1e9:.0f} ns"


def count(value: float | None) -> str:
    """Write a count: exact below ten thousand, then three digits with k, M or G."""
    if not _known(value):
        return ""
    assert value is not None
    for limit, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if value >= limit:
            return f"{value / (1e3 if unit == ' k' else limit):.3g}{unit}"
    return f"{value:,.0f}"


def times(value: float | None) -> str:
    """Write a ratio."""
    if not _known(value):
        return ""
    assert value is not None
    return f"{value:.2f}×" if value < 10 else f"{value:.1f}×" if value < 100 else f"{value:.0f}×"


def size(value: float | None) -> str:
    """Write bytes with a binary unit."""
    if not _known(value):
        return ""
    assert value is not None
    for limit, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value:.0f} B"
