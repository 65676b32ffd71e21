"""Algorithms of the cluster tests: Kruskal's forest, and what the scheduler gave to the run."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = '''"""Kruskal's forest, and what a run was given."""

import os
import shlex
import subprocess
import time

from mst.algorithms.sequential import kruskal

ALGORITHM = dict(id="{id}", paradigm="{paradigm}", title="{id}")


def prepare(graph, *, width):
    return kruskal.prepare(graph, width=1, sort="radix"), width


def solve(problem):
    {action}
    return kruskal.solve(problem[0])


def collect(problem, result):
    return kruskal.collect(problem[0], result)


def counters(problem, result):
    found = dict(
        devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        node=os.environ.get("SLURMD_NODENAME"),
        processors=len(os.sched_getaffinity(0)),
    )
    if launcher := os.environ.get("MST_MPIEXEC"):
        command = [*shlex.split(launcher), "-n", str(problem[1]), "printenv", "SLURMD_NODENAME"]
        found["ranks"] = sorted(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    return found
'''


def write_probe(folder: Path, name: str, paradigm: str, action: str = "pass") -> None:
    """Write an algorithm that does `action` on every solve."""
    folder.mkdir(exist_ok=True)
    text = TEMPLATE.format(id=name, paradigm=paradigm, action=action)
    (folder / f"{name.replace('-', '_')}.py").write_text(text)
