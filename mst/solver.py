"""The library's main call: from a graph, arrays or a path to the forest."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from mst import advice, arrays, registry
from mst.advice import first
from mst.cores import MANY, check_cores, cores_for, usable_width, useful_width, whole_threads
from mst.errors import (
    ConfigError,
    DependencyError,
    InputError,
    OutOfMemoryError,
    UnsupportedError,
    names_missing_numba,
    nearest,
)
from mst.execute import execute
from mst.forest import Forest
from mst.graph import Graph, columns_of
from mst.kernels.primitives.recycled import keeping_if_large

_HOST_TYPES = (np.ndarray, np.integer, list, tuple, int)
_GRAPH_TYPES = (Graph, tuple, str, os.PathLike)

if TYPE_CHECKING:
    from mst.interop.arrays import ArrayForest
    from mst.interop.device import DeviceForest
    from mst.streaming import StreamForest

_Column: TypeAlias = np.ndarray | Sequence[float]


@overload
def minimum_spanning_forest(
    graph: Graph | str | os.PathLike[str] | tuple[int, _Column, _Column, _Column],
    *,
    algorithm: str = "auto",
    threads: int | None = None,
    maximum: bool = False,
    **options: Any,
) -> Forest: ...


@overload
def minimum_spanning_forest(
    graph: Any, *, algorithm: str = "auto", threads: int | None = None, maximum: bool = False, **options: Any
) -> Forest | ArrayForest | DeviceForest | StreamForest: ...


@names_missing_numba
def minimum_spanning_forest(
    graph: Any, *, algorithm: str = "auto", threads: int | None = None, maximum: bool = False, **options: Any
) -> Forest | ArrayForest | DeviceForest | StreamForest:
    """Return the minimum spanning forest of a graph, or its maximum spanning forest.

    Parameters
    ----------
    graph : Graph, tuple (n, u, v, w), path, SciPy sparse array, networkx graph, edge table, or batches of edges
        A tuple holds the vertex count and three arrays of equal length; a path names a graph file in any of
        `mst.formats.FORMATS`. `mst.interop.inputs` describes the objects of other libraries. Arrays of a library with
        a function ``from_dlpack``, such as PyTorch, give an `mst.interop.arrays.ArrayForest`, whose results are arrays
        of the same library. Arrays on a CUDA device stay there, and the result is a `DeviceForest` on that device.
        An iterator or list of batches (tuples ``(u, v, w)`` or record batches) and an Arrow dataset may be larger than
        memory (`mst.streaming.forest_of_batches`); the result is a `StreamForest`.
    algorithm : str
        An id from ``mst list``, or ``"auto"``: the algorithm that was fastest on similar graphs when measured on as
        many cores, or on a GPU if CuPy is loaded (`mst.advice`). As long as a process has solved only small graphs,
        ``"auto"`` may prefer an algorithm that needs no code compiled or loaded (`mst.advice.first`).
    threads : int, optional
        The most threads to use: by default all usable cores, or as many as the CPU quota of a container keeps busy.
        More than the usable cores are refused; algorithms for one core or one GPU accept only 1.
    maximum : bool
        Whether to find the heaviest spanning forest instead; among equal weights, the smaller edge id still comes
        first. Supported for graphs in host memory.
    **options
        Options of the algorithm; ``mst list --json`` describes them. Batches also accept ``n``, the number of
        vertices, and ``memory``, the most bytes to use (a number, or a string such as ``"8G"``).

    Returns
    -------
    Forest, ArrayForest, DeviceForest or StreamForest
        All exact algorithms of this package break ties by (weight, edge id) and so return the same edge ids; those of
        other libraries may break ties differently. An `ArrayForest` has every attribute and method of a `Forest`; a
        `DeviceForest` has ``edge_ids``, ``weight``, ``edges()`` and ``to_host()``.

    Raises
    ------
    InputError, FormatError
        The graph is invalid.
    ConfigError
        There is no such algorithm or option.
    UnsupportedError, DependencyError
        The algorithm does not support this graph, or a package that it needs is not installed.
    OutOfMemoryError
        There is not enough memory to compute the forest.

    Examples
    --------
    >>> import mst
    >>> mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6])).weight
    11
    >>> mst.minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6]), maximum=True).weight
    13
    """
    if not isinstance(maximum, int | np.bool_ | None):
        raise InputError(f"maximum must be True or False, got {maximum!r}")
    asked = Request(algorithm, threads, options)
    try:
        if isinstance(graph, tuple) and not all(isinstance(part, _HOST_TYPES) for part in columns_of(graph)):
            return _forest_of_foreign_arrays(graph, asked, maximum)
        return _forest_of_any(graph, asked, maximum)
    except ConfigError as error:
        # The misspelt option may be an argument of this function.
        hints = (nearest(name, ("algorithm", "threads", "maximum"), cutoff=0.75) for name in options)
        error.args = (f"{error}{''.join(hints)}",)
        raise


@dataclass(frozen=True)
class Request:
    """The arguments of `minimum_spanning_forest` other than the graph."""

    algorithm: str
    threads: int | None
    options: dict[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.algorithm, str):
            # Before it is compared with names: an array compares element by element.
            registry.get(self.algorithm)

    @property
    def is_auto(self) -> bool:
        """Whether the algorithm is to be chosen."""
        return self.algorithm == "auto"


def _forest_of_foreign_arrays(
    graph: tuple, asked: Request, maximum: bool
) -> Forest | ArrayForest | DeviceForest:
    """Return the forest of arrays of any library, as arrays of the same library."""
    if not any(map(arrays.is_on_device, graph)):
        from mst.interop.arrays import in_library_of

        return in_library_of(_forest_of_any(arrays.readable(graph), asked, maximum), *graph[1:])
    if maximum:
        raise UnsupportedError(
            "maximum takes a graph in host memory, not arrays on a device: negate their weights"
        )
    if whole_threads(asked.threads) not in (None, 1):
        raise UnsupportedError(
            f"arrays on a device are solved on that device, not on {asked.threads} threads: leave threads out"
        )
    from mst.interop.device import forest_on_device

    return forest_on_device(*graph, algorithm=asked.algorithm, **asked.options)


def _forest_of_any(graph: Any, asked: Request, maximum: bool) -> Any:
    """Return the forest of any graph, except arrays of other libraries."""
    if maximum:
        return _maximum_forest(graph, asked)
    if isinstance(graph, tuple):
        forest = _forest_checked_by_gpu(graph, asked)
        if forest is not None:
            return forest
    if _is_stream(graph):
        return _forest_of_stream(graph, asked)
    graph = as_graph(graph, threads=_checking_cores(graph, asked))
    try:
        return _forest_of_graph(graph, asked)
    except MemoryError as error:
        raise OutOfMemoryError(
            f"not enough memory for a forest of {graph!r}: {error or 'none is left'}"
        ) from error


def _maximum_forest(graph: Any, asked: Request) -> Forest:
    """Return the maximum spanning forest: the minimum one of weights in reverse order."""
    if _is_stream(graph):
        raise UnsupportedError("maximum takes a graph in host memory, not batches: negate their weights")
    graph = as_graph(graph, threads=_checking_cores(graph, asked))
    # Every integer has a complement, unlike a negative.
    weights = ~graph.w if graph.w.dtype.kind == "i" else -graph.w
    reverse = Graph(graph.n, graph.u, graph.v, weights, name=graph.name, trusted=True)
    forest = _forest_of_any(reverse, asked, maximum=False)
    return replace(forest, graph=graph, maximum=True, trusted=True)  # the edge ids were checked


def _forest_checked_by_gpu(columns: tuple, asked: Request) -> Forest | None:
    """Return the forest of arrays in host memory if a GPU is to solve it; the GPU then also checks the arrays.

    Return None if no GPU is to solve it, or if the arrays are invalid: making a `Graph` of them finds the reason.
    """
    if asked.algorithm != advice.OURS_ON_GPU and not (asked.is_auto and usable_gpu()):
        return None
    from mst.interop.device import forest_of_unchecked, unchecked_graph

    graph = unchecked_graph(*columns)
    if graph is None or (whole_threads(asked.threads) not in (None, 1) and not asked.is_auto):
        return None
    if not asked.is_auto:
        return forest_of_unchecked(graph, asked.options)
    choice = choose(graph, asked)
    if choice.algorithm != advice.OURS_ON_GPU:
        return None
    try:
        return forest_of_unchecked(graph, {**choice.options, **asked.options})
    except (OutOfMemoryError, DependencyError, RuntimeError):  # the cores remain
        return None


def _is_stream(graph: Any) -> bool:
    """Return whether this is an iterator or a list of batches, or an Arrow dataset; a table is a graph in memory."""
    if isinstance(graph, _GRAPH_TYPES):
        return False
    is_table = hasattr(graph, "__arrow_c_stream__")  # a reader of record batches has it, but is an iterator
    return isinstance(graph, (Iterator, list)) or (not is_table and hasattr(graph, "to_batches"))


def _forest_of_stream(batches: Any, asked: Request) -> StreamForest:
    """Return the forest of batches, whose options ``n`` and ``memory`` are not passed to the algorithm."""
    from mst.streaming import forest_of_batches

    options = dict(asked.options)
    of_stream = {name: options.pop(name) for name in ("n", "memory") if name in options}
    solve, width = batch_solver(replace(asked, options=options))
    return forest_of_batches(batches, solve=solve, width=width, **of_stream)


def check_request(asked: Request) -> None:
    """Raise the errors that depend on no graph: wrong options or threads, and missing packages."""
    if asked.is_auto:
        return
    named = registry.get(asked.algorithm)
    named.resolve(asked.options)
    _width_in_process(named, asked.threads)
    named.refuse_missing()


def batch_solver(asked: Request) -> tuple[Callable[[Graph], Forest], int]:
    """Check a request; return the function that solves the graphs of a stream, and the number of cores to use.

    Raises
    ------
    ConfigError, UnsupportedError, DependencyError
        As for `minimum_spanning_forest`.
    """
    cores = cores_for(asked.threads)
    check_request(asked)
    if asked.is_auto and cores == 2:
        # Reading and filtering continue meanwhile: two threads would share the rest of the second core.
        asked = replace(asked, threads=1)
    return lambda graph: _forest_of_graph(graph, asked, often=True), cores


def _forest_of_graph(graph: Graph, asked: Request, *, often: bool = False) -> Forest:
    """Return the forest of a graph; `often` is as for `choose`."""
    if not asked.is_auto:
        named = registry.get(asked.algorithm)
        return _run(graph, named, asked.threads, advice.for_one_solve(named.id, asked.options))
    choice = choose(graph, asked, often=often)
    try:
        return _run_choice(graph, choice, asked.options)
    except (OutOfMemoryError, DependencyError, RuntimeError):  # CuPy raises subclasses of RuntimeError
        if choice.gpu is None:
            raise
        return _run_choice(graph, advice.measured_best(graph, width=cores_for(asked.threads)), asked.options)


def _run_choice(graph: Graph, choice: advice.Choice, options: dict[str, Any]) -> Forest:
    """Return the forest by the algorithm that ``"auto"`` chose, with the caller's options."""
    algorithm = registry.get(choice.algorithm)
    try:
        algorithm.resolve(options)
    except ConfigError as error:
        hint = "; n and memory are for batches of edges" if options.keys() & {"n", "memory"} else ""
        raise ConfigError(
            f'algorithm="auto" accepts only options of the algorithm that it chooses: {error}{hint}'
        ) from error
    return _run(graph, algorithm, choice.width, {**choice.options, **options})


