"""Filter-Borůvka on one GPU: row minima, a precise threshold, and heavy edges only outside the giant component.

The method, phase by phase, is told in the kernels' sources: ``filter_boruvka.cu`` and what it includes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mst.algorithms.cuda import _resident as resident
from mst.kernels.cuda import loader, plan

ALGORITHM = dict(
    id="filter-boruvka-cuda",
    paradigm="cuda",
    paper="ours",
    title="Filter-Borůvka (one GPU)",
    input="csr",
    options=dict(
        start=dict(
            default="csr",
            choices=("csr", "edges"),
            help="what solve starts from: symmetric rows, or the edge list as it is (12 bytes per edge)",
        ),
        factor=dict(default=0.0, min=0.0, max=64.0, help="light edges per vertex; 0: by the average degree"),
        samples=dict(default=4096, min=32, max=4096, help="weights sampled for the threshold, at most"),
        seed=dict(default=1, min=0, max=4_294_967_295, help="of the sample"),
    ),
    requires=("cupy",),
    limits=dict(n=1_073_741_823, m=3_600_000_000),
)

SOURCE = "filter_boruvka.cu"
BLOCK = 512


def skip(facts, *, width, start, **options):
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if start == "csr" and facts.m >= 2**31 - 2**20:
        return f"2m = {2 * facts.m:,} slots do not fit 32 bits: use start=edges"
    return None


@dataclass(eq=False)
class Problem:
    """A graph on the device, its workspace, and the one launch of a solve."""

    n: int
    m: int
    plan: np.ndarray
    arrays: dict[str, Any]
    status: np.ndarray
    kernel: loader.Kernel
    blocks: int

    def __post_init__(self):
        self.arguments = loader.Arguments(self.plan)


@dataclass(eq=False)
class Result:
    """Edge ids on the device, in no order, and what the kernels counted."""

    edge_ids: Any
    status: tuple[int, ...]


def prepare(graph, *, width, start, **options):
    """Put the graph into the form that solve starts from, on the side where it is."""
    on_device = isinstance(graph, resident.DeviceGraph)
    keys = resident.device_keys(graph.w) if on_device else resident.host_keys(graph)
    return arranged(graph, keys, start, options)


def arranged(graph, keys, start, options):
    """Return what `transfer` takes: sizes, inputs and options.

    32-bit keys are counted from the smallest, so that fewer bits say as much.
    """
    if keys.itemsize == 4 and len(keys):
        keys = keys - keys.min()
    inputs = {"u": graph.u, "v": graph.v, "edge_keys": keys}
    if start == "csr" and isinstance(graph, resident.DeviceGraph):
        rows = resident.device_rows(graph.n, graph.u, graph.v, keys)
        inputs |= {"offsets": rows.offsets, "keys": rows.keys, "neighbours": rows.pairs}
    elif start == "csr":
        rows = graph.csr()
        pairs = np.empty((len(rows.edge_ids), 2), np.uint32)
        pairs[:, 0], pairs[:, 1] = rows.neighbours, rows.edge_ids
        inputs |= {"offsets": rows.offsets.astype(np.uint32), "keys": keys[rows.edge_ids], "neighbours": pairs}
    return graph.n, graph.m, start == "csr", inputs, options


def transfer(problem):
    """Bring the inputs to the device, and allocate the workspace there."""
    import cupy

    n, m, csr, inputs, options = problem
    slots = len(inputs["keys"]) if csr else 0
    what = f"filter-boruvka-cuda of n = {n:,}, m = {m:,}"
    how = plan.settings(n, m, csr=csr, **options)
    bits = inputs["edge_keys"].dtype.itemsize * 8
    layout = plan.arrays(n, m, slots, csr=csr, key_bits=bits, long_row=how.long_row)
    missing = sum(a.nbytes for a in inputs.values() if isinstance(a, np.ndarray))
    resident.ensure_free(missing + plan.needed_bytes(layout) + 4 * n, what)
    arrays = {name: cupy.asarray(array) for name, array in inputs.items()}
    arrays.update(resident.allocate(layout, what))
    arrays["control"].fill(0)
    status = resident.pinned(len(plan.STATUS))
    addresses = {name: array.data.ptr for name, array in arrays.items()}
    addresses["status"] = status.ctypes.data
    largest = int(inputs["edge_keys"].max()) if m else 0
    struct = plan.fill_plan(how, n, m, plan.offer_layout(m, bits, largest), addresses)
    kernel = _kernel(csr, bits, ITEMS_PER_THREAD=plan.items_per_thread(n, m, csr=csr))
    return Problem(n, m, struct, arrays, status, kernel, _blocks(kernel, n, m))


def solve(problem):
    import cupy

    if problem.m == 0 or problem.n < 2:
        return Result(cupy.empty(0, cupy.uint32), (0,) * len(plan.STATUS))
    forest = cupy.empty(problem.n - 1, cupy.uint32)
    problem.plan["forest"] = forest.data.ptr
    problem.kernel.launch(problem.blocks, BLOCK, problem.arguments)
    cupy.cuda.get_current_stream().synchronize()
    status = tuple(problem.status.tolist())
    return Result(forest[: status[0]], status)


def collect(problem, result):
    return result.edge_ids.get().astype(np.int64)


def edge_ids(result):
    """Edge ids on the device."""
    return result.edge_ids


def counters(problem, result):
    return dict(zip(plan.STATUS, result.status, strict=True))


def device_bytes(problem):
    return sum(array.nbytes for array in problem.arrays.values()) + 4 * problem.n


def phases(problem):
    """Seconds per phase of the cooperative kernel, by one multiprocessor's clock scaled to the events' time."""
    import cupy

    if problem.m == 0 or problem.n < 2:
        return {}
    csr, bits = "offsets" in problem.arrays, problem.arrays["edge_keys"].itemsize * 8
    items = plan.items_per_thread(problem.n, problem.m, csr=csr)
    kernel = _kernel(csr, bits, ITEMS_PER_THREAD=items, TIMED=1)
    timed = replace(problem, kernel=kernel, blocks=_blocks(kernel, problem.n, problem.m))
    solve(timed)  # compiled and warm
    problem.arrays["control"][plan.TIMES :] = 0
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    solve(timed)
    end.record()
    end.synchronize()
    notes = problem.arrays["control"].get()[plan.TIMES :]
    return plan.phase_seconds(notes, cupy.cuda.get_elapsed_time(start, end) / 1e3)


def _kernel(csr: bool, bits: int, per_processor: int = 2, **macros: int) -> loader.Kernel:
    macros |= dict(KEY_BITS=bits, BLOCKS_PER_MULTIPROCESSOR=per_processor)
    return loader.Kernel(SOURCE, "forest_csr" if csr else "forest_edges", cooperative=True, **macros)


def _blocks(kernel: loader.Kernel, n: int, m: int) -> int:
    """Return how many blocks to launch: all must be resident at once, and none should be without work."""
    import cupy
    from cupy.cuda import driver

    processors = cupy.cuda.Device().attributes["MultiProcessorCount"]
    resident_blocks = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.pointer, BLOCK, 0)
    return min(resident_blocks * processors, max(1, -(-max(n, m // 4) // BLOCK)))
