"""Measures runs: fresh pinned processes in turns, limits on time and memory, a measurement whatever happens."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from mst import registry
from mst.bench.machine import conditions, this_machine, usable_cores
from mst.bench.measure.session import Host, Outcome, Session, affordable, pinned_environment
from mst.bench.planning.experiment import Measure
from mst.bench.records.store import SCHEMA, Run, save_ids, write_json
from mst.bench.statistics import summarise
from mst.errors import ConfigError

_SPREAD_FLAG = 0.10
_BUSY_FLAG = 0.15
_STEAL_FLAG = 0.02
_MOST_TOGETHER = 64
_TOLD_SECONDS = 10.0


@dataclass(frozen=True)
class Request:
    """A run to be measured.

    Attributes
    ----------
    run : Run
    path : Path
        Where its measurement goes.
    measure : Measure
        Processes, samples, budget and limits.
    oversubscribe : bool
        Whether a width above the cores is meant.
    """

    run: Run
    path: Path
    measure: Measure
    oversubscribe: bool = False

    def refused(self) -> str:
        """Return why this machine cannot run it as asked, or an empty string."""
        cores, paradigm = usable_cores(), registry.get(self.run.algorithm).paradigm
        if self.run.width_here > cores and paradigm in ("threads", "mpi") and not self.oversubscribe:
            return (
                f"{self.run.algorithm}: width {self.run.width_here} is above the {cores} usable cores; "
                "give more cores, or set oversubscribe: true in the experiment"
            )
        return ""


def measure_run(
    request: Request, *, manifest: dict[str, Any], graph_file: Path, granted: int | None = None
) -> dict[str, Any]:
    """Measure one run alone, as `measure_runs` measures many; raise `ConfigError` where it is refused."""
    if reason := request.refused():
        raise ConfigError(reason)
    return next(measure_runs([request], manifest=manifest, graph_file=graph_file, granted=granted))


def measure_runs(
    requests: Sequence[Request], *, manifest: dict[str, Any], graph_file: Path, granted: int | None = None
) -> Iterator[dict[str, Any]]:
    """Measure runs on one graph, their processes in turns, and write each measurement when it is complete.

    What slows a machine down for seconds so meets every run and not one. Failures are measurements too.

    Parameters
    ----------
    requests : sequence of Request
    manifest : dict
        The graph's manifest.
    graph_file : Path
        The canonical graph.
    granted : int, optional
        Cores that the scheduler gave; fewer than the width is flagged.

    Yields
    ------
    dict
        The measurements, as written, in the order in which they were completed.
    """
    for first in range(0, len(requests), _MOST_TOGETHER):
        yield from _in_turns(requests[first : first + _MOST_TOGETHER], manifest, graph_file, granted)


def _in_turns(
    requests: Sequence[Request], manifest: dict[str, Any], graph_file: Path, granted: int | None
) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="mst-run-") as scratch, contextlib.ExitStack() as hosts:
        started: dict[int, Host] = {}

        def host_of(width: int) -> Host:
            if width not in started or started[width].process.poll() is not None:
                host = started[width] = Host(width, Path(scratch))
                hosts.callback(host.close)
            return started[width]

        waiting = [
            _Measured(request, k, manifest, graph_file, Path(scratch, str(k)), granted, len(requests) - 1)
            for k, request in enumerate(requests)
        ]
        everyone = list(waiting)
        for turn in itertools.count():
            if not waiting:
                return
            for measured in waiting if turn % 2 == 0 else waiting[::-1]:
                measured.take_turn(host_of)
            more = affordable([measured.session.cost for measured in everyone])
            going_on = list(itertools.compress(everyone, more))
            for measured in waiting:
                if measured not in going_on:
                    yield measured.finish()
            waiting = going_on


class _Measured:
    """A run while it is measured."""

    def __init__(
        self,
        request: Request,
        index: int,
        manifest: dict[str, Any],
        graph_file: Path,
        scratch: Path,
        granted: int | None,
        others: int,
    ):
        scratch.mkdir()
        self.request, self.manifest, self.granted, self.others = request, manifest, granted, others
        self.algorithm = registry.get(request.run.algorithm)
        self.options = self.algorithm.parse_slug(request.run.options)
        self.ids_file = scratch / "ids.npy"
        self.keep_ids = self.algorithm.ties != "order" or not self.algorithm.exact
        spec = {
            "algorithm": request.run.algorithm,
            "options": self.options,
            "width": request.run.width,
            "graph_file": str(graph_file.resolve()),
            "ids_file": str(self.ids_file) if self.keep_ids else "",
            "scratch": str(scratch),
            "measure": request.measure.model_dump(),
        }
        self.session = Session(index, spec, request.measure)
        self.before: dict[str, Any] | None = None

    def take_turn(self, host_of: Any) -> None:
        self.before = self.before or conditions()
        self.session.sample(host_of(self.request.run.width))

    def finish(self) -> dict[str, Any]:
        session, request = self.session, self.request
        session.close()
        outcome = session.outcome
        if outcome.abrupt and self.before and self.before["scheduled"]:
            # A scheduler that ends a job tells its processes one by one, and this one, which then writes nothing, last.
            time.sleep(_TOLD_SECONDS)
        # An approximate forest may depend on which thread came first; an exact one may not.
        forests = {p["forest"]["digest"] for p in outcome.processes}
        if outcome.status == "ok" and self.algorithm.exact and len(forests) > 1:
            outcome.status, outcome.reason = "error", "its processes returned different forests"
        request.path.parent.mkdir(parents=True, exist_ok=True)
        if self.keep_ids and self.ids_file.is_file() and outcome.status == "ok":
            save_ids(request.path, np.load(self.ids_file), self.manifest["m"])
        measurement = _measurement(self, outcome, self._state(outcome))
        write_json(request.path, measurement)
        return measurement

    def _state(self, outcome: Outcome) -> dict[str, Any]:
        session, seconds = self.session, max(self.session.turn_seconds, 1e-9)
        state = {
            **(self.before or {}),
            "after": conditions(),
            "others_cores": round(session.others_seconds / seconds, 3),
            "stolen_cores": round(session.stolen_seconds / seconds, 4),
            "granted_width": self.granted,
            "pinned": pinned_environment(1 if self.algorithm.paradigm == "mpi" else self.request.run.width),
            "interleaved_with": self.others,
        }
        flags = _flags(
            outcome,
            state,
            self.request.run,
            self.algorithm.paradigm,
            usable_cores(),
            self.granted,
            self.request.measure,
        )
        return {**state, "flags": flags}


def _flags(
    outcome: Outcome,
    state: dict[str, Any],
    run: Run,
    paradigm: str,
    cores: int,
    granted: int | None,
    measure: Measure,
) -> list[str]:
    flags = []
    spread = summarise([float(np.median(p["compute"])) for p in outcome.processes]).spread
    if spread is not None and spread > _SPREAD_FLAG:
        flags.append("spread")
    if state["others_cores"] > _BUSY_FLAG:
        flags.append("busy")
    if state["stolen_cores"] > _STEAL_FLAG:
        flags.append("stolen")
    if (state["after"]["throttled"] or 0) > (state["throttled"] or 0):
        flags.append("throttled")
    if paradigm in ("threads", "mpi") and run.width_here > cores:
        flags.append("oversubscribed")
    if granted is not None and granted < min(run.width_here, cores):
        flags.append("width-not-granted")
    if outcome.processes and len(outcome.processes) < measure.processes:
        flags.append("fewer-processes")
    return flags


def _measurement(measured: _Measured, outcome: Outcome, state: dict[str, Any]) -> dict[str, Any]:
    """Return what is written of a run, in the order in which `docs/records.md` tells it."""
    processes, algorithm = outcome.processes, measured.algorithm
    first = processes[0] if processes else {}
    return {
        "schema": SCHEMA,
        "run": _run_facts(measured.request.run, algorithm, measured.options),
        "graph": _graph_facts(measured.manifest),
        "status": outcome.status,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "samples": _samples(processes),
        "phases": outcome.phases,
        "counters": {**first.get("counters", {}), **outcome.profiled},
        "memory": _memory(processes, outcome.peak_tree_bytes),
        "energy": _median_energy(processes),
        **{key: first.get(key) for key in ("forest", "threads", "ranks", "threading", "affinity")},
        "machine": this_machine().as_dict(),
        "conditions": state,
        "versions": _versions(algorithm),
        "git": _git(),
        "measure": measured.request.measure.model_dump(),
        **_times(measured.session),
    }


def _run_facts(run: Run, algorithm: registry.Algorithm, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "machine": run.machine,
        "graph": run.graph,
        "algorithm": run.algorithm,
        "title": algorithm.title,
        "paradigm": algorithm.paradigm,
        "paper": algorithm.paper,
        "options": run.options,
        "all_options": options,
        "width": run.width,
        "layout": run.layout,
        "fingerprint": run.fingerprint,
        "source_fingerprint": algorithm.source_fingerprint(),
        "exact": algorithm.exact,
        "ties": algorithm.ties,
    }


def _graph_facts(manifest: dict[str, Any]) -> dict[str, Any]:
    return {key: manifest.get(key) for key in ("name", "n", "m", "family", "digest", "recipe", "weight_dtype")}


def _samples(processes: list[dict[str, Any]]) -> dict[str, list[list[float]]]:
    """Return seconds by what they were spent on, a list for each process; those without a device transfer nothing."""
    return {
        "compute": [p["compute"] for p in processes],
        "warmup": [p["warmup"] for p in processes],
        "init": [[p["init"]] for p in processes],
        "transfer": [[p["transfer"]] for p in processes if p["transfer"] is not None],
    }


def _memory(processes: list[dict[str, Any]], tree_bytes: int) -> dict[str, int | None]:
    """Return the most that any process took; None of what none could tell."""
    memory = [p["memory"] for p in processes]
    device = [p["device_bytes"] for p in processes if p["device_bytes"] is not None]
    ranks = [m["ranks_peak_bytes"] for m in memory if "ranks_peak_bytes" in m]
    return {
        "peak_bytes": max((m["peak_bytes"] for m in memory), default=None),
        "working_bytes": max((m["working_bytes"] for m in memory), default=None),
        "tree_bytes": tree_bytes,
        "device_bytes": max(device, default=None),
        "ranks_peak_bytes": max(ranks, default=None),
    }


def _times(session: Session) -> dict[str, Any]:
    """Return what the run took, and when; a run of which no process began is of now."""
    spans = session.spans or [(datetime.now(UTC),) * 2]
    return {
        "seconds": round(session.open_seconds + session.turn_seconds, 3),
        "spans": [[begun.isoformat(), ended.isoformat()] for begun, ended in session.spans],
        "started": spans[0][0].isoformat(timespec="milliseconds"),
        "created": spans[-1][1].isoformat(timespec="milliseconds"),
    }


def _median_energy(processes: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the energy of one solve of the process in the middle, or None where none could be read."""
    readings = sorted((p["energy"] for p in processes if p["energy"]), key=lambda reading: reading["joules"])
    return readings[len(readings) // 2] if readings else None


def _versions(algorithm: registry.Algorithm) -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for package in dict.fromkeys(("mst", "numpy", "numba", "llvmlite", "pyarrow", *algorithm.requires)):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


@functools.cache
def _git() -> dict[str, Any] | None:
    """Return the commit of the checkout that this package lies in, and whether it has changes."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        # A copy without history may say what it is a copy of.
        commit = os.environ.get("MST_COMMIT")
        return {"commit": commit, "dirty": False} if commit else None

    def git(*args: str) -> str:
        return subprocess.run(
            ["git", "-C", str(root), *args], capture_output=True, text=True, timeout=20, check=True
        ).stdout.strip()

    try:
        return {
            "commit": git("rev-parse", "HEAD"),
            "dirty": bool(git("status", "--porcelain", "--untracked-files=no")),
        }
    except (OSError, subprocess.SubprocessError):
        return None
