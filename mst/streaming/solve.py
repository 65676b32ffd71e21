"""From a stream of batches to its forest."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

from mst.errors import InputError
from mst.forest import Forest
from mst.graph import Graph
from mst.progress import Step, step
from mst.streaming.batches import Batch, batches_of, read_ahead
from mst.streaming.forest import StreamForest
from mst.streaming.memory import SLICES_AHEAD, Budget
from mst.streaming.running import NO_FILTER, Kept, RunningForest, keep
from mst.units import count


def forest_of_batches(
    batches: Any,
    *,
    solve: Callable[[Graph], Forest],
    width: int = 1,
    n: int | None = None,
    memory: int | str | None = None,
) -> StreamForest:
    """Return the minimum spanning forest of the edges of all batches.

    Parameters
    ----------
    batches : iterable, or Arrow dataset
        Of tuples ``(u, v, w)`` of arrays, or of record batches or other tables with the columns that
        `mst.interop.tables.from_table` takes. An edge's id is its place in the stream.
    solve : callable
        ``solve(graph)`` returns the forest of a graph in memory.
    width : int
        Threads that filter.
    n : int, optional
        Number of vertices; by default, one more than the largest end.
    memory : int or str, optional
        Bytes that the process may take, or a text such as ``"8G"``; by default, half of the free memory. What a
        producer of batches takes for itself is not counted.

    Returns
    -------
    StreamForest
        Ties are broken by (weight, edge id), so that the edge ids are those of a solve in memory.

    Raises
    ------
    InputError
        A batch is not legal; the message names the batch, the row and the value.
    OutOfMemoryError
        A forest of so many vertices does not fit.
    """
    budget = Budget.of(memory, width)
    if n is not None and n > budget.most_vertices:
        raise budget.refusal(n)
    running = RunningForest(solve, budget, n)
    with step("reading the stream") as working:
        add_batches(running, batches_of(batches), width, working)
        working.update(f"solving for the last {count(running.size)} edges")
        running.reduce()
    u, v, w, ids = (column.copy() for column in running.columns())
    return StreamForest(running.n, running.seen, u, v, w, ids, running.algorithm, running.seconds)


def add_batches(
    running: RunningForest, batches: Iterator[Batch], width: int, working: Step | None = None
) -> None:
    """Add the edges of all batches that the filter keeps, and solve whenever the table is full.

    Parameters
    ----------
    running : RunningForest
        Of the edges before.
    batches : iterator of Batch
    width : int
        Threads that filter.
    working : Step, optional
        Where to show progress.
    """
    current, start, kind = NO_FILTER, running.seen, ""
    pending: deque[Future[Kept]] = deque()
    with ThreadPoolExecutor(width, "mst filters") as pool, closing(read_ahead(batches)) as ahead:

        def add_oldest() -> None:
            nonlocal current
            with running.timed("filter"):
                kept = pending.popleft().result()
            if not running.has_room(len(kept.ids)):
                running.reduce()
                current = running.filter(pool, width)
            running.add(kept)
            if working:
                working.update(
                    f"{count(running.seen)} edges read, {count(running.forest)} in the forest so far"
                )

        while True:
            with running.timed("read"):
                batch = next(ahead, None)
            if batch is None:
                break
            kind = kind or batch.w.dtype.kind
            if batch.w.dtype.kind != kind and len(batch.w):
                known = {"i": "integers", "f": "fractions"}[kind]
                raise InputError(
                    f"{batch.name}: w has dtype {batch.w.dtype}, and earlier batches have {known}: use one dtype"
                )
            for part in batch.slices(running.budget.slice):
                pending.append(pool.submit(keep, part, start, current, running.limit))
                start += len(part.w)
                if len(pending) > SLICES_AHEAD * width:
                    add_oldest()
        while pending:
            add_oldest()
