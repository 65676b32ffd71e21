"""``mst plan``: the runs that would be measured and for how long, and those that cannot run, with the reason."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING

from mst.commands._arguments import add_config, add_json, add_profile, add_scopes, refuse_without
from mst.commands._print import columns, json_text
from mst.units import counted

if TYPE_CHECKING:
    from mst.bench.planning.plan import GraphState, Planned
    from mst.config import Config

HELP = "show the planned runs with their earlier times, and the impossible ones with the reason"


def configure(parser: argparse.ArgumentParser) -> None:
    add_scopes(parser)
    add_config(parser)
    add_profile(parser, "plan for the site of a cluster profile, and predict its jobs and core hours")
    parser.add_argument("--used", action="store_true", help="with --profile: also show what finished jobs used")
    parser.add_argument("--all", action="store_true", help="also list runs that are done")
    add_json(parser, "print one JSON object per row")


def run(arguments: argparse.Namespace) -> int:
    from mst import config
    from mst.scopes import Scopes

    refuse_without(arguments, "profile", "used")
    settings = config.load(arguments.configfile, arguments.profile)
    known = Scopes.of(settings, config.machines(settings))
    config.check_graphs(settings, known.catalog)

    def rows_of(states: Mapping[str, GraphState]) -> list[Planned]:
        rows = chain.from_iterable(known.plan(scope, states) for scope in arguments.scopes)
        return list({tuple(row.row().values()): row for row in rows}.values())

    rows = rows_of(known.graph_states(arguments.scopes))
    if arguments.json:
        for row in rows:
            now = {"status": row.status, "reason": row.reason, "seconds": row.seconds}
            print(json_text({**row.row(), **now}))
        return 0
    if arguments.profile and settings.site:
        print(_usage(settings, rows_of({}), rows, with_used=arguments.used))
        return 0
    for row in rows:
        if row.status == "done" and not arguments.all:
            continue
        seconds = f"{row.seconds:.1f} s" if row.seconds else ""
        print(
            f"{row.status:<11}  {row.graph:<22}  {row.algorithm:<22}  {row.options:<14}  "
            f"w{row.width:<4}  {seconds:>8}  {row.reason}".rstrip()
        )
    print(_summary(rows, ", ".join(machine.name for machine in known.machines)))
    return 0


def _usage(settings: Config, possible: list[Planned], rows: list[Planned], *, with_used: bool) -> str:
    """Return a table of the jobs, hours and core hours of each kind of node, and why others have no jobs."""
    from mst.bench.planning.batches import batches
    from mst.bench.planning.usage import predicted, start_of, used
    from mst.units import duration

    assert settings.site is not None
    head = ("", "machine", "jobs", "runs", "first starts after", "hours on nodes", "core hours")
    found = [("predicted", usage) for usage in predicted(batches(possible, rows), settings.site)]
    starts = {"work": start_of(settings.site.work)} | {usage.machine: usage.start for _, usage in found}
    if with_used:
        done = [row.run for row in rows if row.status == "done" and row.run]
        found += [("used", usage) for usage in used(settings.records, done, settings.site)]
    lines = [
        (
            kind,
            usage.machine,
            usage.jobs,
            usage.runs,
            "unknown" if usage.start.seconds is None else duration(usage.start.seconds),
            round(usage.seconds / 3600, 3),
            round(usage.core_hours, 3),
        )
        for kind, usage in found
    ]
    table = [columns([head, *lines])] if lines else []
    table += [
        f"{name}: the scheduler would start no job ({start.refusal})"
        for name, start in starts.items()
        if start.refusal
    ]
    waiting = {row.machine for row in rows if row.is_missing}
    without_jobs = [node.machine for node in settings.site.nodes.values() if node.machine not in waiting]
    for machine in without_jobs:
        reasons = Counter(row.reason for row in rows if row.machine == machine and row.status != "done")
        why = "; ".join(f"{counted(count, 'run')}: {reason}" for reason, count in reasons.most_common())
        table.append(f"{machine}: nothing to submit{f' ({why})' if why else ''}")
    return "\n".join(table)


def _summary(rows: list, machine: str) -> str:
    counts = Counter(row.status for row in rows)
    listed = ", ".join(
        f"{counts[s]} {s}" for s in ("planned", "done", "waiting", "unsupported", "unavailable") if counts[s]
    )
    known = [row.seconds for row in rows if row.status == "planned" and row.seconds]
    unknown = counts["planned"] + counts["waiting"] - len(known)
    time = [f"about {sum(known):.0f} s of measurement"] if known else []
    time += [f"{counted(unknown, 'run')} not timed before"] if unknown else []
    return f"on {machine}: {listed or 'no runs'}; {', '.join(time) or 'nothing to measure'}"
