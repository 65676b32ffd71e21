"""Energy used by a block of code, where the hardware reports it: RAPL for processors, NVML for GPUs.

Both count the energy of the whole package or board, including idle power and other programs. If nothing can
be read (no counter, no permission, no nvidia-ml-py, a virtual machine) the result is None and nothing else changes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from mst.bench.machine import first_line

POWERCAP = Path("/sys/class/powercap")
MAXIMUM_WATTS = 1000.0
"""No package or board draws more for long. A counter whose whole range could pass at this power is not used."""


class Counter(NamedTuple):
    """Counts the energy of a domain upwards, in joules, and wraps around to zero at the end of its range.

    `read` returns None if it cannot be read.
    """

    name: str
    read: Callable[[], float | None]
    range_joules: float


@contextmanager
def measure_energy(counters: Iterable[Counter] | None = None) -> Iterator[dict[str, float]]:
    """Measure the block's joules with these counters, or all of this host's.

    They are counted by domain (``package-0``, ``dram-0``, ``gpu-0``, …), and complete once the block has ended; domains
    that could not be read throughout are omitted.

    >>> with measure_energy(counters=[]) as joules:
    ...     _ = sum(range(1000))
    >>> joules
    {}
    """
    chosen = [*rapl_counters(), *nvml_counters()] if counters is None else list(counters)
    joules: dict[str, float] = {}
    before = [counter.read() for counter in chosen]
    start = time.monotonic()
    try:
        yield joules
    finally:
        after = [counter.read() for counter in chosen]
        seconds = time.monotonic() - start
        for counter, first, last in zip(chosen, before, after, strict=True):
            unambiguous = seconds * MAXIMUM_WATTS < counter.range_joules
            if first is not None and last is not None and unambiguous:
                joules[counter.name] = last - first + (counter.range_joules if last < first else 0.0)


def per_solve(joules: Mapping[str, float] | None, solves: int) -> dict[str, Any] | None:
    """Return the joules of one of `solves` solves, in total and by domain; None if nothing was read."""
    if not joules:
        return None
    domains = {name: used / solves for name, used in joules.items()}
    return {"joules": sum(joules.values()) / solves, "domains": domains}


def rapl_counters(root: Path = POWERCAP) -> list[Counter]:
    """Return the non-overlapping RAPL domains below `root`: packages, and memory if it is separate.

    A package contains its ``core`` and ``uncore``; ``psys`` contains the packages; ``dram`` is separate.
    """
    found: dict[str, Counter] = {}
    for zone in sorted(root.glob("*-rapl:*")):
        name = first_line(zone / "name") or ""
        _, socket, *inner = zone.name.split(":")
        if name == "dram" or (name.startswith("package") and not inner):
            label = f"{name}-{socket}" if inner else name
            counter = Counter(
                label, partial(_joules, zone / "energy_uj"), _joules(zone / "max_energy_range_uj") or 0.0
            )
            if counter.range_joules and counter.read() is not None:
                found.setdefault(label, counter)
    return list(found.values())


def nvml_counters(environment: Mapping[str, str] = os.environ) -> list[Counter]:
    """Return the GPUs this process may use that count energy (Volta and later)."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:  # not installed, or no driver: NVML has an error for each
        return []

    def joules(device: Any) -> float | None:
        with suppress(pynvml.NVMLError):
            return pynvml.nvmlDeviceGetTotalEnergyConsumption(device) / 1e3
        return None

    found: list[Counter] = []
    with suppress(pynvml.NVMLError):
        visible = environment.get("CUDA_VISIBLE_DEVICES")
        every = ",".join(map(str, range(pynvml.nvmlDeviceGetCount())))
        # CUDA uses the devices before the first it cannot find.
        for name in filter(None, map(str.strip, (every if visible is None else visible).split(","))):
            by_index = pynvml.nvmlDeviceGetHandleByIndex
            device = by_index(int(name)) if name.isdecimal() else pynvml.nvmlDeviceGetHandleByUUID(name)
            counter = Counter(f"gpu-{name}", partial(joules, device), 2.0**64 / 1e3)
            if counter.read() is not None:
                found.append(counter)
    return found


def _joules(file: Path) -> float | None:
    """Return a count of microjoules, or None if it cannot be read."""
    with suppress(OSError, ValueError):
        return float(file.read_text()) / 1e6
    return None
