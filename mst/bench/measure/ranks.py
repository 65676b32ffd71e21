"""Ranks of a measured run under MPI: how a sampler starts them, and the work of each rank.

``python -m mst.bench.measure.ranks FILE`` is one rank; the file names the run, the step to measure and the file for
events. One start of all ranks counts as one fresh process in records, and a sample is the slowest rank's time after
a barrier. Rank 0 reports. A rank that fails reports its error and ends the job, since the others would wait
for it forever.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mst import edge_slice, registry
from mst.bench.launch import VARIABLE, find_launcher, launch_command
from mst.bench.machine import this_machine
from mst.bench.measure.messages import Emit, RunSpec, send
from mst.bench.measure.mpi_phases import phases_of
from mst.bench.measure.processes import end_with_parent, failure_of_exit, module_command, pinned_environment
from mst.bench.measure.sampler import Sampler
from mst.bench.measure.samples import failure, memory_status, peak, reset_peak, storable
from mst.bench.measure.warm_up import small_graph, solve_once
from mst.edge_slice import EdgeSlice
from mst.errors import ConfigError, DependencyError
from mst.execute import Implementation, implementation_of
from mst.formats.edge_slice import read_edge_slice
from mst.mpi import abort
from mst.solver import code_seconds

# Vertices and edges: enough for ranks of one host to use shared memory (`SMALL` of filter-boruvka-mpi), in parts and
# all at once; fewer; and many edges per vertex, which each rank first reduces to its own edges' forest.
_SHAPES = (1000, 40_000), (40_000, 50_000), (10_000, 8000), (100, 30_000)


def start_ranks(spec: RunSpec, step: str, emit: Emit) -> None:
    """Start all ranks once, and report rank 0's result, or how they failed; their output goes to the run's log.

    The step is ``samples``, the ``phases`` of an instrumented solve, or ``compile``, which measures nothing.
    """
    if spec.width == 1:
        # One rank needs no launcher, and no daemon of Open MPI, whose time would count as that of other programs.
        os.environ.update(OMPI_MCA_ess_singleton_isolated="1")
        run_rank(spec, step, emit)
        return
    if (launcher := find_launcher()) is None:
        raise DependencyError(
            f"{spec.width} ranks need mpiexec, which is neither next to {sys.executable} nor on PATH: "
            f"{registry.installing('mpi4py')}, or name a launcher in ${VARIABLE}"
        )
    file, events = Path(spec.scratch, "ranks.json"), Path(spec.scratch, "events.jsonl")
    events.unlink(missing_ok=True)
    file.write_text(json.dumps({"spec": asdict(spec), "step": step, "events": str(events)}))
    command, extra = launch_command(spec.width, module_command("mst.bench.measure.ranks", str(file)), launcher)
    # A rank has one thread at every width.
    environment = {**os.environ, **pinned_environment(1), **extra}
    # The launcher ends with this process, and ends its ranks; on this host they also end themselves (`main`).
    started = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, preexec_fn=end_with_parent)
    code = started.returncode
    reported = events.read_text().splitlines() if events.exists() else []
    if reported:
        # The first failure is the cause; others may follow from it.
        emit(**json.loads(reported[0]))
    if code or not reported:
        ended = signal_of(code)
        status, reason = failure_of_exit(-ended or code)
        reason = f"a rank was {reason}" if ended else f"the ranks {reason} and reported nothing"
        emit("failed", status=status, reason=reason, detail=None)


def signal_of(code: int) -> int:
    """Return the signal that a launcher's exit code stands for, or 0.

    Python reports it as a negative number, shells and Open MPI add 128, MPICH returns the signal itself.
    """
    if code < 0:
        return -code
    found = code - 128 if code > 128 else code
    return found if found in (signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGTERM) else 0


def main(file: str) -> None:
    """Run one of the ranks started by `start_ranks`; it ends with the launcher's process that started it."""
    end_with_parent()
    given = json.loads(Path(file).read_text())

    def emit(event: str, **values: Any) -> None:
        descriptor = os.open(given["events"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        send(descriptor, event=event, **values)
        os.close(descriptor)

    run_rank(RunSpec(**given["spec"]), given["step"], emit)


def run_rank(spec: RunSpec, step: str, emit: Emit) -> None:
    """Measure as this process's rank; rank 0 reports the result, and any rank its failure."""
    try:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    except BaseException as error:
        emit("failed", **failure(error))
        raise
    try:
        if comm.size != spec.width:
            raise ConfigError(f"the launcher started {comm.size} ranks, but {spec.width} were requested")
        implementation = implementation_of(registry.get(spec.algorithm))
        part = read_edge_slice(Path(spec.graph_file), comm.rank, comm.size)
        compile_in_ranks(implementation, part, comm, spec.options)
        sampler = RankSampler(spec, implementation, part, comm)
        steps = {"compile": dict, "samples": sampler.measure, "phases": lambda: {"phases": sampler.phases()}}
        result = steps[step]()
        if comm.rank == 0:
            emit(step, **result)
        comm.Barrier()
        # A forked process skips Python's exit handlers, and would leave MPI's shared memory behind.
        MPI.Finalize()
    except BaseException as error:
        failed = failure(error)
        emit("failed", **{**failed, "reason": f"rank {comm.rank} of {comm.size}: {failed['reason']}"})
        abort(comm)


def compile_in_ranks(
    implementation: Implementation, part: EdgeSlice, comm: Any, options: dict[str, Any]
) -> None:
    """Solve small graphs of a part's dtypes: first on two ranks of each host, so that not all ranks compile."""
    from mpi4py import MPI

    def solve_all(some: Any) -> None:
        for n, m in _SHAPES:
            rows = edge_slice.of_graph(small_graph(part, n, m), some.rank, some.size)
            solve_once(implementation, rows, some.size, options, some)

    node = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank)
    first = comm.Split(0 if node.rank < 2 else 1, comm.rank)
    if node.rank < 2:
        solve_all(first)
    # A barrier would spin, and take cores from the ranks that compile.
    arrived = comm.Ibarrier()
    while not arrived.Test():
        time.sleep(0.005)
    solve_all(comm)
    first.Free()
    node.Free()


class RankSampler(Sampler):
    """Measures a run as one of its ranks; all ranks call every method, and rank 0's result counts."""

    meter = contextlib.nullcontext

    def __init__(self, spec: RunSpec, implementation: Implementation, part: EdgeSlice, comm: Any):
        super().__init__(spec, implementation, part, loaded=True)
        self.part, self.comm, self.timed = part, comm, functools.partial(timed_by_slowest, comm)
        self.memory = functools.partial(RankMemory, comm)
        self.code_seconds = lambda: sum(comm.allgather(code_seconds()))

    def phases(self) -> dict[str, float]:
        """Return the seconds by phase of an instrumented solve."""

        def prepare(ranks: Any) -> Any:
            return self.implementation.ready(self.part, options=self.spec.options, comm=ranks).problem

        self.read_graph()
        if self.implementation.phases:
            found = self.implementation.phases(prepare(self.comm))
            return found if self.comm.rank else storable("phases", found, int | float)
        return phases_of(self.comm, prepare, self.implementation.solve)

    def solve(self, problem: Any) -> tuple[Any, float]:
        """Return the result and the slowest rank's seconds of one solve."""
        return self.timed(self.implementation.solve, problem)

    def counters(self, problem: Any, result: Any) -> dict[str, Any]:
        """Return the algorithm's counters: those of rank 0 count."""
        found = self.implementation.counters(problem, result)
        return found if self.comm.rank else storable("counters", found)

    def forest(self, problem: Any, result: Any) -> dict[str, Any] | None:
        """Return the forest's facts on rank 0, and save its edge ids if they are kept."""
        from mst.kernels.mpi.exchange import gather

        collected = self.implementation.collect_edges(problem, result)
        ids = np.sort(np.asarray(collected).astype(np.int64, copy=False))
        everywhere, start = self.comm.bcast(ids), self.part.start
        own = everywhere[(everywhere >= start) & (everywhere < start + self.part.rows)]
        weights = gather(self.comm, self.part.w[own - start])
        return None if self.comm.rank else self.forest_facts(ids, weights)

    def environment(self) -> dict[str, Any]:
        """Return the layout (hosts × ranks per host), and the fingerprint of each host."""
        from mpi4py import MPI

        machine = this_machine()
        # Slurm users know a node by its Slurm name.
        name = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
        facts = self.comm.allgather((name, machine.cpu, machine.cores, machine.fingerprint))
        hosts = {host: facts.count(host) for host in facts}
        keys = ("host", "cpu", "cores", "fingerprint")
        return {
            "ranks": {
                "layout": f"{len(hosts)}x{max(hosts.values())}",
                "hosts": [{**dict(zip(keys, host)), "ranks": ranks} for host, ranks in hosts.items()],
                "library": MPI.Get_library_version().split("\n", 1)[0].strip("\0 "),
            }
        }


def timed_by_slowest(comm: Any, function: Callable, /, *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Call a function on all ranks; return its value, and the slowest rank's seconds, which all ranks get."""
    comm.Barrier()
    started = time.perf_counter()
    value = function(*args, **kwargs)
    seconds = time.perf_counter() - started
    comm.Barrier()
    return value, max(comm.allgather(seconds))


class RankMemory:
    """Memory of all ranks since this was made.

    A rank's *working* memory is its private memory at the peak plus its share of memory shared by ranks, both
    beyond the start. Its peak is everything resident: pages shared by ranks count for each.
    """

    def __init__(self, comm: Any):
        self._comm = comm
        reset_peak()
        self._private, self._shared = memory_status("RssAnon"), _shared_bytes()

    def at_peak(self) -> dict[str, int]:
        """Return bytes of the largest rank and of all ranks; collective."""
        self._comm.Barrier()
        highest = peak()
        # Shared memory and files are held from the first solve on, so the rest of the peak is private memory.
        private = highest - memory_status("RssShmem") - memory_status("RssFile")
        own = max(private - self._private, 0) + max(_shared_bytes() - self._shared, 0)
        peaks, working = zip(*self._comm.allgather((highest, own)))
        return {"peak_bytes": max(peaks), "working_bytes": max(working), "ranks_peak_bytes": sum(peaks)}


def _shared_bytes() -> int:
    """Return this process's share of shared memory, in bytes: each page divided by the processes that map it."""
    with contextlib.suppress(OSError):
        if found := memory_status("Pss_Shmem", "smaps_rollup"):
            return found
    return memory_status("RssShmem")


if __name__ == "__main__":
    main(*sys.argv[1:])
