"""The measuring side of a run: imports once, then forks one fresh process per set of samples.

Started by `mst.bench.runner` as ``python -m mst.bench.worker SPEC FD``; writes one JSON line per event to the
file descriptor. The parent imports the algorithm and maps the graph, and compiles sequential kernels by solving
a tiny graph; it starts no thread, no device context and no BLAS call, so its children may safely be forked.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from mst import registry
from mst.bench.energy import Energy, measure_energy
from mst.errors import OutOfMemoryError
from mst.forest import digest
from mst.graph import Graph
from mst.order import total

PR_SET_PDEATHSIG = 1
_STEADY = 0.1
_WARMUPS = 4
_SHORT_RUN_SECONDS = 0.05
_MOST_SAMPLES = 40


def main(spec_file: str, fd: str) -> None:
    """Run the processes that the spec asks for, one after another."""
    spec = json.loads(Path(spec_file).read_text())
    # Children end without cleaning up: what they leave goes with the runner's folder.
    tempfile.tempdir = str(Path(spec_file).parent)
    out = os.fdopen(int(fd), "w", buffering=1)

    def tell(event: str, **values: Any) -> None:
        out.write(json.dumps({"event": event, **values}) + "\n")

    try:
        algorithm = registry.get(spec["algorithm"])
        module = algorithm.load()
        graph = _open(Path(spec["graph_file"]))
        if algorithm.paradigm == "sequential":
            _compile(module, graph, spec)
    except BaseException as error:
        tell("failed", **_failure(error))
        return
    tell("ready")
    done, started = 0, time.monotonic()
    while done < spec["measure"]["processes"]:
        before = time.monotonic()
        tell("process", index=done)
        code = _in_child(lambda: _measure(module, graph, spec, tell))
        if code:
            tell("ended", code=code)
            return
        done += 1
        last = time.monotonic() - before
        if time.monotonic() - started + last > spec["measure"]["budget"]:
            break
    if hasattr(module, "phases") and spec.get("phases", True):
        code = _in_child(lambda: _phases(module, graph, spec, tell))
        if code:
            tell("ended", code=code)


def _in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked process; return its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        # The mark is not inherited by a fork.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
            code = 70
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _measure(module: ModuleType, graph: Graph, spec: dict[str, Any], tell: Callable) -> None:
    try:
        tell("samples", **_samples(module, graph, spec))
    except BaseException as error:
        tell("failed", **_failure(error))


def _samples(module: ModuleType, graph: Graph, spec: dict[str, Any]) -> dict[str, Any]:
    # Pages of the mapped file are read before the clock starts: init is not a measure of the disk.
    for array in (graph.u, graph.v, graph.w):
        array.max(initial=0)
    resident = _reset_peak()
    width, options = spec["width"], spec["options"]
    problem, init = _timed(module.prepare, graph, width=width, **options)
    transfer = None
    if hasattr(module, "transfer"):
        problem, transfer = _timed(module.transfer, problem)
    solve = module.timed_solve if hasattr(module, "timed_solve") else lambda p: _timed(module.solve, p)
    gc.collect()
    gc.disable()
    result, first = solve(problem)
    warm = [first]
    measure = spec["measure"]
    share = measure["budget"] / measure["processes"]
    while len(warm) < _WARMUPS and sum(warm) + warm[-1] < share / 2:
        result = None
        result, seconds = solve(problem)
        warm.append(seconds)
        if abs(warm[-1] - warm[-2]) < _STEADY * warm[-2]:
            break
    samples: list[float] = []
    wanted = min(max(measure["samples"], int(_SHORT_RUN_SECONDS / max(warm[-1], 1e-9))), _MOST_SAMPLES)
    left = share - init - sum(warm)
    with measure_energy() as energy:
        while len(samples) < wanted and (not samples or sum(samples) + samples[-1] < left):
            result = None
            result, seconds = solve(problem)
            samples.append(seconds)
    peak = _peak()
    gc.enable()
    forest = _forest(module, graph, problem, result, spec["ids_file"])
    return {
        "init": init,
        "transfer": transfer,
        "warmup": warm,
        "compute": samples,
        "counters": module.counters(problem, result) if hasattr(module, "counters") else {},
        "memory": {"peak_bytes": peak, "working_bytes": max(peak - resident, 0), "start_bytes": resident},
        "energy": _per_solve(energy, len(samples)),
        "device_bytes": module.device_bytes(problem) if hasattr(module, "device_bytes") else None,
        "forest": forest,
        "threads": sum(1 for _ in Path("/proc/self/task").iterdir()),
        "affinity": sorted(os.sched_getaffinity(0)),
    }


def _per_solve(energy: Energy, solves: int) -> dict[str, Any] | None:
    """Return the joules of one solve, by domain and in all, or None where nothing could be read."""
    if energy.joules is None:
        return None
    domains = {name: joules / solves for name, joules in energy.domains.items()}
    return {"joules": energy.joules / solves, "domains": domains}


def _forest(module: ModuleType, graph: Graph, problem: Any, result: Any, ids_file: str) -> dict[str, Any]:
    """Return what is known of the forest; its weight is all that some programs tell."""
    ids = module.collect(problem, result)
    if ids is None:
        return {
            "edges": None,
            "components": None,
            "weight": module.weight(problem, result),
            "digest": None,
        }
    ids = np.asarray(ids).astype(np.int64, copy=False)
    if ids_file:
        np.save(ids_file, ids)
    return {
        "edges": len(ids),
        "components": graph.n - len(ids),
        "weight": str(total(graph.w[ids])),
        "digest": digest(ids),
    }


def _phases(module: ModuleType, graph: Graph, spec: dict[str, Any], tell: Callable) -> None:
    problem = module.prepare(graph, width=spec["width"], **spec["options"])
    if hasattr(module, "transfer"):
        problem = module.transfer(problem)
    module.phases(problem)
    tell("phases", phases=module.phases(problem))


def _compile(module: ModuleType, graph: Graph, spec: dict[str, Any]) -> None:
    """Solve a triangle of the same dtypes, so that every child inherits the machine code."""
    ends = np.array([0, 1, 2], graph.u.dtype), np.array([1, 2, 0], graph.v.dtype)
    tiny = Graph(3, *ends, np.array([1, 2, 3]).astype(graph.w.dtype))
    problem = module.prepare(tiny, width=spec["width"], **spec["options"])
    module.collect(problem, module.solve(problem))


def _open(path: Path) -> Graph:
    from mst.formats.canonical import read_canonical

    return read_canonical(path)


def _timed(function: Callable, *args: Any, **kwargs: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    value = function(*args, **kwargs)
    return value, time.perf_counter() - started


def _reset_peak() -> int:
    """Forget the peak of resident memory; return what is resident now, in bytes."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def _failure(error: BaseException) -> dict[str, Any]:
    memory = isinstance(error, MemoryError | OutOfMemoryError) or "OutOfMemory" in type(error).__name__
    return {
        "status": "out-of-memory" if memory else "error",
        "reason": f"{type(error).__name__}: {error}".strip().splitlines()[0][:500],
        "detail": traceback.format_exc()[-4000:],
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
