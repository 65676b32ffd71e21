"""The runs that the arguments of ``mst run`` request, and how each is measured."""

from __future__ import annotations

import argparse
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from mst import catalog, config, registry
from mst.bench.machine import this_machine
from mst.bench.measure.outcome import UNFINISHED
from mst.bench.measure.runner import Request
from mst.bench.planning.batches import TOGETHER, part_of
from mst.bench.planning.experiment import Experiment, Measure, wants
from mst.bench.planning.plan import Planned
from mst.bench.records.store import STAGED, Run, ids_path, proof_path, run_fingerprint, write_json
from mst.commands._arguments import assignments
from mst.config import Config
from mst.errors import ConfigError, UnavailableError, UnsupportedError
from mst.scopes import Scopes
from mst.solver import width_of


def request_of(arguments: argparse.Namespace, settings: Config) -> Request:
    """Return the request for the run that the arguments name."""
    if not (arguments.algorithm and arguments.graph):
        raise ConfigError("name an ALGORITHM and a GRAPH: `mst list` and `mst list graphs` show them all")
    algorithm = registry.get(arguments.algorithm)
    algorithm.refuse_missing()
    machine = config.local_machine(settings)
    _, manifest = graph_of(settings, arguments.graph)
    given = assignments(arguments.option, "--option", "sort=radix")
    options = algorithm.options_slug(given)
    fingerprint = run_fingerprint(algorithm.source_fingerprint(), manifest["digest"])
    width = width_of(algorithm, arguments.threads, cores=machine.hardware.cores)
    facts = catalog.Manifest.model_validate(manifest).facts()
    if reason := algorithm.skip(facts, width=width, options=given):
        raise UnsupportedError(f"{algorithm.id} does not take {arguments.graph}: {reason}")
    run = Run(machine.name, arguments.graph, algorithm.id, options, width, fingerprint)
    known = Scopes.of(settings, [machine])
    experiments = [settings.experiment, *known.papers.values()]
    if arguments.paper:
        experiments = [known.experiment(f"papers/{arguments.paper}")]
    measure, is_allowed = _measure_of(run, experiments)
    oversubscribe = is_allowed or arguments.oversubscribe
    unfinished = settings.root / UNFINISHED / run.path
    return Request(run, settings.records / run.path, measure, oversubscribe, unfinished)


def batch_rows(settings: Config, scope: str, batch: str) -> list[Planned]:
    """Return a scope's planned and finished runs in the batch ``MACHINE/GRAPH/PART``."""
    if batch.count("/") != 2:
        raise ConfigError(f"--batch {batch!r} is not MACHINE/GRAPH/PART")
    machine, graph, part = batch.split("/")
    machines = {one.name: one for one in config.machines(settings)}
    if machine not in machines:
        raise ConfigError(f"--batch {batch} is for machine {machine!r}, but this is {' or '.join(machines)}")
    config.hardware_of(settings, machine)
    rows = Scopes.of(settings, [machines[machine]]).plan(scope)
    apart = part not in (TOGETHER, *(row.layout for row in rows))
    return [row for row in rows if row.graph == graph and row.run and part_of(row, apart=apart) == part]


def planned_request(settings: Config, row: Planned, folder: Path) -> Request | None:
    """Return the request for a run of the plan, to be written below a folder; None if nothing will run."""
    if row.run is None or row.measure is None:
        return None
    unfinished = settings.root / UNFINISHED / row.run.path
    return Request(row.run, folder / row.run.path, row.measure, row.oversubscribe, unfinished)


def batch_requests(settings: Config, rows: list[Planned]) -> list[Request]:
    """Return requests for the runs of a batch that have no measurement.

    They are staged: a job that ends early leaves its complete measurements to the job that repeats it.
    """
    staged = (planned_request(settings, row, settings.root / STAGED) for row in rows)
    records = settings.records
    return [r for r in staged if r and not r.path.is_file() and not (records / r.run.path).is_file()]


def move_staged(settings: Config, rows: list[Planned]) -> None:
    """Move the staged measurements of a batch to the records."""
    for run in (row.run for row in rows if row.run):
        record, staged = settings.records / run.path, settings.root / STAGED / run.path
        if staged.is_file():
            record.parent.mkdir(parents=True, exist_ok=True)
            # A proof belongs to the measurement that it was made for.
            proof_path(record).unlink(missing_ok=True)
            if ids_path(staged).is_file():
                ids_path(staged).replace(ids_path(record))
            staged.replace(record)


def graph_of(settings: Config, name: str, *, in_workflow: bool = False) -> tuple[Path, dict[str, Any]]:
    """Return a graph's folder and manifest; make the graph first if it is not on disk.

    It is also made if the local file that it is made of has changed or appeared, except in the workflow, whose other
    jobs may be reading the graph.
    """
    entry = catalog.load()[name]
    folder = config.graph_folder(settings, entry)
    made = folder / "manifest.json"
    manifest = catalog.read_manifest(made) if made.is_file() else None
    if manifest and not in_workflow:
        has_appeared = manifest.status != "ok" and entry.own_files
        if has_appeared or entry.has_changed_since(made):
            manifest = None
    if manifest is None:
        manifest = catalog.materialise(entry, folder, sources=settings.sources())
    if manifest.status != "ok":
        raise UnavailableError(manifest.refusal(is_own=entry.is_own))
    return folder, manifest.model_dump(mode="json")


def write_machine(settings: Config, name: str) -> None:
    """Write this machine's hardware to the results, unless it is there; refuse records that cannot be written."""
    folder = settings.records / name
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise ConfigError(f"{folder} cannot be written: change its permissions, or configure other results")
    facts = settings.root / "machines" / f"{name}.json"
    if not facts.is_file():
        write_json(facts, this_machine().as_dict())


def _measure_of(planned: Run, experiments: list[Experiment]) -> tuple[Measure, bool]:
    """Return how to measure this run, and whether oversubscription is allowed, by the first experiment that has it."""
    algorithm = registry.get(planned.algorithm)
    for experiment in experiments:
        if planned.graph not in experiment.graphs:
            continue
        for block in experiment.runs:
            if wants(block, algorithm, planned.graph, planned.options, planned.width):
                return block.measure or experiment.measure, block.oversubscribe
    return Measure(), False
