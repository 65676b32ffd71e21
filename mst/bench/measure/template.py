"""Templates: one process per run loads it once and forks a fresh sampler for every turn."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil

from mst import registry
from mst.bench.measure.messages import Emit, RunSpec
from mst.bench.measure.processes import run_in_fork
from mst.bench.measure.profiler import profiled_counters
from mst.bench.measure.ranks import start_ranks
from mst.bench.measure.sampler import Sampler
from mst.bench.measure.samples import failure, storable
from mst.bench.measure.warm_up import compile_kernels
from mst.errors import DependencyError
from mst.execute import Implementation, implementation_of
from mst.formats.canonical import read_canonical
from mst.registry import Algorithm


def serve_run(spec: RunSpec, commands: int, emit: Emit) -> None:
    """Load a run once; then fork a fresh process for every command.

    The pipe `commands` brings messages with a ``command``, ``sample``, ``phases`` or ``profile``, until the run is
    over. Events are ``opened``, ``compiled``, ``ready``, ``samples``, ``phases``, ``profiled``, ``failed`` and, at the
    end of a command, ``finished``.
    """
    # Forks do not clean up: their temporary files are deleted with the runner's folder.
    tempfile.tempdir = spec.scratch
    emit("opened", pid=os.getpid())
    try:
        algorithm = registry.get(spec.algorithm)
        implementation = implementation_of(algorithm)
        ranks = algorithm.paradigm == "mpi"
        work = _load_ranks(spec, emit) if ranks else _load(spec, algorithm, implementation, emit)
    except BaseException as error:
        emit("failed", **failure(error))
        return
    profiled = algorithm.paradigm == "cuda" or bool(implementation.metrics)
    emit("ready", phases="phases" in work, ranks=ranks, profile=profiled)
    with os.fdopen(commands) as lines:
        for line in lines:
            before = os.times()
            code = run_in_fork(partial(_reporting, work[json.loads(line)["command"]], emit))
            after = os.times()
            emit("finished", code=code, cpu=sum(after[:4]) - sum(before[:4]))


def _reporting(work: Callable[[], None], emit: Emit) -> None:
    try:
        work()
    except BaseException as error:
        emit("failed", **failure(error))


def _load_ranks(spec: RunSpec, emit: Emit) -> dict[str, Callable[[], None]]:
    """Compile in ranks; return how to start them for each command. Ranks map their own parts of the graph."""
    # MPI must not be forked, so ranks are started to compile; otherwise the first measured ones would compile.
    compile_all = partial(start_ranks, spec, "compile", emit)
    emit("compiled", code=run_in_fork(partial(_reporting, compile_all, emit)))
    # Any algorithm's MPI calls can be timed; a single rank makes none.
    commands = {"sample": "samples", "phases": "phases"} if spec.width > 1 else {"sample": "samples"}
    return {command: partial(start_ranks, spec, step, emit) for command, step in commands.items()}


def _load(
    spec: RunSpec, algorithm: Algorithm, implementation: Implementation, emit: Emit
) -> dict[str, Callable[[], None]]:
    """Map the graph and compile; return the work of each command."""
    graph = read_canonical(Path(spec.graph_file))
    compile_all = partial(compile_kernels, implementation, graph, spec.width, spec.options)
    loaded = algorithm.paradigm in ("sequential", "peer") and not algorithm.uses_gpu
    if algorithm.program:
        # A program is compiled already, and some never end on unconnected graphs, such as small random ones.
        implementation = replace(implementation, prepare=partial(implementation.prepare, shared=spec.scratch))
    elif algorithm.paradigm == "sequential":
        compile_all()
    elif loaded:
        _import_all(algorithm.requires)
    elif algorithm.paradigm in ("threads", "cuda"):
        # Their threads and contexts must not be forked: another process leaves the machine code on disk.
        run_in_fork(compile_all)

    def sample() -> None:
        np.random.seed()  # noqa: NPY002 - forks have this process's global generator
        alone = algorithm.program is not None
        emit("samples", **Sampler(spec, implementation, graph, loaded=loaded, alone=alone).measure())

    def phases() -> None:
        assert implementation.phases is not None
        problem = implementation.ready(graph, spec.width, spec.options).problem
        implementation.phases(problem)
        emit("phases", phases=storable("phases", implementation.phases(problem), int | float))

    def profile() -> None:
        emit("profiled", counters=storable("profiled", profiled_counters(implementation, spec)))

    work: dict[str, Callable[[], None]] = {"sample": sample, "profile": profile}
    return work | {"phases": phases} if implementation.phases else work


def _import_all(packages: Iterable[str]) -> None:
    before = psutil.Process().num_threads()
    for package in packages:
        importlib.import_module(package)
    if psutil.Process().num_threads() > before:
        raise DependencyError(
            f"importing {', '.join(packages)} starts threads, which no fresh process would have: leave it out of "
            "requires, and import it in prepare"
        )
