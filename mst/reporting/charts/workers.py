"""Figures drawn by several processes at once: matplotlib takes some 0.2 s for each, and pages have over a hundred."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from operator import call
from typing import Any

from mst.errors import MSTError
from mst.reporting.charts.style import setup

Task = Callable[[], Any]
Run = Callable[[Sequence[Task]], list[Any]]

_SELDOM = 50_000, 20, 50  # thresholds of `gc`
MOST = 4  # most processes at once; each takes some 200 MB


@contextmanager
def rare_collections() -> Iterator[None]:
    """Look for garbage seldom: a tenth of a page's time went to looking at records and modules, which are none."""
    before = gc.get_threshold()
    gc.set_threshold(*_SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def one_by_one(tasks: Sequence[Task]) -> list[Any]:
    """Return the results of the tasks, in their order, drawn by this process."""
    setup()
    return list(map(call, tasks))


@contextmanager
def workers(cores: int) -> Iterator[Run]:
    """Yield a function like `one_by_one` that draws on as many processes as there are cores, up to `MOST`.

    A process that ends early, as one that runs out of memory does, raises `MSTError`.
    """
    count = min(cores, MOST)
    if count < 2:
        yield one_by_one
        return
    # A fork would copy locks that other threads of this process hold.
    with ProcessPoolExecutor(count, get_context("spawn"), initializer=_begin) as pool:
        try:
            yield lambda tasks: list(pool.map(call, tasks))
        except BrokenProcessPool:
            raise MSTError("a process that draws figures ended early: it may have run out of memory") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _begin() -> None:
    gc.set_threshold(*_SELDOM)
    # An interrupt is for the process that waits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    setup()
