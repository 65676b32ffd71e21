"""The runs that the arguments of ``mst run`` request, and how each is measured."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mst import catalog, config, registry
from mst.bench.machine import this_machine
from mst.bench.measure.runner import Request
from mst.bench.planning.experiment import Experiment, Measure, wants
from mst.bench.planning.site import Place
from mst.bench.records.store import STAGED, Run, run_fingerprint, write_json
from mst.commands._arguments import assignments
from mst.config import Config
from mst.errors import ConfigError, UnavailableError
from mst.solver import width_of

SCOPES = "MST_SCOPES"
"""Variable with a JSON list of the workflow's scopes; its runs on one graph are measured in turns."""


def requests_of(arguments: argparse.Namespace, settings: Config) -> list[Request]:
    """Return the request for the run of the arguments, then those that are measured in turns with it."""
    place = _place_of(arguments, settings)
    name = Run.from_path(arguments.record).graph if arguments.record else _graph_name(arguments)
    _, manifest = graph_of(settings, name)
    run = _run_of(arguments, place, manifest["digest"])
    if arguments.record is None:
        experiments = (
            [config.paper(settings, arguments.paper)] if arguments.paper else config.every_experiment(settings)
        )
        measure, oversubscribe = _measure_of(run, experiments)
        path = settings.records / run.path
        return [Request(run, path, measure, oversubscribe or arguments.oversubscribe)]
    scopes = json.loads(os.environ.get(SCOPES, '["default"]'))
    rows = dict(_planned(settings, place, scopes, run))
    asked = rows.pop(run, None) or _measure_of(run, config.every_experiment(settings))
    request = Request(run, settings.records / run.path, *asked)
    if SCOPES not in os.environ:
        return [request]
    staged = settings.root / STAGED
    others = [Request(other, staged / other.path, *how) for other, how in rows.items()]
    return [
        request,
        *(o for o in others if not (settings.records / o.run.path).is_file() and not o.path.is_file()),
    ]


def _planned(
    settings: Config, place: Place, scopes: list[str], run: Run
) -> Iterator[tuple[Run, tuple[Measure, bool]]]:
    """Yield the runs that the scopes plan for a graph on the same nodes, and how each is to be measured."""
    papers, entries = config.papers(settings), catalog.load()
    for scope in scopes:
        for row in config.scope_plan(settings, papers, entries, [place], scope):
            if row.graph == run.graph and row.layout == run.layout and row.run and row.measure:
                yield row.run, (row.measure, row.oversubscribe)


def graph_of(settings: Config, name: str) -> tuple[Path, dict[str, Any]]:
    """Return a graph's folder and manifest; make it first if it is not on disk."""
    entry = catalog.load()[name]
    folder = config.graph_folder(settings, entry)
    if not (folder / "manifest.json").is_file():
        catalog.materialise(entry, folder, sources=settings.sources())
    manifest = json.loads((folder / "manifest.json").read_text())
    if manifest["status"] != "ok":
        raise UnavailableError(f"{entry.name}: unavailable: {manifest['reason']}")
    return folder, manifest


def note_machine(settings: Config, name: str) -> None:
    """Write the hardware of the machine at hand, unless it is on disk."""
    facts = settings.root / "machines" / f"{name}.json"
    if not facts.is_file():
        write_json(facts, this_machine().as_dict())


def _graph_name(arguments: argparse.Namespace) -> str:
    if not (arguments.algorithm and arguments.graph):
        raise ConfigError("name an ALGORITHM and a GRAPH, or a planned --record")
    return arguments.graph


def _place_of(arguments: argparse.Namespace, settings: Config) -> Place:
    """Return the machine at hand, by the name that a planned record gives it."""
    if arguments.record is None:
        return Place(settings.machine_name, config.machine_of(settings))
    name = Run.from_path(arguments.record).machine
    known = {place.name: place for place in config.places(settings)}
    if name not in known:
        raise ConfigError(f"{arguments.record} belongs to machine {name!r}, this is {' or '.join(known)}")
    config.machine_of(settings, name)
    return known[name]


def _run_of(arguments: argparse.Namespace, place: Place, graph_digest: str) -> Run:
    if arguments.record is not None:
        planned = Run.from_path(arguments.record)
        now = run_fingerprint(registry.get(planned.algorithm).source_fingerprint(), graph_digest)
        if now != planned.fingerprint:
            raise ConfigError(
                f"{arguments.record}: planned for fingerprint {planned.fingerprint}, "
                f"the code or the graph is now {now}: plan again"
            )
        return planned
    algorithm = registry.get(arguments.algorithm)
    options = algorithm.options_slug(assignments(arguments.option, "--option", "sort=radix"))
    fingerprint = run_fingerprint(algorithm.source_fingerprint(), graph_digest)
    width = width_of(algorithm, arguments.threads, cores=place.machine.cores)
    return Run(place.name, arguments.graph, algorithm.id, options, width, fingerprint)


def _measure_of(planned: Run, experiments: list[Experiment]) -> tuple[Measure, bool]:
    """Return how the experiments want this run measured; the first that requests it decides."""
    algorithm = registry.get(planned.algorithm)
    for experiment in experiments:
        if planned.graph not in experiment.graphs:
            continue
        for block in experiment.runs:
            if wants(block, algorithm, planned.graph, planned.options, planned.width):
                return block.measure or experiment.measure, block.oversubscribe
    return Measure(), False
