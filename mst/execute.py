"""Runs an algorithm on a graph: prepare, transfer, solve, collect, by the contract of `mst.registry`.

Only this module checks which of the contract's optional functions an algorithm has. All others call `execute`, or the
stages of an `Implementation` if each is to be timed or repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from mst.errors import ConfigError, UnsupportedError
from mst.facts import Facts
from mst.registry import Algorithm

Timed = Callable[..., tuple[Any, float]]
"""A function such as `timed`."""


def timed(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Call a function with the given arguments; return its value and the seconds of the call.

    Examples
    --------
    >>> timed(max, 3, 5)[0]
    5
    """
    started = perf_counter()
    value = function(*args, **kwargs)
    return value, perf_counter() - started


def _no_counters(problem: Any, result: Any) -> dict[str, Any]:
    return {}


def _unknown_bytes(problem: Any) -> int | None:
    return None


class Ready(NamedTuple):
    """A problem to solve, and the seconds of the stages before; `transfer` is None if nothing is transferred."""

    problem: Any
    init: float
    transfer: float | None


@dataclass(frozen=True)
class Implementation:
    """The functions of an algorithm, with defaults for optional ones; `mst.registry` documents their contract.

    Attributes
    ----------
    id : str
        Id of the algorithm.
    prepare, transfer, solve, collect : callable
        The stages, as the algorithm defines them; `transfer` is None if nothing is copied to a device.
    timed_solve : callable
        Solves; returns the result and the seconds, by the clock that counts for the algorithm.
    weight : callable or None
        Returns the total as text, for algorithms whose `collect` may return None.
    counters : callable
        Returns the counters; by default, there are none.
    phases : callable or None
        Returns the seconds by phase of an instrumented solve.
    printed_phases : callable
        Returns the seconds by phase that a program prints in every solve; by default, there are none.
    edge_ids : callable or None
        Returns the edge ids on the device.
    device_bytes : callable
        Returns the bytes that a solve uses on the device, or None if they are unknown.
    metrics : sequence of str
        Metrics of NVIDIA's profiler that `profiled` needs.
    profiled : callable or None
        Computes counters from the profiler's measurements.
    """

    id: str
    prepare: Callable[..., Any]
    transfer: Callable[[Any], Any] | None
    solve: Callable[[Any], Any]
    collect: Callable[[Any, Any], np.ndarray | None]
    timed_solve: Callable[[Any], tuple[Any, float]]
    weight: Callable[[Any, Any], str] | None
    counters: Callable[[Any, Any], dict[str, Any]]
    phases: Callable[[Any], dict[str, float]] | None
    printed_phases: Callable[[Any, Any], dict[str, float]]
    edge_ids: Callable[[Any], Any] | None
    device_bytes: Callable[[Any], int | None]
    metrics: Sequence[str]
    profiled: Callable[[Sequence[tuple[str, str, float]]], dict[str, Any]] | None

    def ready(
        self,
        graph: Any,
        width: int = 1,
        options: Mapping[str, Any] | None = None,
        *,
        comm: Any = None,
        timed: Timed = timed,
    ) -> Ready:
        """Prepare and transfer.

        Parameters
        ----------
        graph : Graph, DeviceGraph or EdgeSlice
            An `EdgeSlice` under MPI.
        width : int
            Threads or GPUs.
        options : mapping
            All of the algorithm's options, as `Algorithm.resolve` returns them.
        comm : mpi4py.MPI.Intracomm, optional
            The ranks, for an algorithm of paradigm mpi; their number is the width.
        timed : callable
            Calls and times each stage, as `timed` does.
        """
        given = options or {}
        if comm is None:
            problem, init = timed(self.prepare, graph, width=width, **given)
        else:
            problem, init = timed(self.prepare, graph, comm=comm, **given)
        if self.transfer is None:
            return Ready(problem, init, None)
        problem, transfer = timed(self.transfer, problem)
        return Ready(problem, init, transfer)

    def collect_edges(self, problem: Any, result: Any) -> np.ndarray:
        """Return the forest's edge ids on the host, in any order; raise `UnsupportedError` if only a total is known."""
        ids = self.collect(problem, result)
        if ids is None and self.weight is None:
            raise ConfigError(f"{self.id}: collect returned None: it must return the forest's edge ids")
        if ids is None:
            raise UnsupportedError(
                f"{self.id} prints only a total, no edges: it can be timed, but does not give a forest"
            )
        return ids


