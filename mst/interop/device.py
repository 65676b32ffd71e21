"""Graphs whose arrays are on a CUDA device (CuPy, the CUDA array interface, DLPack), solved on that device."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mst import advice, arrays, order, registry
from mst.algorithms.cuda.device import staging
from mst.algorithms.cuda.device.graph import DeviceGraph
from mst.algorithms.cuda.device.keys import EdgeList, SurveyedGraph, kernels_for
from mst.cores import MANY, usable_width
from mst.errors import DependencyError, InputError, UnsupportedError
from mst.execute import execute, implementation_of, refuse_unfit
from mst.forest import Forest
from mst.graph import WEIGHT_DTYPES, Graph, frozen, vertex_count
from mst.interop import gpu_call
from mst.units import counted

_ID_DTYPES = (np.int32, np.uint32, np.int64, np.uint64)


def device_graph(n: int, u: Any, v: Any, w: Any) -> SurveyedGraph:
    """Return a graph of arrays on a device; int32 ends and weights of a supported dtype are not copied.

    Parameters
    ----------
    n : int
        Number of vertices.
    u, v, w : array
        One-dimensional arrays of the same length, with ``__cuda_array_interface__`` or DLPack.

    Raises
    ------
    InputError
        The arrays have an unsupported shape or dtype, an id lies outside ``0 … n - 1``, or a weight is NaN.
    DependencyError
        CuPy is not installed.
    """
    cupy = _cupy()
    u, v, w = (as_cupy(array, name) for array, name in ((u, "u"), (v, "v"), (w, "w")))
    n = _vertex_count(n)
    if not (u.ndim == v.ndim == w.ndim == 1 and len(u) == len(v) == len(w)):
        raise InputError(
            f"u, v and w must be one-dimensional and have the same length, got {u.shape}, {v.shape}, {w.shape}"
        )
    for name, ends in (("u", u), ("v", v)):
        if ends.dtype.kind not in "iu":
            raise InputError(f"{name} must hold integers, got dtype {ends.dtype}: convert the ids first")
    if w.dtype not in WEIGHT_DTYPES:
        raise InputError(f"w has dtype {w.dtype}: use int32, int64, float32 or float64")
    wide = 8 in (u.itemsize, v.itemsize)
    given = [ends.astype(cupy.int64 if wide else cupy.int32, copy=False) for ends in (u, v)]
    narrow_u, narrow_v = cupy.empty((2, len(w)), cupy.int32) if wide else given
    if not len(w):
        return SurveyedGraph(n, narrow_u, narrow_v, w)
    addresses = [ends.data.ptr for ends in given] if wide else (0, 0)
    survey = kernels_for(w.dtype).survey(EdgeList.of(narrow_u, narrow_v, w), addresses)
    if survey.largest_end >= n:
        _refuse_outside(n, "u", u)
        _refuse_outside(n, "v", v)
    if survey.has_nan:
        raise InputError(
            f"w[{int(cupy.argmax(cupy.isnan(w)))}] is NaN, which cannot be ordered: drop that edge or replace "
            "its weight"
        )
    return SurveyedGraph(n, narrow_u, narrow_v, w, survey)


def _refuse_outside(n: int, name: str, ends: Any) -> None:
    """Raise `InputError` for the first row whose id is not a vertex, if there is one."""
    cupy = _cupy()
    if int(ends.min()) < 0 or int(ends.max()) >= n:
        row = int(cupy.argmax((ends < 0) | (ends >= n)))
        raise InputError(
            f"{name}[{row}] = {int(ends[row])} is not a vertex: ids run from 0 to {n - 1} (n = {n})"
        )


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise DependencyError(
            f"arrays on a device need CuPy, which is not installed: {registry.installing('cupy')}, or copy the "
            "arrays to the host"
        ) from error
    return cupy


def _vertex_count(n: Any) -> int:
    count = vertex_count(n)
    if count >= 2**31:
        raise InputError(f"the vertex count on a device must be below 2³¹, got {count}")
    return count


def as_cupy(array: Any, name: str) -> Any:
    """Return an array on a device as a contiguous CuPy array; raise `InputError` for an array on the host."""
    cupy = _cupy()
    if isinstance(array, cupy.ndarray):
        return cupy.ascontiguousarray(array)
    if not arrays.is_on_device(array):
        raise InputError(f"{name} is not on the device: give u, v and w all on the host or all on the device")
    readable = arrays.detached(array)
    take = cupy.asarray if hasattr(readable, "__cuda_array_interface__") else cupy.from_dlpack
    try:
        return cupy.ascontiguousarray(take(readable))
    except (TypeError, ValueError, BufferError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from error


@dataclass(frozen=True, eq=False)
class DeviceForest:
    """A minimum spanning forest on a CUDA device.

    Attributes
    ----------
    graph : DeviceGraph
        The graph that the forest spans.
    edge_ids : array of int64, shape (n - components,)
        Rows of the graph's edge list, ascending, as an array of the library of the graph's arrays, or of CuPy.
    algorithm : str
        Id of the algorithm that found the forest.
    given : tuple of three arrays
        The columns u, v and w of the graph, as arrays of the same library.
    """

    graph: DeviceGraph
    edge_ids: Any
    algorithm: str
    given: tuple[Any, Any, Any]

    def __len__(self) -> int:
        return len(self.edge_ids)

    def __repr__(self) -> str:
        return f"<DeviceForest {counted(len(self), 'edge')}, {counted(self.components, 'component')}>"

    @property
    def components(self) -> int:
        """Number of trees, isolated vertices included."""
        return self.graph.n - len(self)

    @property
    def weight(self) -> int | float:
        """Total weight, as in `mst.Forest`; weights of a float dtype are copied to the host for the sum."""
        weights = self.graph.w[as_cupy(self.edge_ids, "edge_ids")]
        return order.total(weights if weights.dtype.kind == "i" else weights.get())

    def edges(self) -> tuple[Any, Any, Any]:
        """Return the arrays ``(u, v, w)`` of the forest's edges, on the device."""
        u, v, w = self.given
        return u[self.edge_ids], v[self.edge_ids], w[self.edge_ids]

    def to_host(self) -> Forest:
        """Return the forest as a `Forest` in host memory, which has more methods, such as `labels` and `paths`."""
        graph = self.graph
        columns = (staging.download_array(column) for column in (graph.u, graph.v, graph.w))
        ids = staging.download_array(as_cupy(self.edge_ids, "edge_ids"))
        return Forest(Graph(graph.n, *columns, trusted=True), ids, algorithm=self.algorithm, trusted=True)


