"""Graphs whose arrays are on a CUDA device (CuPy, the CUDA array interface, DLPack), solved where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mst import advice, order, registry
from mst.algorithms.cuda.device.graph import DeviceGraph
from mst.errors import DependencyError, InputError, UnsupportedError
from mst.execute import execute, implementation_of


def device_graph(n: int, u: Any, v: Any, w: Any) -> DeviceGraph:
    """Return a graph over arrays on the device; int32 ends and a legal weight dtype are not copied.

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
    DependencyError
        CuPy is not installed.
    """
    cupy = _cupy()
    u, v, w = (_as_cupy(array, name) for array, name in ((u, "u"), (v, "v"), (w, "w")))
    n = _vertex_count(n)
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


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise DependencyError(
            "arrays on a device need CuPy, not installed: pip install '.[cuda13]' in a clone of mst, or copy "
            "them to the host"
        ) from error
    return cupy


def _vertex_count(n: Any) -> int:
    try:
        count = int(n)
    except (TypeError, ValueError, OverflowError):
        count = -1
    if not 0 <= count < 2**31 or count != n:
        raise InputError(f"the vertex count must be an integer from 0 to 2³¹ - 1, got {n!r}")
    return count


def _as_cupy(array: Any, name: str) -> Any:
    cupy = _cupy()
    if hasattr(array, "__cuda_array_interface__"):
        return cupy.ascontiguousarray(cupy.asarray(array))
    if hasattr(array, "__dlpack__"):
        return cupy.ascontiguousarray(cupy.from_dlpack(array))
    raise InputError(f"{name} is not on the device: give u, v and w all on the host or all on the device")


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
    """Return the forest of a graph that is on the device; nothing but counters passes through the host.

    Parameters
    ----------
    n : int
        Number of vertices.
    u, v, w : array
        See `device_graph`.
    algorithm : str
        One that runs on a GPU, or ``"auto"``: the one measured to be fastest for such a graph (`mst.advice`).
        filter-boruvka-cuda starts from the edge list as it is, unless ``start="csr"``.

    Raises
    ------
    InputError
        The arrays are no graph, or the algorithm runs on the host.
    UnsupportedError, OutOfMemoryError
        The algorithm does not take this graph, or it does not fit on the device.
    DependencyError
        CuPy is not installed.
    """
    cupy = _cupy()
    graph = None
    if isinstance(algorithm, str) and algorithm == "auto":
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