class Execution(NamedTuple):
    """A solved problem, and the seconds of the stages; `transfer` is None if nothing is transferred."""

    implementation: Implementation
    problem: Any
    result: Any
    init: float
    transfer: float | None
    compute: float

    def collect(self) -> np.ndarray:
        """Return the forest's edge ids on the host, in any order; raise `UnsupportedError` if none are known."""
        return self.implementation.collect_edges(self.problem, self.result)

    def counters(self) -> dict[str, Any]:
        """Return the algorithm's counters."""
        return self.implementation.counters(self.problem, self.result)


def implementation_of(algorithm: Algorithm) -> Implementation:
    """Import an algorithm and return its functions.

    Raises
    ------
    DependencyError
        A package or program that it needs is not installed.
    ConfigError
        It lacks a function that it must define.

    Examples
    --------
    >>> from mst import registry
    >>> from mst.execute import implementation_of
    >>> implementation_of(registry.get("kruskal")).transfer is None
    True
    """
    return _of_module(algorithm.id, algorithm.load())


@lru_cache(maxsize=128)
def _of_module(id: str, module: Any) -> Implementation:
    for name in ("prepare", "solve", "collect"):
        if not hasattr(module, name):
            raise ConfigError(f"{id} defines no function {name!r}: docs/your-algorithm.md has an example")
    return Implementation(
        id=id,
        prepare=module.prepare,
        transfer=getattr(module, "transfer", None),
        solve=module.solve,
        collect=module.collect,
        timed_solve=getattr(module, "timed_solve", None) or partial(timed, module.solve),
        weight=getattr(module, "weight", None),
        counters=getattr(module, "counters", _no_counters),
        phases=getattr(module, "phases", None),
        printed_phases=getattr(module, "printed_phases", _no_counters),
        edge_ids=getattr(module, "edge_ids", None),
        device_bytes=getattr(module, "device_bytes", _unknown_bytes),
        metrics=getattr(module, "PROFILED", ()),
        profiled=getattr(module, "profiled", None),
    )


def execute(
    algorithm: Algorithm,
    graph: Any,
    width: int = 1,
    options: Mapping[str, Any] | None = None,
    *,
    timed: Timed = timed,
) -> Execution:
    """Run an algorithm of any paradigm except mpi on a graph, once.

    Parameters
    ----------
    algorithm : Algorithm
    graph : Graph or DeviceGraph
    width : int
        Threads or GPUs.
    options : mapping, optional
        The options that differ from the defaults.
    timed : callable
        Calls and times each stage, as `timed` does.

    Returns
    -------
    Execution

    Raises
    ------
    ConfigError
        There is no such option, or its value is illegal.
    UnsupportedError
        The algorithm does not support the graph, the width or the options.
    DependencyError
        A package or program that it needs is not installed.

    Examples
    --------
    >>> from mst import Graph, registry
    >>> from mst.execute import execute
    >>> triangle = Graph(3, [0, 1, 2], [1, 2, 0], [5, 7, 6])
    >>> sorted(execute(registry.get("kruskal"), triangle).collect().tolist())
    [0, 2]
    """
    resolved = algorithm.resolve(options)
    refuse_unfit(algorithm, graph, width, resolved)
    implementation = implementation_of(algorithm)
    ready = implementation.ready(graph, width, resolved, timed=timed)
    result, compute = timed(implementation.solve, ready.problem)
    return Execution(implementation, ready.problem, result, ready.init, ready.transfer, compute)


def refuse_unfit(algorithm: Algorithm, graph: Any, width: int, options: Mapping[str, Any]) -> None:
    """Raise `UnsupportedError` with the reason if an algorithm does not support a graph."""
    if algorithm.may_skip and (reason := algorithm.skip(Facts.of(graph), width=width, options=options)):
        raise UnsupportedError(f"{algorithm.id} does not take this graph: {reason}")
