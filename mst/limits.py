"""Processor time and memory that control groups, as in containers and cluster jobs, grant to this process.

Both versions of control groups are read: https://docs.kernel.org/admin-guide/cgroup-v2.html.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_GROUPS, _MOUNTED = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_MEMORY = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


@cache
def processor_quota() -> float:
    """Return how many processors this process may keep busy, by the quota of its control groups, or infinity.

    A container with a quota of two processors (``docker run --cpus 2``) sees all processors of its host; but more than
    two threads that wait for each other use up the quota, and are then halted together.
    """
    return min(map(_quota_of, _groups("cpu")), default=math.inf)


def free_memory() -> int:
    """Return the bytes of memory that this process may still take before the kernel ends it."""
    import psutil

    return int(min([psutil.virtual_memory().available, *map(_free_in, _groups("memory"))]))


def most_memory() -> int:
    """Return the bytes of memory that this process may hold: the machine's, or what its control groups allow."""
    import psutil

    return int(min([psutil.virtual_memory().total, *map(_limit_of, _groups("memory"))]))


def _groups(controller: str) -> Iterator[Path]:
    """Yield the folders of this process's control groups that may limit what a controller grants."""
    with suppress(OSError):
        for line in _GROUPS.read_text().splitlines():
            _, controllers, group = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            # Groups further up limit their members, too. In a container, only the root of its own group may be mounted.
            top = _MOUNTED / controller if controllers else _MOUNTED
            inside = top / group.lstrip("/")
            yield from (folder for folder in (inside, *inside.parents) if folder.is_relative_to(top))


def _quota_of(group: Path) -> float:
    with suppress(OSError):  # version 2, whose topmost group has no such file
        quota, period = (group / "cpu.max").read_text().split()
        return math.inf if quota == "max" else int(quota) / int(period)
    with suppress(OSError):
        quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 else math.inf
    return math.inf


def _limit_of(group: Path) -> float:
    for limit, _, _ in _MEMORY:
        with suppress(OSError, ValueError):  # a limit may be "max"
            return int((group / limit).read_text())
    return math.inf


def _free_in(group: Path) -> float:
    for limit, used, cached in _MEMORY:
        with suppress(OSError, ValueError):
            bytes_left = int((group / limit).read_text()) - int((group / used).read_text())
            statistics = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            return max(bytes_left + int(statistics[cached]), 0)
    return math.inf
