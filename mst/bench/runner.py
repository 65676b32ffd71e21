"""Supervises one run: fresh pinned processes, limits on time and memory, and a measurement whatever happens."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from mst import registry
from mst.bench.experiment import Measure
from mst.bench.machine import conditions, this_machine, usable_cores
from mst.bench.records import SCHEMA, Run, save_ids, write_json
from mst.bench.worker import PR_SET_PDEATHSIG
from mst.errors import ConfigError

_POLL_SECONDS = 0.02
_SPREAD_FLAG = 0.10
_BUSY_FLAG = 0.15
_STEAL_FLAG = 0.02
_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class Outcome:
    """What came back from a worker, as it came."""

    processes: list[dict[str, Any]] = field(default_factory=list)
    phases: dict[str, float] | None = None
    status: str = "ok"
    reason: str | None = None
    detail: str | None = None
    peak_tree_bytes: int = 0


def measure_run(
    run: Run,
    *,
    manifest: dict[str, Any],
    graph_file: Path,
    records: Path,
    measure: Measure,
    oversubscribe: bool = False,
    granted: int | None = None,
) -> dict[str, Any]:
    """Measure one run and write its measurement; failures are measurements too.

    Parameters
    ----------
    run : Run
    manifest : dict
        The graph's manifest.
    graph_file : Path
        The canonical graph.
    records : Path
        Folder of records to write into.
    measure : Measure
        Processes, samples, budget and limits.
    oversubscribe : bool
        Whether a width above the cores is meant.
    granted : int, optional
        Cores that the scheduler gave; fewer than the width is flagged.

    Returns
    -------
    dict
        The measurement, as written.
    """
    algorithm = registry.get(run.algorithm)
    options = algorithm.parse_slug(run.options)
    cores = usable_cores()
    if run.width > cores and algorithm.paradigm in ("threads", "mpi") and not oversubscribe:
        raise ConfigError(
            f"{run.algorithm}: width {run.width} is above the {cores} usable cores; "
            "give more cores, or set oversubscribe: true in the experiment"
        )
    path = records / run.path
    keep_ids = algorithm.ties != "order" or not algorithm.exact
    before, busy_before = conditions(), _busy_seconds()
    begun, started = datetime.now(UTC), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mst-run-") as scratch:
        ids_file = Path(scratch, "ids.npy")
        spec = {
            "algorithm": run.algorithm,
            "options": options,
            "width": run.width,
            "graph_file": str(graph_file),
            "ids_file": str(ids_file) if keep_ids else "",
            "measure": measure.model_dump(),
        }
        own = psutil.Process().cpu_times()
        outcome = _supervise(spec, Path(scratch), measure, pinned_environment(run.width), run.width)
        if keep_ids and ids_file.is_file() and outcome.status == "ok":
            path.parent.mkdir(parents=True, exist_ok=True)
            save_ids(path, np.load(ids_file), manifest["m"])
    seconds = time.monotonic() - started
    state = {**before, "after": conditions()}
    busy = _busy_seconds()
    if outcome.status == "ok" and len({p["forest"]["digest"] for p in outcome.processes}) > 1:
        outcome.status, outcome.reason = "error", "its processes returned different forests"
    state |= _disturbance(busy_before, busy, own, seconds)
    state["granted_width"] = granted
    state["pinned"] = pinned_environment(run.width)
    state["flags"] = _flags(outcome, state, run, algorithm.paradigm, cores, granted, measure)
    measurement = _measurement(run, algorithm, options, manifest, measure, outcome, state, begun, seconds)
    write_json(path, measurement)
    return measurement


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


def _supervise(
    spec: dict[str, Any], scratch: Path, measure: Measure, pinned: dict[str, str], width: int
) -> Outcome:
    spec_file = scratch / "spec.json"
    spec_file.write_text(json.dumps(spec))
    limit = _memory_limit(measure.memory)
    cpus = _cpus(width)
    read_end, write_end = os.pipe()
    log = (scratch / "output.log").open("w+b")

    def confine() -> None:
        os.sched_setaffinity(0, cpus)
        # Orphans of a killed run are re-parented to the worker, so that ending its tree ends them too; and the
        # worker does not outlive its supervisor, however that ends.
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    worker = subprocess.Popen(
        [sys.executable, "-m", "mst.bench.worker", str(spec_file), str(write_end)],
        env={**os.environ, **pinned},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=(write_end,),
        start_new_session=True,
        preexec_fn=confine,
    )
    os.close(write_end)
    outcome = Outcome()
    try:
        _listen(worker, read_end, outcome, measure.timeout, limit)
    finally:
        _end_tree(worker)
        os.close(read_end)
        log.seek(0)
        tail = log.read()[-4000:].decode(errors="replace")
        log.close()
    if outcome.status == "ok" and not outcome.processes:
        outcome.status, outcome.reason = "error", f"the worker ended with code {worker.returncode}"
    if outcome.status != "ok" and not outcome.detail:
        outcome.detail = tail or None
    return outcome


def _listen(worker: subprocess.Popen, read_end: int, outcome: Outcome, timeout: float, limit: int) -> None:
    """Follow the worker's events until it ends or passes a limit."""
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        selector.register(read_end, selectors.EVENT_READ)
        buffer = b""
        while True:
            held = _tree_bytes(worker.pid)
            outcome.peak_tree_bytes = max(outcome.peak_tree_bytes, held)
            if held > limit:
                outcome.status = "out-of-memory"
                outcome.reason = f"held {held / 2**30:.2f} GiB, the limit is {limit / 2**30:.2f} GiB"
                return
            if time.monotonic() > deadline:
                outcome.status, outcome.reason = "timeout", f"a process took more than {timeout:g} s"
                return
            if not selector.select(_POLL_SECONDS):
                continue
            chunk = os.read(read_end, 1 << 16)
            if not chunk:
                worker.wait()
                if worker.returncode and outcome.status == "ok":
                    outcome.status, outcome.reason = _why(worker.returncode)
                return
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                event = json.loads(line)
                if event["event"] in ("process", "ready"):
                    deadline = time.monotonic() + timeout
                _take(event, outcome)


