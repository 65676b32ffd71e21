"""The supervising side of runs: hosts pinned to a width, turns, and limits that really end a run."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from mst.bench.machine import cores_first
from mst.bench.measure.worker import PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG
from mst.bench.planning.experiment import Measure

_POLL_SECONDS = 0.02
_CLOSE_SECONDS = 5.0
_COMPILING = 5
"""Limits of a process that importing and compiling may take."""


@dataclass
class Outcome:
    """What came back from a run's processes, as it came."""

    processes: list[dict[str, Any]] = field(default_factory=list)
    phases: dict[str, float] | None = None
    profiled: dict[str, float] = field(default_factory=dict)
    status: str = "ok"
    reason: str | None = None
    detail: str | None = None
    abrupt: bool = False
    peak_tree_bytes: int = 0


@dataclass(frozen=True)
class Cost:
    """Seconds that a run may spend, has spent and spent on its last process; and how many processes it lacks."""

    budget: float
    spent: float
    last: float
    missing: int

    @property
    def own(self) -> float:
        """Seconds that are left of its own budget."""
        return max(self.budget - self.spent, 0.0)


def affordable(costs: Sequence[Cost]) -> list[bool]:
    """Return of each of the runs that are measured in turns whether it gets one more process.

    What some will not need of their budgets the others share, the cheapest first.

    Examples
    --------
    >>> from mst.bench.measure.session import Cost, affordable
    >>> affordable([Cost(10, 2, 2, 4), Cost(10, 9, 9, 4)])
    [True, False]
    >>> affordable([Cost(10, 2, 1, 0), Cost(10, 9, 9, 4)])
    [False, True]
    """
    spare = sum(cost.budget - cost.spent - min(cost.own, cost.missing * cost.last) for cost in costs)
    granted = [False] * len(costs)
    for k in sorted(range(len(costs)), key=lambda k: costs[k].last):
        beyond = max(costs[k].last - costs[k].own, 0.0)
        if costs[k].missing and (not beyond or beyond <= spare):
            granted[k] = True
            spare -= beyond
    return granted


def pinned_environment(width: int) -> dict[str, str]:
    """Return the variables that pin every threading library to `width` threads."""
    names = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "RAYON_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "POLARS_MAX_THREADS",
    )
    return {
        **{name: str(width) for name in names},
        "NUMBA_THREADING_LAYER": "omp",
        "OMP_PROC_BIND": "false",
        "OMP_DYNAMIC": "false",
        "PYTHONHASHSEED": "0",
    }


class Host:
    """A worker process pinned to a width, which forks the parents of runs (see `mst.bench.measure.worker`).

    Parameters
    ----------
    width : int
        Processors that it and all its children may use.
    scratch : Path
        Folder of its output.
    """

    def __init__(self, width: int, scratch: Path):
        cpus = cores_first(os.sched_getaffinity(0))[:width]

        def confine() -> None:
            os.sched_setaffinity(0, cpus)
            # Nothing that a run starts gets away, and no host outlives its supervisor, however that ends.
            libc = ctypes.CDLL(None)
            libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

        self.log = scratch / f"host-{width}.log"
        self.events, told = os.pipe()
        control, self._orders = os.pipe()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mst.bench.measure.worker", str(told), str(control)],
                env={**os.environ, **pinned_environment(width)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(told, control),
                start_new_session=True,
                preexec_fn=confine,
            )
        os.close(told)
        os.close(control)
        self._buffer = b""
        self._untold: dict[int, list[dict[str, Any]]] = {}

    def order(self, run: int, do: str, **values: Any) -> None:
        """Tell the host what to do for a run."""
        line = (json.dumps({"run": run, "do": do, **values}) + "\n").encode()
        with contextlib.suppress(BrokenPipeError):
            while line:
                line = line[os.write(self._orders, line) :]

    def told(self, run: int, seconds: float) -> list[dict[str, Any]] | None:
        """Return the events of a run in the next `seconds`, as soon as there are any; None when no more will come.

        Those of other runs are kept until they are asked for.
        """
        with selectors.DefaultSelector() as selector:
            selector.register(self.events, selectors.EVENT_READ)
            if run not in self._untold and selector.select(seconds):
                chunk = os.read(self.events, 1 << 16)
                if not chunk:
                    return None
                *lines, self._buffer = (self._buffer + chunk).split(b"\n")
                for event in map(json.loads, lines):
                    self._untold.setdefault(event.pop("run"), []).append(event)
        return self._untold.pop(run, [])

    def close(self) -> None:
        """End the host and all that it started."""
        os.close(self._orders)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_CLOSE_SECONDS)
        end_tree(self.process.pid)
        self.process.wait()
        os.close(self.events)


