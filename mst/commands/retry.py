"""``mst retry``: forget failed or disturbed runs and unavailable graphs, so that the next call tries them again."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mst.commands._arguments import add_config, add_profile

if TYPE_CHECKING:
    from mst.bench.planning.plan import Planned
    from mst.catalog import Catalog
    from mst.config import Config

HELP = "remove the records of failed or disturbed runs, so that the next run of the workflow repeats them"

FAILED = ("error", "timeout", "out-of-memory", "unavailable")
STATUSES = (*FAILED, "disturbed")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "statuses", nargs="*", metavar="STATUS", help=f"{', '.join(STATUSES)} (default: all but the last)"
    )
    parser.add_argument(
        "--scope",
        action="append",
        metavar="SCOPE",
        help="default, papers/NAME, graphs/NAME or algorithms/NAME; repeatable (default: default and all papers)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be removed without removing it")
    add_config(parser)
    add_profile(parser, "for the kinds of nodes of a cluster profile, not for this machine")


def run(arguments: argparse.Namespace) -> int:
    """Remove the files, and name them and the command that makes them again."""
    from mst import config
    from mst.bench.records.store import put_invalid_aside
    from mst.errors import ConfigError, nearest
    from mst.scopes import Scopes

    for status in arguments.statuses:
        if status not in STATUSES:
            raise ConfigError(
                f"no status {status!r}{nearest(status, STATUSES)}; the statuses are {', '.join(STATUSES)}"
            )
    settings = config.load(arguments.configfile, arguments.profile)
    if not arguments.dry_run:
        for machine in config.machines(settings):
            for reason in put_invalid_aside(settings.records / machine.name):
                print(f"set aside: {reason}")
    known = Scopes.of(settings, config.machines(settings))
    scopes = arguments.scope or ["default", *(f"papers/{name}" for name in known.papers)]
    wanted = set(arguments.statuses or FAILED)
    rows = [row for scope in scopes for row in known.plan(scope)]
    files = dict.fromkeys(
        [*_files_of_runs(settings, rows, wanted), *_files_of_graphs(settings, known.catalog, rows, wanted)]
    )
    for file in files:
        print(f"{'would remove' if arguments.dry_run else 'removed'}: {file}")
        if not arguments.dry_run:
            file.unlink()
    if files:
        print("the next run of snakemake or mst measure makes them again")
    else:
        searched = " and ".join(arguments.scope or ("the experiment", "the papers"))
        statuses = " or ".join(status for status in STATUSES if status in wanted)
        print(
            f"no run or graph of {searched} has the status {statuses}; --scope, --configfile and --profile name others"
        )
    return 0


def _files_of_runs(settings: Config, rows: Iterable[Planned], wanted: set[str]) -> Iterator[Path]:
    """Yield the files of runs whose measurement has one of these statuses, or flags of a disturbance."""
    from mst.bench.records.compare import DISTURBED
    from mst.bench.records.store import ids_path, proof_path, read_record

    def show_invalid(reason: str) -> None:
        # Only in a dry run are there any: `run` has put the others aside.
        print(f"would set aside: {reason}")

    for path in dict.fromkeys(settings.records / row.run.path for row in rows if row.run):
        if path.is_file() and (record := read_record(path, set_aside=show_invalid)):
            is_disturbed = not DISTURBED.isdisjoint(record.measurement["conditions"]["flags"])
            if record.measurement["status"] in wanted or (is_disturbed and "disturbed" in wanted):
                yield from (f for f in (path, proof_path(path), ids_path(path)) if f.is_file())


def _files_of_graphs(
    settings: Config, entries: Catalog, rows: Iterable[Planned], wanted: set[str]
) -> Iterator[Path]:
    """Yield the manifests of unavailable graphs."""
    from mst.config import graph_folder

    if "unavailable" in wanted:
        for name in dict.fromkeys(row.graph for row in rows if row.status == "unavailable"):
            yield graph_folder(settings, entries[name]) / "manifest.json"
