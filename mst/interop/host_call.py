"""A whole call of `filter-boruvka-cuda` with arrays in host memory: copies, checks, solve, and the ids' way back.

The device checks ids and looks for NaN, which on the host would take longer than the transfer. Calls of small
graphs spend most of their time between kernels, so all that depends on a graph's shape alone is kept for the next one.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.cuda import filter_boruvka
from mst.algorithms.cuda.device import memory, staging
from mst.algorithms.cuda.device.keys import FACTS, KeyKernels, Survey
from mst.algorithms.cuda.device.launch import argument_dtype
from mst.graph import Graph
from mst.kernels.cuda import filter_boruvka as layout
from mst.kernels.cuda import loader

MARKED = argument_dtype(("forest", "count", "marked"), ())
FEW = 1 << 15  # ids that one thread writes in the time in which others wake


class Found(NamedTuple):
    """Edge ids, ascending (int64), and the seconds until the solve was started, and after that."""

    edge_ids: np.ndarray
    transfer: float
    compute: float


def edge_ids_of(graph: Graph, options: dict[str, Any]) -> Found | None:
    """Return the forest of a graph with edges and at least two vertices; None if an id or a weight is not legal.

    Parameters
    ----------
    graph : Graph
        Not checked; its ends are int32 or int64.
    options : dict
        The filter's: factor, samples, seed.
    """
    import cupy

    began = perf_counter()
    device = int(cupy.cuda.runtime.getDevice())
    copier = staging.of_device()
    with copier.lock:
        plan = _plan(device, graph.n, graph.m, graph.w.dtype, tuple(options.items()))
        columns = plan.columns.allocate(plan.purpose)
        survey = plan.copy(graph, copier, columns.ptr)
        if survey is None:
            return None
        solver = plan.solver(survey.key_bits)
        block = solver.places.allocate(plan.purpose)
        plan.keys.write_keys(survey, solver.start_of("edge_keys", block.ptr))
        solver.start(survey.largest_key, plan.ends(columns.ptr), block.ptr)
        started = perf_counter()
        ids = plan.ids(solver, copier, block)
    return Found(ids, started - began, perf_counter() - started)


def marked_is_shorter(n: int, m: int) -> bool:
    """Return whether one bit per edge is less to copy and read than sorted ids: true unless m is far above n."""
    return m <= max(64 * n, 1 << 23)


class _Plan:
    """State shared by calls for graphs of one shape. One call at a time uses it, while it has its device's staging."""

    def __init__(self, device: int, n: int, m: int, dtype: np.dtype, options: dict[str, Any]):
        self.device, self.n, self.m, self.options = device, n, m, options
        self.purpose = f"filter-boruvka-cuda of n = {n:,}, m = {m:,}"
        ends = dict.fromkeys(("u", "v"), (np.uint32, m))
        self.columns = memory.Places({"w": (dtype, m), **ends, "facts": (np.uint64, FACTS)})
        self.keys = KeyKernels(m, dtype)
        self.size = m * (8 + dtype.itemsize)
        self._solvers: dict[int, _Solver] = {}

    def ends(self, first: int) -> dict[str, int]:
        """Return the addresses of the ends in a block of columns."""
        return {name: first + self.columns.starts[name] for name in ("u", "v")}

    def copy(self, graph: Graph, copier: staging.Staging, first: int) -> Survey | None:
        """Copy a graph to a block of columns; return its survey, or None if an id or a weight is not legal."""
        at, wide = {name: first + start for name, start in self.columns.starts.items()}, graph.u.itemsize == 8
        columns = [
            staging.Column(graph.w, at["w"]),
            staging.Column(graph.u, at["u"], wide),
            staging.Column(graph.v, at["v"], wide),
        ]
        # The upper halves do not reach the device: negative ids are among the largest words.
        if copier.upload(columns) >= self.n:
            return None
        self.keys.take(at["u"], at["v"], at["w"])
        self.keys.start_survey(at["facts"])
        survey = self.keys.facts()
        return None if survey.largest_end >= self.n or survey.has_nan else survey

    def solver(self, key_bits: int) -> _Solver:
        """Return the solver for keys of this width."""
        if key_bits not in self._solvers:
            self._solvers[key_bits] = _Solver(self, key_bits)
        return self._solvers[key_bits]

    def ids(self, solver: _Solver, copier: staging.Staging, block: Any) -> np.ndarray:
        """Return the ids of a solve that was started, ascending."""
        import cupy

        from mst.kernels.cuda.staging import positions_of_ones
        from mst.kernels.parallel.runtime import new_tallies, touched_empty, workers

        most, width = min(self.m, self.n - 1), copier.width(self.size)
        marks = copier.pinned[: -(-self.m // 64)]
        by_marks = marked_is_shorter(self.n, self.m) and 64 * len(marks) >= self.m
        if by_marks:
            solver.mark(block.ptr, marks)
        room = np.empty(0, np.int64)
        if most > FEW:
            # The system clears the ids' memory meanwhile.
            with workers(width):
                room = touched_empty(most, np.int64, width, new_tallies(width))
        cupy.cuda.get_current_stream().synchronize()
        count = int(solver.counters[0])
        if not by_marks:
            forest = cupy.ndarray(count, np.uint32, block + solver.places.starts["forest"])
            return staging.download(cupy.sort(forest), room=room)
        ids = room[:count] if count <= len(room) <= 2 * count else np.empty(count, np.int64)
        width = width if count > FEW else 1
        with workers(width) if width > 1 else nullcontext():
            positions_of_ones(width, marks, ids)
        return ids


class _Solver:
    """The part of a plan that depends on the width of keys: launches the solve, and the marking of its edges."""

    def __init__(self, plan: _Plan, key_bits: int):
        import cupy

        n, m = plan.n, plan.m
        shape = layout.Shape(n, m, 0, False, key_bits)
        settings = filter_boruvka.settings_for(n, m, csr=False, **plan.options)
        more: memory.Layout = {"marked": (np.uint64, -(-m // 64))}  # behind `control`: both are cleared
        more |= {"edge_keys": (np.dtype(f"u{key_bits // 8}"), m), "forest": (np.uint32, n - 1)}
        self.places = memory.Places({**layout.workspace(shape, settings.long_row), **more})
        self.counters = memory.pinned(len(layout.COUNTERS))
        counters = {"counters": self.counters.ctypes.data}
        self._shape = shape
        self._argument = layout.argument(shape, settings, layout.candidate_layout(m, key_bits, 0), counters)
        self._arguments = loader.Arguments(self._argument)
        self._named = [name for name in self.places.starts if name in (layout.ARGUMENT.names or ())]
        self._kernel = filter_boruvka.kernel_on_device(shape)
        self._blocks = filter_boruvka.blocks_for(self._kernel, shape)
        self._marked = np.zeros(1, MARKED)
        self._marked["count"] = counters["counters"]
        self._mark_arguments = loader.Arguments(self._marked)
        self._mark_kernel = loader.Kernel("mark_edges.cu", "mark_edges", {})
        self._mark_blocks = min(n // 256 + 1, 4 * memory.multiprocessors(plan.device))
        self._cuda = cupy.cuda

    def start_of(self, name: str, first: int) -> int:
        """Return the address of an array in a block."""
        return first + self.places.starts[name]

    def start(self, largest: int, ends: dict[str, int], first: int) -> None:
        """Start the solve of a graph, whose keys are in a block."""
        argument, starts = self._argument, self.places.starts
        for name in self._named:
            argument[name] = first + starts[name]
        candidates = layout.candidate_layout(self._shape.m, self._shape.key_bits, largest)
        for name, value in (*ends.items(), *candidates._asdict().items()):
            argument[name] = value
        control, size = starts["control"], starts["edge_keys"] - starts["control"]
        self._cuda.runtime.memsetAsync(first + control, 0, size, self._cuda.get_current_stream().ptr)
        self._kernel.launch(self._blocks, filter_boruvka.BLOCK, self._arguments)

    def mark(self, first: int, marks: np.ndarray) -> None:
        """Start to mark the edges of the forest, and to copy the marks to page-locked memory."""
        marked, runtime = self.start_of("marked", first), self._cuda.runtime
        self._marked["forest"], self._marked["marked"] = self.start_of("forest", first), marked
        self._mark_kernel.launch(self._mark_blocks, 256, self._mark_arguments)
        stream = self._cuda.get_current_stream().ptr
        runtime.memcpyAsync(marks.ctypes.data, marked, marks.nbytes, runtime.memcpyDeviceToHost, stream)


@lru_cache(maxsize=64)
def _plan(device: int, n: int, m: int, dtype: np.dtype, options: tuple[tuple[str, Any], ...]) -> _Plan:
    return _Plan(device, n, m, dtype, dict(options))
