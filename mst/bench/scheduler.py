"""Questions to the scheduler of a cluster, SLURM; elsewhere they have no answer."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence

from mst.bench.output import output_of


def answer(command: Sequence[str]) -> str:
    """Return everything that a command of the scheduler prints; nothing where there is none."""
    return output_of(command, timeout=60, stderr=subprocess.STDOUT)


def fields_of(jobs: Iterable[str], *commands: Sequence[str]) -> dict[str, list[str]]:
    """Return the fields of each job in the output of the first command that knows any: lines of ``ID|FIELD|FIELD``."""
    ids = ",".join(dict.fromkeys(filter(None, jobs)))
    for command in commands if ids else ():
        rows = [line.split("|") for line in answer([*command, "-j", ids]).splitlines()]
        if found := {job: fields for job, *fields in rows if fields}:
            return found
    return {}
