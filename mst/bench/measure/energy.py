"""Energy of a piece of work, where the hardware lets it be read: RAPL for processors, NVML for GPUs.

Both count the energy of the whole package or board, idle power and other programs included. Where nothing can
be read (no counter, no permission, a virtual machine) the answer is None and nothing else changes.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

POWERCAP = Path("/sys/class/powercap")
# No package or board draws more for long. A counter that could have gone round more than once since the last
# reading under this power says nothing.
MAXIMUM_WATTS = 1000.0


class Counter(Protocol):
    """Something that counts energy upwards and starts again at zero behind its range."""

    @property
    def name(self) -> str:
        """Return the domain's name."""

    @property
    def range_joules(self) -> float:
        """Return how far it counts."""

    def read(self) -> float | None:
        """Return the count in joules, or None when it cannot be read."""


@dataclass(frozen=True)
class RaplCounter:
    """One RAPL domain of the kernel's powercap tree."""

    name: str
    file: Path
    range_joules: float

    def read(self) -> float | None:
        """Return the count in joules, or None when it cannot be read."""
        value = _number(self.file)
        return None if value is None else value / 1e6


@dataclass(frozen=True)
class NvmlCounter:
    """One GPU's total energy since its driver was loaded; `library` is NVML, initialised."""

    name: str
    library: Any
    device: Any
    range_joules: float = 2.0**64 / 1e3

    def read(self) -> float | None:
        """Return the count in joules, or None when this GPU does not tell."""
        millijoules = ctypes.c_ulonglong()
        failed = self.library.nvmlDeviceGetTotalEnergyConsumption(self.device, ctypes.byref(millijoules))
        return None if failed else millijoules.value / 1e3


@dataclass
class Energy:
    """What a block of code used; filled in by `measure_energy`.

    Attributes
    ----------
    joules : float or None
        Sum over the domains, None when none could be read from beginning to end.
    domains : dict of str to float
        Joules by domain: ``package-0``, ``dram-0``, ``gpu-0``, …
    seconds : float
        How long the block took.
    """

    joules: float | None = None
    domains: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any] | None:
        """Return the reading for a measurement, None where there is none."""
        if self.joules is None:
            return None
        return {"joules": self.joules, "domains": self.domains, "seconds": self.seconds}


@contextmanager
def measure_energy(counters: Iterable[Counter] | None = None) -> Iterator[Energy]:
    """Measure the energy of the block.

    Parameters
    ----------
    counters : iterable of Counter, optional
        What to read; by default every counter of this host (see `counters_here`).

    Yields
    ------
    Energy
        Complete once the block has ended.

    Examples
    --------
    >>> from mst.bench.measure.energy import measure_energy
    >>> with measure_energy(counters=[]) as energy:
    ...     _ = sum(range(1000))
    >>> energy.joules is None
    True
    """
    chosen = list(counters_here() if counters is None else counters)
    energy = Energy()
    before = [counter.read() for counter in chosen]
    start = time.monotonic()
    try:
        yield energy
    finally:
        after = [counter.read() for counter in chosen]
        energy.seconds = time.monotonic() - start
        for counter, first, last in zip(chosen, before, after, strict=True):
            used = _used(counter, first, last, energy.seconds)
            if used is not None:
                energy.domains[counter.name] = used
        if energy.domains:
            energy.joules = sum(energy.domains.values())


def counters_here() -> list[Counter]:
    """Return every counter that can be read on this host."""
    return [*rapl_counters(), *nvml_counters()]


def rapl_counters(root: Path = POWERCAP) -> list[Counter]:
    """Return the RAPL domains below `root` that do not overlap: packages, and memory where it is apart.

    A package contains its ``core`` and ``uncore``; ``psys`` contains the packages; ``dram`` is its own.
    """
    found: list[Counter] = []
    for zone in sorted(Path(root).glob("*-rapl:*")):
        name = _text(zone / "name")
        socket = zone.name.split(":")[1] if ":" in zone.name else ""
        top = zone.name.count(":") == 1
        if not (top and name.startswith("package")) and name != "dram":
            continue
        span = _number(zone / "max_energy_range_uj")
        label = name if top else f"{name}-{socket}"
        counter = RaplCounter(label, zone / "energy_uj", (span or 0.0) / 1e6)
        if span and counter.read() is not None and label not in {c.name for c in found}:
            found.append(counter)
    return found


def nvml_counters(library: Any = None, environment: Mapping[str, str] = os.environ) -> list[Counter]:
    """Return the GPUs that this process may use and that count energy (Volta and later)."""
    library = library or _load_nvml()
    if library is None or library.nvmlInit_v2():
        return []
    found: list[Counter] = []
    for name, device in _devices(library, environment.get("CUDA_VISIBLE_DEVICES")):
        counter = NvmlCounter(name, library, device)
        if counter.read() is not None:
            found.append(counter)
    return found


def _devices(library: Any, visible: str | None) -> Iterator[tuple[str, ctypes.c_void_p]]:
    """Yield name and handle of each visible GPU, in the numbering of the PCI bus."""
    if visible is None:
        count = ctypes.c_uint()
        if library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return
        chosen = [str(index) for index in range(count.value)]
    else:
        chosen = [part.strip() for part in visible.split(",") if part.strip()]
    for part in chosen:
        device = ctypes.c_void_p()
        if part.isdigit():
            failed = library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(part)), ctypes.byref(device))
        else:
            failed = library.nvmlDeviceGetHandleByUUID(part.encode(), ctypes.byref(device))
        if failed:
            return
        yield f"gpu-{part}", device


def _load_nvml() -> Any:
    try:
        return ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None


def _used(counter: Counter, first: float | None, last: float | None, seconds: float) -> float | None:
    """Joules between two readings, over at most one wrap; None where more are possible."""
    if first is None or last is None or seconds * MAXIMUM_WATTS >= counter.range_joules:
        return None
    return last - first if last >= first else last - first + counter.range_joules


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _number(file: Path) -> float | None:
    try:
        return float(file.read_text())
    except (OSError, ValueError):
        return None
