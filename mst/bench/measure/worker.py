"""The measuring side of runs: imports once, then forks fresh processes.

Started by `mst.bench.measure.session` as ``python -m mst.bench.measure.worker EVENTS CONTROL`` (two file
descriptors), pinned to a
width. This *host* imports and compiles what nearly every algorithm needs and forks one *parent* per run, which
imports the algorithm or the library, maps the graph and compiles sequential kernels on small graphs, and then waits for
its turns; in each turn it forks one fresh process that measures. What must not be forked (threads, device contexts,
ranks) practises in a child of the parent, which leaves the machine code on disk. Hosts and parents start no thread, no
device context, no MPI and no BLAS call, so that their children may safely be forked. Everything that happens is told
as one JSON line.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from mst import registry
from mst.bench.measure.energy import Energy, measure_energy
from mst.bench.measure.practice import practice_graph
from mst.bench.measure.samples import failure, peak, reset_peak, take_samples
from mst.errors import DependencyError, UnsupportedError
from mst.execute import Implementation, implementation_of
from mst.forest import digest
from mst.graph import Graph
from mst.order import total

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# Vertices, edges and how many weights these repeat: dense, sparse, between, of many ties. Filters and sorts take
# another way for each.
_PRACTICE = (1000, 40_000, 40_000), (10_000, 8000, 8000), (10_000, 60_000, 60_000), (1000, 40_000, 8)


def main(events: str, control: str) -> None:
    """Fork a parent for every run that is asked for, pass turns on to them, and tell how they end."""
    tell = teller(int(events))
    _warm_up()
    orders = os.fdopen(int(control), "rb", buffering=0)
    turns: dict[int, int] = {}
    runs: dict[int, int] = {}
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    buffer = b""
    while True:
        for file in select.select([orders.fileno(), ended], [], [])[0]:
            if file == ended:
                os.read(ended, 1 << 10)
                for run, code in _reap(runs):
                    tell("ended", run=run, code=code)
                continue
            chunk = orders.read(1 << 16)
            if not chunk:
                return
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                order = json.loads(line)
                run = order["run"]
                if order["do"] == "open":
                    turns[run], pid = _fork_parent(order, tell, [*turns.values(), ended, wake, orders.fileno()])
                    runs[pid] = run
                elif order["do"] == "close":
                    os.close(turns.pop(run))
                else:
                    with contextlib.suppress(BrokenPipeError):
                        os.write(turns[run], (order["do"] + "\n").encode())


def _warm_up() -> None:
    """Import and compile what every run needs: most of it is what numba does before its first function."""
    with contextlib.suppress(ImportError):
        import pyarrow  # noqa: F401
    algorithm = registry.get("kruskal")
    # Whatever is wrong with it, its own run will tell.
    with contextlib.suppress(Exception):
        none = np.empty(0, np.int32)
        _compile(implementation_of(algorithm), Graph(0, none, none, none), 1, algorithm.resolve())


def teller(fd: int) -> Callable:
    """Return a function that writes one event as a line of JSON to a file descriptor."""

    def tell(event: str, **values: Any) -> None:
        line = (json.dumps({"event": event, **values}) + "\n").encode()
        while line:
            line = line[os.write(fd, line) :]

    return tell


def _reap(runs: dict[int, int]) -> list[tuple[int, int]]:
    """Return the runs whose parents have ended, each with its exit code or minus its signal."""
    found = []
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid in runs:
                found.append((runs.pop(pid), os.waitstatus_to_exitcode(status)))
    return found


def _fork_parent(order: dict[str, Any], tell: Callable, not_yours: list[int]) -> tuple[int, int]:
    """Fork the parent of a run; return the pipe that its turns are written to, and its process id."""
    turn, give_turn = os.pipe()
    pid = os.fork()
    if pid:
        os.close(turn)
        return give_turn, pid
    for fd in (give_turn, *not_yours):
        os.close(fd)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _die_with_parent()
    os.setpgid(0, 0)
    # Orphans of a killed run are re-parented to it, so that ending its tree ends them too.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    code = 70
    try:
        take_turns(order["spec"], turn, lambda event, **values: tell(event, run=order["run"], **values))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def take_turns(spec: dict[str, Any], turn: int, tell: Callable) -> None:
    """Import and map once; then measure in a fresh process whenever a turn comes.

    Parameters
    ----------
    spec : dict
        Algorithm, options, width, graph file, where the edge ids go, and how to measure.
    turn : int
        File descriptor with one word a line, ``sample``, ``phases`` or ``profile``; the run is over at its end.
    tell : callable
        Takes an event's name and values.
    """
    # Children end without cleaning up: what they leave goes with the runner's folder.
    tempfile.tempdir = spec["scratch"]
    tell("opened", pid=os.getpid())
    try:
        algorithm = registry.get(spec["algorithm"])
        ranks = algorithm.paradigm == "mpi"
        implementation = implementation_of(algorithm)
        # Ranks map their parts for themselves.
        graph: Any = None if ranks else _open(Path(spec["graph_file"]))
        compile_all = functools.partial(_compile, implementation, graph, spec["width"], spec["options"])
        if ranks:
            importlib.import_module("mst.bench.measure.mpi_worker")
            # MPI must not be forked either. What a turn compiled would pass for what further ones cost.
            code = _in_child(
                functools.partial(_start_ranks, implementation, graph, spec, tell, take="practice")
            )
            tell("practised", code=code)
        elif algorithm.paradigm == "sequential":
            compile_all()
        elif algorithm.paradigm in ("threads", "cuda"):
            # Their threads and contexts must not be forked: another process leaves the machine code on disk.
            _in_child(compile_all)
        elif algorithm.paradigm == "peer" and "cupy" not in algorithm.requires:
            _import_all(algorithm.requires)
        loaded = algorithm.paradigm in ("sequential", "peer") and "cupy" not in algorithm.requires
        spec = {**spec, "loaded": loaded, "alone": algorithm.program is not None}
    except BaseException as error:
        tell("failed", **failure(error))
        return
    # Any algorithm's calls of MPI can be watched; a single rank makes none.
    phases = spec["width"] > 1 if ranks else implementation.phases is not None
    tell(
        "ready",
        phases=phases,
        starts=ranks,
        profile=algorithm.paradigm == "cuda" or bool(implementation.metrics),
    )
    work: dict[str, Callable] = {"sample": _measure, "phases": _phases, "profile": _profile}
    if ranks:
        work = {
            "sample": functools.partial(_start_ranks, take="samples"),
            "phases": functools.partial(_start_ranks, take="phases"),
        }
    with os.fdopen(turn, "r") as turns:
        for word in turns:
            before = os.times()
            code = _in_child(functools.partial(work[word.strip()], implementation, graph, spec, tell))
            after = os.times()
            cpu = sum(after[:4]) - sum(before[:4])
            tell("turned", code=code, cpu=cpu)


def _import_all(packages: Iterable[str]) -> None:
    before = _threads()
    for package in packages:
        importlib.import_module(package)
    if _threads() > before:
        raise DependencyError(
            f"importing {', '.join(packages)} starts threads, which no fresh process would have: leave it out of "
            "requires, and import it in prepare"
        )


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked process; return its exit code, or minus the signal that ended it."""
    pid = os.fork()
    if pid == 0:
        # The mark is not inherited by a fork.
        _die_with_parent()
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


