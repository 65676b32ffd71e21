"""A pool of threads that no interruption can leave locked.

`concurrent.futures` and `threading.Thread.start` lock in Python. Interrupted there, the thread that waits keeps a lock,
for which those of the pool wait forever, or it raises a RuntimeError. Here each lock is taken by a statement that runs
no Python code.
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
    """The result of a call, which another thread makes; its methods are those of `concurrent.futures.Future`."""

    def __init__(self) -> None:
        self._value: Any = None
        self._error: BaseException | None = None
        self._pending = threading.Lock()
        self._pending.acquire()

    def set_result(self, value: _T) -> None:
        """Note that the call returned this."""
        self._value = value
        self._pending.release()

    def set_exception(self, error: BaseException) -> None:
        """Note that the call raised this."""
        self._error = error
        self._pending.release()

    def done(self) -> bool:
        """Return whether the call has ended."""
        return not self._pending.locked()

    def result(self) -> _T:
        """Wait for the call, and return what it returned, or raise what it raised."""
        with self._pending:
            pass
        if self._error is None:
            return self._value
        try:
            raise self._error
        finally:
            del self  # in the error's traceback, it would be a cycle


class Pool:
    """Threads that make calls, in the order of `submit`, until the context ends.

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
                # The start of a `threading.Thread` locks in Python, too.
                _thread.start_new_thread(self._work, ())
        except BaseException:
            self._calls.put(None)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._calls.put(None)
        # Once the interpreter ends, its other threads run no more.
        for _ in range(0 if sys.is_finalizing() else self._width):
            self._ended.get()

    def submit(self, function: Callable[..., _T], *arguments: Any) -> Future[_T]:
        """Have a thread call the function."""
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
            del future, function, arguments  # they would be kept until the next call
        # Ends the next thread, too: a loop that puts one for each could be interrupted.
        self._calls.put(None)
        self._ended.put(None)