def forest_on_device(n: int, u: Any, v: Any, w: Any, *, algorithm: str, **options: Any) -> DeviceForest:
    """Return the forest of a graph on a device; only counters are copied to the host.

    Parameters
    ----------
    n : int
        Number of vertices.
    u, v, w : array
        As for `device_graph`.
    algorithm : str
        An algorithm of paradigm cuda, or ``"auto"``: the one that was fastest on similar graphs (`mst.advice`).
    **options
        Options of the algorithm; filter-boruvka-cuda starts from the edge list unless ``start="csr"`` is given.

    Raises
    ------
    InputError
        The arrays are not a graph, or the algorithm runs on the host.
    UnsupportedError, OutOfMemoryError
        The algorithm does not support this graph, or the device has not enough memory.
    DependencyError
        CuPy is not installed.
    """
    cupy = _cupy()
    graph = None
    if isinstance(algorithm, str) and algorithm == "auto":
        graph = device_graph(n, u, v, w)
        choice = advice.measured_best(graph, gpu="device")
        algorithm, options = choice.algorithm, {**choice.options, **options}

    chosen = registry.get(algorithm)
    if chosen.paradigm != "cuda":
        raise InputError(
            f"u, v and w are on a device, but {algorithm} runs on the host: copy them to the host first"
        )
    graph = graph or device_graph(n, u, v, w)
    ids = _edge_ids(chosen, graph, options)
    if not all(isinstance(given, cupy.ndarray) for given in (u, v, w)):
        out = arrays.importer((u, v, w)) or cupy.asarray
        u, v, w = (
            given if arrays.importer([given]) is out else out(stored)
            for given, stored in ((u, graph.u), (v, graph.v), (w, graph.w))
        )
        ids = out(ids)
    return DeviceForest(graph, ids, algorithm, (u, v, w))


