"""A pool of threads that no interruption can leave locked.

`concurrent.futures` and `threading.Thread.start` take locks in Python code. A thread that is interrupted there keeps a
lock for which the pool's threads wait forever, or raises a RuntimeError. Here each lock is taken by a statement that
runs no Python code.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

_T = TypeVar("_T")


class Future(Generic[_T]):
    """The result of a call in another thread; methods are named as in `concurrent.futures.Future`."""

    def __init__(self) -> None:
        self._value: Any = None
        self._error: BaseException | None = None
        self._pending = threading.Lock()
        self._pending.acquire()

    def set_result(self, value: _T) -> None:
        """Store the value that the call has returned."""
        self._value = value
        self._pending.release()

    def set_exception(self, error: BaseException) -> None:
        """Store the exception that the call has raised."""
        self._error = error
        self._pending.release()

    def done(self) -> bool:
        """Return whether the call has ended."""
        return not self._pending.locked()

    def result(self) -> _T:
        """Wait until the call ends; return its value, or raise its exception."""
        with self._pending:
            pass
        if self._error is None:
            return self._value
        try:
            raise self._error
        finally:
            del self  # in the error's traceback, it would be a cycle


class Pool:
    """Threads that run submitted calls, first come first served, until the context ends.

    Parameters
    ----------
    width : int
        Number of threads.

    Examples
    --------
    >>> from mst.kernels.parallel.pool import Pool
    >>> with Pool(2) as pool:
    ...     pool.map(pow, [2, 3], [3, 2])
    [8, 9]
    """

    def __init__(self, width: int):
        self._width = width
        self._calls: SimpleQueue[tuple[Future, Callable, tuple] | None] = SimpleQueue()
        self._ended: SimpleQueue[None] = SimpleQueue()

    def __enter__(self) -> Pool:
        try:
            for _ in range(self._width):
                # `threading.Thread.start` would take a lock in Python code.
                _thread.start_new_thread(self._work, ())
        except BaseException:
            self._calls.put(None)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._calls.put(None)
        # While the interpreter shuts down, its other threads no longer run.
        for _ in range(0 if sys.is_finalizing() else self._width):
            self._ended.get()

    def submit(self, function: Callable[..., _T], *arguments: Any) -> Future[_T]:
        """Let a thread of the pool call the function; return the future result."""
        future: Future[_T] = Future()
        self._calls.put((future, function, arguments))
        return future

    def map(self, function: Callable[..., _T], *arguments: Iterable[Any]) -> list[_T]:
        """Return the results of calls with the first of all arguments, the second, and so on."""
        return [future.result() for future in [self.submit(function, *each) for each in zip(*arguments)]]

    def _work(self) -> None:
        for future, function, arguments in iter(self._calls.get, None):
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)
            del future, function, arguments  # else they would live until the next call
        # This ends the next thread; a loop in `__exit__` with one item for each thread could be interrupted.
        self._calls.put(None)
        self._ended.put(None)
