"""The outcome of a run, and finished processes on disk: a runner that is killed loses at most the current process."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from mst.bench.measure.processes import ProcessorSeconds
from mst.bench.records.store import write_json

UNFINISHED = "unfinished"  # folder beside the records


@dataclass
class Outcome:
    """The reports of a run's processes, their time spans, and how the run ended.

    `before` are the conditions before its first process. The seconds are those of its turns, of importing and
    compiling before them, and of processor time used by others and by a hypervisor during the turns.
    """

    before: dict[str, Any] = field(default_factory=dict)
    processes: list[dict[str, Any]] = field(default_factory=list)
    phases: list[dict[str, float]] = field(default_factory=list)
    profiled: list[dict[str, Any]] = field(default_factory=list)
    spans: list[tuple[datetime, datetime]] = field(default_factory=list)
    turn_seconds: float = 0.0
    open_seconds: float = 0.0
    others_seconds: float = 0.0
    stolen_seconds: float = 0.0
    peak_tree_bytes: int = 0
    status: str = "ok"
    reason: str | None = None
    detail: str | None = None
    abrupt: bool = False

    def fail(self, status: str, reason: str, detail: str | None = None, *, abrupt: bool = False) -> None:
        """Record the first failure, and whether something outside the run ended it."""
        if self.status == "ok":
            self.status, self.reason, self.detail, self.abrupt = status, reason, detail, abrupt

    def count_others(self, before: ProcessorSeconds, after: ProcessorSeconds, used: float) -> None:
        """Add the processor time of others and of a hypervisor during a turn whose processes `used` that many seconds.

        The kernel counts busy time in ticks, so a turn's difference may be negative. It is added as it is: without the
        negative ones the sum would grow with the number of cores in use, whatever else ran.
        """
        self.others_seconds += after.busy - before.busy - used - (after.own - before.own)
        self.stolen_seconds += after.stolen - before.stolen

    def keep(self, file: Path, made_by: dict[str, Any]) -> None:
        """Write a run's finished processes, unless the disk is full.

        Later processes belong to the same measurement if they are `made_by` the same machine, code and request.
        """
        with contextlib.suppress(OSError):
            write_json(file, {"made_by": made_by, **_JSON.dump_python(self, mode="json")})


_JSON = TypeAdapter(Outcome)


def resumed(file: Path, most: int, made_by: dict[str, Any]) -> Outcome:
    """Return an outcome with the processes that `Outcome.keep` wrote; at least one more is wanted.

    It has at most `most` of them: a new process measures the phases and leaves the edge ids. It has none if the file
    is damaged or from another machine, code or request.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(file.read_bytes())
        if kept["made_by"] == made_by:
            outcome = _JSON.validate_python(kept)
            del outcome.processes[most:], outcome.spans[most:]
            return outcome
    return Outcome()
