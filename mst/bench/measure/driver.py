"""One run as seen by the runner: the reports of its processes, the time spent, and the limits that end it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mst.bench.measure.fork_server import ForkServer
from mst.bench.measure.messages import RunSpec
from mst.bench.measure.outcome import Outcome
from mst.bench.measure.processes import end_tree, failure_of_exit, memory_limit, processor_seconds, tree_bytes
from mst.bench.planning.experiment import Measure
from mst.units import size

_POLL_SECONDS = 0.02
COMPILING = "importing, compiling and solving small graphs"  # a run's first step, in which a solve may hang
_LIMITS_TO_COMPILE = 5  # this step's time limit, in those of a process
_INSTRUMENTED_PROCESSES = 3  # the most that measure phases, and that are profiled: the fewest with an interval


@dataclass(frozen=True)
class Cost:
    """Seconds a run may spend, has spent, and spent on its last process; and how many processes it still needs."""

    budget: float
    spent: float
    last: float
    missing: int

    @property
    def left(self) -> float:
        """Seconds left in its budget."""
        return max(self.budget - self.spent, 0.0)


def affordable(costs: Sequence[Cost]) -> list[bool]:
    """Return for each of the runs that take turns whether it gets one more process.

    Time that some runs will not need of their budgets goes to the others, cheapest first.
    """
    spare = sum(cost.budget - cost.spent - min(cost.left, cost.missing * cost.last) for cost in costs)
    granted = [False] * len(costs)
    for k in sorted(range(len(costs)), key=lambda k: costs[k].last):
        beyond = max(costs[k].last - costs[k].left, 0.0)
        if costs[k].missing and (not beyond or beyond <= spare):
            granted[k] = True
            spare -= beyond
    return granted


class RunDriver:
    """One run in a fork server: opened by its first turn, ended by a limit; `index` labels its commands and events."""

    def __init__(self, index: int, spec: RunSpec, measure: Measure, outcome: Outcome):
        self.outcome, self.measure, self._index, self._spec = outcome, measure, index, spec
        self._log = Path(spec.scratch, "output.log")
        self._server: ForkServer | None = None
        self._template = 0
        self._closed = self._has_phases = self._starts_ranks = self._has_profile = False
        self._last = 0.0
        self._limit = memory_limit(measure.memory)

    @property
    def cost(self) -> Cost:
        """The seconds of its budget spent, and the expected cost of the rest."""
        unfinished = self.outcome.status == "ok" and not self._closed
        missing = self.measure.processes - len(self.outcome.processes) if unfinished else 0
        return Cost(self.measure.budget, self.outcome.turn_seconds, self._last, missing)

    def sample(self, server: ForkServer) -> None:
        """Measure one fresh process."""
        if self._server is None or not self._server.running:
            self._open(server)
        outcome = self.outcome
        if outcome.status == "ok":
            begun, before = datetime.now(UTC), processor_seconds()
            self._last, used = self._command("sample")
            outcome.spans.append((begun, datetime.now(UTC)))
            outcome.turn_seconds += self._last
            if used is not None:
                outcome.count_others(before, processor_seconds(), used)

    def close(self) -> None:
        """Measure the phases, and profile if requested, each in fresh processes; end the run."""
        self._closed = True
        if self._server is None:
            return
        left = self.cost.left
        for _ in range(min(self.measure.processes, _INSTRUMENTED_PROCESSES)):
            # Starting ranks again takes as long as a process of the measurement.
            wanted = self._has_phases and self.measure.phases and (self._last <= left or not self._starts_ranks)
            if self.outcome.status == "ok" and wanted:
                left -= self._command("phases")[0]
            if self.outcome.status == "ok" and self._has_profile and self.measure.profile:
                self._command("profile")
        self._end_template()
        self._server.send(self._index, "close")
        if self.outcome.status == "ok" and not self.outcome.processes:
            self.outcome.fail("error", "no process was measured")
        if self.outcome.status != "ok" and not self.outcome.detail and self._log.is_file():
            self.outcome.detail = self._log.read_bytes()[-4000:].decode(errors="replace") or None

    def _open(self, server: ForkServer) -> None:
        self._server = server
        started = time.monotonic()
        server.send(self._index, "open", spec=asdict(self._spec), log=str(self._log))
        # A first run compiles everything, perhaps on a busy machine: that is not the algorithm's fault.
        ready = self._follow("ready", COMPILING, _LIMITS_TO_COMPILE * self.measure.timeout)
        if ready and self.outcome.status == "ok":
            # The memory of compiling is not counted as the run's.
            self.outcome.peak_tree_bytes = tree_bytes(self._template)
        self.outcome.open_seconds = time.monotonic() - started

    def _command(self, command: str) -> tuple[float, float | None]:
        """Return how long a command took and the processor time of its processes (None if it was ended)."""
        assert self._server is not None
        started = time.monotonic()
        self._server.send(self._index, command)
        finished = self._follow("finished", "a process", self.measure.timeout)
        return time.monotonic() - started, finished["cpu"] if finished else None

    def _follow(self, until: str, subject: str, limit: float) -> dict[str, Any] | None:
        """Take events up to the one that ends this step, and return it; None if a limit ends the run."""
        assert self._server is not None
        deadline = time.monotonic() + limit
        while True:
            events = self._server.events(self._index, _POLL_SECONDS)
            if events is None:
                self.outcome.fail("error", f"the runs' fork server ended: {self._server.output()}", abrupt=True)
                return None
            # Take them all: an event after the end of a step may say that the run has ended.
            last = [event for event in events if self._note(event) == until]
            if last:
                return last[0]
            if self.outcome.status != "ok" and not self._template:
                return None
            if self._template:
                held = tree_bytes(self._template)
                self.outcome.peak_tree_bytes = max(self.outcome.peak_tree_bytes, held)
                if held > self._limit:
                    self._end("out-of-memory", f"held {size(held)}, above the limit of {size(self._limit)}")
                    return None
            if time.monotonic() > deadline:
                self._end("timeout", f"{subject} took more than {limit:g} s")
                return None

    def _note(self, event: dict[str, Any]) -> str:
        """Note an event's values and return its name."""
        name = event.pop("event")
        if name == "opened":
            self._template = event["pid"]
        elif name == "ready":
            self._has_phases, self._starts_ranks = event["phases"], event["ranks"]
            self._has_profile = event["profile"]
        elif name == "samples":
            self.outcome.processes.append(event)
        elif name == "phases":
            self.outcome.phases.append(event["phases"])
        elif name == "profiled":
            self.outcome.profiled.append(event["counters"])
        elif name == "failed":
            # Errors of the run leave a traceback; terminated ranks do not.
            self.outcome.fail(event["status"], event["reason"], event["detail"], abrupt=not event["detail"])
        elif name == "exited" or (name in ("compiled", "finished") and event["code"]):
            self.outcome.fail(*failure_of_exit(event["code"]), abrupt=event["code"] < 0)
        if name == "exited":
            self._template = 0
        return name

    def _end(self, status: str, reason: str) -> None:
        self.outcome.fail(status, reason)
        self._end_template()

    def _end_template(self) -> None:
        # Without a template yet, its id is 0, and a signal to process 0 would end this process's whole group.
        if self._template:
            end_tree(self._template)
        self._template = 0
