"""What the ports of published GPU programs share: inputs on either side, kernels with one argument, timed launches.

A port's kernels take one struct by value: addresses, then 32-bit numbers. Its `solve` drives an `Engine` by the names
of kernels and arrays only, so that the tests can put an emulator in the engine's place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mst.algorithms.cuda import _resident as resident
from mst.errors import OutOfMemoryError, UnsupportedError
from mst.kernels.cuda import loader

Layout = dict[str, tuple[type, int]]


@dataclass(eq=False)
class Problem:
    """A graph in the form that solve starts from; `transfer` adds the engine that holds it on the device."""

    n: int
    m: int
    bits: int
    options: dict[str, Any]
    inputs: dict[str, Any]
    engine: Any = None

    @property
    def slots(self) -> int:
        """Slots of the rows, two per edge that is no loop."""
        return len(self.inputs["neighbours"]) if "neighbours" in self.inputs else 0


@dataclass(eq=False)
class Result:
    """A byte per edge on the device, and what the host counted."""

    chosen: Any
    counters: dict[str, Any] = field(default_factory=dict)


def edge_inputs(graph: Any) -> dict[str, Any]:
    """Return ends (uint32) and keys of the edge list, on the side where the graph is."""
    if isinstance(graph, resident.DeviceGraph):
        u, v = (ends.view(np.uint32) for ends in (graph.u, graph.v))
        return {"u": u, "v": v, "keys": resident.device_keys(graph.w)}
    u, v = (ends.astype(np.uint32, copy=False) for ends in (graph.u, graph.v))
    return {"u": u, "v": v, "keys": resident.host_keys(graph)}


def row_inputs(graph: Any) -> dict[str, Any]:
    """Return symmetric rows without loops: offsets, and per slot neighbour, edge id (uint32) and key."""
    if isinstance(graph, resident.DeviceGraph):
        rows = resident.device_rows(graph.n, graph.u, graph.v, resident.device_keys(graph.w))
        neighbours, ids = rows.pairs[:, 0].copy(), rows.pairs[:, 1].copy()
        return {"offsets": rows.offsets, "neighbours": neighbours, "keys": rows.keys, "ids": ids}
    host = graph.csr()
    return {
        "offsets": host.offsets.astype(np.uint32),
        "neighbours": host.neighbours.astype(np.uint32, copy=False),
        "keys": resident.host_keys(graph)[host.edge_ids],
        "ids": host.edge_ids.astype(np.uint32, copy=False),
    }


def problem_of(graph: Any, inputs: dict[str, Any], options: dict[str, Any]) -> Problem:
    """Return the problem of a graph and its inputs, which hold ``keys``."""
    return Problem(graph.n, graph.m, inputs["keys"].dtype.itemsize * 8, options, inputs)


def arguments(pointers: Iterable[str], numbers: Iterable[str]) -> np.dtype:
    """Return the dtype of a kernel's argument."""
    return np.dtype([(name, np.uint64) for name in pointers] + [(name, np.uint32) for name in numbers])


def unmanaged(layout: Layout, inputs: dict[str, Any], what: str) -> dict[str, Any]:
    """Return inputs and workspace in device memory."""
    import cupy

    missing = sum(array.nbytes for array in inputs.values() if isinstance(array, np.ndarray))
    resident.ensure_free(missing, what)
    arrays = {name: cupy.asarray(array) for name, array in inputs.items()}
    return arrays | resident.allocate(layout, what)


def managed(layout: Layout, inputs: dict[str, Any], what: str) -> dict[str, Any]:
    """Return inputs and workspace in unified memory, the inputs written there by the host.

    More than the card has free is refused: a kernel that thrashes between host and device can hang the card.
    """
    import cupy

    host = {n: a if isinstance(a, np.ndarray) else a.get() for n, a in inputs.items()}
    needed = sum(np.dtype(dtype).itemsize * length for dtype, length in layout.values())
    needed += sum(array.nbytes for array in host.values())
    cupy.get_default_memory_pool().free_all_blocks()
    free = cupy.cuda.runtime.memGetInfo()[0]
    if needed > free:
        raise OutOfMemoryError(
            f"{what} needs {resident.gigabytes(needed)} ({needed:,} bytes) of unified memory, and "
            f"{resident.gigabytes(free)} ({free:,} bytes) are free on the card: use memory=device on a larger card"
        )
    arrays = {name: _managed(dtype, length) for name, (dtype, length) in layout.items()}
    for name, array in host.items():
        arrays[name] = there = _managed(array.dtype, len(array))
        _host_view(there)[:] = array
    return arrays


def _managed(dtype: Any, length: int) -> Any:
    import cupy

    dtype = np.dtype(dtype)
    memory = cupy.cuda.malloc_managed(max(dtype.itemsize * length, 1))
    return cupy.ndarray(length, dtype, memory)


def _host_view(array: Any) -> np.ndarray:
    import ctypes

    raw = (ctypes.c_char * array.nbytes).from_address(array.data.ptr)
    return np.frombuffer(raw, array.dtype)


