"""The papers on the page: their claims with verdicts, their tables and figures with numbers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import compress
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup, escape

from mst.bench.records.store import load_records, reading_table
from mst.bench.statistics import COVERAGE, interval_ranks
from mst.errors import ConfigError, nearest
from mst.reporting.charts.axes import Panel
from mst.reporting.charts.style import setup
from mst.reporting.charts.workers import Run, one_by_one
from mst.reporting.papers import claims, drawing, tables
from mst.reporting.papers.claims import Claim, Document, Outcome
from mst.reporting.papers.exhibits import Filled, exhibits, fill
from mst.reporting.papers.observations import Measured, gather, read_manifests
from mst.reporting.papers.published import published

_MOST_RECORDS = 8
_UNBOUNDED = 1000  # upper ends of intervals that are more than this many times the value are not printed
_SHORT = {verdict: verdict.removesuffix(" here").replace(" ", "-") for verdict in claims.VERDICTS}
"""Their classes in the style sheet."""
_BY = {"port": "by our port", "original": "by the program itself", "tests": "by tests"}
_THEIRS, _OTHERS = "on the paper's kind of machine", "on another kind of machine"


def papers_of(
    sources: Sequence[Measured],
    pages: Path,
    folder: Path,
    *,
    only: str | None = None,
    every_picture: bool = False,
    elsewhere: frozenset[str] = frozenset(),
    run: Run = one_by_one,
) -> list[dict[str, Any]]:
    """Judge claims, fill exhibits, and write their files; return all that the templates need of each paper, or of one.

    There is a source for each machine. The folder of the `pages` links to records and to the pictures and tables in
    `folder`, which `run` draws (`mst.reporting.charts.workers`); with `every_picture` printed numbers are drawn where
    nothing was measured yet. Numbers of the reference machines `elsewhere` have hollow marks.
    """
    book = claims.document()
    names, chosen = book.names(), [paper for paper in book.claims if only in (None, paper)]
    claims_of = {paper: _claims(paper, sources, book) for paper in chosen}
    for row in (row for own in claims_of.values() for row in own):
        for outcome in (*row["outcomes"], *row["stand_ins"]):
            outcome["elsewhere"] = elsewhere.intersection(outcome["machines"])
            outcome["records"] = [os.path.relpath(record, pages) for record in outcome["records"]]
    filled = {
        paper: [fill(paper, exhibit, sources, names) for exhibit in exhibits().get(paper, ())]
        for paper in chosen
    }
    tasks = {
        one.slug: partial(drawing.draw, one, folder, elsewhere)
        for made in filled.values()
        for one in made
        if one.measured or every_picture
    }
    pictures = dict(zip(tasks, run(list(tasks.values()))))
    return [
        {
            "id": paper,
            "title": book.papers[paper].title,
            "claims": rows,
            "tally": _tally(row["overall"] for row in rows),
            # Counted by themselves.
            "on_stand_ins": _tally(v for row in rows for v in {o["verdict"] for o in row["stand_ins"]}),
            "exhibits": [_exhibit(one, pictures.get(one.slug, []), pages, folder) for one in filled[paper]],
        }
        for paper, rows in claims_of.items()
    ]


def judged(sources: Sequence[Measured]) -> dict[str, list[dict[str, Any]]]:
    """Return the claims of every paper as rows with the verdicts of all machines, by the paper's title."""
    book = claims.document()
    return {book.papers[paper].title: _claims(paper, sources, book) for paper in book.claims}


def _claims(paper: str, sources: Sequence[Measured], book: Document) -> list[dict[str, Any]]:
    about = book.papers[paper]
    return [
        _claim(claim, paper, [claims.judge(claim, about, source, book) for source in sources], book)
        for claim in book.claims[paper]
    ]


def _tally(verdicts: Iterable[str]) -> list[tuple[str, str, int]]:
    """Return the verdicts that occur, each with its class and its number."""
    number = Counter(verdicts)
    known = (*claims.VERDICTS, *(verdict + claims.ON_STAND_INS for verdict in claims.VERDICTS))
    return [(verdict, _class(verdict), number[verdict]) for verdict in known if number[verdict]]


