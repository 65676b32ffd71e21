"""Graph files as streams: Parquet, Arrow IPC, and the text formats that are read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mst import formats
from mst.errors import FormatError
from mst.formats.source import Source, is_parquet
from mst.graph import WEIGHT_DTYPES
from mst.streaming.batches import Batch, batch_of
from mst.streaming.forest import StreamForest

_ARROW = b"ARROW1\0\0"
_COLUMNS = {"u", "v", "w", "source", "target", "src", "dst", "from", "to", "weight"}
_ROWS = 1 << 18
_BATCHES_AHEAD = 4
_MOST_DIGITS = 18


class EdgeFile(NamedTuple):
    """A file of edges.

    Attributes
    ----------
    path : Path
    n, m : int, optional
        The numbers of vertices and of edges, where the file states them.
    batches : callable
        ``batches(start)`` yields the edges from this place on.
    identity : dict
        What changes when the file is another one: its size and time, and the format that it was read as.
    """

    path: Path
    n: int | None
    m: int | None
    batches: Callable[[int], Iterator[Batch]]
    identity: dict[str, Any]


def open_edges(path: Path, *, format: str | None = None) -> EdgeFile:
    """Open a file of edges, or a folder of Parquet files, which are read in the order of their names.

    Parameters
    ----------
    path : Path
    format : str, optional
        A key of `mst.formats.FORMATS`, ``parquet`` or ``arrow``; by default, the content decides.

    Raises
    ------
    FormatError, InputError
        It cannot be opened, or not as a stream.
    """
    if is_parquet(path) if format is None else format == "parquet":
        found = _parquet(path)
    else:
        with Source(path) as source:
            is_arrow = source.head.startswith(_ARROW) if format is None else format in ("arrow", "canonical")
            found = (
                _arrow(path) if is_arrow else _text(path, formats.open_stream(source, format=format), format)
            )
    parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    states = [part.stat() for part in parts]
    identity = {
        "path": str(path.resolve()),
        "size": sum(state.st_size for state in states),
        "modified": max((state.st_mtime_ns for state in states), default=0),
        "format": format,
    }
    return found._replace(identity=identity)


def write_parquet(path: Path, forest: Any) -> None:
    """Write the edges of a forest and their ids as a Parquet file; an error leaves no incomplete file behind.

    Parameters
    ----------
    path : Path
    forest : StreamForest or Forest

    Raises
    ------
    InputError
        The file cannot be written.
    """
    import pyarrow as pa
    from pyarrow import parquet

    u, v, w = forest.edges()
    n, m = (forest.n, forest.m) if isinstance(forest, StreamForest) else (forest.graph.n, forest.graph.m)
    table = pa.table({"u": u, "v": v, "w": w, "id": forest.edge_ids})
    table = table.replace_schema_metadata({"n": str(n), "m": str(m)})
    with formats.base.replacing(path) as temporary:
        parquet.write_table(table, temporary)


def read_forest(path: Path) -> StreamForest:
    """Return a forest that `write_parquet` has written.

    Raises
    ------
    FormatError
        It is no such file.
    InputError
        It cannot be opened.
    """
    import pyarrow as pa
    from pyarrow import parquet

    expected = (
        "expected a Parquet file of a forest, with columns u, v, w and id: mst solve --out forest.parquet"
    )
    if not is_parquet(path):
        raise FormatError(path, expected)
    try:
        table = parquet.read_table(path)
        n, m = (int(table.schema.metadata[key]) for key in (b"n", b"m"))
        u, v, w, ids = (table.column(name).to_numpy() for name in ("u", "v", "w", "id"))
    except (pa.ArrowException, OSError, KeyError, ValueError, TypeError) as error:
        raise FormatError(path, expected) from error
    kinds = [column.dtype.kind for column in (u, v, ids)]
    if kinds != ["i"] * 3 or u.dtype != v.dtype or w.dtype not in WEIGHT_DTYPES:
        raise FormatError(path, expected)
    return StreamForest(n, m, u, v, w, ids.astype(np.int64))


def _parquet(path: Path) -> EdgeFile:
    import pyarrow as pa
    from pyarrow import dataset

    try:
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        whole = dataset.dataset([str(file) for file in files], format="parquet")
        groups = [group for part in whole.get_fragments() for group in part.split_by_row_group()]
        sizes = [sum(part.num_rows for part in group.row_groups) for group in groups]
    except (pa.ArrowException, OSError) as error:
        raise FormatError(path, f"expected a Parquet file: {_one_line(error)}") from error
    columns = [name for name in whole.schema.names if name in _COLUMNS]

    def batches(start: int) -> Iterator[Batch]:
        first = int(np.searchsorted(np.cumsum(sizes), start, side="right"))
        row = sum(sizes[:first])
        rest = dataset.FileSystemDataset(groups[first:], whole.schema, whole.format, whole.filesystem)
        # Threads decode row groups ahead, in their order.
        options: dict[str, Any] = dict(
            batch_size=_ROWS, batch_readahead=_BATCHES_AHEAD, fragment_readahead=_BATCHES_AHEAD
        )
        try:
            for table in rest.to_batches(columns, **options):
                yield from _from(table, path, row, start)
                row += table.num_rows
        except (pa.ArrowException, OSError) as error:
            raise FormatError(path, f"damaged after row {row:,}: {_one_line(error)}") from error

    return EdgeFile(path, _declared(whole.schema), sum(sizes), batches, {})


def _arrow(path: Path) -> EdgeFile:
    import pyarrow as pa

    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        sizes = [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]
    except (pa.ArrowException, OSError) as error:
        raise FormatError(path, f"expected an Arrow IPC file: {_one_line(error)}") from error

    def batches(start: int) -> Iterator[Batch]:
        row = 0
        for i, size in enumerate(sizes):
            if row + size > start:
                try:
                    table = reader.get_batch(i)
                    table.validate()
                except (pa.ArrowException, OSError) as error:
                    raise FormatError(path, f"damaged after row {row:,}: {_one_line(error)}") from error
                yield from _from(table, path, row, start)
            row += size

    return EdgeFile(path, _declared(reader.schema), sum(sizes), batches, {})


def _text(path: Path, stream: formats.RawStream, format: str | None) -> EdgeFile:
    def batches(start: int) -> Iterator[Batch]:
        with Source(path) as source:
            row = 0
            for u, v, w in formats.open_stream(source, format=format).blocks:
                weights = np.ones(len(u), np.int32) if w is None else _narrow(w)
                yield from _from((_narrow(u), _narrow(v), weights), path, row, start)
                row += len(u)

    return EdgeFile(path, stream.n, stream.m, batches, {})


def _narrow(values: np.ndarray) -> np.ndarray:
    """Return a copy, of int32 where that holds whole numbers."""
    if values.dtype.kind == "i" and values.size and values.min() >= -(2**31) and values.max() < 2**31:
        return values.astype(np.int32)
    return values.copy()


def _from(given: Any, path: Path, row: int, start: int) -> Iterator[Batch]:
    """Yield a batch that begins at a row of the file, without the edges before the place `start`."""
    size = len(given[0]) if isinstance(given, tuple) else given.num_rows
    skipped = min(max(start - row, 0), size)
    if skipped < size or not size:
        if isinstance(given, tuple):
            given = tuple(column[skipped:] for column in given)
        elif skipped:
            given = given.slice(skipped)
        batch = batch_of(given, str(path))
        yield batch._replace(first=row + skipped)


def _declared(schema: Any) -> int | None:
    """Return the number of vertices that a schema's metadata state."""
    text = (schema.metadata or {}).get(b"n", b"")
    return int(text) if text.isdigit() and len(text) <= _MOST_DIGITS else None


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