def _run(graph: Graph, algorithm: registry.Algorithm, threads: int | None, options: dict[str, Any]) -> Forest:
    """Return the forest that an algorithm finds; raise `UnsupportedError` if it does not support the graph."""
    width = _width_in_process(algorithm, threads)
    if algorithm.paradigm == "threads":
        check_cores(width)
    # Ends before `Forest` sorts the ids, so that the sorted ones have memory of their own.
    with keeping_if_large(max(graph.n, graph.m)):
        edge_ids, seconds, used = _solved(graph, algorithm, width, options)
    first.solved(graph, algorithm, options, used)
    cores = width if algorithm.paradigm == "threads" else usable_width() if algorithm.paradigm == "cuda" else 1
    cores = useful_width(cores, graph.m)
    return Forest(
        graph, edge_ids, algorithm=algorithm.id, seconds=seconds, exact=algorithm.exact, threads=cores
    )


def _solved(
    graph: Graph, algorithm: registry.Algorithm, width: int, options: dict[str, Any]
) -> tuple[np.ndarray, dict[str, float], int]:
    """Return the edge ids, the seconds by stage, and the number of threads that the executed code is compiled for."""
    timed = _TimedWithoutCode()
    execution = execute(algorithm, graph, width, options, timed=timed)
    edge_ids = execution.collect()
    seconds = {"init": execution.init, "transfer": execution.transfer or 0.0, "compute": execution.compute}
    if code := timed.code_seconds():
        seconds["code"] = code
    used = width
    if algorithm.paradigm == "threads" and width > 1:
        # If one core solved the graph, no code for threads was compiled.
        used = execution.counters().get("width", width)
    return edge_ids, seconds, used


