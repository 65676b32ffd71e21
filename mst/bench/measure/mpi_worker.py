"""One rank of a measured run under MPI; ``python -m mst.bench.measure.mpi_worker SPEC`` on every rank.

What `mst.bench.measure.worker` does for one process: opens its part of the graph, prepares, warms up, takes samples. A
sample is the slowest rank's time from one barrier on; a start of all ranks is one fresh process in the records'
sense. Rank 0 appends the events, one JSON line each, to the file that the spec names. A rank that fails appends its
error and ends the job, since the others would wait for it forever.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mst import edge_slice, registry
from mst.bench.machine import this_machine
from mst.bench.measure.mpi_phases import phases_of
from mst.bench.measure.practice import practice_graph
from mst.bench.measure.samples import failure, peak, reset_peak, status, take_samples
from mst.edge_slice import EdgeSlice
from mst.errors import ConfigError
from mst.execute import Implementation, implementation_of
from mst.forest import digest
from mst.formats.edge_slice import read_edge_slice
from mst.kernels.mpi.exchange import gather
from mst.mpi import abort
from mst.order import total

# Vertices and edges: so many that ranks of one host meet in shared memory (`SMALL` of filter-boruvka-mpi), in parts and
# all at once; fewer; and many to a vertex, which a rank reduces to its own forest first.
_PRACTICE = (1000, 40_000), (40_000, 50_000), (10_000, 8000), (100, 30_000)


def main(spec_file: str) -> None:
    """Measure one set of samples, or the phases, or practise for these, together with all other ranks."""
    spec = json.loads(Path(spec_file).read_text())

    def tell(event: str, **values: Any) -> None:
        # One write, so that lines of several failing ranks do not mix.
        line = json.dumps({"event": event, **values}) + "\n"
        descriptor = os.open(spec["events"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, line.encode())
        os.close(descriptor)

    measure_rank(spec, tell)


def measure_rank(spec: dict[str, Any], tell: Callable) -> None:
    """Measure as this process's rank; rank 0 tells the samples, and any rank how it failed."""
    try:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    except BaseException as error:
        tell("failed", **failure(error))
        raise
    try:
        if comm.size != spec["width"]:
            raise ConfigError(f"the launcher started {comm.size} ranks, {spec['width']} were asked for")
        take = {"samples": _samples, "phases": _phases, "practice": _practice}[spec["take"]]
        found = take(spec, comm)
        if comm.rank == 0:
            tell(spec["take"], **found)
        comm.Barrier()
        # A forked process ends without what Python does at its exit, and would leave MPI's shared memory behind.
        MPI.Finalize()
    except BaseException as error:
        told = failure(error)
        told["reason"] = f"rank {comm.rank} of {comm.size}: {told['reason']}"
        tell("failed", **told)
        abort(comm)


def _samples(spec: dict[str, Any], comm: Any) -> dict[str, Any]:
    implementation = implementation_of(registry.get(spec["algorithm"]))
    part = _opened(implementation, spec, comm)
    start = reset_peak(), status("RssAnon"), _shared()
    slowest = functools.partial(_timed, comm)
    ready = implementation.ready(part, options=spec["options"], comm=comm, timed=slowest)
    problem = ready.problem
    solve = functools.partial(slowest, implementation.solve, problem)
    taken = take_samples(solve, spec["measure"], ready.init, loaded=True)
    result, memory = taken.result, _memory(comm, *start)
    return {
        "init": ready.init,
        "transfer": ready.transfer,
        "warmup": taken.warmup,
        "compute": taken.compute,
        "counters": implementation.counters(problem, result),
        "memory": memory,
        "energy": None,
        "device_bytes": None,
        "forest": _forest(implementation, problem, result, part, comm, spec["ids_file"]),
        "threads": sum(1 for _ in Path("/proc/self/task").iterdir()),
        "affinity": sorted(os.sched_getaffinity(0)),
        "ranks": _hosts(comm),
    }


def _phases(spec: dict[str, Any], comm: Any) -> dict[str, Any]:
    implementation, options = implementation_of(registry.get(spec["algorithm"])), spec["options"]
    part = _opened(implementation, spec, comm)

    def prepare(over: Any) -> Any:
        return implementation.ready(part, options=options, comm=over).problem

    if implementation.phases:
        return {"phases": implementation.phases(prepare(comm))}
    return {"phases": phases_of(comm, prepare, implementation.solve)}


def _practice(spec: dict[str, Any], comm: Any) -> dict[str, Any]:
    _opened(implementation_of(registry.get(spec["algorithm"])), spec, comm)
    return {}


