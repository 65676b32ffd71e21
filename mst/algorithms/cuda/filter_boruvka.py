"""Filter-Borůvka on one GPU: minima of rows, a sampled threshold, and heavy edges only outside the giant component.

``filter_boruvka.cu`` and the files that it includes explain the method, phase by phase.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mst.algorithms.cuda.device import memory, staging
from mst.algorithms.cuda.device.graph import DeviceGraph, device_rows, interleaved_row_inputs
from mst.algorithms.cuda.device.keys import EdgeList, SurveyedGraph, kernels_for
from mst.kernels.cuda import filter_boruvka as layout
from mst.kernels.cuda import loader

if TYPE_CHECKING:
    from mst.facts import Facts
    from mst.graph import Graph

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
            help="input of solve: symmetric rows, or the edge list as it is (12 bytes per edge)",
        ),
        factor=dict(default=0.0, min=0.0, max=64.0, help="light edges per vertex; 0: by the average degree"),
        samples=dict(default=4096, min=32, max=4096, help="weights sampled for the threshold, at most"),
        seed=dict(default=1, min=0, max=4_294_967_295, help="seed of the sample"),
    ),
    requires=("cupy",),
    limits=dict(n=1_073_741_823, m=3_600_000_000),
)

SOURCE = "filter_boruvka.cu"
BLOCK = 512
BLOCKS_PER_MULTIPROCESSOR = 2
USELESS_SHARE = 0.9  # with a share of light edges of at least this, a second phase costs more than it saves


def skip(facts: Facts, *, width: int, start: str, **options: Any) -> str | None:
    if width != 1:
        return f"it runs on one GPU, not on {width}"
    if start == "csr" and facts.m >= 2**31 - 2**20:
        return f"2m = {2 * facts.m:,} slots do not fit 32 bits: use start=edges"
    return None


@dataclass(eq=False)
class Prepared:
    """A graph with its options before `transfer`.

    Attributes
    ----------
    inputs : dict of str to array
        Without `graph`, the arrays `u`, `v`, `edge_keys` and, if `csr`, those of the rows, on host or device.
    graph : Graph or DeviceGraph, optional
        The graph from which `transfer` makes keys and rows on the device.
    """

    n: int
    m: int
    csr: bool
    inputs: dict[str, Any]
    options: dict[str, Any]
    graph: Graph | DeviceGraph | None = None


@dataclass(eq=False)
class Problem:
    """A graph on the device, its workspace, and the single launch of a solve.

    Attributes
    ----------
    shape : Shape
    argument : numpy.ndarray of `ARGUMENT`, shape (1,)
    arrays : dict of str to cupy.ndarray
        Inputs and workspace.
    counters : numpy.ndarray of uint32
        Page-locked host memory that the kernel writes.
    kernel : Kernel
    blocks : int
    """

    shape: layout.Shape
    argument: np.ndarray
    arrays: dict[str, Any]
    counters: np.ndarray
    kernel: loader.Kernel
    blocks: int

    def __post_init__(self) -> None:
        self.launch_arguments = loader.Arguments(self.argument)


@dataclass(eq=False)
class Result:
    """Edge ids on the device (uint32), unordered, and the kernel's counters, whose names are `COUNTERS`."""

    edge_ids: Any
    counters: tuple[int, ...]


def prepare(graph: Graph | DeviceGraph, *, width: int, start: str, **options: Any) -> Prepared:
    """Return the graph and its options; `transfer` makes keys and rows on the device."""
    return Prepared(graph.n, graph.m, start == "csr", {}, options, graph)


def prepared_with_keys(graph: Graph | DeviceGraph, keys: Any, start: str, options: dict[str, Any]) -> Prepared:
    """Return a graph ordered by `keys` (uint32 or uint64) instead of its weights, with rows if `start` is "csr".

    The smallest key is subtracted from 32-bit keys, so that fewer bits suffice.
    """
    if keys.itemsize == 4 and len(keys):
        keys = keys - keys.min()
    inputs = {"u": graph.u, "v": graph.v, "edge_keys": keys}
    if start == "csr":
        inputs |= interleaved_row_inputs(graph, keys)
    return Prepared(graph.n, graph.m, start == "csr", inputs, options)


