"""Sections of the page, and the context of each one's template."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from mst import __version__, advice, resources
from mst.bench.records.store import CLAIMED
from mst.reporting import data
from mst.reporting.charts.pictures import symbols
from mst.reporting.charts.style import variables
from mst.reporting.page import advised, answer
from mst.reporting.page.explorer import as_json, explorer_data
from mst.reporting.page.facts import graph_rows, missing_graphs
from mst.units import counted
from mst.yaml_models import read_yaml

if TYPE_CHECKING:
    import pandas as pd

    from mst.bench.records.reference import About, Reference
    from mst.reporting.page.roadmap import Roads
    from mst.reporting.papers.section import Papers

FOLDER = resources.path("report")
_GRADES = {"identical": "with identical edges", "edges": "as right forests", "weight": "by their total"}
_HERE, _ELSEWHERE = "Measured here", "Reference measurements, made on other machines"


@dataclass(frozen=True)
class Shown:
    """Everything that sections show, as `mst.reporting.page.build.write_report` gathered it."""

    rows: pd.DataFrame
    manifests: Sequence[Mapping[str, Any]]
    machines: Sequence[Mapping[str, Any]]
    config: Mapping[str, Any]
    baseline: str
    figures: Sequence[Any]
    papers: Papers | None = None
    references: Sequence[Reference] = ()
    road_map: Roads | None = None
    digest: str = ""
    set_aside: Sequence[str] = ()

    @cached_property
    def about(self) -> dict[str, About]:
        """Attribution of each reference machine."""
        return {reference.machine: reference.about for reference in self.references}

    @cached_property
    def used(self) -> set[str]:
        """Names of the machines of all rows."""
        return set(self.rows["machine"])

    @cached_property
    def answers(self) -> list[Any]:
        """The fastest algorithms by hardware and kind of graph."""
        largest = {m["name"]: m.get("maximum_degree") for m in self.manifests}
        return answer.groups(self.rows, self.baseline, largest, {m["name"]: m for m in self.machines})

    @cached_property
    def advised(self) -> list[Any]:
        """Advice on algorithms, on the page of everything."""
        return advised.panels(advice.table()) if scope_of(self.config)[0] == "default" else []

    @cached_property
    def captions(self) -> dict[str, Any]:
        """The page's prose."""
        return read_yaml(FOLDER / "captions.yaml")


@dataclass(frozen=True)
class Section:
    """A part of the page: its template in ``report/sections``, its links in the navigation, and its own context.

    Beside its own context a template sees that of `frame`, and nothing of other sections.
    """

    template: str
    links: Sequence[tuple[str, str]]
    context: Callable[[Shown], dict[str, Any]] = lambda shown: {}


def sections(shown: Shown) -> list[Section]:
    """Return the parts of the page in their order."""
    papers = shown.papers.papers if shown.papers else []
    parts = [
        Section("answer", [("answer", "Fastest")], _answer),
        shown.advised and Section("advice", [("advice", "Advice")], _advice),
        shown.papers and Section("claims", [("claims", "Claims")]),
        shown.papers
        and Section("papers", [(f"paper-{p['id']}", p["title"].partition(":")[0]) for p in papers]),
        Section("charts", [(figure.name, figure.short) for figure in shown.figures]),
        Section("explorer", [("explorer", "Explorer")], _explorer),
        Section("graphs", [("graphs", "Graphs")], _graphs),
        Section("unfinished", [("unfinished", "Not finished")], _unfinished),
        Section("verification", [("verification", "Verification")], _verification),
        Section("records", [("records", "All records")], _records),
        Section("method", [("method", "Method")], _method),
        Section("machines", [("machines", "Machines")]),
        Section("noise", [("noise", "Noise")], _noise),
        Section("provenance", [("provenance", "Provenance")], lambda shown: {"digest": shown.digest}),
        Section("cite", [("cite", "How to cite")], _cite),
    ]
    return [part for part in parts if part]


def frame(shown: Shown) -> dict[str, Any]:
    """Return the context of the page around the sections, and of several sections."""
    rows, created = shown.rows, shown.rows["created"].dropna()
    machines = [_described(m, rows, shown.about) for m in shown.machines if m["name"] in shown.used]
    return {
        "title": _title(shown.config),
        "description": shown.config.get("description", ""),
        "css": _verbatim("style.css") + variables(),
        "js": _verbatim("page.js") + _verbatim("explorer.js"),
        "headline": answer.headline(shown.answers, shown.baseline),
        "counts": _counts(rows, shown.manifests),
        "captions": shown.captions,
        "baseline": shown.baseline,
        "figures": shown.figures,
        "papers": shown.papers,
        "machines": machines,
        "several_machines": len(shown.used) > 1,
        "commits": sorted(rows["commit"].dropna().unique()),
        "version": __version__,
        "newest": str(created.max())[:16].replace("T", " ") if len(created) else "",
    }


def _answer(shown: Shown) -> dict[str, Any]:
    best = [(words, data.best_of_each(rows)) for words, rows in _apart(shown.rows)]
    return {
        "answers": shown.answers,
        "hardware": [h.name for h in answer.HARDWARE],
        "best": [(words, rows) for words, rows in best if len(rows)],
    }