def _class(verdict: str) -> str:
    return _SHORT[verdict.removesuffix(claims.ON_STAND_INS)]


def _claim(claim: Claim, paper: str, outcomes: Sequence[Outcome], book: Document) -> dict[str, Any]:
    own = claims.own_value(claim, paper, book.names())
    if own is not None and "published(" in claim.quantity and min(abs(own.value), abs(own.value - 1)) < 1e-9:
        # It compares measured with printed numbers: the printed ones alone are equal to themselves.
        own = None
    overall = claims.overall(outcomes)
    number = None if isinstance(claim.published, str) else claim.published
    return {
        **claim.model_dump(include={"id", "place", "says", "standing", "arithmetic", "note", "refuted"}),
        "paper": paper,
        "quantity": " ".join(claim.quantity.split()),
        "published": number,
        "published_text": claim.published if isinstance(claim.published, str) else _value(claim.unit, number),
        "own": own.value if own else None,
        "own_text": _value(claim.unit, own.value) if own else "",
        "machine": book.machines[claim.machine].title if claim.machine else "",
        "judge": claim.judge or book.papers[paper].judge,
        "exhibit": claim.exhibit and claim.exhibit.replace("/", "-"),
        "overall": overall,
        "overall_class": _SHORT[overall],
        "where": _where(claim, overall, outcomes),
        "outcomes": _outcomes(claim, outcomes),
        "stand_ins": _outcomes(claim, [o.on_stand_ins for o in outcomes if o.on_stand_ins]),
    }


def _where(claim: Claim, overall: str, outcomes: Sequence[Outcome]) -> str:
    """Return which kind of machine gave a verdict, if the claim names one, or which machines gave which verdicts."""
    if overall == claims.DISAGREE:
        decided = [o for o in outcomes if o.verdict in (claims.CONFIRMED, claims.CONTRADICTED)]
        return ", ".join(f"{o.verdict} on {o.machine}" for o in decided)
    if claim.machine is None or overall not in (claims.CONFIRMED, claims.CONTRADICTED):
        return ""
    return _THEIRS if any(o.on_kind and o.verdict == overall for o in outcomes) else _OTHERS


