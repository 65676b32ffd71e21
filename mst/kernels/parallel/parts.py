"""Compiled functions that release the GIL, called for parts of a range by a pool of Python threads.

A call takes about ten microseconds per thread, ten times as long as by `mst.kernels.parallel.launch`. But threads run
the same functions as a single thread does, so none is compiled twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from mst.kernels.parallel.pool import Pool

_PARTS_EACH = 8


class Parts(NamedTuple):
    """Threads that share ranges; from `by_threads`.

    Attributes
    ----------
    width : int
        Threads.
    smallest : int
        Minimum length of a part, unless there is only one.
    pool : Pool or None
        None for a single thread, which is the caller's.
    """

    width: int
    smallest: int
    pool: Pool | None

    def __call__(self, size: int, function: Callable[[int, int], Any]) -> list:
        """Call ``function(first, last)`` for each part of ``0 … size - 1``; return the results in order."""
        number = min(_PARTS_EACH * self.width, size // self.smallest)
        if number <= 1 or self.pool is None:
            return [function(0, size)]
        results, places = [None] * number, count()  # a call of `next` is never interrupted by another

        def work() -> None:
            while (place := next(places)) < number:
                results[place] = function(size * place // number, size * (place + 1) // number)

        for done in [self.pool.submit(work) for _ in range(min(self.width, number))]:
            done.result()
        return results

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an uninitialised array that threads may write side by side."""
        if self.pool is None:
            return np.empty(shape, dtype)
        from mst.kernels.parallel.runtime import new_tallies, touched_empty

        return touched_empty(shape, dtype, self.width, new_tallies(self.width))


@contextmanager
def by_threads(width: int, smallest: int = 1024) -> Iterator[Parts]:
    """Yield `Parts` shared by `width` threads; within the context, parallel kernels run in as many threads, too.

    Examples
    --------
    >>> from mst.kernels.parallel.parts import by_threads
    >>> with by_threads(1) as parts:
    ...     parts(100_000, lambda first, last: last - first)
    [100000]
    """
    if width == 1:
        yield Parts(1, smallest, None)
        return
    from mst.kernels.parallel.runtime import workers

    with Pool(width) as pool, workers(width):
        yield Parts(width, smallest, pool)
