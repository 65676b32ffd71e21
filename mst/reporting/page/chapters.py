"""Chapters of the report: the front page and a page for each subject, their sections, and each section's context."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import pandas as pd
from markupsafe import Markup

from mst import __version__, advice, resources
from mst.bench.records.reference import About, Reference
from mst.bench.records.store import CLAIMED
from mst.bench.statistics import FEWEST_PROCESSES
from mst.reporting import data
from mst.reporting.charts.style import variables
from mst.reporting.page import answer, chooser
from mst.reporting.page.explorer import as_json, explorer_data
from mst.reporting.page.facts import gpus_in_words, graph_rows, missing_graphs
from mst.reporting.papers.claims import CONFIRMED, CONTRADICTED, ON_STAND_INS
from mst.units import counted
from mst.yaml_models import read_yaml

PAGE_SOURCES = resources.path("report")
_GRADES = {"identical": "with identical edges", "edges": "as right forests", "weight": "by their total"}
_HERE, _ELSEWHERE = "Measured here, or imported", "Measured on reference machines"
_FRONT = ("landscape", "self-speedup", "speedup")  # the figures of the front page


@dataclass(frozen=True)
class ReportData:
    """Everything that the chapters show, as `mst.reporting.page.build.write_report` gathered it."""

    rows: pd.DataFrame
    manifests: Sequence[Mapping[str, Any]]
    machines: Sequence[Mapping[str, Any]]
    config: Mapping[str, Any]
    baseline: str
    figures: Sequence[Any]
    papers: Sequence[Mapping[str, Any]] = ()
    references: Sequence[Reference] = ()
    to_come: int = 0
    digest: str = ""
    set_aside: Sequence[str] = ()

    @cached_property
    def about(self) -> dict[str, About]:
        """Attribution of each reference machine."""
        return {reference.machine: reference.about for reference in self.references}

    @cached_property
    def cards(self) -> list[answer.Card]:
        """The fastest algorithms by hardware and machine."""
        return answer.cards(self.rows, self.baseline, {m["name"]: m for m in self.machines})

    @cached_property
    def described(self) -> list[dict[str, Any]]:
        """The machines of all rows with their commits, the times of their records, and their attribution."""
        used = set(self.rows["machine"])
        return [_described(m, self.rows, self.about) for m in self.machines if m["name"] in used]

    @cached_property
    def captions(self) -> dict[str, Any]:
        """The pages' prose."""
        return read_yaml(PAGE_SOURCES / "captions.yaml")


class Section(NamedTuple):
    """A part of a page: its template in ``report/sections``, its links in the table of contents, its own context.

    Besides its own context, a template sees that of `frame`, and nothing of other sections.
    """

    template: str
    links: Sequence[tuple[str, str]]
    context: Mapping[str, Any]


class Chapter(NamedTuple):
    """A page: the stem of its file (empty for the front page), its title, its sections, and its scripts."""

    stem: str
    title: str
    sections: Sequence[Section]
    scripts: Sequence[str] = ()


def chapters(report: ReportData) -> list[Chapter]:
    """Return the front page and the other pages in their order."""
    others = [figure for figure in report.figures if figure.name not in _FRONT]
    flags = data.flag_counts(report.rows, report.captions["flags"])
    graphs = {"graphs": graph_rows(report.manifests), "missing_graphs": missing_graphs(report.manifests)}
    machines = [(f"machine-{place}", machine["name"]) for place, machine in enumerate(report.described, 1)]
    bibtex = (PAGE_SOURCES / "references.bib").read_text(encoding="utf-8").replace("{VERSION}", __version__)
    configuration = json.dumps(dict(report.config), indent=1, default=str)
    parts = _apart(report.rows)
    matrices = [(words, own["machine"].nunique() > 1, *data.proof_matrix(own)) for words, own in parts]
    proofs = [
        _alone("verification", "Verification", {"matrices": matrices}),
        _alone("unfinished", "Unfinished runs", data.without_result(report.rows)),
    ]
    method = [
        _alone("method", "Method", {"configuration": configuration}),
        _alone("cite", "How to cite", {"bibtex": bibtex}),
    ]
    explorer, spreads = _alone("explorer", "Explorer", _explorer(report)), data.spreads(report.rows)
    return [
        Chapter("", "Results", _front(report), ["copy.js", "front.js"]),
        *map(_paper, report.papers),
        *([Chapter("charts", "Charts", [_charts(others)])] if others else ()),
        Chapter("explorer", "Explorer: every proved run", [explorer], ["page.js", "explorer.js"]),
        Chapter("graphs", "Graphs", [_alone("graphs", "Graphs", graphs)], ["page.js"]),
        Chapter("proofs", "Proofs: verified and failed runs", proofs, ["page.js"]),
        Chapter("noise", "Noise", [_alone("noise", "Noise", {"flags": flags, "spreads": spreads})]),
        Chapter("machines", "Machines", [Section("machines", machines, {"machines": report.described})]),
        Chapter("method", "Method", method, ["copy.js"]),
    ]


