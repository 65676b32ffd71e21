"""What getting machine code takes: that is compiled once for a machine, loaded afterwards, and no part of solving."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter

from numba.core import event


class _Clock(event.Listener):
    """Adds up, thread by thread, the time between the outermost start of an event and its end."""

    def __init__(self) -> None:
        self.own = threading.local()

    def on_start(self, event: event.Event) -> None:
        """Start at the outermost function; what it inlines is got meanwhile."""
        own = self.own
        own.depth = getattr(own, "depth", 0) + 1
        if own.depth == 1:
            own.started = perf_counter()

    def on_end(self, event: event.Event) -> None:
        """Stop when the outermost function is there."""
        own = self.own
        depth = getattr(own, "depth", 0)
        if depth == 1:
            own.seconds = getattr(own, "seconds", 0.0) + perf_counter() - own.started
        # What ends may have begun before the clock was there.
        own.depth = max(depth - 1, 0)


class FirstCompiled(event.Listener):
    """Calls back when the first function is compiled while it is open, and not when code is loaded.

    Parameters
    ----------
    told : callable
        Takes no arguments.
    """

    def __init__(self, told: Callable[[], None]):
        self._told: Callable[[], None] | None = told

    def __enter__(self) -> FirstCompiled:
        event.register("numba:compile", self)
        return self

    def __exit__(self, *_: object) -> None:
        event.unregister("numba:compile", self)

    def on_start(self, event: event.Event) -> None:
        """Call back, once."""
        told, self._told = self._told, None
        if told:
            told()

    def on_end(self, event: event.Event) -> None:
        """Do nothing: a listener must have it."""


_CLOCK = _Clock()
# Held while a function is compiled or loaded, and by whoever waits for that.
event.register("numba:compiler_lock", _CLOCK)


def code_seconds() -> float:
    """Return how long this thread has compiled and loaded machine code since this module was imported.

    Functions that others inline are got within these, and count once.

    Examples
    --------
    >>> import numba
    >>> from mst.kernels.primitives.machine_code import code_seconds
    >>> before = code_seconds()
    >>> numba.njit(lambda x: x + 1)(1), code_seconds() > before
    (2, True)
    """
    return getattr(_CLOCK.own, "seconds", 0.0)
