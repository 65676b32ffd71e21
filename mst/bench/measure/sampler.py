"""Samplers: the measurements taken by a fresh process of a run."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import statistics
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import psutil

from mst import registry
from mst.bench.measure.energy import measure_energy, per_solve
from mst.bench.measure.messages import RunSpec
from mst.bench.measure.samples import peak, reset_peak, storable, take_calls, take_samples, warm_seconds
from mst.bench.measure.warm_up import Edges
from mst.errors import ConfigError, UnsupportedError
from mst.execute import Implementation, Timed, timed
from mst.forest import digest
from mst.kernels.primitives.recycled import keeping_if_large
from mst.order import total
from mst.solver import code_seconds, minimum_spanning_forest


class Memory:
    """Memory of this process since this object was made."""

    def __init__(self) -> None:
        self._resident = reset_peak()

    def at_peak(self) -> dict[str, int]:
        """Return bytes at the peak."""
        highest = peak()
        return {"peak_bytes": highest, "working_bytes": max(highest - self._resident, 0)}


class Sampler:
    """Measures a run in one process; for `loaded` and `alone` see `take_samples`."""

    comm: Any = None
    timed: Timed = staticmethod(timed)
    meter: Callable[[], AbstractContextManager[dict[str, float] | None]] = staticmethod(measure_energy)
    memory: Callable[[], Any] = Memory
    code_seconds: Callable[[], float] = staticmethod(code_seconds)

    def __init__(
        self, spec: RunSpec, implementation: Implementation, graph: Edges, *, loaded: bool, alone: bool = False
    ):
        self.spec, self.implementation, self.graph = spec, implementation, graph
        self._loaded, self._alone = loaded, alone

    def measure(self) -> dict[str, Any]:
        """Return times, memory, energy, counters and the forest, as `docs/records.md` describes them."""
        self.read_graph()
        memory = self.memory()
        ready = self.implementation.ready(
            self.graph, self.spec.width, self.spec.options, comm=self.comm, timed=self.timed
        )
        with keeping_if_large(max(self.graph.n, self.graph.m)):  # as calls do
            taken = take_samples(
                functools.partial(self.solve, ready.problem),
                self.spec.measure,
                ready.init,
                loaded=self._loaded,
                alone=self._alone,
                meter=self.meter,
                code_seconds=self.code_seconds,
            )
        at_peak = memory.at_peak()
        forest = self.forest(ready.problem, taken.result)
        found = {
            "init": ready.init,
            "transfer": ready.transfer,
            "warmup": taken.warmup,
            "compute": taken.compute,
            "phases": self.implementation.printed_phases(ready.problem, taken.result),
            "counters": self.counters(ready.problem, taken.result),
            "memory": at_peak,
            "energy": per_solve(taken.metered, len(taken.compute)),
            "device_bytes": self.implementation.device_bytes(ready.problem),
            "forest": forest,
            "threads": psutil.Process().num_threads(),
            "affinity": sorted(os.sched_getaffinity(0)),
            **self.environment(),
        }
        # The transfer is left out: most of it is the start of the device, and at a call that has happened already.
        stages = ready.init + statistics.median(taken.compute)
        spent = ready.init + warm_seconds(taken.warmup) + sum(taken.compute)
        # A call needs memory for its own problem and result.
        del ready, taken
        return found | self.calls(stages, spent)

    def read_graph(self) -> None:
        """Read the mapped file's pages before the clock starts: init should not measure the disk."""
        for array in (self.graph.u, self.graph.v, self.graph.w):
            array.max(initial=0)

    def calls(self, expected: float, spent: float) -> dict[str, list[float]]:
        """Return the seconds of whole library calls: from arrays, which are checked, to the forest.

        On a GPU the arrays and the forest are in host memory or on the device. A call is given only options that differ
        from the defaults, since it may choose others. There are no calls for programs, under MPI, if the call refuses
        the width, or once the time is spent.
        """
        found: dict[str, list[float]] = {}
        if self._alone or self.comm is not None:
            return found
        graph, measure = self.graph, self.spec.measure
        columns = (graph.u, graph.v, graph.w)
        algorithm = registry.get(self.spec.algorithm)
        changed = algorithm.changed_options(algorithm.options_slug(self.spec.options))
        options = {"algorithm": algorithm.id, "threads": self.spec.width, **changed}
        left = measure["budget"] / measure["processes"] - spent
        with contextlib.suppress(UnsupportedError):
            call = functools.partial(timed, minimum_spanning_forest, (graph.n, *columns), **options)
            found["call"] = take_calls(lambda: call()[1], expected, left)
            if self.implementation.edge_ids:
                import cupy

                there = (graph.n, *map(cupy.asarray, columns))

                def call_on_device() -> None:
                    minimum_spanning_forest(there, **options)
                    cupy.cuda.get_current_stream().synchronize()

                left -= sum(found["call"])
                found["call_on_device"] = take_calls(lambda: timed(call_on_device)[1], expected, left)
        return found

    def solve(self, problem: Any) -> tuple[Any, float]:
        """Return the result and the seconds of one solve."""
        result, seconds = self.implementation.timed_solve(problem)
        if not 0 <= seconds < math.inf:
            raise ConfigError(
                f"{self.spec.algorithm} states that it took {seconds} s: give seconds of at least 0"
            )
        return result, seconds

    def counters(self, problem: Any, result: Any) -> dict[str, Any]:
        """Return the algorithm's counters."""
        return storable("counters", self.implementation.counters(problem, result))

    def forest(self, problem: Any, result: Any) -> dict[str, Any] | None:
        """Return the forest's facts, and save its edge ids if they are kept."""
        ids = self.implementation.collect(problem, result)
        if ids is None:
            assert self.implementation.weight, "collect returned None, but there is no function weight"
            weight = self.implementation.weight(problem, result)
            return {"edges": None, "components": None, "weight": weight, "digest": None}
        ids = np.asarray(ids).astype(np.int64, copy=False)
        return self.forest_facts(ids, self.graph.w[ids])

    def forest_facts(self, ids: np.ndarray, weights: np.ndarray) -> dict[str, Any]:
        """Return the facts of a forest of edge ids, int64, and their weights; save the ids if they are kept."""
        if self.spec.ids_file:
            np.save(self.spec.ids_file, ids)
        return {
            "edges": len(ids),
            # More edges than vertices are no forest, as its proof will say.
            "components": self.graph.n - len(ids) if len(ids) <= self.graph.n else None,
            "weight": str(total(weights)),
            "digest": digest(ids),
        }

    def environment(self) -> dict[str, Any]:
        """Return the threading layer of parallel kernels (None if none were loaded) and the CUDA version."""
        runtime, cupy = (sys.modules.get(name) for name in ("mst.kernels.parallel.runtime", "cupy"))
        cuda = cupy.cuda.runtime.runtimeGetVersion() if cupy else 0
        return {
            "threading": runtime.facts() if runtime else None,
            "versions": {"cuda": f"{cuda // 1000}.{cuda % 1000 // 10}"} if cuda else {},
        }
