"""An experiment's usage of a cluster: predicted before anything is submitted, and actual afterwards."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from mst.bench.output import fields_of, scheduler_output
from mst.bench.planning.batches import Batch
from mst.bench.planning.site import Node, Site, Work
from mst.bench.records.store import Record, Run, load_records

Job = tuple[float, str, int]  # seconds, part of a batch and number of runs


class Start(NamedTuple):
    """The seconds from a job's submission to its start, if the scheduler knows them, or why it refuses the job."""

    seconds: float | None = None
    refusal: str = ""


@dataclass(frozen=True)
class Usage:
    """Jobs of one kind of node.

    The seconds are the sum over the jobs; core hours count whole nodes if these are exclusive; `start` is the first
    job's.
    """

    machine: str
    jobs: int
    runs: int
    seconds: float
    core_hours: float
    start: Start


def predicted(batches: Iterable[Batch], site: Site) -> list[Usage]:
    """Return the predicted usage of the missing runs of a plan, by kind of node."""
    jobs: dict[str, list[Job]] = {}
    for batch in batches:
        if rows := [row for row in batch.rows if row.is_missing]:
            seconds = sum(row.expected_seconds for row in rows)
            jobs.setdefault(batch.machine, []).append((seconds, batch.part, len(rows)))
    nodes = {machine: site.node(machine) for machine in jobs}
    return [_usage(node, jobs[name], start_of(node)) for name, node in nodes.items()]


def _usage(node: Node, jobs: Iterable[Job], start: Start) -> Usage:
    seconds, parts, runs = zip(*jobs)
    core_seconds = sum(taken * _cores(node, part) for taken, part in zip(seconds, parts))
    return Usage(node.machine, len(runs), sum(runs), sum(seconds), core_seconds / 3600, start)


def _cores(node: Node, part: str) -> int:
    """Return the cores a batch occupies: whole nodes, or one per rank if nodes are shared."""
    nodes, _, ranks = part.partition("x")
    spread = nodes.isdigit() and ranks.isdigit()
    if spread and not node.exclusive:
        return int(nodes) * int(ranks)
    return node.cores * (int(nodes) if spread else 1)


def start_of(queue: Node | Work) -> Start:
    """Return when the scheduler would start a job with these resources; none is submitted."""
    asked = queue.run_resources("peer", 1) if isinstance(queue, Node) else queue.resources()
    gpus = ":".join(str(asked[key]) for key in ("gpu_model", "gpu") if asked.get(key))
    options = {
        "partition": queue.partition,
        "account": queue.account,
        "qos": queue.qos,
        "constraint": queue.constraint,
        "mem": asked["mem_mb"],
        "gpus": gpus,
        "cpus-per-task": queue.cpus,
        "time": queue.time,
    }
    given = [f"--{name}={value}" for name, value in options.items() if value]
    given += shlex.split(str(asked["slurm_extra"] or ""))
    output = scheduler_output(["sbatch", "--test-only", *given, "--wrap=true"])
    # sbatch: Job 7 to start at 2026-01-31T12:00:00 using 128 processors on nodes n1 in partition cpu
    words = output.split()
    try:
        start = datetime.fromisoformat(words[words.index("at") + 1])
    except (ValueError, IndexError):
        return Start(refusal="; ".join(output.splitlines()))
    return Start(max((start - datetime.now()).total_seconds(), 0.0))


def used(records: Path, wanted: Iterable[Run], site: Site) -> list[Usage]:
    """Return the usage of the jobs that measured these runs, by kind of node, from records and scheduler."""
    paths = {records / run.path for run in wanted}
    jobs: dict[str, dict[str, list[Record]]] = {}
    for record in load_records(records):
        scheduled = record.measurement["conditions"].get("scheduled")
        if record.path in paths and scheduled:
            jobs.setdefault(record.run.machine, {}).setdefault(scheduled["job"], []).append(record)
    times = _scheduler_times(job for own in jobs.values() for job in own)
    found = []
    for node in site.nodes.values():
        if own := jobs.get(node.machine):
            taken = [(_seconds(runs), runs[0].run.layout, len(runs)) for runs in own.values()]
            first = min((times[job] for job in own if job in times), default=None)
            found.append(_usage(node, taken, Start(first[1] if first else None)))
    return found


def _seconds(runs: Sequence[Record]) -> float:
    """Return how long a job took, from the start of its first run to the end of its last."""
    started = min(datetime.fromisoformat(record.measurement["started"]) for record in runs)
    ended = max(datetime.fromisoformat(record.measurement["created"]) for record in runs)
    return (ended - started).total_seconds()


def _scheduler_times(jobs: Iterable[str]) -> dict[str, tuple[datetime, float]]:
    """Return when each job that the scheduler knows started, and how many seconds it had waited."""
    account = ["sacct", "-n", "-X", "-P", "-o", "JobID,Submit,Start"]
    times = {}
    for job, stamps in fields_of(jobs, account, ["squeue", "-h", "-t", "all", "-o", "%i|%V|%S"]).items():
        with contextlib.suppress(ValueError):
            submitted, started = map(datetime.fromisoformat, stamps)
            times[job] = started, (started - submitted).total_seconds()
    return times
