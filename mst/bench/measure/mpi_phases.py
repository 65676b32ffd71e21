"""Where the ranks of a run spend their time: computing, in calls of MPI, or waiting for each other."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

COLLECTIVES = frozenset(
    [
        "allgather",
        "allgatherv",
        "allreduce",
        "alltoall",
        "alltoallv",
        "alltoallw",
        "bcast",
        "gather",
        "gatherv",
        "exscan",
        "reduce",
        "reduce_scatter",
        "reduce_scatter_block",
        "scan",
        "scatter",
        "scatterv",
    ]
)
"""Blocking collectives of mpi4py, of arrays and of objects, whose names differ by the first letter's case."""


def watched(comm: Any) -> tuple[Any, dict[str, float]]:
    """Return a communicator of the same ranks that times its blocking collectives, and the seconds it has noted.

    A barrier before each call tells ``waiting`` for the slower ranks from ``communication``. Communicators that are
    split off note their seconds in the same place.
    """
    from mpi4py import MPI

    spent = {"communication": 0.0, "waiting": 0.0}

    def meet(self: Any) -> float:
        began = perf_counter()
        MPI.Intracomm.Barrier(self)
        met = perf_counter()
        spent["waiting"] += met - began
        return met

    def timed(call: Callable) -> Callable:
        def collective(self: Any, *given: Any, **more: Any) -> Any:
            met = meet(self)
            value = call(self, *given, **more)
            spent["communication"] += perf_counter() - met
            return value

        return collective

    def kept(call: Callable) -> Callable:
        return lambda self, *given, **more: type(self)(call(self, *given, **more))

    names = [name for name in dir(MPI.Intracomm) if name.lower() in COLLECTIVES]
    members: dict[str, Any] = {name: timed(getattr(MPI.Intracomm, name)) for name in names}
    members |= {name: kept(getattr(MPI.Intracomm, name)) for name in ("Dup", "Split", "Split_type")}
    members |= dict.fromkeys(("Barrier", "barrier"), lambda self: meet(self) and None)
    return type("Watched", (MPI.Intracomm,), members)(comm), spent


def phases_of(comm: Any, prepare: Callable[[Any], Any], solve: Callable[[Any], Any]) -> dict[str, float]:
    """Return the seconds of a solve by kind, each the mean over the ranks; their sum is the solve's time.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm
    prepare, solve : callable
        `prepare` gets a communicator and returns the problem; the second solve counts.
    """
    under_watch, spent = watched(comm)
    problem = prepare(under_watch)
    solve(problem)
    under_watch.Barrier()
    spent.update(dict.fromkeys(spent, 0.0))
    began = perf_counter()
    solve(problem)
    under_watch.Barrier()
    own = {"computation": perf_counter() - began - sum(spent.values()), **spent}
    everywhere = comm.allgather(own)
    return {name: sum(told[name] for told in everywhere) / comm.size for name in own}
