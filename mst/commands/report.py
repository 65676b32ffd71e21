"""``mst report``: the table and the page of all measurements, without the workflow."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mst.atomic import is_stream
from mst.commands._arguments import add_results, results_of
from mst.progress import step

if TYPE_CHECKING:
    from mst.config import Config

HELP = "write the table and the page of all records, imported ones included"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the page (default: DIR/report.html); its other pages, figures and table are written beside it",
    )
    add_results(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write table, figures and page; say where they are."""
    from mst import config
    from mst.errors import InputError
    from mst.formats.files import check_place

    results = results_of(arguments)
    out = arguments.out or results / "report.html"
    if out.is_dir():
        raise InputError(f"{out} cannot be written: it is a folder; name a file, such as {out / 'report.html'}")
    if is_stream(out):
        raise InputError(f"{out} is no file, and the page has others beside it: name one, such as report.html")
    if out.parent.is_dir():
        check_place(out)
    with step("writing the page"):
        write_page(config.load(), results, out)
    print(f"report: {out.resolve()}")
    return 0


def write_page(settings: Config, results: Path, out: Path, *, first: str = "") -> None:
    """Write the table, the figures and the page of all records.

    With `first`, which stands at the top of the page, only those of this machine: that takes seconds, and the papers
    and other machines about a minute.
    """
    from mst.bench.records.reference import references
    from mst.config import COMMITTED
    from mst.errors import InputError
    from mst.reporting.page.build import write_report
    from mst.reporting.table import write_table
    from mst.scopes import read_plan

    others = [] if first else references(COMMITTED)
    elsewhere = [reference.records for reference in others]
    folders = [results / "records", *elsewhere]
    plan = read_plan(results / "plan.json")
    table = out.with_name("table.parquet")
    nothing = f"{results / 'records'} holds no records: measure one with `mst run`, or all with `make report`"
    if not results.is_dir():
        raise InputError(nothing)
    if not write_table(folders[:1], plan, table, table.with_suffix(".csv"), references=elsewhere):
        table.unlink()
        table.with_suffix(".csv").unlink()
        raise InputError(nothing)
    experiment = {"scope": "default", **settings.experiment.model_dump()}
    if first:
        experiment |= {"scope": "first", "description": first}
    write_report(
        table=table,
        graphs=_manifests(results, [file for reference in others for file in reference.manifests]),
        config={"machine": settings.machine_name, **experiment},
        out=out,
        records=folders,
        references=others,
        plan=plan,
    )


def _manifests(results: Path, others: list[Path]) -> list[Path]:
    """Return one manifest for each graph, those made here before those imported and those of references."""
    from mst.catalog import read_manifest
    from mst.errors import MSTError

    found: dict[tuple, Path] = {}
    for file in (*results.glob("graphs/*/*/manifest.json"), *results.glob("manifests/*/*.json"), *others):
        try:
            manifest = read_manifest(file)
            found.setdefault((manifest.name, manifest.digest), file)
        except MSTError:
            # The page names it.
            found.setdefault((str(file), None), file)
    return sorted(found.values())
