"""Compiled functions that release Python's lock, called for parts of a range by a pool of Python's threads.

A call takes some ten microseconds for each thread where those of `mst.kernels.parallel.launch` take one, but the
functions are those that one thread calls: none is compiled a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

_PARTS_EACH = 8

Parts = Callable[[int, Callable[[int, int], Any]], list]
"""Calls a function for ``first, last`` of each part of ``0 … size - 1``; returns its results in their order."""


def at_once(size: int, function: Callable[[int, int], Any]) -> list:
    """Call a function for all of ``0 … size - 1`` as one part: `Parts` of a single thread."""
    return [function(0, size)]


@contextmanager
def by_threads(width: int, smallest: int = 1024) -> Iterator[Parts]:
    """Give `Parts` that `width` threads share; each is at least `smallest` long, unless there is only one.

    Examples
    --------
    >>> from mst.kernels.parallel.parts import by_threads
    >>> with by_threads(2) as parts:
    ...     sum(parts(100_000, lambda first, last: last - first))
    100000
    """
    if width == 1:
        yield at_once
        return
    with ThreadPoolExecutor(width, "mst works") as pool:

        def parts(size: int, function: Callable[[int, int], Any]) -> list:
            number = min(_PARTS_EACH * width, size // smallest)
            if number <= 1:
                return at_once(size, function)
            results, places = [None] * number, count()  # one call of `next` is never interrupted by another

            def work() -> None:
                while (place := next(places)) < number:
                    results[place] = function(size * place // number, size * (place + 1) // number)

            for done in [pool.submit(work) for _ in range(min(width, number))]:
                done.result()
            return results

        yield parts
