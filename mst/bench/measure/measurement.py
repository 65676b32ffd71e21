"""The measurement of a run: every field of its record, in the order of `docs/records.md`."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from mst import registry
from mst.bench.machine import this_machine
from mst.bench.measure.outcome import Outcome
from mst.bench.output import output_of
from mst.bench.planning.experiment import Measure
from mst.bench.records.schema import MEASUREMENT_VERSION
from mst.bench.records.store import Run
from mst.bench.statistics import summarise
from mst.cores import granted_cores

_distributions = functools.cache(metadata.packages_distributions)
_OF_GRAPH = ("name", "n", "m", "family", "digest", "recipe", "weight_dtype")
_SPREAD_FLAG = 0.10
_BUSY_FLAG = 0.15
_TICK_SECONDS = 0.004
"""Interval at which most kernels look whether a core is busy: their only account of the time of all programs."""
_STEAL_FLAG = 0.02
"""Share of the time of a run's processors that a hypervisor may take."""


def measurement_of(
    run: Run, outcome: Outcome, measure: Measure, manifest: dict[str, Any], conditions: dict[str, Any]
) -> dict[str, Any]:
    """Return the measurement of a finished run.

    `manifest` is the graph's; `conditions` are those during the run, without flags.
    """
    algorithm, processes = registry.get(run.algorithm), outcome.processes
    # A run that started no process gets the current time.
    spans = outcome.spans or [(datetime.now(UTC),) * 2]
    # The energy of one solve in the median process.
    energies = sorted((p["energy"] for p in processes if p["energy"]), key=lambda energy: energy["joules"])
    first = processes[0] if processes else {}
    return {
        "schema": MEASUREMENT_VERSION,
        "run": {
            **asdict(run),
            **{key: getattr(algorithm, key) for key in ("title", "paradigm", "paper", "exact", "ties")},
            "all_options": algorithm.parse_slug(run.options),
            "source_fingerprint": algorithm.source_fingerprint(),
        },
        "graph": {key: manifest.get(key) for key in _OF_GRAPH},
        "status": outcome.status,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "samples": _samples(processes),
        "phases": outcome.phases or [p["phases"] for p in processes if p.get("phases")],
        "counters": _counters(outcome),
        "memory": _memory(processes, outcome.peak_tree_bytes),
        "energy": energies[len(energies) // 2] if energies else None,
        **{key: first.get(key) for key in ("forest", "threads", "ranks", "threading", "affinity")},
        "machine": this_machine().as_dict(),
        "conditions": {**conditions, "flags": _flags(run, outcome, measure, conditions)},
        "versions": {**versions_of(algorithm), **first.get("versions", {})},
        "git": git_state(),
        "measure": measure.model_dump(),
        "seconds": round(outcome.open_seconds + outcome.turn_seconds, 3),
        "spans": [[begun.isoformat(), ended.isoformat()] for begun, ended in outcome.spans],
        "started": spans[0][0].isoformat(timespec="milliseconds"),
        "created": spans[-1][1].isoformat(timespec="milliseconds"),
    }


def _flags(run: Run, outcome: Outcome, measure: Measure, conditions: dict[str, Any]) -> list[str]:
    """Return keywords that warn readers of the figures."""
    processes, cores = outcome.processes, granted_cores()
    spread = summarise([float(np.median(p["compute"])) for p in processes]).spread
    granted = conditions["granted_width"]
    shares_cores = registry.get(run.algorithm).paradigm in ("threads", "mpi")
    used = min(run.width_here, cores) if shares_cores else 1
    tolerated = _BUSY_FLAG * outcome.turn_seconds + _sampling_error(outcome.turn_seconds)
    found = {
        "spread": spread is not None and spread > _SPREAD_FLAG,
        "busy": outcome.others_seconds > tolerated,
        "stolen": conditions["stolen_cores"] > _STEAL_FLAG * used,
        "throttled": (conditions["after"]["throttled"] or 0) > (conditions["throttled"] or 0),
        "oversubscribed": shares_cores and run.width_here > cores,
        "width-not-granted": granted is not None and granted < min(run.width_here, cores),
        "fewer-processes": 0 < len(processes) < measure.processes,
    }
    return [flag for flag, holds in found.items() if holds]


def _sampling_error(seconds: float) -> float:
    """Return twice the largest standard deviation of the processor time that the kernel counts in some seconds.

    At each tick a core counts as busy or idle: a variance of at most a quarter, in ticks, for each tick of each core.
    """
    return math.sqrt((os.cpu_count() or 1) * seconds * _TICK_SECONDS)


def _samples(processes: list[dict[str, Any]]) -> dict[str, list[list[float]]]:
    """Return seconds by step, a list per process; without a device there is no transfer, and not always a call."""
    return {
        "compute": [p["compute"] for p in processes],
        "warmup": [p["warmup"] for p in processes],
        "init": [[p["init"]] for p in processes],
        "transfer": [[p["transfer"]] for p in processes if p["transfer"] is not None],
        **{part: [p[part] for p in processes if p.get(part)] for part in ("call", "call_on_device")},
    }


def _counters(outcome: Outcome) -> list[dict[str, Any]]:
    """Return each process's counters, plus those the profiler read in another process."""
    own = [p.get("counters", {}) for p in outcome.processes]
    both = itertools.zip_longest(own, outcome.profiled, fillvalue=dict[str, Any]())
    return [{**counted, **profiled} for counted, profiled in both if counted or profiled]


def _memory(processes: list[dict[str, Any]], tree_bytes: int) -> dict[str, Any]:
    """Return the largest figures over processes, None if no process could read them, and each one's."""
    memory = [p["memory"] for p in processes]
    device = [p["device_bytes"] for p in processes if p["device_bytes"] is not None]
    ranks = [m["ranks_peak_bytes"] for m in memory if "ranks_peak_bytes" in m]
    return {
        "peak_bytes": max((m["peak_bytes"] for m in memory), default=None),
        "working_bytes": max((m["working_bytes"] for m in memory), default=None),
        "working_by_process": [m["working_bytes"] for m in memory],
        "tree_bytes": tree_bytes,
        "device_bytes": max(device, default=None),
        "ranks_peak_bytes": max(ranks, default=None),
    }


def versions_of(algorithm: registry.Algorithm) -> dict[str, str]:
    """Return the versions of Python and of every package an algorithm computes with, and those a program states."""
    found = {"python": sys.version.split()[0]}
    for package in dict.fromkeys(("mst", "numpy", "numba", "llvmlite", "pyarrow", *algorithm.requires)):
        # A package may have a different name for each version of CUDA, as cupy does.
        for name in (package, *_distributions().get(package, ())):
            with contextlib.suppress(metadata.PackageNotFoundError):
                found[package] = metadata.version(name)
                break
    return {**found, **(algorithm.program.versions if algorithm.program else {})}


@functools.cache
def git_state() -> dict[str, Any] | None:
    """Return the commit of this package's checkout, and whether it has changes."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        # A copy without history may name the commit it was made from.
        commit = os.environ.get("MST_COMMIT")
        return {"commit": commit, "dirty": False} if commit else None
    described = ["describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"]
    commit, _, dirty = output_of(["git", "-C", str(root), *described], check=True).strip().partition("-")
    return {"commit": commit, "dirty": bool(dirty)} if commit else None
