"""Figures drawn by several processes at once: matplotlib takes some 0.2 s for each, and pages have over a hundred."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import call
from typing import Any

from mst.reporting.charts.style import setup
from mst.reporting.processes import MOST, processes

Task = Callable[[], Any]
Run = Callable[[Sequence[Task]], list[Any]]

_SELDOM = 50_000, 20, 50  # thresholds of `gc`


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
    """Yield a function like `one_by_one` that draws on as many processes as there are cores, up to `MOST`."""
    count = min(cores, MOST)
    if count < 2:
        yield one_by_one
        return
    with processes(count, "draws figures", _begin) as pool:
        yield lambda tasks: list(pool.map(call, tasks))


def _begin() -> None:
    gc.set_threshold(*_SELDOM)
    setup()
