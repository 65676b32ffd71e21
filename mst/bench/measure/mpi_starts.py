"""Starts all ranks of a run under MPI afresh: what a turn of such a run is (see `mst.bench.measure.worker`)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mst.bench.launch import VARIABLE, find_launcher, launch_command
from mst.bench.measure.session import pinned_environment
from mst.errors import DependencyError


def measure(spec: dict[str, Any], tell: Callable, take: str) -> None:
    """Start the ranks once, and tell what rank 0 measured, or how they failed; what they print goes to the log.

    Parameters
    ----------
    take : str
        ``samples``, the ``phases`` of an instrumented solve, or ``practice``: a start that compiles, and measures
        nothing.
    """
    scratch = Path(spec["scratch"])
    events, order = scratch / "events.jsonl", scratch / "ranks.json"
    events.unlink(missing_ok=True)
    order.write_text(json.dumps({**spec, "events": str(events), "take": take}))
    command, extra = _command(spec["width"], str(order))
    # A rank is one thread, whatever the width.
    environment = {**os.environ, **pinned_environment(1), **extra}
    code = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL).returncode
    lines = events.read_text().splitlines() if events.exists() else []
    if lines:
        # The first failure is the cause; others may follow from it.
        event = json.loads(lines[0])
        tell(event.pop("event"), **event)
    if code or not lines:
        tell("failed", detail=None, **_why(code))


def signal_of(code: int) -> int:
    """Return the signal that an exit code of a launcher stands for, or 0.

    Python says it as a negative number, shells and Open MPI add 128 to it, MPICH returns the signal itself.
    """
    if code < 0:
        return -code
    found = code - 128 if code > 128 else code
    return found if found in (signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGTERM) else 0


def _why(code: int) -> dict[str, str]:
    ended = signal_of(code)
    if ended == signal.SIGKILL:
        reason = "a rank was killed by signal 9, as the kernel does when memory runs out"
        return {"status": "out-of-memory", "reason": reason}
    if ended:
        return {
            "status": "error",
            "reason": f"a rank was ended by signal {ended} ({signal.Signals(ended).name})",
        }
    return {"status": "error", "reason": f"the ranks ended with exit code {code} and told nothing"}


def _command(ranks: int, spec: str) -> tuple[list[str], dict[str, str]]:
    launcher = find_launcher()
    if launcher is None:
        raise DependencyError(
            f"{ranks} ranks need mpiexec, which is neither beside {sys.executable} nor on PATH: "
            f"pip install '.[mpi]' in a clone of mst, or name a launcher in ${VARIABLE}"
        )
    return launch_command(ranks, [sys.executable, "-m", "mst.bench.measure.mpi_worker", spec], launcher)
