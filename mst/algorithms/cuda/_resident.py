"""Graphs that live on the device: brought there once, or handed over by the caller without a copy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mst import order
from mst.errors import InputError, OutOfMemoryError, UnsupportedError


@dataclass(frozen=True, eq=False)
class DeviceGraph:
    """An edge list on the device, to be used in place of a `Graph` by the algorithms of this folder.

    Attributes
    ----------
    n : int
    u, v : cupy.ndarray of int32, shape (m,)
    w : cupy.ndarray of int32, int64, float32 or float64, shape (m,)
    """

    n: int
    u: Any
    v: Any
    w: Any

    @property
    def m(self) -> int:
        """Number of edges, self-loops and parallel edges included."""
        return len(self.w)


def device_graph(n: int, u: Any, v: Any, w: Any) -> DeviceGraph:
    """Return a graph over arrays that are on the device already; int32 ends and a legal weight dtype are not copied.

    Parameters
    ----------
    n : int
        Number of vertices.
    u, v, w : array
        Anything with ``__cuda_array_interface__`` or DLPack, one-dimensional, of one length.

    Raises
    ------
    InputError
        For shapes or dtypes that do not fit, ids outside ``0 … n - 1``, or NaN weights.
    """
    import cupy

    u, v, w = (_as_cupy(array, name) for array, name in ((u, "u"), (v, "v"), (w, "w")))
    if int(n) != n or not 0 <= n < 2**31:
        raise InputError(f"the vertex count must be an integer from 0 to 2³¹ - 1, got {n!r}")
    if not (u.ndim == v.ndim == w.ndim == 1 and len(u) == len(v) == len(w)):
        raise InputError(
            f"u, v and w must be one-dimensional and of one length, got {u.shape}, {v.shape}, {w.shape}"
        )
    for name, ends in (("u", u), ("v", v)):
        if ends.dtype.kind not in "iu":
            raise InputError(f"{name} must hold integers, got dtype {ends.dtype}: convert the ids first")
        if len(ends) and (int(ends.min()) < 0 or int(ends.max()) >= n):
            row = int(cupy.argmax((ends < 0) | (ends >= n)))
            raise InputError(
                f"{name}[{row}] = {int(ends[row])} is not a vertex: ids run from 0 to {n - 1} (n = {n})"
            )
    if w.dtype not in (np.int32, np.int64, np.float32, np.float64):
        raise InputError(f"w has dtype {w.dtype}: use int32, int64, float32 or float64")
    if w.dtype.kind == "f" and len(w) and bool(cupy.isnan(w.min())):
        raise InputError(f"w[{int(cupy.argmax(cupy.isnan(w)))}] is NaN: drop or replace that edge")
    return DeviceGraph(n, u.astype(cupy.int32, copy=False), v.astype(cupy.int32, copy=False), w)


def on_device(array: Any) -> bool:
    """Whether an array lives on a CUDA device."""
    if hasattr(array, "__cuda_array_interface__"):
        return True
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and device()[0] == 2


def _as_cupy(array: Any, name: str) -> Any:
    import cupy

    if hasattr(array, "__cuda_array_interface__"):
        return cupy.ascontiguousarray(cupy.asarray(array))
    if hasattr(array, "__dlpack__"):
        return cupy.ascontiguousarray(cupy.from_dlpack(array))
    raise InputError(f"{name} is not on the device: give u, v and w all on the host or all on the device")


def device_keys(weights: Any) -> Any:
    """Return the order-preserving keys of device weights, as `mst.order.keys` does on the host."""
    import cupy

    if weights.dtype == np.int64 and len(weights):
        low, high = int(weights.min()), int(weights.max())
        if high - low < 2**32:
            return (weights - low).astype(cupy.uint32)
    if weights.dtype == np.float64:
        narrow = weights.astype(cupy.float32)
        if bool((narrow == weights).all()):
            weights = narrow
    bits = weights.dtype.itemsize * 8
    unsigned = cupy.dtype(f"uint{bits}")
    top = unsigned.type(1 << (bits - 1))
    raw = weights.view(unsigned)
    if weights.dtype.kind == "i":
        return raw ^ top
    raw = cupy.where(raw == top, unsigned.type(0), raw)
    return cupy.where(raw & top, ~raw, raw | top)


@dataclass(frozen=True, eq=False)
class DeviceForest:
    """A minimum spanning forest on the device.

    Attributes
    ----------
    graph : DeviceGraph
    edge_ids : cupy.ndarray of int64, shape (n - components,)
        Rows of the edge list, ascending.
    algorithm : str
    """

    graph: DeviceGraph
    edge_ids: Any
    algorithm: str

    def __len__(self) -> int:
        return len(self.edge_ids)

    def __repr__(self) -> str:
        return f"<DeviceForest {len(self):,} edges, {self.components:,} components>"

    @property
    def components(self) -> int:
        """Number of trees, isolated vertices included."""
        return self.graph.n - len(self)

    @property
    def weight(self) -> int | float:
        """Total weight, as of `mst.Forest`; its edges' weights are copied to the host."""
        return order.total(self.graph.w[self.edge_ids].get())

    def edges(self) -> tuple[Any, Any, Any]:
        """Return the arrays ``(u, v, w)`` of the forest's edges, on the device."""
        graph, ids = self.graph, self.edge_ids
        return graph.u[ids], graph.v[ids], graph.w[ids]