def _alone(template: str, title: str, context: Mapping[str, Any]) -> Section:
    """Return a section with one link, whose anchor is the template's name."""
    return Section(template, [(template, title)], context)


def _front(report: ReportData) -> list[Section]:
    drawn = {figure.name: figure for figure in report.figures}
    context = _answer(report)
    links = [("answer", "What to use")] * bool(context["choices"]) + [("fastest", "Fastest")]
    return [
        *_times(report),
        Section("answer", links, context),
        *(_charts([drawn[name]]) for name in _FRONT if name in drawn),
        *([_alone("papers", "Five papers", _papers(report))] if report.papers else []),
        _alone("doubts", "Doubts and gaps", _doubts(report)),
    ]


def _times(report: ReportData) -> list[Section]:
    """Return the times on a page about one graph or algorithm, whose headline names the fastest alone."""
    kind, subject = scope_of(report.config)
    rows = report.rows[~report.rows["status"].isin(data.NOT_RUN)]
    if kind not in ("graphs", "algorithms") or rows.empty:
        return []
    # The time of a run that is not shown is no figure to compare.
    rows = rows.assign(compute_seconds=rows["compute_seconds"].where(rows["shown"]))
    best = rows.sort_values(["m", "graph", "machine", "compute_seconds"], kind="stable")
    best = best.drop_duplicates(["graph", "machine", "name"])
    exact = best["compute_seconds"].where(best["exact"])
    ratios = best["compute_seconds"] / exact.groupby([best["graph"], best["machine"]]).transform("min")
    return [_alone("times", "Times", {"runs": list(zip(best.itertuples(), ratios)), "subject": subject})]


def _paper(paper: Mapping[str, Any]) -> Chapter:
    links = [(e["id"], e["number"].replace("text", e["title"])) for e in paper["exhibits"]]
    section = Section("paper", [("claims", "Claims"), *links], {"paper": paper})
    return Chapter(paper["id"], paper["title"], [section], ["page.js"])


def _charts(figures: Sequence[Any]) -> Section:
    return Section("charts", [(f.name, f.short) for f in figures], {"figures": figures})


def frame(report: ReportData) -> dict[str, Any]:
    """Return the context of every page around its sections."""
    rows, created = report.rows, report.rows["created"].dropna()
    # The quiet records of reference machines would hide that those made here were disturbed.
    whose, made = next(iter(_apart(rows[rows["created"].notna()])), ("", rows[:0]))
    lead = answer.leading(report.cards)
    return {
        "title": _title(report.config),
        "description": report.config.get("description", ""),
        "css": verbatim("style.css") + variables(),
        "counts": [f"{words}: {_counted(part)}" for words, part in _apart(rows)],
        "headline": answer.headline(report.cards, report.baseline),
        "lead_badge": lead.finding.badge if lead and lead.finding else None,
        "disturbed": int(made["disturbed"].sum()),
        "measured": len(made),
        "whose": whose,
        "to_come": report.to_come,
        "captions": report.captions,
        "baseline": report.baseline,
        "several_machines": rows["machine"].nunique() > 1,
        "version": __version__,
        "newest": str(created.max())[:16].replace("T", " ") if len(created) else "",
    }


def _answer(report: ReportData) -> dict[str, Any]:
    largest = {m["name"]: m.get("maximum_degree") for m in report.manifests}
    table = advice.table()
    if scope_of(report.config)[0] not in ("default", "first") or not table.cells:
        return {"cards": report.cards, "choices": None, "at": "", "overview": []}
    made = chooser.choices(table)
    at, rows = chooser.overview(made)
    made["evidence"] = chooser.evidence(report.rows, report.baseline, largest)
    return {"cards": report.cards, "choices": as_json(made), "at": at, "overview": (made["hardware"], rows)}


