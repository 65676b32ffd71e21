"""Seconds per phase of a solve with many launches, measured by CUDA events around each launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any


class TimedDevice:
    """A device with events around its launches, fills, copies and allocations, for instrumented solves.

    Attributes
    ----------
    intervals : list of (str, cupy.cuda.Event, cupy.cuda.Event)
        Name of the kernel (or ``fill``, ``copy``, ``allocate``), and the events before and after it.
    """

    def __init__(self, device: Any):
        import cupy

        self._device, self._event = device, cupy.cuda.Event
        self.intervals: list[tuple[str, Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def launch(self, kernel: str, *arguments: Any, **options: Any) -> None:
        """Run a kernel between two events."""
        self._timed(kernel, lambda: self._device.launch(kernel, *arguments, **options))

    def fill(self, *arguments: Any) -> None:
        """Fill an array between two events."""
        self._timed("fill", lambda: self._device.fill(*arguments))

    def copy(self, *arguments: Any) -> None:
        """Copy an array between two events."""
        self._timed("copy", lambda: self._device.copy(*arguments))

    def allocate(self, *arguments: Any) -> None:
        """Allocate arrays between two events."""
        self._timed("allocate", lambda: self._device.allocate(*arguments))

    def release(self, *arguments: Any) -> None:
        """Free arrays between two events."""
        self._timed("allocate", lambda: self._device.release(*arguments))

    def _timed(self, name: str, work: Callable[[], None]) -> None:
        before, after = self._event(), self._event()
        before.record()
        work()
        after.record()
        self.intervals.append((name, before, after))


def phase_seconds(problem: Any, solve: Callable[[Any], Any], phases: dict[str, str]) -> dict[str, float]:
    """Return seconds per phase of a solve; ``other`` is the time between the phases.

    Parameters
    ----------
    problem : dataclass
        Its `device` has a `launch` that takes a kernel's name first.
    solve : callable
        The function to time; takes the problem.
    phases : dict
        Phase of each kernel (or ``fill``, ``copy``, ``allocate``); all others count as ``other``.
    """
    import cupy

    device = TimedDevice(problem.device)
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    solve(replace(problem, device=device))
    end.record()
    end.synchronize()
    spent = dict.fromkeys([*phases.values(), "other"], 0.0)
    spent["other"] = cupy.cuda.get_elapsed_time(start, end) / 1e3
    for name, before, after in device.intervals:
        if name in phases:
            seconds = cupy.cuda.get_elapsed_time(before, after) / 1e3
            spent[phases[name]] += seconds
            spent["other"] -= seconds
    spent["other"] = max(spent["other"], 0.0)
    return spent