def _take(event: dict[str, Any], outcome: Outcome) -> None:
    kind = event.pop("event")
    if kind == "samples":
        outcome.processes.append(event)
    elif kind == "phases":
        outcome.phases = event["phases"]
    elif kind == "failed":
        outcome.status, outcome.reason, outcome.detail = event["status"], event["reason"], event["detail"]
    elif kind == "ended" and outcome.status == "ok":
        outcome.status, outcome.reason = _why(event["code"])


def _why(code: int) -> tuple[str, str]:
    if code == -signal.SIGKILL:
        return "out-of-memory", "killed by signal 9, as the kernel does when memory runs out"
    if code < 0:
        return "error", f"ended by signal {-code} ({signal.Signals(-code).name})"
    return "error", f"ended with exit code {code}"


def _tree(pid: int) -> Iterator[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        root = psutil.Process(pid)
        yield root
        yield from root.children(recursive=True)


def _tree_bytes(pid: int) -> int:
    held = 0
    for process in _tree(pid):
        with contextlib.suppress(psutil.Error):
            memory = process.memory_info()
            held += memory.rss - memory.shared
    return held


def _end_tree(worker: subprocess.Popen) -> None:
    """Kill the worker and everything that it started, children of children included."""
    for _ in range(100):
        tree = list(_tree(worker.pid))
        descendants = [p for p in tree if p.pid != worker.pid]
        if worker.poll() is None:
            # The worker stays until its descendants are gone: they are re-parented to it while it lives.
            os.kill(worker.pid, signal.SIGSTOP)
        for process in descendants:
            with contextlib.suppress(psutil.Error):
                process.kill()
        alive = [p for p in descendants if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
        if not alive:
            break
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def _memory_limit(memory: float) -> int:
    if memory <= 1:
        return int(memory * psutil.virtual_memory().available)
    return int(memory * 2**30)


def _cpus(width: int) -> list[int]:
    """Return the processors to run on; the last ones, since interrupts prefer the first."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[-width:]


def _busy_seconds() -> dict[str, float]:
    times = psutil.cpu_times()
    busy = times.user + times.nice + times.system + getattr(times, "irq", 0) + getattr(times, "softirq", 0)
    return {"busy": busy, "steal": getattr(times, "steal", 0.0)}


def _disturbance(before: dict, after: dict, own: Any, seconds: float) -> dict[str, float]:
    """Return how many cores' worth of time other processes took, and the hypervisor stole, during the run."""
    now = psutil.Process().cpu_times()
    ours = sum(
        getattr(now, f) - getattr(own, f) for f in ("user", "system", "children_user", "children_system")
    )
    others = max(after["busy"] - before["busy"] - ours, 0.0)
    return {
        "others_cores": round(others / max(seconds, 1e-9), 3),
        "stolen_cores": round((after["steal"] - before["steal"]) / max(seconds, 1e-9), 4),
    }


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
    medians = [float(np.median(p["compute"])) for p in outcome.processes]
    if medians and (max(medians) - min(medians)) > _SPREAD_FLAG * float(np.median(medians)):
        flags.append("spread")
    if state["others_cores"] > _BUSY_FLAG:
        flags.append("busy")
    if state["stolen_cores"] > _STEAL_FLAG:
        flags.append("stolen")
    if (state["after"]["throttled"] or 0) > (state["throttled"] or 0):
        flags.append("throttled")
    if paradigm in ("threads", "mpi") and run.width > cores:
        flags.append("oversubscribed")
    if granted is not None and granted < min(run.width, cores):
        flags.append("width-not-granted")
    if outcome.processes and len(outcome.processes) < measure.processes:
        flags.append("fewer-processes")
    return flags


def _measurement(
    run: Run,
    algorithm: registry.Algorithm,
    options: dict[str, Any],
    manifest: dict[str, Any],
    measure: Measure,
    outcome: Outcome,
    state: dict[str, Any],
    begun: datetime,
    seconds: float,
) -> dict[str, Any]:
    processes = outcome.processes
    first = processes[0] if processes else {}
    memory = [p["memory"] for p in processes]
    device = [p["device_bytes"] for p in processes if p["device_bytes"] is not None]
    return {
        "schema": SCHEMA,
        "run": {
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
        },
        "graph": {
            key: manifest.get(key) for key in ("name", "n", "m", "family", "digest", "recipe", "weight_dtype")
        },
        "status": outcome.status,
        "reason": outcome.reason,
        "detail": outcome.detail,
        "samples": {
            "compute": [p["compute"] for p in processes],
            "warmup": [p["warmup"] for p in processes],
            "init": [[p["init"]] for p in processes],
            "transfer": [[p["transfer"]] for p in processes if p["transfer"] is not None],
        },
        "phases": outcome.phases,
        "counters": first.get("counters", {}),
        "memory": {
            "peak_bytes": max((m["peak_bytes"] for m in memory), default=None),
            "working_bytes": max((m["working_bytes"] for m in memory), default=None),
            "tree_bytes": outcome.peak_tree_bytes,
            "device_bytes": max(device, default=None),
        },
        "energy": _median_energy(processes),
        "forest": first.get("forest"),
        "threads": first.get("threads"),
        "machine": this_machine().as_dict(),
        "conditions": state,
        "versions": _versions(algorithm),
        "git": _git(),
        "measure": measure.model_dump(),
        "seconds": round(seconds, 3),
        "started": begun.isoformat(timespec="milliseconds"),
        "created": (begun + timedelta(seconds=seconds)).isoformat(timespec="milliseconds"),
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


def _git() -> dict[str, Any] | None:
    """Return the commit of the checkout that this package lies in, and whether it has changes."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None

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
