"""``mst plan``: the runs that would be measured and for how long, and those that cannot run, with the reason."""

from __future__ import annotations

import argparse
import json
from collections import Counter

from mst.commands._arguments import add_config, add_json, add_paper

HELP = "show the runs that would be measured, their earlier times, and the runs that cannot, with the reason"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_config(parser)
    add_paper(parser)
    parser.add_argument("--all", action="store_true", help="list runs that are done, too")
    add_json(parser, "print one JSON object per row")


def run(arguments: argparse.Namespace) -> int:
    """Print the plan."""
    from mst import catalog, config
    from mst.bench.planning.plan import plan

    settings = config.load(arguments.configfile)
    experiment = config.paper(settings, arguments.paper) if arguments.paper else settings.experiment
    graphs = config.graph_states(settings, catalog.load(), experiment.graphs)
    places = config.places(settings)
    rows = [
        row for place in places for row in plan([experiment], graphs, place=place, records=settings.records)
    ]
    if arguments.json:
        for row in rows:
            print(json.dumps({**row.row(), "status": row.status, "seconds": row.seconds}))
        return 0
    for row in rows:
        if row.status == "done" and not arguments.all:
            continue
        seconds = f"{row.seconds:.1f} s" if row.seconds else ""
        print(
            f"{row.status:<11}  {row.graph:<22}  {row.algorithm:<22}  {row.options:<14}  "
            f"w{row.width:<4}  {seconds:>8}  {row.reason}".rstrip()
        )
    print(_summary(rows, ", ".join(place.name for place in places)))
    return 0


def _summary(rows: list, machine: str) -> str:
    counts = Counter(row.status for row in rows)
    listed = ", ".join(
        f"{counts[s]} {s}" for s in ("planned", "done", "waiting", "unsupported", "unavailable") if counts[s]
    )
    known = [row.seconds for row in rows if row.status == "planned" and row.seconds]
    unknown = counts["planned"] - len(known)
    time = f"about {sum(known):.0f} s of measuring" + (f", {unknown} runs not timed before" if unknown else "")
    return f"on {machine}: {listed or 'no runs'}; {time}"
