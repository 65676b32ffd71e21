"""The problem, the result and the functions that ports of published GPU programs have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mst.algorithms.cuda.device import memory
from mst.algorithms.cuda.device.launch import Device, Program
from mst.errors import UnsupportedError

if TYPE_CHECKING:
    from mst.algorithms.cuda.device.graph import DeviceGraph
    from mst.graph import Graph


@dataclass(eq=False)
class Problem:
    """A graph in the form from which `solve` starts; `transfer` adds the device that holds it.

    Attributes
    ----------
    n, m : int
        Vertices and edges.
    key_bits : int
        32 or 64.
    options : dict
        The algorithm's options.
    inputs : dict of str to array
        The kernels' inputs, on host or device like the graph.
    device : Device
        None before `transfer`.
    """

    n: int
    m: int
    key_bits: int
    options: dict[str, Any]
    inputs: dict[str, Any]
    device: Any = None

    @property
    def slots(self) -> int:
        """Number of slots of the rows: two per edge, none for self-loops."""
        return len(self.inputs["neighbours"]) if "neighbours" in self.inputs else 0


@dataclass(eq=False)
class Result:
    """A byte per edge on the device, 1 for forest edges, and the host's counters."""

    chosen: Any
    counters: dict[str, Any] = field(default_factory=dict)


def problem_of(
    graph: Graph | DeviceGraph, keys: Any, inputs: dict[str, Any], options: dict[str, Any]
) -> Problem:
    """Return the problem of a graph, with its keys and kernel inputs."""
    return Problem(graph.n, graph.m, keys.dtype.itemsize * 8, options, inputs)


def purpose(name: str, problem: Problem) -> str:
    """Return the purpose of an allocation, for messages."""
    return f"{name} of n = {problem.n:,}, m = {problem.m:,}"


def on_device(name: str, problem: Problem, program: Program, layout: memory.Layout) -> Problem:
    """Return the problem with its inputs and workspace in device memory; most ports' `transfer` calls this."""
    arrays = memory.in_device_memory(layout, problem.inputs, purpose(name, problem))
    problem.device = Device(program, arrays)
    return problem


def collect(problem: Problem, result: Result) -> np.ndarray:
    """Return the edge ids of the forest on the host, ascending (int64)."""
    return edge_ids(result).get()


def edge_ids(result: Result) -> Any:
    """Return the edge ids of the forest on the device, ascending (int64)."""
    import cupy

    return cupy.flatnonzero(result.chosen)


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    """Return the counters of the solve."""
    return result.counters


def device_bytes(problem: Problem) -> int:
    """Return the bytes of inputs and workspace."""
    return sum(array.nbytes for array in problem.device.arrays.values())


def refuse_unconnected(name: str) -> None:
    """Raise `UnsupportedError` for an algorithm that needs a connected graph and found a component without edges."""
    raise UnsupportedError(f"{name} does not take this graph: it is not connected; use another algorithm")
