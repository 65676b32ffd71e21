"""Finds the forest of a stream of batches, or of a file that is read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

from mst.cores import cores_for
from mst.errors import InputError, OutOfMemoryError
from mst.forest import Forest
from mst.formats.edges import refuse_more_vertices
from mst.graph import Graph, vertex_count
from mst.kernels.parallel.pool import Pool
from mst.kernels.primitives.recycled import recycling
from mst.progress import Step, remark, step
from mst.streaming.batches import Batch, EdgeSemaphore, ResultsAhead, batches_of, slices
from mst.streaming.checkpoint import Checkpoint, State
from mst.streaming.files import EdgeFile
from mst.streaming.filter import Threads
from mst.streaming.forest import StreamForest
from mst.streaming.memory import Budget
from mst.streaming.running import Kept, RunningForest, keep, keep_again
from mst.units import count, counted


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
        Batches are tuples ``(u, v, w)`` of arrays, or record batches and other tables, with columns as for
        `mst.interop.tables.from_table`. The id of an edge is its position in the stream. A thread reads ahead;
        writable arrays are copied, so that the producer may reuse them.
    solve : callable
        ``solve(graph)`` returns the forest of a graph in memory.
    width : int
        Threads for reading and filtering.
    n : int, optional
        Number of vertices; by default, one more than the largest end.
    memory : int or str, optional
        The most bytes for the process, or a string such as ``"8G"``; by default, half of the free memory. The memory
        of a producer of batches is not counted.

    Returns
    -------
    StreamForest
        The same edge ids as for a graph in memory, since ties are broken by (weight, edge id).

    Raises
    ------
    InputError
        A batch is invalid; the message names the batch, the row and the value.
    InputError, UnsupportedError
        `width` is less than 1, or above the number of usable cores.
    OutOfMemoryError
        The forest of so many vertices does not fit into the memory.

    Examples
    --------
    >>> from mst import minimum_spanning_forest
    >>> from mst.streaming import forest_of_batches
    >>> batches = [([0, 1], [1, 2], [5, 7]), ([2], [0], [6])]
    >>> forest_of_batches(batches, solve=minimum_spanning_forest).edge_ids.tolist()
    [0, 2]
    """
    given = None if n is None else vertex_count(n)
    return _forest(lambda seen: batches_of(batches), solve, width, n=given, memory=memory)


def forest_of_file(
    file: EdgeFile,
    *,
    solve: Callable[[Graph], Forest],
    width: int = 1,
    memory: int | str | None = None,
    checkpoint: Path | None = None,
) -> StreamForest:
    """Return the minimum spanning forest of a file of edges, which may be larger than the memory.

    Parameters
    ----------
    file : EdgeFile
        From `mst.streaming.files.open_edges`.
    solve, width, memory
        As for `forest_of_batches`.
    checkpoint : Path, optional
        Where to save the state from time to time. After an interruption, a call with the same file continues from
        there. Remove the checkpoint once the forest is saved.

    Returns
    -------
    StreamForest

    Raises
    ------
    FormatError
        The file is damaged.
    InputError, UnsupportedError, OutOfMemoryError
        As for `forest_of_batches`.
    """
    kept = Checkpoint(checkpoint, file.identity) if checkpoint else None
    return _forest(file.batches, solve, width, n=file.n, memory=memory, checkpoint=kept, file=file)


def _forest(
    batches: Callable[[int], Iterator[Batch]],
    solve: Callable[[Graph], Forest],
    width: int,
    *,
    n: int | None,
    memory: int | str | None,
    checkpoint: Checkpoint | None = None,
    file: EdgeFile | None = None,
) -> StreamForest:
    """Return the forest of the edges that ``batches(0)`` yields, possibly from a file."""
    width = cores_for(width)
    budget = Budget.of(memory, width, file.batch if file else 0)
    edges, least_n = (file.m, file.least_n) if file else (None, None)
    if (least := max(least_n or 0, n or 0)) > budget.most_vertices:
        raise budget.refusal(least)
    try:
        # Each solve, and each filter, takes about as much memory as the one before, which is reused.
        with recycling(), Pool(width) as pool, step("reading the edges", total=edges) as working:
            running = RunningForest(solve, budget, Threads(pool, width), n, least_n)
            if checkpoint and (state := checkpoint.load()):
                running.restore(state)
                remark(f"{checkpoint.path}: resuming after {counted(state.seen, 'edge')}")
            left = _marking_loops(batches(0), running) if len(running.looped) else batches(running.seen)
            add_batches(running, left, working, checkpoint)
            working.update(f"solving for the last {count(running.size)} edges")
            running.reduce()
            columns = running.take()
            if file and least_n is not None and least_n < running.n:
                # Ids may be larger than the declared count, but not more vertices be in use.
                used = running.looped[: running.n]
                used[columns.u] = used[columns.v] = True
                refuse_more_vertices(file.path, least_n, int(used.sum()))
    except MemoryError as error:
        raise OutOfMemoryError(
            f"not enough memory for the forest of a stream: {error or 'none is left'}"
        ) from error
    return StreamForest(running.n, running.seen, *columns, running.algorithm, running.seconds)


def _marking_loops(batches: Iterator[Batch], running: RunningForest) -> Iterator[Batch]:
    """Yield the edges after those seen, and mark the self-loops of all: a text file is read from its start anyway."""
    seen = running.seen
    for batch in batches:
        loops = batch.u[batch.u == batch.v]
        running.looped[loops[loops < len(running.looped)]] = True
        yield batch.after(seen)


def add_batches(
    running: RunningForest,
    batches: Iterator[Batch],
    working: Step | None = None,
    checkpoint: Checkpoint | None = None,
) -> None:
    """Add the edges of all batches that the filter keeps, and solve whenever the table is full.

    Parameters
    ----------
    running : RunningForest
        The forest of the edges so far.
    batches : iterator of Batch
    working : Step, optional
        The step that shows progress.
    checkpoint : Checkpoint, optional
        Where to save the forest from time to time, after an additional solve.
    """
    current = running.filter()
    started, others = perf_counter(), sum(running.seconds.values())
    budget, space = running.budget, EdgeSemaphore(running.budget.ahead(running.n))

    def kept(part: Batch, start: int) -> Kept:
        found = keep(part, start, current, running.limit)
        # By now, there may be a newer filter.
        return kept_again(found)

    def kept_again(found: Kept) -> Kept:
        return keep_again(found, current)

    parts = slices(batches, running.seen, lambda: budget.slice_for(running.n), running.weight_type)
    with closing(ResultsAhead(running.threads.pool, kept, parts, space, running.seconds)) as ahead:
        for read in ahead:
            found = kept_again(read)
            is_due = checkpoint is not None and checkpoint.is_due
            if is_due or not running.has_space(found):
                running.reduce()
                current = running.filter()
                ahead.again(kept_again)
                found = kept_again(found)
            if is_due and checkpoint:
                _save(checkpoint, State(running.n, running.seen, running.columns()))
            running.add(found)
            space.edges = budget.ahead(running.n)
            if working:
                shown = f"{count(running.seen)} edges read, {count(running.forest)} in the forest so far"
                working.update(shown, done=running.seen)
    running.seconds["filter"] += perf_counter() - started - (sum(running.seconds.values()) - others)


def _save(checkpoint: Checkpoint, state: State) -> None:
    """Save a state; if this fails, print a remark and continue."""
    try:
        checkpoint.save(state)
    except InputError as error:
        remark(f"{error}; if this pass is interrupted, the next one begins from the start")
