"""``mst compare``: faster, slower, same, or can't tell."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from mst.commands._arguments import add_json, add_results, results_of
from mst.commands._print import columns, json_text
from mst.units import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mst.bench.records.compare import Compared, Comparison
    from mst.bench.records.store import Record

HELP = "compare two machines, commits, fingerprints or bundles: faster, slower, same, can't tell"


def configure(parser: argparse.ArgumentParser) -> None:
    from mst.bench.records.compare import MARGIN, PARTS

    side = "a machine, a commit, a fingerprint, a bundle, or a folder of records"
    parser.add_argument("a", metavar="A", help=side)
    parser.add_argument("b", metavar="B", help="the same; the verdict is on B")
    parser.add_argument("--part", choices=PARTS, default="compute", help="time to compare (default: compute)")
    parser.add_argument(
        "--margin",
        type=float,
        default=MARGIN,
        metavar="X",
        help="largest relative difference that counts as the same (default: %(default)s)",
    )
    add_json(parser)
    add_results(parser)


def run(arguments: argparse.Namespace) -> int:
    import tempfile

    from mst.bench.records.compare import compare
    from mst.bench.records.reference import references
    from mst.bench.records.store import load_records
    from mst.config import COMMITTED
    from mst.errors import ConfigError

    if not 0 < arguments.margin < 10:
        raise ConfigError(f"--margin {arguments.margin:g} must lie between 0 and 10, such as 0.1 for 10 %")
    results = results_of(arguments)
    others = [reference.records for reference in references(COMMITTED)]
    records = list(load_records(results / "records", *others))
    with tempfile.TemporaryDirectory(prefix="mst-compare-") as scratch:
        a = _side(arguments.a, records, Path(scratch, "a"))
        b = _side(arguments.b, records, Path(scratch, "b"))
        compared = compare(a, b, part=arguments.part, margin=arguments.margin)
    if arguments.json:
        asked = {name: getattr(arguments, name) for name in ("a", "b", "part", "margin")}
        print(json_text(asked | asdict(compared), indent=1))
    else:
        print(_table(compared.comparisons))
        print(_summary(arguments, compared))
    return 0


def _side(text: str, records: Sequence[Record], scratch: Path) -> list[Record]:
    """Return the records that an argument names: a bundle, a folder, or a selector (see `select_records`).

    A selector chooses from `records`; a bundle is unpacked into the empty folder `scratch`.
    """
    from mst.bench.output import output_of
    from mst.bench.records.bundle import unpack_bundle
    from mst.bench.records.compare import select_records
    from mst.bench.records.store import load_records
    from mst.errors import ConfigError, InputError

    path = Path(text)
    if path.is_file():
        unpack_bundle(path, scratch)
        return list(load_records(scratch / "records"))
    if path.is_dir():
        inside = path / "records"
        found = list(load_records(inside if inside.is_dir() else path))
        if not found:
            raise InputError(f"{path} holds no records: name a machine, a bundle or a folder of results")
        return found
    try:
        return select_records(records, text)
    except ConfigError:
        # A name that git knows, such as HEAD~1.
        commit = output_of(
            ["git", "rev-parse", "--verify", "--quiet", f"{text}^{{commit}}"], check=True
        ).strip()
        if commit in ("", text):
            raise
        return select_records(records, commit)


def _table(comparisons: tuple[Comparison, ...]) -> str:
    """Return aligned lines, the slower runs first."""
    from mst.bench.records.compare import VERDICTS

    ranked = sorted(comparisons, key=lambda c: (VERDICTS.index(c.judgement.verdict), -(c.judgement.ratio or 0)))
    head = ("verdict", "B/A", "interval", "A", "B", "graph", "algorithm", "why not")
    return columns([head, *map(_row, ranked)])


def _row(c: Comparison) -> tuple[str, ...]:
    from mst.bench.records.compare import CANNOT_TELL

    judged = c.judgement
    options = "" if c.options == "default" else c.options
    width = f"×{c.width}" if c.width > 1 else ""
    return (
        judged.verdict,
        "" if judged.ratio is None else f"{judged.ratio:.3f}",
        "" if judged.low is None else f"{judged.low:.3f} – {judged.high:.3f}",
        seconds(c.a.median, 4),
        seconds(c.b.median, 4),
        c.graph,
        " ".join(filter(None, [c.algorithm, options, width, c.layout])),
        judged.reason if judged.verdict == CANNOT_TELL else "",
    )


def _summary(arguments: argparse.Namespace, compared: Compared) -> str:
    from mst.bench.records.compare import VERDICTS

    said = [comparison.judgement.verdict for comparison in compared.comparisons]
    counts = ", ".join(f"{said.count(v)} {v}" for v in VERDICTS if v in said)
    alone = "".join(
        f"; {count} only in {name}"
        for name, count in ((arguments.a, compared.only_a), (arguments.b, compared.only_b))
        if count
    )
    return f"{arguments.b} compared with {arguments.a}: {counts}{alone}"
