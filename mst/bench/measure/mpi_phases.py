"""The time that the ranks of a run spend computing, in MPI calls, and waiting for each other."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import perf_counter
from typing import Any

# mpi4py's blocking collectives, of arrays and of objects; their names differ in the case of the first letter.
_COLLECTIVE = re.compile(
    "(all)?gatherv?|alltoall[vw]?|scatterv?|(all)?reduce|reduce_scatter(_block)?|bcast|(ex)?scan", re.IGNORECASE
)


def instrumented(comm: Any) -> tuple[Any, dict[str, float]]:
    """Return a communicator of the same ranks that times blocking collectives, and the seconds, summed by kind.

    A barrier before each call separates ``waiting`` for slower ranks from ``communication``. Communicators split off
    from it add their seconds to the same figures.
    """
    from mpi4py import MPI

    spent = {"communication": 0.0, "waiting": 0.0}

    def wait_for_all(self: Any) -> float:
        began = perf_counter()
        MPI.Intracomm.Barrier(self)
        met = perf_counter()
        spent["waiting"] += met - began
        return met

    def barrier(self: Any) -> None:
        wait_for_all(self)

    def timed(call: Callable) -> Callable:
        def collective(self: Any, *args: Any, **kwargs: Any) -> Any:
            met = wait_for_all(self)
            value = call(self, *args, **kwargs)
            spent["communication"] += perf_counter() - met
            return value

        return collective

    def instrumenting(call: Callable) -> Callable:
        return lambda self, *args, **kwargs: type(self)(call(self, *args, **kwargs))

    names = [name for name in dir(MPI.Intracomm) if _COLLECTIVE.fullmatch(name)]
    members: dict[str, Any] = {name: timed(getattr(MPI.Intracomm, name)) for name in names}
    members |= {name: instrumenting(getattr(MPI.Intracomm, name)) for name in ("Dup", "Split", "Split_type")}
    members |= {"Barrier": barrier, "barrier": barrier}
    return type("Instrumented", (MPI.Intracomm,), members)(comm), spent


def phases_of(comm: Any, prepare: Callable[[Any], Any], solve: Callable[[Any], Any]) -> dict[str, float]:
    """Return the seconds of a solve by kind, each averaged over the ranks; their sum is the solve's time.

    `prepare` gets a communicator and returns the problem, whose second solve counts.
    """
    timed_comm, spent = instrumented(comm)
    problem = prepare(timed_comm)
    solve(problem)
    timed_comm.Barrier()
    spent.update(dict.fromkeys(spent, 0.0))
    began = perf_counter()
    solve(problem)
    timed_comm.Barrier()
    own = {"computation": perf_counter() - began - sum(spent.values()), **spent}
    everywhere = comm.allgather(own)
    return {name: sum(seconds[name] for seconds in everywhere) / comm.size for name in own}
