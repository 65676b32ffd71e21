"""Batches of edges from arrays or Arrow data, which a thread reads ahead while earlier ones are processed."""

from __future__ import annotations

import _thread
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Executor
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from mst.errors import InputError
from mst.graph import Graph, column, frozen, weight_dtype
from mst.interop.tables import edge_columns
from mst.kernels.parallel.pool import Future, Pool
from mst.rounding import refuse_rounded

_T = TypeVar("_T")
_Sized = TypeVar("_Sized", bound=Sized)
_SEVERAL = "a list holds the batches of one graph; of several graphs, solve each by its own call"


class Batch(NamedTuple):
    """Consecutive edges of a stream.

    Attributes
    ----------
    u, v : numpy.ndarray of int32, uint32 or int64, shape (k,)
        Ends of the edges, not checked yet; `u` and `v` have the same dtype.
    w : numpy.ndarray of int32, int64, float32 or float64, shape (k,)
        Weights.
    name : str
        Name of the batch or of its file, for messages.
    first : int
        Position of the first edge in the batch or file called `name`.
    """

    u: np.ndarray
    v: np.ndarray
    w: np.ndarray
    name: str
    first: int = 0

    def slices(self, rows: int) -> Iterator[Batch]:
        """Yield slices of up to `rows` edges."""
        for start in range(0, len(self.w), rows):
            part = slice(start, start + rows)
            yield Batch(self.u[part], self.v[part], self.w[part], self.name, self.first + start)

    def after(self, start: int) -> Batch:
        """Return the edges from position `start` on, which is counted like `first`."""
        skipped = max(start - self.first, 0)
        u, v, w = (column[skipped:] for column in (self.u, self.v, self.w))
        return Batch(u, v, w, self.name, self.first + min(skipped, len(self.w)))

    def fault(self, row: int, problem: str) -> InputError:
        """Return an error about the edge in a row of this batch."""
        return InputError(f"{self.name}, row {self.first + row}: {problem}")


