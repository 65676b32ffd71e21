"""Seconds per named phase of an instrumented solve."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

Lap = Callable[[str], None]


def no_lap(phase: str) -> None:
    """Record no times: for solves measured as a whole."""


class Laps:
    """Adds up the seconds of each phase; called after each with its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def __call__(self, phase: str) -> None:
        now = perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now


class LapsOfRanks:
    """Adds up the slowest rank's seconds per phase; called by all ranks after each phase with its name.

    Ranks synchronise after each phase, so that a late rank does not make the next phase look long.
    """

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self.seconds: dict[str, float] = {}
        comm.Barrier()
        self._last = perf_counter()

    def __call__(self, phase: str) -> None:
        from mpi4py import MPI

        slowest = self._comm.allreduce(perf_counter() - self._last, MPI.MAX)
        self.seconds[phase] = self.seconds.get(phase, 0.0) + slowest
        self._last = perf_counter()
