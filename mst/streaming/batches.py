"""Batches of edges, from arrays or Arrow data, read ahead by a thread while earlier ones are processed."""

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
from mst.graph import column, frozen, weight_dtype
from mst.interop.tables import edge_columns
from mst.kernels.parallel.pool import Future, Pool
from mst.rounding import refuse_rounded

_T = TypeVar("_T")
_Sized = TypeVar("_Sized", bound=Sized)


class Batch(NamedTuple):
    """Consecutive edges of a stream.

    Attributes
    ----------
    u, v : numpy.ndarray of int32, uint32 or int64, shape (k,)
        Of one dtype; not checked yet.
    w : numpy.ndarray, shape (k,)
        int32, int64, float32 or float64.
    name : str
        For messages.
    first : int
        The place of the first edge in the file or stream called `name`.
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
        """Return the edges from the place `start` on, which is counted in the same way as `first`."""
        skipped = max(start - self.first, 0)
        u, v, w = (column[skipped:] for column in (self.u, self.v, self.w))
        return Batch(u, v, w, self.name, self.first + min(skipped, len(self.w)))

    def fault(self, row: int, problem: str) -> InputError:
        """Return an error that names one of these edges."""
        return InputError(f"{self.name}, row {self.first + row}: {problem}")


def batch_of(given: Any, name: str) -> Batch:
    """Return a batch from a tuple ``(u, v, w)`` or an edge table (`mst.interop.tables`).

    Raises
    ------
    InputError
        It is neither, or its columns cannot be those of edges; named by `name`.
    """
    try:
        if isinstance(given, tuple | list):
            if len(given) != 3:
                raise InputError(f"a batch must be a tuple (u, v, w) of three arrays, got {len(given)} values")
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
        else:
            u, v, w, _ = edge_columns(given)
        return Batch(*_same_type(_ends(u, "u"), _ends(v, "v")), _weights(w, len(u), len(v)), name)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _stored(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return a column, shape (k,), as `dtype`; a copy if it is writable, since its producer may reuse it."""
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
    """Return both ends, each of shape (k,), in the narrowest dtype that holds both, read-only."""
    common = np.promote_types(u.dtype, v.dtype)
    return frozen(u.astype(common, copy=False)), frozen(v.astype(common, copy=False))


def _weights(w: np.ndarray, *lengths: int) -> np.ndarray:
    """Return weights, shape (k,), as a graph would store them: int32, int64, float32 or float64."""
    if any(length != len(w) for length in lengths):
        raise InputError(f"u, v and w must have the same length, got {', '.join(map(str, (*lengths, len(w))))}")
    return frozen(_stored(w, weight_dtype(w)))


def batches_of(stream: Any) -> Iterator[Batch]:
    """Yield the batches of an iterable of tuples or tables, of a dataset, or of a reader of record batches."""
    batches: Iterable[Any] = stream.to_batches() if hasattr(stream, "to_batches") else stream
    for number, given in enumerate(batches):
        yield given if isinstance(given, Batch) else batch_of(given, f"batch {number}")


def slices(
    batches: Iterable[Batch], start: int, rows: Callable[[], int], dtype: np.dtype | None = None
) -> Iterator[tuple[Batch, int]]:
    """Yield slices of up to ``rows()`` edges, each with the place of its first edge in the stream.

    Parameters
    ----------
    batches : iterable of Batch
    start : int
        The place of the first edge of all.
    rows : callable
        Called for each batch.
    dtype : dtype, optional
        The dtype of earlier weights.

    Raises
    ------
    InputError
        Some weights are int64 and others fractions: no dtype holds both exactly.
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
    """Yield the results of calls by a pool, in their order; up to `ahead` calls more are begun or done."""
    pending: deque[Any] = deque()
    for arguments in calls:
        pending.append(pool.submit(function, *arguments))
        if len(pending) > ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()


class EdgeSemaphore:
    """Space for edges between reading and the table, which the reading thread waits for.

    Parameters
    ----------
    edges : int
        As many as may wait. It may be set to more at any time.
    """

    def __init__(self, edges: int):
        self.edges, self._taken, self._closed = edges, 0, False
        # Not the condition's own lock, which an interruption could leave locked.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    def acquire(self, edges: int) -> bool:
        """Wait for this much space, or for all of it, and take it; return False if the semaphore was closed."""
        with self._lock:
            self._changed.wait_for(lambda: self._closed or not self._taken or self._taken + edges <= self.edges)
            self._taken += edges
            return not self._closed

    def release(self, edges: int) -> None:
        """Give back space."""
        with self._lock:
            self._taken -= edges
            self._changed.notify()

    def close(self) -> None:
        """Release all that wait, now and later."""
        with self._lock:
            self._closed = True
            self._changed.notify()


def _failed(error: BaseException) -> Future[Any]:
    """Return a future of this error; made here, since a caller's variable would be a cycle with its traceback."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


class ResultsAhead(Generic[_Sized]):
    """The results of a pool for the slices of a stream, in their order.

    A thread reads, and hands slices to the pool, as long as there is space: a slice takes that of its edges, and its
    result that of the edges in it. So reading and filtering continue while a result is used.

    Parameters
    ----------
    pool : Pool
    function : callable
        ``function(slice, start)`` returns something that has a length.
    parts : iterator of (Batch, int)
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
        # As in a `threading.Thread`: the iterator's code may be debugged, or its coverage measured.
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
        """Replace each finished result by the value that `function` returns for it; the pool calls it."""

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
            # As in `mst.kernels.parallel.pool`. If it has started, it is ended below.
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
        """Let the thread that reads end."""
        self._space.close()
