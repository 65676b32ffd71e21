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


def write_probe(folder: Path, name: str, paradigm: str, action: str = "pass") -> None:
    """Write an algorithm that runs `action` on every solve."""
    folder.mkdir(exist_ok=True)
    text = TEMPLATE.format(id=name, paradigm=paradigm, action=action)
    (folder / f"{name.replace('-', '_')}.py").write_text(text)