def transfer(prepared: Prepared) -> Problem:
    """Copy the inputs to the device, make keys and rows there, allocate the workspace, and choose the settings."""
    n, m, csr = prepared.n, prepared.m, prepared.csr
    purpose = purpose_of(n, m)
    settings = settings_for(n, m, csr=csr, **prepared.options)
    arrays, largest = _inputs_on_device(prepared, purpose)
    key_bits = arrays["edge_keys"].dtype.itemsize * 8
    shape = layout.Shape(n, m, len(arrays["keys"]) if csr else 0, csr, key_bits)
    workspace = layout.workspace(shape, settings.long_row)
    memory.ensure_free(memory.layout_bytes(workspace) + 4 * n, purpose)  # includes a solve's forest
    arrays.update(memory.allocate(workspace, purpose))
    arrays["control"].fill(0)
    counters = memory.pinned(len(layout.COUNTERS))
    addresses = {name: array.data.ptr for name, array in arrays.items()}
    addresses["counters"] = counters.ctypes.data
    argument = layout.argument(shape, settings, layout.candidate_layout(m, key_bits, largest), addresses)
    kernel = kernel_on_device(shape)
    return Problem(shape, argument, arrays, counters, kernel, blocks_for(kernel, shape))


def purpose_of(n: int, m: int) -> str:
    """Return the purpose of an allocation, for messages."""
    return f"filter-boruvka-cuda of n = {n:,}, m = {m:,}"


def _inputs_on_device(prepared: Prepared, purpose: str) -> tuple[dict[str, Any], int]:
    """Return the kernels' inputs on the device, and their largest key."""
    import cupy

    if prepared.graph is None:
        inputs = prepared.inputs
        memory.ensure_free(memory.host_bytes(inputs), purpose)
        largest = int(inputs["edge_keys"].max()) if prepared.m else 0
        return {name: cupy.asarray(array) for name, array in inputs.items()}, largest
    graph = on_device(prepared.graph, purpose)
    if prepared.m == 0:
        none = cupy.empty(0, cupy.uint32)
        return {"u": graph.u, "v": graph.v, "edge_keys": none, "keys": none}, 0
    edges, kernels = EdgeList.of(graph.u, graph.v, graph.w), kernels_for(graph.w.dtype)
    survey = (graph.survey if isinstance(graph, SurveyedGraph) else None) or kernels.survey(edges)
    inputs = {"u": graph.u, "v": graph.v, "edge_keys": cupy.empty(graph.m, f"uint{survey.key_bits}")}
    kernels.write_keys(edges, survey, inputs["edge_keys"].data.ptr)
    if prepared.csr:
        rows = device_rows(graph, inputs["edge_keys"])
        inputs |= {"offsets": rows.offsets, "keys": rows.keys, "neighbours": rows.pairs}
    return inputs, survey.largest_key


def on_device(graph: Graph | DeviceGraph, purpose: str) -> DeviceGraph:
    """Return the graph in device memory, copied there if it is on the host."""
    import cupy

    if isinstance(graph, DeviceGraph):
        return graph
    memory.ensure_free(graph.m * (8 + graph.w.itemsize), purpose)
    u, v = (cupy.empty(graph.m, cupy.int32) for _ in range(2))
    w = cupy.empty(graph.m, graph.w.dtype)
    staging.upload([(graph.u, u), (graph.v, v), (graph.w, w)])
    return DeviceGraph(graph.n, u, v, w)


def solve(problem: Problem) -> Result:
    """Launch the whole algorithm once, and wait for its counters."""
    import cupy

    n, m = problem.shape.n, problem.shape.m
    if m == 0 or n < 2:
        return Result(cupy.empty(0, cupy.uint32), (0,) * len(layout.COUNTERS))
    forest = cupy.empty(n - 1, cupy.uint32)
    problem.argument["forest"] = forest.data.ptr
    problem.kernel.launch(problem.blocks, BLOCK, problem.launch_arguments)
    cupy.cuda.get_current_stream().synchronize()
    counted = tuple(problem.counters.tolist())
    return Result(forest[: counted[0]], counted)


def collect(problem: Problem, result: Result) -> np.ndarray:
    """Return the edge ids on the host, ascending (int64)."""
    import cupy

    return staging.download(cupy.sort(result.edge_ids))


def edge_ids(result: Result) -> Any:
    """Return the edge ids on the device (uint32), unordered."""
    return result.edge_ids


def counters(problem: Problem, result: Result) -> dict[str, int]:
    """Return the kernel's counters."""
    return dict(zip(layout.COUNTERS, result.counters, strict=True))


def device_bytes(problem: Problem) -> int:
    """Return the bytes of inputs, workspace and forest."""
    return sum(array.nbytes for array in problem.arrays.values()) + 4 * problem.shape.n


