"""``mst measure``: a whole experiment on this machine without the workflow engine."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mst.bench.plan import Planned
    from mst.config import Config

HELP = "measure and prove every planned run of an experiment, where Snakemake is not installed"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "scopes",
        nargs="*",
        default=["default"],
        metavar="SCOPE",
        help="default, papers/NAME, graphs/NAME or algorithms/NAME (default: default)",
    )
    parser.add_argument("--configfile", type=Path, metavar="FILE", help="instead of config/config.yaml")
    parser.add_argument("--within", type=float, metavar="SECONDS", help="begin no graph after so long")
    parser.add_argument("--granted", type=int, metavar="N", help="cores that the scheduler gave")


def run(arguments: argparse.Namespace) -> int:
    """Measure graph by graph; say what was done."""
    from mst import catalog, config
    from mst.bench.records import write_json
    from mst.bench.site import Place

    settings = config.load(arguments.configfile)
    machine = config.machine_of(settings)
    places = [Place(settings.machine_name, machine)]
    facts = settings.root / "machines" / f"{settings.machine_name}.json"
    if not facts.is_file():
        write_json(facts, machine.as_dict())
    begun, counts = time.monotonic(), {"measured": 0, "wrong": 0}
    entries, papers = catalog.load(), config.papers(settings)
    names = [config.scope_graphs(settings, papers, scope) for scope in arguments.scopes]
    for name in dict.fromkeys(name for scope in names for name in scope):
        if arguments.within and time.monotonic() - begun > arguments.within:
            print(f"{name}: left for another time, {arguments.within:g} s are over", flush=True)
            continue
        folder = config.graph_folder(settings, entries[name])
        if not (folder / "manifest.json").is_file():
            catalog.materialise(entries[name], folder, sources=settings.sources())
        manifest = json.loads((folder / "manifest.json").read_text())
        if manifest["status"] != "ok":
            print(f"{name}: unavailable: {manifest['reason']}", flush=True)
            continue
        rows = [
            row
            for scope in arguments.scopes
            for row in config.scope_plan(settings, papers, entries, places, scope)
            if row.graph == name
        ]
        for verdict in _measured(settings, rows, folder, manifest, arguments.granted):
            counts["measured"] += 1
            counts["wrong"] += verdict == "wrong"
    print(f"{counts['measured']} runs measured, {counts['wrong']} wrong, {time.monotonic() - begun:.0f} s")
    return 1 if counts["wrong"] else 0


def _measured(
    settings: Config, rows: list[Planned], folder: Path, manifest: dict[str, Any], granted: int | None
) -> Iterator[str]:
    """Measure what is planned and missing on one graph; yield what the proof says of each run."""
    from mst.bench.records import Run, read_measurement
    from mst.bench.runner import Order, measure_runs
    from mst.bench.verify import make_reference, verify_record
    from mst.commands.run import told

    orders = {
        row.run: Order(row.run, settings.records / row.run.path, row.measure, row.oversubscribe)
        for row in rows
        if row.status == "planned" and row.run and row.measure
    }
    if not orders:
        return
    reference = folder / "reference.json"
    if not reference.is_file():
        make_reference(folder / "graph.arrow", manifest, reference)
    missing = [order for order in orders.values() if not order.path.is_file()]
    unproved = [read_measurement(order.path) for order in orders.values() if order.path.is_file()]
    file = folder / "graph.arrow"
    for measurement in chain(
        unproved, measure_runs(missing, manifest=manifest, graph_file=file, granted=granted)
    ):
        run = measurement["run"]
        path = Run(**{k: run[k] for k in Run.__dataclass_fields__}).path
        proof = verify_record(settings.records / path, reference)
        print(f"{told(measurement)}; {proof['grade'] or proof['status']}", flush=True)
        if proof["status"] == "wrong":
            print(f"wrong: {proof['reason']}", file=sys.stderr)
        yield proof["status"]
