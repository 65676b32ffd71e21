"""``mst report``: the table and the page of all measurements, without the workflow."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from mst.atomic import is_stream
from mst.commands._arguments import add_results
from mst.progress import remark, step
from mst.units import counted

if TYPE_CHECKING:
    from mst.config import Config

HELP = "write the table and the page of all records, imported ones included"


def configure(parser: argparse.ArgumentParser) -> None:
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

    settings = config.load()
    if arguments.results is not None:
        settings = settings.model_copy(update={"results": str(arguments.results)})
    out = arguments.out or settings.root / "report.html"
    if out.is_dir():
        raise InputError(f"{out} cannot be written: it is a folder; name a file, such as {out / 'report.html'}")
    if is_stream(out):
        raise InputError(f"{out} is not a file, and other pages go beside it: name one, such as report.html")
    if out.parent.is_dir():
        check_place(out)
    with step("writing the page"):
        write_page(settings, out)
    print(f"report: {out.resolve()}")
    return 0


def write_page(settings: Config, out: Path, *, first: str = "") -> None:
    """Write the table, the figures and the page of all records.

    `first` is a text for the top of the page. With it, only the records of this machine are shown: that takes seconds,
    while the papers and other machines take about a minute.
    """
    from mst.bench.records.reference import references
    from mst.config import COMMITTED
    from mst.errors import InputError
    from mst.reporting.page.build import write_report
    from mst.reporting.table import write_table
    from mst.scopes import page_manifests, read_plan

    others = [] if first else references(COMMITTED)
    elsewhere = [reference.records for reference in others]
    # Runs may have been measured since the workflow planned them.
    plan = [{**row, "fingerprint": None} for row in read_plan(settings.root / "plan.json")]
    table = out.with_name("table.parquet")
    nothing = f"{settings.records} holds no records: measure one with `mst run`, or all with `make report`"
    if not settings.root.is_dir():
        raise InputError(nothing)
    if not write_table([settings.records], plan, table, table.with_suffix(".csv"), references=elsewhere):
        table.unlink()
        table.with_suffix(".csv").unlink()
        raise InputError(nothing)
    if not first:
        _note_other_code(table)
    made = sorted(settings.root.glob("graphs/*/*/manifest.json"))
    experiment = {"scope": "default", **settings.experiment.model_dump()}
    if first:
        experiment |= {"scope": "first", "description": first}
    write_report(
        table=table,
        graphs=page_manifests(settings, made, "default", others),
        config={"machine": settings.machine_name, **experiment},
        out=out,
        records=[settings.records, *elsewhere],
        references=others,
        plan=plan,
    )


def _note_other_code(table: Path) -> None:
    """Say how many of the runs shown, besides those of references, were measured by other code than the present one."""
    import pyarrow.parquet as pq

    from mst.reporting.table import code_versions

    columns = ["algorithm", "source_fingerprint"]
    shown = [("current", "=", True), ("origin", "=", "measured")]
    rows, present = pq.read_table(table, columns=columns, filters=shown).to_pylist(), code_versions()
    other = sum(
        row["source_fingerprint"] != present.get(row["algorithm"], row["source_fingerprint"]) for row in rows
    )
    if other:
        remark(
            f"measured by other code than the present one: {other} of {counted(len(rows), 'run')}; `mst plan` lists "
            "those that will be repeated on this machine"
        )
