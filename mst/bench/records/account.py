"""The end of a workflow: its last gate, and on a cluster the jobs that failed or are still with the scheduler."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mst.bench.output import fields_of, scheduler_output
from mst.bench.records.store import reading_table, write_json
from mst.errors import MSTError, printable
from mst.units import counted

FAILED = "failed.json"
# The workflow makes the table again if a planned run is missing, but not if another is.
_REMEDY = (
    "\na wrong run counts until its code is repaired, or its folder below results/records is removed and `mst report` "
    "called: "
)
_RUN = re.compile(r"^SLURM run ID: (\S+)$", re.MULTILINE)
_FAILED = re.compile(r"^(?:    message: )?Error in (group|rule) (\S+?):?$", re.MULTILINE)
_REFUSED = re.compile(r"SLURM sbatch failed\. The error message was '(.+?)'\.$", re.DOTALL | re.MULTILINE)
_SCHEDULED = re.compile(r"slurm_logs/\S*?/(\d+)\.log")
_LONGEST_LINE = 500
"""Characters of a log's last line that are shown."""
# Lines after these are quoted from a job's own log.
_QUOTED = re.compile(r"^(?:Logfile |={60,}$)", re.MULTILINE)
_LOG = re.compile(r"^\s+log: (.+?)(?: \(check log file.*)?$", re.MULTILINE)
_OUTPUT = re.compile(r"^\s+output: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Failure:
    """A job, a group or rule, that ended without its outputs: the missing ones, and its log.

    `scheduled` is its id with the scheduler, empty if there is none, and `state` is how it ended, as the scheduler
    reports it, such as ``TIMEOUT``, ``CANCELLED`` or ``NODE_FAIL``; `refusal` says why the scheduler did not take the
    job. `last_line` is the end of the log of a job on this machine, where an error of this package is.
    """

    job: str
    scheduled: str = ""
    state: str = "failed"
    missing: list[str] = field(default_factory=list)
    log: str = ""
    refusal: str = ""
    last_line: str = ""

    def __str__(self) -> str:
        job = f"job {self.scheduled} " if self.scheduled else ""
        made = self.missing[0] if len(self.missing) == 1 else f"{len(self.missing)} files"
        said = f": {self.last_line}" if self.last_line else ""
        why = self.refusal or f"see {self.log or 'the log above'}{said}"
        return f"{self.state}: {job}{self.job}, {made} not made; {why}"


def failures(log: str) -> list[Failure]:
    """Return the failures in an engine's log, once each.

    >>> log = "Error in rule run:\\n    output: a.json\\n    log: a.log (check log file(s) for error details)\\n"
    >>> print(*failures(log))
    failed: run, a.json not made; see a.log
    """
    found: dict[str, Failure] = {}
    counted_files: set[str] = set()
    log = log.partition("\nTerminating processes on user request")[0]  # what ends later did not fail
    for start in _FAILED.finditer(log):
        block = _QUOTED.split(log[start.end() :], maxsplit=1)[0]
        block = block[: following.start()] if (following := _FAILED.search(block)) else block
        scheduled, refused = _SCHEDULED.search(block), _REFUSED.search(block)
        refusal = "; ".join(refused[1].splitlines()) if refused else ""
        if start[1] == "group" and not scheduled:
            # The engine does not print why the scheduler refused a group.
            refusal = "the scheduler took no such job; see `mst plan --profile cluster`"
        logs = [] if refusal else _LOG.findall(block)
        outputs = (name for line in _OUTPUT.findall(block) for name in line.split(", "))
        missing = [name for name in outputs if not Path(name).exists()]
        if scheduled is None and found and counted_files.issuperset(missing):
            continue  # the same failure again, reported by the job itself
        counted_files.update(missing)
        failure = Failure(
            job=start[2],
            scheduled=scheduled[1] if scheduled else "",
            state="refused" if refusal else "failed",
            missing=missing,
            log=logs[0].split(", ")[-1] if logs else "",
            refusal=refusal,
        )
        found.setdefault(failure.scheduled or str(failure), failure)
    return list(found.values())


def write_account(logs: Iterable[Path], results: Path) -> list[Failure]:
    """Write the failures in the engine's logs, if any, to ``failed.json`` below the results, and return them."""
    found = [failure for log in logs for failure in failures(log.read_text())]
    queue = ["squeue", "-h", "-t", "all", "-o", "%i|%T"]
    account = ["sacct", "-n", "-X", "-P", "-o", "JobID,State"]
    states = fields_of((failure.scheduled for failure in found), queue, account)
    # Only the first word, as of ``CANCELLED by 1000``.
    found = [replace(f, state=states.get(f.scheduled, [f.state])[0].split()[0]) for f in found]
    found = [replace(f, last_line="" if f.scheduled else _last_line(Path(f.log))) for f in found]
    try:
        (results / FAILED).unlink(missing_ok=True)
        if found:
            write_json(results / FAILED, [asdict(failure) for failure in found])
    except OSError as error:  # such as the full disk that jobs failed by
        print(f"{results / FAILED} cannot be written: {error.strerror}", file=sys.stderr)
    return found


def _last_line(log: Path) -> str:
    """Return the last line of a job's log; an empty text if there is no such file."""
    try:
        lines = log.read_text(errors="replace").split("\n")
    except OSError:
        return ""
    return printable(next(filter(None, reversed(lines)), ""))[:_LONGEST_LINE]


def cancel_left(logs: Iterable[Path]) -> None:
    """Cancel the jobs that are still with the scheduler, of the runs that have these logs.

    An interrupted executor cancels only the jobs on its list, from which those being queried or submitted are missing.
    """
    for log in filter(Path.is_file, logs):
        for name in _RUN.findall(log.read_text()):
            # The executor names all jobs of a run by the run's id.
            scheduler_output(["scancel", f"--name={name}"])


def check_table(table: Path, out: Path, *, strict: bool = False) -> None:
    """Write counts by status; raise `MSTError` when a current record is ``wrong`` (or ``unavailable``, if strict).

    The error names every offending run and its reason, and nothing is written. Reference measurements came with the
    code and are counted separately: wrong forests among them are on the page, but are not this run's fault.
    """
    import pyarrow.parquet as pq

    columns = ["machine", "graph", "algorithm", "options", "width", "status", "reason", "current", "origin"]
    with reading_table(table):
        rows = [row for row in pq.read_table(table, columns=columns).to_pylist() if row["current"]]
    elsewhere = [row for row in rows if row["origin"] == "reference"]
    rows = [row for row in rows if row["origin"] != "reference"]
    refused = ("wrong", "unavailable") if strict else ("wrong",)
    problems = [
        f"{r['status']}: {r['algorithm']} ({r['options']}, width {r['width']}) on {r['graph']}, "
        f"machine {r['machine']}: {r['reason']}"
        for r in rows
        if r["status"] in refused
    ]
    if problems:
        folders = dict.fromkeys(
            "/".join((r["machine"], r["graph"], r["algorithm"], r["options"]))
            for r in rows
            if r["status"] == "wrong"
        )
        remedy = _REMEDY + ", ".join(folders) if folders else ""
        raise MSTError("\n".join(dict.fromkeys(problems)) + remedy)
    write_json(out, {"status": _counts(rows), "reference": _counts(elsewhere), "strict": strict})


def summary(checked: Path) -> str:
    """Return the counts that `check_table` wrote, in one line."""
    counts = json.loads(checked.read_text())["status"]
    proved = f"{counted(counts.pop('ok', 0), 'run')} measured and proved"
    return ", ".join([proved, *(f"{n:,} {status}" for status, n in counts.items())])


def _counts(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return dict(sorted(Counter(row["status"] for row in rows).items()))
