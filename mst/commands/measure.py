"""``mst measure``: a whole experiment on this machine without the workflow engine."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.commands._arguments import add_config, add_granted, add_scopes
from mst.commands._interrupt import interrupt_on_sigterm

if TYPE_CHECKING:
    from mst.bench.planning.plan import Planned
    from mst.config import Config

HELP = "measure and prove every planned run of an experiment, where Snakemake is not installed"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_scopes(parser)
    add_config(parser)
    parser.add_argument("--within", type=float, metavar="SECONDS", help="begin no graph after this time")
    parser.add_argument(
        "--refill", action="store_true", help="repeat runs that have fewer processes than requested"
    )
    add_granted(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure graph by graph; print the counts."""
    from mst import catalog, config
    from mst.bench.planning.site import Place
    from mst.bench.records.store import put_invalid_aside
    from mst.commands._requests import graph_of, note_machine
    from mst.errors import UnavailableError

    interrupt_on_sigterm()
    settings = config.load(arguments.configfile)
    places = [Place(settings.machine_name, config.machine_of(settings))]
    note_machine(settings, settings.machine_name)
    for reason in put_invalid_aside(settings.records / settings.machine_name):
        print(f"set aside: {reason}", file=sys.stderr)
    begun, counts = time.monotonic(), {"measured": 0, "wrong": 0}
    entries, papers = catalog.load(), config.papers(settings)
    graphs: dict[str, tuple[Path, dict[str, Any]]] = {}
    for name in dict.fromkeys(
        name for scope in arguments.scopes for name in config.scope_graphs(settings, papers, scope)
    ):
        try:
            graphs[name] = graph_of(settings, name)
        except UnavailableError as error:
            print(error, flush=True)
    rows = [
        row for scope in arguments.scopes for row in config.scope_plan(settings, papers, entries, places, scope)
    ]
    for name, (folder, manifest) in graphs.items():
        if arguments.within and time.monotonic() - begun > arguments.within:
            print(f"{name}: not begun, {arguments.within:g} s are over", flush=True)
            continue
        here = [row for row in rows if row.graph == name]
        for verdict in _measured(
            settings, here, folder, manifest, granted=arguments.granted, refill=arguments.refill
        ):
            counts["measured"] += 1
            counts["wrong"] += verdict == "wrong"
    print(f"{counts['measured']} runs measured, {counts['wrong']} wrong, {time.monotonic() - begun:.0f} s")
    return 1 if counts["wrong"] else 0


def _measured(
    settings: Config,
    rows: list[Planned],
    folder: Path,
    manifest: dict[str, Any],
    *,
    granted: int | None,
    refill: bool,
) -> Iterator[str]:
    """Measure the planned runs on one graph that have no proved record; yield the status of each proof."""
    from mst.bench.measure.runner import Request, measure_runs
    from mst.bench.measure.unfinished import FOLDER
    from mst.bench.records.store import Run, proof_path, read_measurement
    from mst.bench.records.verify import make_reference, verify_record
    from mst.commands._print import line_about

    missing, unproved = [], []
    for row in {row.run: row for row in rows}.values():
        if row.run is None or row.measure is None:
            continue
        request = Request(
            row.run,
            settings.records / row.run.path,
            row.measure,
            row.oversubscribe,
            settings.root / FOLDER / row.run.path,
        )
        if row.status == "planned" and request.path.is_file():
            unproved.append(read_measurement(request.path))
        elif row.status == "planned":
            missing.append(request)
        elif row.status == "done" and refill and _is_short(read_measurement(request.path)):
            missing.append(request)
            # The old measurement stays until the new one replaces it, which the old proof does not cover.
            proof_path(request.path).unlink()
    if not missing and not unproved:
        return
    reference = folder / "reference.json"
    if not reference.is_file():
        make_reference(folder / "graph.arrow", manifest, reference)
    file = folder / "graph.arrow"
    for measurement in chain(
        unproved, measure_runs(missing, manifest=manifest, graph_file=file, granted=granted)
    ):
        run = measurement["run"]
        path = Run(**{k: run[k] for k in Run.__dataclass_fields__}).path
        proof = verify_record(settings.records / path, reference)
        print(f"{line_about(measurement)}; {proof['grade'] or proof['status']}", flush=True)
        if proof["status"] == "wrong":
            print(f"wrong: {proof['reason']}", file=sys.stderr)
        yield proof["status"]


def _is_short(measurement: dict[str, Any]) -> bool:
    return "fewer-processes" in measurement["conditions"]["flags"]
