"""Algorithms of the cluster tests: Kruskal's forest, and what the scheduler gave to the run."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = '''"""Kruskal's forest, and what a run was given."""

import json
import os
import shlex
import subprocess
import sys
import time

from mst.algorithms.sequential import kruskal

RANKS = """
import json, os
from mpi4py import MPI
nodes = MPI.COMM_WORLD.gather(os.environ["SLURMD_NODENAME"])
if nodes is not None:
    print(json.dumps(sorted(nodes)))
"""

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
    if ALGORITHM["paradigm"] == "mpi":
        # One rank needs no launcher.
        launcher = shlex.split(os.environ.get("MST_MPIEXEC", ""))
        start = [*launcher, "-n", str(problem[1])] if launcher else []
        command = [*start, sys.executable, "-c", RANKS]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        found["ranks"] = json.loads(done.stdout) if done.returncode == 0 else done.stderr
    return found
'''


def write_probe(folder: Path, name: str, paradigm: str, action: str = "pass") -> None:
    """Write an algorithm that does `action` on every solve."""
    folder.mkdir(exist_ok=True)
    text = TEMPLATE.format(id=name, paradigm=paradigm, action=action)
    (folder / f"{name.replace('-', '_')}.py").write_text(text)