class _TimedWithoutCode:
    """Times calls, not counting the time of compiling and loading machine code."""

    def __init__(self) -> None:
        self._began: float | None = None

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> tuple[Any, float]:
        # Nothing is compiled between stages, so the last reading still holds.
        if self._began is None:
            self._began = self._code = code_seconds()
        started = perf_counter()
        value = function(*args, **kwargs)
        seconds, now = perf_counter() - started, code_seconds()
        code, self._code = now - self._code, now
        return value, seconds - code

    def code_seconds(self) -> float:
        """Return the time of compiling and loading since the first call began."""
        return 0.0 if self._began is None else code_seconds() - self._began


def code_seconds() -> float:
    """Return the seconds that this thread has spent compiling and loading machine code: 0 if numba is not loaded."""
    module = sys.modules.get("mst.kernels.primitives.machine_code")
    try:
        return module.code_seconds() if module else 0.0
    except AttributeError:  # another thread is loading it
        return 0.0


def _width_in_process(algorithm: registry.Algorithm, threads: int | None) -> int:
    if algorithm.paradigm == "mpi":
        raise UnsupportedError(f"{algorithm.id} runs under MPI: use `mst run`, or mst.mpi in a script")
    return width_of(algorithm, threads)


def width_of(algorithm: registry.Algorithm, threads: int | None, *, cores: int | None = None) -> int:
    """Return the width of an algorithm for the argument `threads`; None means `cores`, or else `usable_width`."""
    threads = whole_threads(threads)
    if algorithm.paradigm in ("sequential", "peer") and threads not in (None, 1):
        raise UnsupportedError(f"{algorithm.id} runs on one thread, not on {threads}: leave threads out")
    if threads is None and algorithm.paradigm == "threads":
        return cores or usable_width()
    return threads or 1


