"""``mst run``: measure one run and write its record."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mst.commands.plan import add_config
from mst.commands.solve import add_options, parse_options

if TYPE_CHECKING:
    from mst.bench.experiment import Experiment, Measure
    from mst.bench.machine import Machine
    from mst.bench.records import Run

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
    from mst import catalog, config
    from mst.bench.records import write_json
    from mst.bench.runner import measure_run
    from mst.errors import UnavailableError

    settings = config.load(arguments.configfile)
    experiments = [config.paper(arguments.paper)] if arguments.paper else config.every_experiment(settings)
    machine = config.machine_of(settings)
    entry = catalog.load()[_graph_name(arguments)]
    folder = config.graph_folder(settings, entry)
    if not (folder / "manifest.json").is_file():
        catalog.materialise(entry, folder, sources=settings.sources())
    manifest = json.loads((folder / "manifest.json").read_text())
    if manifest["status"] != "ok":
        raise UnavailableError(f"{entry.name}: {manifest['reason']}")
    planned = _run_of(arguments, settings.machine_name, machine, manifest["digest"])
    measure, oversubscribe = _measure_of(planned, experiments)
    facts = settings.root / "machines" / f"{settings.machine_name}.json"
    if not facts.is_file():
        write_json(facts, machine.as_dict())
    measurement = measure_run(
        planned,
        manifest=manifest,
        graph_file=folder / "graph.arrow",
        records=settings.records,
        measure=measure,
        oversubscribe=oversubscribe or arguments.oversubscribe,
        granted=arguments.granted,
    )
    print(_told(measurement, settings.records / planned.path))
    return 0


def _graph_name(arguments: argparse.Namespace) -> str:
    from mst.bench.records import Run
    from mst.errors import ConfigError

    if arguments.record is not None:
        return Run.from_path(arguments.record).graph
    if not (arguments.algorithm and arguments.graph):
        raise ConfigError("name an ALGORITHM and a GRAPH, or a planned --record")
    return arguments.graph


def _run_of(arguments: argparse.Namespace, machine_name: str, machine: Machine, graph_digest: str) -> Run:
    from mst import registry
    from mst.bench.records import Run, run_fingerprint
    from mst.errors import ConfigError
    from mst.solver import width_of

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
    from mst import registry
    from mst.bench.experiment import Measure, wants

    algorithm = registry.get(planned.algorithm)
    for experiment in experiments:
        if planned.graph not in experiment.graphs:
            continue
        for block in experiment.runs:
            if wants(block, algorithm, planned.graph, planned.options, planned.width):
                return block.measure or experiment.measure, block.oversubscribe
    return Measure(), False


def _told(measurement: dict[str, Any], path: Path) -> str:
    from mst.bench.records import medians
    from mst.bench.stats import summarise

    compute = summarise(medians(measurement))
    head = f"{path}: {measurement['status']}"
    if compute.median is None:
        return f"{head}: {measurement['reason']}"
    flags = measurement["conditions"]["flags"]
    noise = f" [{', '.join(flags)}]" if flags else ""
    return f"{head}: {compute.median * 1e3:.3f} ms, {compute.count} processes{noise}"
