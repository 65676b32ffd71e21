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
    graph: Any,
    *,
    algorithm: str = "auto",
    threads: int | None = None,
    maximum: bool = False,
    **options: Any,
) -> Forest | ArrayForest | DeviceForest | StreamForest: ...


@names_missing_numba
def minimum_spanning_forest(
    graph: Any,
    *,
    algorithm: str = "auto",
    threads: int | None = None,
    maximum: bool = False,
    **options: Any,
) -> Forest | ArrayForest | DeviceForest | StreamForest:
    """Return the minimum spanning forest of a graph, or its maximum spanning forest.

    Parameters
    ----------
    graph : Graph, tuple (n, u, v, w), path, SciPy sparse array, networkx graph, edge table, or batches of edges
        A tuple holds the vertex count and three arrays of equal length; a path names a file of any known
        format, or a canonical ``.arrow`` file. See `mst.interop.inputs` for the others. Arrays of a library that
        has ``from_dlpack``, such as PyTorch, give an `mst.interop.arrays.ArrayForest` with arrays of that library.
        Arrays on a CUDA device stay there, and so does the forest, which is then a `DeviceForest`. An iterator or a
        list of batches (tuples ``(u, v, w)``, record batches) or an Arrow dataset may be larger than memory
        (`mst.streaming.forest_of_batches`); its forest is a `StreamForest`.
    algorithm : str
        An id from ``mst list``, or ``"auto"``: the algorithm that was fastest in measurements of such graphs on the
        usable cores, or on the GPU if CuPy is loaded (`mst.advice`); or, while a process has solved only small graphs,
        one that needs no compiling or loading of code (`mst.advice.first`).
    threads : int, optional
        Threads that may be used, by default all usable cores, or as many as a container's quota of time can keep
        busy; more than the usable cores are refused. Algorithms for one core or one GPU accept only 1.
    maximum : bool
        Whether to find the heaviest forest; among equal weights, the smaller edge id still comes first. Only for
        graphs in host memory.
    **options
        The algorithm's own options, as ``mst list --json`` shows them. With batches, also ``n``, the number of
        vertices, and ``memory``, the bytes that may be used (or a text such as ``"8G"``).

    Returns
    -------
    Forest, ArrayForest, DeviceForest or StreamForest
        Exact algorithms, except for other libraries', break ties by (weight, edge id) and return the same edge ids. An
        `ArrayForest` has all that a `Forest` has; a `DeviceForest` has its ids, weight, `edges()` and `to_host()`.

    Raises
    ------
    InputError, FormatError
        The graph is not legal.
    ConfigError
        No such algorithm or option.
    UnsupportedError, DependencyError
        The algorithm does not fit this graph, or is not installed.
    OutOfMemoryError
        The graph's forest does not fit into memory.

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
    """The part of a call that names no graph; its attributes are parameters of `minimum_spanning_forest`."""

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
    """Return the forest of arrays that may be those of other libraries, in arrays of the same library."""
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
    """Return the forest of a graph of any kind but arrays of other libraries."""
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
    """Return the forest of arrays in host memory if a GPU is to solve them, which then checks them as well.

    None if that does not apply, or if the arrays are not legal: `Graph` finds the reason.
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
    """Return whether this is an iterator or a list of batches, or an Arrow dataset: a table is a graph in memory."""
    if isinstance(graph, _GRAPH_TYPES):
        return False
    is_table = hasattr(graph, "__arrow_c_stream__")  # a reader of record batches has it, but is an iterator
    return isinstance(graph, (Iterator, list)) or (not is_table and hasattr(graph, "to_batches"))


def _forest_of_stream(batches: Any, asked: Request) -> StreamForest:
    """Return the forest of batches: the options of a stream are its own, the others are those of the algorithm."""
    from mst.streaming import forest_of_batches

    options = dict(asked.options)
    own = {name: options.pop(name) for name in ("n", "memory") if name in options}
    solve, width = batch_solver(replace(asked, options=options))
    return forest_of_batches(batches, solve=solve, width=width, **own)


def check_request(asked: Request) -> None:
    """Raise at once the errors of a named algorithm that depend on no graph: its options, width and packages."""
    if asked.is_auto:
        return
    named = registry.get(asked.algorithm)
    named.resolve(asked.options)
    _width_in_process(named, asked.threads)
    named.refuse_missing()