def _measure(implementation: Implementation, graph: Graph, spec: dict[str, Any], tell: Callable) -> None:
    try:
        tell("samples", **_samples(implementation, graph, spec))
    except BaseException as error:
        tell("failed", **failure(error))


def _start_ranks(module: Any, graph: Any, spec: dict[str, Any], tell: Callable, *, take: str) -> None:
    from mst.bench.measure import mpi_starts, mpi_worker

    try:
        if spec["width"] == 1:
            # It needs no launcher.
            mpi_worker.measure_rank({**spec, "take": take}, tell)
        else:
            mpi_starts.measure(spec, tell, take)
    except BaseException as error:
        tell("failed", **failure(error))


def _samples(implementation: Implementation, graph: Graph, spec: dict[str, Any]) -> dict[str, Any]:
    # Pages of the mapped file are read before the clock starts: init is not a measure of the disk.
    for array in (graph.u, graph.v, graph.w):
        array.max(initial=0)
    resident = reset_peak()
    width, options = spec["width"], spec["options"]
    ready = implementation.ready(graph, width, options)
    problem = ready.problem
    taken = take_samples(
        functools.partial(implementation.timed_solve, problem),
        spec["measure"],
        ready.init,
        loaded=spec["loaded"],
        alone=spec["alone"],
        meter=measure_energy,
    )
    result, highest = taken.result, peak()
    forest = _forest(implementation, graph, problem, result, spec["ids_file"])
    return {
        "init": ready.init,
        "transfer": ready.transfer,
        "warmup": taken.warmup,
        "compute": taken.compute,
        "counters": implementation.counters(problem, result),
        "memory": {
            "peak_bytes": highest,
            "working_bytes": max(highest - resident, 0),
            "start_bytes": resident,
        },
        "energy": _per_solve(taken.metered, len(taken.compute)),
        "device_bytes": implementation.device_bytes(problem),
        "forest": forest,
        "threads": _threads(),
        "threading": _threading(),
        "affinity": sorted(os.sched_getaffinity(0)),
    }