def _papers(report: ReportData) -> dict[str, Any]:
    """Return each paper with its numbers of claims by verdict, those on stand-ins, and the claim that matters most."""
    rows = []
    for paper in report.papers:
        claims = paper["claims"]
        tally = Counter(claim["overall"] for claim in claims)
        judged = [tally[CONFIRMED], tally[CONTRADICTED]]
        matters = [claim for claim in claims if claim["id"] == report.captions["matters"].get(paper["id"])]
        besides = ", ".join(
            f"{n} {verdict.removesuffix(ON_STAND_INS)}" for verdict, _, n in paper["on_stand_ins"]
        )
        rows.append((paper, [*judged, len(claims) - sum(judged), besides], next(iter(matters), None)))
    return {"papers": rows}


def _doubts(report: ReportData) -> dict[str, Any]:
    rows = report.rows
    status = Counter(rows["status"])
    return {
        "missing": [m["name"] for m in report.manifests if m["status"] != "ok"],
        "flagged": data.flag_counts(rows, report.captions["flags"]),
        "unproved": int((rows["grade"].isna() & (rows["status"] == "ok")).sum()),
        "claimed": int((rows["grade"] == CLAIMED).sum()),
        "set_aside": report.set_aside,
        "few": int((rows["shown"] & (rows["processes"] < FEWEST_PROCESSES)).sum()),
        "wrong": sorted(rows.loc[rows["status"] == "wrong", "series"].unique()),
        "failed": {kind: status[kind] for kind in data.NOT_FINISHED if status[kind]},
        "impossible": {kind: status[kind] for kind in data.NOT_RUN if status[kind]},
    }


def _explorer(report: ReportData) -> dict[str, Any]:
    runs = explorer_data(report.rows, report.baseline, report.about)
    return {
        "left_out": runs["left_out"],
        "explorer": Markup(as_json(runs)),
        "anything": bool(report.rows["shown"].any()),
        "digest": report.digest,
    }


def scope_of(config: Mapping[str, Any]) -> tuple[str, str]:
    """Return the scope of the page: *default*, or a kind such as *papers*, and the name of one of them."""
    kind, _, name = str(config.get("scope", "default")).partition("/")
    return kind, name


def _title(config: Mapping[str, Any]) -> str:
    """Return the experiment's title, after the name of the graph or algorithm if the page shows only one."""
    title = str(config.get("title", "Minimum spanning forests"))
    kind, name = scope_of(config)
    return f"{name} · {title}" if kind in ("graphs", "algorithms") else title


def verbatim(name: str) -> Markup:
    """Return a file of the folder ``report`` to stand in a page as it is."""
    return Markup((PAGE_SOURCES / name).read_text(encoding="utf-8"))


def _apart(rows: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the rows measured here and those of reference machines, each under its heading."""
    reference = rows["origin"] == "reference"
    parts = (_HERE, rows[~reference]), (_ELSEWHERE, rows[reference])
    return [(words, part) for words, part in parts if len(part)]


def _counted(rows: pd.DataFrame) -> str:
    """Return the numbers of measured and proved runs in words."""
    ok = rows[rows["status"] == "ok"]
    grades = Counter(ok["grade"][ok["grade"] != CLAIMED].dropna()).most_common()
    proved = ", ".join(f"{number:,} {_GRADES.get(grade, grade)}" for grade, number in grades)
    counts = [counted(len(ok), "run"), *(counted(ok[name].nunique(), name) for name in ("algorithm", "graph"))]
    machines = ", ".join(sorted(ok["machine"].unique()))
    return "{} of {} on {}".format(*counts) + f" ({machines or 'no machine'}); proved: {proved or 'none'}."


def _described(machine: Mapping[str, Any], rows: pd.DataFrame, about: Mapping[str, About]) -> dict[str, Any]:
    """Return a machine's facts with its commits, the times of its records, and its attribution."""
    own = rows[rows["machine"] == machine["name"]]
    reference = about.get(machine["name"])
    times = [time.replace("T", " ") for time in sorted(own["created"].dropna().str[:16])] or [""]
    commits = sorted(own["commit"].dropna().unique())
    span = {"first": times[0], "last": times[-1]}
    return {
        **machine,
        "gpus": gpus_in_words(machine["gpus"]),
        "commits": commits,
        "reference": reference,
        **span,
    }
