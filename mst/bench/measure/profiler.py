"""Metrics of a GPU algorithm's kernels, read by Nsight Compute in a separate process."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mst import registry
from mst.bench.measure.messages import RunSpec
from mst.bench.measure.processes import module_command
from mst.bench.output import output_of
from mst.execute import Implementation, implementation_of
from mst.formats.canonical import read_canonical

OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
_SECONDS = 120
Launch = tuple[str, str, float]  # kernel, metric and value


def read_profile(program: Sequence[str], metrics: Sequence[str]) -> list[Launch]:
    """Return the metrics ncu reads from a program that starts the profiler.

    Clocks are left alone. If it reads none, the reason is printed.
    """
    if shutil.which("ncu") is None:
        print("ncu is not installed")
        return []
    command = ["ncu", "--clock-control", "none", "--profile-from-start", "off", "--csv"]
    command += ["--metrics", ",".join(metrics), *program]
    text = output_of(command, timeout=_SECONDS, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    if not (launches := list(parse_ncu(text))):
        print(f"ncu read nothing within {_SECONDS} s: {text[-400:]}")
    return launches


def parse_ncu(text: str) -> Iterator[Launch]:
    """Yield (kernel, metric, value) from the output of ``ncu --csv``.

    >>> text = 'noise\\n"ID","Kernel Name","Metric Name","Metric Value"\\n"0","unite(Edge)","x.y","1,234.5"\\n'
    >>> list(parse_ncu(text))
    [('unite', 'x.y', 1234.5)]
    """
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        with suppress(TypeError, ValueError, AttributeError):
            if math.isfinite(value := float(row["Metric Value"].replace(",", ""))):
                yield row["Kernel Name"].split("(")[0], row["Metric Name"], value


def achieved_occupancy(launches: Iterable[Launch]) -> dict[str, list[float]]:
    """Return the share of the card's warps that were active, by kernel, one value per launch.

    >>> achieved_occupancy([("unite", OCCUPANCY, 50.0), ("unite", OCCUPANCY, 25.0)])
    {'achieved_occupancy_unite': [0.5, 0.25]}
    """
    found: dict[str, list[float]] = {}
    for kernel, metric, value in launches:
        if metric == OCCUPANCY:
            found.setdefault(f"achieved_occupancy_{kernel}", []).append(value / 100)
    return found


def profiled_counters(implementation: Implementation, spec: RunSpec) -> dict[str, Any]:
    """Return the counters an algorithm derives from its profile; none if nothing could be read.

    An implementation that defines neither `metrics` nor `profiled` gets `achieved_occupancy`.
    """
    metrics = implementation.metrics or (OCCUPANCY,)
    launches = read_profile(module_command("mst.bench.measure.profiler", json.dumps(asdict(spec))), metrics)
    return (implementation.profiled or achieved_occupancy)(launches) if launches else {}


def main(text: str) -> None:
    """Solve a run's problem to warm up, then once with the profiler on."""
    import cupy

    spec = RunSpec(**json.loads(text))
    implementation = implementation_of(registry.get(spec.algorithm))
    problem = implementation.ready(read_canonical(Path(spec.graph_file)), options=spec.options).problem
    implementation.solve(problem)
    cupy.cuda.runtime.profilerStart()
    implementation.solve(problem)
    cupy.cuda.runtime.profilerStop()


if __name__ == "__main__":
    main(*sys.argv[1:])