def _outcomes(claim: Claim, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return one entry for each machine with a value, and one for all others with the same verdict and reason."""
    entries: dict[tuple, dict[str, Any]] = {}
    for outcome in outcomes:
        alone = outcome.machine if outcome.result else None
        key = (outcome.verdict, outcome.reason, outcome.on_kind, alone)
        entry = entries.setdefault(key, _outcome(claim, outcome))
        if outcome.machine not in entry["machines"]:
            entry["machines"].append(outcome.machine)
    return list(entries.values())


def _outcome(claim: Claim, outcome: Outcome) -> dict[str, Any]:
    measured, result = "", outcome.result
    criterion = claim.criterion(on_kind=outcome.on_kind)
    # A criterion's own formula, for other hardware, is a ratio or a correlation, whatever the paper states.
    unit = "ratio" if criterion and criterion.quantity else claim.unit
    if result:
        measured = _value(unit, result.value)
        if result.low != result.high and result.processes:
            covered = f"{100 * min(interval_ranks(result.processes)[1], COVERAGE):.4g} %"
            if result.compared > 1:
                covered = f"{100 * COVERAGE:.4g} % for {result.compared} together"
            # The interval of the largest of many runs with few processes each has hardly an upper end.
            open_ended = 0 < _UNBOUNDED * result.value < result.high
            high = "no bound" if open_ended else _value(unit, result.high)
            measured += f" [{_value(unit, result.low)}, {high}; {covered}]"
    records = result.records if result else []
    return {
        "machines": [],
        "verdict": outcome.verdict,
        "class": _class(outcome.verdict),
        "reason": outcome.reason,
        "on_kind": outcome.on_kind,
        "measured": measured,
        "partial": bool(result and result.missing),
        "by": _BY.get(outcome.by, ""),
        "records": records[:_MOST_RECORDS],
        "more": max(0, len(records) - _MOST_RECORDS),
    }


def _value(unit: str, value: float | None) -> str:
    if value is None:
        return ""
    if unit in ("count", "rate"):
        return tables.number(value, unit) + ("/s" if unit == "rate" else "")
    return f"{100 * value:.3g} %" if unit == "percent" else f"{value:.3g}"


def _exhibit(filled: Filled, pictures: Sequence[Panel], pages: Path, folder: Path) -> dict[str, Any]:
    exhibit = filled.exhibit
    files = tables.write_files(filled, folder / filled.slug)
    grids = filled.measured
    # For screen readers.
    label = f'aria-label="{escape(f"{exhibit.number}, {exhibit.title} ")}'
    return {
        **exhibit.model_dump(include={"number", "title", "note", "values"}),
        "id": filled.slug,
        "static": published(exhibit.static).rows if exhibit.static else (),
        "tables": _tables(filled),
        "pictures": [Markup(panel.svg.replace('aria-label="', label, 1)) for panel in pictures],
        "measured": bool(grids),
        "printed": len(filled.grids) > len(grids),
        "stand_ins": any(any(grid.marks) for grid in grids),
        "objections": any(cell.objection for grid in grids for row in grid.cells for cell in row),
        "why": "" if exhibit.static or grids else "Not measured here yet.",
        "files": [os.path.relpath(file, pages) for file in files],
    }


def write_exhibit(
    paper: str, name: str, *, records: Sequence[Path], table: Path, manifests: Sequence[Path], csv: Path
) -> None:
    """Write one table or figure by itself: CSV, LaTeX beside it, and pictures as SVG and PDF in a folder of its name.

    If there is no such paper or exhibit, `ConfigError` names the nearest one.
    """
    made = exhibits()
    if paper not in made:
        raise ConfigError(f"no paper {paper!r}{nearest(paper, made)}")
    known = {exhibit.id: exhibit for exhibit in made[paper]}
    if name not in known:
        hint = f"{nearest(name, known)}; it has: {', '.join(known)}"
        raise ConfigError(f"{paper} has no table or figure {name!r}{hint}")
    with reading_table(table):
        rows = pd.read_parquet(table).to_dict("records")
    sources = gather(load_records(*records), rows, read_manifests(manifests, print))
    filled = fill(paper, known[name], sources, claims.document().names())
    stem = csv.with_suffix("")
    tables.write_files(filled, stem)
    stem.mkdir(exist_ok=True)
    setup()
    drawing.draw(filled, stem)


def _tables(filled: Filled) -> list[dict[str, Any]]:
    """Return a table for each machine with the printed numbers in its cells, or the printed table alone.

    Rows and columns without any number are named below it instead. Tables of machines with less than half as many
    numbers as another's are closed at first.
    """
    made = []
    for grid in filled.shown:
        most = max((other.known for other in filled.measured if other.panel == grid.panel), default=0)
        texts = pd.DataFrame(tables.rows(grid), grid.labels, grid.columns)
        known = texts.map(lambda cell: bool(cell.printed) or cell.text != tables.NOTHING)
        rows, columns = known.any(axis=1), known.any()
        is_mean = [place >= len(texts) - grid.means for place in range(len(texts))]
        made.append(
            {
                "caption": grid.title("measured on "),
                "corner": filled.exhibit.corner,
                "head": [(name, tables.UNITS.get(unit, "")) for name, unit in compress(grid.heads, columns)],
                "rows": [
                    {"label": label, "mean": mean, "cells": cells}
                    for mean, (label, *cells) in zip(
                        compress(is_mean, rows), texts.loc[rows, columns].itertuples(name=None)
                    )
                ],
                "widths": grid.widths,
                "without": [*texts.index[~rows], *texts.columns[~columns]],
                "open": not grid.is_printed and 2 * grid.known >= most,
                "beside": grid.cells[0][0].printed is not None,
            }
        )
    return made
