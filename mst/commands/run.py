"""``mst run``: measure one run, or in turn the runs of a batch of the workflow, and write the records."""

from __future__ import annotations

import argparse
import os
from collections.abc import MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING

from mst.commands._arguments import add_config, add_granted, add_options, add_threads, refuse_without
from mst.commands._interrupt import interrupt_with_workflow
from mst.commands._print import line_about
from mst.units import counted

if TYPE_CHECKING:
    from mst.config import Config

HELP = "measure one algorithm on one graph of the catalogue, prove its forest and write the record"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("algorithm", nargs="?", metavar="ALGORITHM", help="see mst list")
    parser.add_argument("graph", nargs="?", metavar="GRAPH", help="see mst list graphs")
    add_options(parser)
    add_threads(parser, "width: threads or ranks (default: 1; all cores for threads)")
    parser.add_argument(
        "--batch", metavar="MACHINE/GRAPH/PART", help="measure the missing runs of a batch of the workflow"
    )
    parser.add_argument("--scope", help="the scope of the batch (default: default)")
    parser.add_argument("--index", type=Path, metavar="FILE", help="where to list the records of the batch")
    add_granted(parser)
    parser.add_argument("--oversubscribe", action="store_true", help="allow a width above the number of cores")
    add_config(parser)
    parser.add_argument("--paper", metavar="NAME", help="measure as config/papers/NAME.yaml does")


def run(arguments: argparse.Namespace) -> int:
    """Measure, write the records, prove a single one, print a line for each."""
    from mst import config
    from mst.bench.measure.runner import measure_runs
    from mst.commands._requests import graph_of, request_of, write_machine
    from mst.commands.measure import prove, reference_of
    from mst.errors import ConfigError

    refuse_without(arguments, "batch", "index", "scope")
    # A scheduler ends a job at its time limit by a signal; no partial file of an unfinished run stays behind.
    interrupt_with_workflow()
    leave_job_step(os.environ)
    settings = config.load(arguments.configfile)
    if arguments.batch:
        if arguments.index is None:
            raise ConfigError("--batch needs --index, the file that lists its records")
        return _run_batch(arguments, settings)
    request = request_of(arguments, settings)
    if reason := request.refusal():
        raise ConfigError(reason)
    write_machine(settings, request.run.machine)
    folder, manifest = graph_of(settings, request.run.graph)
    reference, file = reference_of(folder, manifest), folder / "graph.arrow"
    (measurement,) = measure_runs([request], manifest=manifest, graph_file=file, granted=arguments.granted)
    return 1 if prove(settings, measurement, reference) == "wrong" else 0


def _run_batch(arguments: argparse.Namespace, settings: Config) -> int:
    """Measure the missing runs of a batch in turn, and list all its records."""
    from mst.bench.measure.runner import measure_runs
    from mst.bench.planning.batches import write_index
    from mst.commands._requests import batch_requests, batch_rows, graph_of, move_staged, write_machine
    from mst.errors import ConfigError

    rows = batch_rows(settings, arguments.scope or "default", arguments.batch)
    if requests := batch_requests(settings, rows):
        if refused := list(filter(None, (request.refusal() for request in requests))):
            raise ConfigError("\n".join(refused))
        write_machine(settings, requests[0].run.machine)
        folder, manifest = graph_of(settings, requests[0].run.graph, in_workflow=True)
        file = folder / "graph.arrow"
        measured = measure_runs(requests, manifest=manifest, graph_file=file, granted=arguments.granted)
        for measurement in measured:
            print(line_about(measurement), flush=True)
    move_staged(settings, rows)
    write_index(arguments.index, settings.records, (str(row.run.path) for row in rows if row.run))
    print(
        f"{counted(len(requests), 'run')} measured, {len(rows) - len(requests)} already there: {arguments.index}"
    )
    return 0


def leave_job_step(environment: MutableMapping[str, str]) -> None:
    """Remove the variables that make this process a task of a scheduler's job step.

    ``srun`` gives every task the number of an open file for reaching the other ranks. The file is closed in the task's
    children, so an MPI program that they start without a launcher would fail. A launcher sets the variables again.
    """
    for name in [name for name in environment if name.startswith("PMI")]:
        del environment[name]