def _threads() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def _threading() -> dict[str, Any] | None:
    """Return what parallel kernels ran on here, or None where none were loaded."""
    runtime = sys.modules.get("mst.kernels.parallel.runtime")
    return runtime.facts() if runtime else None


def _per_solve(energy: Energy, solves: int) -> dict[str, Any] | None:
    """Return the joules of one solve, by domain and in all, or None where nothing could be read."""
    if energy.joules is None:
        return None
    domains = {name: joules / solves for name, joules in energy.domains.items()}
    return {"joules": energy.joules / solves, "domains": domains}


def _forest(
    implementation: Implementation, graph: Graph, problem: Any, result: Any, ids_file: str
) -> dict[str, Any]:
    """Return what is known of the forest; its weight is all that some programs tell."""
    ids = implementation.collect(problem, result)
    if ids is None:
        assert implementation.weight is not None
        return {
            "edges": None,
            "components": None,
            "weight": implementation.weight(problem, result),
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


def _phases(implementation: Implementation, graph: Graph, spec: dict[str, Any], tell: Callable) -> None:
    assert implementation.phases is not None
    problem = implementation.ready(graph, spec["width"], spec["options"]).problem
    implementation.phases(problem)
    tell("phases", phases=implementation.phases(problem))


def _profile(implementation: Implementation, graph: Graph, spec: dict[str, Any], tell: Callable) -> None:
    from mst.bench.measure.profiler import profiled_counters

    tell("profiled", counters=profiled_counters(implementation, spec))


def _compile(implementation: Implementation, graph: Graph, width: int, options: dict[str, Any]) -> None:
    """Solve small graphs of the same dtypes, so that every child inherits the machine code."""
    ends = np.array([0, 1, 2], graph.u.dtype), np.array([1, 2, 0], graph.v.dtype)
    _solve(implementation, Graph(3, *ends, np.array([1, 2, 3]).astype(graph.w.dtype)), width, options)
    # A triangle has nothing to filter. Some algorithms take no graph of several components.
    with contextlib.suppress(UnsupportedError):
        for shape in _PRACTICE:
            _solve(implementation, practice_graph(graph, *shape), width, options)


def _solve(implementation: Implementation, graph: Graph, width: int, options: dict[str, Any]) -> None:
    problem = implementation.ready(graph, width, options).problem
    result = implementation.solve(problem)
    implementation.collect(problem, result)
    implementation.counters(problem, result)


def _open(path: Path) -> Graph:
    from mst.formats.canonical import read_canonical

    return read_canonical(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
