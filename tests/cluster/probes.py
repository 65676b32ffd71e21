"""Algorithms of the cluster tests: Kruskal's forest, and the resources that the scheduler gave to the run."""

from __future__ import annotations

from pathlib import Path

from workflow_clone import PROBE

RANKS = '''"""Borůvka with all-reduce, after doing something on every rank."""

import os
import time

from mst.algorithms.mpi import allreduce_boruvka as wrapped

ALGORITHM = dict(id="{id}", paradigm="mpi", title="{id}", input="edges", requires=("numba", "mpi4py"))

collect = wrapped.collect


def prepare(part, *, comm):
    return wrapped.prepare(part, comm=comm, rounds="listing")


def solve(problem):
    {action}
    return wrapped.solve(problem)
'''


def write_probe(folder: Path, name: str, paradigm: str, action: str = "pass") -> None:
    """Write an algorithm that runs `action` on every solve."""
    folder.mkdir(exist_ok=True)
    text = (RANKS if paradigm == "mpi" else PROBE).format(id=name, paradigm=paradigm, action=action)
    (folder / f"{name.replace('-', '_')}.py").write_text(text)
