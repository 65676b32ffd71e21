"""What getting machine code takes: that is compiled once for a machine, loaded afterwards, and no part of solving."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import perf_counter

from numba.core import event

_GETS, _COMPILES = "numba:compiler_lock", "numba:compile"


class CodeClock(event.Listener):
    """Seconds that this thread compiles and loads machine code while the clock is open, by numba's own events.

    Parameters
    ----------
    compiling : callable, optional
        Called without arguments when a function is compiled for the first time, and not when it is loaded.

    Attributes
    ----------
    seconds : float

    Examples
    --------
    >>> import numba
    >>> from mst.kernels.machine_code import CodeClock
    >>> with CodeClock() as clock:
    ...     numba.njit(lambda x: x + 1)(1), clock.seconds > 0
    (2, True)
    """

    def __init__(self, compiling: Callable[[], None] | None = None):
        self.seconds = 0.0
        self._compiling, self._thread = compiling, threading.get_ident()
        self._depth, self._started = 0, 0.0

    def __enter__(self) -> CodeClock:
        for kind in (_GETS, _COMPILES):
            event.register(kind, self)
        return self

    def __exit__(self, *_: object) -> None:
        for kind in (_GETS, _COMPILES):
            event.unregister(kind, self)

    def on_start(self, event: event.Event) -> None:
        """Start the clock at the outermost function; what it inlines is got meanwhile."""
        if threading.get_ident() != self._thread:
            return
        if event.kind == _COMPILES:
            if self._compiling:
                self._compiling()
            self._compiling = None
            return
        if self._depth == 0:
            self._started = perf_counter()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        """Stop the clock when the outermost function is there."""
        if event.kind == _COMPILES or threading.get_ident() != self._thread or self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._started