def choose(graph: Graph, asked: Request, *, often: bool = False) -> advice.Choice:
    """Return the choice of ``"auto"`` in this process: the measured best, unless its code is not worth the wait.

    Parameters
    ----------
    graph : Graph
    asked : Request
        Options, if any, are for the measured best, which is then chosen.
    often : bool
        Whether the code will be used so often that waiting for it is always worthwhile.
    """
    gpu = "host" if usable_gpu() else None
    alone = asked.threads is None and gpu is None and advice.is_for_one_core(graph)
    cores = 1 if alone else cores_for(asked.threads)
    early = None if often or asked.options or gpu else first.early_choice(graph, cores)
    return early or advice.measured_best(graph, width=cores, gpu=gpu)


def usable_gpu() -> bool:
    """Return whether ``"auto"`` may use a GPU: the process has loaded CuPy, and CuPy finds a GPU.

    Loading CuPy and starting a GPU takes longer than solving most graphs, so it is left to the caller.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return False
    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except (
        Exception
    ):  # no driver, no device, or another thread is still loading CuPy: each raises another error
        return False


def _checking_cores(graph: Any, asked: Request) -> int:
    """Return how many cores to use for checking arrays and converting a sparse array."""
    if isinstance(graph, Graph):
        return 1
    if type(graph) is tuple and (not isinstance(graph[-1], np.ndarray) or graph[-1].size < MANY):
        return 1
    # Loading the code of threads takes longer than checking, and compiling it a hundred times as long.
    if asked.is_auto:
        many = "mst.kernels.parallel.runtime" in sys.modules
    else:
        many = registry.get(asked.algorithm).paradigm == "threads"
    if not many:
        return 1
    cores = min(whole_threads(asked.threads) or sys.maxsize, usable_width())
    # As many as will solve the graph: changing the number starts and ends threads.
    return useful_width(cores, graph[-1].size) if type(graph) is tuple else cores


def as_graph(graph: Any, *, threads: int = 1) -> Graph:
    """Return a `Graph` from any input that `minimum_spanning_forest` accepts.

    Parameters
    ----------
    graph : Graph, tuple, path, sparse array, networkx graph, or edge table
        A tuple is ``(n, u, v, w)``; a path names a graph file. `mst.interop.inputs` describes the others, and how to
        map edge ids back to the caller's nodes. Only the package that the input comes from is imported.
    threads : int
        Threads for checking arrays and converting a sparse array.

    Raises
    ------
    InputError, FormatError, ConfigError, OutOfMemoryError
        The input is not a valid graph, or of an unknown type.

    Examples
    --------
    >>> from mst.solver import as_graph
    >>> as_graph((3, [0, 1], [1, 2], [5, 7])).m
    2
    """
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, tuple):
        return Graph(*columns_of(graph), threads=threads)
    if isinstance(graph, str | os.PathLike):
        return read_graph(graph)
    from mst.interop.inputs import convert

    converted = convert(graph, threads=threads)
    if converted is None:
        raise InputError(
            f"cannot make a graph from {_class_name(graph)}: give an mst.Graph, a tuple (n, u, v, w), a path, a "
            "SciPy sparse array (for a dense matrix, scipy.sparse.csr_array(matrix)), a networkx graph, or a table "
            "with columns u, v, w or source, target, weight"
        )
    return converted


def _class_name(value: Any) -> str:
    """Return the name of a value's class with its library, since several libraries have a class Graph."""
    library, name = type(value).__module__.partition(".")[0], type(value).__name__
    return name if library == "builtins" else f"{library}.{name}"


def read_graph(path: str | os.PathLike[str], *, format: str | None = None) -> Graph:
    """Read a graph file; by default, the format is detected from the content.

    Parameters
    ----------
    path, format
        As for `mst.formats.read`, which this function calls.

    Returns
    -------
    Graph

    Raises
    ------
    InputError, FormatError, ConfigError, OutOfMemoryError
        As for `mst.formats.read`.

    Examples
    --------
    >>> import mst, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "tiny.txt")
    ...     _ = file.write_text("0 1 5\\n1 2 7\\n")
    ...     mst.read_graph(file).m
    2
    """
    from mst.formats import read

    return read(path, format=format)
