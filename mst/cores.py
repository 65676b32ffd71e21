"""The number of cores that a call may use."""

from __future__ import annotations

import math
import operator
import os
import sys

from mst.errors import ConfigError, InputError, UnsupportedError
from mst.limits import processor_quota

MANY = 1 << 18
"""Shorter columns are checked and added up by one thread, since waking others would take as long."""


def cores_for(threads: int | None) -> int:
    """Return how many cores a call may use: `threads`, or by default `usable_width`.

    Raises
    ------
    InputError, UnsupportedError
        `threads` is not a whole number of at least 1, or above the number of usable cores.

    Examples
    --------
    >>> from mst.cores import cores_for
    >>> cores_for(1)
    1
    """
    whole = whole_threads(threads)
    check_cores(whole or 1)
    return whole or usable_width()


def usable_cores() -> int:
    """Return how many processors this process may run on, by its affinity and cgroup masks."""
    return len(os.sched_getaffinity(0))


def granted_cores() -> int:
    """Return how many of these processors this process can keep busy, given the CPU quota of its control groups."""
    return math.ceil(min(usable_cores(), processor_quota()))


def usable_width() -> int:
    """Return how many cores parallel kernels may use: one, if this process was forked after several were used."""
    return 1 if _forked_after_use() else _launched(granted_cores())


def useful_width(width: int, edges: int) -> int:
    """Return how many of `width` threads to use for a graph.

    These are up to 16; up to 32 if each gets 50,000 edges; and more if each gets 250,000. Below a million edges, 32
    threads took 1.1 to 1.5 times as long as 16, and 64 with 131,000 edges each took 1.3 times as long as 32
    (``many-cores.md``, steps 75 and 77).

    Examples
    --------
    >>> from mst.cores import useful_width
    >>> [useful_width(128, edges) for edges in (200_000, 1_000_000, 3_000_000, 10_000_000)]
    [16, 20, 32, 40]
    """
    return min(width, max(16, min(32, edges // 50_000), edges // 250_000))


def named_threads() -> int | None:
    """Return the number of threads in ``$NUMBA_NUM_THREADS``, or None; raise `ConfigError` if it is not a number."""
    named = os.environ.get("NUMBA_NUM_THREADS")
    if named is None:
        return None
    if not (named.strip().isdecimal() and int(named)):
        raise ConfigError(
            f"NUMBA_NUM_THREADS={named!r} is not a number of threads: set it to 1 or more, or unset it"
        )
    return int(named)


def whole_threads(threads: int | None) -> int | None:
    """Return `threads` as an int, or None; raise `InputError` if it is not a whole number of at least 1."""
    try:
        whole = None if threads is None else operator.index(threads)
    except TypeError:
        raise InputError(f"threads must be a whole number, got {threads!r}") from None
    if whole is not None and whole < 1:
        raise InputError(f"threads must be at least 1, got {whole}")
    return whole


def check_cores(width: int) -> None:
    """Raise `UnsupportedError` if `width` is above the number of usable cores, or a forked process cannot use it."""
    if width == 1:
        return
    if _forked_after_use():
        raise UnsupportedError(
            "this process was forked from one that has run threads: use threads=1, or start it by spawn"
        )
    cores = usable_cores()
    if width > (launched := _launched(cores)):
        limit = f"the {cores} usable cores" if launched == cores else f"NUMBA_NUM_THREADS={launched}"
        raise UnsupportedError(f"threads={width} is above {limit}: use fewer, or leave it out")


def _launched(cores: int) -> int:
    """Return how many threads numba launches, or will launch, on `cores`."""
    return min(
        cores, getattr(sys.modules.get("numba.core.config"), "NUMBA_NUM_THREADS", 0) or named_threads() or cores
    )


def _forked_after_use() -> bool:
    # Another thread may be loading the module.
    asked = getattr(sys.modules.get("mst.kernels.primitives.forks"), "forked_after_use", None)
    return asked is not None and asked()
