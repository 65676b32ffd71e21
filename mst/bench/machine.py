"""The machine that a run is measured on: its fingerprint, and its conditions at the moment."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import socket
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from mst.bench.output import output_of
from mst.limits import free_memory

_PROCESSORS = Path("/sys/devices/system/cpu")


@dataclass(frozen=True)
class Hardware:
    """Hardware facts of the whole host that identify a machine; equal facts mean the same machine.

    The model of its processor, numbers as the kernel counts them, installed memory, CUDA devices by name, and the
    version of the NVIDIA driver.
    """

    cpu: str
    sockets: int
    cores: int
    hardware_threads: int
    memory_gib: int
    gpus: tuple[str, ...] = ()
    driver: str | None = None

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits over all facts."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]

    def as_dict(self) -> dict[str, Any]:
        """Return the facts and the fingerprint, ready for JSON."""
        return {**asdict(self), "gpus": list(self.gpus), "fingerprint": self.fingerprint}


@cache
def this_machine() -> Hardware:
    """Return the facts of the host that this process runs on."""
    gpus, driver = _gpus()
    return Hardware(
        cpu=_cpu_model(),
        sockets=_topology("physical_package_id"),
        cores=_topology("physical_package_id", "core_id"),
        hardware_threads=os.cpu_count() or 1,
        memory_gib=round(psutil.virtual_memory().total / 2**30),
        gpus=gpus,
        driver=driver,
    )


def cores_first(cpus: Iterable[int], topology: Path = _PROCESSORS) -> list[int]:
    """Return processors in the order a run takes them: one hardware thread of every core before a second.

    Interrupts prefer the first processors, so the last ones come first. The kernel's folder `topology` lists the
    processors that share a core.

    >>> cores_first([0, 1, 2, 3], topology=Path("/nowhere"))
    [3, 2, 1, 0]
    """
    taken: Counter[str] = Counter()
    ranked = []
    for cpu in sorted(cpus, reverse=True):
        folder = topology / f"cpu{cpu}" / "topology"
        # Kernels before 5.3 have the second name only.
        siblings = first_line(folder / "core_cpus_list") or first_line(folder / "thread_siblings_list")
        core = siblings or str(cpu)
        ranked.append((taken[core], -cpu))
        taken[core] += 1
    return [-negative for _, negative in sorted(ranked)]


def host_name() -> str:
    """Return this host's name as a path component: letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", socket.gethostname().split(".")[0]).strip("-") or "host"


def conditions() -> dict[str, Any]:
    """Return the momentary state of this host: load, frequency governor, affinity, clock, throttling counts."""
    job, clock = os.environ.get("SLURM_JOB_ID"), psutil.cpu_freq()
    counts = _PROCESSORS.glob("cpu[0-9]*/thermal_throttle/core_throttle_count")
    throttled = [int(line) for file in counts if (line := first_line(file))]
    # Tasks that can run at this instant, this one included: the load average lags by a minute.
    running = re.search(r" (\d+)/\d+ ", _read("/proc/loadavg"))
    return {
        "host": socket.gethostname(),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 2),
        "running": int(running[1]) if running else 0,
        "affinity": sorted(os.sched_getaffinity(0)),
        "governor": first_line(_PROCESSORS / "cpu0/cpufreq/scaling_governor"),
        "mhz": round(clock.current, 1) if clock else None,
        "throttled": sum(throttled) if throttled else None,
        "memory_available_bytes": free_memory(),
        "scheduled": {"job": job, "node": os.environ.get("SLURMD_NODENAME")} if job else None,
    }


def _cpu_model() -> str:
    found = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", _read("/proc/cpuinfo"), re.MULTILINE)
    return re.sub(r"\s+", " ", found.group(1)).strip() if found else platform.machine()


def _topology(*keys: str) -> int:
    cpus = _PROCESSORS.glob("cpu[0-9]*")
    seen = {tuple(first_line(cpu / "topology" / key) for key in keys) for cpu in cpus}
    return len(seen) or 1


def _gpus() -> tuple[tuple[str, ...], str | None]:
    if not Path("/dev/nvidiactl").exists():
        return (), None
    out = output_of(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], check=True)
    rows = [line.rsplit(",", 1) for line in out.splitlines() if "," in line]
    return tuple(name.strip() for name, _ in rows), rows[0][1].strip() if rows else None


def _read(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def first_line(path: str | Path) -> str | None:
    """Return the first line of a file, or None if empty or unreadable."""
    return _read(path).split("\n", 1)[0].strip() or None
