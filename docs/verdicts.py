"""Verdicts of the committed reference records: ``python docs/verdicts.py`` writes their part of docs/papers.md."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from mst.bench.records.reference import Reference, references
from mst.bench.records.store import load_records
from mst.reporting.papers.claims import (
    CONFIRMED,
    CONTRADICTED,
    DISAGREE,
    NOT_COMPARABLE,
    NOT_MEASURED,
    ON_STAND_INS,
    UNDECIDED,
)
from mst.reporting.papers.observations import gather, read_manifests
from mst.reporting.papers.section import judged
from mst.yaml_models import read_yaml

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/papers.md"
HEAD = "## Claims that held, and claims that did not\n"
TABLE = "\n| claim | statement | verdict | measured | confirmed if | published |", "|---|---|---|---|---|---|"
DECIDED = (CONFIRMED, CONTRADICTED, DISAGREE, UNDECIDED)


def verdicts(found: Sequence[Reference]) -> str:
    """Return the part of the page with the verdicts: for each paper its tally, figures and reasons."""
    facts = read_manifests((file for reference in found for file in reference.manifests), sys.exit)
    rows = judged(gather(load_records(*(reference.records for reference in found)), manifests=facts))
    machines = ", ".join(dict.fromkeys(reference.machine for reference in found))
    lines = [
        HEAD,
        f"`python docs/verdicts.py` makes these tables from the records in `results/reference/` ({machines}).",
        "Unless a verdict states otherwise, it comes from another kind of machine than the paper's, where mostly",
        "directions count.",
    ]
    for title, claims in rows.items():
        tally = Counter(claim["overall"] for claim in claims)
        counts = ", ".join(
            f"{tally[verdict]} {verdict}"
            for verdict in (*DECIDED, NOT_COMPARABLE, NOT_MEASURED)
            if tally[verdict]
        )
        lines += [f"\n### {title}\n", f"Of {len(claims)} claims: {counts}."]
        decided = [claim for claim in claims if claim["overall"] in DECIDED]
        if decided:
            lines += [*TABLE, *map(_decided, sorted(decided, key=_order))]
        on_stand_ins = [_row(claim, o["verdict"], [o]) for claim in claims for o in claim["stand_ins"]]
        if on_stand_ins:
            lines += [
                "\nVerdicts on stand-ins, which the report compares with their inputs; they are not counted above:",
                *TABLE,
                *on_stand_ins,
            ]
        apart = [claim for claim in claims if claim["overall"] == NOT_COMPARABLE]
        if apart:
            lines += ["\nNot comparable on these machines:\n"]
            alike = groupby(sorted(apart, key=_lacking), _lacking)
            lines += [f"- {_ids(claims)}: {lacking}" for lacking, claims in alike]
        missing = [claim for claim in claims if claim["overall"] == NOT_MEASURED]
        if missing:
            lines += [f"\nClaims without records that count: {_ids(missing)}."]
            lines += [f"To measure them: {_experiments(claims[0]['paper'])}."]
    return "\n".join(lines) + "\n"


def _experiments(paper: str) -> str:
    """Return the files with the experiments of a paper."""
    reduced = [
        file.relative_to(ROOT)
        for file in sorted((ROOT / "config/reference").glob("*.yaml"))
        if read_yaml(file)["experiment"].get("paper") == paper
    ]
    return f"`config/papers/{paper}.yaml`, or, reduced, " + ", ".join(f"`{file}`" for file in reduced)


def _ids(claims: Iterable[dict[str, Any]]) -> str:
    """Return the ids of claims of one paper; of three or more in a row, the first and the last."""
    papers, numbers = zip(*(claim["id"].split("-") for claim in claims))
    parts: list[str] = []
    for _, row in groupby(enumerate(numbers), lambda place: int(place[1]) - place[0]):
        found = [number for _, number in row]
        parts += [f"{found[0]} to {found[-1]}"] if len(found) > 2 else found
    return f"{papers[0]}-{', '.join(parts)}"


def _lacking(claim: dict[str, Any]) -> str:
    """Return the reasons why no machine can test a claim, with the machines of each."""
    machines: dict[str, list[str]] = {}
    for outcome in claim["outcomes"]:
        machines.setdefault(outcome["reason"], []).extend(outcome["machines"])
    if len(machines) == 1:
        return next(iter(machines))
    return "; ".join(f"{reason} ({', '.join(names)})" for reason, names in machines.items())


def _order(claim: dict[str, Any]) -> int:
    return DECIDED.index(claim["overall"])


def _decided(claim: dict[str, Any]) -> str:
    verdict = f"{claim['overall']} {claim['where'].removeprefix('on another kind of machine')}"
    return _row(claim, verdict, claim["outcomes"])


def _row(claim: dict[str, Any], verdict: str, outcomes: Sequence[dict[str, Any]]) -> str:
    """Return a row of the table for the outcomes that decided; one with another verdict than the claim's says so."""
    deciding = [o for o in outcomes if o["verdict"].removesuffix(ON_STAND_INS) in DECIDED]
    measured = "; ".join(
        f"{o['measured'] or o['by']} ({', '.join(o['machines'])}{apart})"
        for o in deciding
        for apart in ["" if verdict.startswith(o["verdict"]) else f": {o['verdict']}"]
    )
    # With the runs that were skipped and the widths that were chosen; the report describes stand-ins.
    criteria = (
        o["reason"].removeprefix("criterion: ") for o in deciding if o["reason"].startswith("criterion: ")
    )
    criterion = re.sub(" inputs: .*", " inputs", next(criteria, ""))
    cells = (claim["id"], claim["says"], verdict, measured, criterion, claim["published_text"])
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def page(found: Sequence[Reference]) -> str:
    """Return the whole page with its verdicts made again."""
    before, _, after = PAGE.read_text().partition(HEAD)
    rest = after.partition("\n## ")
    return before + verdicts(found) + "".join(rest[1:])


if __name__ == "__main__":
    PAGE.write_text(page(references(ROOT / "results")))
