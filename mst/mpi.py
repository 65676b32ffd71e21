"""Minimum spanning forests under MPI, in one call by all ranks, from a canonical file or from each rank's own edges.

Start a script with ``mpiexec -n 8 python script.py``. `import mst` loads neither this module nor mpi4py.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np

from mst import registry
from mst.arrays import readable
from mst.edge_slice import EdgeSlice
from mst.errors import InputError, MSTError, UnsupportedError
from mst.execute import implementation_of, refuse_unfit
from mst.formats import file_path
from mst.formats.edge_slice import read_edge_slice
from mst.graph import Graph, columns_of
from mst.order import total

STATUS = 70
"""Exit status of a job that is ended because a rank failed."""

_FORWARDING_SECONDS = 0.5


@dataclass(frozen=True, eq=False)
class RankForest:
    """A spanning forest of a graph that is distributed over MPI ranks.

    Attributes
    ----------
    n, m : int
        Vertices and edges of the whole graph.
    edge_ids : numpy.ndarray of int64, shape (edges,) or (0,)
        On rank 0, all edge ids of the forest, ascending; empty on other ranks.
    local_ids : numpy.ndarray of int64, shape (k,)
        Edge ids of the forest among this rank's edges, ascending. Subtract `start` to index this rank's arrays.
    start : int
        Edge id of this rank's first edge.
    edges : int
        Number of edges of the forest.
    weight : int or float
        Total weight, as in `mst.Forest`.
    """

    n: int
    m: int
    edge_ids: np.ndarray
    local_ids: np.ndarray
    start: int
    edges: int
    weight: int | float

    @property
    def components(self) -> int:
        """Number of trees, isolated vertices included."""
        return self.n - self.edges


def minimum_spanning_forest(
    path_or_local_edges: Any, comm: Any = None, *, algorithm: str = "filter-boruvka-mpi", **options: Any
) -> RankForest:
    """Return the minimum spanning forest of a graph that is distributed over ranks, all of which must call this.

    Parameters
    ----------
    path_or_local_edges : path, or tuple ``(n, u, v, w)``
        Either a canonical ``.arrow`` file, as ``mst convert`` writes it, of which each rank reads its part; or the
        vertex count and this rank's edges, which get ids in order of ranks. A rank may have no edges. Weights must have
        the same dtype on all ranks.
    comm : mpi4py.MPI.Comm, optional
        The ranks; by default, all ranks of the job.
    algorithm : str
        The id of an algorithm of paradigm mpi.
    **options
        Options of the algorithm.

    Returns
    -------
    RankForest

    Raises
    ------
    InputError, UnsupportedError, ConfigError
        The input is invalid on some rank; every rank raises an error. A rank that fails later prints its error and
        aborts all ranks with status 70.

    Examples
    --------
    >>> from mst.mpi import minimum_spanning_forest  # doctest: +SKIP
    >>> minimum_spanning_forest((3, [0, 1, 2], [1, 2, 0], [5, 7, 6])).weight  # doctest: +SKIP
    11
    """
    if comm is None:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    chosen = registry.get(algorithm)
    if chosen.paradigm != "mpi":
        raise UnsupportedError(f"{chosen.id} does not run under MPI: call mst.minimum_spanning_forest")
    part = _together(comm, lambda: _slice_of(path_or_local_edges, comm))
    if not isinstance(path_or_local_edges, str | os.PathLike):
        part = _numbered(part, comm)
    resolved = chosen.resolve(options)
    refuse_unfit(chosen, part, comm.size, resolved)
    implementation = _together(comm, lambda: implementation_of(chosen))
    try:
        problem = implementation.ready(part, options=resolved, comm=comm).problem
        collected = implementation.collect_edges(problem, implementation.solve(problem))
        ids = np.sort(collected.astype(np.int64, copy=False))
        return _forest(part, ids, comm)
    except BaseException:
        if comm.size == 1:
            raise
        abort(comm)
        raise


def abort(comm: Any) -> None:
    """Print the current error and end all ranks, which would otherwise wait for this one forever."""
    traceback.print_exc()
    print(f"rank {comm.rank} of {comm.size} failed: ending the job", file=sys.stderr, flush=True)
    # A launcher may end before it has forwarded all output of the ranks.
    time.sleep(_FORWARDING_SECONDS)
    comm.Abort(STATUS)


def _slice_of(given: Any, comm: Any) -> EdgeSlice:
    """Return the rank's part of the graph; for edges in memory, `_numbered` has to correct `m` and `start`."""
    if isinstance(given, str | os.PathLike):
        return read_edge_slice(file_path(given), comm.rank, comm.size)
    if not isinstance(given, tuple):
        raise InputError(
            f"cannot read edges from {type(given).__name__}: give the path of a canonical file, or (n, u, v, w)"
        )
    graph = Graph(*readable(columns_of(given)))
    return EdgeSlice(graph.n, graph.m, 0, graph.u, graph.v, graph.w)


def _together(comm: Any, work: Any) -> Any:
    """Return the result of `work()`; if it raises an `MSTError` on some rank, raise an `MSTError` on every rank."""
    value = error = None
    try:
        value = work()
    except MSTError as caught:
        error = caught
    except BaseException:
        if comm.size > 1:
            abort(comm)
        raise
    messages = comm.allgather(None if error is None else str(error))
    if error is not None:
        raise error
    for rank, message in enumerate(messages):
        if message is not None:
            raise InputError(f"rank {rank}: {message}")
    return value


def _numbered(part: EdgeSlice, comm: Any) -> EdgeSlice:
    """Return the part with edge ids that are numbered consecutively over all ranks."""
    parts = comm.allgather((part.n, part.w.dtype.name if part.rows else None, part.rows))
    counts = {n for n, _, _ in parts}
    dtypes = {dtype for _, dtype, _ in parts if dtype}
    if len(counts) > 1:
        raise InputError(f"the ranks give different vertex counts: {', '.join(map(str, sorted(counts)))}")
    if len(dtypes) > 1:
        raise InputError(
            f"the ranks give weights of different dtypes: {', '.join(sorted(dtypes))}; convert them"
        )
    rows = [size for _, _, size in parts]
    w = part.w if part.rows or not dtypes else part.w.astype(dtypes.pop())
    return EdgeSlice(part.n, sum(rows), sum(rows[: comm.rank]), part.u, part.v, w)


def _forest(part: EdgeSlice, ids: np.ndarray, comm: Any) -> RankForest:
    """Return the forest on every rank. Rank 0 has all `ids` and sends each rank the ids of the rank's edges."""
    from mst.kernels.mpi.exchange import exchange, gather

    starts = np.array([*comm.allgather(part.start), part.m], np.int64)
    counts = np.diff(np.searchsorted(ids, starts)) if comm.rank == 0 else np.zeros(comm.size, np.int64)
    local, _ = exchange(comm, ids, counts)
    weights = gather(comm, part.w[local - part.start])
    edges, weight = comm.bcast((len(ids), total(weights)))
    return RankForest(part.n, part.m, ids, local, part.start, edges, weight)