class Session:
    """One run inside a host: opened by its first turn, over when a limit or an error ends it.

    Parameters
    ----------
    index : int
        Tells the runs of a host apart.
    spec : dict
        What `mst.bench.measure.worker.take_turns` needs.
    measure : Measure
        Processes, budget and limits.
    """

    def __init__(self, index: int, spec: dict[str, Any], measure: Measure):
        self.outcome = Outcome()
        self.spans: list[tuple[datetime, datetime]] = []
        self.others_seconds = self.stolen_seconds = self.turn_seconds = self.open_seconds = 0.0
        self._index, self._spec, self._measure = index, spec, measure
        self._log = Path(spec["scratch"], "output.log")
        self._host: Host | None = None
        self._pid = 0
        self._closed = False
        self._has_phases = self._starts_ranks = self._has_profile = False
        self._last = 0.0
        self._limit = memory_limit(measure.memory)

    @property
    def cost(self) -> Cost:
        """What it has spent of its budget, and what it would still spend."""
        done = len(self.outcome.processes)
        going_on = self.outcome.status == "ok" and not self._closed
        missing = self._measure.processes - done if going_on else 0
        return Cost(self._measure.budget, self.turn_seconds, self._last, missing)

    def sample(self, host: Host) -> None:
        """Measure one fresh process."""
        if self._host is None:
            self._open(host)
        if self.outcome.status == "ok":
            begun, before, own = datetime.now(UTC), busy_seconds(), _own_seconds()
            self._last, cpu = self._turn("sample")
            self.spans.append((begun, datetime.now(UTC)))
            self.turn_seconds += self._last
            if cpu is not None:
                after = busy_seconds()
                ours = cpu + _own_seconds() - own
                self.others_seconds += max(after["busy"] - before["busy"] - ours, 0.0)
                self.stolen_seconds += after["steal"] - before["steal"]

    def close(self) -> None:
        """Take the instrumented phases, and what a profiler is asked for, where there are any; end the run."""
        self._closed = True
        if self._host is None:
            return
        # Starting ranks once more takes as long as a process of the measurement.
        within_budget = self._last <= self.cost.own or not self._starts_ranks
        if self.outcome.status == "ok" and self._has_phases and within_budget:
            self._turn("phases")
        if self.outcome.status == "ok" and self._has_profile and self._measure.profile:
            self._turn("profile")
        if self._pid:
            end_tree(self._pid)
        self._host.order(self._index, "close")
        if self.outcome.status == "ok" and not self.outcome.processes:
            self._fail("error", "no process was measured")
        if self.outcome.status != "ok" and not self.outcome.detail and self._log.is_file():
            self.outcome.detail = self._log.read_bytes()[-4000:].decode(errors="replace") or None

    def _open(self, host: Host) -> None:
        self._host = host
        started = time.monotonic()
        host.order(self._index, "open", spec=self._spec, log=str(self._log))
        if self._follow("ready") and self.outcome.status == "ok":
            # What compiling held is not what the run holds.
            self.outcome.peak_tree_bytes = tree_bytes(self._pid)
        self.open_seconds = time.monotonic() - started

    def _turn(self, word: str) -> tuple[float, float | None]:
        """Return how long a turn took and the processor time of its processes (None where it was ended)."""
        assert self._host is not None
        started = time.monotonic()
        self._host.order(self._index, word)
        turned = self._follow("turned")
        return time.monotonic() - started, turned["cpu"] if turned else None

    def _follow(self, until: str) -> dict[str, Any] | None:
        """Take events until the one that ends this step, which is returned; None when a limit ends the run."""
        assert self._host is not None
        what, limit = "a process", self._measure.timeout
        if until == "ready":
            # Of everything that a first run compiles, on a machine that may be busy: no fault of the algorithm.
            what, limit = "importing and compiling", _COMPILING * limit
        deadline = time.monotonic() + limit
        while True:
            events = self._host.told(self._index, _POLL_SECONDS)
            if events is None:
                told = f"the host of the runs ended: {self._host.log.read_text()[-500:]}"
                self._fail("error", told, abrupt=True)
                return None
            # All of them are taken: what follows the last of a step may say that the run has ended.
            last = [event for event in events if self._take(event) == until]
            if last:
                return last[0]
            if self.outcome.status != "ok" and not self._pid:
                return None
            if self._pid:
                held = tree_bytes(self._pid)
                self.outcome.peak_tree_bytes = max(self.outcome.peak_tree_bytes, held)
                if held > self._limit:
                    told = f"held {held / 2**30:.2f} GiB, the limit is {self._limit / 2**30:.2f} GiB"
                    self._end("out-of-memory", told)
                    return None
            if time.monotonic() > deadline:
                self._end("timeout", f"{what} took more than {limit:g} s")
                return None

    def _take(self, event: dict[str, Any]) -> str:
        kind = event.pop("event")
        if kind == "opened":
            self._pid = event["pid"]
        elif kind == "ready":
            self._has_phases, self._starts_ranks = event["phases"], event["starts"]
            self._has_profile = event["profile"]
        elif kind == "samples":
            self.outcome.processes.append(event)
        elif kind == "phases":
            self.outcome.phases = event["phases"]
        elif kind == "profiled":
            self.outcome.profiled = event["counters"]
        elif kind == "failed":
            # What fails by itself leaves a traceback; ranks that were ended do not.
            self._fail(event["status"], event["reason"], event["detail"], abrupt=not event["detail"])
        elif kind in ("practised", "turned") and event["code"]:
            self._fail(*_why(event["code"]), abrupt=event["code"] < 0)
        elif kind == "ended":
            self._pid = 0
            self._fail(*_why(event["code"]), abrupt=event["code"] < 0)
        return kind

    def _fail(self, status: str, reason: str, detail: str | None = None, *, abrupt: bool = False) -> None:
        """Note the first thing that went wrong, and whether the run did not end by itself."""
        if self.outcome.status == "ok":
            self.outcome.status, self.outcome.reason, self.outcome.detail = status, reason, detail
            self.outcome.abrupt = abrupt

    def _end(self, status: str, reason: str) -> None:
        self._fail(status, reason)
        # Before the host has opened the run there is none; to signal process 0 would stop this one and all its group.
        if self._pid:
            end_tree(self._pid)
        self._pid = 0


