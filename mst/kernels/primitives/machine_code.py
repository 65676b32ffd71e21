"""The time of compiling and loading machine code, which is not part of solving.

A function is compiled once for a machine and loaded from disk afterwards, if the cache can be written.
"""

from __future__ import annotations

import threading
from time import perf_counter

import numba  # noqa: F401
from numba.core import event

from mst import progress
from mst.cache import cache_root, is_writable


class _Clock(event.Listener):
    """Adds up, per thread, the time between the outermost start of an event and its end."""

    def __init__(self) -> None:
        self.by_thread = threading.local()

    def on_start(self, event: event.Event) -> None:
        """Start at the outermost function; functions it inlines are compiled within its time."""
        of_thread = self.by_thread
        of_thread.depth = getattr(of_thread, "depth", 0) + 1
        if of_thread.depth == 1:
            of_thread.started = perf_counter()

    def on_end(self, event: event.Event) -> None:
        """Stop when the outermost function has been compiled or loaded."""
        of_thread = self.by_thread
        depth = getattr(of_thread, "depth", 0)
        if depth == 1:
            of_thread.seconds = getattr(of_thread, "seconds", 0.0) + perf_counter() - of_thread.started
        # The event may have begun before this clock was registered.
        of_thread.depth = max(depth - 1, 0)


class Notice(_Clock):
    """Says once, on standard error, that code is being compiled, after `PATIENCE` seconds.

    If there is a progress display, that says so instead, unless the cache cannot be written.

    A function's callees are compiled within its time, a few each second: their events show how long it has
    taken so far, without a watching thread.
    """

    def __init__(self) -> None:
        super().__init__()
        self.said = False

    def on_start(self, event: event.Event) -> None:
        """Start at the outermost function."""
        super().on_start(event)
        self._look()

    def on_end(self, event: event.Event) -> None:
        """Add up the time of the outermost function."""
        self._look()
        super().on_end(event)

    def _look(self) -> None:
        of_thread = self.by_thread
        seconds = getattr(of_thread, "seconds", 0.0) + perf_counter() - of_thread.started
        is_kept = is_writable(folder := cache_root() / "numba")
        is_shown = progress.mark("compiling, once for this machine" if is_kept else "compiling")
        if (is_shown and is_kept) or self.said or seconds < PATIENCE:
            return
        self.said = True
        once = ", once for this machine (`mst warm` does that beforehand)"
        again = f" in each process, since {folder} cannot be written: set MST_CACHE to a folder that can"
        progress.remark(f"mst: compiling machine code{once if is_kept else again}")


PATIENCE = 2.0
"""Seconds of compiling before a `Notice` is shown."""

_CLOCK = _Clock()
# The event lasts while a thread holds the compiler lock, needed to compile and to load.
event.register("numba:compiler_lock", _CLOCK)
event.register("numba:compile", Notice())


def code_seconds() -> float:
    """Return how many seconds this thread has spent compiling and loading machine code since this module's import.

    A function that another inlines is compiled within the other's time, and counts once.

    Examples
    --------
    >>> import numba
    >>> from mst.kernels.primitives.machine_code import code_seconds
    >>> before = code_seconds()
    >>> numba.njit(lambda x: x + 1)(1), code_seconds() > before
    (2, True)
    """
    return getattr(_CLOCK.by_thread, "seconds", 0.0)
