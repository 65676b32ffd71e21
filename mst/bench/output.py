"""The output of programs that may be missing or fail, such as those of a cluster's scheduler (SLURM)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from typing import Any


def output_of(command: Sequence[str], timeout: float = 20.0, **options: Any) -> str:
    """Return the standard output of a command; an empty text if it cannot run, or takes more than `timeout` seconds.

    `options` are those of `subprocess.run`; with ``check=True`` the output of a failing command is also dropped.

    >>> output_of(["echo", "there"]), output_of(["no-such-program"]), output_of(["printf", "\\\\351"])
    ('there\\n', '', '\ufffd')
    """
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, **options}
    try:
        return subprocess.run(command, text=True, errors="replace", timeout=timeout, **given).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def scheduler_output(command: Sequence[str]) -> str:
    """Return all that a command of the scheduler prints; an empty text if there is no scheduler."""
    return output_of(command, timeout=60, stderr=subprocess.STDOUT)


def fields_of(jobs: Iterable[str], *commands: Sequence[str]) -> dict[str, list[str]]:
    """Return each job's fields from the first command that knows the job and prints ``ID|FIELD|FIELD`` for it."""
    wanted, found = dict.fromkeys(filter(None, jobs)), dict[str, list[str]]()
    for command in commands:
        if ids := ",".join(job for job in wanted if job not in found):
            rows = (line.split("|") for line in scheduler_output([*command, "-j", ids]).splitlines())
            found |= {job: fields for job, *fields in rows if fields}
    return found