class Engine:
    """Kernels of one source, the arrays that they work on, and the argument that they are given.

    Attributes
    ----------
    arguments : numpy.ndarray, shape (1,)
        Filled with the addresses of arrays of the same names; solves set the numbers between launches.
    """

    def __init__(
        self,
        source: str,
        kernels: Iterable[str],
        dtype: np.dtype,
        arrays: dict[str, Any],
        *,
        block: int,
        **macros: int,
    ):
        import cupy

        self._runtime = cupy.cuda.runtime
        self._stream = cupy.cuda.get_current_stream
        self.arrays = arrays
        self.block = block
        module = loader.module(source, **macros)
        self._kernels = {name: module.get_function(name) for name in kernels}
        self.arguments = addressed(dtype, {name: array.data.ptr for name, array in arrays.items()})
        self._word = np.frombuffer(cupy.cuda.alloc_pinned_memory(4), np.uint32, 1)

    def address(self, name: str) -> int:
        """Return where an array lies."""
        return self.arrays[name].data.ptr

    def launch(self, name: str, size: int, *, blocks: int = 0) -> None:
        """Run a kernel with a thread for each of `size` items, or with so many blocks."""
        grid = blocks or -(-size // self.block)
        if grid:
            self._kernels[name]((grid,), (self.block,), (self.arguments,))

    def fill(self, name: str, byte: int, length: int | None = None) -> None:
        """Set all bytes of an array, or of its first elements."""
        array = self.arrays[name]
        size = array.nbytes if length is None else array.itemsize * length
        if size:
            array.data.memset_async(byte, size)

    def copy(self, source: str, target: str, length: int) -> None:
        """Copy the first elements of one array to another."""
        if length:
            there, here = self.arrays[target], self.arrays[source]
            there.data.copy_from_device_async(here.data, here.itemsize * length)

    def read(self, name: str, index: int = 0) -> int:
        """Return a counter: a round trip of the host."""
        stream, kind = self._stream(), self._runtime.memcpyDeviceToHost
        self._runtime.memcpyAsync(self._word.ctypes.data, self.address(name) + 4 * index, 4, kind, stream.ptr)
        stream.synchronize()
        return int(self._word[0])

    def get(self, name: str, length: int) -> np.ndarray:
        """Return a copy of an array's first elements on the host."""
        return self.arrays[name][:length].get()

    def put(self, name: str, values: np.ndarray) -> None:
        """Overwrite an array's first elements from the host."""
        self.arrays[name][: len(values)].set(values)

    def occupancy(self, name: str) -> float:
        """Return the share of a multiprocessor's threads that can be resident, by registers and shared memory."""
        import cupy
        from cupy.cuda import driver

        kernel = self._kernels[name].kernel.ptr
        blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel, self.block, 0)
        return blocks * self.block / cupy.cuda.Device().attributes["MaxThreadsPerMultiProcessor"]

    def filling_blocks(self, name: str) -> int:
        """Return how many blocks of a kernel the device can hold at once."""
        return round(self.occupancy(name) * self.resident_threads() / self.block)

    def resident_threads(self) -> int:
        """Return how many threads the device can hold at once."""
        import cupy

        attributes = cupy.cuda.Device().attributes
        return attributes["MaxThreadsPerMultiProcessor"] * attributes["MultiProcessorCount"]


class Watched:
    """An engine with events around its launches, fills and copies: what an instrumented solve drives."""

    def __init__(self, engine: Any):
        import cupy

        self._engine, self._event = engine, cupy.cuda.Event
        self.marks: list[tuple[str, Any, Any]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def launch(self, name: str, *given: Any, **more: Any) -> None:
        """Run a kernel between two events."""
        self._marked(name, lambda: self._engine.launch(name, *given, **more))

    def fill(self, *given: Any) -> None:
        """Fill between two events."""
        self._marked("fill", lambda: self._engine.fill(*given))

    def copy(self, *given: Any) -> None:
        """Copy between two events."""
        self._marked("copy", lambda: self._engine.copy(*given))

    def _marked(self, name: str, work: Callable[[], None]) -> None:
        before, after = self._event(), self._event()
        before.record()
        work()
        after.record()
        self.marks.append((name, before, after))


def phases(problem: Any, solve: Callable[[Any], Any], names: dict[str, str]) -> dict[str, float]:
    """Return seconds per phase of a solve by events around each launch; ``other`` is what lies between.

    Parameters
    ----------
    problem : Problem
        Or another dataclass with an `engine` whose `launch` takes a kernel's name first.
    names : dict
        Kernel (or ``fill``, ``copy``) to phase; those not named count as ``other``.
    """
    import cupy

    engine = Watched(problem.engine)
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    solve(replace(problem, engine=engine))
    end.record()
    end.synchronize()
    spent = dict.fromkeys([*names.values(), "other"], 0.0)
    spent["other"] = cupy.cuda.get_elapsed_time(start, end) / 1e3
    for name, before, after in engine.marks:
        if name in names:
            seconds = cupy.cuda.get_elapsed_time(before, after) / 1e3
            spent[names[name]] += seconds
            spent["other"] -= seconds
    spent["other"] = max(spent["other"], 0.0)
    return spent


def addressed(dtype: np.dtype, addresses: dict[str, int]) -> np.ndarray:
    """Return a kernel's argument with the addresses that it has fields for."""
    filled = np.zeros(1, dtype)
    for name, address in addresses.items():
        if name in (dtype.names or ()):
            filled[name] = address
    return filled


def chosen_ids(chosen: Any) -> Any:
    """Return edge ids on the device from a byte per edge."""
    import cupy

    return cupy.flatnonzero(chosen)


def collect(problem: Problem, result: Result) -> np.ndarray:
    """Return edge ids on the host."""
    return chosen_ids(result.chosen).get()


def edge_ids(result: Result) -> Any:
    """Return edge ids on the device."""
    return chosen_ids(result.chosen)


def counters(problem: Problem, result: Result) -> dict[str, Any]:
    """Return what the solve counted."""
    return result.counters


def device_bytes(problem: Problem) -> int:
    """Return the bytes of inputs and workspace."""
    return sum(array.nbytes for array in problem.engine.arrays.values())


def refuse_unconnected(name: str) -> None:
    """Raise the error of an algorithm that met a component without a way out."""
    raise UnsupportedError(f"{name} does not take this graph: it is not connected; use another algorithm")
