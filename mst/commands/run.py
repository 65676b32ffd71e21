"""``mst run``: measure one run, and what the workflow wants measured in turns with it, and write the records."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mst import catalog, config, registry
from mst.bench.experiment import Experiment, Measure, wants
from mst.bench.machine import Machine, this_machine
from mst.bench.records import Run, ids_path, medians, run_fingerprint, write_json
from mst.bench.runner import Order, measure_runs
from mst.bench.stats import summarise
from mst.commands.plan import add_config
from mst.commands.solve import add_options, parse_options
from mst.config import Config
from mst.errors import ConfigError, UnavailableError
from mst.solver import width_of

SCOPES = "MST_SCOPES"
"""Variable with a JSON list of what the workflow was asked for; runs on one graph are measured in turns."""

STAGED = "staged"
"""Folder, under that of the results, of measurements whose own jobs have yet to take them to their place."""

HELP = "measure one algorithm on one graph of the catalogue and write the record"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("algorithm", nargs="?", metavar="ALGORITHM", help="see mst list")
    parser.add_argument("graph", nargs="?", metavar="GRAPH", help="see mst list graphs")
    add_options(parser)
    parser.add_argument("--threads", type=int, metavar="N", help="width (default: 1; all cores for threads)")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="a planned record's path names the whole run"
    )
    parser.add_argument("--granted", type=int, metavar="N", help="cores that the scheduler gave")
    parser.add_argument("--oversubscribe", action="store_true", help="allow a width above the cores")
    add_config(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, write, say where."""
    settings = config.load(arguments.configfile)
    if arguments.record is not None and _take_staged(settings.root, arguments.record):
        print(f"{arguments.record}: measured together with the other runs on its graph")
        return 0
    orders, granted = _orders(arguments, settings), arguments.granted
    if reason := orders[0].refused():
        raise ConfigError(reason)
    facts = settings.root / "machines" / f"{settings.machine_name}.json"
    if not facts.is_file():
        write_json(facts, this_machine().as_dict())
    folder, manifest = _graph(settings, orders[0].run.graph)
    for measurement in measure_runs(
        orders, manifest=manifest, graph_file=folder / "graph.arrow", granted=granted
    ):
        print(_told(measurement), flush=True)
    return 0


def _orders(arguments: argparse.Namespace, settings: Config) -> list[Order]:
    """Return the run that is asked for, then those that the workflow wants measured in turns with it."""
    machine = config.machine_of(settings)
    name = Run.from_path(arguments.record).graph if arguments.record else _graph_name(arguments)
    _, manifest = _graph(settings, name)
    run = _run_of(arguments, settings.machine_name, machine, manifest["digest"])
    if arguments.record is None:
        experiments = [config.paper(arguments.paper)] if arguments.paper else config.every_experiment(settings)
        measure, oversubscribe = _measure_of(run, experiments)
        path = settings.records / run.path
        return [Order(run, path, measure, oversubscribe or arguments.oversubscribe)]
    scopes = json.loads(os.environ.get(SCOPES, '["default"]'))
    rows = dict(_planned(settings, machine, scopes, run.graph))
    asked = rows.pop(run, None) or _measure_of(run, config.every_experiment(settings))
    order = Order(run, settings.records / run.path, *asked)
    if SCOPES not in os.environ:
        # A job of a cluster has a node for itself.
        return [order]
    staged = settings.root / STAGED
    others = [Order(other, staged / other.path, *how) for other, how in rows.items()]
    return [
        order,
        *(o for o in others if not (settings.records / o.run.path).is_file() and not o.path.is_file()),
    ]


def _planned(
    settings: Config, machine: Machine, scopes: list[str], graph: str
) -> Iterator[tuple[Run, tuple[Measure, bool]]]:
    """Yield the runs that the scopes plan for a graph, and how each is to be measured."""
    papers, entries = config.papers(), catalog.load()
    for scope in scopes:
        for row in config.scope_plan(settings, papers, entries, machine, scope):
            if row.graph == graph and row.run and row.measure:
                yield row.run, (row.measure, row.oversubscribe)


def _take_staged(root: Path, record: Path) -> bool:
    """Move a measurement that was made in turns with another to its place; return whether there was one."""
    staged = root / STAGED / Run.from_path(record).path
    if not staged.is_file():
        return False
    record.parent.mkdir(parents=True, exist_ok=True)
    if ids_path(staged).is_file():
        ids_path(staged).replace(ids_path(record))
    staged.replace(record)
    return True


def _graph(settings: Config, name: str) -> tuple[Path, dict[str, Any]]:
    """Return a graph's folder and manifest; it is made where it is not there yet."""
    entry = catalog.load()[name]
    folder = config.graph_folder(settings, entry)
    if not (folder / "manifest.json").is_file():
        catalog.materialise(entry, folder, sources=settings.sources())
    manifest = json.loads((folder / "manifest.json").read_text())
    if manifest["status"] != "ok":
        raise UnavailableError(f"{entry.name}: {manifest['reason']}")
    return folder, manifest


def _graph_name(arguments: argparse.Namespace) -> str:
    if arguments.record is not None:
        return Run.from_path(arguments.record).graph
    if not (arguments.algorithm and arguments.graph):
        raise ConfigError("name an ALGORITHM and a GRAPH, or a planned --record")
    return arguments.graph


def _run_of(arguments: argparse.Namespace, machine_name: str, machine: Machine, graph_digest: str) -> Run:
    if arguments.record is not None:
        planned = Run.from_path(arguments.record)
        if planned.machine != machine_name:
            raise ConfigError(
                f"{arguments.record} belongs to machine {planned.machine!r}, this is {machine_name!r}"
            )
        now = run_fingerprint(registry.get(planned.algorithm).source_fingerprint(), graph_digest)
        if now != planned.fingerprint:
            raise ConfigError(
                f"{arguments.record}: planned for fingerprint {planned.fingerprint}, "
                f"the code or the graph is now {now}: plan again"
            )
        return planned
    algorithm = registry.get(arguments.algorithm)
    options = algorithm.options_slug(parse_options(arguments.option))
    fingerprint = run_fingerprint(algorithm.source_fingerprint(), graph_digest)
    width = width_of(algorithm, arguments.threads, cores=machine.cores)
    return Run(machine_name, arguments.graph, algorithm.id, options, width, fingerprint)


def _measure_of(planned: Run, experiments: list[Experiment]) -> tuple[Measure, bool]:
    """Return how the experiments want this run measured; the first that asks for it decides."""
    algorithm = registry.get(planned.algorithm)
    for experiment in experiments:
        if planned.graph not in experiment.graphs:
            continue
        for block in experiment.runs:
            if wants(block, algorithm, planned.graph, planned.options, planned.width):
                return block.measure or experiment.measure, block.oversubscribe
    return Measure(), False


def _told(measurement: dict[str, Any]) -> str:
    compute, run = summarise(medians(measurement)), measurement["run"]
    head = (
        f"{run['algorithm']} {run['options']} width {run['width']} on {run['graph']}: {measurement['status']}"
    )
    if compute.median is None:
        return f"{head}: {measurement['reason']}"
    flags = measurement["conditions"]["flags"]
    noise = f" [{', '.join(flags)}]" if flags else ""
    return f"{head}: {compute.median * 1e3:.3f} ms, {compute.count} processes{noise}"
