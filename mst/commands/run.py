"""``mst run``: measure one run, in turns with the workflow's other runs on its graph, and write the records."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from mst.commands._arguments import add_config, add_granted, add_options, add_paper, add_threads
from mst.commands._interrupt import interrupt_on_sigterm
from mst.commands._print import line_about

HELP = "measure one algorithm on one graph of the catalogue and write the record"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("algorithm", nargs="?", metavar="ALGORITHM", help="see mst list")
    parser.add_argument("graph", nargs="?", metavar="GRAPH", help="see mst list graphs")
    add_options(parser)
    add_threads(parser, "width (default: 1; all cores for threads)")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="a planned record's path names the whole run"
    )
    add_granted(parser)
    parser.add_argument("--oversubscribe", action="store_true", help="allow a width above the cores")
    add_config(parser)
    add_paper(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, write the records, print a line for each."""
    from mst import config
    from mst.bench.measure.runner import measure_runs
    from mst.bench.planning.site import leave_job_step
    from mst.commands._requests import graph_of, note_machine, requests_of
    from mst.errors import ConfigError

    # A scheduler ends a job at its time limit by a signal; no partial file of an unfinished run stays behind.
    interrupt_on_sigterm()
    leave_job_step(os.environ)
    settings = config.load(arguments.configfile)
    requests = requests_of(arguments, settings)
    if reason := requests[0].refused():
        raise ConfigError(reason)
    note_machine(settings, requests[0].run.machine)
    folder, manifest = graph_of(settings, requests[0].run.graph)
    file = folder / "graph.arrow"
    for measurement in measure_runs(requests, manifest=manifest, graph_file=file, granted=arguments.granted):
        print(line_about(measurement), flush=True)
    return 0