def batch_solver(asked: Request) -> tuple[Callable[[Graph], Forest], int]:
    """Return the function that solves a stream's graphs, one after another, and the cores for solving and reading.

    The request is checked now.

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
    """Return the forest of a graph; `often` is that of `choose`."""
    if not asked.is_auto:
        named = registry.get(asked.algorithm)
        return _run(graph, named, asked.threads, advice.for_one_solve(named.id, asked.options))
    choice = choose(graph, asked, often=often)
    try:
        return _run_choice(graph, choice, asked.options)
    except (OutOfMemoryError, DependencyError, RuntimeError):  # CuPy's own are RuntimeErrors
        if choice.gpu is None:
            raise
        return _run_choice(graph, advice.measured_best(graph, width=cores_for(asked.threads)), asked.options)


def _run_choice(graph: Graph, choice: advice.Choice, options: dict[str, Any]) -> Forest:
    """Return the forest by the algorithm that ``"auto"`` chose, whose options the caller may have given."""
    algorithm = registry.get(choice.algorithm)
    try:
        algorithm.resolve(options)
    except ConfigError as error:
        hint = "; n and memory are for batches of edges" if options.keys() & {"n", "memory"} else ""
        raise ConfigError(
            f'with algorithm="auto", options must be those of the algorithm that is chosen: {error}{hint}'
        ) from error
    return _run(graph, algorithm, choice.width, {**choice.options, **options})


def _run(graph: Graph, algorithm: registry.Algorithm, threads: int | None, options: dict[str, Any]) -> Forest:
    """Return the forest that an algorithm finds; raise an error with the reason if it does not take the graph."""
    width = _width_in_process(algorithm, threads)
    if algorithm.paradigm == "threads":
        check_cores(width)
    # Not while `Forest` sorts the ids: what is returned has memory of its own.
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
    """Return edge ids, the seconds of the stages, and the width whose code was needed."""
    timed = _TimedWithoutCode()
    execution = execute(algorithm, graph, width, options, timed=timed)
    edge_ids = execution.collect()
    seconds = {"init": execution.init, "transfer": execution.transfer or 0.0, "compute": execution.compute}
    if code := timed.code_seconds():
        seconds["code"] = code
    used = width
    if algorithm.paradigm == "threads" and width > 1:
        # A graph that was left to one core has no code for threads compiled.
        used = execution.counters().get("width", width)
    return edge_ids, seconds, used


class _TimedWithoutCode:
    """Times calls without compiling and loading machine code."""

    def __init__(self) -> None:
        self._began: float | None = None

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> tuple[Any, float]:
        # Nothing is compiled between the stages, so the clock is as it was after the last one.
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
    """Return for how many seconds this thread has compiled and loaded machine code: 0 if numba is not loaded."""
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
    """Return the width that `threads` means for an algorithm: `usable_width` when it is not given."""
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
        Its options are those of the measured best.
    often : bool
        Whether the code will be used often, so that any wait for it pays.
    """
    gpu = "host" if usable_gpu() else None
    alone = asked.threads is None and gpu is None and advice.is_for_one_core(graph)
    cores = 1 if alone else cores_for(asked.threads)
    early = None if often or asked.options or gpu else first.early_choice(graph, cores)
    return early or advice.measured_best(graph, width=cores, gpu=gpu)


def usable_gpu() -> bool:
    """Return whether ``"auto"`` may take a GPU: this process has loaded CuPy, and that finds one.

    Loading CuPy and starting a GPU takes longer than solving most graphs, so this is left to the caller.
    """
    cupy = sys.modules.get("cupy")
    if cupy is None:
        return False
    try:
        return cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:  # no driver, no device, or another thread is still loading it: CuPy has an error for each
        return False


def _checking_cores(graph: Any, asked: Request) -> int:
    """Return how many cores a call may use to check arrays, and to convert a sparse array."""
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
    # As many as will solve: a change of their number starts and ends threads.
    return useful_width(cores, graph[-1].size) if type(graph) is tuple else cores


def as_graph(graph: Any, *, threads: int = 1) -> Graph:
    """Return a `Graph` from any input that `minimum_spanning_forest` accepts.

    Parameters
    ----------
    graph : Graph, tuple, path, sparse array, networkx graph, or edge table
        A tuple is ``(n, u, v, w)``; a path names a graph file. For the rest, and for the way back from edge ids
        to the caller's own nodes, see `mst.interop.inputs`. Only the package that the input comes from is imported.
    threads : int
        Threads that check arrays and convert a sparse array.

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
            "SciPy sparse array (of a dense matrix: scipy.sparse.csr_array(matrix)), a networkx graph, or a table with "
            "columns u, v, w or source, target, weight"
        )
    return converted


def _class_name(value: Any) -> str:
    """Return the name of a class, with that of its library: several have one called Graph."""
    library, name = type(value).__module__.partition(".")[0], type(value).__name__
    return name if library == "builtins" else f"{library}.{name}"


def read_graph(path: str | os.PathLike[str], *, format: str | None = None) -> Graph:
    """Read a graph file; the content decides the format unless `format` names it.

    Raises
    ------
    InputError, FormatError, ConfigError, OutOfMemoryError
        As `mst.formats.read`.

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