def _opened(implementation: Implementation, spec: dict[str, Any], comm: Any) -> EdgeSlice:
    """Return this rank's part of the graph, all code compiled and all pages of the mapped file read."""
    part = read_edge_slice(spec["graph_file"], comm.rank, comm.size)
    _practise(implementation, part, comm, spec["options"])
    # Before the clock starts: init is not a measure of the disk.
    for array in (part.u, part.v, part.w):
        array.max(initial=0)
    return part


def _timed(comm: Any, function: Callable, *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Call a function on all ranks; return its value, and the slowest rank's seconds, which all ranks get."""
    comm.Barrier()
    started = time.perf_counter()
    value = function(*args, **kwargs)
    seconds = time.perf_counter() - started
    comm.Barrier()
    return value, max(comm.allgather(seconds))


def _practise(implementation: Implementation, part: EdgeSlice, comm: Any, options: dict[str, Any]) -> None:
    """Solve small graphs of the same dtypes: two ranks of each host first, so that not all of them compile."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED, comm.rank)
    pioneers = comm.Split(0 if node.rank < 2 else 1, comm.rank)
    if node.rank < 2:
        _solve_practice(implementation, part, pioneers, options)
    # A barrier would spin, and take the cores away from those that compile.
    arrived = comm.Ibarrier()
    while not arrived.Test():
        time.sleep(0.005)
    _solve_practice(implementation, part, comm, options)
    pioneers.Free()
    node.Free()


def _solve_practice(
    implementation: Implementation, part: EdgeSlice, comm: Any, options: dict[str, Any]
) -> None:
    for n, m in _PRACTICE:
        practice = edge_slice.of_graph(practice_graph(part, n, m), comm.rank, comm.size)
        problem = implementation.ready(practice, options=options, comm=comm).problem
        result = implementation.solve(problem)
        implementation.collect(problem, result)
        implementation.counters(problem, result)


def _memory(comm: Any, resident: int, private: int, shared: int) -> dict[str, int]:
    """Return bytes of the largest rank and of all ranks, given what this one held at the start.

    A rank's *working* memory is what it had for itself at the peak, and its share of the memory that ranks share,
    both beyond the start. Its peak is all that was resident: pages that ranks share count for each.
    """
    comm.Barrier()
    highest = peak()
    # Shared memory and files are held from the first solve on, so the peak less these is private memory's.
    alone = highest - status("RssShmem") - status("RssFile")
    told = comm.allgather((highest, max(alone - private, 0) + max(_shared() - shared, 0), resident))
    peaks, working, start = zip(*told)
    return {
        "peak_bytes": max(peaks),
        "working_bytes": max(working),
        "start_bytes": max(start),
        "ranks_peak_bytes": sum(peaks),
        "ranks_working_bytes": sum(working),
    }


def _shared() -> int:
    """Return this process's share of shared memory, in bytes: pages over the processes that have them."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss_Shmem:"):
                return int(line.split()[1]) * 1024
    return status("RssShmem")


def _forest(
    implementation: Implementation, problem: Any, result: Any, part: EdgeSlice, comm: Any, ids_file: str
) -> dict[str, Any] | None:
    """Return, on rank 0, what is known of the forest."""
    ids = np.sort(np.asarray(implementation.collect(problem, result)).astype(np.int64, copy=False))
    everywhere = comm.bcast(ids)
    own = everywhere[(everywhere >= part.start) & (everywhere < part.start + part.rows)]
    weights = gather(comm, part.w[own - part.start])
    if comm.rank:
        return None
    if ids_file:
        np.save(ids_file, ids)
    return {
        "edges": len(ids),
        "components": part.n - len(ids),
        "weight": str(total(weights)),
        "digest": digest(ids),
    }


def _hosts(comm: Any) -> dict[str, Any]:
    """Return the layout, hosts times ranks on each, and the fingerprint of each host."""
    machine = this_machine()
    # Slurm's name for a node is what its users know it by.
    name = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    mine = (name, machine.cpu, machine.cores, machine.fingerprint)
    told = comm.allgather(mine)
    hosts = list(dict.fromkeys(told))
    most = max(told.count(host) for host in hosts)
    keys = ("host", "cpu", "cores", "fingerprint")
    return {
        "layout": f"{len(hosts)}x{most}",
        "hosts": [{**dict(zip(keys, host)), "ranks": told.count(host)} for host in hosts],
        "library": _library(),
    }


def _library() -> str:
    from mpi4py import MPI

    return MPI.Get_library_version().split("\n", 1)[0].strip("\0 ")


if __name__ == "__main__":
    main(*sys.argv[1:])
