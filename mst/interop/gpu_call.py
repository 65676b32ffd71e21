"""A whole call of `filter-boruvka-cuda` from edges, with arrays on the host or the device: checks, solve, and ids.

The device checks ids and looks for NaN; on the host, this would take longer than the transfer. For small graphs, most
time passes between kernels, so everything that depends only on a graph's shape is kept for later calls.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from mst.algorithms.cuda import filter_boruvka
from mst.algorithms.cuda.device import memory, staging
from mst.algorithms.cuda.device.graph import DeviceGraph
from mst.algorithms.cuda.device.keys import EdgeList, Survey, kernels_for
from mst.algorithms.cuda.device.launch import argument_dtype
from mst.graph import Graph
from mst.kernels.cuda import filter_boruvka as layout
from mst.kernels.cuda import loader

SOURCE = "mark_edges.cu"
MARKED = argument_dtype(("forest", "count", "marked", "ids", "sums", "control"), ("words", "unused"))
BOTH: Any = np.dtype([("solve", layout.ARGUMENT), ("marked", MARKED)])
FEW = 1 << 15  # ids that one thread writes in the time in which others wake


class Found(NamedTuple):
    """Edge ids, ascending int64; the seconds until the edges were checked; and the seconds after that."""

    edge_ids: np.ndarray
    transfer: float
    compute: float


def edge_ids_of(graph: Graph, options: dict[str, Any]) -> Found | None:
    """Return the forest of a graph with edges and at least two vertices; None if an id or a weight is illegal.

    Parameters
    ----------
    graph : Graph
        An unchecked graph with ends of int32 or int64.
    options : dict
        Options of the filter: factor, samples and seed.
    """
    began = perf_counter()
    copier = staging.of_device()
    with copier.lock:
        columns = _columns(graph.m, graph.w.dtype)
        block = columns.allocate(filter_boruvka.purpose_of(graph.n, graph.m))
        u, v, w = (block.ptr + start for start in columns.starts.values())
        edges = EdgeList(graph.m, u, v, w, graph.w.dtype)
        survey = _copied(graph, copier, edges)
        if survey is None:
            return None
        solver = _solver_for(graph, survey, options)
        marks = copier.pinned[: -(-graph.m // 64)]
        checked = perf_counter()
        if marked_is_shorter(graph.n, graph.m) and 64 * len(marks) >= graph.m:
            ids = solver.ids_by_marks(edges, survey, marks, copier.width(columns.size))
        else:
            ids = staging.download_array(solver.ids_on_device(edges, survey))
    return Found(ids, checked - began, perf_counter() - checked)


def edge_ids_on_device(graph: DeviceGraph, survey: Survey, options: dict[str, Any]) -> Any:
    """Return the edge ids, ascending, of the forest of a graph with edges and two vertices or more: int64, CuPy.

    `options` are as for `edge_ids_of`.
    """
    return _solver_for(graph, survey, options).ids_on_device(EdgeList.of(graph.u, graph.v, graph.w), survey)


def marked_is_shorter(n: int, m: int) -> bool:
    """Return whether one bit per edge is less to copy and read than a list of ids: true unless m is far above n."""
    return m <= max(64 * n, 1 << 23)


@lru_cache(maxsize=64)
def _columns(m: int, dtype: np.dtype) -> memory.Places:
    return memory.Places({"u": (np.uint32, m), "v": (np.uint32, m), "w": (dtype, m)})


def _copied(graph: Graph, copier: staging.Staging, edges: EdgeList) -> Survey | None:
    """Copy a graph's edges to the device; return their survey, or None if an id or a weight is illegal."""
    wide = graph.u.itemsize == 8
    columns = [
        staging.Column(graph.w, edges.w),
        staging.Column(graph.u, edges.u, wide),
        staging.Column(graph.v, edges.v, wide),
    ]
    # The upper halves are not copied; `upload` returns the largest word, and negative ids are larger than all others.
    if copier.upload(columns) >= graph.n:
        return None
    survey = kernels_for(edges.dtype).survey(edges)
    return None if survey.largest_end >= graph.n or survey.has_nan else survey


def _solver_for(graph: Graph | DeviceGraph, survey: Survey, options: dict[str, Any]) -> _Solver:
    import cupy

    device = int(cupy.cuda.runtime.getDevice())
    return _solver(device, graph.n, graph.m, survey.key_bits, tuple(options.items()))


@lru_cache(maxsize=64)
def _solver(device: int, n: int, m: int, key_bits: int, options: tuple[tuple[str, Any], ...]) -> _Solver:
    return _Solver(layout.Shape(n, m, 0, False, key_bits), dict(options))


