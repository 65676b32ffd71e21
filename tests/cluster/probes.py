"""Algorithms of the cluster tests: Kruskal's forest, and the resources that the scheduler gave to the run."""

from __future__ import annotations

from pathlib import Path

TEMPLATE = '''"""Kruskal's forest, and the resources that the run was given."""

import os
import time

from mst.algorithms.sequential import kruskal

ALGORITHM = dict(id="{id}", paradigm="{paradigm}", title="{id}")


def prepare(graph, *, width):
    return kruskal.prepare(graph, width=1, sort="radix")


def solve(problem):
    {action}
    return kruskal.solve(problem)


def collect(problem, result):
    return kruskal.collect(problem, result)


def counters(problem, result):
    return dict(
        devices=os.environ.get("CUDA_VISIBLE_DEVICES"),
        node=os.environ.get("SLURMD_NODENAME"),
        processors=len(os.sched_getaffinity(0)),
    )
'''


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
    text = (RANKS if paradigm == "mpi" else TEMPLATE).format(id=name, paradigm=paradigm, action=action)
    (folder / f"{name.replace('-', '_')}.py").write_text(text)