def phases(problem: Problem) -> dict[str, float]:
    """Return seconds per phase of the kernel, by one multiprocessor's clock, scaled to the time between events."""
    import cupy

    shape = problem.shape
    if shape.m == 0 or shape.n < 2:
        return {}
    kernel = kernel_for(shape, TIMED=1)
    timed = replace(problem, kernel=kernel, blocks=blocks_for(kernel, shape))
    solve(timed)  # compiles the kernel and warms up
    problem.arrays["control"][layout.CLOCK_NOTES :] = 0
    start, end = cupy.cuda.Event(), cupy.cuda.Event()
    start.record()
    solve(timed)
    end.record()
    end.synchronize()
    notes = problem.arrays["control"].get()[layout.CLOCK_NOTES :]
    return layout.phase_seconds(notes, cupy.cuda.get_elapsed_time(start, end) / 1e3)


def settings_for(
    n: int, m: int, *, csr: bool = True, factor: float = 0.0, samples: int = 4096, seed: int = 1
) -> layout.Settings:
    """Return the settings for a graph of `n` vertices and `m` edges.

    Parameters
    ----------
    csr : bool
        Whether a solve starts from rows, whose minima form a first round without a worklist.
    factor : float
        Light edges per vertex; 0 chooses by the average degree.
    samples : int
        The largest number of weights to sample for the threshold; at most 4096, the kernels' limit.
    seed : int
        Seed of the sample.
    """
    degree = 2 * m / max(n, 1)
    factor = factor or light_factor(degree, csr)
    light_share = factor * n / max(m, 1)
    filtered = light_share < USELESS_SHARE and m > 0
    # The threshold is precise enough if its rank is a few dozen; more samples only cost time.
    samples = min(samples, max(1024, -(-int(64 / max(light_share, 1e-9)) // 1024) * 1024))
    lanes = next((lanes for limit, lanes in ((9, 1), (12, 2), (24, 4), (48, 8)) if degree < limit), 32)
    return layout.Settings(
        lanes_per_row=lanes,
        long_row=layout.PIECE if lanes < 32 else max(16384, int(4 * degree)),
        samples=samples if filtered else 0,
        threshold_rank=min(int(samples * light_share), samples - 1) if filtered else 0,
        expected_light=min(int(factor * n), m) if filtered else m,
        seed=seed,
    )


def light_factor(degree: float, csr: bool) -> float:
    """Return the fastest number of light edges per vertex on an H200, by average degree (docs/design-notes)."""
    for limit, factor in ((2.8, 2.0), (3.5, 0.75), (7.0, 1.15), (12.0, 0.85)):
        if degree < limit:
            return factor
    for limit, with_rows, without in ((40.0, 0.95, 1.1), (200.0, 1.5, 1.6)):
        if degree < limit:
            return with_rows if csr else without
    return 2.5 if csr else 4.0


def items_per_thread(shape: layout.Shape) -> int:
    """Return the number of edges that a thread processes at a time: more pay off if words of vertices stay in cache."""
    return 4 if not shape.csr and shape.m >= 1 << 20 and shape.n <= 1 << 21 else 2


def kernel_for(shape: layout.Shape, **macros: int) -> loader.Kernel:
    """Return the kernel for a graph's shape; `macros` extend or override the macros chosen for the shape."""
    chosen = dict(
        KEY_BITS=shape.key_bits,
        BLOCKS_PER_MULTIPROCESSOR=BLOCKS_PER_MULTIPROCESSOR,
        ITEMS_PER_THREAD=items_per_thread(shape),
    )
    name = "forest_csr" if shape.csr else "forest_edges"
    return loader.Kernel(SOURCE, name, {**chosen, **macros}, cooperative=True)


def kernel_on_device(shape: layout.Shape) -> loader.Kernel:
    """Return the kernel of `kernel_for` on the current device, built once for all shapes that share it."""
    import cupy

    number = int(cupy.cuda.runtime.getDevice())
    return _kernel_on_device(number, shape.csr, shape.key_bits, items_per_thread(shape))


@cache
def _kernel_on_device(number: int, csr: bool, key_bits: int, items: int) -> loader.Kernel:
    return kernel_for(layout.Shape(0, 0, 0, csr, key_bits), ITEMS_PER_THREAD=items)


def blocks_for(kernel: loader.Kernel, shape: layout.Shape) -> int:
    """Return the number of blocks to launch: as many as can be resident at once, but no more than have work."""
    import cupy
    from cupy.cuda import driver

    multiprocessors = memory.multiprocessors(cupy.cuda.runtime.getDevice())
    resident = driver.occupancyMaxActiveBlocksPerMultiprocessor(kernel.pointer, BLOCK, 0)
    return min(resident * multiprocessors, max(1, -(-max(shape.n, shape.m // 4) // BLOCK)))