class _Solver:
    """Kernels and layouts for graphs of one shape on one device; its methods serve one thread at a time."""

    def __init__(self, shape: layout.Shape, options: dict[str, Any]):
        import cupy

        n, m, key_bits = shape.n, shape.m, shape.key_bits
        self._shape, self._cuda, self._lock = shape, cupy.cuda, threading.Lock()
        self._purpose = filter_boruvka.purpose_of(n, m)
        self._kernel = filter_boruvka.kernel_on_device(shape)
        self._mark_kernel = loader.Kernel(SOURCE, "mark_edges", {})
        self._list_kernel = loader.Kernel(SOURCE, "list_edges", {}, cooperative=True)
        self._blocks = filter_boruvka.blocks_for(self._kernel, shape)
        self._list_blocks = filter_boruvka.blocks_for(self._list_kernel, shape)
        settings = filter_boruvka.settings_for(n, m, csr=False, **options)
        more: memory.Layout = {"marked": (np.uint64, -(-m // 64))}  # after `control`: both are cleared
        more |= {"edge_keys": (np.dtype(f"u{key_bits // 8}"), m), "forest": (np.uint32, n - 1)}
        more |= {"sums": (np.uint32, self._list_blocks)}
        places = memory.Places({**layout.workspace(shape, settings.long_row), **more})
        self._places, self._cleared = places, places.starts["edge_keys"] - places.starts["control"]
        self._most = min(m, n - 1)
        self._room = memory.Places({"ids": (np.int64, self._most)})
        self._counters = memory.pinned(len(layout.COUNTERS))
        both = np.zeros(1, BOTH)
        counters = {"counters": self._counters.ctypes.data}
        both["solve"] = layout.argument(shape, settings, layout.candidate_layout(m, key_bits, 0), counters)
        both["marked"]["count"], both["marked"]["words"] = counters["counters"], -(-m // 32)
        self._solve, self._marked = loader.Arguments(both["solve"]), loader.Arguments(both["marked"])
        # Setting a field takes 1 µs, so all addresses in a block are set at once, as words.
        self._words, halves = both.view(np.uint64), both.view(np.uint32)
        self._candidates = halves[_word("solve", "index_bits", 4) :][:3]
        self._ids = self._words[_word("marked", "ids") :]
        named = [(part, name) for part in BOTH.names for name in BOTH[part].names if name in places.starts]
        self._at = np.array([_word(*field) for field in named])
        self._starts = np.array([places.starts[name] for _, name in named], np.uint64)

    def ids_on_device(self, edges: EdgeList, survey: Survey) -> Any:
        """Return the forest's edge ids, ascending, in a CuPy array of int64."""
        import cupy

        with self._lock:
            room = self._room.allocate(self._purpose)
            block = self._start(edges, survey)
            self._ids[0] = room.ptr
            self._list_kernel.launch(self._list_blocks, filter_boruvka.BLOCK, self._marked)
            ids = cupy.ndarray(self._count(), np.int64, room)
            del block
        return ids if 2 * len(ids) >= self._most else ids.copy()

    def ids_by_marks(self, edges: EdgeList, survey: Survey, marks: np.ndarray, width: int) -> np.ndarray:
        """Return the forest's edge ids, ascending, which `width` threads list from one bit per edge.

        The bits are copied to `marks`, which is in page-locked memory.
        """
        from mst.kernels.cuda.staging import positions_of_ones
        from mst.kernels.parallel.runtime import new_tallies, several_workers, touched_empty, workers

        with self._lock:
            block, runtime = self._start(edges, survey), self._cuda.runtime
            self._mark_kernel.launch(self._blocks, filter_boruvka.BLOCK, self._marked)
            marked, stream = block.ptr + self._places.starts["marked"], self._cuda.get_current_stream().ptr
            runtime.memcpyAsync(marks.ctypes.data, marked, marks.nbytes, runtime.memcpyDeviceToHost, stream)
            room = np.empty(0, np.int64)
            if self._most > FEW:
                # Meanwhile, touching the memory for the ids makes the system clear it.
                with workers(width):
                    room = touched_empty(self._most, np.int64, width, new_tallies(width))
            count = self._count()
        ids = room[:count] if count <= len(room) <= 2 * count else np.empty(count, np.int64)
        width = width if count > FEW else 1
        with several_workers(width):
            positions_of_ones(width, marks, ids)
        return ids

    def _start(self, edges: EdgeList, survey: Survey) -> Any:
        """Start the solve; return its workspace."""
        shape, starts = self._shape, self._places.starts
        block = self._places.allocate(self._purpose)
        kernels_for(edges.dtype).write_keys(edges, survey, block.ptr + starts["edge_keys"])
        self._words[self._at] = self._starts + block.ptr
        self._words[:2] = edges.u, edges.v
        self._candidates[:] = layout.candidate_layout(shape.m, shape.key_bits, survey.largest_key)
        stream = self._cuda.get_current_stream().ptr
        self._cuda.runtime.memsetAsync(block.ptr + starts["control"], 0, self._cleared, stream)
        self._kernel.launch(self._blocks, filter_boruvka.BLOCK, self._solve)
        return block

    def _count(self) -> int:
        """Wait for the solve; return the number of ids."""
        self._cuda.get_current_stream().synchronize()
        return int(self._counters[0])


def _word(part: str, name: str, size: int = 8) -> int:
    """Return the place of a field in both arguments, in words of `size` bytes."""
    return (BOTH.fields[part][1] + BOTH[part].fields[name][1]) // size