def batch_of(given: Any, name: str) -> Batch:
    """Return a batch from a tuple ``(u, v, w)`` or an edge table (`mst.interop.tables`).

    Raises
    ------
    InputError
        `given` is neither, or its columns cannot be edges; the message begins with `name`.
    """
    try:
        if isinstance(given, tuple | list):
            if len(given) != 3:
                several = f": {_SEVERAL}" if len(given) == 4 else ""
                raise InputError(
                    f"a batch must be a tuple (u, v, w) of three arrays, got {len(given)} values{several}"
                )
            if isinstance(given[0], int | float | str | np.generic):
                raise InputError(
                    f"a batch must be a tuple (u, v, w) of three arrays, got one edge, {tuple(given)!r}: pass all "
                    "edges at once as (n, u, v, w), with u, v, w = map(list, zip(*edges))"
                )
            u, v, w = (column(values, field) for values, field in zip(given, "uvw"))
            if isinstance(given[2], list | tuple):
                refuse_rounded(given[2], w, "w[{}]".format)
        elif isinstance(given, str | bytes):
            raise InputError(
                "a batch must be a tuple (u, v, w) or a table, got text: to read a file, give its path alone"
            )
        elif isinstance(given, int | float | np.generic | np.ndarray):
            raise InputError(
                f"a batch must be a tuple (u, v, w) or a table, got {type(given).__name__}: a whole graph is a tuple "
                "(n, u, v, w), not a list or an iterator"
            )
        elif isinstance(given, Graph):
            raise InputError(f"a batch must be a tuple (u, v, w) or a table, got a Graph: {_SEVERAL}")
        else:
            u, v, w, _ = edge_columns(given)
        return Batch(*_same_type(_ends(u, "u"), _ends(v, "v")), _weights(w, len(u), len(v)), name)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _stored(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a column as `dtype`, copied if it is writable, since its producer may reuse the memory."""
    return (np.array if values.flags.writeable else np.ascontiguousarray)(values, dtype)


def _ends(ids: np.ndarray, field: str) -> np.ndarray:
    """Return ids of any integer dtype, shape (k,), as int32, uint32 or int64."""
    if ids.size == 0:
        return np.empty(0, np.int32)
    if ids.dtype.kind not in "iu":
        raise InputError(f"{field} must hold integers, got dtype {ids.dtype}: convert the ids first")
    dtype = ids.dtype.newbyteorder("=")
    if dtype == np.uint64 and int(ids.max()) >= 2**63:
        row = int(np.argmax(ids))
        raise InputError(f"{field}[{row}] = {ids[row]} is not a vertex: ids are below 2⁶³; compact the ids")
    if dtype not in (np.int32, np.uint32):
        dtype = np.dtype(np.int32 if dtype.itemsize < 4 else np.int64)
    return _stored(ids, dtype)


def _same_type(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both columns of ends, read-only, in the narrowest dtype that holds both."""
    common = np.promote_types(u.dtype, v.dtype)
    return frozen(u.astype(common, copy=False)), frozen(v.astype(common, copy=False))


def _weights(w: np.ndarray, *lengths: int) -> np.ndarray:
    """Return weights in the dtype that a graph would store them in."""
    if any(length != len(w) for length in lengths):
        raise InputError(f"u, v and w must have the same length, got {', '.join(map(str, (*lengths, len(w))))}")
    return frozen(_stored(w, weight_dtype(w)))


def batches_of(stream: Any) -> Iterator[Batch]:
    """Yield the batches of an iterable of tuples or tables, or of an Arrow dataset."""
    batches: Iterable[Any] = stream.to_batches() if hasattr(stream, "to_batches") else stream
    for number, given in enumerate(batches):
        yield given if isinstance(given, Batch) else batch_of(given, f"batch {number}")


def slices(
    batches: Iterable[Batch], start: int, rows: Callable[[], int], dtype: np.dtype | None = None
) -> Iterator[tuple[Batch, int]]:
    """Yield slices of up to ``rows()`` edges, each with the position of its first edge in the stream.

    Parameters
    ----------
    batches : iterable of Batch
    start : int
        Position of the first edge of the first batch.
    rows : callable
        Called once per batch.
    dtype : dtype, optional
        The dtype of earlier weights.

    Raises
    ------
    InputError
        Some weights are int64 and others are floats: no dtype holds both exactly.
    """
    for batch in batches:
        if not len(batch.w):
            continue
        known, found = dtype or batch.w.dtype, batch.w.dtype
        dtype = np.promote_types(known, found)
        if dtype.kind == "f" and np.int64 in (known, found):
            raise batch.fault(
                0,
                f"w has dtype {found}, but earlier edges have {known}: use one dtype; in text, a decimal point in "
                "every weight",
            )
        for part in batch.slices(rows()):
            yield part, start
            start += len(part.w)


def map_ahead(pool: Executor, function: Callable[..., _T], calls: Iterable[tuple], ahead: int) -> Iterator[_T]:
    """Yield the results of calls by a pool, in order, while up to `ahead` later calls are submitted."""
    pending: deque[Any] = deque()
    for arguments in calls:
        pending.append(pool.submit(function, *arguments))
        if len(pending) > ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


class EdgeSemaphore:
    """A limit on the edges between reading and the table, at which the reading thread waits.

    Parameters
    ----------
    edges : int
        The limit, which may be raised at any time.
    """

    def __init__(self, edges: int):
        self.edges, self._taken, self._closed = edges, 0, False
        # Not the default lock of a condition, which an interruption could leave locked.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def acquire(self, edges: int) -> bool:
        """Take space for `edges`, waiting until there is enough, or all of it; return False if closed meanwhile."""
        with self._lock:
            self._changed.wait_for(lambda: self._closed or not self._taken or self._taken + edges <= self.edges)
            self._taken += edges
            return not self._closed

    def release(self, edges: int) -> None:
        """Return space for `edges`."""
        with self._lock:
            self._taken -= edges
            self._changed.notify()

    def close(self) -> None:
        """Let the waiting thread, and all later calls of `acquire`, continue at once."""
        with self._lock:
            self._closed = True
            self._changed.notify()


def _failed(error: BaseException) -> Future[Any]:
    """Return a failed future. A variable of the caller for it would be a cycle with the error's traceback."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


class ResultsAhead(Generic[_Sized]):
    """The results of calling a function for each slice of a stream, in order.

    A thread reads slices and submits them to a pool as long as `space` permits: a slice takes up its length, and later
    its result's. So reading and filtering continue while a result is used.

    Parameters
    ----------
    pool : Pool
    function : callable
        ``function(slice, start)`` returns a result with a length.
    parts : iterator of (Batch, int)
        Slices, and the positions of their first edges.
    space : EdgeSemaphore
    seconds : dict
        The time spent waiting for the thread is added to ``seconds["read"]``.
    """

    def __init__(
        self,
        pool: Pool,
        function: Callable[[Batch, int], _Sized],
        parts: Iterator[tuple[Batch, int]],
        space: EdgeSemaphore,
        seconds: dict[str, float],
    ):
        self._pool, self._function, self._space, self._seconds = pool, function, space, seconds
        self._found: queue.SimpleQueue[Future[_Sized] | None] = queue.SimpleQueue()
        self._waiting: deque[Future[_Sized] | None] = deque()
        self._parts = parts

    def _read(self) -> None:
        # As in a `threading.Thread`, so that debuggers and coverage tools see the iterator's code.
        sys.settrace(threading.gettrace())
        sys.setprofile(threading.getprofile())
        try:
            for part, start in self._parts:
                if not self._space.acquire(len(part.w)):
                    return
                self._found.put(self._pool.submit(self._first, part, start))
            self._found.put(None)
        except BaseException as error:
            self._found.put(_failed(error))

    def _first(self, part: Batch, start: int) -> _Sized:
        result = self._function(part, start)
        self._space.release(len(part.w) - len(result))
        return result

    def again(self, function: Callable[[_Sized], _Sized]) -> None:
        """Replace each finished result by the value of `function` for it, which the pool computes."""

        def repeat(future: Future[_Sized]) -> _Sized:
            before = future.result()
            result = function(before)
            self._space.release(len(before) - len(result))
            return result

        while not self._found.empty():
            self._waiting.append(self._found.get())
        for i, future in enumerate(self._waiting):
            if future is not None and future.done():
                self._waiting[i] = self._pool.submit(repeat, future)

    def __iter__(self) -> Iterator[_Sized]:
        try:
            # As in `mst.kernels.parallel.pool`; the thread, if it has started, is ended below.
            _thread.start_new_thread(self._read, ())
            while True:
                if not self._waiting:
                    started = perf_counter()
                    self._waiting.append(self._found.get())
                    self._seconds["read"] += perf_counter() - started
                future = self._waiting.popleft()
                if future is None:
                    return
                try:
                    result = future.result()
                finally:
                    del future  # in its error's traceback, it would be a cycle that keeps the table
                yield result
                self._space.release(len(result))
        finally:
            self.close()

    def close(self) -> None:
        """Let the reading thread end."""
        self._space.close()
