"""Questions to the scheduler of a cluster, SLURM; elsewhere they have no answer."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence


def output_of(command: Sequence[str]) -> str:
    """Return everything that a command prints; nothing where it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr


def fields_of(jobs: Iterable[str], *commands: Sequence[str]) -> dict[str, list[str]]:
    """Return the fields of each job in the output of the first command that knows any: lines of ``ID|FIELD|FIELD``."""
    ids = ",".join(dict.fromkeys(filter(None, jobs)))
    for command in commands if ids else ():
        rows = [line.split("|") for line in output_of([*command, "-j", ids]).splitlines()]
        if found := {job: fields for job, *fields in rows if fields}:
            return found
    return {}