def forest_on_device(
    n: int, u: Any, v: Any, w: Any, *, algorithm: str = "filter-boruvka-cuda", **options: Any
) -> DeviceForest:
    """Return the forest of a graph that is on the device; nothing goes through the host but counters.

    Parameters
    ----------
    n : int
        Number of vertices.
    u, v, w : array
        See `device_graph`.
    algorithm : str
        One on a GPU, or ``"auto"``: what was measured to be fastest for such a graph (`mst.advice`).
        filter-boruvka-cuda starts from the edge list as it is, unless ``start="csr"``.
    """
    import cupy

    from mst import advice, registry
    from mst.execute import execute, implementation_of

    graph = None
    if algorithm == "auto":
        graph = device_graph(n, u, v, w)
        choice = advice.choose_for(graph, gpu="device")
        algorithm, options = choice.algorithm, {**choice.options, **options}

    chosen = registry.get(algorithm)
    if chosen.paradigm != "cuda":
        raise InputError(
            f"u, v and w are on the device, and {algorithm} runs on the host: copy them there first"
        )
    if algorithm == "filter-boruvka-cuda":
        options = {"start": "edges", **options}
    graph = graph or device_graph(n, u, v, w)
    edge_ids = implementation_of(chosen).edge_ids
    if edge_ids is None:
        raise UnsupportedError(
            f"{algorithm} has no edge_ids, which leave a result on the device: see mst.registry"
        )
    ids = edge_ids(execute(chosen, graph, options=options).result)
    return DeviceForest(graph, cupy.sort(ids.astype(cupy.int64)), algorithm)


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """Symmetric CSR on the device: offsets (uint32, n + 1), keys per slot, and (neighbour, edge id) pairs."""

    offsets: Any
    keys: Any
    pairs: Any


def device_rows(n: int, u: Any, v: Any, keys: Any) -> DeviceRows:
    """Build CSR rows on the device by sorting (end, edge id); self-loops are left out, ids ascend within a row."""
    import cupy

    m = len(u)
    slots = cupy.empty(2 * m, cupy.uint64)
    for half, ends in ((slots[:m], u), (slots[m:], v)):
        cupy.left_shift(ends.astype(cupy.uint64), 32, out=half)
        half |= cupy.arange(m, dtype=cupy.uint64)
    loops = u == v
    if bool(loops.any()):
        slots = slots[~cupy.concatenate((loops, loops))]
    slots.sort()
    rows = (slots >> 32).astype(cupy.int32)
    offsets = cupy.searchsorted(rows, cupy.arange(n + 1, dtype=cupy.int32)).astype(cupy.uint32)
    ids = slots.astype(cupy.uint32)
    del slots
    pairs = cupy.empty((len(ids), 2), cupy.uint32)
    pairs[:, 0] = u[ids] + v[ids] - rows
    pairs[:, 1] = ids
    return DeviceRows(offsets, keys[ids], pairs)


def host_keys(graph: Any) -> np.ndarray:
    """Return the keys of a host graph's weights."""
    return order.keys(graph.w)


def gigabytes(size: int) -> str:
    """Return bytes as text for a message."""
    return f"{size / 1e9:.3g} GB"


def ensure_free(needed: int, what: str) -> None:
    """Raise `OutOfMemoryError` unless `needed` bytes are free on the device, counting what CuPy's pool holds."""
    import cupy

    free = cupy.cuda.runtime.memGetInfo()[0] + cupy.get_default_memory_pool().free_bytes()
    if needed > free:
        raise OutOfMemoryError(
            f"{what} needs {gigabytes(needed)} ({needed:,} bytes) of device memory, "
            f"{gigabytes(free)} ({free:,} bytes) are free: use a GPU with more memory, or a CPU algorithm"
        )


def pinned(words: int) -> np.ndarray:
    """Return host memory that kernels can write, so that reading counters back costs no copy."""
    import cupy

    memory = cupy.cuda.alloc_pinned_memory(4 * words)
    return np.frombuffer(memory, np.uint32, words)


def allocate(layout: dict[str, tuple[type, int]], what: str) -> dict[str, Any]:
    """Return uninitialised device arrays of a layout, or raise one clear `OutOfMemoryError`."""
    import cupy

    needed = sum(np.dtype(dtype).itemsize * length for dtype, length in layout.values())
    ensure_free(needed, what)
    try:
        return {name: cupy.empty(length, dtype) for name, (dtype, length) in layout.items()}
    except cupy.cuda.memory.OutOfMemoryError:
        cupy.get_default_memory_pool().free_all_blocks()
        ensure_free(needed, what)
        return {name: cupy.empty(length, dtype) for name, (dtype, length) in layout.items()}