def _why(code: int) -> tuple[str, str]:
    if code == -signal.SIGKILL:
        return "out-of-memory", "killed by signal 9, as the kernel does when memory runs out"
    if code < 0:
        return "error", f"ended by signal {-code} ({signal.Signals(-code).name})"
    return "error", f"ended with exit code {code}"


def busy_seconds() -> dict[str, float]:
    """Return the processor time, in seconds over all cores, that was used and that a hypervisor took."""
    times = psutil.cpu_times()
    busy = times.user + times.nice + times.system + getattr(times, "irq", 0) + getattr(times, "softirq", 0)
    return {"busy": busy, "steal": getattr(times, "steal", 0.0)}


def _own_seconds() -> float:
    times = os.times()
    return times.user + times.system


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def _tree(pid: int) -> Iterator[int]:
    yield pid
    with contextlib.suppress(OSError, psutil.Error):
        try:
            children = _children(pid)
        except FileNotFoundError:
            # Kernels without the list of children, and processes that end meanwhile.
            children = [child.pid for child in psutil.Process(pid).children()]
        for child in children:
            yield from _tree(child)


def tree_bytes(pid: int) -> int:
    """Return the resident memory, in bytes, that a process and its descendants share with no file."""
    held, page = 0, os.sysconf("SC_PAGE_SIZE")
    for process in _tree(pid):
        with contextlib.suppress(OSError, ValueError):
            _, resident, shared, *_ = map(int, Path(f"/proc/{process}/statm").read_text().split())
            held += (resident - shared) * page
    return held


def _alive(pid: int) -> bool:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return False


def end_tree(pid: int) -> None:
    """Kill a process and everything that it started, children of children included."""
    for _ in range(200):
        with contextlib.suppress(ProcessLookupError):
            # It stays until its descendants are gone: they are re-parented to it while it lives.
            os.kill(pid, signal.SIGSTOP)
        alive = [child for child in _tree(pid) if child != pid and _alive(child)]
        if not alive:
            break
        for child in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def memory_limit(memory: float) -> int:
    """Return a limit in bytes: GiB above 1, a share of what is free at most 1."""
    if memory <= 1:
        return int(memory * psutil.virtual_memory().available)
    return int(memory * 2**30)
