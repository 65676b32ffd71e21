"""Pools of new processes that read records or draw figures for this one."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context

from mst.errors import MSTError

MOST = 4
"""The most processes at once; each takes about 200 MB."""


@contextmanager
def processes(
    count: int, task: str, begin: Callable[[], object] | None = None
) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of processes, each of which calls `begin` first.

    If one ends early, such as when it runs out of memory, raise `MSTError`: "a process that `task` ended early".
    """
    # A fork would copy locks that other threads of this process hold.
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin, initargs=(begin,)) as pool:
        try:
            yield pool
        except BrokenProcessPool:
            raise MSTError(f"a process that {task} ended early: it may have run out of memory") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(begin: Callable[[], object] | None) -> None:
    # Interrupts are left to the waiting process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if begin:
        begin()