def _edge_ids(algorithm: registry.Algorithm, graph: SurveyedGraph, options: dict[str, Any]) -> Any:
    """Return the edge ids that an algorithm finds, ascending int64, on the device."""
    if algorithm.id == advice.OURS_ON_GPU and graph.survey and (found := _from_edges(graph, options)):
        return gpu_call.edge_ids_on_device(graph, graph.survey, found)
    ids_of = implementation_of(algorithm).edge_ids
    if ids_of is None:
        raise UnsupportedError(
            f"{algorithm.id} cannot leave its result on the device, for lack of a function edge_ids: see mst.registry"
        )
    options = advice.for_one_solve(algorithm.id, options)
    ids = ids_of(execute(algorithm, graph, options=options).result)
    return _cupy().sort(ids.astype(np.int64))


def _from_edges(graph: Graph | DeviceGraph, options: dict[str, Any]) -> dict[str, Any] | None:
    """Return the options with which `OURS_ON_GPU` solves from the edge list; None if it uses rows or `n` is below 2."""
    algorithm = registry.get(advice.OURS_ON_GPU)
    options = algorithm.resolve(advice.for_one_solve(algorithm.id, options))
    refuse_unfit(algorithm, graph, 1, options)
    algorithm.load()  # before CuPy is needed
    return options if options.pop("start") == "edges" and graph.n > 1 else None


def forest_of_tree(n: int, u: Any, v: Any, w: Any, algorithm: str, like: Any) -> DeviceForest:
    """Return a forest on a device, given its edges alone, with arrays of the library of `like`."""
    cupy = _cupy()
    out = arrays.importer([like]) or cupy.asarray
    return DeviceForest(DeviceGraph(n, u, v, w), out(cupy.arange(len(w))), algorithm, (out(u), out(v), out(w)))


def unchecked_graph(n: Any, u: Any, v: Any, w: Any) -> Graph | None:
    """Return the graph of arrays in host memory without checking ids and weights, for `forest_of_unchecked`.

    Return None if the arrays need a conversion or another check.
    """
    plain = all(type(a) is np.ndarray and a.ndim == 1 for a in (u, v, w))
    if not plain or not len(u) == len(v) == len(w) > 0:
        return None
    if not (u.dtype == v.dtype and u.dtype in _ID_DTYPES and w.dtype in WEIGHT_DTYPES):
        return None
    threads = usable_width() if len(u) >= MANY else 1
    u, v, w = (arrays.contiguous(a, a.dtype, threads) for a in (u, v, w))
    # Unsigned ids are read as signed: ids of vertices do not change, and any from half the range on become negative.
    u, v = (a.view(f"i{a.itemsize}") for a in (u, v))
    try:
        return Graph(_vertex_count(n), u, v, w, trusted=True)
    except InputError:
        return None


class _WideGraph(Graph):
    """A graph given with 64-bit ids, which are converted on first use: finding the forest does not need them."""

    _given: tuple[np.ndarray, np.ndarray]

    def __init__(self, given: Graph) -> None:
        self.__dict__.update(n=given.n, w=given.w, name=given.name, _given=(given.u, given.v))

    def __reduce__(self) -> tuple:
        return Graph, (self.n, self.u, self.v, self.w)

    @cached_property
    def u(self) -> np.ndarray:  # type: ignore[override]
        """Ends of each edge, int32."""
        return frozen(self._given[0].astype(np.int32))

    @cached_property
    def v(self) -> np.ndarray:  # type: ignore[override]
        """Ends of each edge, int32."""
        return frozen(self._given[1].astype(np.int32))


def forest_of_unchecked(given: Graph, options: dict[str, Any]) -> Forest | None:
    """Return the forest of a graph from `unchecked_graph`, by `OURS_ON_GPU`; None if an id or weight is invalid.

    None is also returned if the options choose another start; see `mst.interop.gpu_call`.
    """
    filter_options = _from_edges(given, options)
    found = None if filter_options is None else gpu_call.edge_ids_of(given, filter_options)
    if found is None:
        return None
    graph = given if given.u.dtype == np.int32 else _WideGraph(given)
    seconds = {"init": 0.0, "transfer": found.transfer, "compute": found.compute}
    return Forest(graph, found.edge_ids, algorithm=advice.OURS_ON_GPU, seconds=seconds, trusted=True)