def _advice(shown: Shown) -> dict[str, Any]:
    return {"advice": advice.table(), "advised": shown.advised}


def _explorer(shown: Shown) -> dict[str, Any]:
    return {"explorer": Markup(as_json(explorer_data(shown.rows, shown.baseline, shown.about)))}


def _graphs(shown: Shown) -> dict[str, Any]:
    road_map, drawn = shown.road_map, symbols(str(m.get("family")) for m in shown.manifests)
    return {
        "graphs": graph_rows(shown.manifests),
        "missing_graphs": missing_graphs(shown.manifests),
        "pictures": {family: (words, Markup(symbol)) for family, (words, symbol) in drawn.items()},
        "road_map": road_map,
        "road_picture": base64.b64encode(road_map.png).decode() if road_map else "",
    }


def _unfinished(shown: Shown) -> dict[str, Any]:
    return {"unfinished": data.unfinished(shown.rows), "not_run": data.not_run(shown.rows)}


def _verification(shown: Shown) -> dict[str, Any]:
    parts = _apart(shown.rows)
    matrices = [(words, rows["machine"].nunique() > 1, *data.matrix(rows)) for words, rows in parts]
    return {"legend": data.SYMBOLS, "matrices": matrices}


def _records(shown: Shown) -> dict[str, Any]:
    rows = shown.rows.fillna({"grade": "", "reason": "", "flags": ""})
    filters = ("machine", "origin", "graph", "paradigm", "status")
    return {
        "filters": {name: sorted(str(value) for value in rows[name].dropna().unique()) for name in filters},
        "set_aside": shown.set_aside,
        "records": [row for _, own in data.by_machine(rows) for row in own.to_dict("records")],
    }


def _method(shown: Shown) -> dict[str, Any]:
    return {"configuration": json.dumps(dict(shown.config), indent=1, default=str)}


def _noise(shown: Shown) -> dict[str, Any]:
    return {"flags": data.flags(shown.rows, shown.captions["flags"]), "spreads": data.spreads(shown.rows)}


def _cite(shown: Shown) -> dict[str, Any]:
    """Return CITATION.cff of a checkout; an installed wheel has none."""
    file = FOLDER.parent / "CITATION.cff"
    return {"citation": file.read_text(encoding="utf-8") if file.is_file() else ""}


def scope_of(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return the scope of the page: *default*, or a kind such as *papers*, and the name of one of them."""
    kind, _, name = str(config.get("scope", "default")).partition("/")
    return kind, name


def _title(config: Mapping[str, Any]) -> str:
    """Return the experiment's title, after the name of the graph or algorithm if the page shows only one."""
    title = str(config.get("title", "Minimum spanning forests"))
    kind, name = scope_of(config)
    return f"{name} · {title}" if kind in ("graphs", "algorithms") else title


def _verbatim(name: str) -> Markup:
    return Markup((FOLDER / name).read_text(encoding="utf-8"))


def _apart(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows measured here and those of reference machines, each under its heading."""
    reference = rows["origin"] == "reference"
    return [
        (words, part) for words, part in ((_HERE, rows[~reference]), (_ELSEWHERE, rows[reference])) if len(part)
    ]


def _counts(rows: pd.DataFrame, manifests: Sequence[Mapping[str, Any]]) -> str:
    """Return the numbers of measured and proved runs, made here and on reference machines."""
    text = " ".join(
        "Reference measurements: " * (words != _HERE) + _counted(part) for words, part in _apart(rows)
    )
    missing = [m["name"] for m in manifests if m["status"] != "ok"]
    if missing:
        text += f" Unavailable graphs: {', '.join(missing)}."
    return text


def _counted(rows: pd.DataFrame) -> str:
    ok, status = rows[rows["status"] == "ok"], Counter(rows["status"])
    grades = Counter(ok["grade"][ok["grade"] != CLAIMED].dropna()).most_common()
    proved = ", ".join(f"{number:,} {_GRADES.get(grade, grade)}" for grade, number in grades)
    counts = [
        counted(len(ok), "run"),
        *(counted(ok[name].nunique(), name) for name in ("algorithm", "graph", "machine")),
    ]
    text = "{} of {} on {} and {}; proved: {}.".format(*counts, proved or "none")
    failed = {kind: status[kind] for kind in ("wrong", "timeout", "out-of-memory", "error") if status[kind]}
    if failed:
        text += " Not finished or wrong: " + ", ".join(f"{n:,} {kind}" for kind, n in failed.items()) + "."
    return text


def _described(machine: Mapping[str, Any], rows: pd.DataFrame, about: Mapping[str, About]) -> dict[str, Any]:
    """Return a machine's facts with its commits, the times of its records, and its attribution."""
    own = rows[rows["machine"] == machine["name"]]
    reference = about.get(machine["name"])
    times = [time.replace("T", " ") for time in sorted(own["created"].dropna().str[:16])] or [""]
    dated = (reference.date if reference else "") or " to ".join(dict.fromkeys((times[0][:10], times[-1][:10])))
    commits = sorted(own["commit"].dropna().unique())
    span = {"first": times[0], "last": times[-1]}
    return {**machine, "commits": commits, "reference": reference, "measured": dated, **span}
