"""The time that compiling and loading machine code takes, which is no part of solving.

A function is compiled once for a machine and loaded from disk afterwards.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter

from numba.core import event


class _Clock(event.Listener):
    """Adds up, thread by thread, the time between the outermost start of an event and its end."""

    def __init__(self) -> None:
        self.by_thread = threading.local()

    def on_start(self, event: event.Event) -> None:
        """Start at the outermost function; the functions that it inlines are compiled within its time."""
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
        # An event that ends may have begun before this clock was registered.
        of_thread.depth = max(depth - 1, 0)


class FirstCompiled(event.Listener):
    """Within its `with` block, calls a function once, before the first compilation; loading code does not count.

    Parameters
    ----------
    callback : callable
        Takes no arguments.
    """

    def __init__(self, callback: Callable[[], None]):
        self._callback: Callable[[], None] | None = callback

    def __enter__(self) -> FirstCompiled:
        event.register("numba:compile", self)
        return self

    def __exit__(self, *_: object) -> None:
        event.unregister("numba:compile", self)

    def on_start(self, event: event.Event) -> None:
        """Call back, once."""
        callback, self._callback = self._callback, None
        if callback:
            callback()

    def on_end(self, event: event.Event) -> None:
        """Do nothing: numba requires the method of a listener."""


_CLOCK = _Clock()
# The event lasts while a thread holds the lock of the compiler, which it needs to compile and to load.
event.register("numba:compiler_lock", _CLOCK)


def code_seconds() -> float:
    """Return for how many seconds this thread has compiled and loaded machine code since this module was imported.

    A function that another one inlines is compiled within the time of that one, and counts once.

    Examples
    --------
    >>> import numba
    >>> from mst.kernels.primitives.machine_code import code_seconds
    >>> before = code_seconds()
    >>> numba.njit(lambda x: x + 1)(1), code_seconds() > before
    (2, True)
    """
    return getattr(_CLOCK.by_thread, "seconds", 0.0)
