"""``mst measure``: a whole experiment on this machine without the workflow engine."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.commands._arguments import add_config, add_granted, add_scopes
from mst.progress import step
from mst.units import counted

if TYPE_CHECKING:
    from mst.bench.planning.plan import Planned
    from mst.config import Config

HELP = "measure and prove every planned run of an experiment, without Snakemake"


def configure(parser: argparse.ArgumentParser) -> None:
    add_scopes(parser)
    add_config(parser)
    parser.add_argument("--within", type=float, metavar="SECONDS", help="start no graph after this time")
    parser.add_argument(
        "--refill", action="store_true", help="repeat runs that have fewer processes than requested"
    )
    add_granted(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure graph by graph; print the counts."""
    from mst import config
    from mst.errors import ConfigError

    if arguments.within is not None and not arguments.within > 0:
        raise ConfigError(f"--within {arguments.within:g} must be above 0 seconds: leave it out for no limit")
    begun, settings = time.monotonic(), config.load(arguments.configfile)
    try:
        statuses = measure_scopes(
            settings,
            arguments.scopes,
            within=arguments.within,
            granted=arguments.granted,
            refill=arguments.refill,
        )
    except KeyboardInterrupt:
        print("Finished runs are kept; the same command measures the others.", file=sys.stderr)
        raise
    # Wrong runs of earlier calls count, too: they are not measured again, and fail the workflow each time.
    wrong, unmade = _failed(settings, arguments.scopes)
    named = f" ({', '.join(wrong)})" if wrong else ""
    unfinished = f", {failed} not finished" if (failed := statuses.count("unproved")) else ""
    without = f", {counted(len(unmade), 'graph')} unusable ({', '.join(unmade)})" if unmade else ""
    print(
        f"{counted(len(statuses), 'run')} measured, {len(wrong)} wrong{named}{unfinished}{without}, "
        f"{time.monotonic() - begun:.0f} s"
    )
    return 1 if wrong or unmade else 0


def _failed(settings: Config, scopes: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the scopes' runs of the current code that have a wrong forest, and the graphs that could not be made."""
    from mst import config
    from mst.bench.records.schema import read_json
    from mst.bench.records.store import proof_path
    from mst.scopes import Scopes

    known = Scopes.of(settings, [config.local_machine(settings)])
    rows = [row for scope in scopes for row in known.plan(scope)]
    done = {row.run: row for row in rows if row.run and row.status == "done"}
    wrong = [
        f"{row.algorithm} {row.options} width {row.width} on {row.graph}"
        for run, row in done.items()
        if read_json(proof_path(settings.records / run.path))["status"] == "wrong"
    ]
    return wrong, list(dict.fromkeys(row.graph for row in rows if row.status == "waiting"))


def measure_scopes(
    settings: Config,
    scopes: Sequence[str],
    *,
    within: float | None = None,
    granted: int | None = None,
    refill: bool = False,
) -> list[str]:
    """Measure and prove the planned runs of scopes, graph by graph; return the status of each proof."""
    from mst import config
    from mst.bench.records.store import put_invalid_aside
    from mst.commands._requests import write_machine
    from mst.scopes import Scopes

    known = Scopes.of(settings, [config.local_machine(settings)])
    config.check_graphs(settings, known.catalog)
    # An unknown graph is refused before anything is written.
    names = [known.catalog[name].name for scope in scopes for name in known.graphs(scope)]
    write_machine(settings, settings.machine_name)
    for reason in put_invalid_aside(settings.records / settings.machine_name):
        print(f"set aside: {reason}", file=sys.stderr)
    begun, statuses = time.monotonic(), list[str]()
    graphs = _graphs(settings, names)
    rows = [row for scope in scopes for row in known.plan(scope)]
    title = ", ".join("first part" if scope == "first" else scope for scope in scopes)
    missing = len({row.run for row in rows if row.status == "planned"})
    with step(title, total=missing) as whole:
        for name, (folder, manifest) in graphs.items():
            if within and time.monotonic() - begun > within:
                print(f"{name}: not started, since {within:g} s have passed", flush=True)
                continue
            here = [row for row in rows if row.graph == name]
            for status in _measured(settings, here, folder, manifest, granted=granted, refill=refill):
                statuses.append(status)
                whole.update(f"{title}: {len(statuses)} of {missing} runs measured")
            # The processes of the runs on a graph take turns, so all of these runs end almost at the same time.
            whole.update(done=len(statuses))
    return statuses


def _graphs(settings: Config, names: Iterable[str]) -> dict[str, tuple[Path, dict[str, Any]]]:
    """Return the folder and the manifest of each graph that can be made; print why others cannot."""
    from mst.commands._requests import graph_of
    from mst.errors import ConfigError, MSTError

    graphs = {}
    for name in dict.fromkeys(names):
        try:
            with step(f"fetching or generating {name}"):
                graphs[name] = graph_of(settings, name)
        except ConfigError:
            raise  # a mistake in the configuration concerns every graph
        except MSTError as error:
            print(error, flush=True)
    return graphs


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
    from mst.bench.measure.runner import measure_runs
    from mst.bench.records.store import proof_path, read_measurement
    from mst.commands._requests import planned_request

    missing, unproved = [], []
    for row in {row.run: row for row in rows}.values():
        request = planned_request(settings, row, settings.records)
        if request is None:
            continue
        if row.status == "planned" and request.path.is_file():
            unproved.append(read_measurement(request.path))
        elif row.status == "planned":
            missing.append(request)
        elif refill and "fewer-processes" in read_measurement(request.path)["conditions"]["flags"]:
            missing.append(request)
            # The old measurement stays until a new one replaces it, but its proof would not hold for the new one.
            proof_path(request.path).unlink()
    if not missing and not unproved:
        return
    reference = reference_of(folder, manifest)
    file = folder / "graph.arrow"
    measured = measure_runs(missing, manifest=manifest, graph_file=file, granted=granted)
    for measurement in chain(unproved, measured):
        yield prove(settings, measurement, reference)


def reference_of(folder: Path, manifest: dict[str, Any]) -> Path:
    """Return the file of a graph's reference forest, made and proved if missing, damaged or of an earlier graph."""
    from mst.bench.records.schema import read_json
    from mst.bench.records.verify import make_reference
    from mst.errors import InputError

    reference, known = folder / "reference.json", None
    with contextlib.suppress(InputError):
        known = read_json(reference).get("graph_digest")
    if known != manifest["digest"]:
        with step(f"computing and proving the reference forest of {manifest['name']}"):
            make_reference(folder / "graph.arrow", manifest, reference)
    return reference


def prove(settings: Config, measurement: dict[str, Any], reference: Path) -> str:
    """Prove a measurement, print a line about both, return the status of the proof."""
    from mst.bench.records.store import Run
    from mst.bench.records.verify import verify_record
    from mst.commands._print import line_about

    run = measurement["run"]
    path = Run(**{k: run[k] for k in Run.__dataclass_fields__}).path
    proof = verify_record(settings.records / path, reference)
    print(f"{line_about(measurement)}; {proof['grade'] or proof['status']}", flush=True)
    if proof["status"] == "wrong":
        print(f"wrong: {proof['reason']}", file=sys.stderr)
    return proof["status"]
